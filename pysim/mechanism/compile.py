"""Compilation of a specification into a frozen model: fixed links welded, the tree ordered for the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import ModelError
from pysim.inertia import (
    has_positive_energy,
    is_physical,
    unphysical_reason,
)
from pysim.mechanism.builder import Builder
from pysim.mechanism.inertia_check import check_inertia, idle_joints
from pysim.mechanism.joint_description import TraceCache
from pysim.mechanism.model import Model, State
from pysim.scene.inertia_text import nearest_printable, urdf_inertial
from pysim.scene.tree import check_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pysim.scene.spec import ModelSpec

_FARTHEST = 1e31  # [m] of a joint or frame from its parent
_LARGEST_THETA = 1e60  # of a body's mass, first moment or inertia, in SI units


def compile_tree(spec: ModelSpec, cache: TraceCache | None = None) -> Model:
    """Compile a mechanism, with every row of its loops; plugins in the `cache` are not traced and checked again.

    Bodies connected by fixed joints become one; every body stays addressable as a frame. Joints keep the file's
    order, depth first, a parent before its children.

    Raises:
        ModelError: the joints do not form a tree, or a joint moves no inertia.
    """
    return built_tree(spec, TraceCache() if cache is None else cache)[0]


def built_tree(spec: ModelSpec, cache: TraceCache) -> tuple[Model, Builder]:
    """Compile a mechanism as `compile_tree` does, and return its builder, too, for others of its structure."""
    check_tree(spec)
    _check_size(spec)
    builder = Builder(spec, cache)
    builder.add_children("world", builder.world, np.eye(4))
    builder.add_frames()
    _check_energy(spec, builder)
    model = builder.build()
    check_inertia(model)
    return model, builder


def invalid_models(models: Sequence[Model]) -> NDArray[np.intp]:
    """Return the indices of models of one structure that `compile_tree` would reject because of their numbers."""
    theta = np.array([model.parameters for model in models])
    energetic = has_positive_energy(theta).all(axis=1)
    return np.flatnonzero(~energetic | (idle_joints(models) >= 0))


def start_state(model: Model) -> State:
    """Return the state of the joints' `start` keys, in which loops may be open."""
    q, v = model.neutral(), np.zeros(model.nv)
    for joint, at_q, at_v in zip(model.joints, model.q_offsets, model.v_offsets, strict=True):
        if at_q >= 0:
            q[at_q : at_q + len(joint.start_q)] = joint.start_q
            v[at_v : at_v + len(joint.start_v)] = joint.start_v
    return State(q, v)


def _check_size(spec: ModelSpec) -> None:
    """Reject a body, joint or frame whose numbers are not finite, or overflow in products."""
    for body in spec.bodies:
        most = float(np.abs(body.theta).max())
        if not most <= _LARGEST_THETA:
            problem = f"body {body.name!r}: its mass or inertia, {most:.3g} [kg or kg·m²], is beyond {_LARGEST_THETA:g}"
            raise ModelError(body.where, f"{problem}; check the units of its lengths and density")
    placed = [(f"joint {joint.name!r}", joint.at, joint.where) for joint in spec.joints]
    placed += [(f"frame {frame.name!r}", frame.pose, frame.where) for frame in spec.frames]
    for name, pose, where in placed:
        most = float(np.abs(pose).max())
        if not most <= _FARTHEST:
            problem = f"{name}: its place, {most:.3g} [m], is not below {_FARTHEST:g}"
            raise ModelError(where, f"{problem}; check its position and rotation")


def _check_energy(spec: ModelSpec, builder: Builder) -> None:
    """Reject a moving body that can have a negative kinetic energy; the error names the link that causes it."""
    theta = np.array([carrier.theta for carrier in builder.carriers]).reshape(-1, 10)
    at_fault = np.flatnonzero(~has_positive_energy(theta))
    if not len(at_fault):
        return
    carrier = builder.carriers[at_fault[0]]
    welded = [body for body in spec.bodies if builder.carries(carrier, body)]
    body = next((body for body in welded if not is_physical(body.theta)), welded[0])
    others = f" (with the bodies welded to it, such as {carrier.name!r})" if len(welded) > 1 else ""
    reason = unphysical_reason(body.theta) or unphysical_reason(carrier.theta)
    problem = f"body {body.name!r}{others} can have a negative kinetic energy: {reason}"
    if body.theta[0] > 0:
        near = urdf_inertial(nearest_printable(body.theta))
        problem += f'; the nearest valid one is {near}; paste it, or load with inertia = "nearest"'
    raise ModelError(body.where, problem)
