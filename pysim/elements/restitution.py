"""Restitution of impacts under the law of Hunt and Crossley, N = K x^m (1 + d x')₊, whatever stiffness and mass.

d v (1 + e) = ln[(1 + d v)/(1 − e d v)]      at the speed v before the impact, e the coefficient of restitution
"""

from __future__ import annotations

import math
from functools import lru_cache


@lru_cache(maxsize=1024)
def dissipation_of(restitution: float, speed: float) -> float:
    """Return d [s/m] with which an impact at `speed` [m/s] has a coefficient of restitution in (0, 1].

    d v (1 + e) = ln[(1 + d v)/(1 − e d v)], whatever stiffness, exponent and mass.
    """
    e = restitution
    if e >= 1:
        return 0.0

    def excess(x: float) -> float:
        return x * (1 + e) - math.log1p(x) + math.log1p(-e * x)

    low, high = 0.5 * (1 - e * e) / (1 + e**3), (1 - 1e-15) / e
    while excess(low) <= 0:
        low /= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return low / speed


def restitution_of(dissipation: float, speed: float) -> float:
    """Return the coefficient of restitution of an impact at `speed` [m/s] with d [s/m]."""
    x = dissipation * speed
    if x == 0:
        return 1.0
    low, high = 0.0, min(1.0, 1 / x)
    for _ in range(200):
        e = (low + high) / 2
        rest = x * (1 + e) - math.log1p(x) + (math.log1p(-e * x) if e * x < 1 else -math.inf)
        low, high = (e, high) if rest > 0 else (low, e)
    return low
