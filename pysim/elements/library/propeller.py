"""Propeller: thrust and drag torque of a rotor whose speed is a signal."""

from __future__ import annotations

from typing import Any

import numpy as np

from pysim.elements.channels import Signal
from pysim.elements.force import Force, force
from pysim.elements.quantities import Wrench

SPEED = Signal["rad/s"]


@force("propeller")
class Propeller(Force):
    """Thrust and drag torque of a rotor along z of frame b: T = k_T ω|ω|, Q = −k_Q ω|ω|.

    k_T = C_T ρ D⁴/(2π)² and k_Q = C_Q ρ D⁵/(2π)² of a rotor with diameter D and the coefficients C_T, C_Q of
    revolutions a second [Mahony, Kumar and Corke 2012, section II].
    """

    thrust: float  # [N/(rad/s)²], k_T
    torque: float  # [N·m/(rad/s)²], k_Q, against the rotation about z
    speed: SPEED  # type: ignore[valid-type]  # ω, positive about z

    def wrench(self) -> Wrench:
        speed: Any = self.speed
        square = speed * np.abs(speed)
        return Wrench(force=(0, 0, self.thrust * square), torque=(0, 0, -self.torque * square))
