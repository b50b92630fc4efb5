"""Rounding, remainders and tables of symbolic numbers. Oracle: NumPy's function of the same name, on numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pysim.errors import JointError
from pysim.tracing.derivative import Derivative
from pysim.tracing.evaluation import evaluate
from pysim.tracing.expression import Scalar
from pysim.tracing.symbolic_array import symbolic_array
from pysim.tracing.tape import Tape

Function = Callable[..., Any]
XP, FP = [-1.0, 0.5, 0.7, 2.0], [3.0, -1.0, 4.0, 4.5]
ONE: dict[str, Function] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "fix": np.fix,
    "rint": np.rint,
    "round": np.round,
    "to decimals": lambda x: np.round(x, 2),
    "to tens": lambda x: np.round(x, -1),
    "interp": lambda x: np.interp(x, XP, FP),
    "interp with ends": lambda x: np.interp(x, XP, FP, left=-7.0, right=9.0),
    "periodic": lambda x: np.interp(x, XP, FP, period=2.5),
    "one point": lambda x: np.interp(x, [0.4], [2.0]),
    "log10": lambda x: np.log10(np.abs(x) + 1.0),
    "log2": lambda x: np.log2(np.abs(x) + 1.0),
    "exp2": np.exp2,
    "heaviside": lambda x: np.heaviside(x, 0.5),
}
TWO: dict[str, Function] = {
    "mod": np.mod,
    "%": lambda x, y: x % y,
    "fmod": np.fmod,
    "floor_divide": np.floor_divide,
    "//": lambda x, y: x // y,
    "divmod": lambda x, y: divmod(x, y)[0] + divmod(x, y)[1],
}
EDGES = [
    -3.5,
    -2.5,
    -2.0,
    -1.5,
    -1.0,
    -0.5,
    -1e-20,
    0.0,
    1e-20,
    0.5,
    1.0,
    1.5,
    2.5,
    3.0,
    0.49999999999999994,
    2.0**52,
]


def traced(function: Function, count: int) -> tuple[Tape, int]:
    tape = Tape()
    result = function(*(Scalar(tape, tape.input(k)) for k in range(count)))
    return tape, result.index if isinstance(result, Scalar) else tape.const(float(result))


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_number_are_recorded(name: str, rng: np.random.Generator) -> None:
    tape, node = traced(ONE[name], 1)
    x = np.concatenate([rng.uniform(-20, 20, 400), EDGES])
    if name == "exp2":
        x = x[:-1]
    found = evaluate(tape, x[None], [node])[0]
    np.testing.assert_allclose(found, ONE[name](x), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_numbers_are_recorded(name: str, rng: np.random.Generator) -> None:
    tape, node = traced(TWO[name], 2)
    x = rng.uniform(-20, 20, (2, 400))
    np.testing.assert_allclose(evaluate(tape, x, [node])[0], TWO[name](*x), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("y", [0.1, 0.25, -0.7, 3.0])
def test_a_remainder_is_within_its_divisor(y: float, rng: np.random.Generator) -> None:
    tape, node = traced(lambda x: x % y, 1)
    whole = np.arange(-50.0, 51.0) * y
    x = np.concatenate(
        [whole, np.nextafter(whole, 9), np.nextafter(whole, -9), rng.normal(size=50)]
    )
    found = evaluate(tape, x[None], [node])[0]
    assert ((found * np.sign(y) >= 0) & (np.abs(found) <= abs(y))).all()


@pytest.mark.parametrize("name", ["floor", "to decimals", "interp", "interp with ends", "periodic"])
def test_their_slopes_are_those_between_jumps(name: str, rng: np.random.Generator) -> None:
    """Oracle: central differences, away from knots and jumps."""
    tape, node = traced(ONE[name], 1)
    slope = Derivative(tape, {0: tape.const(1)}).of(node)
    x, h = rng.uniform(-3, 3, 300), 1e-7
    expected = (ONE[name](x + h) - ONE[name](x - h)) / (2 * h)
    found = evaluate(tape, x[None], [slope])[0]
    smooth = np.abs(expected) < 1e3
    assert smooth.mean() > 0.98
    np.testing.assert_allclose(found[smooth], expected[smooth], rtol=1e-6, atol=1e-6)


def test_a_remainder_has_the_slopes_of_its_two_numbers(rng: np.random.Generator) -> None:
    tape, node = traced(np.mod, 2)
    x, y = rng.uniform(-9, 9, 100), rng.uniform(0.5, 3, 100)
    for k, expected in ((0, np.ones(100)), (1, -np.floor(x / y))):
        slope = Derivative(tape, {k: tape.const(1)}).of(node)
        np.testing.assert_allclose(evaluate(tape, np.stack([x, y]), [slope])[0], expected)


@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_arrays_are_treated_number_by_number(name: str) -> None:
    function = (ONE | TWO)[name]
    tape = Tape()
    numbers = [Scalar(tape, tape.input(k)) for k in range(2)]
    values = np.array([-1.3, 2.6])
    array = symbolic_array([*numbers, 1.7])
    plain = np.array([*values, 1.7])
    rest: tuple[Any, ...] = () if name in ONE else (0.8,)
    found = function(array, *rest)
    nodes = [x.index if isinstance(x, Scalar) else tape.const(float(x)) for x in found]
    result = evaluate(tape, values[:, None], nodes)[:, 0]
    np.testing.assert_allclose(result, function(plain, *rest), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("function", [np.sin, np.sqrt, np.exp, np.tanh, np.arctan, np.hypot])
def test_arrays_of_symbolic_and_plain_numbers_are_recorded(function: Any) -> None:
    tape = Tape()
    array = symbolic_array([Scalar(tape, tape.input(0)), 1.7])
    rest = (2.0,) if function is np.hypot else ()
    first, second = function(array, *rest)
    assert evaluate(tape, np.array([[0.3]]), [first.index])[0, 0] == pytest.approx(
        function(0.3, *rest)
    )
    assert second == pytest.approx(function(1.7, *rest))


def test_pythons_own_functions_are_recorded() -> None:
    tape = Tape()
    x = Scalar(tape, tape.input(0))
    results = [math.floor(x), math.ceil(x), math.trunc(x), round(x), round(x, 1), 7.0 % x, 7.0 // x]
    nodes = [getattr(result, "index") for result in results]  # noqa: B009, typed as int
    found = evaluate(tape, np.array([[-1.26, 2.5]]), nodes).T
    for value, row in zip((-1.26, 2.5), found, strict=True):
        whole = [math.floor(value), math.ceil(value), math.trunc(value), round(value)]
        expected: list[float] = [*whole, round(value, 1), 7.0 % value, 7.0 // value]
        np.testing.assert_allclose(row, expected)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: np.interp(x, [0, 0, 1], [1, 2, 3]), "needs xp that increases"),
        (lambda x: np.interp(x, [0, 1], [1, 2, 3]), "needs as many values as knots, got (2,) and (3,)"),
        (lambda x: np.interp(x, [0, 1], [1, np.nan]), "needs finite numbers"),
        (lambda x: np.interp(x, [0, 1], [0.0, x]), "needs a table of plain numbers"),
        (lambda x: np.interp(x, [0, 1], [0.0, 1.0], period=-1.0), "needs a positive period, got -1"),
    ],
)  # fmt: skip
def test_wrong_tables_are_rejected(function: Function, text: str) -> None:
    tape = Tape()
    with pytest.raises(JointError) as caught:
        function(Scalar(tape, tape.input(0)))
    assert caught.value.problem.startswith(f"np.interp {text}")
