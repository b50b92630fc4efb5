"""Convex hulls of meshes that collide."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import ModelError, SceneError
from pysim.meshes import mesh_theta, read_mesh

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from pysim.scene.spec import CollisionSpec

    Array = NDArray[np.float64]

HOLLOW = 1e-3  # of the hull's volume: what a convex mesh may lack by rounding of its file


def hull_vertices(collision: CollisionSpec) -> Array:
    """Return the vertices (n, 3) [m] of the convex hull that a mesh collides as, in the mesh's frame.

    Raises:
        ModelError: the mesh is flat, or is not convex and does not stand for its hull.
    """
    shape = collision.shape
    assert shape.mesh is not None
    vertices, volume = _hull(shape.mesh, shape.scale)
    if volume == 0:
        problem = f"mesh {shape.mesh.name!r} is flat, and has no inside"
        raise ModelError(collision.where, f"{problem}; give the shape a thickness")
    if not collision.convex:
        try:
            own = float(mesh_theta(shape.mesh, shape.scale, 1.0)[0])
        except SceneError as error:
            problem = f"mesh {shape.mesh.name!r} cannot collide: {error.problem}"
            raise ModelError(
                collision.where, f"{problem}; or let it collide as its hull with convex = true"
            ) from error
        if own < (1 - HOLLOW) * volume:
            problem = f"mesh {shape.mesh.name!r} is not convex, it fills {100 * own / volume:.3g} % of its hull"
            remedy = "let it collide as its hull with convex = true, or give simpler shapes"
            raise ModelError(collision.where, f"{problem}; {remedy}")
    return vertices


def is_left_out(collision: CollisionSpec) -> bool:
    """Return whether a shape of another program's file is a flat mesh, such as a sticker, which cannot touch."""
    shape = collision.shape
    if shape.mesh is None or not collision.convex or ".toml:" in collision.where:
        return False
    return _hull(shape.mesh, shape.scale)[1] == 0


@lru_cache(maxsize=256)
def _hull(path: Path, scale: tuple[float, float, float]) -> tuple[Array, float]:
    """Return vertices and volume of a hull; the volume is 0 if the mesh is flat."""
    from scipy.spatial import ConvexHull, QhullError  # noqa: PLC0415, only where a mesh collides

    points = read_mesh(path).vertices * np.array(scale)
    try:
        hull = ConvexHull(points)
    except QhullError:
        return points, 0.0
    return points[hull.vertices], float(hull.volume)
