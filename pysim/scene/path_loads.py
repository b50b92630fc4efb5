"""Loads of drives along paths on the limits of joints that the paths pass, from a scene's specification.

    τ = −T ∂L/∂q        T largest tension [N], L length of the path from point to point [m]

L is that of the joint at its limit and of all others at q = 0. Where a path wraps over an obstacle, T times its
largest radius is added, for the path may run around it on either side. Points that coordinates move are where they
are at 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.scene.tree import WORLD, order_from_world
from pysim.spatial import exp
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pysim.scene.spec import JointSpec, PathPart

TURNING, SLIDING = "revolute", "prismatic"


class PassedJoints:
    """Joints with one coordinate, whose limits drives along paths push against."""

    def __init__(self, joints: Iterable[JointSpec]) -> None:
        self._joints = {joint.child: joint for joint in joints}
        self._poses = {WORLD: np.eye(4)}
        self._above: dict[str, tuple[str, ...]] = {WORLD: ()}
        for name in order_from_world(self._joints.values()):
            joint = self._joints[name]
            self._poses[name] = self._poses[joint.parent] @ joint.at
            self._above[name] = (*self._above[joint.parent], name)

    def passed(self, points: Sequence[PathPart]) -> list[JointSpec]:
        """Return the joints between the bodies of a path."""
        chains: list[set[str]] = [set(self._above.get(part.body, ())) for part in points]
        if not chains:
            return []
        moved = chains[0].union(*chains) - chains[0].intersection(*chains)
        return [self._joints[name] for name in sorted(moved)]

    def load(self, joint: JointSpec, points: Sequence[PathPart], tension: float) -> float:
        """Return the largest force [N or N·m] with which a path pushes a joint beyond one of its limits."""
        if joint.type not in (TURNING, SLIDING):
            return 0.0
        moves = np.array([joint.child in self._above.get(part.body, ()) for part in points])
        pose = self._poses[joint.child]
        axis, origin = pose[:3, :3] @ joint.axis, pose[:3, 3]
        at_zero = [_at_zero(self._poses[part.body], part) for part in points]
        strands = np.array([part.multiplicity for part in points[1:]])
        around = sum(max(part.radii) for part in points) if joint.type == TURNING else 0.0
        largest = 0.0
        for limit, outward in ((joint.upper[0], 1.0), (joint.lower[0], -1.0)):
            if not np.isfinite(limit):
                continue
            places, rates = np.array(at_zero), np.zeros((len(points), 3))
            if joint.type == TURNING:
                R = exp(limit * axis)
                places[moves] = origin + (places[moves] - origin) @ R.T
                rates[moves] = np.cross(axis, places[moves] - origin)
            else:
                places[moves] += limit * axis
                rates[moves] = axis
            slope = _slope(places, rates, strands)
            largest = max(largest, tension * (around - outward * slope))
        return largest


def _at_zero(pose: Array, part: PathPart) -> Array:
    """Return the point of a part of a path (3,) at zero coordinates, on a body at a pose."""
    point = part.place({move.coordinate: 0.0 for move in part.moves})
    return np.asarray(pose[:3, :3] @ point + pose[:3, 3])


def _slope(places: Array, rates: Array, strands: Array) -> float:
    """Return ∂L/∂q of the line from point to point, with the derivatives of the points by q."""
    along, change = np.diff(places, axis=0), np.diff(rates, axis=0)
    lengths = np.linalg.norm(along, axis=1)
    dots = np.einsum("ij,ij->i", along, change)
    return float(
        (strands * np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0)).sum()
    )
