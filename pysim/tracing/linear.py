"""Dense layers of symbolic numbers: a matrix of any size is one array that the program reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import JointError
from pysim.tracing.author_code import author_line
from pysim.tracing.expression import Scalar

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def linear(W: ArrayLike, x: Any, b: ArrayLike | None = None) -> Any:
    """Return W x + b as an array (m,); one operation for each of the m numbers, whatever n is.

    Args:
        W: plain numbers (m, n).
        x: symbolic or plain numbers (n,).
        b: plain numbers (m,); 0 by default.

    Raises:
        JointError: shapes that do not fit, or numbers that are not finite.
    """
    weights = np.asarray(W, float)
    numbers = np.atleast_1d(np.asarray(x, object))
    if weights.ndim != 2 or weights.shape[1:] != numbers.shape:
        problem = f"linear needs W (m, n) and x (n,), got {weights.shape} and {numbers.shape}"
        raise JointError(author_line(), f"{problem}; transpose W or join the numbers")
    offset = np.zeros(len(weights)) if b is None else np.asarray(b, float)
    if offset.shape != weights.shape[:1]:
        problem = f"linear needs b ({len(weights)},), got {offset.shape}"
        raise JointError(author_line(), f"{problem}; give a number for each row of W")
    if not (np.isfinite(weights).all() and np.isfinite(offset).all()):
        raise JointError(author_line(), "linear needs finite numbers; remove NaN and infinite ones")
    symbols = [number for number in numbers if isinstance(number, Scalar)]
    if not symbols:
        return weights @ numbers.astype(float) + offset
    tape = symbols[0].tape
    args = [
        number.index if isinstance(number, Scalar) else tape.const(float(number))
        for number in numbers
    ]
    rows = [
        Scalar(tape, tape.node("dot", *args, data=(tape.table(row.tolist()), len(args))))
        for row in weights
    ]
    return np.array([row + own for row, own in zip(rows, offset.tolist(), strict=True)])
