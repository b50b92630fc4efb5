"""Commands as a terminal runs them: their warnings are lines on stderr."""

from __future__ import annotations

from pathlib import Path

from pysim.cli import main


def check_scene(path: Path, changes: tuple[str, ...] = ()) -> None:
    """`pysim check` with keys set, "key=value" each."""
    assert main(["check", str(path), *(word for text in changes for word in ("--set", text))]) == 0
