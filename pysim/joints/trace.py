"""Tracing: a joint's `placement` is called once with symbolic numbers, and its motion is derived from what it did.

    S_k = (X⁻¹ ∂X/∂v_k)∨        c = Σ_k (dS_k/dt) v_k

∂/∂v_k is the derivative along the k-th velocity: of a real coordinate, or of a quaternion x in the body frame,
ẋ = ½ x ⊗ (ω, 0) [Featherstone 2008, ch. 4].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import JointError
from pysim.joints.chained_twist import chain_twist
from pysim.joints.displacement import Pose
from pysim.joints.plugin import Joint
from pysim.tracing.author_code import call, method_place
from pysim.tracing.derivative import Derivative
from pysim.tracing.expression import Scalar
from pysim.tracing.program import Program, emit
from pysim.tracing.tape import JUMPING, PIECEWISE, Tape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pysim.joints.coordinates import Coordinates

SAMPLES = 12
TOLERANCE = 1e-12
BRANCHES: dict[str, Callable[[float], float]] = {
    "sqrt": lambda root: -root,
    "hypot": lambda root: -root,
    "asin": lambda angle: np.pi - angle,
    "acos": lambda angle: -angle,
    "atan": lambda angle: angle + np.pi,
    "atan2": lambda angle: angle + 2 * np.pi,
}
ANYTHING = frozenset({"exp", "tanh", "log", "pow"})


@dataclass(frozen=True)
class Traced:
    """What the tracer knows of a joint: nodes of its pose (12), subspace (6 nv) and bias (6)."""

    coordinates: Coordinates
    tape: Tape
    pose: list[int]
    subspace: list[int]  # column after column
    bias: list[int]
    force: list[int] | None
    may_jump: bool  # whether the pose depends on an operation that has a jump or a pole

    def force_program(self) -> Program | None:
        """The program of the joint's passive force, if it has one."""
        if self.force is None:
            return None
        return emit(self.tape, self.force, [], self.coordinates.nq + self.coordinates.nv)

    def program(self) -> Program:
        """The program for the engine."""
        inputs = self.coordinates.nq + self.coordinates.nv
        return emit(self.tape, [*self.pose, *self.subspace], self.bias, inputs)

    def constant_subspace(self) -> NDArray[np.float64] | None:
        """S (6, nv) if it does not depend on q, else None."""
        nodes = [self.tape.nodes[k] for k in self.subspace]
        if any(node.op != "const" for node in nodes):
            return None
        return np.array([node.value for node in nodes]).reshape(self.coordinates.nv, 6).T

    def evaluate(self, q: Sequence[float], v: Sequence[float]) -> tuple[Any, Any, Any]:
        """Pose (4, 4), S (6, nv) and c (6,) by plain Python: slow, for checks."""
        values = np.array(self.tape.values([*q, *v]))
        X = np.eye(4)
        numbers = values[self.pose]
        X[:3, :3], X[:3, 3] = numbers[:9].reshape(3, 3).T, numbers[9:]
        S = values[self.subspace].reshape(self.coordinates.nv, 6).T
        return X, S, values[self.bias]


def trace(joint: Joint) -> Traced:
    """Record a joint's motion.

    Raises:
        JointError: the placement cannot be recorded, or is no Pose; the text names the author's line.
    """
    coordinates = joint.coordinates
    tape = Tape()
    q = [Scalar(tape, tape.input(i)) for i in range(coordinates.nq)]
    placed: object = call(joint, "placement", coordinates.named(q))
    if not isinstance(placed, Pose):
        problem = f"must return a Pose, got {_kind(placed)}"
        raise JointError(method_place(joint, "placement"), problem)
    columns = [placed.rotation[i][j] for j in range(3) for i in range(3)]
    pose = _given(joint, "placement", tape, [*columns, *placed.p])
    fold = _Folding(tape, coordinates, joint)
    subspace = [
        fold(n)
        for k in range(coordinates.nv)
        for n in _nodes(tape, chain_twist(placed.factors, derivative_along(tape, coordinates, k)))
    ]
    bias = [fold(n) for n in _bias(tape, coordinates, subspace)]
    force = _force(joint, tape, q)
    folded = [fold(n) for n in pose]
    may_jump = any(_jumps(tape, fold, k) for k in tape.needed(folded))
    return Traced(coordinates, tape, folded, subspace, bias, force, may_jump)


