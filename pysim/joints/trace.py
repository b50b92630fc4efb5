"""Tracing of joints: `placement` is called once with symbolic numbers, and the motion is derived from its tape.

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
from pysim.joints.coordinate_ranges import limits_of
from pysim.joints.displacement import Pose
from pysim.joints.plugin import Joint
from pysim.tracing.author_code import call, method_place
from pysim.tracing.derivative import Derivative
from pysim.tracing.expression import Scalar
from pysim.tracing.folding import Folding
from pysim.tracing.program import emit
from pysim.tracing.repeated_call import recorded_call
from pysim.tracing.tape import JUMPING, Tape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pysim._engine import Program
    from pysim.joints.coordinates import Coordinates

SAMPLES = 12
FAR_SAMPLES = 8  # samples far from 0 and close to it, of coordinates without limits


@dataclass(frozen=True)
class Traced:
    """Trace of a joint: nodes of its pose (12), subspace (6 nv) and bias (6)."""

    coordinates: Coordinates
    tape: Tape
    pose: list[int]
    subspace: list[int]  # column after column
    bias: list[int]
    force: list[int] | None
    may_jump: bool  # whether the pose depends on an operation that has a jump or a pole
    recorded: list[int]  # nodes of pose and subspace before they were folded

    def force_program(self) -> Program | None:
        """Return the program of the joint's passive force, None without one."""
        if self.force is None:
            return None
        return emit(self.tape, self.force, [], self.coordinates.nq + self.coordinates.nv)

    def program(self) -> Program:
        """Return the program for the engine."""
        inputs = self.coordinates.nq + self.coordinates.nv
        return emit(self.tape, [*self.pose, *self.subspace], self.bias, inputs)

    def constant_subspace(self) -> NDArray[np.float64] | None:
        """Return S (6, nv) if it does not depend on q, else None."""
        nodes = [self.tape.nodes[k] for k in self.subspace]
        if any(node.op != "const" for node in nodes):
            return None
        return np.array([node.value for node in nodes]).reshape(self.coordinates.nv, 6).T

    def evaluate(self, q: Sequence[float], v: Sequence[float]) -> tuple[Any, Any, Any]:
        """Return pose (4, 4), S (6, nv) and c (6,), in plain Python: slow, for checks."""
        values = np.array(self.tape.values([*q, *v]))
        X = np.eye(4)
        numbers = values[self.pose]
        X[:3, :3], X[:3, 3] = numbers[:9].reshape(3, 3).T, numbers[9:]
        S = values[self.subspace].reshape(self.coordinates.nv, 6).T
        return X, S, values[self.bias]


def trace(joint: Joint) -> Traced:
    """Return the trace of a joint's motion.

    Raises:
        JointError: the placement cannot be recorded, or is not a Pose; the error names the author's line.
    """
    coordinates = joint.coordinates
    tape = Tape()
    q = [Scalar(tape, tape.input(i)) for i in range(coordinates.nq)]
    with tape.recording(lambda: method_place(joint, "placement")):
        placed: object = call(joint, "placement", coordinates.named(q))
    if not isinstance(placed, Pose):
        problem = f"must return a Pose, got {_kind(placed)}"
        raise JointError(method_place(joint, "placement"), problem)
    columns = [placed.rotation[i][j] for j in range(3) for i in range(3)]
    pose = _returned_nodes(joint, "placement", tape, [*columns, *placed.p])
    fold = _folding(tape, coordinates, joint)
    columns_of_S = [
        n
        for k in range(coordinates.nv)
        for n in _nodes(tape, chain_twist(placed.factors, derivative_along(tape, coordinates, k)))
    ]
    subspace = [fold(n) for n in columns_of_S]
    bias = [fold(n) for n in _bias(tape, coordinates, subspace)]
    force = _force(joint, tape, q)
    folded = [fold(n) for n in pose]
    may_jump = any(_jumps(tape, fold, k) for k in tape.needed(folded))
    recorded = [*pose, *columns_of_S]
    return Traced(coordinates, tape, folded, subspace, bias, force, may_jump, recorded)


