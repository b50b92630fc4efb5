"""Reader of the joints of a URDF file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import JointError, did_you_mean
from pysim.joints import find_joint
from pysim.scene.mimic import leading
from pysim.scene.spec import JointSpec, Mimic
from pysim.scene.stop_defaults import RATED_BAND
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pysim.scene.import_omissions import Omissions
    from pysim.scene.urdf.xml import Element

TYPES = {
    "fixed": "fixed",
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "planar": "planar",
    "floating": "free",
    "spherical": "ball",
}
UNIT_AXIS = 0.01  # difference of an axis' length from 1 that rounding explains
_LIMITED = ("revolute", "prismatic")
_FORCE_UNIT = {"prismatic": "N"}
_SPEED_UNIT = {"prismatic": "m/s"}


def plain_joint(name: str, kind: str, parent: str, child: str, at: Array, where: str) -> JointSpec:
    """Return a joint without passive forces and limits, at its neutral configuration.

    The constants of its stops and friction are NaN; `pysim.scene.stop_defaults` chooses them.
    """
    joint_type = find_joint(kind)
    neutral = np.array(joint_type.neutral)
    return JointSpec(
        name=name,
        type=kind,
        parent=parent,
        child=child,
        at=at,
        axis=(0.0, 0.0, 1.0),
        rest=neutral,
        start_q=neutral,
        start_v=np.zeros(joint_type.nv),
        where=where,
    )


def read_joint(element: Element, omissions: Omissions, *, mimic: bool) -> JointSpec:
    """Return the specification of a <joint>; with mimic=False a mimic joint is independent."""
    name, kind = element.text("name"), element.text("type")
    if kind not in TYPES:
        element.fail(f"unknown joint type {kind!r}{did_you_mean(kind, TYPES)}")
    parent = element.required("parent").text("link")
    child = element.required("child").text("link")
    joint = plain_joint(name, TYPES[kind], parent, child, element.origin(), element.where)
    if kind == "fixed":
        return joint
    if joint.type in {"revolute", "prismatic", "planar"}:
        joint = replace(joint, axis=_axis(element, omissions))
    if kind == "planar" and joint.axis != (0.0, 0.0, 1.0):
        element.fail(
            f"the normal of a planar joint must be 0 0 1, got {joint.axis}; "
            "rotate the joint's <origin> and the child's frame instead"
        )
    joint = _with_dynamics(_with_limits(joint, element, kind), element)
    follows = element.child("mimic") if mimic else None
    if follows is not None:
        joint = replace(joint, mimic=_mimic(follows, joint))
    return joint


def _axis(element: Element, omissions: Omissions) -> tuple[float, float, float]:
    axis = element.first("axis", omissions)
    given = (1.0, 0.0, 0.0) if axis is None else axis.numbers("xyz", 3)
    length = float(np.linalg.norm(given))
    if length < 1e-9 and axis is not None:
        axis.fail(f"the axis has no direction, got {axis.text('xyz')!r}; give one, as '0 0 1'")
    if axis is not None and abs(length - 1) > UNIT_AXIS:
        item, length_text = f"{axis.owner}: <axis> {axis.text('xyz')!r}", f"{length:.4g}"
        reason = f"has length {length_text} and is used as a direction; divide it by {length_text}"
        omissions.add("axes that are not unit vectors", item, axis.where, reason)
    x, y, z = (value / length for value in given)
    return x, y, z


def _with_limits(joint: JointSpec, element: Element, kind: str) -> JointSpec:
    """Add limits; a revolute or prismatic joint whose lower and upper are both 0, or missing, has no limits."""
    limit = element.child("limit")
    if limit is None:
        return joint
    force, speed = _FORCE_UNIT.get(kind, "N·m"), _SPEED_UNIT.get(kind, "rad/s")
    if "effort" in limit.attributes:
        joint = replace(joint, effort_limit=limit.non_negative("effort", force))
    if "velocity" in limit.attributes:
        velocity = limit.non_negative("velocity", speed)
        joint = replace(joint, velocity_limit=velocity, velocity_band=RATED_BAND)
    if kind not in _LIMITED:
        return joint
    lower, upper = limit.number("lower", 0.0), limit.number("upper", 0.0)
    if lower > upper:
        unit = "m" if kind == "prismatic" else "rad"
        limit.fail(f"lower limit {lower} exceeds upper limit {upper} [{unit}]; swap them")
    if lower == upper == 0:
        return joint
    return replace(joint, lower=np.array([lower]), upper=np.array([upper]))


def _with_dynamics(joint: JointSpec, element: Element) -> JointSpec:
    """Add damping and friction, the same on every coordinate."""
    dynamics = element.child("dynamics")
    if dynamics is None:
        return joint
    ones = np.ones(len(joint.damping))
    return replace(
        joint,
        damping=dynamics.non_negative("damping", "N·m·s/rad or N·s/m", 0.0) * ones,
        friction=dynamics.non_negative("friction", "N·m or N", 0.0) * ones,
    )


def _mimic(element: Element, joint: JointSpec) -> Mimic:
    if len(joint.start_q) != 1:
        element.fail(
            f"a {joint.type} joint cannot follow another; only joints of one coordinate can; remove its <mimic>"
        )
    ratio, offset = element.number("multiplier", 1.0), element.number("offset", 0.0)
    return Mimic(element.text("joint"), ratio, offset)


def resolve_mimics(
    joints: Iterable[JointSpec], elements: Mapping[str, Element]
) -> tuple[JointSpec, ...]:
    """Return the joints with chains of mimic joints resolved."""
    joints = tuple(joints)
    by_name = {joint.name: joint for joint in joints}
    return tuple(_resolve_mimic(joint, by_name, elements[joint.name]) for joint in joints)


def _resolve_mimic(
    joint: JointSpec, by_name: Mapping[str, JointSpec], element: Element
) -> JointSpec:
    try:
        return replace(joint, mimic=leading(joint, by_name))
    except JointError as error:
        element.fail(error.problem)
