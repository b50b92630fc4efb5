"""Stops of coordinates that rebound: a spring whose damper grows with its deflection."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements.force import Force, force
from pysim.elements.library.forces import against, difference
from pysim.errors import PysimError

if TYPE_CHECKING:
    from collections.abc import Sequence


@force("coordinate_stop")
class CoordinateStop(Force):
    """Stops of a coordinate, or of the difference of two, beyond which K x (1 + d x′)₊ pushes back.

    The law of Hunt and Crossley [Hunt and Crossley 1975]: at the speed v an impact has the coefficient of restitution e
    with d v (1 + e) = ln[(1 + d v)/(1 − e d v)], whatever stiffness and mass. It is what `limits` of a joint with
    `restitution` or `dissipation` become.
    """

    stiffness: float  # [N/m or N·m/rad], K
    lower: float = -math.inf  # [m or rad]
    upper: float = math.inf  # [m or rad]
    dissipation: float = 0.0  # [s/m or s/rad], d
    not_negative = ("stiffness", "dissipation")

    def __post_init__(self) -> None:
        if self.lower > self.upper:
            raise PysimError("lower", f"{self.lower:g} is above upper, {self.upper:g}; swap them")

    def _depths(self, x: Any) -> list[tuple[float, Any]]:
        """Return the directions of the stops, and how far x is beyond each."""
        ends = ((1.0, self.upper), (-1.0, self.lower))
        return [(s, np.maximum(s * (x - end), 0.0)) for s, end in ends if _is_there(end)]

    def force(self, q: Sequence[Any], v: Sequence[Any]) -> list[Any]:
        rate, push = difference(v), 0.0 * difference(v)
        for direction, depth in self._depths(difference(q)):
            damped = np.maximum(1 + self.dissipation * direction * rate, 0.0)
            push = push + direction * self.stiffness * depth * damped
        return against(q, push)

    def energy(self, q: Sequence[Any]) -> Any:
        total: Any = 0.0 * difference(q)
        for _, depth in self._depths(difference(q)):
            total = total + 0.5 * self.stiffness * depth * depth
        return total


def _is_there(end: Any) -> bool:
    """Return whether a stop has a place: a number that is finite, or a signal."""
    return not isinstance(end, float) or math.isfinite(end)
