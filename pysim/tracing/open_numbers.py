"""Open numbers: fields of elements whose values may change after their programs are recorded.

A field is a constant of a program, and operations on constants are evaluated at once. Of an open number the tape keeps
how a constant follows from it: the constant has the value that it would have anyway, and a recipe, by which its values
for other values of the field are computed with the same operations. Constants with recipes are not simplified away
where they are 0 or 1, so that the program is one for all values. Python cannot branch on an open number while a
formula is recorded, nor convert it to a float.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from pysim.tracing.expression import Scalar, record
from pysim.tracing.tape import EVALUATE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pysim.tracing.tape import Node, Tape
    from pysim.typing import Array

NONE = -1  # in place of a recipe
# the operations of NumPy that have the bits of Python's
_AT_ONCE: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "min": np.minimum,
    "max": np.maximum,
}


class Recipe(NamedTuple):
    """An operation on earlier recipes; a `number` is that of an open number, or the value of a constant."""

    op: str
    args: tuple[int, ...] = ()
    number: float = 0.0


@dataclass
class Recipes:
    """Formulas by which constants of a scene's programs follow from its open numbers.

    Attributes:
        steps: operands before their users, each once.
        tables: for every number of a table of the engine its recipe, −1 for none, by the name of the table.
    """

    steps: list[Recipe] = field(default_factory=list)
    tables: dict[str, list[int]] = field(default_factory=dict)
    _known: dict[Recipe, int] = field(default_factory=dict)
    _fields: list[frozenset[int]] = field(default_factory=list)  # on which each depends

    def add(self, op: str, args: tuple[int, ...] = (), number: float = 0.0) -> int:
        """Return the index of a recipe, added if it is new."""
        recipe = Recipe(op, args, number)
        if recipe not in self._known:
            self._known[recipe] = len(self.steps)
            self.steps.append(recipe)
            own = {int(number)} if op == "field" else frozenset[int]()
            self._fields.append(frozenset(own).union(*(self._fields[a] for a in args)))
        return self._known[recipe]

    def fields(self, recipe: int) -> frozenset[int]:
        """Return the open numbers on which a recipe depends."""
        return self._fields[recipe]

    def constant(self, node: Node) -> int:
        """Return the recipe of a constant of a tape."""
        return node.data[0] if node.data else self.add("const", number=node.value)

    def note(self, table: str, recipes: Sequence[int]) -> None:
        """Keep the recipes of the numbers of a table, if there are some."""
        if any(recipe != NONE for recipe in recipes):
            self.tables[table] = list(recipes)

    def values(self, wanted: Sequence[int], numbers: Array) -> Array:
        """Return the values (k, wanted) of recipes for open numbers (k, fields), which may be symbolic."""
        if not len(wanted):
            return np.zeros((len(numbers), 0))
        slots: dict[int, Any] = {}
        with np.errstate(all="ignore"):
            for k in self._needed(wanted):
                op, args, number = self.steps[k]
                if op == "field":
                    slots[k] = numbers[:, int(number)]
                elif op == "const":
                    slots[k] = np.full(len(numbers), number)
                else:
                    slots[k] = _applied(op, [slots[a] for a in args])
        return np.stack([slots[k] for k in wanted], axis=1)

    def _needed(self, wanted: Sequence[int]) -> list[int]:
        needed, pending = set[int](), list(wanted)
        while pending:
            k = pending.pop()
            if k not in needed:
                needed.add(k)
                pending += self.steps[k].args
        return sorted(needed)


def _applied(op: str, columns: list[Any]) -> Any:
    """Return the numbers (k,) of an operation on numbers (k,)."""
    if any(column.dtype == object for column in columns):
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return np.array([record(op, *row) for row in rows], object)
    if op in _AT_ONCE:
        return _AT_ONCE[op](*columns)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return np.array([_value(op, row) for row in rows])


def _value(op: str, row: tuple[float, ...]) -> float:
    try:
        return float(EVALUATE[op](*row))
    except (ValueError, OverflowError, ZeroDivisionError):
        return np.nan


class OpenNumber(float):
    """Value of a field of an element that may change after the programs are recorded."""

    recipes: Recipes
    number: int  # among the open numbers of the scene

    def __new__(cls, value: float, recipes: Recipes, number: int) -> Self:
        found = super().__new__(cls, value)
        found.recipes, found.number = recipes, number
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the value alone."""
        return float, (float(self),)


@dataclass(frozen=True)
class OpenRows:
    """Open numbers that are no fields of elements, such as gravity: rows of numbers, each with a name.

    Attributes:
        recipes: of the scene.
        first: number of the first open number of every row.
        values: of rows that differ from the scene's.
    """

    recipes: Recipes
    first: Mapping[str, int]
    values: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def symbolic(self, name: str, row: Sequence[float], tape: Tape) -> list[Scalar] | None:
        """Return a row as symbolic numbers of a tape; None if it is not open."""
        if name not in self.first:
            return None
        numbers = enumerate(self.values.get(name, row), self.first[name])
        return [Scalar(tape, tape.open_number(x, self.recipes, number)) for number, x in numbers]


@contextmanager
def opened(plugin: Any, tape: Tape) -> Iterator[None]:
    """Let the open numbers among the fields of a plugin be symbolic numbers of a tape in the block."""
    written = {own.name: getattr(plugin, own.name) for own in fields(plugin)}
    written = {name: value for name, value in written.items() if open_numbers_in(value)}
    try:
        for name, value in written.items():
            object.__setattr__(plugin, name, _symbolic(value, tape))
        yield
    finally:
        for name, value in written.items():
            object.__setattr__(plugin, name, value)


def open_numbers_in(value: object) -> list[OpenNumber]:
    """Return the open numbers of a field."""
    values = value if isinstance(value, (tuple, list)) else [value]
    return [x for x in values if isinstance(x, OpenNumber)]


def _symbolic(value: Any, tape: Tape) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(_symbolic(x, tape) for x in value)
    if isinstance(value, OpenNumber):
        return Scalar(tape, tape.open_number(value, value.recipes, value.number))
    return value
