"""Cubic splines and polylines of symbolic numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import JointError
from pysim.tracing.author_code import author_line
from pysim.tracing.expression import Scalar, where
from pysim.tracing.piecewise import piecewise

if TYPE_CHECKING:
    from collections.abc import Sequence

ENDS = ("linear", "cubic", "constant", "fmm")
STRAIGHT = ("linear", "fmm")  # beyond the end knots


def spline(x: Any, knots: Sequence[float], values: Sequence[float], *, ends: str = "linear") -> Any:
    """Return the cubic spline through (knots, values), twice continuously differentiable between them, at x.

    The spline is natural, except with ends="fmm".

    Args:
        x: symbolic or plain number, or an array of plain ones.
        knots: at least two, strictly increasing.
        values: one for each knot.
        ends: extrapolation beyond the first and last knot. "linear" continues straight (still C², because a natural
            spline ends without curvature), "cubic" continues the end pieces, "constant" holds the end values (C⁰).
            "fmm" is the spline of Forsythe, Malcolm and Moler 1977, `SimmSpline` of OpenSim: each end piece has the
            third derivative of the cubic through the outer four points, and is continued straight (C¹).

    Raises:
        JointError: the knots do not increase, the number of values differs, or `ends` is unknown.
    """
    k, y = np.asarray(knots, float), np.asarray(values, float)
    _check(k, y, ends)
    pieces = _cubic_pieces(k, y, third_derivatives=_outer_thirds(k, y) if ends == "fmm" else None)
    if ends in STRAIGHT:
        k, pieces = _with_straight_ends(k, pieces)
    return _piecewise(x, k, pieces, ends)


def polyline(x: Any, knots: Sequence[float], values: Sequence[float]) -> Any:
    """Return straight lines through (knots, values) at x, the outer ones continued beyond the end knots.

    Args:
        x: symbolic or plain number, or an array of plain ones.
        knots: at least two, strictly increasing.
        values: one for each knot.

    Raises:
        JointError: the knots do not increase, or the number of values differs.
    """
    k, y = np.asarray(knots, float), np.asarray(values, float)
    _check(k, y, "cubic")
    zeros = np.zeros(len(k) - 1)
    pieces = np.column_stack([zeros, zeros, np.diff(y) / np.diff(k), y[:-1]])
    return _piecewise(x, k, pieces, "cubic")


def _piecewise(x: Any, k: np.ndarray, pieces: np.ndarray, ends: str) -> Any:
    """Return the polynomials (n − 1, 4), highest power first, in x less the origin of each piece."""
    held = x
    if ends == "constant" and isinstance(x, Scalar):
        held = where(x < k[0], k[0], where(x > k[-1], k[-1], x))
    elif ends == "constant":
        held = np.clip(x, k[0], k[-1])
    return piecewise(held, k, pieces, [_origin(k, i, ends) for i in range(len(k) - 1)])


def _check(k: np.ndarray, y: np.ndarray, ends: str) -> None:
    if k.ndim != 1 or k.shape != y.shape or len(k) < 2:
        problem = f"a spline needs two or more knots and a value each, got {k.shape} and {y.shape}"
        raise JointError(author_line(), problem)
    if not (np.diff(k) > 0).all() or not np.isfinite([k, y]).all():
        raise JointError(
            author_line(), "the knots of a spline must increase, all numbers be finite"
        )
    if ends not in ENDS:
        raise JointError(author_line(), f"unknown ends {ends!r}; choose {', '.join(ENDS)}")


def _cubic_pieces(
    k: np.ndarray, y: np.ndarray, third_derivatives: tuple[float, float] | None
) -> np.ndarray:
    """Return the coefficients (n − 1, 4), highest power first, of each piece in x − knot.

    The ends have the given third derivatives, or no second derivative.
    """
    from scipy.interpolate import PPoly, make_interp_spline  # noqa: PLC0415, loads where it is used

    ends = [[(2, 0.0)], [(2, 0.0)]]
    if third_derivatives is not None and len(k) > 2:
        ends = [[(3, third)] for third in third_derivatives]
    curve = PPoly.from_spline(make_interp_spline(k, y, k=3, bc_type=ends))
    return np.asarray(curve.c[:, 3:-3].T)  # without the pieces of repeated knots


def _outer_thirds(k: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return the third derivatives of the cubics through the first and the last four points; 0 of fewer points."""
    if len(k) < 4:
        return 0.0, 0.0

    def third(x: np.ndarray, f: np.ndarray) -> float:
        for order in (1, 2, 3):
            f = np.diff(f) / (x[order:] - x[:-order])
        return 6 * float(f[0])

    return third(k[:4], y[:4]), third(k[-4:], y[-4:])


def _with_straight_ends(k: np.ndarray, pieces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Add a straight piece before and after; x is compared with inner knots only."""
    h = k[-1] - k[-2]
    a, b, c, d = pieces[-1]
    first = [0, 0, pieces[0][2], pieces[0][3]]
    last = [0, 0, (3 * a * h + 2 * b) * h + c, ((a * h + b) * h + c) * h + d]
    width = k[-1] - k[0]
    return np.array([k[0] - width, *k, k[-1] + width]), np.vstack([first, pieces, last])


def _origin(k: np.ndarray, i: int, ends: str) -> float:
    """Return the knot that piece i is relative to; for the straight piece before the first knot, that knot."""
    return float(k[1] if ends in STRAIGHT and i == 0 else k[i])
