"""Handling of Ctrl-C in a run: recorded when it arrives, raised when the run reaches an output.

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
    """Yield what raises a Ctrl-C that has come; a second one is raised at once, should the first not be heard.

    One that nobody has heard is raised at the end. Threads beside the main one get no signals, and whoever has a
    handler of their own, or ignores Ctrl-C as a run in the background does, keeps to that.
    """
    noted = heard = False

    def check() -> None:
        nonlocal heard
        if noted:
            heard = True
            raise KeyboardInterrupt

    def note(*_: object) -> None:
        nonlocal noted
        check()
        noted = True

    if not _take_over(note):
        yield check
        return
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not heard:
        check()


def _take_over(handler: Callable[..., None]) -> bool:
    """Handle Ctrl-C where Python's own handler did; false where it did not, or where no thread may."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return False
    try:
        signal.signal(signal.SIGINT, handler)
    except ValueError:  # only the main thread of the main interpreter may
        return False
    return True
