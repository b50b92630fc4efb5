"""Docstrings for Sphinx: pysim writes them for a terminal, with `code`, tables in Markdown and indented examples."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

SECTION = re.compile(r"(Args|Attributes|Raises|Returns|Yields):$")
BEFORE_NAPOLEON = 400


def convert(lines: list[str]) -> list[str]:
    """Return a docstring's lines as reStructuredText."""
    return [line for block in blocks(lines) for line in converted(block)]


def blocks(lines: list[str]) -> Iterator[list[str]]:
    """Split the lines at blank ones, which are blocks themselves; an example may contain blank lines."""
    block: list[str] = []
    for i, line in enumerate(lines):
        following = next((later for later in lines[i:] if later.strip()), "")
        if line.strip() or (block and is_example(block) and following.startswith("    ")):
            block.append(line)
        else:
            yield from ([block] if block else [])
            yield [""]
            block = []
    yield from ([block] if block else [])


def is_example(block: list[str]) -> bool:
    """Return whether a block is indented throughout."""
    return all(line.startswith("    ") for line in block if line.strip())


def converted(block: list[str]) -> Iterator[str]:
    """Convert one block: a table, an example or formula, a section of arguments, or a paragraph."""
    if block == [""]:
        yield ""
    elif all(line.lstrip().startswith("|") for line in block):
        yield from table(block)
    elif is_example(block):
        yield from [".. code-block:: none", "", *block, ""]
    elif SECTION.match(block[0]) or not any(line.startswith("    ") for line in block):
        yield from (inline(line) for line in block)
    else:  # a paragraph whose example follows without a blank line
        first = next(i for i, line in enumerate(block) if line.startswith("    "))
        yield from (inline(line) for line in block[:first])
        yield from ["", ".. code-block:: none", "", *block[first:], ""]


def table(block: list[str]) -> Iterator[str]:
    """Convert a table in Markdown."""
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in block]
    has_header = len(rows) > 1 and set("".join(rows[1])) <= set("-: ")
    yield ".. list-table::"
    yield f"   :header-rows: {int(has_header)}"
    yield ""
    for row in rows[:1] + rows[1 + has_header :]:
        for i, cell in enumerate(row):
            yield f"   {'* -' if i == 0 else '  -'} {inline(cell)}"
    yield ""


def inline(line: str) -> str:
    """Convert `code` and protect what reStructuredText would take for markup."""
    pieces = re.split(r"(`[^`]+`)", line)
    return "".join(
        f"`{piece}`" if i % 2 else re.sub(r"([*|]|(?<=\w)_(?!\w))", r"\\\1", piece)
        for i, piece in enumerate(pieces)
    )


def process(
    _app: Sphinx, what: str, _name: str, _object: object, _options: object, lines: list[str]
) -> None:
    """Convert a docstring in place, before Napoleon reads its sections.

    Napoleon takes what precedes a colon in the first line of an attribute for its type: a blank line prevents that.
    """
    lines[:] = [""] * (what in {"attribute", "property"}) + convert(lines)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the conversion."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", process, priority=BEFORE_NAPOLEON)
    return {"parallel_read_safe": True}
