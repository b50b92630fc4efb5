"""Numbers that a scene writes as text: expressions "= 2 * link" of its `[parameters]`, and quantities "30 deg".

They are replaced by numbers before the tables are checked, so that the checks of every key hold for them.
"""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any

from pysim.errors import PysimError, SceneError, did_you_mean
from pysim.joints.documentation import unit_of
from pysim.plugins.fields import fields_of
from pysim.scene.toml.expressions import (
    CONSTANTS,
    FUNCTIONS,
    Expression,
    ExpressionError,
    evaluate,
    parsed,
)
from pysim.scene.toml.plugin_keys import plugin_at
from pysim.scene.toml.problems import field_at
from pysim.scene.toml.units import convert, split_quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pysim.scene.toml.problems import Problems
    from pysim.scene.toml.records.table import Table
    from pysim.scene.toml.source import Steps

TABLE = "parameters"
# meaning of the fields of sources that have the unit of their table
OF_SIGNAL = "in the signal's unit"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_EXPRESSION = re.compile(r"\s*=")
_SPLIT = re.compile(r", | or ")
_LINEAR, _ANGULAR = ("prismatic",), ("revolute", "universal")


def replace_texts(values: dict[str, Any], scene: type[Table], problems: Problems) -> None:
    """Replace expressions and quantities by numbers, in place; note what cannot be read."""
    parameters = _parameters(values.get(TABLE), problems)
    joints = _joint_types(values)
    for path, owner, text in list(_texts(values)):
        if path[0] == TABLE:
            continue
        if _EXPRESSION.match(text):
            number = _evaluated(text, parameters, path, problems)
        elif split_quantity(text) is None:
            continue
        else:
            number = _converted(text, _targets(values, joints, scene, path), path, problems)
        if number is not None:
            owner[path[-1]] = _as_written(number)


def check_new_parameters(
    values: Mapping[str, Any], new: Mapping[Steps, str], known: Iterable[str]
) -> None:
    """Reject parameters that overrides add and no expression uses.

    Args:
        values: the file's, with overrides.
        new: options by the paths that they changed.
        known: names of the file's own parameters.

    Raises:
        SceneError: a name is misspelt.
    """
    names = {
        str(path[1]): option for path, option in new.items() if path[0] == TABLE and len(path) == 2
    }
    added = names.keys() - set(known)
    if not added:
        return
    texts = [text for _, _, text in _texts(values) if _EXPRESSION.match(text)]
    used = {word for text in texts for word in _NAME.findall(text)}
    for name in sorted(added - used):
        hint = did_you_mean(name, known) or f"; define it in [{TABLE}]"
        raise SceneError(names[name], f"no expression uses this parameter{hint}")


class Expressions:
    """Expressions of a valid file, and its `[parameters]`, on which they depend.

    Args:
        values: the file's, with overrides.
        problems: receives nothing, as the values have been read without a problem.
    """

    def __init__(self, values: Mapping[str, Any], problems: Problems) -> None:
        table = values.get(TABLE)
        table = dict(table) if isinstance(table, dict) else {}
        texts = {
            name: _expression(given)
            for name, given in table.items()
            if isinstance(given, str) and _EXPRESSION.match(given)
        }
        self._values = _parameters(table, problems)
        self._derived = {name: texts[name] for name in self._values if name in texts}
        self._elsewhere = [
            (path, _expression(text))
            for path, _, text in _texts(values)
            if path[0] != TABLE and _EXPRESSION.match(text)
        ]

    def evaluate(self, changes: Mapping[str, float]) -> dict[Steps, float | int]:
        """Return by their paths the numbers that depend on some parameters, with other values of them.

        They are the other values themselves, and every expression in which a changed number occurs.

        Raises:
            ExpressionError: an expression has no finite value.
        """
        new = {name: float(number) for name, number in changes.items()}
        known = self._values | new
        for name, expression in self._derived.items():  # each after those that it depends on
            if name not in new and not expression.names.isdisjoint(new):
                new[name] = known[name] = expression.value(known)
        found: dict[Steps, float] = {(TABLE, name): number for name, number in new.items()}
        for path, expression in self._elsewhere:
            if not expression.names.isdisjoint(new):
                found[path] = expression.value(known)
        return {path: _as_written(number) for path, number in found.items()}


def _expression(text: str) -> Expression:
    return parsed(text[text.index("=") + 1 :])


def _parameters(table: object, problems: Problems) -> dict[str, float]:
    """Return the values of `[parameters]`, which may use one another in any order."""
    known: dict[str, float] = {}
    if not isinstance(table, dict):
        return known
    for name in _in_order(table, known, problems):
        path: Steps = (TABLE, name)
        value_text = table[name]
        if not _NAME.fullmatch(name) or name in CONSTANTS or name in FUNCTIONS:
            taken = (
                "is the name of a constant or function"
                if _NAME.fullmatch(name)
                else "is not a name"
            )
            problems.add(path, f"{taken}; use letters, digits and _, such as link_2", of_key=True)
            continue
        value = value_text
        if isinstance(value_text, str):
            if _EXPRESSION.match(value_text):
                value = _evaluated(value_text, known, path, problems, table)
            else:
                value = _converted(value_text, [], path, problems)
            if value is None:  # reported; expressions with it have no mistake of their own
                known[name] = 1.0
                continue
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            known[name] = float(value)
            table[name] = _as_written(known[name])
    return known


