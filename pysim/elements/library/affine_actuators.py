"""Actuators with a gear and ranges, whose force is affine in command, length and rate of their transmission.

    p = clip(gain(l, l′) · clip(u) + bias(l, l′))      gain = g₀ + g₁ l + g₂ l′,  bias = b₀ + b₁ l + b₂ l′

The transmission has the length l = Σ gear_k q_k of coordinates, on which the force is gear_k p, or gear times the
length of a path; a positive p makes it longer. In place of the command u there may be an activation w, with
w′ = (u − w)/T or w′ = u. These are the actuators of MuJoCo [MuJoCo 2026].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements.block import Actuator, actuator
from pysim.elements.channels import real, signal
from pysim.elements.force_range import Range, check_range, clipped
from pysim.elements.units import check_force_command
from pysim.errors import PysimError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def _affine(factors: Sequence[float], length: Any, rate: Any) -> Any:
    """Return f₀ + f₁ l + f₂ l′; factors that are left out are 0."""
    total: Any = 0.0
    for factor, value in zip(factors, (1.0, length, rate), strict=False):
        total = total + factor * value
    return total


def length_of(gear: Sequence[float], numbers: Any) -> Any:
    """Return Σ gear_k x_k of one number or several."""
    if len(gear) == 1:
        return gear[0] * numbers
    return sum(ratio * x for ratio, x in zip(gear, numbers, strict=True))


def spread(gear: Sequence[float], force: Any) -> Any:
    """Return the force on each coordinate."""
    return gear[0] * force if len(gear) == 1 else [ratio * force for ratio in gear]


def held_within(rate: Any, activation: Any, limits: Range) -> Any:
    """Return the rate of an activation, 0 if it leaves its range."""
    if not limits:
        return rate
    lowest, highest = limits
    rate = np.where(activation < highest, rate, np.minimum(rate, 0.0))
    return np.where(activation > lowest, rate, np.maximum(rate, 0.0))


@actuator("motor")
class Motor(Actuator):
    """Force or torque gear · gain · command, with the command and gain · command within ranges."""

    inputs = signal("command", unit="")
    gear: tuple[float, ...] = (1.0,)  # [1 or m/rad], for each coordinate
    gain: float = 1.0  # [N or N·m], force per command
    command_range: Range = ()
    force_range: Range = ()  # [N or N·m], before the gear

    def __post_init__(self) -> None:
        check_range("command_range", self.command_range)
        check_range("force_range", self.force_range)

    def _force(self, command: Any) -> Any:
        return clipped(self.gain * clipped(command, self.command_range), self.force_range)

    def force(self, command: Any) -> Any:
        return spread(self.gear, self._force(command))

    def tension(self, command: Any) -> Any:
        return -self.gear[0] * self._force(command)

    def units(self, inputs: Mapping[str, str]) -> Mapping[str, str]:
        check_force_command(inputs, [*self.gear, self.gain])
        return {}


class AffineForce(Actuator):
    """Base class of actuators whose gain and bias are affine in the length and rate of the transmission."""

    gear: tuple[float, ...] = (1.0,)  # [1 or m/rad], for each coordinate
    gain: tuple[float, ...] = (1.0,)  # g₀, g₁, g₂
    bias: tuple[float, ...] = ()  # b₀, b₁, b₂
    command_range: Range = ()
    force_range: Range = ()  # [N or N·m], before the gear

    def __post_init__(self) -> None:
        check_range("command_range", self.command_range)
        check_range("force_range", self.force_range)
        for name, factors in (("gain", self.gain), ("bias", self.bias)):
            if len(factors) > 3:
                raise PysimError(name, f"has 3 numbers at most, got {len(factors)}")

    def _force(self, value: Any, length: Any, rate: Any) -> Any:
        gain, bias = (_affine(factors, length, rate) for factors in (self.gain, self.bias))
        return clipped(gain * value + bias, self.force_range)

    def _on_coordinates(self, value: Any, q: Any, v: Any) -> Any:
        return spread(
            self.gear, self._force(value, length_of(self.gear, q), length_of(self.gear, v))
        )

    def _along_path(self, value: Any, length: Any, rate: Any) -> Any:
        (gear,) = self.gear
        return -gear * self._force(value, gear * length, gear * rate)


@actuator("affine")
class Affine(AffineForce):
    """Force gain · command + bias, such as that of servos and dampers."""

    inputs = signal("command", unit="")

    def force(self, command: Any, q: Any, v: Any) -> Any:
        return self._on_coordinates(clipped(command, self.command_range), q, v)

    def tension(self, command: Any, length: Any, rate: Any) -> Any:
        return self._along_path(clipped(command, self.command_range), length, rate)


class ActivatedForce(AffineForce):
    """Base class of actuators whose gain acts on an activation."""

    inputs = signal("command", unit="")
    states = real("activation")
    activation_range: Range = ()
    initial_activation: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("activation_range", self.activation_range)

    def start(self) -> Mapping[str, Any]:
        return {"activation": self.initial_activation}

    def force(self, activation: Any, q: Any, v: Any) -> Any:
        return self._on_coordinates(activation, q, v)

    def tension(self, activation: Any, length: Any, rate: Any) -> Any:
        return self._along_path(activation, length, rate)


@actuator("affine_filter")
class AffineFilter(ActivatedForce):
    """Force gain · activation + bias, such as that of a cylinder; the activation follows the command."""

    time_constant: float = 1.0  # [s], T

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.time_constant <= 0:
            raise PysimError("time_constant", f"must be positive [s], got {self.time_constant:g}")

    def state_rate(self, command: Any, activation: Any) -> Any:
        command = clipped(command, self.command_range)
        return held_within(
            (command - activation) / self.time_constant, activation, self.activation_range
        )


@actuator("affine_integrator")
class AffineIntegrator(ActivatedForce):
    """Force gain · activation + bias, such as that of a servo whose velocity is commanded; w′ is the command."""

    def state_rate(self, command: Any, activation: Any) -> Any:
        return held_within(clipped(command, self.command_range), activation, self.activation_range)
