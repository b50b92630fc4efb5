"""Directional derivatives of a traced joint's motion of any order, by nested forward differentiation of its tape.

    D[u₁, …, u_k] f (q) = ∂ᵏ f(q ⊕ s₁ u₁ ⊕ … ⊕ s_k u_k) / ∂s₁ … ∂s_k   at s = 0        f: the pose X, or S

The first direction is applied first and differentiated last. For rotations the order matters: directions are fixed in
the child frame, and D[u, w] − D[w, u] = D[u × w].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pysim.errors import JointError, PysimError
from pysim.joints.callback import CallbackJoint
from pysim.joints.trace import derivative_towards, trace
from pysim.spatial.arrays import checked
from pysim.tracing.evaluation import evaluate
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from pysim.joints.plugin import Joint
    from pysim.joints.trace import Traced
    from pysim.tracing.tape import Tape


class DirectionalDerivatives(NamedTuple):
    """Derivatives of the pose X_PC and of the motion subspace S along the same directions."""

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
        directions: u₁, …, u_k, each (…, nv) with the leading axes of q; k is the order of the derivative.

    Raises:
        JointError: the joint cannot be traced, or is a CallbackJoint.
        PysimError: an argument has a wrong shape or NaN or infinite entries, or there is no direction.
    """
    if isinstance(joint, CallbackJoint):
        problem = "is a CallbackJoint, which has no program to differentiate; derive it from Joint"
        raise JointError(type(joint).__qualname__, problem)
    if not directions:
        raise PysimError("directions", "give one (…, nv) for each order of the derivative")
    traced = trace(joint)
    nv = traced.coordinates.nv
    states = checked(q, "q", (traced.coordinates.nq,)).astype(float)
    inputs = [states, *_checked_directions(directions, nv, states.shape[:-1])]
    tape, nodes = _differentiated(traced, len(directions))
    columns = np.concatenate(inputs, axis=-1)
    numbers = evaluate(tape, columns.reshape(-1, columns.shape[-1]).T, nodes)
    pose = np.zeros((numbers.shape[1], 4, 4))
    pose[:, :3, :3] = numbers[:9].reshape(3, 3, -1).transpose(2, 1, 0)
    pose[:, :3, 3] = numbers[9:12].T
    subspace = numbers[12:].reshape(nv, 6, -1).transpose(2, 1, 0)
    batch = states.shape[:-1]
    return DirectionalDerivatives(pose.reshape(*batch, 4, 4), subspace.reshape(*batch, 6, nv))


def _checked_directions(
    directions: Sequence[ArrayLike], nv: int, batch: tuple[int, ...]
) -> list[Array]:
    found = []
    for k, direction in enumerate(directions, start=1):
        u = checked(direction, f"direction {k}", (nv,)).astype(float)
        if u.shape[:-1] != batch:
            problem = f"must have leading axes {batch} as q, got {u.shape[:-1]}"
            raise PysimError(f"direction {k}", problem)
        found.append(u)
    return found


def _differentiated(traced: Traced, order: int) -> tuple[Tape, list[int]]:
    """Return the nodes of the derivatives of pose and S; their inputs are q, then the directions in place of v."""
    coordinates = traced.coordinates
    tape, nodes = traced.tape.copy(), [*traced.pose, *traced.subspace]
    for k in reversed(range(order)):
        at = coordinates.nq + k * coordinates.nv
        along = [tape.input(at + i) for i in range(coordinates.nv)]
        towards = derivative_towards(tape, coordinates, along)
        nodes = [towards.of(node) for node in nodes]
    return tape, nodes
