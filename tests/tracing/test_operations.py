"""Operations of traced programs on the engine. Oracle: the tracer's operation of the same name, on numbers."""

from __future__ import annotations

import numpy as np
import pytest

from pysim import _engine
from pysim._engine import (
    Block,
    Column,
    Group,
    JointDescription,
    MotionDescription,
    Op,
    Program,
    Shape,
)
from pysim.tracing.derivative import Derivative
from pysim.tracing.evaluation import evaluate
from pysim.tracing.expression import Scalar
from pysim.tracing.tape import EVALUATE, Tape

KNOTS, TABLE = [0.0, 0.3, 0.6, 1.0], [5.0, 7.0, 9.0]
ZERO, ONE, FIRST, SECOND = 6, 7, 8, 9  # registers behind q (3) and v (3)


def segment(a, *_):
    return np.searchsorted(KNOTS[1:-1], a, side="right")


def root_within(square, lower, upper):
    """Return x with x² = square between two bounds."""
    crosses = (lower * lower - square) * (upper * upper - square) <= 0
    return np.sqrt(square) if crosses else np.nan


ALONE = {  # of the engine: written for several nodes, or not folded
    Op.sincos: lambda a, *_: (np.sin(a), np.cos(a)),
    Op.segment: segment,
    Op.lookup: lambda a, *_: TABLE[segment(a)],
    Op.fma: lambda a, b, c: a * b + c,
    Op.fms: lambda a, b, c: a * b - c,
    Op.fnma: lambda a, b, c: c - a * b,
    Op.copy: lambda a, *_: a,
    Op.dot: lambda *row: np.dot(TABLE, row),
    Op.solve: root_within,
}
UNARY = {"neg", "sqrt", "tan", "asin", "acos", "atan", "exp", "log", "tanh", "abs", "floor", "sign"}
DEFINED_BELOW_ZERO = {"abs", "sign", "neg", "tan", "atan", "tanh", "atan2", "sincos", "exp"}


def program_of(op: Op) -> Program:
    """Applies an operation to q and puts what it writes, two registers, to x and y of the pose."""
    code = [(op, FIRST, 0, 1, 2)]
    if op in (Op.segment, Op.lookup):
        code = [(Op.segment, FIRST, 0, 0, len(KNOTS))]
    if op is Op.lookup:
        code.append((Op.lookup, FIRST, FIRST, len(KNOTS), 1))
    if op is Op.dot:  # of the three coordinates
        code = [(Op.dot, FIRST, 0, len(KNOTS), 3)]
    if op is Op.solve:  # x² − q₁, with the guess q₁ between q₂ and q₃
        code = [(op, FIRST, 0, 10, 2), (Op.fms, 10, FIRST, FIRST, 0), (Op.add, 11, FIRST, FIRST, 0)]
    second = SECOND if op is Op.sincos else ZERO
    pose = [ONE, ZERO, ZERO, ZERO, ONE, ZERO, ZERO, ZERO, ONE, FIRST, second, ZERO]
    constants, tables = [0.0, 1.0], KNOTS + TABLE
    return Program(code, len(code), 12, constants, tables, pose + [ZERO] * 24)


def on_engine(op: Op, q: np.ndarray) -> np.ndarray:
    place = place_of(program_of(op), q)
    return place if op is Op.sincos else place[:, 0]


def place_of(program: Program, q: np.ndarray) -> np.ndarray:
    motion = MotionDescription(
        Shape.program,
        blocks=[Block(Group.real, 0, 0, 3)],
        columns=[Column.stored] * 3,
        biased=True,
        program=program,
        derivative=program.replaced(code=[], pose_end=0, outputs=[ZERO] * 72),
    )
    model = _engine.Model([JointDescription("j", motion)], np.zeros((1, 10)), np.zeros(3))
    return np.asarray(_engine.forward_kinematics(model, q))[:, 0, :2, 3]


