"""Edit of a scene file: sets keys of one table and keeps comments and everything else.

The result is parsed and compared with what it must be, so that a layout that is not understood is an error and never a
damaged file.
"""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

from pysim.errors import PysimError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

HEADER = re.compile(r"^\s*\[\[?[^\[\],]+\]\]?\s*(#.*)?$")
Value = float | tuple[float, ...]


def write_keys(path: Path, table: str, values: Mapping[str, Value]) -> None:
    """Set keys of a table of a scene file, which is added if it is missing.

    Raises:
        PysimError: the file cannot be read, written or edited.
    """
    try:
        text = path.read_text("utf-8")
        path.write_text(with_keys(text, table, values, str(path)), "utf-8")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PysimError(str(path), f"cannot be edited, {error}; check the file") from error


def with_keys(text: str, table: str, values: Mapping[str, Value], where: str) -> str:
    """Return the text of a scene file with keys of a table set."""
    before = tomllib.loads(text)
    lines = text.splitlines()
    is_header = [bool(HEADER.match(line)) for line in lines]
    named = re.compile(rf"^\s*\[\s*{re.escape(table)}\s*\]\s*(#.*)?$")
    begin = next((k for k, line in enumerate(lines) if named.match(line)), None)
    if begin is None:
        lines += ["", f"[{table}]"]
        begin, end = len(lines) - 1, len(lines)
    else:
        end = next((k for k in range(begin + 1, len(lines)) if is_header[k]), len(lines))
    for key, value in values.items():
        written = f"{key} = {_text(value)}"
        own = re.compile(rf"^\s*{re.escape(key)}\s*=[^#]*?(\s*#.*)?$")
        for k in range(begin + 1, end):
            if found := own.match(lines[k]):
                lines[k] = written + (found[1] or "")
                break
        else:
            own_lines = (
                k for k in range(begin, end) if lines[k].strip() and lines[k].strip()[0] != "#"
            )
            last = max(own_lines)
            lines.insert(last + 1, written)
            end += 1
    changed = "\n".join(lines) + "\n"
    meant = before | {table: before.get(table, {}) | {k: _plain(v) for k, v in values.items()}}
    try:
        if tomllib.loads(changed) == meant:
            return changed
    except tomllib.TOMLDecodeError:
        pass
    keys = ", ".join(f"{key} = {_text(value)}" for key, value in values.items())
    raise PysimError(where, f"has a [{table}] table that cannot be edited; write {keys} into it")


def _plain(value: Value) -> float | list[float]:
    return list(value) if isinstance(value, tuple) else value


def _text(value: Value) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_text, value))}]"
    return repr(value)
