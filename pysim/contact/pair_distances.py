"""Distances of the pairs of shapes of a scene at a state, and which of them are near each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.contact.distances import distances, normal_axes
from pysim.contact.field_samples import distance_in_field
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.contact.shape_pairs import ShapePair, ShapePairs

AT_ONCE = 1 << 17  # pairs


def near_shapes(pairs: ShapePairs, poses: Array) -> list[int]:
    """Return the indices of the pairs of shapes whose bounding balls overlap, and of the pairs with a field.

    Args:
        pairs: of shapes.
        poses: of the bodies (bodies, 4, 4).
    """
    shapes = pairs.placed
    radius = np.array([np.inf if s.shape.field is not None else s.radius for s in shapes])
    placed = [(s.body, s.hull.placed(s.pose)) for s in shapes]
    centre = np.array([(X if b < 0 else poses[b] @ X)[:3, 3] for b, X in placed]).reshape(-1, 3)
    moving, opposite = pairs.moving, pairs.opposite
    apart = np.zeros(len(pairs), bool)
    for first in range(0, len(pairs), AT_ONCE):
        part = first + np.flatnonzero(opposite[first : first + AT_ONCE] >= 0)
        way = np.linalg.norm(centre[moving[part]] - centre[opposite[part]], axis=1)
        apart[part] = way > radius[moving[part]] + radius[opposite[part]]
    for k, (ground, _) in enumerate(pairs.surfaces):
        if ground is not None and ground.field is None:
            above = np.flatnonzero(pairs.surface == k)
            height = centre[moving[above]] @ np.array(ground.normal) - ground.offset
            apart[above] = height > radius[moving[above]]
    return np.flatnonzero(~apart).tolist()


def distance_of(pair: ShapePair, poses: Array) -> float:
    """Return how far a shape is from its ground or from the opposite one [m], negative if they overlap.

    Args:
        pair: of shapes.
        poses: of the bodies (bodies, 4, 4).
    """
    pose, opposite = poses[pair.body] @ pair.pose, pair.opposite
    if opposite is not None:
        placed = opposite.pose if opposite.body < 0 else poses[opposite.body] @ opposite.pose
        if opposite.shape.field is not None:
            return distance_in_field(
                pair.moving, np.linalg.inv(placed) @ pose, opposite.shape.field
            )
        if pair.shape.field is not None:
            return distance_in_field(opposite, np.linalg.inv(pose) @ placed, pair.shape.field)
        return float(distances(opposite.shape, placed, pair.shape, pose).distance)
    assert pair.ground is not None
    normal = np.array(pair.ground.normal)
    ground = np.eye(4)
    ground[:3, [2, 0, 1]] = normal_axes(normal).T
    ground[:3, 3] = pair.ground.offset * normal
    return float(distances(None, ground, pair.shape, pose).distance)
