"""Overlap of convex shapes of any kind, in many poses at once.

Two convex sets A and B are disjoint if and only if a direction x has x · s > 0 for every s of the difference A − B.
The point x of A − B nearest to 0 is such a direction. The method of [Frank and Wolfe 1956] approaches it,

    s = argmin x · s over A − B,   x ← x + γ (s − x),   γ = −x · (s − x) / |s − x|², at most 1

all poses together, and a pose is decided as soon as x · s > 0, or |x| is negligible. Poses that are still undecided are
rare; in these x becomes the nearest point of the convex hull of all s found so far, which ends after few steps
[Wolfe 1976].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim.scene.doctor import shape_radius

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.shapes import Shape

    Array = NDArray[np.float64]

SHRUNK = 1 - 2e-3  # of the size of a shape: shapes that only touch do not overlap
NEAR = 1e-4  # distance over the size of two shapes at which they touch
_TOGETHER = 40  # steps of all poses
_ALONE = 100  # steps of one pose
_SUM = 1e3  # weight of Σ λ = 1, over the size of two shapes


@dataclass(frozen=True)
class ConvexShape:
    """A convex shape, in its frame: a primitive by its kind and sizes [m], or a mesh by the vertices of its hull."""

    kind: str
    size: tuple[float, ...]
    vertices: Array  # (n, 3) [m]; empty unless it is a mesh
    center: Array  # (3,) [m]
    radius: float  # of the ball about the centre that contains it [m]

    @staticmethod
    def of(shape: Shape, vertices: Array | None = None) -> ConvexShape:
        """Return a primitive, or a mesh with the vertices (n, 3) of its convex hull."""
        points = np.zeros((0, 3)) if vertices is None else vertices
        if shape.kind == "mesh":
            center = (points.min(axis=0) + points.max(axis=0)) / 2
            radius = float(np.linalg.norm(points - center, axis=1).max())
            return ConvexShape("mesh", (), points, center, radius)
        return ConvexShape(shape.kind, shape.size, points, np.zeros(3), shape_radius(shape))

    def farthest(self, directions: Array) -> Array:
        """Return the points (…, 3) that are farthest along directions (…, 3), all in the shape's frame."""
        return self.center + SHRUNK * (self._support(directions) - self.center)

    def _support(self, d: Array) -> Array:
        size: Array = np.array(self.size)
        match self.kind:
            case "mesh":
                return np.asarray(self.vertices[np.argmax(d @ self.vertices.T, axis=-1)])
            case "box":
                return np.copysign(size / 2, d)
            case "ellipsoid":
                return np.asarray(size**2 * d / _length(size * d))
            case "sphere":
                return np.asarray(size[0] * d / _length(d))
        end = np.zeros_like(d)
        end[..., 2] = np.copysign(size[1] / 2, d[..., 2])
        if self.kind == "capsule":
            return np.asarray(end + size[0] * d / _length(d))
        rim = np.zeros_like(d)
        rim[..., :2] = size[0] * d[..., :2] / _length(d[..., :2])
        if self.kind == "cylinder":
            return end + rim
        rim[..., 2] = -size[1] / 2  # the base of a cone; its tip is at z = length/2
        tip = np.broadcast_to([0, 0, size[1] / 2], d.shape)
        is_tip = (d * (tip - rim)).sum(axis=-1, keepdims=True) > 0
        return np.where(is_tip, tip, rim)


def _length(d: Array) -> Array:
    """Return the lengths (…, 1) of vectors; the smallest number for a vector of zeros."""
    return np.asarray(np.maximum(np.linalg.norm(d, axis=-1, keepdims=True), 1e-300))


def overlaps(a: ConvexShape, poses_a: Array, b: ConvexShape, poses_b: Array) -> NDArray[np.bool_]:
    """Return whether two shapes overlap in each of n pairs of poses (n, 4, 4), deeper than 2e-3 of their sizes."""
    centers = [
        poses[:, :3, :3] @ s.center + poses[:, :3, 3] for s, poses in ((a, poses_a), (b, poses_b))
    ]
    x = centers[0] - centers[1]
    found = np.zeros(len(x), bool)
    left = np.flatnonzero(np.linalg.norm(x, axis=1) <= a.radius + b.radius)
    if not len(left):
        return found
    difference = _Difference(a, poses_a[left], b, poses_b[left])
    decided, here = difference.judge(x[left])
    for k in np.flatnonzero(~decided):
        here[k] = _Difference(a, poses_a[left[k]], b, poses_b[left[k]]).is_overlap(x[left[k]])
    found[left] = here
    return found


@dataclass(frozen=True)
class _Difference:
    """The set A − B of two shapes in n pairs of poses, in world axes."""

    a: ConvexShape
    poses_a: Array  # (…, 4, 4)
    b: ConvexShape
    poses_b: Array

    @property
    def size(self) -> float:
        return self.a.radius + self.b.radius

    def lowest(self, directions: Array) -> Array:
        """Return the points (…, 3) of the set with the least component along directions (…, 3)."""
        first = _placed(self.a, self.poses_a, -directions)
        return first - _placed(self.b, self.poses_b, directions)

    def judge(self, x: Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return for each pose whether it could be decided, and whether the shapes overlap there."""
        decided, overlap = np.zeros((2, len(x)), bool)
        x = np.where(_length(x) > NEAR * self.size, x, [self.size, 0, 0])
        x = self.lowest(x)
        for _ in range(_TOGETHER):
            s = self.lowest(x)
            apart = (x * s).sum(axis=1) > 0
            near = np.linalg.norm(x, axis=1) <= NEAR * self.size
            overlap |= near & ~decided & ~apart
            decided |= apart | near
            if decided.all():
                break
            step = s - x
            along = -(x * step).sum(axis=1) / np.maximum((step**2).sum(axis=1), 1e-300)
            x = x + np.clip(along, 0, 1)[:, None] * step
        return decided, overlap

    def is_overlap(self, x: Array) -> bool:
        """Return whether the shapes overlap in a single pose."""
        from scipy.optimize import nnls  # noqa: PLC0415, loads only where shapes are close

        least = NEAR * self.size
        x = self.lowest(x if np.linalg.norm(x) > least else np.array([self.size, 0, 0]))
        points = x[:, None]
        for _ in range(_ALONE):
            s = self.lowest(x)
            if x @ s > 0:
                return False
            if x @ (x - s) <= least**2:
                break
            points = np.column_stack([points, s])
            weight = _SUM * self.size
            rows = np.vstack([points, np.full(points.shape[1], weight)])
            share, _ = nnls(rows, np.array([0, 0, 0, weight]))
            points = points[:, share > 0]
            x = points @ share[share > 0] / share.sum()
            if np.linalg.norm(x) <= least:
                break
        return True


def _placed(shape: ConvexShape, poses: Array, directions: Array) -> Array:
    """Return the points of a placed shape that are farthest along directions in world axes."""
    R, p = poses[..., :3, :3], poses[..., :3, 3]
    own = shape.farthest(np.einsum("...ji,...j->...i", R, directions))
    return np.asarray(np.einsum("...ij,...j->...i", R, own) + p)
