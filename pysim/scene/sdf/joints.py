"""Joints of SDF models, as joints of the tree or as loops.

The frame of a joint moves with the child. Where its origin is not that of the child, the joint moves a massless body
"CHILD/JOINT" at its frame, to which the child is fixed. Universal and revolute2 joints are two hinges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import did_you_mean
from pysim.scene.poses import relative_pose
from pysim.scene.sdf.frames import LAST_MODEL_FRAME
from pysim.scene.sdf.values import non_negative, number, numbers, text, truth
from pysim.scene.spec import BodySpec, JointSpec, LoopSpec, Mimic
from pysim.scene.stop_defaults import RATED_BAND
from pysim.scene.urdf.joints import plain_joint
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.scene.sdf.frames import Scope
    from pysim.scene.urdf.xml import Element

TYPES = {
    "fixed": "fixed",
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "ball": "ball",
    "screw": "helical",
    "universal": "universal",
    "revolute2": "universal",
}
LARGEST_LIMIT = 1e15  # SDF writes ±1e16 for a joint without a limit
OFFSET_TOLERANCE = 1e-12  # [m] offsets that are rounding


@dataclass(frozen=True)
class JointItem:
    """A joint: its element, the links it connects, and poses in the world."""

    name: str
    element: Element
    scope: Scope
    parent: str
    child: str
    X_parent: Array
    X_child: Array
    X_joint: Array

    @property
    def kind(self) -> str:
        """Type in SDF."""
        kind = self.element.text("type")
        if kind not in TYPES:
            self.element.fail(f"unknown joint type {kind!r}{did_you_mean(kind, TYPES)}")
        return kind


def tree_joints(item: JointItem) -> tuple[list[BodySpec], list[JointSpec]]:
    """Return the massless bodies and the joints between the parent and the child."""
    where, kind = item.element.where, item.kind
    at = relative_pose(item.X_parent, item.X_joint)
    offset = relative_pose(item.X_joint, item.X_child)
    if kind == "fixed":
        return [], [plain_joint(item.name, "fixed", item.parent, item.child, at @ offset, where)]
    # without a displacement, the joint may use the frame of the child
    is_rotation = np.abs(offset[:3, 3]).max() < OFFSET_TOLERANCE
    frame = item.X_child if is_rotation else item.X_joint
    at = at @ offset if is_rotation else at
    axes = ["axis", "axis2"] if TYPES[kind] == "universal" else ["axis"]
    parts = [_joint(item, kind, tag, frame) for tag in axes]
    names = [item.name] if len(parts) == 1 else [f"{item.name}/{k + 1}" for k in range(len(parts))]
    bodies, joints, parent = [], [], item.parent
    for k, (part, name) in enumerate(zip(parts, names, strict=True)):
        last = k == len(parts) - 1 and is_rotation
        child = item.child if last else f"{item.child}/{name}"
        if not last:
            bodies.append(BodySpec(child, np.zeros(10), (), where))
        own = at if k == 0 else np.eye(4)
        joints.append(replace(part, name=name, parent=parent, child=child, at=own))
        parent = child
    if not is_rotation:
        label = f"{item.name}/fixed"
        joints.append(plain_joint(label, "fixed", parent, item.child, offset, where))
    return bodies, joints


def loop_of(item: JointItem) -> LoopSpec:
    """Return the loop that a joint closes."""
    kind = TYPES[item.kind]
    if kind == "universal":
        item.element.fail(
            f"a {item.kind} joint cannot close a loop; let another joint of the loop close it"
        )
    joint = _joint(item, item.kind, "axis", item.X_joint)
    return LoopSpec(
        item.name,
        "weld" if kind == "fixed" else kind,
        item.parent,
        item.child,
        relative_pose(item.X_parent, item.X_joint),
        relative_pose(item.X_child, item.X_joint),
        joint.axis,
        parameters=joint.parameters,
        where=item.element.where,
    )


def _joint(item: JointItem, kind: str, tag: str, frame: Array) -> JointSpec:
    """Return one joint of an item with the axis in `frame` (4, 4), without its names and place."""
    ours = "revolute" if TYPES[kind] == "universal" else TYPES[kind]
    joint = plain_joint(item.name, ours, item.parent, item.child, np.eye(4), item.element.where)
    axis = item.element.child(tag)
    if ours in {"fixed", "ball"}:
        return joint if axis is None else _with_damping(joint, axis)
    if axis is None:
        item.element.fail(f"a {kind} joint needs an <{tag}>")
    joint = replace(joint, axis=axis_in(item, axis, frame))
    if ours == "helical":
        joint = replace(joint, parameters={"pitch": _pitch(item.element)})
    return _with_mimic(item, _with_limits(_with_damping(joint, axis), axis, kind), axis)


def axis_in(item: JointItem, axis: Element, frame: Array) -> tuple[float, float, float]:
    """Return the unit axis in `frame`."""
    xyz = axis.child("xyz")
    direction = np.array((0.0, 0.0, 1.0) if xyz is None else numbers(xyz, 3))
    length = float(np.linalg.norm(direction))
    if length < 1e-9:
        axis.fail("the axis has no direction; write <xyz>")
    named = xyz.attributes.get("expressed_in") if xyz is not None else None
    if named:
        R = item.scope.pose(named, axis)[:3, :3]
    elif item.scope.version <= LAST_MODEL_FRAME or truth(axis, "use_parent_model_frame"):
        R = item.scope.own_pose()[:3, :3]
    else:
        R = item.X_joint[:3, :3]
    x, y, z = (float(value) for value in frame[:3, :3].T @ R @ (direction / length))
    return x, y, z


def _pitch(joint: Element) -> float:
    """Return the travel per radian [m/rad]; the older <thread_pitch> is its negative inverse."""
    if joint.child("screw_thread_pitch") is not None:
        return number(joint, "screw_thread_pitch", 1.0) / (2 * math.pi)
    turns = number(joint, "thread_pitch", 1.0)
    if turns == 0:
        joint.fail("<thread_pitch> must not be 0 [rad/m]; write <screw_thread_pitch>")
    return -1.0 / turns


def _with_damping(joint: JointSpec, axis: Element) -> JointSpec:
    dynamics = axis.child("dynamics")
    if dynamics is None:
        return joint
    each_velocity = np.ones(len(joint.damping))
    joint = replace(
        joint,
        damping=non_negative(dynamics, "damping", "N·m·s/rad or N·s/m", 0.0) * each_velocity,
        friction=non_negative(dynamics, "friction", "N·m or N", 0.0) * each_velocity,
    )
    stiffness = non_negative(dynamics, "spring_stiffness", "N·m/rad or N/m", 0.0)
    if not stiffness or len(joint.rest) != 1:
        return joint
    rest = np.array([number(dynamics, "spring_reference", 0.0)])
    return replace(joint, stiffness=stiffness * each_velocity, rest=rest)


def _with_limits(joint: JointSpec, axis: Element, kind: str) -> JointSpec:
    limit = axis.child("limit")
    if limit is None:
        return joint
    effort, velocity = number(limit, "effort", -1.0), number(limit, "velocity", -1.0)
    joint = replace(
        joint,
        effort_limit=effort if effort >= 0 else None,
        velocity_limit=velocity if velocity >= 0 else None,
        velocity_band=RATED_BAND if velocity >= 0 else None,
    )
    if kind == "continuous":
        return joint
    lower, upper = number(limit, "lower", -math.inf), number(limit, "upper", math.inf)
    if lower > upper:
        limit.fail(f"lower limit {lower:g} exceeds upper limit {upper:g}; swap them")
    lower = lower if lower > -LARGEST_LIMIT else -math.inf
    upper = upper if upper < LARGEST_LIMIT else math.inf
    return replace(joint, lower=np.array([lower]), upper=np.array([upper]))


def _with_mimic(item: JointItem, joint: JointSpec, axis: Element) -> JointSpec:
    """Add the relation q = multiplier (q_leader − reference) + offset."""
    element = axis.child("mimic")
    if element is None:
        return joint
    ratio = number(element, "multiplier", 1.0)
    offset = number(element, "offset", 0.0) - ratio * number(element, "reference", 0.0)
    leader = item.scope.label(element.text("joint"))
    return replace(joint, mimic=Mimic(leader, ratio, offset))


def ends_of(name: str, element: Element, scope: Scope) -> JointItem:
    """Return a joint with the links at its ends."""
    parent, parent_scope, parent_link = scope.body(text(element, "parent"), element)
    child, child_scope, child_link = scope.body(text(element, "child"), element)
    if parent == child:
        element.fail(f"joins link {child!r} to itself; name another parent")
    X_parent = np.eye(4) if parent_scope is None else parent_scope.pose(parent_link, element)
    X_child = np.eye(4) if child_scope is None else child_scope.pose(child_link, element)
    X_joint = scope.pose(name, element)
    return JointItem(scope.label(name), element, scope, parent, child, X_parent, X_child, X_joint)
