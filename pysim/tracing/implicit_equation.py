"""Implicit equations of symbolic numbers: x with r(x) = 0, one operation that the engine solves in packs.

The derivative of the solution follows from the implicit function theorem, dx = −(∂r/∂p dp)/(∂r/∂x).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import JointError
from pysim.tracing.author_code import author_line
from pysim.tracing.derivative import Derivative, rate_of_unknown
from pysim.tracing.expression import Scalar, symbolic

if TYPE_CHECKING:
    from collections.abc import Callable


def solve(residual: Callable[[Any], Any], guess: Any, lower: Any, upper: Any) -> Any:
    """Return the x between two bounds at which a residual is 0, by safeguarded Newton's method.

    The residual must have one sign at one bound and the other at the other bound, or vanish there; where it does not,
    x is NaN, and a run ends with the name of the element. The nearer the guess, the fewer evaluations.

    Args:
        residual: function of one number x, and of the numbers of the method around it.
        guess: number near the solution.
        lower: least x.
        upper: largest x.

    Raises:
        JointError: the residual is not one number, or does not depend on x.
    """
    one = symbolic(guess, lower, upper)
    if one is None:
        trial = residual(float(guess))
        if not isinstance(trial, Scalar):
            return _plain_root(residual, float(guess), float(lower), float(upper))
        one = trial
    tape = one.tape
    plain = [float(x) for x in (lower, upper) if not isinstance(x, Scalar)]
    if not np.isfinite(plain).all() or (len(plain) == 2 and plain[0] >= plain[1]):
        problem = f"solve needs finite bounds, lower below upper, got {lower} and {upper}"
        raise JointError(author_line(), f"{problem}; change them")
    with tape.equation() as depth:
        x = Scalar(tape, tape.node("unknown", data=(depth,)))
        r = residual(x)
        if isinstance(r, np.ndarray) and r.size == 1:
            r = r.item()
        if not isinstance(r, Scalar) or depth not in tape.unknowns(r.index):
            problem = "the residual of solve must be one number that depends on its argument"
            raise JointError(author_line(), f"{problem}; return left side minus right side")
        slope = Derivative(tape, {rate_of_unknown(depth): tape.const(1)}, depth).of(r.index)
    numbers = [
        n.index if isinstance(n, Scalar) else tape.const(float(n)) for n in (guess, lower, upper)
    ]
    return Scalar(tape, tape.node("solve", x.index, r.index, slope, *numbers))


def _plain_root(
    residual: Callable[[float], float], guess: float, lower: float, upper: float
) -> float:
    """Return the root of a residual of plain numbers; NaN if there is none."""
    from scipy.optimize import brentq  # noqa: PLC0415, loads where plain numbers are solved for

    ends = float(residual(lower)), float(residual(upper))
    rounding = 64 * np.finfo(float).eps * (abs(ends[0]) + abs(ends[1]))
    if residual(guess) == 0:
        return guess
    for x, end in zip((lower, upper), ends, strict=True):
        if abs(end) <= rounding:
            return x
    if not ends[0] * ends[1] < 0:
        return float("nan")
    return float(brentq(residual, lower, upper, xtol=1e-300, rtol=4 * np.finfo(float).eps))