def by_tracer(op: Op, q: np.ndarray) -> list[float]:
    if op in ALONE:
        return [ALONE[op](*row) for row in q]
    operands = 1 if op.name in UNARY else 3 if op in (Op.select, Op.random) else 2
    return [EVALUATE[op.name](*row[:operands]) for row in q.tolist()]


@pytest.mark.parametrize("op", list(Op), ids=lambda op: op.name)
def test_the_engine_and_the_tracer_mean_the_same_by_a_name(op, isa, rng):
    q = rng.uniform(0.05, 0.95, (19, 3))
    q[:5, 1] = q[:5, 0]
    if op in (Op.select, Op.sign):
        q[5:9, 0] = 0.0
    if op.name in DEFINED_BELOW_ZERO:
        q[9:, 0] *= -1
    np.testing.assert_allclose(on_engine(op, q), by_tracer(op, q), rtol=2e-15, atol=2e-16)


ODD = [np.nan, np.inf, -np.inf, 1e30, -1e30, 0.5, -0.0, 1.0, 3.0, -1.0, 2.0**31, -(2.0**31)]
OF_ODD = {
    "min": np.minimum,
    "max": np.maximum,
    "sign": np.sign,
    "abs": np.abs,
    "floor": np.floor,
    "segment": lambda x: np.where(np.isnan(x), np.nan, segment(x)),
    "lookup": lambda x: np.where(
        np.isnan(x), np.nan, np.array(TABLE)[np.clip(np.nan_to_num(x), 0, 2).astype(int)]
    ),
}


def of_odd_numbers(name: str) -> Program:
    """Applies an operation to numbers q₁ and q₂ of the list above, which may be NaN and infinite."""
    first, after = len(ODD), len(ODD) + len(KNOTS)
    operands = {"segment": (first, len(KNOTS)), "lookup": (after, 1)}.get(name, (9, 0))
    code = [(Op.lookup, 8, 0, 0, 1), (Op.lookup, 9, 1, 0, 1), (Op[name], 10, 8, *operands)]
    pose = [ONE, ZERO, ZERO, ZERO, ONE, ZERO, ZERO, ZERO, ONE, 10, ZERO, ZERO]
    return Program(code, 3, 11, [0.0, 1.0], ODD + KNOTS + TABLE, pose + [ZERO] * 24)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", OF_ODD)
def test_nan_and_infinite_operands_give_what_numpy_gives(name, dtype, isa):
    n = range(len(ODD))
    q = np.array([(i, j, 0.0) for i in n for j in n], dtype)
    x, y = np.array(ODD, dtype)[q[:, :2].astype(int)].T
    expected = OF_ODD[name](x, y) if name in ("min", "max") else OF_ODD[name](x)
    np.testing.assert_array_equal(place_of(of_odd_numbers(name), q)[:, 0], expected.astype(dtype))


@pytest.mark.parametrize("name", OF_ODD)
def test_the_tracer_gives_the_same_of_nan_and_infinite_operands(name):
    tape = Tape()
    first, second = tape.input(0), tape.input(1)
    table = tape.table(KNOTS if name == "segment" else TABLE)
    data = (table, len(KNOTS) if name == "segment" else 1)
    two = name in ("min", "max")
    args, data = ((first, second), ()) if two else ((first,), data)
    node = tape.node(name, *args, data=data if name in ("segment", "lookup") else ())
    x = np.array([(a, b) for a in ODD for b in ODD]).T
    expected = OF_ODD[name](*x) if two else OF_ODD[name](x[0])
    np.testing.assert_array_equal(evaluate(tape, x, [node])[0], expected)
    np.testing.assert_array_equal([tape.values(own)[node] for own in x.T], expected)


@pytest.mark.parametrize("function", [np.minimum, np.maximum, np.fmin, np.fmax])
@pytest.mark.parametrize("swapped", [False, True])
def test_numpys_functions_of_two_numbers_treat_nan_as_numpy_does(function, swapped):
    tape = Tape()
    one, other = (Scalar(tape, tape.input(k)) for k in range(2))
    result = function(other, one) if swapped else function(one, other)
    x = np.array([(a, b) for a in ODD for b in ODD]).T
    np.testing.assert_array_equal(evaluate(tape, x, [result.index])[0], function(*x))


