"""Tapes, and complex steps through them. Oracles: the same formula in NumPy and its central differences."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pysim.tracing.derivative import Derivative
from pysim.tracing.evaluation import evaluate, rate
from pysim.tracing.expression import Scalar
from pysim.tracing.symbolic_array import symbolic_array
from pysim.tracing.tape import Tape

CASES = {
    "sqrt": lambda x: np.sqrt(2 + x),
    "tan": np.tan,
    "arcsin": lambda x: np.arcsin(x / 2),
    "arccos": lambda x: np.arccos(x / 2),
    "arctan": np.arctan,
    "exp": np.exp,
    "log": lambda x: np.log(x + 2),
    "tanh": np.tanh,
    "sinh": np.sinh,
    "power": lambda x: (x + 2) ** 2.5,
    "square root by an exponent": lambda x: (x + 2) ** 0.5,
    "no power": lambda x: 0 * x + (x + 2) ** 0,
    "base": lambda x: 2.5**x,
    "orders": lambda x: x * (x <= 0.1) - 2 * x * (x >= 0.2),
    "equalities": lambda x: x * (x == 0.5) + 3 * x * (x != 0.5),
    "either and not": lambda x: x * ((x < -0.3) | (x > 0.3)) + 2 * x * ~((x < 0.3) & (x > -0.3)),
    "signs": lambda x: -(+x) + abs(x),
    "quotient": lambda x: 3 / (2 + x),
    "negative power": lambda x: np.power(x - 3.0, 17.0),
    "exponent": lambda x: np.power(2.5, x),
    "absolute": np.abs,
    "minimum": lambda x: np.minimum(x, x**2),
    "maximum": lambda x: np.maximum(x, 0.2),
    "hypot": lambda x: np.hypot(x, 0.3),
    "clip": lambda x: np.clip(x, -0.4, 0.3),
    "polynomial": lambda x: np.polyval([2.0, -1.0, 0.0, 0.5], x),
    "where": lambda x: np.where(x > 0.1, x**3, -x),
    "division": lambda x: 1 / (3 + x),
}
ARRAYS = {
    "limits": lambda x: np.clip(x, -0.4, 0.3),
    "limits of each": lambda x: np.clip(-3 * x, [-0.4, -0.1, -0.2], [0.3, 0.1, 0.2]),
    "limits by method": lambda x: x.clip(-0.4, 0.3),
    "one limit": lambda x: np.clip(x, None, 0.3),
    "minimum of two": lambda x: np.minimum(x, x[::-1]),
    "maximum of a number": lambda x: np.maximum(x[0], x),
    "limits of a number": lambda x: np.clip(x[0], -0.4, abs(x)),
    "choice of each": lambda x: np.where(x > 0.1, x**3, -x),
    "choice by a number": lambda x: np.where(x[0] <= x[1], x, 2.0),
    "choice without a symbol": lambda x: np.where([True, False, True], x, 2.0),
    "signs": lambda x: np.sign(x) * x**2,
    "mask": lambda x: x * (x != 0.5) * np.logical_not(x < 0),
    "largest": lambda x: np.max(x) - x.min() * x,
    "largest of columns": lambda x: np.outer(x, [1.0, -1.0, 2.0]).max(axis=0),
    "any": lambda x: np.where(np.any(x > 0.6), x, 0.0),
    "all": lambda x: np.where(np.all(x < 0.6), x, 0.0),
    "norm": lambda x: x / np.linalg.norm(x),
    "product": lambda x: np.maximum(np.array([[1.0, 2, 0], [0, 1, 3], [1, 0, 1]]) @ x, 0.0),
    "sum in place": lambda x: np.add(x, 1.0, out=x.copy()) * np.cross(x, [1.0, 0.0, 0.0]),
    "pieces": lambda x: np.maximum(np.concatenate([x[:1], -x[1:]]), 0.1),
}
ANGLES = {"first": (1, 1), "second": (1, -1), "third": (-1, -1), "fourth": (-1, 1)}


@pytest.mark.parametrize("name", CASES)
def test_complex_steps_are_central_differences(name, rng):
    tape = Tape()
    y = CASES[name](Scalar(tape, tape.input(0)))
    x, h = rng.uniform(-0.9, 0.9, 20), 1e-6
    value = evaluate(tape, x[None], [y.index])[0]
    np.testing.assert_allclose(value, CASES[name](x), rtol=1e-13)
    slope = rate(tape, x[None], np.ones((1, 20)), [y.index])[0]
    difference = (CASES[name](x + h) - CASES[name](x - h)) / (2 * h)
    np.testing.assert_allclose(slope, difference, rtol=1e-7, atol=1e-8 * abs(value).max())


@pytest.mark.parametrize("name", [*CASES, "power of two"])
def test_recorded_derivatives_are_complex_steps(name, rng):
    """Nodes that a tape adds for the derivative along a motion."""
    case = CASES.get(name, lambda x: (x + 2) ** (x * x))
    tape = Tape()
    x = Scalar(tape, tape.input(0))
    y = case(x)
    speed = tape.input(1)
    slope = Derivative(tape, {x.index: speed}).of(y.index)
    inputs = np.stack([rng.uniform(-0.9, 0.9, 20), rng.uniform(0.5, 2, 20)])
    moved = np.stack([inputs[1], np.zeros(20)])
    expected = rate(tape, inputs, moved, [y.index])[0]
    found = evaluate(tape, inputs, [slope])[0]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", ARRAYS)
def test_functions_of_arrays_are_those_of_numpy(name, rng):
    tape = Tape()
    found = ARRAYS[name](symbolic_array([Scalar(tape, tape.input(i)) for i in range(3)]))
    inputs = rng.uniform(-0.9, 0.9, (20, 3))
    nodes = [tape.const(x) if isinstance(x, float) else x.index for x in found]
    expected = [ARRAYS[name](x) for x in inputs]
    np.testing.assert_allclose(evaluate(tape, inputs.T, nodes).T, expected, rtol=1e-13)


@pytest.mark.parametrize("quadrant", ANGLES)
def test_complex_steps_of_an_angle_hold_in_every_quadrant(quadrant, rng):
    tape = Tape()
    y, x = (Scalar(tape, tape.input(i)) for i in (0, 1))
    node = np.arctan2(y, x).index
    radius, turn = rng.uniform(0.5, 2, 20), rng.uniform(0.1, math.pi / 2 - 0.1, 20)
    sx, sy = ANGLES[quadrant]
    inputs = np.array([sy * radius * np.sin(turn), sx * radius * np.cos(turn)])
    np.testing.assert_allclose(evaluate(tape, inputs, [node])[0], np.arctan2(*inputs), rtol=1e-15)
    spin = np.array([inputs[1], -inputs[0]])  # turning at 1 rad/s
    np.testing.assert_allclose(rate(tape, inputs, spin, [node])[0], 1, rtol=1e-14)
