"""Piecewise polynomials of symbolic numbers: tables of any length as three operations, and np.interp."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import JointError
from pysim.tracing.author_code import author_line
from pysim.tracing.expression import Scalar, clip, where

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def piecewise(
    x: Any, knots: ArrayLike, coefficients: ArrayLike, origins: ArrayLike | None = None
) -> Any:
    """Return the polynomial of the piece that x lies in, of x less the piece's origin.

    Args:
        x: symbolic or plain number, or an array of plain ones. The first and last pieces continue beyond their ends.
        knots: (n + 1,), increasing.
        coefficients: (n, order + 1), highest power first.
        origins: (n,) of the pieces, by default their first knots.
    """
    k, c = np.asarray(knots, float), np.asarray(coefficients, float)
    start = k[:-1] if origins is None else np.asarray(origins, float)
    if not isinstance(x, Scalar):
        inside = np.asarray(x, float)
        i = np.searchsorted(k[1:-1], inside, side="right")
        y = np.polyval(np.moveaxis(c[i], -1, 0), inside - start[i])
        return float(y) if y.ndim == 0 else y
    tape = x.tape
    first = tape.table(k.tolist())
    begin = first if origins is None else tape.table(start.tolist())
    at = tape.table(c.ravel().tolist())
    index = tape.node("segment", x.index, data=(first, len(k)))

    def entry(start: int, stride: int) -> Scalar:
        return Scalar(tape, tape.node("lookup", index, data=(start, stride)))

    s, width = x - entry(begin, 1), c.shape[1]
    value: Any = entry(at, width)
    for power in range(1, width):
        value = value * s + entry(at + power, width)
    return value


def interp(
    x: Any,
    xp: ArrayLike,
    fp: ArrayLike,
    left: float | None = None,
    right: float | None = None,
    period: float | None = None,
) -> Any:
    """Return np.interp(x, xp, fp, left, right, period) of a symbolic number: straight lines through (xp, fp).

    Raises:
        JointError: knots that do not increase, as many values as knots, or a table of symbolic numbers.
    """
    knots, values = _table(xp, fp)
    if period is not None:
        if not period > 0:
            raise _wrong_table(f"needs a positive period, got {period:g}; change it")
        order = np.argsort(knots % period, kind="stable")
        knots, values = knots[order] % period, values[order]
        knots = np.array([knots[-1] - period, *knots, knots[0] + period])
        values = np.array([values[-1], *values, values[0]])
        x, left, right = x % period, None, None
    if not (np.diff(knots) > 0).all():
        raise _wrong_table("needs xp that increases; sort the points, and leave out doubles")
    if len(knots) == 1:
        inside: Any = values[0]
    else:
        slopes = np.diff(values) / np.diff(knots)
        held = clip(x, knots[0], knots[-1])
        inside = piecewise(held, knots, np.column_stack([slopes, values[:-1]]))
    low = inside if left is None else where(x < knots[0], left, inside)
    return low if right is None else where(x > knots[-1], right, low)


def _table(xp: ArrayLike, fp: ArrayLike) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    given = [np.asarray(values) for values in (xp, fp)]
    if any(values.dtype == object for values in given):
        raise _wrong_table(
            "needs a table of plain numbers; interpolate between symbolic ones by np.where"
        )
    knots, values = (np.asarray(part, float) for part in given)
    if knots.ndim != 1 or knots.shape != values.shape or len(knots) == 0:
        raise _wrong_table(f"needs as many values as knots, got {knots.shape} and {values.shape}")
    if not np.isfinite([knots, values]).all():
        raise _wrong_table("needs finite numbers; remove NaN and infinite ones")
    return knots, values


def _wrong_table(problem: str) -> JointError:
    return JointError(author_line(), f"np.interp {problem}")
