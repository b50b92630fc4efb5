"""Convex hulls of meshes that collide."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import ModelError, SceneError
from pysim.meshes import file_version, mesh_theta, read_mesh
from pysim.meshes.decomposition import convex_parts
from pysim.shapes import Shape
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from pysim.scene.spec import CollisionSpec

GROUP = 24  # points that are near each other, at most
FACE_ANGLE = 5e-3  # [rad] between triangles of one face
HOLLOW = 1e-3  # of the hull's volume: what a convex mesh may lack by rounding of its file


@dataclass(frozen=True)
class Triangles:
    """Triangles of a hull: unit normals (t, 3), vertices of their corners (t, 3), and their neighbours (t, 3)."""

    normals: Array
    corners: NDArray[np.intp]
    neighbors: NDArray[np.intp]


@dataclass(frozen=True)
class Faces:
    """Faces of a hull, as the engine reads them (cpp/collision/shapes.hpp)."""

    numbers: Array  # (f, 10) outward unit normal, vertices of four corners, place and count of all, whether covered
    corners: Array  # (c,) vertices around the faces, face by face
    groups: Array  # of normals that are near each other (g, 6), see `point_groups`

    def covered_at(self, rows: NDArray[np.intp]) -> Faces:
        """Return the faces with these covered by other shapes of the body."""
        numbers = self.numbers.copy()
        numbers[rows, 9] = 1.0
        return replace(self, numbers=numbers)


@dataclass(frozen=True)
class Hull:
    """Convex hull of a mesh, in the mesh's frame; empty of other shapes."""

    middle: Array  # (3,) a point well inside [m]
    vertices: Array  # (n, 3) from the middle [m]
    groups: Array  # of vertices that are near each other (g, 6), see `point_groups`
    volume: float  # [m³], 0 if the mesh is flat
    triangles: Triangles | None = None
    solid: float | None = None  # smallest extent [m] of a solid whose surface has these vertices

    @property
    def thickness(self) -> float:
        """Smallest extent along the axes [m]."""
        if self.solid is not None:
            return self.solid
        return float(np.ptp(self.vertices, axis=0).min())

    @cached_property
    def faces(self) -> Faces:
        """Faces of the hull; triangles that lie in a plane are one face."""
        if self.triangles is None:
            return NO_FACES
        normals, corners = self.triangles.normals, self.triangles.corners
        rows = np.hstack([normals, corners[:, [0, 1, 2, 2]], np.zeros((len(normals), 3))])
        around = {}
        for group in _flat_groups(normals, self.triangles.neighbors):
            lead = group[0]
            around[lead] = corners[lead]
            if len(group) > 1:
                polygon, flat = _polygon(self.vertices, np.unique(corners[group]), normals[lead])
                around[lead] = polygon
                rows[lead, 3:7] = _widest_four(polygon, flat)
        leads = np.array(sorted(around))
        order, groups = point_groups(rows[leads, :3])
        leads = leads[order]
        counts = np.array([len(around[k]) for k in leads.tolist()])
        rows[leads, 7], rows[leads, 8] = np.cumsum(counts) - counts, counts
        return Faces(
            rows[leads], np.concatenate([around[k] for k in leads.tolist()]).astype(float), groups
        )

    def placed(self, pose: Array) -> Array:
        """Return the poses (…, 4, 4) of the middle, from those of the mesh."""
        found = np.array(pose)
        found[..., :3, 3] += pose[..., :3, :3] @ self.middle
        return found


NO_FACES = Faces(np.zeros((0, 10)), np.zeros(0), np.zeros((0, 6)))
NO_HULL = Hull(np.zeros(3), np.zeros((0, 3)), np.zeros((0, 6)), 0.0)


