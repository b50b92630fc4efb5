"""HTML of small tables, for notebooks. Text is escaped, and colours are those of the page, light or dark."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_NAMES = 12  # of a list
CELL = "padding:1px 12px 1px 0;text-align:left;white-space:nowrap;vertical-align:top"
NUMBER = CELL.replace("left", "right") + ";font-variant-numeric:tabular-nums"
FAINT = "opacity:.65;font-weight:normal"
PANEL = (
    "display:inline-block;max-width:100%;overflow-x:auto;padding:6px 12px;"
    "border:1px solid #8886;border-radius:6px;font-size:13px;line-height:1.45"
)
PLAIN = "border:0;background:none;color:inherit;font-size:inherit"  # for notebooks that stripe the rows of tables


def panel(title: str, kind: str, *parts: str) -> str:
    """Return a framed block of HTML with a title and the kind of thing it describes; `parts` are HTML."""
    head = f'<div><b>{escape(title)}</b> <span style="{FAINT}">{escape(kind)}</span></div>'
    return f'<div style="{PANEL}">{head}{"".join(parts)}</div>'


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return a table of names and values, without the pairs whose value is empty."""
    rows = (
        f'<tr style="{PLAIN}"><td style="{CELL};{FAINT}">{escape(name)}</td>'
        f'<td style="{CELL};white-space:normal">{escape(value)}</td></tr>'
        for name, value in pairs
        if value
    )
    return f'<table style="{PLAIN};margin:2px 0">{"".join(rows)}</table>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[str] = ()) -> str:
    """Return a table; the columns that `numbers` names are aligned at the right."""
    styles = [NUMBER if name in numbers else CELL for name in head]

    def row(values: Sequence[str], tag: str, extra: str) -> str:
        cells = (
            f'<{tag} style="{style}{extra}">{escape(value)}</{tag}>'
            for value, style in zip(values, styles, strict=True)
        )
        return f'<tr style="{PLAIN}">{"".join(cells)}</tr>'

    first = row(head, "th", f";{FAINT};border-bottom:1px solid #8886")
    return f'<table style="{PLAIN};margin:2px 0">{first}{"".join(row(x, "td", "") for x in rows)}</table>'


def fold(summary: str, content: str, *, is_open: bool) -> str:
    """Return HTML that a click opens and closes."""
    opened = " open" if is_open else ""
    return f'<details{opened}><summary style="cursor:pointer">{escape(summary)}</summary>{content}</details>'


def listed(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """Return names in a line: `a, b, c and 9 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def counted(number: int, singular: str, plural: str = "") -> str:
    """Return `1 body`, `2 bodies`."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"
