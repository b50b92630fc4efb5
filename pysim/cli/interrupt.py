"""Ctrl-C in a run: noted when it comes, heard between two updates of the run's progress.

Python raises a KeyboardInterrupt wherever it happens to be. Inside the destructor of a file's handle, say, it is
printed and forgotten, and the run goes on.
"""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def interrupts_held_back() -> Iterator[Callable[[], None]]:
    """Yield what raises a Ctrl-C that has come; a second one is raised at once, should the first not be heard."""
    noted = False

    def check() -> None:
        if noted:
            raise KeyboardInterrupt

    def note(*_: object) -> None:
        nonlocal noted
        check()
        noted = True

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:  # as of a run in the background
        signal.signal(signal.SIGINT, note)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)
