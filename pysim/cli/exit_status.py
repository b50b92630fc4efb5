"""Exit status of the command that no other program defines."""

from __future__ import annotations

INTERRUPTED = 130  # by Ctrl-C, as a shell reports it
