"""Joints that move no mass in foreign files: they carry only frames or drawings, and are fixed with a warning."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.joints import find_joint
from pysim.scene.held_paths import with_held_path, with_held_points
from pysim.scene.poses import from_axis_angle, rotation
from pysim.scene.spec import JointSpec
from pysim.scene.tree import massless_joints

if TYPE_CHECKING:
    from pysim.scene.import_omissions import Omissions
    from pysim.scene.spec import ModelSpec


def has_mass(spec: ModelSpec) -> bool:
    """Return whether a body has a mass or an inertia."""
    return any(body.theta.any() for body in spec.bodies)


def fix_massless_joints(spec: ModelSpec, omissions: Omissions) -> ModelSpec:
    """Return the mechanism with joints that move no mass fixed, at the position nearest to 0 within their limits.

    Such a joint would make the mass matrix singular. The mechanism must be a tree.

    Raises:
        SceneError: there is such a joint, and reading is strict.
    """
    fixed = {joint.name: _nearest_to_zero(joint) for joint in massless_joints(spec)}
    if not fixed:
        return spec
    joints, held = [], dict[str, float]()
    for joint in spec.joints:
        q = None
        if joint.name in fixed:
            reason = (
                f"moves only massless bodies, {joint.child!r} and what it carries, and is fixed; "
                f"give {joint.child!r} a mass to let it move"
            )
            omissions.add("joints", f"joint {joint.name!r}", joint.where, reason)
            q = fixed[joint.name]
        elif joint.mimic is not None and joint.mimic.joint in fixed:
            q = joint.mimic.ratio * fixed[joint.mimic.joint] + joint.mimic.offset
        joints.append(joint if q is None else _fixed_at(joint, q))
        if q is not None:
            held[joint.name] = q
            held |= {f"{joint.name}.{name}": q for name in find_joint(joint.type).q_names}
    return replace(
        spec,
        joints=tuple(joints),
        forces=tuple(with_held_path(force, held) for force in spec.forces),
        blocks=tuple(with_held_points(block, held) for block in spec.blocks),
    )


def _nearest_to_zero(joint: JointSpec) -> float:
    """Return the coordinate to fix a joint of one coordinate at, 0 for others."""
    return float(np.clip(0.0, joint.lower[0], joint.upper[0])) if len(joint.lower) == 1 else 0.0


def _fixed_at(joint: JointSpec, q: float) -> JointSpec:
    """Return a fixed joint that leaves the child where the joint has it at q."""
    motion = np.eye(4)
    if joint.type == "revolute":
        motion[:3, :3] = rotation(from_axis_angle(*joint.axis, q))
    elif joint.type == "prismatic":
        motion[:3, 3] = q * np.array(joint.axis)
    neutral = np.array(find_joint("fixed").neutral)
    return JointSpec(
        joint.name,
        "fixed",
        joint.parent,
        joint.child,
        joint.at @ motion,
        (0.0, 0.0, 1.0),
        rest=neutral,
        start_q=neutral,
        start_v=np.zeros(0),
        where=joint.where,
    )
