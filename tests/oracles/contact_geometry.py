"""Contact points of spheres, capsules and boxes with planes, and of pairs whose faces do not touch each other.

Each is a box, flat for the first two, with a radius about it. Of two shapes, one is a sphere, or both are capsules that
are not parallel, or a capsule touches an edge of a box: these have one point, where they are nearest.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.optimize import lsq_linear

from pysim.shapes import Shape
from pysim.typing import Array


def core(shape: Shape) -> tuple[Array, float]:
    """Return half extents (3,) of the box and the radius about it [m]."""
    if shape.kind == "sphere":
        return np.zeros(3), shape.size[0]
    if shape.kind == "capsule":
        return np.array([0.0, 0.0, shape.size[1] / 2]), shape.size[0]
    return np.array(shape.size) / 2, 0.0


def ball_radius(shape: Shape) -> float:
    """Return the radius of a ball about a shape's origin that holds the shape [m]."""
    half, radius = core(shape)
    return float(np.linalg.norm(half)) + radius


def lowest_points(shape: Shape, X: Array, n: Array) -> Iterator[Array]:
    """Yield the lowest point at each corner of a shape's box, for a plane with normal n."""
    half, radius = core(shape)
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, 8).T
    for corner in {tuple(sign * half) for sign in signs}:
        yield X[:3, :3] @ corner + X[:3, 3] - radius * n


def nearest(a: Shape, X_A: Array, b: Shape, X_B: Array) -> tuple[Array, Array, float]:
    """Return the middle of the nearest points of two shapes, the normal from a to b, and the gap [m]."""
    (half_a, radius_a), (half_b, radius_b) = core(a), core(b)
    half = np.concatenate([half_a, half_b])
    extends, t = half > 0, np.zeros(6)
    if extends.any():
        axes = np.hstack([X_A[:3, :3], -X_B[:3, :3]])[:, extends]
        limits = -half[extends], half[extends]
        apart = X_B[:3, 3] - X_A[:3, 3]
        t[extends] = lsq_linear(axes, apart, limits, method="bvls", tol=1e-15).x
    p_A, p_B = X_A[:3, :3] @ t[:3] + X_A[:3, 3], X_B[:3, :3] @ t[3:] + X_B[:3, 3]
    distance = float(np.linalg.norm(p_B - p_A))
    n, gap = (p_B - p_A) / distance, distance - radius_a - radius_b
    return p_B - (radius_b + gap / 2) * n, n, gap
