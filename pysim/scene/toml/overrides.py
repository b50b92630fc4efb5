"""Overrides of a file's values by paths of keys: `simulation.step`, `body.rod.mass`, `joint[0].damping`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import SceneError, did_you_mean
from pysim.scene.toml.source import check_size, key_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pysim.scene.toml.source import Step, Steps

_STEP = re.compile(r"""\.?(?:\[(\d+)\]|"([^"]*)"|([^.\[\]"=]+))""")


def apply_overrides(
    values: dict[str, Any],
    overrides: Mapping[str, object],
    place: Callable[[str], str] | None = None,
) -> dict[Steps, str]:
    """Apply each override to the values of a file and return its path with the option, or the place, that gave it.

    A table given for a top-level table of the file changes the keys that it has, and no others.
    A key is a path with dots; an item of an array is addressed by its number or its `name`.

    Raises:
        SceneError: a path that does not exist.
    """
    changed = {}
    for key, given in _flat(values, overrides):
        value, option = _value(given), place(key) if place else _option(key, given)
        check_size(value, option)
        try:
            changed[_set(values, key, value)] = option
        except SceneError as error:
            raise SceneError(option, error.problem) if place else error from None
    return changed


def _flat(
    values: Mapping[str, Any], overrides: Mapping[str, object]
) -> Iterator[tuple[str, object]]:
    """Yield keys and values, those of a table for a top-level table of the file one by one."""
    for key, given in overrides.items():
        value = _value(given)
        if isinstance(value, dict) and isinstance(values.get(key), dict):
            for name, inner in value.items():
                yield f"{key}.{key_text((name,))}", inner
        else:
            yield key, given


class _Unset:
    """Type of UNSET."""

    def __repr__(self) -> str:
        return "UNSET"

    def __reduce__(self) -> str:
        return "UNSET"  # unpickled as the same object


UNSET = _Unset()  # as a value: the key is removed


def _option(key: str, value: object) -> str:
    return f"--unset {key}" if value is UNSET else f"--set {key}"


def checked_overrides(overrides: object) -> Mapping[str, Any]:
    """Return overrides that map paths of keys to values.

    Raises:
        SceneError: a path is invalid, or a value is None, which TOML cannot express.
    """
    if not isinstance(overrides, Mapping):
        problem = f"must map paths of keys to values, got {type(overrides).__name__}"
        raise SceneError("overrides", f'{problem}; write {{"simulation.step": 1e-4}}')
    for key, value in overrides.items():
        if not isinstance(key, str):
            problem = "is not a path of keys; write a text such as 'simulation.step'"
            raise SceneError(f"overrides: {key!r}", problem)
        if value is None:
            problem = "None is not a value; give one, or leave the key out to keep the file's"
            raise SceneError(f"--set {key}", problem)
    return overrides


def _set(values: dict[str, Any], key: str, value: object) -> Steps:
    words = path_words(key)
    table: Any = values
    steps: list[Step] = []
    for k, word in enumerate(words):
        if isinstance(table, list):
            step: Step = _item(table, word, key)
        elif isinstance(table, dict):
            if word == "0" and word not in table:
                continue  # one value means a list of one
            step = word
        else:
            problem = f"has nothing below {'.'.join(words[:k])!r}, which is {table!r}"
            raise SceneError(f"--set {key}", problem)
        steps.append(step)
        if value is UNSET:
            _check_there(table, step, key, is_last=k == len(words) - 1)
        if k == len(words) - 1:
            if value is UNSET:
                del table[step]
            else:
                table[step] = value
        elif isinstance(table, dict):
            table = table.setdefault(word, {})
        else:
            table = table[step]
    return tuple(steps)


def _check_there(table: Any, step: Step, key: str, *, is_last: bool) -> None:  # noqa: ANN401, a table or a list
    """Reject a missing key, and an item of a list: removing it would renumber the others."""
    if isinstance(table, dict) and step not in table:
        hint = did_you_mean(str(step), table)
        raise SceneError(f"--unset {key}", f"the scene has no such key{hint}")
    if isinstance(table, list) and is_last:
        raise SceneError(
            f"--unset {key}", "is an item of a list; remove keys of it, or edit the file"
        )


def path_words(key: str) -> list[str]:
    """Split `body[0].shape."my key"` into its words."""
    words, at = [], 0
    while at < len(key):
        match = _STEP.match(key, at)
        if match is None:
            break
        words.append(next(group for group in match.groups() if group is not None))
        at = match.end()
    if at < len(key) or not words or key.startswith("."):
        problem = "is not a path of keys; write it as simulation.step or body.rod.mass"
        raise SceneError(f"--set {key}", problem)
    return words


def _item(items: list[Any], word: str, key: str) -> int:
    """Return the index of an item given as its number or name."""
    names = [_name(item) for item in items]
    if word in names:
        return names.index(word)
    if word.isascii() and word.isdigit():
        if int(word) < len(items):
            return int(word)
        raise SceneError(f"--set {key}", f"no item has index {word}, the last is {len(items) - 1}")
    known = [name for name in names if name]
    hint = did_you_mean(word, known)
    if len(known) < len(items):
        array = key.partition(".")[0]
        hint += f"; select an item without a name by its index, as {array}[{names.index('')}]"
    raise SceneError(f"--set {key}", f"nothing is named {word!r}{hint}")


def _name(item: Any) -> str:  # noqa: ANN401, any TOML value
    """Return the name of an item; that of its joint or file if it has none."""
    if not isinstance(item, dict):
        return ""
    return str(item.get("name") or item.get("joint") or Path(str(item.get("file", ""))).stem)


def _value(value: object) -> object:
    """Return a text as a TOML value if it is one, and NumPy numbers as Python numbers."""
    if isinstance(value, str):
        try:
            read = tomllib.loads(f"value = {value}")
        except (ValueError, RecursionError):  # not TOML, or an integer of thousands of digits
            return value
        return read["value"] if list(read) == ["value"] else value
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value
