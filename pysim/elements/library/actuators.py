"""Actuators that come with pysim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements.block import Actuator, actuator
from pysim.elements.channels import NONE, real, signal
from pysim.elements.force_range import Range, check_range, clipped
from pysim.elements.gains import Gain, gain_of
from pysim.elements.interpolation import polyline
from pysim.elements.units import check_force_command, check_same_unit
from pysim.errors import PysimError

if TYPE_CHECKING:
    from collections.abc import Mapping


@actuator("force")
class ForceActuator(Actuator):
    """Force or torque of the size that it is commanded; along a path, its tension."""

    inputs = signal("command", unit="", size="n")
    gear: Gain = 1.0  # [1], force on the joint per command

    def force(self, command: Any) -> Any:
        return gain_of("gear", self.gear, command) * command

    def units(self, inputs: Mapping[str, str]) -> Mapping[str, str]:
        check_force_command(inputs, np.atleast_1d(self.gear).tolist())
        return {}


class Prescribed(Actuator):
    """Force offset + amplitude sin(frequency t + phase), as an actuator without a type prescribes it."""

    inputs = NONE
    offset: float  # [N or N·m]
    amplitude: float  # [N or N·m]
    frequency: float  # [rad/s]
    phase: float  # [rad]

    def force(self, t: Any) -> Any:
        wave: Any = np.sin(self.frequency * t + self.phase)
        return self.offset + self.amplitude * wave


@actuator("winch")
class Winch(Actuator):
    """Rope along a path that pulls with the commanded tension, and never pushes."""

    inputs = signal("command", unit="N")

    def tension(self, command: Any) -> Any:
        return np.maximum(command, 0.0)


@actuator("rope_winch")
class RopeWinch(Actuator):
    """Elastic rope along a path whose rest length is commanded; it never pushes."""

    inputs = signal("command", unit="m")
    stiffness: float  # [N/m]
    damping: float = 0.0  # [N·s/m], while it is taut
    not_negative = ("stiffness", "damping")

    def tension(self, command: Any, length: Any, rate: Any) -> Any:
        stretch = length - command
        pull = np.maximum(self.stiffness * stretch + self.damping * rate, 0.0)
        return np.where(stretch > 0, pull, 0.0)


@actuator("position_servo")
class PositionServo(Actuator):
    """Servo that pulls a coordinate to its command: kp (command − q) − kd v, within its range."""

    inputs = signal("command", unit="", size="n")
    kp: Gain  # [N/m or N·m/rad]
    kd: Gain = 0.0  # [N·s/m or N·m·s/rad]
    force_range: Range = ()  # [N or N·m], lowest and highest
    resisting = ("kp", "kd")

    def __post_init__(self) -> None:
        check_range("force_range", self.force_range)

    def force(self, command: Any, q: Any, v: Any) -> Any:
        force = gain_of("kp", self.kp, q) * (command - q) - gain_of("kd", self.kd, q) * v
        return clipped(force, self.force_range)

    def units(self, inputs: Mapping[str, str]) -> Mapping[str, str]:
        check_same_unit("command", inputs["command"], inputs.get("q", ""))
        return {}


@actuator("velocity_servo")
class VelocityServo(Actuator):
    """Servo that drives a coordinate at its commanded velocity: kd (command − v), within its range."""

    inputs = signal("command", unit="", size="n")
    kd: Gain  # [N·s/m or N·m·s/rad]
    force_range: Range = ()  # [N or N·m], lowest and highest
    resisting = ("kd",)

    def __post_init__(self) -> None:
        check_range("force_range", self.force_range)

    def force(self, command: Any, v: Any) -> Any:
        return clipped(gain_of("kd", self.kd, v) * (command - v), self.force_range)

    def units(self, inputs: Mapping[str, str]) -> Mapping[str, str]:
        check_same_unit("command", inputs["command"], inputs.get("v", ""))
        return {}


@actuator("dc_motor")
class DCMotor(Actuator):
    """DC motor with gear, commanded by its voltage: V = R i + L di/dt + k N v, force N k i on the joint."""

    inputs = signal("command", unit="V")
    states = real("current")  # [A]
    resistance: float  # [Ω], R
    inductance: float  # [H], L
    constant: float  # [N·m/A or V·s/rad], k
    gear: float = 1.0  # [1], N, turns of the rotor per turn of the joint
    rotor_inertia: float = 0.0  # [kg·m²]; the joint receives N² times as much
    positive = ("inductance",)
    not_negative = ("resistance", "rotor_inertia")

    def state_rate(self, command: Any, v: Any, current: Any) -> Any:
        back = self.constant * self.gear * v
        return (command - self.resistance * current - back) / self.inductance

    def force(self, current: Any) -> Any:
        return self.gear * self.constant * current

    def reflected_inertia(self) -> float:
        return self.gear**2 * self.rotor_inertia


@actuator("torque_speed")
class TorqueSpeedMotor(Actuator):
    """Force that is commanded, within a limit that falls with the speed as a table says."""

    inputs = signal("command", unit="")
    speed: tuple[float, ...]  # [m/s or rad/s], increasing
    limit: tuple[float, ...]  # [N or N·m] at each speed; straight between, constant beyond

    def __post_init__(self) -> None:
        if len(self.speed) != len(self.limit) or len(self.speed) < 2:
            problem = (
                f"needs two or more points, got {len(self.speed)} and {len(self.limit)} limits"
            )
            raise PysimError("speed", f"{problem}; write one limit for each speed")
        if not (np.diff(self.speed) > 0).all():
            raise PysimError("speed", f"must increase, got {list(self.speed)}; sort the points")
        if min(self.limit) < 0:
            raise PysimError("limit", f"must not be negative, got {min(self.limit):g}; change it")

    def force(self, command: Any, v: Any) -> Any:
        first, last = self.speed[0], self.speed[-1]
        fast = np.clip(np.abs(v), first, last)
        most = polyline(fast, self.speed, self.limit)
        return np.clip(command, -most, most)

    def units(self, inputs: Mapping[str, str]) -> Mapping[str, str]:
        check_force_command(inputs, ())
        return {}
