"""Surfaces of a scene that are fixed to the world, whose heights sensors read: grounds, and shapes of fixed bodies."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from pysim.elements.ground import (
    NO_GROUND_HEIGHT,
    ConvexSolid,
    Ground,
    HeightGrid,
    Plane,
    Quadric,
)
from pysim.errors import SceneError
from pysim.meshes import read_mesh
from pysim.meshes.decomposition import convex_parts
from pysim.shapes import HeightField, Shape
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pysim.elements.ground import GroundSurface
    from pysim.mechanism.model import Model
    from pysim.scene.spec import GroundSpec
    from pysim.shapes.signed_distance import Field

SCANNED = 256  # cells of a field along the longer side of its bounds
TRACED = 1000  # steps at most
# of the longest side of the bounds, from where Newton's method ends the tracing
NEWTON_DISTANCE = 1e-3
STEEP = 0.05  # least rise of a distance by the height for it
VERTICAL_TOLERANCE = 1e-9  # of the normal of a plane, and of the axis of a grid of heights


def ground_of(model: Model) -> Ground:
    """Return the ground of a scene: planes that face upwards, fields, and what collides of bodies that are fixed.

    Raises:
        SceneError: heights of one of them cannot be computed.
    """
    surfaces: list[GroundSurface] = []
    for ground in model.spec.grounds:
        surfaces += _of_ground(ground)
    for link in model.spec.bodies:
        body, pose = model.frames[link.name]
        if body >= 0:
            continue
        for collision in link.collisions:
            placed, parts = pose @ collision.pose, collision.decomposition
            if parts is None or collision.shape.mesh is None:
                surfaces += _of_shape(collision.shape, placed, collision.where)
                continue
            mesh, scale = collision.shape.mesh, collision.shape.scale
            for file in convex_parts(mesh, scale, parts.concavity, parts.parts):
                surfaces.append(ConvexSolid(_placed(_hull_planes(Shape("mesh", (), file)), placed)))
    return Ground(surfaces)


def _of_ground(ground: GroundSpec) -> Iterator[GroundSurface]:
    if ground.field is not None:
        yield from _of_shape(ground.field.shape, ground.field.pose, ground.where)
    elif ground.normal[2] > VERTICAL_TOLERANCE:
        yield Plane(ground.normal, ground.offset)


def _of_shape(shape: Shape, pose: Array, where: str) -> Iterator[GroundSurface]:
    R, p = pose[:3, :3], pose[:3, 3]
    axis = R[:, 2]
    if isinstance(shape.field, HeightField):
        if axis[2] < 1 - VERTICAL_TOLERANCE:
            problem = "the heights of a height field that is tilted cannot be scanned"
            raise SceneError(where, f"{problem}; turn it about z alone")
        yield HeightGrid(shape.field.heights, shape.field.spacing, pose)
    elif shape.field is not None:
        yield scanned(shape.field, pose)
    elif shape.kind == "mesh":
        yield ConvexSolid(_placed(_hull_planes(shape), pose))
    elif shape.kind == "box":
        faces = np.vstack([np.eye(3), -np.eye(3)])
        offsets = np.array([*shape.size, *shape.size]) / 2
        yield ConvexSolid(_placed(np.column_stack([faces, offsets]), pose))
    elif shape.kind == "ellipsoid":
        yield Quadric(R.T / np.array(shape.size)[:, None], p, axis)
    elif shape.kind == "sphere":
        yield Quadric(R.T / shape.size[0], p, axis)
    elif shape.kind in {"capsule", "cylinder"}:
        radius, half = shape.size[0], shape.size[1] / 2
        yield Quadric(R.T[:2] / radius, p, axis, half)
        if shape.kind == "capsule":
            yield from (Quadric(R.T / radius, p + end * axis, axis) for end in (-half, half))
    else:
        problem = f"the heights of a {shape.kind} that is fixed to the world cannot be scanned"
        raise SceneError(where, f"{problem}; take a convex mesh")


def scanned(field: Field, pose: Array) -> HeightGrid:
    """Return the upper surface of a field in the world, at nodes over its bounds, seen from the top of these.

    Sphere tracing [Hart 1996] moves each node down by its distance until it is near the surface; Newton's method along
    the vertical ends it there. A solid that reaches out of its bounds ends at their top.
    """
    R, p = pose[:3, :3], pose[:3, 3]
    corners = np.array(list(product(*zip(field.low, field.high, strict=True)))) @ R.T + p
    low, high = corners.min(axis=0), corners.max(axis=0)
    spacing = float((high - low)[:2].max()) / SCANNED
    count = np.maximum(np.ceil((high - low)[:2] / spacing).astype(int), 1) + 1
    x, y = (np.linspace(low[i], high[i], count[i]) for i in range(2))
    points = np.stack(
        [*(part.ravel() for part in np.meshgrid(x, y)), np.full(count.prod(), high[2])]
    )
    near = NEWTON_DISTANCE * float((high - low).max())
    active = np.arange(points.shape[1])
    for _ in range(TRACED):
        found = field((points[:, active].T - p) @ R)
        d, rise = found[:, 0], found[:, 1:] @ R[2]
        is_near = (abs(d) < near) & (rise > STEEP)
        step = np.where(is_near, d / np.where(is_near, rise, 1), np.maximum(d, 0))
        points[2, active] = np.minimum(points[2, active] - step, high[2])
        moves = (step > near * 1e-6) & (points[2, active] >= low[2])
        active = active[moves]
        if not len(active):
            break
    heights = np.where(points[2] < low[2], NO_GROUND_HEIGHT, points[2] - high[2]).reshape(
        count[1], count[0]
    )
    placed = np.eye(4)
    placed[:3, 3] = *((low + high)[:2] / 2), high[2]
    gaps = (high - low)[:2] / (count - 1)
    return HeightGrid(heights, (float(gaps[0]), float(gaps[1])), placed)


def _hull_planes(shape: Shape) -> Array:
    """Return the planes (k, 4) of a mesh's convex hull, each once."""
    from scipy.spatial import ConvexHull  # noqa: PLC0415, only where a mesh is scanned

    assert shape.mesh is not None
    hull = ConvexHull(read_mesh(shape.mesh).vertices * np.array(shape.scale))
    size = np.array([1, 1, 1, np.ptp(hull.points, axis=0).max()])
    _, first = np.unique((hull.equations / size).round(9), axis=0, return_index=True)
    normals, offsets = hull.equations[first, :3], -hull.equations[first, 3]
    return np.column_stack([normals, offsets])


def _placed(planes: Array, pose: Array) -> Array:
    """Return planes (k, 4) of a frame as those of the world."""
    normals = planes[:, :3] @ pose[:3, :3].T
    return np.column_stack([normals, planes[:, 3] + normals @ pose[:3, 3]])
