"""Interpolation of tables: pieces of polynomials through given points.

Coefficients (n, order + 1) have the highest power first, of x less the first knot of each piece.
"""

from __future__ import annotations

from math import perm
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence


CUBIC = ("natural", "clamped", "not_a_knot", "pchip")
KINDS = ("linear", *CUBIC, "previous")


def pieces(x: Array, y: Array, kind: str) -> Array:
    """Return the coefficients of the pieces through (x, y) of a kind among KINDS."""
    if kind == "previous":
        return np.asarray(y[:-1, None])
    slope = np.diff(y) / np.diff(x)
    if kind == "linear" or (len(x) == 2 and kind != "clamped"):
        return np.column_stack([slope, y[:-1]])
    return _cubic_pieces(x, y, _slopes(x, y, kind))


def _slopes(x: Array, y: Array, kind: str) -> Array:
    """Return the slopes at the knots of a cubic spline [de Boor 1978], or of pchip [Fritsch and Carlson 1980]."""
    h, slope, n = np.diff(x), np.diff(y) / np.diff(x), len(x)
    if kind == "pchip":
        return _monotone_slopes(h, slope)
    A, b = np.zeros((n, n)), np.zeros(n)
    for i in range(1, n - 1):
        A[i, i - 1 : i + 2] = h[i], 2 * (h[i - 1] + h[i]), h[i - 1]
        b[i] = 3 * (h[i] * slope[i - 1] + h[i - 1] * slope[i])
    if kind == "clamped":
        A[0, 0] = A[-1, -1] = 1.0
    elif kind == "natural":
        A[0, :2], b[0] = (2.0, 1.0), 3 * slope[0]
        A[-1, -2:], b[-1] = (1.0, 2.0), 3 * slope[-1]
    elif n == 3:  # one parabola
        A[0, :2], b[0] = (1.0, 1.0), 2 * slope[0]
        A[-1, -2:], b[-1] = (1.0, 1.0), 2 * slope[-1]
    else:
        A[0, :2], b[0] = _not_a_knot_row(h[0], h[1], slope[0], slope[1])
        A[-1, -2:], b[-1] = _not_a_knot_row(h[-1], h[-2], slope[-1], slope[-2])
        A[-1, -2:] = A[-1, -2:][::-1]
    return np.asarray(np.linalg.solve(A, b), float)


def _not_a_knot_row(
    h0: float, h1: float, slope0: float, slope1: float
) -> tuple[tuple[float, float], float]:
    """Return the row of the end's slope and the next one: the third derivative is continuous at the second knot."""
    right = ((h0 + 2 * (h0 + h1)) * h1 * slope0 + h0 * h0 * slope1) / (h0 + h1)
    return (h1, h0 + h1), right


def _monotone_slopes(h: Array, slope: Array) -> Array:
    inner = np.zeros(len(slope) - 1)
    same = slope[1:] * slope[:-1] > 0
    w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        harmonic = (w1 + w2) / (w1 / slope[:-1] + w2 / slope[1:])
    inner[same] = harmonic[same]
    return np.array([_end_slope(h, slope), *inner, _end_slope(h[::-1], slope[::-1])])


def _end_slope(h: Array, slope: Array) -> float:
    """Return the three-point end formula, kept monotone."""
    d = ((2 * h[0] + h[1]) * slope[0] - h[0] * slope[1]) / (h[0] + h[1])
    if np.sign(d) != np.sign(slope[0]):
        return 0.0
    if np.sign(slope[0]) != np.sign(slope[1]) and abs(d) > 3 * abs(slope[0]):
        return float(3 * slope[0])
    return float(d)


def _cubic_pieces(x: Array, y: Array, d: Array) -> Array:
    h, slope = np.diff(x), np.diff(y) / np.diff(x)
    a = (d[:-1] + d[1:] - 2 * slope) / h**2
    b = (3 * slope - 2 * d[:-1] - d[1:]) / h
    return np.column_stack([a, b, d[:-1], y[:-1]])


def polyline(x: Any, knots: Sequence[float], values: Sequence[float]) -> Any:
    """Return the ordinate at x of the straight lines through (knots, values); the outer ones go on."""
    slopes = (np.diff(values) / np.diff(knots)).tolist()
    y: Any = values[0] + slopes[0] * (x - knots[0])
    for knot, bend in zip(knots[1:-1], np.diff(slopes).tolist(), strict=True):
        y = y + bend * np.maximum(x - knot, 0.0)
    return y


# ------------------------------------------------------------------------------------------ minimum jerk


def minimum_jerk(t: Array, x: Array, *, stops: bool) -> Array:
    """Return quintic pieces of minimum jerk [Flash and Hogan 1985], at rest at both ends.

    With `stops` at rest at every waypoint; otherwise through them with four continuous derivatives.
    """
    n = len(t)
    inverses = [np.asarray(np.linalg.inv(_end_conditions(h)), float) for h in np.diff(t)]
    ends = np.zeros((n, 2))  # speed and acceleration at every waypoint
    if not stops:
        ends = _smooth_ends(t, x, inverses)
    return _quintic_pieces(x, ends, inverses)


def hermite(t: Array, x: Array, v: Array, a: Array) -> Array:
    """Return the quintic pieces (n − 1, 6) with the value x, the rate v and the acceleration a at each time t (n,)."""
    inverses = [np.asarray(np.linalg.inv(_end_conditions(h)), float) for h in np.diff(t)]
    return _quintic_pieces(x, np.column_stack([v, a]), inverses)


def _quintic_pieces(x: Array, ends: Array, inverses: list[Array]) -> Array:
    """Return the pieces with values x (n,) and rates and accelerations `ends` (n, 2)."""
    return np.array(
        [
            (inverse @ np.array([x[i], *ends[i], x[i + 1], *ends[i + 1]]))[::-1]
            for i, inverse in enumerate(inverses)
        ]
    )


def _end_conditions(h: float) -> Array:
    """Return the matrix from the coefficients, lowest power first, to x, x' and x'' at both ends."""
    return np.array([[_power(k, s, d) for k in range(6)] for s in (0.0, h) for d in range(3)])


def _power(k: int, s: float, d: int) -> float:
    """Return the d-th derivative of s^k."""
    return perm(k, d) * s ** (k - d) if k >= d else 0.0


def _smooth_ends(t: Array, x: Array, inverses: list[Array]) -> Array:
    """Return the speeds and accelerations with which third and fourth derivatives are continuous."""
    n = len(t)
    A, b = np.zeros((2 * n, 2 * n)), np.zeros(2 * n)
    A[[0, 1, -2, -1], [0, 1, -2, -1]] = 1.0
    for i in range(1, n - 1):
        for row, d in ((0, 3), (1, 4)):
            for j, s, sign in ((i - 1, t[i] - t[i - 1], 1.0), (i, 0.0, -1.0)):
                w = np.array([_power(k, s, d) for k in range(6)]) @ inverses[j]
                for e in (0, 1):
                    A[2 * i + row, 2 * (j + e) : 2 * (j + e) + 2] += sign * w[3 * e + 1 : 3 * e + 3]
                    b[2 * i + row] -= sign * w[3 * e] * x[j + e]
    return np.asarray(np.linalg.solve(A, b), float).reshape(n, 2)
