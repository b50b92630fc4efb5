"""Stops for limits of which a file says where they are but not how stiff.

A stop is a spring and a damper that push back. They are scaled to what the joint carries, so that one rule serves a
finger and a hip: hitting it, the joint rings at STOP_FREQUENCY with STOP_DAMPING_RATIO, and rests under its own weight
about g / STOP_FREQUENCY² = 1 mm beyond a limit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.inertia import move_theta, rotational_inertia
from pysim.scene.tree import order_from_world

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from pysim.scene.spec import BodySpec, JointSpec

    Array = NDArray[np.float64]

STOP_FREQUENCY = 100.0  # [rad/s]
STOP_DAMPING_RATIO = 0.5


def with_stops(joints: Iterable[JointSpec], bodies: Iterable[BodySpec]) -> tuple[JointSpec, ...]:
    """Return the joints, stops given to the revolute and prismatic ones that have limits."""
    joints = tuple(joints)
    carried = _carried(joints, bodies)
    return tuple(_with_stop(joint, carried[joint.child]) for joint in joints)


def _with_stop(joint: JointSpec, theta: Array) -> JointSpec:
    bounded = np.isfinite(joint.lower) | np.isfinite(joint.upper)
    if joint.type not in {"revolute", "prismatic"} or not bounded.any():
        return joint
    axis = np.array(joint.axis)
    about_axis = axis @ rotational_inertia(theta) @ axis
    inertia = joint.armature + (theta[0] if joint.type == "prismatic" else about_axis)
    return replace(
        joint,
        stop_stiffness=STOP_FREQUENCY**2 * inertia,
        stop_damping=2 * STOP_DAMPING_RATIO * STOP_FREQUENCY * inertia,
    )


def _carried(joints: tuple[JointSpec, ...], bodies: Iterable[BodySpec]) -> dict[str, Array]:
    """Return θ (10,) of each body with all that hangs on it at q = 0, about the body's origin."""
    theta = {body.name: body.theta for body in bodies}
    hangs_on = {joint.child: joint for joint in joints}
    for name in reversed(order_from_world(joints)):
        joint = hangs_on[name]
        if joint.parent in theta:
            theta[joint.parent] = theta[joint.parent] + move_theta(theta[name], joint.at)
    return theta
