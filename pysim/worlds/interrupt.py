"""Handling of Ctrl-C in a run: recorded when it arrives, raised when the run reaches an output.

Python raises a KeyboardInterrupt at any place. Inside the destructor of a file handle, for example, it is printed and
ignored, and the run continues.
"""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def interrupts_held_back() -> Iterator[Callable[[], None]]:
    """Yield a function that raises a recorded Ctrl-C; a second Ctrl-C is raised immediately if the first was not.

    A Ctrl-C that has not been raised is raised at the end. Nothing changes in threads other than the main one, which
    receive no signals, or if the caller has a handler of its own or ignores Ctrl-C, as runs in the background do.
    """
    noted = raised = False

    def check() -> None:
        nonlocal raised
        if noted:
            raised = True
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
    if not raised:
        check()


def _take_over(handler: Callable[..., None]) -> bool:
    """Replace Python's own handler of Ctrl-C; return False if another one is set or this thread may not."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return False
    try:
        signal.signal(signal.SIGINT, handler)
    except ValueError:  # only the main thread of the main interpreter may
        return False
    return True
