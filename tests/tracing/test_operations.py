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
from pysim.tracing.tape import EVALUATE

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
    program = program_of(op)
    motion = MotionDescription(
        Shape.program,
        blocks=[Block(Group.real, 0, 0, 3)],
        columns=[Column.stored] * 3,
        biased=True,
        program=program,
        derivative=program.replaced(code=[], pose_end=0, outputs=[ZERO] * 72),
    )
    model = _engine.Model([JointDescription("j", motion)], np.zeros((1, 10)), np.zeros(3))
    place = np.asarray(_engine.forward_kinematics(model, q))[:, 0, :2, 3]
    return place if op is Op.sincos else place[:, 0]


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
