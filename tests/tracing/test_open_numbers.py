"""Constants that follow from open numbers.

Oracle: the same formula, recorded with other values of the open numbers: its constants, to the bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pysim.errors import JointError
from pysim.tracing.derivative import Derivative
from pysim.tracing.expression import Scalar
from pysim.tracing.open_numbers import NONE, OpenNumber, Recipes, opened
from pysim.tracing.program import emit, recipes_of
from pysim.tracing.tape import Tape

if TYPE_CHECKING:
    from collections.abc import Callable

    from pysim._engine import Program


@dataclass(frozen=True)
class Fields:
    """Fields of an element."""

    a: float
    b: float
    list: tuple[float, ...]
    fixed: float = 2.5


FORMULAS: dict[str, Callable[[Any, Any], Any]] = {
    "products": lambda f, x: f.a * f.b * x + (f.a - f.b) / f.fixed * x * x,
    "functions": lambda f, x: np.exp(-f.a) * np.sin(f.b * x) + np.hypot(f.a, f.b) * np.sqrt(x),
    "choices": lambda f, x: np.clip(x, np.minimum(-f.a, f.b), np.maximum(f.a, f.list[1])) * f.a**3,
    "lists": lambda f, x: sum(c * x**k for k, c in enumerate(f.list)) + np.arctan2(f.a, f.b),
    "powers": lambda f, x: x**f.a + f.fixed**f.b * x + f.list[0] ** 2,
    "neutral": lambda f, x: 0 * f.a + 1 * f.b + f.a * x + f.list[2] * x,
}


def recorded(formula: Callable[[Any, Any], Any], values: Any) -> tuple[Program, Recipes, list[int]]:
    """Return the program of a formula and its derivative, and the recipes of its constants."""
    recipes, tape = Recipes(), Tape()
    a, b, *others = (OpenNumber(x, recipes, k) for k, x in enumerate(values))
    fields = Fields(a, b, tuple(others))
    with opened(fields, tape):
        node = formula(fields, Scalar(tape, tape.input(0))).index
    assert fields.a is a
    nodes = [node, Derivative(tape, {0: tape.const(1)}).of(node)]
    return emit(tape, nodes, [], 1), recipes, recipes_of(tape, nodes, [])


@pytest.mark.parametrize("name", FORMULAS)
def test_constants_are_those_of_a_trace_with_other_values(
    name: str, rng: np.random.Generator
) -> None:
    first, recipes, found = recorded(FORMULAS[name], [1.0, 0.0, 0.0, 1.0, -1.0])
    values = rng.uniform(0.2, 3.0, (20, 5))
    known = [recipe for recipe in found if recipe != NONE]
    assert known
    constants = np.tile(first.constants, (len(values), 1))
    constants[:, np.flatnonzero(np.array(found) != NONE)] = recipes.values(known, values)
    for row, own in zip(constants, values, strict=True):
        other, _, _ = recorded(FORMULAS[name], own.tolist())
        assert other.code == first.code  # also where the first values are 0 or 1
        assert np.array(other.constants).tobytes() == row.tobytes()


def test_the_value_of_a_constant_is_that_of_plain_numbers() -> None:
    program, _, found = recorded(FORMULAS["functions"], [0.3, 1.7, 0.0, 1.0, 2.0])
    plain = Fields(0.3, 1.7, (0.0, 1.0, 2.0))
    tape = Tape()
    node = FORMULAS["functions"](plain, Scalar(tape, tape.input(0))).index
    wanted = emit(tape, [node], [], 1).constants
    assert set(wanted) <= set(program.constants)
    assert len(found) == len(program.constants)


def test_python_cannot_branch_on_an_open_number() -> None:
    with pytest.raises(JointError, match="a branch depends on a symbolic number"):
        recorded(lambda f, x: x if f.a > 1 else -x, [1.0, 2.0, 0.0, 1.0, 2.0])
    with pytest.raises(JointError, match="is converted to a float"):
        recorded(lambda f, x: float(f.b) * x, [1.0, 2.0, 0.0, 1.0, 2.0])


def test_recipes_know_the_numbers_that_they_depend_on() -> None:
    _, recipes, found = recorded(lambda f, x: f.a * f.list[0] * x + f.b, [1.0, 2.0, 3.0, 4.0, 5.0])
    assert {recipes.fields(k) for k in found if k != NONE} == {
        frozenset({0, 2}),
        frozenset({1}),
    }
