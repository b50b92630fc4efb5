"""Centre lines of rods: straight, or a smooth curve through points, by their arc length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

_FINE = 32  # parts of the curve between two points, each a cubic of the arc length
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


@dataclass(frozen=True)
class _Cubic:
    """Piecewise cubic (Hermite's form): points P (n, 3) and slopes m (n, 3) at knots u (n,)."""

    u: Array
    P: Array
    m: Array

    def at(self, u: Array) -> Array:
        """Return the points (…, 3) at u (…)."""
        k, t, h = self._place(u)
        a, b = self.P[k], self.P[k + 1]
        late, early = t * t * (3 - 2 * t), t * (1 - t)
        return np.asarray(
            a + late * (b - a) + early * h * ((1 - t) * self.m[k] - t * self.m[k + 1])
        )

    def slope(self, u: Array) -> Array:
        """Return the derivatives (…, 3) at u (…)."""
        k, t, h = self._place(u)
        begin, end = (1 - t) * (1 - 3 * t) * self.m[k], t * (3 * t - 2) * self.m[k + 1]
        return np.asarray(6 * t * (1 - t) / h * (self.P[k + 1] - self.P[k]) + begin + end)

    def _place(self, u: Array) -> tuple[NDArray[np.intp], Array, Array]:
        k = np.clip(np.searchsorted(self.u, u, side="right") - 1, 0, len(self.u) - 2)
        h = self.u[k + 1] - self.u[k]
        return k, ((u - self.u[k]) / h)[..., None], h[..., None]


def _slopes(u: Array, P: Array, *, closed: bool) -> Array:
    """Return the slopes (n, 3) of the cubic spline through P: periodic, or with no knot next to its ends."""
    h, n = np.diff(u), len(u)
    d = np.diff(P, axis=0) / h[:, None]
    if n == 3:
        bend = (d[1] - d[0]) / (h[0] + h[1])
        return np.array([d[0] - h[0] * bend, d[0] + h[0] * bend, d[1] + h[1] * bend])
    A, r = np.zeros((n, n)), np.zeros((n, 3))
    for i in range(1, n - 1):
        A[i, i - 1 : i + 2] = h[i], 2 * (h[i - 1] + h[i]), h[i - 1]
        r[i] = 3 * (h[i] * d[i - 1] + h[i - 1] * d[i])
    if closed:
        A[0, [-2, 0, 1]] = h[0], 2 * (h[-1] + h[0]), h[-1]
        r[0] = 3 * (h[0] * d[-1] + h[-1] * d[0])
        A[-1, [0, -1]] = 1.0, -1.0
    else:
        for end, (h0, h1), (d0, d1), at in (
            (0, h[:2], d[:2], (0, 1)),
            (-1, h[:-3:-1], d[:-3:-1], (-1, -2)),
        ):
            A[end, list(at)] = h1, h0 + h1
            r[end] = ((3 * h0 + 2 * h1) * h1 * d0 + h0**2 * d1) / (h0 + h1)
    return np.asarray(np.linalg.solve(A, r))


def curve_through(points: Sequence[Sequence[float]]) -> CentreLine:
    """Return the cubic spline through two or more points, which differ; periodic if the last is the first."""
    P = np.array(points, float)
    if len(P) == 2:
        P = np.array([P[0], P.mean(axis=0), P[1]])
    u = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(P, axis=0), axis=1)))
    curve = _Cubic(u, P, _slopes(u, P, closed=len(P) > 3 and np.array_equal(P[0], P[-1])))
    fine = np.append(np.linspace(u[:-1], u[1:], _FINE, endpoint=False).T.ravel(), u[-1])
    half = np.diff(fine) / 2
    inside = (fine[:-1] + half)[:, None] + half[:, None] * _NODES
    speed = np.linalg.norm(curve.slope(inside), axis=-1)
    s = np.append(0.0, np.cumsum(half * (speed @ _WEIGHTS)))
    tangent = curve.slope(fine)
    tangent /= np.linalg.norm(tangent, axis=1)[:, None]
    by_length = _Cubic(s, curve.at(fine), tangent)

    def tangents(at: Array) -> Array:
        t = by_length.slope(at)
        return np.asarray(t / np.linalg.norm(t, axis=1)[:, None])

    return CentreLine(float(s[-1]), False, by_length.at, tangents)


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
