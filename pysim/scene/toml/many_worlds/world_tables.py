"""Tables of a world that differs from the first one in numbers.

Of a table with other numbers, only the keys in which they are get validated again. If relations between its keys are
checked, the whole table is, with those tables in it that do not differ as they are.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import create_model

from pysim.scene.toml.many_worlds.world_numbers import UnlikeWorldError
from pysim.scene.toml.plausibility import is_plausible
from pysim.scene.toml.records.table import Table
from pysim.scene.toml.records.tables import TABLES_OF_SCENE

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pysim.scene.toml.many_worlds.world_numbers import Numbers
    from pysim.scene.toml.reader import ReadScene
    from pysim.scene.toml.source import Step, Steps

_NAMES = (
    "body", "joint", "actuator", "loop", "coupling", "force", "signal", "sensor", "controller", "materials", "ground",
    "contact",
)  # fmt: skip
TABLES = {name: TABLES_OF_SCENE[name] for name in _NAMES}


class ChangedTable(NamedTuple):
    """A table with other numbers than in the first world, and its keys in which they are."""

    table: Any
    keys: frozenset[str]


class WorldTables:
    """Tables of the first world, from which those of others are made."""

    def __init__(self, read: ReadScene) -> None:
        self._read = read
        self._known: dict[tuple[str, Any], dict[str, object]] = {}

    def changed(self, numbers: Mapping[Steps, Numbers]) -> dict[str, dict[Any, ChangedTable]]:
        """Return the tables with other numbers, by name, and by index or name in it.

        Raises:
            UnlikeWorldError: a number may be implausible.
            ValidationError: a number is invalid for its key.
        """
        cells: dict[tuple[str, Step], list[tuple[Steps, Numbers]]] = defaultdict(list)
        for place, number in numbers.items():
            if place[0] in TABLES:
                cells[str(place[0]), place[1]].append((place[2:], number))
        tables: dict[str, dict[Any, ChangedTable]] = {name: {} for name in TABLES}
        for (name, k), changes in cells.items():
            tables[name][k] = self._table(name, k, changes)
        return tables

    def _table(
        self, name: str, k: Step, changes: Collection[tuple[Steps, Numbers]]
    ) -> ChangedTable:
        values, kind = self._read.values[name][k], TABLES[name]
        keys = frozenset(str(steps[0]) for steps, _ in changes)
        given = {key: values[key] for key in keys}
        for steps, number in changes:
            if not is_plausible(steps, number, values.get("type")):
                raise UnlikeWorldError
            given = _with_number(given, steps, number)
        if _relates_keys(kind):
            return ChangedTable(kind.model_validate(self._valid(name, k) | given), keys)
        part = _part(kind, keys).model_validate(given)
        first = getattr(self._read.tables, name)[k]
        return ChangedTable(first.model_copy(update=vars(part)), keys)

    def _valid(self, name: str, k: Step) -> dict[str, object]:
        """Return the values of a table, with the tables in it as they were validated."""
        if (name, k) not in self._known:
            table = getattr(self._read.tables, name)[k]
            inner = {key: getattr(table, key) for key in table.model_fields_set}
            inner = {key: own for key, own in inner.items() if _is_of_tables(own)}
            self._known[name, k] = self._read.values[name][k] | inner
        return self._known[name, k]


@cache
def _relates_keys(kind: type[Table]) -> bool:
    """Return whether a table has validators of its own, beside those of the types of its keys."""
    own = kind.__pydantic_decorators__
    return bool(own.model_validators or own.field_validators or own.root_validators)


@lru_cache(maxsize=256)
def _part(kind: type[Table], keys: frozenset[str]) -> type[Table]:
    """Return a table that has some keys of another alone."""
    fields: dict[str, Any] = {
        key: (kind.model_fields[key].annotation, kind.model_fields[key]) for key in keys
    }
    return create_model(kind.__name__, __base__=Table, **fields)


def _is_of_tables(value: object) -> bool:
    if isinstance(value, list):
        return bool(value) and all(map(_is_of_tables, value))
    return isinstance(value, Table)


def _with_number(values: Any, steps: Steps, number: Numbers) -> Any:  # noqa: ANN401, nested tables and lists
    """Return values with another number at a path; what is not on the path is shared."""
    first, *rest = steps
    changed = values.copy()
    changed[first] = _with_number(values[first], tuple(rest), number) if rest else number
    return changed
