"""Tendons: springs with slack and stops along paths and on weighted sums of coordinates.

The length of a tendon is that of its path, or L = Σ cᵢ qᵢ of coordinates, on which the tension T acts as −cᵢ T.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements.force import Force, force
from pysim.errors import PysimError

if TYPE_CHECKING:
    from collections.abc import Sequence


def _stretch(length: Any, rest: float, slack: float) -> Any:
    """Return the stretch beyond the lengths from `rest` to `rest + slack`, negative below them."""
    if slack == 0:
        return length - rest
    return np.maximum(length - rest - slack, 0.0) + np.minimum(length - rest, 0.0)


def _stop(length: Any, rate: Any, limits: tuple[float, float], law: tuple[float, float]) -> Any:
    """Return the tension of stops at two lengths, which only push towards the lengths between them."""
    (lower, upper), (stiffness, damping) = limits, law
    above, below = length - upper, lower - length
    pull = np.where(above > 0, np.maximum(stiffness * above + damping * rate, 0.0), 0.0)
    push = np.where(below > 0, np.maximum(stiffness * below - damping * rate, 0.0), 0.0)
    return pull - push


def _stop_energy(length: Any, limits: tuple[float, float], stiffness: float) -> Any:
    above, below = np.maximum(length - limits[1], 0.0), np.maximum(limits[0] - length, 0.0)
    return 0.5 * stiffness * (above * above + below * below)


def _sum(weights: Sequence[float], numbers: Sequence[Any]) -> Any:
    if len(weights) != len(numbers):
        problem = f"must have one number for each coordinate, got {len(weights)} for {len(numbers)}"
        raise PysimError("weights", f"{problem}; write as many as coordinates")
    return sum(c * x for c, x in zip(weights, numbers, strict=True))


def _check_limits(lower: float, upper: float) -> None:
    if lower > upper:
        raise PysimError("lower", f"{lower:g} is above upper, {upper:g}; swap them")


@force("slack_spring")
class SlackSpring(Force):
    """Spring and damper along a path; the spring is slack from its rest length to `slack` beyond it."""

    stiffness: float  # [N/m]
    rest_length: float  # [m]
    slack: float = 0.0  # [m]
    damping: float = 0.0  # [N·s/m]
    not_negative = ("slack",)
    resisting = ("damping",)

    def tension(self, length: Any, rate: Any) -> Any:
        return self.stiffness * _stretch(length, self.rest_length, self.slack) + self.damping * rate

    def energy(self, length: Any) -> Any:
        stretch = _stretch(length, self.rest_length, self.slack)
        return 0.5 * self.stiffness * stretch * stretch


@force("path_stop")
class PathStop(Force):
    """Stops of a path's length: a spring and a damper beyond each, which only push it back."""

    lower: float  # [m]
    upper: float  # [m]
    stiffness: float  # [N/m]
    damping: float = 0.0  # [N·s/m]
    not_negative = ("stiffness", "damping")

    def __post_init__(self) -> None:
        _check_limits(self.lower, self.upper)

    def tension(self, length: Any, rate: Any) -> Any:
        limits, law = (self.lower, self.upper), (self.stiffness, self.damping)
        return _stop(length, rate, limits, law)

    def energy(self, length: Any) -> Any:
        return _stop_energy(length, (self.lower, self.upper), self.stiffness)


@force("weighted_spring")
class WeightedSpring(Force):
    """Spring and damper on a weighted sum of coordinates; the spring is slack from `rest` to `slack` beyond it."""

    weights: tuple[float, ...]  # of the coordinates
    stiffness: float  # [N/m or N·m/rad, of the sum]
    rest: float = 0.0  # [m or rad], the sum at rest
    slack: float = 0.0  # [m or rad]
    damping: float = 0.0  # [N·s/m or N·m·s/rad]
    not_negative = ("slack",)
    resisting = ("damping",)

    def force(self, q: Sequence[Any], v: Sequence[Any]) -> list[Any]:
        stretch = _stretch(_sum(self.weights, q), self.rest, self.slack)
        pull = self.stiffness * stretch + self.damping * _sum(self.weights, v)
        return [-c * pull for c in self.weights]

    def energy(self, q: Sequence[Any]) -> Any:
        stretch = _stretch(_sum(self.weights, q), self.rest, self.slack)
        return 0.5 * self.stiffness * stretch * stretch


@force("weighted_stop")
class WeightedStop(Force):
    """Stops of a weighted sum of coordinates: a spring and a damper beyond each, which only push it back."""

    weights: tuple[float, ...]  # of the coordinates
    lower: float  # [m or rad]
    upper: float  # [m or rad]
    stiffness: float  # [N/m or N·m/rad, of the sum]
    damping: float = 0.0  # [N·s/m or N·m·s/rad]
    not_negative = ("stiffness", "damping")

    def __post_init__(self) -> None:
        _check_limits(self.lower, self.upper)

    def force(self, q: Sequence[Any], v: Sequence[Any]) -> list[Any]:
        limits, law = (self.lower, self.upper), (self.stiffness, self.damping)
        pull = _stop(_sum(self.weights, q), _sum(self.weights, v), limits, law)
        return [-c * pull for c in self.weights]

    def energy(self, q: Sequence[Any]) -> Any:
        return _stop_energy(_sum(self.weights, q), (self.lower, self.upper), self.stiffness)
