"""Joints of an MJCF model: a chain of joints for each body, through massless bodies at the joints' anchors.

A body with joints 1 … n at the anchors p₁ … pₙ in its frame has the pose X = X₀ Π T(pₖ) Mₖ(qₖ) T(−pₖ) in its parent.
Frame k of the chain lies at pₖ and turns with the body: the first n − 1 are massless bodies "BODY/JOINT", and the last
is one too if pₙ is not the body's origin. Coordinates are those of MuJoCo; quaternions are (x, y, z, w), and a free
joint's linear velocity is in the body frame.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.scene.mjcf.joint_armature import reflected
from pysim.scene.mjcf.model import BALL, FREE, HINGE, SLIDE, xyzw
from pysim.scene.poses import from_axis_angle, rotation
from pysim.scene.spec import BodySpec, JointSpec
from pysim.scene.urdf.joints import plain_joint
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.scene.import_omissions import Omissions
    from pysim.scene.mjcf.model import MujocoModel

_TYPES = {FREE: "free", BALL: "ball", SLIDE: "prismatic", HINGE: "revolute"}


def translation(xyz: Array) -> Array:
    """Return the pose (4, 4) of a displacement [m]."""
    X = np.eye(4)
    X[:3, 3] = xyz
    return X


class JointReader:
    """Reader of the joints of bodies, which reports what it leaves out."""

    def __init__(self, model: MujocoModel, omissions: Omissions) -> None:
        self.model, self.m, self.omissions = model, model.m, omissions
        self.armature, self.damping = reflected(model, omissions)

    def read(self, body: int) -> tuple[list[BodySpec], list[JointSpec]]:
        """Return the massless bodies and the joints between a body's parent and the body."""
        m, name = self.m, self.model.bodies[body]
        parent = self.model.bodies[m.body_parentid[body]]
        at, where = self.model.body_pose(body), self.model.location("bodies", body)
        first, count = m.body_jntadr[body], m.body_jntnum[body]
        if not count:
            label = self.model.joint_names.unique(f"{name}_fixed")
            return [], [plain_joint(label, "fixed", parent, name, at, where)]
        between: list[BodySpec] = []
        chain: list[JointSpec] = []
        anchor = np.zeros(3)
        for k in range(first, first + count):
            free = m.jnt_type[k] == FREE
            at, anchor = (np.eye(4), anchor) if free else self._anchored(at, anchor, k)
            last = k == first + count - 1 and not anchor.any()
            child = name
            if not last:
                child = self.model.places.unique(f"{name}/{self.model.joints[k]}")
                between.append(BodySpec(child, np.zeros(10), (), where))
            chain.append(self._joint(k, parent, child, at))
            parent, at = child, np.eye(4)
        if parent != name:
            label = self.model.joint_names.unique(f"{name}_fixed")
            chain.append(plain_joint(label, "fixed", parent, name, translation(-anchor), where))
        return between, chain

    def _anchored(self, at: Array, anchor: Array, joint: int) -> tuple[Array, Array]:
        """Return the joint's frame in the frame before, whose anchor is given, and the joint's anchor."""
        own = self.m.jnt_pos[joint]
        return at @ translation(own - anchor), own

    def _joint(self, k: int, parent: str, child: str, at: Array) -> JointSpec:
        m, kind = self.m, int(self.m.jnt_type[k])
        where = self.model.location("joints", k)
        joint = plain_joint(self.model.joints[k], _TYPES[kind], parent, child, at, where)
        first = m.jnt_qposadr[k]
        n = len(joint.start_q)
        start, spring_zero = m.qpos0[first : first + n], m.qpos_spring[first : first + n]
        if kind in {SLIDE, HINGE}:
            axis = m.jnt_axis[k]
            joint = replace(
                joint,
                axis=(float(axis[0]), float(axis[1]), float(axis[2])),
                at=at @ _back(kind, axis, float(start[0])),
                start_q=start.copy(),
                rest=spring_zero.copy(),
            )
        else:
            joint = replace(
                joint, start_q=_quaternion_last(start), rest=_quaternion_last(spring_zero)
            )
        return self._with_limits(self._with_effort_limit(self._with_forces(joint, k), k), k, kind)

    def _with_forces(self, joint: JointSpec, k: int) -> JointSpec:
        """Add armature, damping, springs and dry friction."""
        m, at = self.m, int(self.m.jnt_dofadr[k])
        dofs = slice(at, at + len(joint.start_v))
        stiffness = float(m.jnt_stiffness[k]) * self.model.springs
        if joint.type == "free" and stiffness:
            self._leave(joint, "springs of free joints", f"of {stiffness:g} N/m and N·m/rad")
            stiffness = 0.0
        if joint.type == "free" and np.any(self.armature[dofs]):
            reason = "has an armature, which acts in the axes of the body instead of the world"
            self.omissions.add(
                "armatures of free joints", f"joint {joint.name!r}", joint.where, reason
            )
        for key in ("jnt_stiffnesspoly", "dof_dampingpoly"):
            values = getattr(m, key, np.zeros((0, 1)))
            rows = values[k : k + 1] if key.startswith("jnt") else values[dofs]
            if np.any(rows):
                word = "stiffness" if key.startswith("jnt") else "damping"
                self._leave(joint, f"polynomial {word}", "of higher order")
        if np.any(getattr(m, "jnt_springyield", np.zeros(k + 1))[k]):
            self._leave(joint, "plastic springs", "that yields")
        return replace(
            joint,
            armature=self.armature[dofs].copy(),
            damping=self.damping[dofs] * self.model.dampers,
            stiffness=np.full(len(joint.start_v), stiffness),
            friction=m.dof_frictionloss[dofs] * self.model.friction,
        )

    def _with_effort_limit(self, joint: JointSpec, k: int) -> JointSpec:
        """Add the limit of the sum of actuator forces, if it is the same in both directions."""
        if not self.m.jnt_actfrclimited[k]:
            return joint
        lower, upper = map(float, self.m.jnt_actfrcrange[k])
        if lower != -upper or len(joint.start_v) > 1:
            self._leave(joint, "ranges of actuator forces", f"from {lower:g} to {upper:g}")
            return joint
        return replace(joint, effort_limit=upper)

    def _with_limits(self, joint: JointSpec, k: int, kind: int) -> JointSpec:
        """Add limits. Their stops have the stiffness and damping that MuJoCo's solver aims at for the joint alone."""
        m = self.m
        if not (m.jnt_limited[k] and self.model.limits):
            return joint
        lower, upper = m.jnt_range[k]
        if kind == BALL:
            self._leave(joint, "limits of ball joints", f"of {upper:g} rad")
            return joint
        stiffness, damping = stop_gains(m.jnt_solref[k])
        inertia = 1.0 / max(float(m.dof_invweight0[m.jnt_dofadr[k]]), 1e-12)
        return replace(
            joint,
            lower=np.array([lower]),
            upper=np.array([upper]),
            stop_stiffness=np.array([stiffness * inertia]),
            stop_damping=np.array([damping * inertia]),
        )

    def _leave(self, joint: JointSpec, kind: str, what: str) -> None:
        self.omissions.add(
            kind,
            f"joint {joint.name!r}",
            joint.where,
            f"has {_with_article(kind)} {what}, which is left out",
        )


