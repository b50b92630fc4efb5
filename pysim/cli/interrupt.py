"""Ctrl-C in a run: noted when it comes, heard between two updates of the run's progress.

Python raises a KeyboardInterrupt wherever it happens to be. Inside the destructor of a file's handle, say, it is
printed and forgotten, and the run goes on.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import FrameType, TracebackType


class Interrupts:
    """Holds back the first Ctrl-C for `check`; a second one is raised at once, should the first not be heard."""

    def __init__(self) -> None:
        self._noted = False

    def check(self) -> None:
        """Raise the KeyboardInterrupt that was held back."""
        if self._noted:
            raise KeyboardInterrupt

    def __enter__(self) -> Self:
        self._before = signal.getsignal(signal.SIGINT)
        if self._before is not signal.SIG_IGN:  # as of a run in the background
            signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.check()
        self._noted = True
