"""Documentation of a plugin's fields from the comments behind them, as in `lift: float  # [m] rise per turn`."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pysim.joints.builtin import Key
    from pysim.joints.plugin import Joint

_COMMENT = re.compile(r"#\s*(?:type: ignore\S*\s*#?\s*)?(?:\[(?P<unit>[^\]]*)\])?\s*(?P<doc>.*)$")

_READ: dict[type[Any], dict[str, tuple[str, str]]] = {}  # comments by class


def documented(keys: tuple[Key, ...], plugin: type[Joint]) -> tuple[Key, ...]:
    """Return the keys, with units and meanings from comments if the fields' metadata has none."""
    comments = comments_of(plugin)
    found = []
    for key in keys:
        unit, doc = comments.get(key.name, ("", ""))
        found.append(replace(key, unit=key.unit or unit, doc=key.doc or doc))
    return tuple(found)


def unit_of(plugin: type[Any], name: str) -> tuple[str, str]:
    """Return (unit, meaning) of a field of a plugin, from its metadata or the comment behind it."""
    unit, doc = comments_of(plugin).get(name, ("", ""))
    metadata = plugin.__dataclass_fields__[name].metadata
    return metadata.get("unit", "") or unit, metadata.get("doc", "") or doc


def comments_of(plugin: type[Any]) -> dict[str, tuple[str, str]]:
    """Return (unit, meaning) of a plugin's fields, from the comments behind them."""
    if plugin not in _READ:
        _READ[plugin] = _comments(plugin)
    return _READ[plugin]


def _comments(plugin: type[Any]) -> dict[str, tuple[str, str]]:
    comments: dict[str, tuple[str, str]] = {}
    for owner in reversed(plugin.__mro__):
        if owner.__module__ in ("builtins", "pysim.joints.plugin", "pysim.joints.callback"):
            continue
        try:
            text = textwrap.dedent(inspect.getsource(owner))
        except (OSError, TypeError):  # defined without a file
            continue
        lines = text.splitlines()
        for node in ast.parse(text).body[0].body:  # type: ignore[attr-defined]
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                behind = lines[(node.end_lineno or 1) - 1].encode()[node.end_col_offset :].decode()
                match = _COMMENT.search(behind)
                if match:
                    comments[node.target.id] = match["unit"] or "", match["doc"].strip()
    return comments
