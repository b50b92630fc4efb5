"""Samples of a field's surface, at which it touches another field."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.contact.hulls import Hull, point_groups
from pysim.meshes import read_mesh
from pysim.shapes.signed_distance import Field
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.shapes import Shape

SAMPLES = 400  # of a surface without points of its own


def samples_of(shape: Shape) -> Hull:
    """Return the points of a field's surface as the engine takes the vertices of a mesh.

    They are the field's own, else some that are spread over the mesh of its surface.
    """
    field = shape.field
    assert isinstance(field, Field)
    points = field.points
    if points is None:
        assert shape.mesh is not None
        points = field.onto_surface(spread_points(read_mesh(shape.mesh).vertices, SAMPLES))
    order, groups = point_groups(points)
    middle = (points.max(axis=0) + points.min(axis=0)) / 2
    groups[:, :3] -= middle
    return Hull(middle, points[order] - middle, groups, 1.0, solid=field.thickness)


def spread_points(points: Array, count: int) -> Array:
    """Return `count` of points (n, 3) that are far from each other, all if there are fewer [Gonzalez 1985]."""
    if len(points) <= count:
        return points
    chosen = np.empty(count, int)
    square = np.full(len(points), np.inf)
    k = int(np.argmax(((points - points.mean(axis=0)) ** 2).sum(axis=1)))
    for n in range(count):
        chosen[n] = k
        square = np.minimum(square, ((points - points[k]) ** 2).sum(axis=1))
        k = int(np.argmax(square))
    return points[chosen]