def collision_hull(collision: CollisionSpec) -> Hull:
    """Return the convex hull that a mesh collides as; an empty one of other shapes.

    Raises:
        ModelError: the mesh is flat, or is not convex and does not stand for its hull.
    """
    shape = collision.shape
    if shape.mesh is None:
        return NO_HULL
    hull = mesh_hull(shape.mesh, shape.scale)
    if hull.volume == 0:
        problem = f"mesh {shape.mesh.name!r} is flat, and has no inside"
        raise ModelError(collision.where, f"{problem}; give the shape a thickness")
    if not collision.convex:
        own = _volume(collision)
        if own < (1 - HOLLOW) * hull.volume:
            problem = f"mesh {shape.mesh.name!r} is not convex, it fills {100 * own / hull.volume:.3g} % of its hull"
            remedy = (
                "let it collide as convex parts with decompose = true, or as its hull with convex = true, or give "
                "simpler shapes"
            )
            raise ModelError(collision.where, f"{problem}; {remedy}")
    return hull


def convex_pieces(collision: CollisionSpec) -> tuple[CollisionSpec, ...]:
    """Return the convex parts that a mesh collides as; the shape itself if it is not decomposed.

    Raises:
        ModelError: the mesh encloses no volume, or the package for its decomposition is not installed.
    """
    settings, shape = collision.decomposition, collision.shape
    if settings is None or shape.mesh is None:
        return (collision,)
    hull = mesh_hull(shape.mesh, shape.scale)
    if hull.volume == 0 or _volume(collision) >= (1 - HOLLOW) * hull.volume:
        return (replace(collision, decomposition=None),)
    try:
        files = convex_parts(shape.mesh, shape.scale, settings.concavity, settings.parts)
    except SceneError as error:
        raise _cannot_collide(collision, error) from error
    parts = (Shape("mesh", (), file) for file in files)
    return tuple(replace(collision, shape=part, convex=True, decomposition=None) for part in parts)


