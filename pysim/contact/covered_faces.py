"""Faces of shapes that other shapes of the same body cover: flush boxes of a floor, planks, convex parts of a mesh.

A covered face touches nothing (cpp/collision/covered.hpp). A face counts as covered where no part of it that is wider
than the default sink of its shape is outside of the other shapes; points of a grid on the face are tested.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pysim.contact.distances import distances
from pysim.contact.laws import DEFAULT_SHARE, DEFAULT_SINK
from pysim.shapes import Shape
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pysim.contact.pairs import PlacedShape

POINT = Shape("sphere", (1e-9,))  # [m]
PARTS_OF_EDGE = 8  # of each edge and of the way from the middle of a face to it
RIM = 32  # corners of the polygon that stands for a cap
TRIED_FIRST = 16  # of so many triangles of a hull one is tried first


class Face(NamedTuple):
    """A flat face of a shape: its number, and its corners (n, 3) in the frame of the shape or of its hull [m]."""

    number: int
    corners: Array


def covered_faces(
    placed: Sequence[PlacedShape], partners: Mapping[int, frozenset[int]]
) -> list[NDArray[np.intp]]:
    """Return the numbers of the covered faces of every shape, in the order of cpp/collision/shapes.

    Args:
        placed: shapes that may touch something.
        partners: bodies that a shape of a body with several shapes may touch, by the shape's number. A shape covers
            another one of its body if it may touch at least the same bodies.
    """
    covered = [np.zeros(0, int)] * len(placed)
    of_body: dict[int, list[int]] = defaultdict(list)
    for k in partners:
        if placed[k].shape.field is None:
            of_body[placed[k].body].append(k)
    for members in of_body.values():
        middles = np.array([placed[k].hull.placed(placed[k].pose)[:3, 3] for k in members])
        radii = np.array([placed[k].radius for k in members])
        for row, k in enumerate(members):
            apart = np.linalg.norm(middles - middles[row], axis=1)
            near = [
                placed[members[j]]
                for j in np.flatnonzero(apart <= radii + radii[row] + DEFAULT_SINK).tolist()
                if j != row and partners[k] <= partners[members[j]]
            ]
            if near:
                covered[k] = np.array(_covered(list(_faces(placed[k])), placed[k], near), int)
    return covered


def _faces(placed: PlacedShape) -> Iterator[Face]:
    """Yield the flat faces of a shape, in the order of `visit_faces` of its kind."""
    shape = placed.shape
    if shape.kind == "box":
        half = np.array(shape.size) / 2
        for number in range(6):
            axis, sign = number // 2, 1 - 2 * (number % 2)
            across = np.array([[sign, -1, -1], [sign, 1, -1], [sign, 1, 1], [sign, -1, 1]])
            yield Face(number, half * np.roll(across, axis, axis=1))
    elif shape.kind in ("cylinder", "cone"):
        radius, length = shape.size
        angle = 2 * np.pi * np.arange(RIM) / RIM
        ends = (length / 2, -length / 2) if shape.kind == "cylinder" else (-length / 2,)
        for number, z in enumerate(ends):
            yield Face(
                number,
                np.stack([radius * np.cos(angle), radius * np.sin(angle), np.full(RIM, z)], axis=1),
            )
    elif shape.kind == "mesh":
        faces = placed.hull.faces
        for number, (first, count) in enumerate(faces.numbers[:, 7:9].astype(int).tolist()):
            yield Face(
                number, placed.hull.vertices[faces.corners[first : first + count].astype(int)]
            )


def _covered(faces: Sequence[Face], own: PlacedShape, near: Sequence[PlacedShape]) -> list[int]:
    """Return the numbers of faces whose points are all in other shapes, or no farther from one than a sink.

    What is somewhat beyond a face has to be in them, too: two shapes that overlap and share a flat bottom cover nothing
    of it. The middles of all faces come first, together: few faces are covered there, and need the points of a grid.
    """
    slack = min(DEFAULT_SINK, DEFAULT_SHARE * own.thickness)
    X = own.hull.placed(own.pose)
    corners = [face.corners @ X[:3, :3].T + X[:3, 3] for face in faces]
    middles, outward = np.empty((2, len(faces), 3))
    counts = np.array([len(face.corners) for face in faces])
    for count in np.unique(counts).tolist():
        same = np.flatnonzero(counts == count)
        middles[same] = np.mean([corners[k] for k in same.tolist()], axis=1)
        outward[same] = _outward(np.array([faces[k].corners for k in same.tolist()]))
    beyond = 2 * slack * outward @ X[:3, :3].T
    candidates = np.arange(len(faces))
    for points in (middles, middles + beyond):
        candidates = np.delete(candidates, _outside(points[candidates], near, slack))
    return [
        faces[k].number
        for k in candidates.tolist()
        if all(
            _is_inside(_grid(corners[k], slack) + offset, near, slack) for offset in (0, beyond[k])
        )
    ]


def _is_inside(points: Array, near: Sequence[PlacedShape], slack: float) -> bool:
    """Return whether no point of a grid (n, 3) is farther from every shape than a slack [m].

    What is no farther from one shape than a slack is convex, so that points within the outermost ring are in it if the
    ring is.
    """
    ring = points[-(len(points) // PARTS_OF_EDGE) :]
    left = np.ones(len(ring), bool)
    for other in near:
        is_outside = _are_outside(ring, other, slack)
        if not is_outside.any():
            return True
        left &= is_outside
    return not left.any() and len(_outside(points, near, slack)) == 0


def _outward(corners: Array) -> Array:
    """Return the unit normals (n, 3) of faces of a convex shape about the origin, from their corners (n, count, 3)."""
    middle = corners.mean(axis=1, keepdims=True)
    area = np.cross(corners - middle, np.roll(corners, -1, axis=1) - middle).sum(axis=1)
    normal: Array = area / np.linalg.norm(area, axis=1, keepdims=True)
    return np.where(np.einsum("ij,ij->i", normal, middle[:, 0])[:, None] > 0, normal, -normal)


def _outside(points: Array, near: Sequence[PlacedShape], slack: float) -> NDArray[np.intp]:
    """Return the numbers of points (n, 3) that are farther from every shape than a slack [m]."""
    left = np.arange(len(points))
    for other in near:
        if len(left) == 0:
            break
        left = left[_are_outside(points[left], other, slack)]
    return left


def _are_outside(points: Array, placed: PlacedShape, slack: float) -> NDArray[np.bool_]:
    """Return which points (n, 3) are farther from a shape than a slack [m].

    A point is at least as far from a hull as from the plane of each face, and within it if it is behind all of them:
    few points need the distance.
    """
    if placed.shape.kind != "mesh":
        return _distances(points, placed) > slack
    X, triangles = placed.hull.placed(placed.pose), placed.hull.triangles
    assert triangles is not None  # of a shape that collides
    local = (points - X[:3, 3]) @ X[:3, :3]
    beyond = np.full(len(points), -np.inf)
    # what is outside of some needs no others
    for part in (slice(0, None, TRIED_FIRST), slice(None)):
        normals, first = triangles.normals[part], triangles.corners[part, 0]
        left = np.flatnonzero(beyond <= slack)
        height = np.einsum("ij,ij->i", normals, placed.hull.vertices[first])
        beyond[left] = (local[left] @ normals.T - height).max(axis=1, initial=-np.inf)
    is_outside = beyond > slack
    near = np.flatnonzero((beyond > 0) & ~is_outside)
    if len(near):
        is_outside[near] = _distances(points[near], placed) > slack
    return is_outside


def _distances(points: Array, other: PlacedShape) -> Array:
    """Return the distances of points (n, 3) from a shape [m], negative inside."""
    poses = np.tile(np.eye(4), (len(points), 1, 1))
    poses[:, :3, 3] = points
    return np.asarray(distances(other.shape, other.pose, POINT, poses).distance)


def _grid(corners: Array, slack: float) -> Array:
    """Return points (n, 3) of a face, the outermost `slack` within its edges [m]."""
    middle = corners.mean(axis=0)
    along = np.arange(PARTS_OF_EDGE)[:, None, None] / PARTS_OF_EDGE
    rim = ((1 - along) * corners + along * np.roll(corners, -1, axis=0)).reshape(-1, 3) - middle
    within = rim * np.maximum(1 - 2 * slack / np.linalg.norm(rim, axis=1, keepdims=True), 0)
    shares = np.arange(1, PARTS_OF_EDGE + 1)[:, None, None] / PARTS_OF_EDGE
    points: Array = (middle + shares * within).reshape(-1, 3)
    return points
