"""Distance of a shape from a field, at the points of the shape that can touch it (cpp/collision/field.hpp)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.contact.pairs import PlacedShape
    from pysim.shapes import HeightField
    from pysim.shapes.signed_distance import Field

LEAST_SLOPE = 0.1  # of a distance, below which there is no normal (cpp/collision/field.hpp)


def distance_in_field(shape: PlacedShape, pose: Array, field: Field | HeightField) -> float:
    """Return how far a shape at a pose (4, 4) in a field's frame is from its surface [m], negative inside."""
    points, radius = _points(shape)
    placed = points @ pose[:3, :3].T + pose[:3, 3]
    if radius:
        placed = placed - radius * _gaps(field(placed))[1]
    return float(_gaps(field(placed))[0].min())


def _gaps(found: Array) -> tuple[Array, Array]:
    """Return the gaps d/|∇d| (n,) [m] and the unit normals (n, 3) of a field's values (n, 4)."""
    slope = np.linalg.norm(found[:, 1:], axis=1)
    exists = slope > LEAST_SLOPE
    scale = 1 / np.where(exists, slope, 1.0)
    normal = np.where(exists[:, None], scale[:, None] * found[:, 1:], [0.0, 0.0, 1.0])
    return np.where(exists, scale * found[:, 0], np.inf), normal


def _points(shape: PlacedShape) -> tuple[Array, float]:
    """Return points (n, 3) of a shape or of its core, and the radius around these [m]."""
    primitive = shape.shape.primitive
    if primitive is None:
        return shape.hull.vertices + shape.hull.middle, 0.0
    return primitive.samples(shape.shape.size)