def _jumps(tape: Tape, fold: _Folding, index: int) -> bool:
    node = tape.nodes[index]
    is_scaling = node.op == "div" and tape.nodes[fold(node.args[1])].op == "const"
    return node.op in JUMPING and not is_scaling


def _force(joint: Joint, tape: Tape, q: Sequence[Scalar]) -> list[int] | None:
    """Nodes of the joint's passive force (nv), if its class gives one."""
    if type(joint).force is Joint.force:
        return None
    coordinates = joint.coordinates
    v = [Scalar(tape, tape.input(coordinates.nq + i)) for i in range(coordinates.nv)]
    given = call(joint, "force", coordinates.named(q), coordinates.named_velocities(v))
    if given is None:
        wanted = "a number" if coordinates.nv == 1 else f"{coordinates.nv} numbers"
        problem = f"must return {wanted}, got {_kind(given)}, of 0 where there is no force"
        raise JointError(method_place(joint, "force"), problem)
    numbers = list(given) if isinstance(given, (list, tuple, np.ndarray)) else [given]
    if len(numbers) != coordinates.nv:
        problem = f"must return {coordinates.nv} numbers, one a velocity; got {len(numbers)}"
        raise JointError(method_place(joint, "force"), problem)
    return _given(joint, "force", tape, numbers)


def _given(joint: Joint, method: str, tape: Tape, numbers: Sequence[Any]) -> list[int]:
    """Nodes of the numbers that an author returns."""
    for x in numbers:
        if isinstance(x, Scalar) and x.tape is not tape:
            problem = "returns a symbolic number of another call; keep none between calls"
            raise JointError(method_place(joint, method), problem)
        if not isinstance(x, (Scalar, int, float, np.integer, np.floating)):
            problem = f"returns {_kind(x)} where a number belongs"
            raise JointError(method_place(joint, method), problem)
    return _nodes(tape, numbers)


def _kind(x: object) -> str:
    """What a thing is, for an error."""
    return "None; end it with `return`" if x is None else f"a {type(x).__name__}"


def _nodes(tape: Tape, numbers: Sequence[Any]) -> list[int]:
    return [x.index if isinstance(x, Scalar) else tape.const(float(x)) for x in numbers]


def derivative_along(tape: Tape, coordinates: Coordinates, k: int) -> Derivative:
    """d/dt when velocity k is one and the others are zero."""
    unit = [tape.const(1.0 if i == k else 0.0) for i in range(coordinates.nv)]
    return derivative_towards(tape, coordinates, unit)


def derivative_towards(tape: Tape, coordinates: Coordinates, v: Sequence[int]) -> Derivative:
    """d/dt while q moves with the velocities v (nodes)."""
    return Derivative(tape, _rates(tape, coordinates, v))


def _rates(tape: Tape, coordinates: Coordinates, v: Sequence[int]) -> dict[int, int]:
    """q̇ of every number of q, for the velocities v (nodes)."""
    rates: dict[int, int] = {}
    for part, at_q, at_v in coordinates.offsets():
        if part.group == "real":
            rates[at_q] = v[at_v]
            continue
        quaternion = at_q + part.nq - 4
        turn = [Scalar(tape, n) for n in v[at_v + part.nv - 3 : at_v + part.nv]]
        x, y, z, w = (Scalar(tape, tape.input(quaternion + i)) for i in range(4))
        wx, wy, wz = turn
        half = [
            0.5 * (w * wx + y * wz - z * wy),
            0.5 * (w * wy + z * wx - x * wz),
            0.5 * (w * wz + x * wy - y * wx),
            -0.5 * (x * wx + y * wy + z * wz),
        ]
        rates |= {quaternion + i: n for i, n in enumerate(_nodes(tape, half))}
        if part.group == "pose":
            R = Pose.rotate_quaternion([x, y, z, w])
            linear = R.act([Scalar(tape, n) for n in v[at_v : at_v + 3]])
            rates |= {at_q + i: n for i, n in enumerate(_nodes(tape, linear))}
    return rates


