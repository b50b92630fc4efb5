"""Default parameters of stops and friction: numbers that a file leaves out, NaN in a specification, are chosen here.

Both are scaled to the inertia that the joint moves at q = 0, so that one rule serves a finger and a hip and is stable
for steps of a millisecond. At a stop, a spring and a damper that push back, the joint oscillates at STOP_FREQUENCY with
STOP_DAMPING_RATIO; under its own weight it rests about g / STOP_FREQUENCY² = 1 mm beyond the limit. Friction saturates
at the speed that it alone removes in FRICTION_TIME, but at least at SHARPEST.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.inertia.parameters import moved_by, tensors
from pysim.joints import find_joint
from pysim.scene.spec import with_fields
from pysim.scene.tree import order_from_world
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pysim.scene.spec import BodySpec, JointSpec

STOP_FREQUENCY = 100.0  # [rad/s]
STOP_DAMPING_RATIO = 0.5
FRICTION_TIME = 1e-3  # [s]
SHARPEST = 1e-3  # [m/s or rad/s]
RATED_BAND = (
    0.05  # share of the velocity limit in a robot's file, before which its drives begin to give way
)


def with_stops(
    joints: Iterable[JointSpec],
    bodies: Iterable[BodySpec],
    known: Mapping[int, JointSpec] | None = None,
    *,
    inertias_changed: bool = True,
) -> tuple[JointSpec, ...]:
    """Return the joints with stops and friction widths chosen that are NaN.

    Args:
        joints: the joints.
        bodies: the bodies that they move.
        known: results of an earlier call, by the `id` of the joint given there.
        inertias_changed: whether a body, or the place of a joint, differs from that call.
    """
    joints, known = tuple(joints), known or {}
    scaled = [_depends_on_inertia(joint) for joint in joints]
    theta = composite_inertias(joints, bodies) if any(scaled) else {}
    return tuple(
        known[id(joint)]
        if id(joint) in known and not (depends and inertias_changed)
        else _with_stop(joint, theta[joint.child])
        if depends
        else _without_stop(joint)
        for joint, depends in zip(joints, scaled, strict=True)
    )


def _depends_on_inertia(joint: JointSpec) -> bool:
    """Return whether a stop or friction of a joint is scaled; otherwise they are 0, and the width is SHARPEST."""
    bounded = np.isfinite(joint.lower).any() or np.isfinite(joint.upper).any()
    return bool(bounded or joint.friction.any() or not np.isnan(joint.stop_stiffness).all())


def _without_stop(joint: JointSpec) -> JointSpec:
    """Return a joint without stop and friction, with the numbers that `_with_stop` would choose."""
    none = np.zeros(len(joint.start_v))
    return with_fields(
        joint,
        stop_stiffness=none,
        stop_damping=_chosen(joint.stop_damping, none),
        friction_width=_chosen(joint.friction_width, none + SHARPEST),
    )


def _with_stop(joint: JointSpec, theta: Array) -> JointSpec:
    inertia = joint.armature + _inertia(joint, theta)
    bounded = np.isfinite(joint.lower) | np.isfinite(joint.upper)
    stiffness = _chosen(joint.stop_stiffness, STOP_FREQUENCY**2 * inertia * bounded)
    critical = 2 * np.sqrt(stiffness * inertia)
    width = np.divide(
        joint.friction * FRICTION_TIME, inertia, out=np.zeros_like(inertia), where=inertia > 0
    )
    return with_fields(
        joint,
        stop_stiffness=stiffness,
        stop_damping=_chosen(joint.stop_damping, STOP_DAMPING_RATIO * critical),
        friction_width=_chosen(joint.friction_width, np.maximum(SHARPEST, width)),
    )


def _chosen(said: Array, otherwise: Array) -> Array:
    return np.where(np.isnan(said), otherwise, said)


def _inertia(joint: JointSpec, theta: Array) -> Array:
    """Return the inertia (nv,) [kg or kg·m²] of a body with θ (10,) that each velocity of a joint moves."""
    axis, m, I = np.array(joint.axis), theta[0], tensors(theta)  # noqa: E741
    about_axis = axis @ I @ axis
    match joint.type:
        case "helical":
            values = [about_axis + joint.parameters["pitch"] ** 2 * m]
        case "cylindrical":
            values = [m, about_axis]
        case "universal":
            values = [I[0, 0], I[1, 1]]
        case "planar":
            values = [m, m, I[2, 2]]
        case _:  # the axes of a plugin are unknown: as for a ball
            turn = about_axis if joint.type == "revolute" else np.trace(I) / 3
            units = find_joint(joint.type).v_units
            values = [m if unit == "m/s" else turn for unit in units]
    return np.array(values, float)


def composite_inertias(
    joints: tuple[JointSpec, ...], bodies: Iterable[BodySpec]
) -> dict[str, Array]:
    """Return θ (10,) of each body together with its descendants at q = 0, about the body's origin."""
    theta = {body.name: body.theta for body in bodies}
    hangs_on = {joint.child: joint for joint in joints}
    for name in reversed(order_from_world(joints)):
        joint = hangs_on[name]
        if joint.parent in theta:
            theta[joint.parent] = theta[joint.parent] + moved_by(theta[name], joint.at)
    return theta
