"""Piecewise polynomials of symbolic numbers: tables of any length as three operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.tracing.expression import Scalar

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def piecewise(x: Any, knots: ArrayLike, coefficients: ArrayLike) -> Any:
    """Return the polynomial of the piece that x lies in, of x less the piece's first knot.

    Args:
        x: symbolic or plain number. The first and last pieces continue beyond their ends.
        knots: (n + 1,), increasing.
        coefficients: (n, order + 1), highest power first.
    """
    k, c = np.asarray(knots, float), np.asarray(coefficients, float)
    if not isinstance(x, Scalar):
        i = int(np.searchsorted(k[1:-1], float(x), side="right"))
        return float(np.polyval(c[i], float(x) - k[i]))
    tape = x.tape
    first = tape.table(k.tolist())
    at = tape.table(c.ravel().tolist())
    index = tape.node("segment", x.index, data=(first, len(k)))

    def entry(start: int, stride: int) -> Scalar:
        return Scalar(tape, tape.node("lookup", index, data=(start, stride)))

    s, width = x - entry(first, 1), c.shape[1]
    value: Any = entry(at, width)
    for power in range(1, width):
        value = value * s + entry(at + power, width)
    return value