def _in_order(
    table: Mapping[str, object], known: dict[str, float], problems: Problems
) -> list[str]:
    """Return the names of parameters, each after those in its expression; cycles are reported and get a value."""
    used = {
        name: {word for word in _NAME.findall(given) if word in table}
        if isinstance(given, str) and _EXPRESSION.match(given)
        else set()
        for name, given in table.items()
    }
    while True:
        try:
            return list(TopologicalSorter(used).static_order())
        except CycleError as error:
            cycle: list[str] = error.args[1][::-1]
            first = min(cycle, key=list(table).index)
            at = cycle.index(first)
            cycle = [*cycle[at:-1], *cycle[:at], first] if at else cycle
            problem = f"depends on itself: {' → '.join(cycle)}; give one of them a number"
            problems.add((TABLE, first), problem)
            for name in cycle:
                known[name] = 1.0
                used.pop(name, None)
            used = {name: words - set(cycle) for name, words in used.items()}


def _texts(values: Mapping[str, Any]) -> Iterator[tuple[Steps, Any, str]]:
    """Yield path, container and text of every text in a file, in its order."""
    layer: list[tuple[Steps, Any]] = [((), values)]
    for steps, owner in layer:  # grows during the iteration
        items = owner.items() if isinstance(owner, dict) else enumerate(owner)
        for step, value in items:
            if isinstance(value, str):
                yield (*steps, step), owner, value
            elif isinstance(value, (dict, list)):
                layer.append(((*steps, step), value))


def _evaluated(
    text: str,
    parameters: Mapping[str, float],
    path: Steps,
    problems: Problems,
    table: Mapping[str, object] | None = None,
) -> float | None:
    skipped = text.index("=") + 1
    try:
        return evaluate(text[skipped:], parameters)
    except ExpressionError as error:
        problem = error.problem
        name = re.match(r"unknown parameter '(\w+)'", problem)
        if name is not None and not parameters and table is None:
            problem = f"unknown parameter {name[1]!r}; define it in [{TABLE}]"
        problems.add(path, problem, offset=skipped + error.offset)
    return None


def _converted(
    text: str, targets: list[str] | None, path: Steps, problems: Problems
) -> float | None:
    if targets is None:
        return None
    try:
        return convert(text, targets)
    except ValueError as error:
        problems.add(path, str(error))
    return None


def _targets(
    values: Mapping[str, Any], joints: Mapping[object, object], scene: type[Table], path: Steps
) -> list[str] | None:
    """Return the units that the key at a path has; None for a key without one."""
    found = _plugin_unit(values, path)
    if found is not None:
        return found or None
    owner, info = field_at(scene, path)
    extra = info.json_schema_extra if info else None
    unit = str(extra.get("unit", "")) if isinstance(extra, dict) else ""
    if not unit and owner is not None and "q" in owner.model_fields:  # start = "30 deg"
        extra = owner.model_fields["q"].json_schema_extra
        unit = str(extra.get("unit", "")) if isinstance(extra, dict) else ""
    if not unit:
        return None
    units = _SPLIT.split(unit)
    kind = _joint_type(values, joints, path)
    if len(units) == 2 and kind in (*_LINEAR, *_ANGULAR):
        return units[:1] if kind in _LINEAR else units[1:]
    return units


def _plugin_unit(values: Mapping[str, Any], path: Steps) -> list[str] | None:
    """Return the alternative units of a plugin's key; None for the keys that a table has by itself.

    They are those of the comment behind the field, and for the values of a signal the unit of its table.
    """
    at = 1 if path[0] == "simulation" else 2
    try:
        plugin = plugin_at(values, path[:at]) if len(path) > at else None
    except (PysimError, KeyError, IndexError, TypeError, AttributeError):
        return None  # reported when the tables are checked
    if plugin is None or path[at] not in fields_of(plugin):
        return None
    unit, doc = unit_of(plugin, str(path[at]))
    if path[0] == "signal" and doc.startswith(OF_SIGNAL):
        unit = values["signal"][path[1]].get("unit", "")
    return [part for part in _SPLIT.split(str(unit)) if part and " " not in part]


def _joint_types(values: Mapping[str, Any]) -> dict[object, object]:
    """Return the types of a file's joints by name."""
    found: dict[object, object] = {}
    tables = values.get("joint", [])
    for table in tables if isinstance(tables, list) else ():
        if isinstance(table, dict) and isinstance(table.get("name"), str):
            found.setdefault(table["name"], table.get("type"))
    return found


def _joint_type(values: Mapping[str, Any], joints: Mapping[object, object], path: Steps) -> object:
    """Return the type of the joint that a path is in, or whose actuator it is in."""
    table: Any = values
    for step in path[:2]:
        table = table[step]
    if not isinstance(table, dict):
        return None
    if path[0] != "actuator":
        return table.get("type")
    driven = table.get("joint")
    return joints.get(driven) if isinstance(driven, str) else None


def _as_written(number: float) -> float | int:
    """Return an integer for a whole number, which keys of integers need."""
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def unused_parameters(values: Mapping[str, Any]) -> list[str]:
    """Return the names of `[parameters]` that no expression of a file uses; the values are those of the file."""
    table = values.get(TABLE, {})
    texts = [text for _, _, text in _texts(dict(values)) if _EXPRESSION.match(text)]
    used = {word for text in texts for word in _NAME.findall(text)}
    return [name for name in table if name not in used] if isinstance(table, dict) else []
