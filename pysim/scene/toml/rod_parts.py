"""Bodies, joints and loops of a rod: bars one after the other, and hinges between them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim.joints import find_joint
from pysim.scene.poses import relative_pose
from pysim.scene.rods.chain import Chain
from pysim.scene.spec import (
    BodySpec,
    CollisionSpec,
    ContactsSpec,
    JointSpec,
    LoopSpec,
    RodShape,
    RodSpec,
    with_fields,
)
from pysim.scene.urdf.joints import plain_joint
from pysim.shapes import Geometry, Shape
from pysim.spatial import quaternion_from_rotation
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.scene.toml.records.rod_table import Rod

COLOR = (0.42, 0.46, 0.52, 1.0)
END = "end"  # name of the body behind the last hinge
EQUILIBRIUM = "equilibrium"  # of `start`
NEIGHBOUR_DIAMETERS = 1.5  # diameters along the rod within which bars do not touch each other
# by whether the far end is clamped, and slides
_LOOPS = {
    (True, False): "weld",
    (False, False): "ball",
    (True, True): "prismatic",
    (False, True): "point_on_line",
}
_AXES = {"y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
_TURN_Z_TO_X = np.array(
    [[0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
)


@dataclass(frozen=True)
class RodStart:
    """Bars, and the body of a held end, at the start, in frame A.

    `begin` (3,) is where the rod begins, `rotations` (n, 3, 3) are the axes of their frames.
    """

    begin: Array
    rotations: Array


@dataclass(frozen=True)
class RodParts:
    """Bodies, joints and loops of a rod."""

    table: Rod
    chain: Chain
    where: str

    def _name(self, k: int) -> str:
        return f"{self.table.name}/{END if k == self.chain.bars else k}"

    def bodies(self) -> tuple[BodySpec, ...]:
        """Return the bars, and the body of the end."""
        return tuple(
            BodySpec(self._name(k), theta, *self._shapes(k))
            for k, theta in enumerate(self.chain.thetas)
        )

    def _shapes(self, k: int) -> tuple[tuple[Geometry, ...], str, tuple[CollisionSpec, ...]]:
        """Return what is drawn, the place of the table, and what collides, of a bar."""
        chain = self.chain
        if k == chain.bars:
            return (), self.where, ()
        y, z = chain.section.outline((chain.s[k : k + 1] + chain.s[k + 1 : k + 2]) / 2)[0].tolist()
        X = relative_pose(chain.hinge_frames[k], chain.bar_frames[k])
        ends = chain.line.points(chain.s[k : k + 2])
        length = float(np.linalg.norm(ends[1] - ends[0]))
        X[:3, 3] += X[:3, 0] * (length / 2)
        if chain.section.shape == "rectangle":
            shape = Shape("box", (length, y, z))
        else:
            shape, X = Shape("capsule", (y / 2, length)), X @ _TURN_Z_TO_X
        drawn = (Geometry(shape, X, self.table.color or COLOR, is_bar=True),)
        if not self.table.collision:
            return drawn, self.where, ()
        material = self.table.surface or "default"
        return drawn, self.where, (CollisionSpec(shape, X, material, where=self.where),)

    def joints(self, start: RodStart | None) -> tuple[JointSpec, ...]:
        """Return the hinges, and the joint of the rod's beginning."""
        chain, H = self.chain, self.chain.hinge_frames
        at = [self.table.at_a.matrix @ H[0]]
        at += [relative_pose(H[k - 1], H[k]) for k in range(1, chain.bars + chain.has_end)]
        return tuple(self._joint(k, X, start) for k, X in enumerate(at))

    def _joint(self, k: int, at: Array, start: RodStart | None) -> JointSpec:
        table, chain = self.table, self.chain
        kind = "ball" if table.planar is None else "revolute"
        if k == 0 and chain.ends[0] == "free":
            kind = "free"
        parent = table.a if k == 0 else self._name(k - 1)
        joint = plain_joint(self._name(k), kind, parent, self._name(k), at, self.where)
        if kind == "revolute":
            assert table.planar is not None
            joint = with_fields(joint, axis=_AXES[table.planar])
        if k > 0 or chain.ends[0] == "clamped":
            K = chain.stiffness[k]
            if kind == "revolute":
                K = K[[1 if table.planar == "y" else 2]]
            joint = with_fields(joint, stiffness=K, damping=table.damping * K)
        if start is None or k == len(start.rotations):
            return joint
        before = np.eye(3) if k == 0 else start.rotations[k - 1]
        H0 = chain.hinge_frames[0]
        R = (before @ (at[:3, :3] if k else H0[:3, :3])).T @ start.rotations[k]
        moved = start.begin - H0[:3, 3]
        q = _start_q(joint, R, H0[:3, :3].T @ moved)
        return with_fields(joint, start_q=q, given_start=frozenset({"q"}))

    def rod(self) -> RodSpec:
        """Return the rod by the names of its bars."""
        chain, table = self.chain, self.table
        names = tuple(self._name(k) for k in range(chain.bars + chain.has_end))
        begin = 0 if chain.ends[0] == "clamped" else 1
        K = chain.section.stiffness(chain.s)
        GJ, EIy, EIz = K[0].tolist()
        is_uniform = bool((K[0] == K).all())
        return RodSpec(
            table.name,
            names,
            self.where,
            hinges=names[begin:],
            weights=tuple(chain.weights[begin : len(names)].tolist()),
            axis={None: -1, "y": 1, "z": 2}[table.planar],
            EI=(EIy, EIz) if is_uniform else None,
            GJ=GJ if is_uniform else None,
            damping=table.damping,
            length=chain.line.length,
            has_path=table.path is not None,
            ends=chain.ends,
            has_end=chain.has_end,
            shape=RodShape(
                chain.hinge_frames[: len(names)],
                chain.rings(),
                chain.section.outline(np.linspace(0, chain.line.length, chain.count_rings())),
                chain.section.shape != "rectangle",
                table.color or COLOR,
            ),
            has_section=bool(chain.section.shape),
        )

    def in_equilibrium(self) -> tuple[str, ...]:
        """Return the joints that start in equilibrium, if the rod does."""
        if self.table.start != EQUILIBRIUM:
            return ()
        return self.rod().bars

    def loops(self) -> tuple[LoopSpec, ...]:
        """Return the loop that holds the far end, if it is held."""
        table, chain = self.table, self.chain
        if table.b is None:
            return ()
        k, X = chain.station(chain.line.length)
        is_clamped = chain.ends[1] == "clamped"
        kind = _LOOPS[is_clamped, table.slide]
        axis = (1.0, 0.0, 0.0) if table.slide else (0.0, 0.0, 1.0)
        B = table.at_b.matrix
        return (LoopSpec(table.name, kind, table.b, self._name(k), B, X, axis, where=self.where),)

    def contacts(self) -> ContactsSpec | None:
        """Return the pairs of bars that do not touch each other, as they are next to one another."""
        if not self.table.collision:
            return None
        chain, table = self.chain, self.table
        thick = float(chain.section.outline(chain.s).max())
        apart = 2 + int(NEIGHBOUR_DIAMETERS * thick / chain.s[1])  # bars from which on they touch
        names = [self._name(k) for k in range(chain.bars)]
        near = [
            (names[i], names[j])
            for i in range(chain.bars)
            for j in range(i + 1, min(i + apart, chain.bars))
        ]
        near += [
            (table.a, name)
            for name in names[: apart - 1]
            if table.a != "world" and chain.ends[0] != "free"
        ]
        near += [(table.b, name) for name in names[1 - apart :] if table.b not in (None, "world")]
        return ContactsSpec({}, (), (), tuple(near))


def _start_q(joint: JointSpec, R: Array, moved: Array) -> Array:
    """Return the coordinates of a hinge whose rotation is R (3, 3), and of a free joint moved (3,) [m]."""
    quaternion = quaternion_from_rotation(R)
    if joint.type == "revolute":
        axis = 1 if joint.axis[1] else 2
        return np.array([2 * math.atan2(quaternion[axis], quaternion[3])])
    q = np.array(find_joint(joint.type).neutral)
    q[-4:] = quaternion
    if joint.type == "free":
        q[:3] = moved
    return q
