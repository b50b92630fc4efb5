"""Friction with a state, the LuGre model, whose bristles bend before they slide; and a clutch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements.channels import Signal, real
from pysim.elements.force import Force, force
from pysim.elements.library.forces import against, difference

if TYPE_CHECKING:
    from collections.abc import Sequence


@force("lugre_friction")
class LuGreFriction(Force):
    """Dry friction of elastic bristles on a coordinate, or between two: it sticks, creeps before it slides, and slips.

    F = σ0 z + σ1 z′ + σ2 v,  z′ = v − σ0 |v| z/g(v),  g = Fc + (Fs − Fc) exp(−(v/vs)²), with the deflection z of the
    bristles [Canudas de Wit, Olsson, Åström and Lischinsky 1995]. z settles within g/(σ0 |v|), which steps of explicit
    schemes must not exceed.
    """

    states = real("bristle")  # [m or rad], z
    kinetic: float  # [N or N·m], Fc
    static: float  # [N or N·m], Fs
    stribeck_speed: float  # [m/s or rad/s], vs
    bristle_stiffness: float  # [N/m or N·m/rad], σ0
    bristle_damping: float = 0.0  # [N·s/m or N·m·s/rad], σ1
    viscous: float = 0.0  # [N·s/m or N·m·s/rad], σ2
    positive = ("kinetic", "static", "stribeck_speed", "bristle_stiffness")
    not_negative = ("bristle_damping", "viscous")

    def state_rate(self, v: Sequence[Any], bristle: Any) -> Any:
        rate = difference(v)
        sliding: Any = np.exp(-((rate / self.stribeck_speed) ** 2))
        most = self.kinetic + (self.static - self.kinetic) * sliding
        return rate - self.bristle_stiffness * np.abs(rate) * bristle / most

    def force(self, v: Sequence[Any], bristle: Any) -> list[Any]:
        damping = self.bristle_damping * self.state_rate(v, bristle)
        return against(v, self.bristle_stiffness * bristle + damping + self.viscous * difference(v))


@force("clutch")
class Clutch(Force):
    """Friction between two coordinates, or on one, that a signal engages: capacity · engagement · v/√(v² + vr²)."""

    engagement: Signal  # type: ignore[valid-type]  # from 0, open, to 1, closed
    capacity: float  # [N or N·m], largest force, of the closed clutch
    rounding_speed: float = 1e-3  # [m/s or rad/s], vr, below which the clutch creeps
    positive = ("rounding_speed",)
    not_negative = ("capacity",)

    def force(self, v: Sequence[Any]) -> list[Any]:
        rate = difference(v)
        smooth: Any = np.sqrt(rate * rate + self.rounding_speed**2)
        engagement: Any = self.engagement
        closed = np.clip(engagement, 0.0, 1.0)
        return against(v, self.capacity * closed * rate / smooth)