@pytest.mark.parametrize("function", [np.minimum, np.maximum])
def test_derivatives_of_the_smaller_and_the_larger_of_nan_are_nan(function):
    tape = Tape()
    one, other = (Scalar(tape, tape.input(k)) for k in range(2))
    slope = Derivative(tape, {0: tape.const(1), 1: tape.const(-1)}).of(function(one, other).index)
    x = np.array([(a, b) for a in ODD for b in ODD]).T
    chosen = np.where(function(*x) == x[0], 1.0, -1.0)
    expected = np.where(np.isnan(x).any(axis=0), np.nan, chosen)
    differs = x[0] != x[1]
    np.testing.assert_array_equal(evaluate(tape, x, [slope])[0][differs], expected[differs])


@pytest.mark.parametrize(
    "bounds",
    [
        [("max", -1.0)],
        [("max", -1.0), ("min", 0.5)],
        [("min", 3.0), ("max", -1.0), ("max", -2.0), ("min", 1.0)],
        [("max", 1.0), ("min", 1.0)],
        [("max", 1.0), ("min", 0.5)],
        [("min", -1.0), ("max", 1.0)],
    ],
)
def test_a_number_between_constants_has_the_derivative_1_at_its_bounds_too_and_0_beyond(bounds):
    """Where the bounds leave one value, it is 0. Oracle: differences of the values of both sides."""
    tape = Tape()
    node = tape.input(0)
    for op, bound in bounds:
        node = tape.node(op, tape.const(bound), node)
    x, h = np.array([*ODD, -0.3, 0.0]), 2.0**-20
    moves = np.stack([evaluate(tape, (x + s)[None], [node])[0] for s in (-h, 0, h)])
    with np.errstate(invalid="ignore"):
        expected = np.where(np.isnan(x), np.nan, (np.diff(moves, axis=0) == h).any(axis=0))
    near = ~(abs(x) > 1e9)  # where x + h is not x
    slope = Derivative(tape, {0: tape.const(1)}).of(node)
    found = evaluate(tape, x[None], [slope])[0]
    np.testing.assert_array_equal(found[near], expected[near])
    far = np.where(np.isinf(moves[1]) | (moves[1] == x), 1.0, 0.0)
    np.testing.assert_array_equal(found[~near], far[~near])


@pytest.mark.parametrize(("first", "stride"), [(-1, 1), (7, 1), (4, 0), (4, -1)])
def test_a_lookup_that_begins_outside_of_the_tables_is_refused(first, stride):
    with pytest.raises(ValueError, match="must begin within the tables of 7 numbers"):
        program_of(Op.copy).replaced(code=[(Op.lookup, FIRST, 0, first, stride)])


def test_every_operation_that_a_tape_records_is_one_of_the_engines():
    assert set(EVALUATE) - {"sin", "cos"} == {op.name for op in Op if op not in ALONE}


@pytest.mark.parametrize(
    "code",
    [
        [(Op.dot, FIRST, 10, 0, 3)],  # of three registers
        [(Op.solve, FIRST, 10, 8, 0)],
        [(Op.solve, FIRST, 0, 11, 0)],
        [(Op.solve, FIRST, 0, 8, 1)],  # a residual of one instruction
    ],
)
def test_instructions_that_read_what_does_not_exist_are_refused(code):
    program = program_of(Op.dot).replaced(code=code)
    motion = MotionDescription(
        Shape.program,
        blocks=[Block(Group.real, 0, 0, 3)],
        columns=[Column.stored] * 3,
        biased=True,
        program=program,
        derivative=program.replaced(code=[], pose_end=0, outputs=[ZERO] * 72),
    )
    with pytest.raises(ValueError, match="a register that does not exist"):
        _engine.Model([JointDescription("j", motion)], np.zeros((1, 10)), np.zeros(3))