def _jumps(tape: Tape, fold: Folding, index: int) -> bool:
    node = tape.nodes[index]
    is_scaling = node.op == "div" and tape.nodes[fold(node.args[1])].op == "const"
    return node.op in JUMPING and not is_scaling


def _force(joint: Joint, tape: Tape, q: Sequence[Scalar]) -> list[int] | None:
    """Return the nodes of the joint's passive force (nv), if its class defines one."""
    if type(joint).force is Joint.force:
        return None
    coordinates = joint.coordinates
    v = [Scalar(tape, tape.input(coordinates.nq + i)) for i in range(coordinates.nv)]
    given = recorded_call(
        tape,
        lambda: method_place(joint, "force"),
        lambda: call(joint, "force", coordinates.named(q), coordinates.named_velocities(v)),
    )
    if given is None:
        wanted = "a number" if coordinates.nv == 1 else f"{coordinates.nv} numbers"
        problem = f"must return {wanted}, got None; return 0 where there is no force"
        raise JointError(method_place(joint, "force"), problem)
    numbers = list(given) if isinstance(given, (list, tuple, np.ndarray)) else [given]
    if len(numbers) != coordinates.nv:
        problem = f"must return {coordinates.nv} numbers, one for each velocity, got {len(numbers)}"
        raise JointError(method_place(joint, "force"), problem)
    return _returned_nodes(joint, "force", tape, numbers)


def _returned_nodes(joint: Joint, method: str, tape: Tape, numbers: Sequence[Any]) -> list[int]:
    """Return the nodes of the numbers that an author's method returns."""
    for x in numbers:
        if isinstance(x, Scalar) and x.tape is not tape:
            problem = "returns a symbolic number from an earlier call; compute it from this call's arguments"
            raise JointError(method_place(joint, method), problem)
        if not isinstance(x, (Scalar, int, float, np.integer, np.floating)):
            problem = f"returns {_kind(x)} where a number is expected"
            raise JointError(method_place(joint, method), problem)
    return _nodes(tape, numbers)


def _kind(x: object) -> str:
    """Return the kind of a value, for errors."""
    return "None; end it with `return`" if x is None else f"a {type(x).__name__}"


def _nodes(tape: Tape, numbers: Sequence[Any]) -> list[int]:
    return [x.index if isinstance(x, Scalar) else tape.const(float(x)) for x in numbers]


def derivative_along(tape: Tape, coordinates: Coordinates, k: int) -> Derivative:
    """Return d/dt while velocity k is 1 and the others are 0."""
    unit = [tape.const(1.0 if i == k else 0.0) for i in range(coordinates.nv)]
    return derivative_towards(tape, coordinates, unit)


def derivative_towards(tape: Tape, coordinates: Coordinates, v: Sequence[int]) -> Derivative:
    """Return d/dt while q moves with the velocities v (nodes)."""
    return Derivative(tape, _rates(tape, coordinates, v))


def _rates(tape: Tape, coordinates: Coordinates, v: Sequence[int]) -> dict[int, int]:
    """Return q̇ for the velocities v (nodes)."""
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


def _folding(tape: Tape, coordinates: Coordinates, joint: Joint) -> Folding:
    """Return a folding at random states within the limits; without limits, some far from 0 and some close to it."""
    rng = np.random.default_rng(7)
    states = np.array([joint.sample(rng) for _ in range(SAMPLES + FAR_SAMPLES)])
    limits = limits_of(joint)
    for part, at, _ in coordinates.offsets():
        if part.group == "real" and part.name not in limits:
            states[SAMPLES:, at] = rng.choice((-1, 1), FAR_SAMPLES) * 10 ** rng.uniform(
                -8, 6, FAR_SAMPLES
            )
    velocities = rng.normal(size=(len(states), coordinates.nv))
    return Folding(tape, np.concatenate([states, velocities], axis=1).T, SAMPLES, rng)
