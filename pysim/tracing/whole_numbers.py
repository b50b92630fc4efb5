"""Rounding and remainders of symbolic numbers, by the operation floor; each is NumPy's function of the same name.

    ⌈x⌉ = −⌊−x⌋      x mod y = x − y ⌊x/y⌋      fmod(x, y) = x − y trunc(x/y)

Between their jumps they have the slope 0 in what is rounded, and remainders the slopes 1 in x and −⌊x/y⌋ in y.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def ceil(x: Any) -> Any:
    """Return the smallest whole number that is not below x."""
    return -np.floor(-x)


def trunc(x: Any) -> Any:
    """Return the whole number next to x towards 0."""
    return np.where(x < 0, ceil(x), np.floor(x))


def rint(x: Any) -> Any:
    """Return the whole number nearest to x; of two, the even one."""
    below = np.floor(x)
    part = x - below  # exact; x + ½ is not
    odd = below - 2 * np.floor(0.5 * below)
    return below + np.where(part > 0.5, 1.0, np.where(part == 0.5, odd, 0.0))


def rounded(x: Any, decimals: int = 0) -> Any:
    """Return x rounded to a number of decimals, which may be negative; a half goes to the even digit."""
    if decimals == 0:
        return rint(x)
    scale = 10.0 ** abs(decimals)
    return rint(x * scale) / scale if decimals > 0 else rint(x / scale) * scale


def remainder(x: Any, y: Any) -> Any:
    """Return x mod y, which has the sign of y."""
    left = x - y * np.floor(x / y)
    return np.where(left * y < 0, left + y, left)  # the quotient was rounded to a whole number


def fmod(x: Any, y: Any) -> Any:
    """Return the remainder of x/y, which has the sign of x."""
    size = remainder(np.abs(x), np.abs(y))
    return np.where(x < 0, -size, size)


def floor_divide(x: Any, y: Any) -> Any:
    """Return the whole number below x/y."""
    return np.floor(x / y)


def quotient_and_remainder(x: Any, y: Any) -> tuple[Any, Any]:
    """Return x // y and x mod y."""
    return floor_divide(x, y), remainder(x, y)
