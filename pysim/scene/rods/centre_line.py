"""Centre lines of rods: straight, or a smooth curve through points, by their arc length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_PARTS_PER_SEGMENT = 32  # parts of the curve between two points, each a cubic of the arc length
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(4)


@dataclass(frozen=True)
class CentreLine:
    """Curve by its arc length.

    Attributes:
        length: [m].
        is_straight: whether it is along x from the origin.
        points: the function of arc lengths (k,) that returns points (k, 3) [m].
        tangents: the function of arc lengths (k,) that returns unit tangents (k, 3).
    """

    length: float
    is_straight: bool
    points: Callable[[Array], Array]
    tangents: Callable[[Array], Array]


def straight_line(length: float) -> CentreLine:
    """Return the line along x from the origin."""
    x = np.array([1.0, 0.0, 0.0])
    return CentreLine(length, True, lambda s: s[:, None] * x, lambda s: np.tile(x, (len(s), 1)))


def curve_through(points: Sequence[Sequence[float]]) -> CentreLine:
    """Return the cubic spline through two or more points, which differ; periodic if the last is the first."""
    from scipy.interpolate import CubicHermiteSpline, CubicSpline  # noqa: PLC0415, loads where it is used

    P = np.array(points, float)
    if len(P) == 2:
        P = np.array([P[0], P.mean(axis=0), P[1]])
    u = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(P, axis=0), axis=1)))
    closed = len(P) > 3 and np.array_equal(P[0], P[-1])
    curve = CubicSpline(u, P, bc_type="periodic" if closed else "not-a-knot")
    fine = np.append(
        np.linspace(u[:-1], u[1:], _PARTS_PER_SEGMENT, endpoint=False).T.ravel(), u[-1]
    )
    half = np.diff(fine) / 2
    inside = (fine[:-1] + half)[:, None] + half[:, None] * _NODES
    speed = np.linalg.norm(curve(inside, 1), axis=-1)
    s = np.append(0.0, np.cumsum(half * (speed @ _WEIGHTS)))
    tangent = curve(fine, 1)
    tangent /= np.linalg.norm(tangent, axis=1)[:, None]
    by_length = CubicHermiteSpline(s, curve(fine), tangent)

    def tangents(at: Array) -> Array:
        t = by_length(at, 1)
        return np.asarray(t / np.linalg.norm(t, axis=1)[:, None])

    return CentreLine(float(s[-1]), False, by_length, tangents)


def catenary(begin: Array, end: Array, length: float, gravity: Array) -> CentreLine:
    """Return the curve of a length [m] that hangs between two points (3,), whose distance is less.

    Without gravity, or for points above one another, it hangs along some direction normal to their line.
    """
    size = float(np.linalg.norm(gravity))
    across = end - begin
    down = gravity / size if size > 0 else np.zeros(3)
    level = across - (across @ down) * down
    if np.linalg.norm(level) < 1e-3 * np.linalg.norm(across) or not size:
        level = across
        down = np.cross(level, np.eye(3)[int(np.abs(level).argmin())])
        down /= np.linalg.norm(down)
    h, v = float(np.linalg.norm(level)), float(across @ down)
    x = level / h
    low, high = 1e-9, 700.0  # of w = h / 2a in  sinh w / w = √(L² − v²) / h
    ratio = np.sqrt(max(length**2 - v**2, h**2 * (1 + 1e-12))) / h
    for _ in range(200):
        w = (low + high) / 2
        low, high = (w, high) if np.sinh(w) / w < ratio else (low, w)
    a = h / (2 * high)
    middle = h / 2 + a * np.arctanh(np.clip(v / length, -1 + 1e-12, 1 - 1e-12))
    whole = a * (np.sinh(middle / a) + np.sinh((h - middle) / a))
    parts = np.linspace(0.0, whole, 65)  # of the arc
    u = middle + a * np.arcsinh(parts / a - np.sinh(middle / a))
    depth = a * (np.cosh(middle / a) - np.cosh((u - middle) / a))
    return curve_through((begin + u[:, None] * x + depth[:, None] * down).tolist())
