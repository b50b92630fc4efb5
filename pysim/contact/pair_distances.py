"""Distances of the pairs of shapes of a scene at a state, and which of them are near each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.contact.distances import distances, normal_axes
from pysim.contact.field_samples import distance_in_field
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pysim.contact.compiler import ShapePair


def near_shapes(pairs: Sequence[ShapePair], poses: Array) -> Iterator[ShapePair]:
    """Yield the pairs of shapes whose balls overlap, and those of fields."""
    shapes = {id(s): s for pair in pairs for s in (pair.own, pair.other) if s is not None}
    place = {key: k for k, key in enumerate(shapes)}
    radius = np.array([np.inf if s.shape.field is not None else s.radius for s in shapes.values()])
    placed = [(s.body, s.hull.placed(s.pose)) for s in shapes.values()]
    centre = np.array([(X if b < 0 else poses[b] @ X)[:3, 3] for b, X in placed]).reshape(-1, 3)
    own = np.array([place[id(pair.own)] for pair in pairs], int)
    other = np.array([-1 if pair.other is None else place[id(pair.other)] for pair in pairs], int)
    apart = np.zeros(len(pairs), bool)
    two = np.flatnonzero(other >= 0)
    way = np.linalg.norm(centre[own[two]] - centre[other[two]], axis=1)
    apart[two] = way > radius[own[two]] + radius[other[two]]
    for k in np.flatnonzero(~apart).tolist():
        ground = pairs[k].ground
        if ground is not None and ground.field is None:
            height = float(np.dot(ground.normal, centre[own[k]])) - ground.offset
            if height > radius[own[k]]:
                continue
        yield pairs[k]


def distance_of(pair: ShapePair, poses: Array) -> float:
    """Return how far a shape is from its ground or from the other one [m], negative if they overlap.

    Args:
        pair: of shapes.
        poses: of the bodies (bodies, 4, 4).
    """
    pose, other = poses[pair.body] @ pair.pose, pair.other
    if other is not None:
        placed = other.pose if other.body < 0 else poses[other.body] @ other.pose
        if other.shape.field is not None:
            return distance_in_field(pair.own, np.linalg.inv(placed) @ pose, other.shape.field)
        if pair.shape.field is not None:
            return distance_in_field(other, np.linalg.inv(pose) @ placed, pair.shape.field)
        return float(distances(other.shape, placed, pair.shape, pose).distance)
    assert pair.ground is not None
    normal = np.array(pair.ground.normal)
    ground = np.eye(4)
    ground[:3, [2, 0, 1]] = normal_axes(normal).T
    ground[:3, 3] = pair.ground.offset * normal
    return float(distances(None, ground, pair.shape, pose).distance)
