"""Directional derivatives of a traced joint's motion, of any order: forward differentiation of its program, nested.

    D[u₁, …, u_k] f (q) = ∂ᵏ f(q ⊕ s₁ u₁ ⊕ … ⊕ s_k u_k) / ∂s₁ … ∂s_k   at s = 0        f: the pose X, or S

The first direction moves first and is differentiated last. Along a rotation the order counts: directions are fixed in
the child frame, D[u, w] − D[w, u] = D[u × w].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pysim.errors import JointError, PysimError
from pysim.joints.callback import CallbackJoint
from pysim.joints.evaluation import evaluate
from pysim.joints.trace import derivative_towards, trace
from pysim.spatial.arrays import checked

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pysim.joints.plugin import Joint

    Array = NDArray[np.float64]


class DirectionalDerivatives(NamedTuple):
    """Of the pose X_PC and the motion subspace S, along the same directions."""

    pose: Array
    """(…, 4, 4); the last row is zero."""
    subspace: Array
    """(…, 6, nv)."""


def directional_derivatives(
    joint: Joint, q: ArrayLike, *directions: ArrayLike
) -> DirectionalDerivatives:
    """Return D[u₁, …, u_k] of the pose and of S, exact to rounding.

    Args:
        joint: a joint plugin with its fields set, as `MyJoint(lift=0.1)`.
        q: configurations (…, nq).
        directions: u₁, …, u_k, each (…, nv) with the leading axes of q; one gives the first derivative, two the second.

    Raises:
        JointError: the joint cannot be traced, or is a CallbackJoint.
        PysimError: a wrong shape, a NaN or infinity, named; no direction.
    """
    if isinstance(joint, CallbackJoint):
        problem = "is a CallbackJoint, which has no program to differentiate; derive it from Joint"
        raise JointError(type(joint).__qualname__, problem)
    if not directions:
        raise PysimError("directions", "give one (…, nv) for each order of the derivative")
    traced = trace(joint)
    nq, nv = traced.coordinates.nq, traced.coordinates.nv
    states = checked(q, "q", (nq,)).astype(float)
    rows = [states]
    for k, direction in enumerate(directions, start=1):
        u = checked(direction, f"direction {k}", (nv,)).astype(float)
        if u.shape[:-1] != states.shape[:-1]:
            problem = f"must have leading axes {states.shape[:-1]} as q, got {u.shape[:-1]}"
            raise PysimError(f"direction {k}", problem)
        rows.append(u)
    tape, nodes = traced.tape.copy(), [*traced.pose, *traced.subspace]
    for k in reversed(range(len(directions))):
        along = [tape.input(nq + k * nv + i) for i in range(nv)]
        towards = derivative_towards(tape, traced.coordinates, along)
        nodes = [towards.of(node) for node in nodes]
    inputs = np.concatenate(rows, axis=-1).reshape(-1, nq + nv * len(directions)).T
    numbers = evaluate(tape, inputs, nodes)
    pose = np.zeros((inputs.shape[1], 4, 4))
    pose[:, :3, :3] = numbers[:9].reshape(3, 3, -1).transpose(2, 1, 0)
    pose[:, :3, 3] = numbers[9:12].T
    subspace = numbers[12:].reshape(nv, 6, -1).transpose(2, 1, 0)
    batch = states.shape[:-1]
    return DirectionalDerivatives(pose.reshape(*batch, 4, 4), subspace.reshape(*batch, 6, nv))