def added_volume(
    collision: CollisionSpec, pieces: Sequence[CollisionSpec] | None = None
) -> float | None:
    """Return what convex parts of a mesh, or its hull, add to its volume, over this volume; None if it encloses none.

    Faults of the mesh are not warned of again.
    """
    shapes = [own.shape for own in (pieces or (collision,))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            own = _volume(collision)
        except ModelError:
            return None
    around = sum(mesh_hull(s.mesh, s.scale).volume for s in shapes if s.mesh is not None)
    return around / own - 1


def _volume(collision: CollisionSpec) -> float:
    """Return the volume that a mesh encloses [m³]."""
    assert collision.shape.mesh is not None
    try:
        return float(mesh_theta(collision.shape.mesh, collision.shape.scale, 1.0)[0])
    except SceneError as error:
        raise _cannot_collide(collision, error) from error


def _cannot_collide(collision: CollisionSpec, error: SceneError) -> ModelError:
    assert collision.shape.mesh is not None
    problem = f"mesh {collision.shape.mesh.name!r} cannot collide: {error.problem}"
    remedy = (
        "" if "convex = true" in problem else "; or let it collide as its hull with convex = true"
    )
    return ModelError(collision.where, problem + remedy)


def is_left_out(collision: CollisionSpec) -> bool:
    """Return whether a shape of another program's file is a flat mesh, such as a sticker, which cannot touch."""
    shape = collision.shape
    is_solid = not collision.convex and collision.decomposition is None
    if shape.mesh is None or is_solid or not collision.is_imported:
        return False
    return mesh_hull(shape.mesh, shape.scale).volume == 0


def mesh_hull(path: Path, scale: tuple[float, float, float]) -> Hull:
    """Return the convex hull of a mesh file, its volume 0 if the mesh is flat.

    Raises:
        SceneError: the file cannot be read.
    """
    return _hull(path, file_version(path), scale)


@lru_cache(maxsize=256)
def _hull(path: Path, _: tuple[int, int], scale: tuple[float, float, float]) -> Hull:
    """Return the hull of one version of a file."""
    return hull_of(read_mesh(path).vertices * np.array(scale))


def hull_of(points: Array) -> Hull:
    """Return the convex hull of points (n, 3) [m], its volume 0 if they lie in a plane."""
    from scipy.spatial import ConvexHull, QhullError  # noqa: PLC0415, only where a mesh collides

    try:
        hull = ConvexHull(points)
    except QhullError:
        return replace(NO_HULL, vertices=points)
    order, groups = point_groups(points[hull.vertices])
    used = hull.vertices[order]
    index = np.full(len(points), -1)
    index[used] = np.arange(len(used))
    middle = points[used].mean(axis=0)
    vertices = points[used] - middle
    groups[:, :3] -= middle
    triangles = Triangles(hull.equations[:, :3], index[hull.simplices], hull.neighbors)
    return Hull(middle, vertices, groups, float(hull.volume), triangles)


def point_groups(points: Array) -> tuple[NDArray[np.intp], Array]:
    """Return an order of points (n, 3) in which near ones follow each other, and groups of them (g, 6).

    Groups are centre and radius of a ball, first point and count (cpp/collision/shapes.hpp).
    """
    parts, groups = [np.arange(len(points))], []
    while parts:
        part = parts.pop()
        if len(part) <= GROUP:
            groups.append(part)
            continue
        own = points[part]
        along = own[:, int(np.argmax(np.ptp(own, axis=0)))]
        ordered = part[np.argsort(along, kind="stable")]
        parts += [ordered[len(part) // 2 :], ordered[: len(part) // 2]]
    rows, first = [], 0
    for part in groups:
        centre = (points[part].max(axis=0) + points[part].min(axis=0)) / 2
        radius = (1 + 1e-9) * np.linalg.norm(points[part] - centre, axis=1).max() + 1e-12
        rows.append([*centre, radius, first, len(part)])
        first += len(part)
    return np.concatenate(groups), np.array(rows)


def _flat_groups(normals: Array, neighbors: NDArray[np.intp]) -> Iterator[list[int]]:
    """Yield the triangles of every face: neighbours that turn from the first one by less than `FLAT`."""
    alone = ~(np.einsum("ij,ikj->ik", normals, normals[neighbors]) > np.cos(FACE_ANGLE)).any(axis=1)
    yield from ([k] for k in np.flatnonzero(alone).tolist())
    left = set(np.flatnonzero(~alone).tolist())
    for first in range(len(normals)):
        if first not in left:
            continue
        group, open_ends = [], [first]
        left.discard(first)
        while open_ends:
            triangle = open_ends.pop()
            group.append(triangle)
            for k in neighbors[triangle]:
                if k in left and normals[k] @ normals[first] > np.cos(FACE_ANGLE):
                    left.discard(k)
                    open_ends.append(int(k))
        yield group


def _polygon(
    vertices: Array, around: NDArray[np.intp], normal: Array
) -> tuple[NDArray[np.intp], Array]:
    """Return the corners of a face in their order around it, and their places in its plane (n, 2) [m].

    Vertices of triangles that are nearly in one plane may lie within the face: they are no corners.
    """
    across = np.linalg.svd(normal[None])[2][1:]
    flat = (vertices[around] - vertices[around].mean(axis=0)) @ across.T
    if len(around) > 4:
        from scipy.spatial import ConvexHull  # noqa: PLC0415, only where a mesh collides

        keep = ConvexHull(flat).vertices
    else:
        keep = np.argsort(np.arctan2(flat[:, 1], flat[:, 0]))
    return around[keep], flat[keep]


def _widest_four(polygon: NDArray[np.intp], flat: Array) -> NDArray[np.intp]:
    """Return four corners of a face in their order around it, the farthest where it has more."""
    if len(polygon) > 4:
        farthest = [
            int(np.argmax(flat @ (np.cos(a), np.sin(a)))) for a in 0.3 + np.pi / 2 * np.arange(4)
        ]
        polygon = polygon[np.unique(farthest)]
    return np.concatenate([polygon, np.repeat(polygon[-1:], 4 - len(polygon))])
