"""Shortest paths over a sphere or a cylinder, or through its inside, in plain NumPy [Garner and Pandy 2000].

Both directions round the obstacle are computed; the shorter one is taken, or the one that does not cross the ray
opposite to a named side. A path through the inside is the shortest one of those that bend at a point of the surface.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from pysim.typing import Array


def around_circle(
    a: Array, b: Array, r: float, side: Array | None
) -> tuple[float, float, float] | None:
    """Return the straight parts and the arc of the path from a to b (2,) around a circle; None where it is straight."""
    found = []
    at_a, at_b = np.arctan2(a[1], a[0]), np.arctan2(b[1], b[0])
    tangents = np.arccos(r / np.linalg.norm(a)) + np.arccos(r / np.linalg.norm(b))
    straight = float(np.sqrt(a @ a - r * r)), float(np.sqrt(b @ b - r * r))
    for sense in (1.0, -1.0):
        between = sense * (at_b - at_a) % (2 * np.pi)
        if side is not None and np.linalg.norm(side) > 0:
            opposite = np.arctan2(-side[1], -side[0])
            if sense * (opposite - at_a) % (2 * np.pi) < between:
                continue
        arc = max(
            float(r * (between - tangents)), 0.0
        )  # 0 where the straight line misses the circle
        found.append((sum(straight) + arc if arc else -1.0, (*straight, arc)))
    best = min(found)[1]
    return best if best[2] > 0 else None


def over_cylinder(a: Array, b: Array, r: float, side: Array | None = None) -> float:
    """Return the length of the path from a to b (3,) over a cylinder about z."""
    parts = around_circle(a[:2], b[:2], r, None if side is None else side[:2])
    return float(np.linalg.norm(b - a) if parts is None else np.hypot(sum(parts), b[2] - a[2]))


def over_sphere(a: Array, b: Array, r: float, side: Array | None = None) -> float:
    """Return the length of the path from a to b (3,) over a sphere about the origin."""
    x = a / np.linalg.norm(a)
    y = b - (b @ x) * x
    y /= np.linalg.norm(y)
    flat = [np.array([p @ x, p @ y]) for p in (a, b)]
    parts = around_circle(
        flat[0], flat[1], r, None if side is None else np.array([side @ x, side @ y])
    )
    return float(np.linalg.norm(b - a) if parts is None else sum(parts))


def through_circle(a: Array, b: Array, r: float) -> float | None:
    """Return the length of the path from a to b (2,) that bends at a circle; None where it passes through it."""
    d = b - a
    nearest = a + np.clip(-(a @ d) / (d @ d), 0, 1) * d
    if np.linalg.norm(nearest) <= r or min(np.linalg.norm(a), np.linalg.norm(b)) <= r:
        return None
    toward = np.arctan2(nearest[1], nearest[0])

    def length(angle: float) -> float:
        P = r * np.array([np.cos(angle), np.sin(angle)])
        return float(np.linalg.norm(a - P) + np.linalg.norm(b - P))

    limits = (toward - np.pi / 2, toward + np.pi / 2)
    found = minimize_scalar(length, bounds=limits, method="bounded", options={"xatol": 1e-12})
    return float(found.fun)


def through_cylinder(a: Array, b: Array, r: float) -> float:
    """Return the length of the path from a to b (3,) through a cylinder about z."""
    planar = through_circle(a[:2], b[:2], r)
    return float(np.linalg.norm(b - a) if planar is None else np.hypot(planar, b[2] - a[2]))


def through_sphere(a: Array, b: Array, r: float) -> float:
    """Return the length of the path from a to b (3,) through a sphere about the origin."""
    x = a / np.linalg.norm(a)
    y = b - (b @ x) * x
    y /= np.linalg.norm(y)
    flat = [np.array([p @ x, p @ y]) for p in (a, b)]
    length = through_circle(flat[0], flat[1], r)
    return float(np.linalg.norm(b - a)) if length is None else length
