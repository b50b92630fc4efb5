"""Driven frames: a program of time that takes the place of a loop's frame A.

    X(t) = (R, p)      V = (Rᵀ ṗ, (Rᵀ Ṙ)^∨)      A = dV/dt

p are the numbers of one signal, and R those of another: a rotation vector, or a quaternion. The tracer differentiates
both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim import _engine
from pysim.mechanism.constraint_compiler import describe_loop
from pysim.mechanism.joint_description import TraceCache
from pysim.scene.tree import WORLD
from pysim.tracing.derivative import Derivative
from pysim.tracing.expression import Scalar
from pysim.tracing.program import emit
from pysim.tracing.tape import Tape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim._engine import LoopDescription, Program
    from pysim.mechanism.model import Model
    from pysim.scene.spec import LoopSpec
    from pysim.typing import Array

    Matrix = list[list[Any]]

_SMALL_ANGLE_SQUARED = 0.25  # θ² [rad²] below which sin θ/θ and (1 − cos θ)/θ² are power series
_TERMS = 10


@dataclass(frozen=True)
class _Link:
    index: int


def driven_loop(model: Model, motion: LoopSpec, program: Program) -> LoopDescription:
    """Return the record of a driven frame, with the program of its place."""
    links = {k: _Link(k) for k in range(-1, model.nbodies)}
    placed = {name: (links[body], pose) for name, (body, pose) in model.frames.items()}
    placed[WORLD] = links[-1], np.eye(4)
    return describe_loop(motion, placed, TraceCache()).replaced(function=program)


def rotation_of(tape: Tape, nodes: Sequence[int]) -> Matrix:
    """Return R of a rotation vector (3 nodes) or of a quaternion x, y, z, w (4), which need not be unit."""
    x = [Scalar(tape, node) for node in nodes]
    if not x:
        return [[1.0 * (i == k) for k in range(3)] for i in range(3)]
    square = sum(number * number for number in x)
    if len(x) == 4:
        return _rotated(x, 2.0 * x[3] / square, 2.0 / square)
    near: Any = square < _SMALL_ANGLE_SQUARED
    far = np.where(near, 1.0, square)
    angle: Any = np.sqrt(far)
    a = np.where(near, _series(square, 1), np.sin(angle) / angle)
    b = np.where(near, _series(square, 2), (1.0 - np.cos(angle)) / far)
    return _rotated(x, a, b)


def _series(square: Any, first: int) -> Any:  # noqa: ANN401, a symbolic number
    """Return Σ (−θ²)ᵏ / (2k + first)!, by Horner's rule."""
    total: Any = 1.0
    for k in range(_TERMS, 0, -1):
        total = 1.0 - square * total / float((2 * k + first) * (2 * k + first - 1))
    return total / float(first)


def _rotated(x: Sequence[Any], a: Any, b: Any) -> Matrix:  # noqa: ANN401, symbolic numbers
    """Return 1 + a K + b K², K = x×."""
    K: Matrix = [[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]]
    K2 = [[x[i] * x[k] for k in range(3)] for i in range(3)]
    square = x[0] * x[0] + x[1] * x[1] + x[2] * x[2]
    return [
        [
            (1.0 + b * (K2[i][k] - square)) if i == k else (a * K[i][k] + b * K2[i][k])
            for k in range(3)
        ]
        for i in range(3)
    ]


def place_program(tape: Tape, time: int, p: Sequence[Any], R: Matrix) -> Program:
    """Return the program of time (input `time`) of a place: R column by column, p, V and A."""
    along = Derivative(tape, {time: tape.const(1)})

    def node(x: Any) -> Scalar:  # noqa: ANN401, a number
        return x if isinstance(x, Scalar) else Scalar(tape, tape.const(float(x)))

    def rate(x: Scalar) -> Scalar:
        return Scalar(tape, along.of(x.index))

    columns = [[node(R[i][k]) for i in range(3)] for k in range(3)]
    rates = [[rate(x) for x in column] for column in columns]
    place = [node(x) for x in p]
    moved = [rate(x) for x in place]
    twist = [_dot(column, moved) for column in columns]
    twist += [_dot(columns[i], rates[k]) for i, k in ((2, 1), (0, 2), (1, 0))]
    found = [*(x for column in columns for x in column), *place, *twist, *map(rate, twist)]
    return emit(tape, [x.index for x in found], [], 1)


def _dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    found: Scalar = a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    return found


def uniform_program(model: Model, motion: LoopSpec, q: Array, v: Array) -> Program:
    """Return the program of a frame that goes on from a state at its rates: p + ṗ t and R exp(ω t)."""
    tape = Tape()
    t = Scalar(tape, tape.input(0))
    (X_A, V_A), (X_B, V_B) = (
        _moving(model, name, at, q, v)
        for name, at in ((motion.a, motion.at_a), (motion.b, motion.at_b))
    )
    X = np.linalg.inv(X_A) @ X_B
    R_A = X_A[:3, :3]
    slip = V_B[:3] - V_A[:3] - np.cross(V_A[3:], X_B[:3, 3] - X_A[:3, 3])
    p = [x + rate * t for x, rate in zip(X[:3, 3].tolist(), (R_A.T @ slip).tolist(), strict=True)]
    if not motion.rotation:
        return place_program(tape, 0, p, rotation_of(tape, ()))
    spin = (R_A.T @ (V_B[3:] - V_A[3:])).tolist()
    turned = rotation_of(tape, [(rate * t).index for rate in spin])
    R = [[sum(turned[i][k] * float(X[k, j]) for k in range(3)) for j in range(3)] for i in range(3)]
    return place_program(tape, 0, p, R)


def _moving(model: Model, name: str, at: Array, q: Array, v: Array) -> tuple[Array, Array]:
    """Return the pose (4, 4) of a frame, and its twist (6,) along the world's axes at its origin."""
    if name == WORLD:
        return at, np.zeros(6)
    body, pose = model.frames[name]
    place = pose @ at
    if body < 0:
        return place, np.zeros(6)
    X_W = np.asarray(_engine.forward_kinematics(model, q))[body] @ place
    numbers = place[:3].T.ravel().tolist()
    return X_W, np.asarray(_engine.frame_velocity(model, q, v, body, numbers, "aligned"))
