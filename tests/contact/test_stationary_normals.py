"""Normals of shapes that overlap: those along which the overlap is least, among all that are near.

Oracle: support functions in closed form, and a pattern search of the largest −h(n) over unit n near the one found.

    h(n) = max n · a over a ∈ A − min n · b over b ∈ B        distance = −h(n)
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import pytest

from pysim.contact import distances
from pysim.meshes import read_mesh
from pysim.shapes import Shape
from pysim.typing import Array
from tests.contact.near_poses import KINDS, near_poses, overlapping_poses, shape_of

CLOSED_FORM = {
    *combinations_with_replacement(("sphere", "capsule", "box"), 2),
    ("sphere", "cylinder"),
}
PAIRS = [kinds for kinds in combinations_with_replacement(KINDS, 2) if kinds not in CLOSED_FORM]
NEAR = 1e-3  # [rad] how far the search begins from the normal
TURNS = np.arange(12) * np.pi / 6


class Solid:
    """A shape by its support points, and by how far points are outside of it."""

    def __init__(self, shape: Shape) -> None:
        self.shape, self.size = shape, np.array(shape.size)
        if shape.mesh is not None:
            import trimesh

            self.hull = trimesh.convex.convex_hull(read_mesh(shape.mesh).vertices)

    def support(self, n: Array) -> Array:
        """Return the points (k, 3) that are farthest along directions (k, 3), all in its frame."""
        size = self.size
        if self.shape.kind == "mesh":
            return np.asarray(self.hull.vertices[np.argmax(n @ self.hull.vertices.T, axis=1)])
        sine, up = np.hypot(n[:, 0], n[:, 1]), np.where(n[:, 2] < 0, -0.5, 0.5)
        rim = size[0] * n[:, :2] / np.where(sine > 0, sine, 1)[:, None]
        match self.shape.kind:
            case "sphere":
                return np.asarray(size[0] * n)
            case "capsule":
                return np.asarray(size[0] * n + np.outer(up * size[1], [0, 0, 1]))
            case "box":
                return np.asarray(np.where(n < 0, -0.5, 0.5) * size)
            case "ellipsoid":
                stretched = size * n
                return np.asarray(size * stretched / np.linalg.norm(stretched, axis=1)[:, None])
            case "cylinder":
                return np.column_stack([rim, up * size[1]])
        tip = size[1] * n[:, 2] > size[0] * sine
        return np.column_stack([
            np.where(tip[:, None], 0, rim), np.where(tip, 0.5, -0.5) * size[1]
        ])  # fmt: skip

    def excess(self, p: Array) -> float:
        """Return how far a point (3,) in its frame is outside, about; negative if it is inside [m]."""
        size, out = self.size, float(np.hypot(p[0], p[1]))
        match self.shape.kind:
            case "mesh":
                beyond = p - self.hull.triangles[:, 0]
                return float(np.max(np.sum(self.hull.face_normals * beyond, axis=1)))
            case "sphere":
                return float(np.linalg.norm(p) - size[0])
            case "capsule":
                end = np.clip(p[2], -size[1] / 2, size[1] / 2)
                return float(np.hypot(out, p[2] - end) - size[0])
            case "box":
                return float(np.max(abs(p) - size / 2))
            case "ellipsoid":
                return float((np.linalg.norm(p / size) - 1) * size.min())
            case "cylinder":
                return float(max(out - size[0], abs(p[2]) - size[1] / 2))
        return float(max(-p[2] - size[1] / 2, out - size[0] * (0.5 - p[2] / size[1])))


class Overlap:
    """−h of two solids at poses (4, 4)."""

    def __init__(self, solids: tuple[Solid, Solid], poses: tuple[Array, Array]) -> None:
        self.solids, self.poses = solids, poses

    def __call__(self, n: Array) -> Array:
        """Return −h [m] along directions (k, 3)."""
        along = [
            np.sum(n * (solid.support(sign * n @ X[:3, :3]) @ X[:3, :3].T + X[:3, 3]), axis=1)
            for sign, solid, X in zip((1, -1), self.solids, self.poses, strict=True)
        ]
        return np.asarray(along[1] - along[0])

    def least(self, n: Array) -> float:
        """Return the largest −h that a pattern search finds from a direction [m]."""
        most, reach = float(self(n[None])[0]), NEAR
        while reach > 1e-7:
            t = np.cross(n, np.eye(3)[np.argmin(abs(n))])
            t /= np.linalg.norm(t)
            around = np.outer(np.cos(TURNS), t) + np.outer(np.sin(TURNS), np.cross(n, t))
            tried = n + reach * around
            tried /= np.linalg.norm(tried, axis=1, keepdims=True)
            found = self(tried)
            best = int(np.argmax(found))
            if found[best] > most:
                most, n = float(found[best]), tried[best]
            else:
                reach /= 2
        return most

    def outside(self, points: tuple[Array, Array]) -> float:
        """Return how far one of two points (3,) is outside of its solid [m]."""
        return max(
            solid.excess(X[:3, :3].T @ (p - X[:3, 3]))
            for solid, X, p in zip(self.solids, self.poses, points, strict=True)
        )


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_no_normal_nearby_has_less_overlap(kinds: tuple[str, str], tmp_path: Path) -> None:
    """To 5e-8 m, for shapes of 0.1 m that overlap by 1e-7 to 3e-3 m: rims lean by 1e-6 before their points move.

    Both points are on their shapes to 5e-8 m, too, but for sides of two cylinders that are parallel: they slide along.
    """
    rng = np.random.default_rng(31)
    shapes = [shape_of(kind, tmp_path)[1] for kind in kinds]
    solids = (Solid(shapes[0]), Solid(shapes[1]))
    near, deep = near_poses(rng, *kinds, 90, tmp_path), overlapping_poses(rng, shapes, 60)
    X_A, X_B = (np.concatenate(pair) for pair in zip(near, deep, strict=True))
    assert len(X_A) > 100
    found = distances(shapes[0], X_A, shapes[1], X_B)
    rises, errors, outside = [], [], []
    for k in range(len(X_A)):
        overlap, n = Overlap(solids, (X_A[k], X_B[k])), np.asarray(found.normal[k])
        errors.append(float(overlap(n[None])[0]) - found.distance[k])
        rises.append(overlap.least(n) - found.distance[k])
        outside.append(overlap.outside((found.nearest_a[k], found.nearest_b[k])))
    np.testing.assert_allclose(errors, 0, atol=1e-11)
    np.testing.assert_array_less(rises, 5e-8)
    if kinds != ("cylinder", "cylinder"):
        np.testing.assert_array_less(outside, 5e-8)
