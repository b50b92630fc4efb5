"""Output of the command: results on stdout, errors and warnings as lines on stderr.

Brackets are not interpreted as markup, so `[N·m]` is printed unchanged.
"""

from __future__ import annotations

import logging
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pysim.cli.streams import LastingConsole
from pysim.errors import PysimWarning

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TextIO

    from rich.console import Console

_CODES = {
    number: f"\\x{number:02x}"
    for number in (*range(32), *range(127, 160))
    if chr(number) not in "\t\n"
}


def console(*, stderr: bool = False) -> Console:
    """Return a console that prints text unchanged: no markup, no emoji codes, no wrapping."""
    return LastingConsole(stderr=stderr, markup=False, emoji=False, highlight=False, soft_wrap=True)


def print_line(text: str = "", style: str | None = None) -> None:
    """Print a line of a result."""
    console().print(visible(text), style=style)


def visible(text: str) -> str:
    """Return a text with its control characters replaced by their codes."""
    return text.translate(_CODES)


def print_message(kind: str, text: str) -> None:
    """Print `kind: text` on stderr; `kind` is error, warning, note or interrupted."""
    err = console(stderr=True)
    for line in str(text).splitlines():
        err.print(f"{kind}: ", style="bold red" if kind == "error" else "bold yellow", end="")
        err.print(visible(" ".join(line.split())))


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print pysim's warnings immediately as one line each, and each text once."""
    printed: set[str] = set()

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, PysimWarning):
            if str(message) not in printed:
                print_message("warning", str(message))
            printed.add(str(message))
        else:
            other(message, category, filename, lineno, file, line)

    with warnings.catch_warnings():
        other = warnings.showwarning
        warnings.simplefilter("always", PysimWarning)
        warnings.showwarning = show
        yield


class _Notes(logging.Handler):
    """Prints records as notes."""

    def emit(self, record: logging.LogRecord) -> None:
        print_message("note", record.getMessage())


@contextmanager
def notes_as_lines(*, shown: bool) -> Iterator[None]:
    """Print as one line each what pysim logs, such as values that a scene asked to replace, if `shown`."""
    logger, handler = logging.getLogger("pysim"), _Notes(logging.INFO)
    level = logger.level
    if shown:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def print_columns(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print rows under a heading, every column as wide as its widest entry."""
    widths = [max(len(line[k]) for line in (head, *rows)) for k in range(len(head))]
    for line in (head, *rows):
        padded = "  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True))
        print_line(f"  {padded}".rstrip(), style="bold" if line is head else None)
