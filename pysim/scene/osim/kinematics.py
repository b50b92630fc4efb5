"""Poses of bodies at configurations within the ranges of an OpenSim model, to find which parts of paths touch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.joints.coordinate_functions import value_of
from pysim.scene.osim.axes import Axis
from pysim.scene.osim.values import rotation_about
from pysim.scene.tree import WORLD
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pysim.scene.osim.joints import Coordinate, JointItem
    from pysim.scene.spec import Mimic

WIDEST = {True: 0.5, False: 0.05}  # [rad], [m], of coordinates without a range


class Kinematics:
    """Poses of the bodies of a tree, from its joints."""

    def __init__(self, items: Sequence[JointItem]) -> None:
        self.movers = {item.child: item for item in items}

    def poses(self, q: Mapping[str, Array]) -> dict[str, Array]:
        """Return the poses (n, 4, 4) or (4, 4) in the world of every body, at coordinates (n,) by name."""
        placed: dict[str, Array] = {WORLD: np.eye(4)}
        for body in self.movers:
            self._place(body, q, placed)
        return placed

    def _place(self, body: str, q: Mapping[str, Array], placed: dict[str, Array]) -> None:
        chain = []
        while body not in placed and body in self.movers and body not in chain:
            chain.append(body)
            body = self.movers[body].parent
        for name in reversed(chain):
            item = self.movers[name]
            X = item.X_parent @ _motion(item.axes, q)
            parent = placed.get(item.parent, np.eye(4))  # of a body that no joint moves
            placed[name] = parent @ X @ np.linalg.inv(item.X_child)


def _motion(axes: Sequence[Axis], q: Mapping[str, Array]) -> Array:
    """Return the poses (n, 4, 4) of a child in its joint's frame."""
    rotation, position = np.eye(3), np.zeros(3)
    for axis in axes:
        constant = axis.constant
        value = value_of(axis.function, q[axis.coordinate]) if constant is None else constant
        if axis.turns:
            rotation = rotation @ rotation_about(axis.direction, value)
        else:
            position = position + np.asarray(value)[..., None] * axis.direction
    count = np.broadcast_shapes(rotation.shape[:-2], position.shape[:-1])
    X = np.zeros((*count, 4, 4))
    X[..., :3, :3], X[..., :3, 3], X[..., 3, 3] = rotation, position, 1
    return X


def configurations(
    coordinates: Mapping[str, Coordinate], followers: Mapping[str, Mimic], count: int
) -> dict[str, Array]:
    """Return the start and random configurations within the ranges; followers follow, locked coordinates hold.

    They are coordinates (1 + count,) by name.
    """
    rng = np.random.default_rng(3)
    rows = [{c.name: c.start for c in coordinates.values()}]
    names = {c.place: c.name for c in coordinates.values() if c.place}
    for _ in range(count):
        q = {}
        for c in coordinates.values():
            low, high = c.range or (-np.inf, np.inf)
            if not np.isfinite([low, high]).all() or high - low > 2 * np.pi:
                low, high = c.start - WIDEST[c.turns], c.start + WIDEST[c.turns]
            q[c.name] = c.start if c.is_locked else float(rng.uniform(low, high))
        for place, mimic in followers.items():
            if place in names and mimic.joint in names:
                q[names[place]] = mimic.ratio * q[names[mimic.joint]] + mimic.offset
        rows.append(q)
    return {name: np.array([q[name] for q in rows]) for name in rows[0]}
