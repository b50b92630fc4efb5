"""Evaluation of a joint's pose, subspace, bias and force for many states, and independent derivatives for checks.

Checks compare two results: a traced joint's S comes from differentiation of its tape and from complex steps of the
pose; a callback joint's S comes from its author and from differences of the poses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from pysim.joints.callback import CallbackJoint
from pysim.spatial import rotation_from_quaternion
from pysim.tracing.author_code import method_place
from pysim.tracing.evaluation import evaluate, rate
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.joints.coordinates import Coordinates
    from pysim.joints.plugin import Joint
    from pysim.joints.trace import Traced


class MotionNumbers(Protocol):
    """Quantities that the invariants of a joint (invariants.py) refer to, at states q (n, nq), v (n, nv)."""

    method: str  # name of the author's method
    tolerance: float  # of derivatives, for numbers of magnitude 1

    @property
    def joint(self) -> Joint:
        """The joint itself."""

    def poses(self, q: Array) -> Array:
        """Return X_PC (n, 4, 4)."""

    def subspace(self, q: Array) -> Array:
        """Return S (n, 6, nv)."""

    def bias(self, q: Array, v: Array) -> Array:
        """Return c = Ṡ v (n, 6)."""

    def force(self, q: Array, v: Array) -> Array | None:
        """Return the passive force (n, nv), None without one."""

    def other_subspace(self, q: Array) -> Array:
        """Return S from the poses."""

    def other_bias(self, q: Array, v: Array) -> Array:
        """Return c from the subspace."""


class TracedNumbers:
    """Quantities of a traced joint, from its tape."""

    method = "placement"
    tolerance = 1e-9

    def __init__(self, joint: Joint, traced: Traced) -> None:
        self._joint, self.traced = joint, traced
        self.nv = traced.coordinates.nv

    @property
    def joint(self) -> Joint:
        return self._joint

    def poses(self, q: Array) -> Array:
        X = np.tile(np.eye(4), (len(q), 1, 1))
        numbers = evaluate(self.traced.tape, self._inputs(q), self.traced.pose)
        X[:, :3, :3] = numbers[:9].reshape(3, 3, -1).transpose(2, 1, 0)
        X[:, :3, 3] = numbers[9:].T
        return X

    def subspace(self, q: Array) -> Array:
        numbers = evaluate(self.traced.tape, self._inputs(q), self.traced.subspace)
        return numbers.reshape(self.nv, 6, -1).transpose(2, 1, 0)

    def bias(self, q: Array, v: Array) -> Array:
        return np.asarray(evaluate(self.traced.tape, self._inputs(q, v), self.traced.bias).T)

    def force(self, q: Array, v: Array) -> Array | None:
        if self.traced.force is None:
            return None
        return np.asarray(evaluate(self.traced.tape, self._inputs(q, v), self.traced.force).T)

    def other_subspace(self, q: Array) -> Array:
        n, nv = len(q), self.nv
        many = np.tile(q, (nv, 1))
        directions = np.repeat(np.eye(nv), n, axis=0)
        moved = self._inputs(rates(self.traced.coordinates, many, directions))
        numbers = rate(self.traced.tape, self._inputs(many), moved, self.traced.pose)
        dR = numbers[:9].reshape(3, 3, nv * n).transpose(2, 1, 0)
        X = np.tile(self.poses(q), (nv, 1, 1))
        W = np.swapaxes(X[:, :3, :3], 1, 2) @ dR
        angular = [W[:, 2, 1] - W[:, 1, 2], W[:, 0, 2] - W[:, 2, 0], W[:, 1, 0] - W[:, 0, 1]]
        linear = np.einsum("nji,jn->ni", X[:, :3, :3], numbers[9:])
        twists = np.concatenate([linear, 0.5 * np.stack(angular, axis=1)], axis=1)
        return np.moveaxis(twists.reshape(nv, n, 6), 0, -1)

    def other_bias(self, q: Array, v: Array) -> Array:
        moved = self._inputs(rates(self.traced.coordinates, q, v))
        numbers = rate(self.traced.tape, self._inputs(q), moved, self.traced.subspace)
        return np.asarray(np.einsum("kjn,nk->nj", numbers.reshape(self.nv, 6, len(q)), v))

    def _inputs(self, q: Array, v: Array | None = None) -> Array:
        """Return q and v as the inputs of a tape."""
        v = np.zeros((len(q), self.nv)) if v is None else v
        return np.concatenate([q, v], axis=1).T


class CallbackNumbers:
    """Quantities of a callback joint, from its author's NumPy code."""

    method = "poses"
    tolerance = 1e-6

    def __init__(self, joint: CallbackJoint) -> None:
        self._joint = joint

    @property
    def joint(self) -> Joint:
        return self._joint

    def poses(self, q: Array) -> Array:
        return self._joint.asked("poses", (len(q), 4, 4), q)

    def subspace(self, q: Array) -> Array:
        return self._joint.asked("subspace", (len(q), 6, self._joint.coordinates.nv), q)

    def bias(self, q: Array, v: Array) -> Array:
        return self._joint.asked("bias", (len(q), 6), q, v)

    def force(self, q: Array, v: Array) -> Array | None:  # noqa: ARG002, callback joints have none
        return None

    def other_subspace(self, q: Array) -> Array:
        return CallbackJoint.subspace(self._joint, q)

    def other_bias(self, q: Array, v: Array) -> Array:
        return CallbackJoint.bias(self._joint, q, v)


def rates(coordinates: Coordinates, q: Array, v: Array) -> Array:
    """Return q̇ (n, nq) of states that move with v (n, nv): ẋ = ½ x ⊗ (ω, 0), ṗ = R v."""
    q_dot = np.zeros_like(q)
    for part, at, at_v in coordinates.offsets():
        part_v = v[:, at_v : at_v + part.nv]
        if part.group == "real":
            q_dot[:, at] = part_v[:, 0]
            continue
        turn = slice(at + part.nq - 4, at + part.nq)
        vector, w, omega = q[:, turn][:, :3], q[:, turn][:, 3:], part_v[:, -3:]
        q_dot[:, turn] = 0.5 * np.column_stack(
            [w * omega + np.cross(vector, omega), -np.sum(vector * omega, axis=1)]
        )
        if part.group == "pose":
            R = rotation_from_quaternion(np.ascontiguousarray(q[:, turn]))
            q_dot[:, at : at + 3] = np.einsum("nij,nj->ni", R, part_v[:, :3])
    return q_dot


def method_location(numbers: MotionNumbers) -> str:
    """Return `file:line` and name of the author's method that defines the motion."""
    return method_place(numbers.joint, numbers.method)
