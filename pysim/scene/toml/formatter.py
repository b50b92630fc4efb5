"""Layout of TOML files: uniform spaces and blank lines; comments, numbers, order and line breaks in lists are kept.

A table follows one blank line; a key is written `key = value`, lists `[1, 2]`, tables in a line `{ a = 1 }`. Comments
behind values keep their column where they can.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from pysim.errors import PysimError
from pysim.scene.toml.source import source_of

if TYPE_CHECKING:
    from collections.abc import Iterator

INDENT = "  "
_TOKEN = re.compile(
    r'''(?P<string>"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')'''
    r"""|(?P<comment>\#[^\n]*)|(?P<newline>\n)|(?P<space>[ \t]+)|(?P<mark>[\[\]{},=])|(?P<atom>[^\s\[\]{},=\#"']+)""",
    re.DOTALL,
)


class _Token(NamedTuple):
    kind: str
    text: str
    column: int  # characters before it in its line


def format_toml(name: str, text: str) -> str:
    """Return the text of a TOML file in the uniform layout.

    Args:
        name: the file, for messages.
        text: its text.

    Raises:
        SceneError: the text is not TOML.
        PysimError: the values would change, which is a fault of pysim.
    """
    text = text.replace("\r\n", "\n")
    source_of(name, text)
    formatted = "\n".join(_spaced(list(_lines(list(_tokens(text)))))) + "\n"
    if repr(tomllib.loads(formatted)) != repr(tomllib.loads(text)):  # repr compares NaN as well
        problem = "the layout would change its values, which is a fault of pysim; report it"
        raise PysimError(name, problem)
    return formatted


def _tokens(text: str) -> Iterator[_Token]:
    begin = 0
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind != "space":
            yield _Token(kind, match.group(), match.start() - begin)
        last = match.group().rfind("\n")
        if last >= 0:
            begin = match.start() + last + 1


@dataclass
class _Line:
    """A line of the file: a header, a comment, a statement with the lines of its lists, or nothing."""

    kind: str
    rows: list[str] = field(default_factory=list)


def _lines(tokens: list[_Token]) -> Iterator[_Line]:
    statement: list[_Token] = []
    depth = 0
    for token in tokens:
        depth += (token.text in "[{") - (token.text in "]}") if token.kind == "mark" else 0
        if token.kind == "newline" and depth == 0:
            yield _line(statement)
            statement = []
        else:
            statement.append(token)
    if statement:
        yield _line(statement)


def _line(tokens: list[_Token]) -> _Line:
    if not tokens:
        return _Line("blank")
    if tokens[0].kind == "comment":
        return _Line("comment", [tokens[0].text.rstrip()])
    if tokens[0].text == "[":
        own = [token for token in tokens if token.kind != "comment"]
        row = "".join(token.text for token in own)
        comments = [token for token in tokens if token.kind == "comment"]
        return _Line("header", [_with_comment(row, comments[0]) if comments else row])
    return _Line("statement", _statement(tokens))


def _statement(tokens: list[_Token]) -> list[str]:
    """Return the rows of `key = value`; a list may go on in further rows."""
    rows, row = [], ""
    opened: list[str] = []
    for k, token in enumerate(tokens):
        following = tokens[k + 1] if k + 1 < len(tokens) else None
        if token.kind == "newline":
            rows.append(row.rstrip())
            closes = following is not None and following.text == "]"
            row = INDENT * (len(opened) - closes)
        elif token.kind == "comment":
            is_first = not row.strip()
            row = row + token.text.rstrip() if is_first else _with_comment(row.rstrip(), token)
        elif token.kind != "mark":
            dated = token.kind == "atom" and k > 0 and tokens[k - 1].kind == "atom"
            row += " " * (dated and "." not in {token.text[0], row[-1]}) + token.text
        elif token.text == "=":
            row = f"{row.rstrip()} = "
        elif token.text == ",":
            is_last = following is not None and following.text == "]"
            row = row.rstrip() + ("" if is_last else ", ")
        elif token.text in "[{":
            opened.append(token.text)
            is_empty = following is not None and following.text == "}"
            row += token.text + (" " if token.text == "{" and not is_empty else "")
        else:
            inner = row.rstrip() if row.strip() else row
            is_empty = opened.pop() == "{" and inner.endswith("{")
            row = inner + (" " if token.text == "}" and not is_empty else "") + token.text
    return [*rows, row.rstrip()]


def _with_comment(row: str, comment: _Token) -> str:
    """Return a row with a comment behind it, in the comment's column if there is room."""
    return f"{row.ljust(max(comment.column, len(row) + 2))}{comment.text.rstrip()}"


def _spaced(lines: list[_Line]) -> list[str]:
    """Return the rows with one blank line before a table and its comments, and no others in a row."""
    rows: list[str] = []
    for k, line in enumerate(lines):
        if line.kind == "blank":
            rows += [""] if rows and rows[-1] else []
            continue
        if _begins_table(lines, k) and rows and rows[-1]:
            rows.append("")
        rows += line.rows
    while rows and not rows[-1]:
        rows.pop()
    return rows


def _begins_table(lines: list[_Line], k: int) -> bool:
    """Return whether a line is a header, or the first of the comments directly above one."""
    if lines[k].kind == "header":
        return k == 0 or lines[k - 1].kind != "comment"
    if lines[k].kind != "comment" or (k > 0 and lines[k - 1].kind == "comment"):
        return False
    kinds = [line.kind for line in lines[k:]]
    after = next((kind for kind in kinds if kind != "comment"), "")
    return after == "header"
