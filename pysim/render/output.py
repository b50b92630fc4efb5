"""Picture files, written as drafts that replace the target only when complete."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pysim.errors import PysimError
from pysim.trajectory.output_file import (
    draft_beside,
    open_draft,
    remove_abandoned_drafts,
    target_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from os import PathLike


@contextmanager
def replacing(path: str | PathLike[str] | None, suffixes: Sequence[str]) -> Iterator[Path | None]:
    """Yield a draft beside `path` that becomes `path` if the block succeeds (None: nothing)."""
    if path is None:
        yield None
        return
    path = Path(path)
    check_picture(path, suffixes)
    target = target_of(path)
    draft = draft_beside(target, path.suffix)
    try:
        remove_abandoned_drafts(target.parent)
        descriptor = open_draft(draft)  # before minutes of drawing, not after
        try:
            with _removed_when_terminated(draft):
                yield draft
            draft.replace(target)
        finally:
            os.close(descriptor)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        problem = f"cannot write the picture, {reason}; choose another place"
        raise PysimError(str(path), problem) from error
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def _removed_when_terminated(draft: Path) -> Iterator[None]:
    """Remove the draft if SIGTERM ends the program, unless the caller has a handler of its own."""

    def remove(number: int, _frame: object) -> None:
        draft.unlink(missing_ok=True)
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, remove)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def check_picture(path: Path, suffixes: Sequence[str]) -> None:
    """Reject a picture file that cannot be written, before anything is drawn."""
    if path.suffix.lower() not in suffixes:
        known = ", ".join(suffixes)
        raise PysimError(str(path), f"unknown kind of picture {path.suffix!r}; use one of {known}")
    if not path.parent.is_dir():
        problem = f"the folder {str(path.parent)!r} does not exist; make it or choose another"
        raise PysimError(str(path), problem)
    if path.is_dir():
        raise PysimError(str(path), "is a folder; give a file name")
