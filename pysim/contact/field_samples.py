"""Distance of a shape from a field, at the points of the shape that can touch it (cpp/collision/field.hpp)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.contact.pairs import PlacedShape
    from pysim.shapes import HeightField
    from pysim.shapes.signed_distance import Field

AROUND = 24  # points of a rim
ALONG = 9  # points of the axis of a capsule
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
    kind, size = shape.shape.kind, shape.shape.size
    if kind == "sphere":
        return np.zeros((1, 3)), size[0]
    if kind == "capsule":
        along = np.zeros((ALONG, 3))
        along[:, 2] = np.linspace(-size[1] / 2, size[1] / 2, ALONG)
        return along, size[0]
    if kind == "box":
        return np.array(np.meshgrid(*([-s / 2, s / 2] for s in size))).reshape(3, -1).T, 0.0
    if kind == "mesh":
        return shape.hull.vertices + shape.hull.middle, 0.0
    angle = np.linspace(0, 2 * np.pi, AROUND, endpoint=False)
    if kind in {"cone", "cylinder"}:
        rim = size[0] * np.column_stack([np.cos(angle), np.sin(angle)])
        ends = [np.column_stack([rim, np.full(AROUND, z)]) for z in (-size[1] / 2, size[1] / 2)]
        return np.vstack(ends if kind == "cylinder" else [ends[0], [[0, 0, size[1] / 2]]]), 0.0
    height = np.linspace(-1, 1, AROUND)
    z, a = (part.ravel() for part in np.meshgrid(height, angle))
    flat = np.sqrt(1 - z * z)
    return np.column_stack([flat * np.cos(a), flat * np.sin(a), z]) * size, 0.0