def _with_article(kind: str) -> str:
    """Return the singular of a kind of items, with its article."""
    return {
        "springs of free joints": "a spring",
        "limits of ball joints": "a limit",
        "plastic springs": "a spring",
        "ranges of actuator forces": "a range of actuator forces",
    }.get(kind, kind)


def stop_gains(solref: Array) -> tuple[float, float]:
    """Return stiffness and damping [1/s², 1/s] of a constraint of unit inertia.

    Positive solref are a time constant τ and a damping ratio ζ: k = 1 / (τ ζ)², b = 2 / τ; negative ones are −k and −b
    (MuJoCo's documentation, "Solver parameters", with an impedance that does not depend on the distance).
    """
    first, second = float(solref[0]), float(solref[1])
    return (1.0 / (first * second) ** 2, 2.0 / first) if first > 0 else (-first, -second)


def _back(kind: int, axis: Array, q: float) -> Array:
    """Return the inverse (4, 4) of the motion of a joint at q."""
    if kind == SLIDE:
        return translation(-q * axis)
    X = np.eye(4)
    X[:3, :3] = rotation(from_axis_angle(float(axis[0]), float(axis[1]), float(axis[2]), -q))
    return X


def _quaternion_last(q: Array) -> Array:
    """Return the coordinates of a free or ball joint with the quaternion as (x, y, z, w)."""
    return np.concatenate([q[:-4], xyzw(q[-4:])])