def _bias(tape: Tape, coordinates: Coordinates, subspace: Sequence[int]) -> list[int]:
    v = [tape.input(coordinates.nq + i) for i in range(coordinates.nv)]
    derivative = derivative_towards(tape, coordinates, v)
    bias = []
    for row in range(6):
        total = tape.const(0)
        for k in range(coordinates.nv):
            rate = derivative.of(subspace[6 * k + row])
            total = tape.node("add", total, tape.node("mul", rate, v[k]))
        bias.append(total)
    return bias


class _Folding:
    """Replaces a node by a simpler one that has the same value everywhere.

    sin² + cos² is 1, and Rᵀ dR of a turn is its angle's rate; rewriting rules would find some of this, values at random
    configurations (to 1e-12) find all of it. Lest nodes agree there alone, a root or an inverse takes any of its
    branches (√q² is q on one side of 0 only) unless it is one number, an exponential, which may vanish wherever it is
    tried, any number.
    Nodes that depend on jumps (where, min, splines) are left alone.
    """

    def __init__(self, tape: Tape, coordinates: Coordinates, joint: Joint) -> None:
        self.tape = tape
        rng = np.random.default_rng(7)
        self._inputs = [
            [*joint.sample(rng).tolist(), *rng.normal(size=coordinates.nv).tolist()]
            for _ in range(SAMPLES)
        ]
        self._rng = rng
        self._values: list[list[float]] = [[] for _ in range(SAMPLES)]
        self._jumps: list[bool] = []
        self._like: dict[tuple[float, ...], int] = {}

    def __call__(self, index: int) -> int:
        self._extend()
        values = self._column(index)
        if self._jumps[index] or not np.isfinite(values).all():
            return index
        scale = max(1.0, np.abs(values).max())
        if np.ptp(values) <= TOLERANCE * scale:
            middle = float(np.median(values))
            whole = abs(middle - round(middle)) < TOLERANCE
            return self.tape.const(round(middle) if whole else middle)
        for sign in (1, -1):
            twin = self._like.get(_key(sign * values))
            if twin is None or twin >= index:
                continue
            if np.abs(self._column(twin) - sign * values).max() <= TOLERANCE * scale:
                return twin if sign == 1 else self.tape.node("neg", twin)
        return index

    def _column(self, index: int) -> NDArray[np.float64]:
        return np.array([column[index] for column in self._values])

    def _any(self, op: str, column: list[float]) -> list[float]:
        """Other values that an operation might have, as far as algebra tells."""
        if op in ANYTHING:
            return [float(x) for x in self._rng.uniform(0.1, 0.9, len(column))]
        if op not in BRANCHES or np.ptp(column) <= TOLERANCE * max(1.0, np.abs(column).max()):
            return column
        return [BRANCHES[op](x) if self._rng.integers(2) else x for x in column]

    def _extend(self) -> None:
        """Evaluate the nodes made since the last call."""
        start = len(self._jumps)
        for node in self.tape.nodes[start:]:
            jumps = node.op in PIECEWISE or any(self._jumps[a] for a in node.args)
            self._jumps.append(jumps)
        with np.errstate(all="ignore"):
            for node in self.tape.nodes[start:]:
                states = zip(self._values, self._inputs, strict=True)
                column = [self.tape.value(node, values, inputs) for values, inputs in states]
                for values, x in zip(self._values, self._any(node.op, column), strict=True):
                    values.append(x)
        for index in range(start, len(self._jumps)):
            if not self._jumps[index]:
                self._like.setdefault(_key(self._column(index)), index)


def _key(values: NDArray[np.float64]) -> tuple[float, ...]:
    """Values coarse enough that rounding does not part equals (and if it does, a shortcut is missed)."""
    return tuple((np.round(values, 7) + 0.0).tolist())
