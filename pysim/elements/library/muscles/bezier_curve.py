"""Curves of quintic Bézier pieces with straight ends, as muscle curves are [Millard, Uchida, Seth and Delp 2013].

    x(s), y(s), s from 0 to the number of pieces      quintics in s − k of the piece k

beyond both ends x goes on with slope 1 and y with that of the end, so that x(s) and y(s) are defined for all s.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from pysim.tracing.implicit_equation import solve
from pysim.tracing.piecewise import piecewise
from pysim.typing import Array

ARRAY_STEPS = 40  # of Newton's method and bisection for arrays of numbers
PARAMETER_TOLERANCE = 1e-14  # change of the parameter at which they end
BINOMIALS = [[(-1) ** (i + j) * comb(j, i) for i in range(j + 1)] for j in range(6)]
Point = tuple[float, float, float]  # x, y, and the slope there


@dataclass(frozen=True, eq=False)
class BezierCurve:
    """Chain of corners through points with slopes.

    Attributes:
        points: x increasing, y and slope.
        curviness: of each corner, from 0, two straight lines, to 1.
    """

    points: tuple[Point, ...]
    curviness: tuple[float, ...]

    def __post_init__(self) -> None:
        pieces = [
            corner(a, b, c)
            for a, b, c in zip(self.points[:-1], self.points[1:], self.curviness, strict=True)
        ]
        x = np.array([_powers(X)[::-1] for X, _ in pieces])
        y = np.array([_powers(Y)[::-1] for _, Y in pieces])
        (x0, y0, left), (x1, y1, right) = self.points[0], self.points[-1]
        before = [0, 0, 0, 0, 1, x0 - 1], [0, 0, 0, 0, left, y0 - left]  # from s = −1
        after = [0, 0, 0, 0, 1, x1], [0, 0, 0, 0, right, y1]
        vars(self)["x_pieces"] = np.vstack([before[0], x, after[0]])
        vars(self)["y_pieces"] = np.vstack([before[1], y, after[1]])
        vars(self)["knots"] = np.arange(-1.0, len(pieces) + 2)

    def x(self, s: Any) -> Any:
        """Return the abscissa at a parameter."""
        return piecewise(s, vars(self)["knots"], vars(self)["x_pieces"])

    def y(self, s: Any) -> Any:
        """Return the ordinate at a parameter."""
        return piecewise(s, vars(self)["knots"], vars(self)["y_pieces"])

    def parameter(self, x: Any) -> Any:
        """Return the parameter of an abscissa, between the first and the last point."""
        ends = [point[0] for point in self.points]
        count = len(ends) - 1
        guess = np.interp(x, ends, range(count + 1))
        return solve(lambda s: self.x(s) - x, guess, 0.0, float(count))

    def __call__(self, x: Any) -> Any:
        """Return the ordinate at an abscissa."""
        (first, _, left), (last, _, right) = self.points[0], self.points[-1]
        inside = np.clip(x, first, last)
        if isinstance(inside, float) or (isinstance(inside, np.ndarray) and inside.dtype != object):
            y = self._ordinates(np.asarray(inside))
        else:
            y = self.y(self.parameter(inside))
        return y + left * np.minimum(x - first, 0.0) + right * np.maximum(x - last, 0.0)

    def _ordinates(self, x: Array) -> Array:
        """Return the ordinates at abscissas (…) between the first and the last point."""
        ends = np.array([point[0] for point in self.points])
        piece = np.clip(np.searchsorted(ends, x, side="right") - 1, 0, len(ends) - 2)
        of_x, of_y = (vars(self)[key][piece + 1] for key in ("x_pieces", "y_pieces"))
        lower, upper = np.zeros_like(x), np.ones_like(x)
        s = (x - ends[piece]) / (ends[piece + 1] - ends[piece])
        for _ in range(ARRAY_STEPS):
            over, slope = _horner(of_x, s) - x, _slope(of_x, s)
            lower, upper = np.where(over < 0, s, lower), np.where(over > 0, s, upper)
            newton = s - over / np.where(slope > 0, slope, np.inf)
            inside = (newton >= lower) & (newton <= upper) & (slope > 0)
            following = np.where(over == 0, s, np.where(inside, newton, 0.5 * (lower + upper)))
            step, s = np.abs(following - s), following
            if (step <= PARAMETER_TOLERANCE).all():
                break
        return _horner(of_y, s)


def _horner(coefficients: Array, s: Array) -> Array:
    """Return polynomials (…, 6), the highest power first, at s (…)."""
    value = coefficients[..., 0]
    for k in range(1, coefficients.shape[-1]):
        value = value * s + coefficients[..., k]
    return np.asarray(value)


def _slope(coefficients: Array, s: Array) -> Array:
    degree = coefficients.shape[-1] - 1
    return _horner(coefficients[..., :-1] * np.arange(degree, 0, -1), s)


def corner(a: Point, b: Point, curviness: float) -> tuple[Array, Array]:
    """Return the six control points of a corner between two lines: both ends, and two double points on the lines.

    The double points lie at the share 0.1 + 0.8 `curviness` of the way to the intersection of the lines.
    """
    (x0, y0, slope0), (x1, y1, slope1) = a, b
    x = 0.5 * (x0 + x1)  # of parallel lines
    if abs(slope0 - slope1) > 1.5e-8:
        x = (y1 - y0 - x1 * slope1 + x0 * slope0) / (slope0 - slope1)
    y = (x - x1) * slope1 + y1
    share = 0.1 + 0.8 * curviness
    xa, ya, xb, yb = (p + share * (q - p) for p, q in ((x0, x), (y0, y), (x1, x), (y1, y)))
    return np.array([x0, xa, xa, xb, xb, x1]), np.array([y0, ya, ya, yb, yb, y1])


def _powers(points: Array) -> Array:
    """Return the coefficients of a quintic's powers, the lowest first, from its Bézier points."""
    return np.array(
        [
            comb(5, j) * sum(factor * points[i] for i, factor in enumerate(factors))
            for j, factors in enumerate(BINOMIALS)
        ]
    )
