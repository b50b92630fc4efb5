"""Signed distances of convex shapes, many pairs at a time: in closed form, or by their support points.

A positive distance separates two shapes; a negative one is the depth of their overlap, the length of the shortest
translation that separates them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.contact.hulls import NO_HULL, Hull, mesh_hull
from pysim.contact.shape_dimensions import engine_dimensions
from pysim.errors import PysimError
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pysim.shapes import Shape

HALF_SPACE = "half_space"


@dataclass(frozen=True)
class Distances:
    """Distances of pairs of shapes; leading axes are those of the poses."""

    distance: Array  # (…) [m], negative where shapes overlap
    normal: Array  # (…, 3) unit, from the first shape to the second
    nearest_a: Array  # (…, 3) [m] in the world; where shapes overlap, the deepest points
    nearest_b: Array


def distances(
    shape_a: Shape | None, pose_a: ArrayLike, shape_b: Shape | None, pose_b: ArrayLike
) -> Distances:
    """Return the signed distances of two shapes in any number of poses.

    Args:
        shape_a: a primitive, or a mesh, which stands for its convex hull; None is the half space z < 0 of its frame.
        pose_a: its frame in the world (…, 4, 4) [m].
        shape_b: the other shape, likewise.
        pose_b: its frame in the world (…, 4, 4) [m]; both poses are broadcast.

    Raises:
        PysimError: both are half spaces, or a mesh is flat.
        ValueError: a pose has a wrong shape.
    """
    kinds = [HALF_SPACE if shape is None else shape.kind for shape in (shape_a, shape_b)]
    known = {tuple(pair) for pair in _engine.distance_pairs()}
    swapped = (kinds[0], kinds[1]) not in known
    if swapped and (kinds[1], kinds[0]) not in known:
        raise PysimError("distances", f"{kinds[0]} and {kinds[1]} have no distance; give shapes")
    poses = [np.asarray(pose, float) for pose in (pose_a, pose_b)]
    for name, pose in zip(("pose_a", "pose_b"), poses, strict=True):
        if pose.shape[-2:] != (4, 4):
            raise ValueError(f"{name} must have shape (…, 4, 4), got {pose.shape}")
    leading = np.broadcast_shapes(*(pose.shape[:-2] for pose in poses))
    hulls = [_hull(shape) for shape in (shape_a, shape_b)]
    poses = [hull.placed(pose) for hull, pose in zip(hulls, poses, strict=True)]
    rows = [_engine_rows(s, x, leading) for s, x in zip((shape_a, shape_b), poses, strict=True)]
    first, second = (1, 0) if swapped else (0, 1)
    meshes = [
        (h.vertices, h.faces.numbers, h.faces.corners, h.groups, h.faces.groups) for h in hulls
    ]
    found = _engine.distances(
        kinds[first], kinds[second], rows[first], rows[second], meshes[first], meshes[second]
    )
    d, n, p_first, p_second = found[:, 0], found[:, 1:4], found[:, 4:7], found[:, 7:]
    points = (p_second, p_first) if swapped else (p_first, p_second)
    nearest_a, nearest_b = (p.reshape(*leading, 3) for p in points)
    normal = (-n if swapped else n).reshape(*leading, 3)
    return Distances(d.reshape(leading), normal, nearest_a, nearest_b)


def _hull(shape: Shape | None) -> Hull:
    """Return the hull of a mesh, an empty one of other shapes."""
    if shape is None or shape.mesh is None:
        return NO_HULL
    hull = mesh_hull(shape.mesh, shape.scale)
    if hull.volume == 0:
        raise PysimError("distances", f"mesh {shape.mesh.name!r} is flat, and has no inside")
    return hull


def _engine_rows(shape: Shape | None, pose: Array, leading: tuple[int, ...]) -> Array:
    """Return the engine's rows (n, 15): sizes, rotation column-major, position."""
    size = (0.0, 0.0, 0.0) if shape is None else engine_dimensions(shape)
    X = np.broadcast_to(pose, (*leading, 4, 4)).reshape(-1, 4, 4)
    rotation = X[:, :3, :3].transpose(0, 2, 1).reshape(-1, 9)
    return np.hstack([np.tile(size, (len(X), 1)), rotation, X[:, :3, 3]])


def normal_axes(normal: Array) -> Array:
    """Return a unit normal and two tangents, as the rows of a rotation (3, 3)."""
    across = np.cross(normal, [1.0, 0, 0] if abs(normal[0]) < 0.8 else [0, 1.0, 0])
    across /= np.linalg.norm(across)
    return np.array([normal, across, np.cross(normal, across)])
