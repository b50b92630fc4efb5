"""Shortest paths over a sphere or a cylinder, in plain NumPy [Garner and Pandy 2000].

Both directions round the obstacle are computed; the shorter one is taken, or the one whose middle is on a named side.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def around_circle(
    a: Array, b: Array, r: float, side: Array | None
) -> tuple[float, float, float] | None:
    """Return the straight parts and the arc of the path from a to b (2,) around a circle; None where it is straight."""
    d = b - a
    share = np.clip(-(a @ d) / (d @ d), 0, 1)
    nearest = a + share * d
    if np.linalg.norm(nearest) >= r and (side is None or nearest @ side >= 0):
        return None
    found = []
    tangents = np.arccos(r / np.linalg.norm(a)) + np.arccos(r / np.linalg.norm(b))
    straight = float(np.sqrt(a @ a - r * r)), float(np.sqrt(b @ b - r * r))
    for sense in (1.0, -1.0):
        at_a = np.arctan2(a[1], a[0]) + sense * np.arccos(r / np.linalg.norm(a))
        at_b = np.arctan2(b[1], b[0]) - sense * np.arccos(r / np.linalg.norm(b))
        between = sense * (np.arctan2(b[1], b[0]) - np.arctan2(a[1], a[0])) % (2 * np.pi)
        arc = float(r * (between - tangents))
        if arc < 0:  # the straight parts would cross each other
            continue
        middle = np.array([np.cos(at_a) + np.cos(at_b), np.sin(at_a) + np.sin(at_b)])
        rank = sum(straight) + arc if side is None else -(middle @ side) / np.linalg.norm(middle)
        found.append((rank, (*straight, arc)))
    return min(found)[1]


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
