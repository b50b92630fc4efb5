"""Output to standard streams that are closed, that no process reads any more, or whose encoding lacks characters.

A character that cannot be printed is lost or written as its code; the command continues.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from collections.abc import Iterator


class LastingConsole(Console):
    """A console that outlives its reader; rich's own ends the program."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        discard(self.file)


@contextmanager
def lasting_streams() -> Iterator[None]:
    """Print the code of a letter where stdout lacks it, and keep files away from the numbers of closed streams."""
    _occupy_closed()
    stdout = sys.stdout
    if not isinstance(stdout, io.TextIOWrapper):  # closed, or a caller's own
        yield
        return
    errors = stdout.errors
    stdout.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        try:
            stdout.reconfigure(errors=errors)  # flushes
        except OSError:
            discard(stdout)


def flush_results() -> None:
    """Flush the printed text, if its reader is still there."""
    if sys.stdout is not None:
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            discard(sys.stdout)


def discard(stream: IO[str]) -> None:
    """Send what is still printed on a stream nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, stream.fileno())
    except io.UnsupportedOperation:  # a stream without a number
        return
    finally:
        os.close(nowhere)


def _occupy_closed() -> None:
    """Open nothing under the numbers 0 to 2 that are free, else a file gets one, and what libraries print there."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest
