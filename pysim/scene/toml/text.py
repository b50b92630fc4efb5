"""Text of a scene file from its tables; numbers are exact to the last bit."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTH = 100  # characters of a line, beyond which a list has an item a line
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_CONTROL = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), 0x2028, 0x2029)}


def scene_text(tables: Mapping[str, Any], comment: str = "") -> str:
    """Return the text of a scene with these tables, in their order; a comment comes first, one line each with `#`."""
    head = [f"# {line}".rstrip() for line in comment.splitlines()]
    own = [line for key, value in tables.items() if _is_value(value) for line in _pair(key, value)]
    sections = [[*head, *([""] if head and own else []), *own]] if head or own else []
    for key, value in tables.items():
        if isinstance(value, Mapping):
            sections += _table(f"[{_key(key)}]", key, value)
        elif not _is_value(value):
            for item in value:
                sections += _table(f"[[{_key(key)}]]", key, item)
    return "\n\n".join("\n".join(lines) for lines in sections) + "\n"


def _table(header: str, name: str, table: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield the lines of a table; those of materials and keyframes are tables of their own."""
    if name in {"materials", "keyframes"}:
        for key, value in table.items():
            yield [f"[{name}.{_key(key)}]", *_lines(value)]
    else:
        yield [header, *_lines(table)]


def _lines(table: Mapping[str, Any]) -> list[str]:
    return [line for key, value in table.items() for line in _pair(key, value)]


def _is_value(value: object) -> bool:
    """Return whether a top-level value is written as `key = value`, unlike tables and lists of tables."""
    if isinstance(value, Mapping):
        return False
    tables = isinstance(value, list) and value and all(isinstance(v, Mapping) for v in value)
    return not tables


def _pair(key: str, value: object) -> list[str]:
    line = f"{_key(key)} = {toml_value(value)}"
    items = _items(value)
    if len(line) <= WIDTH or not items or isinstance(value, Mapping):
        return [line]
    return [f"{_key(key)} = [", *(f"  {toml_value(item)}," for item in items), "]"]


def _items(value: object) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _quoted(name)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).translate(_CONTROL)


def toml_value(value: object) -> str:
    """Return a value as TOML on one line; arrays are lists.

    Raises:
        TypeError: TOML has no such value.
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _format_number(value)
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, Mapping):
        pairs = (f"{_key(key)} = {toml_value(inner)}" for key, inner in value.items())
        return f"{{ {', '.join(pairs)} }}" if value else "{}"
    raise TypeError(f"TOML has no {type(value).__name__}")


def _format_number(value: float) -> str:
    """Return a number that reads as the same double; −0 as 0."""
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    text = repr(value + 0.0)
    return text.replace("e-0", "e-").replace("e+", "e")
