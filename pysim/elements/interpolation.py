"""Interpolation of tables: pieces of polynomials through given points, by SciPy.

Coefficients (n, order + 1) have the highest power first, of x less the first knot of each piece.
"""

from __future__ import annotations

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
    if kind == "linear" or (len(x) == 2 and kind != "clamped"):
        return np.column_stack([np.diff(y) / np.diff(x), y[:-1]])
    from scipy.interpolate import CubicSpline, PchipInterpolator  # noqa: PLC0415, loads where it is used

    if kind == "pchip":
        return np.asarray(PchipInterpolator(x, y).c.T)
    return np.asarray(CubicSpline(x, y, bc_type=kind.replace("_", "-")).c.T)


def polyline(x: Any, knots: Sequence[float], values: Sequence[float]) -> Any:
    """Return the ordinate at x of the straight lines through (knots, values); the outer ones go on."""
    slopes = (np.diff(values) / np.diff(knots)).tolist()
    y: Any = values[0] + slopes[0] * (x - knots[0])
    for knot, bend in zip(knots[1:-1], np.diff(slopes).tolist(), strict=True):
        y = y + bend * np.maximum(x - knot, 0.0)
    return y


def minimum_jerk(t: Array, x: Array, *, stops: bool) -> Array:
    """Return quintic pieces of minimum jerk [Flash and Hogan 1985], at rest at both ends.

    With `stops` at rest at every waypoint; otherwise through them with four continuous derivatives.
    """
    if stops:
        return hermite(t, x, np.zeros(len(t)), np.zeros(len(t)))
    from scipy.interpolate import PPoly, make_interp_spline  # noqa: PLC0415, loads where it is used

    at_rest = [(1, 0.0), (2, 0.0)]
    spline = make_interp_spline(t, x, k=5, bc_type=(at_rest, at_rest))
    return np.asarray(PPoly.from_spline(spline).c[:, 5:-5].T)  # without those of repeated knots


def hermite(t: Array, x: Array, v: Array, a: Array) -> Array:
    """Return the quintic pieces (n − 1, 6) with the value x, the rate v and the acceleration a at each time t (n,)."""
    from scipy.interpolate import BPoly, PPoly  # noqa: PLC0415, loads where it is used

    curve = BPoly.from_derivatives(t, np.column_stack([x, v, a]))
    return np.asarray(PPoly.from_bernstein_basis(curve).c.T)
