"""Series elastic actuator: a motor that drives its joint through a spring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pysim.elements.block import Actuator, actuator
from pysim.elements.channels import real, signal
from pysim.elements.units import check_force_command

if TYPE_CHECKING:
    from collections.abc import Mapping


@actuator("series_elastic")
class SeriesElastic(Actuator):
    """Motor, commanded by its torque u at the joint, that drives the joint through a spring and a damper.

        τ = k (θ − q) + c (ω − v),   J ω′ = u − τ − b ω,   θ′ = ω      [Pratt and Williamson 1995]

    The angle θ and the velocity ω of the motor, divided by the gear ratio, are states; J is N² times the rotor's
    inertia. `NAME.angle` less the joint's coordinate, times k, is the torque that a controller may feed back.
    """

    inputs = signal("command", unit="")
    states = real("angle") * real("velocity")  # [m or rad], θ; [m/s or rad/s], ω
    stiffness: float  # [N/m or N·m/rad], k
    inertia: float  # [kg or kg·m²], J, at the joint
    damping: float = 0.0  # [N·s/m or N·m·s/rad], c, of the spring
    friction: float = 0.0  # [N·s/m or N·m·s/rad], b, viscous, of the motor
    positive = ("stiffness", "inertia")
    not_negative = ("damping", "friction")

    def initial(self, q: Any, v: Any) -> Any:
        return q, v

    def force(self, q: Any, v: Any, angle: Any, velocity: Any) -> Any:
        return self.stiffness * (angle - q) + self.damping * (velocity - v)

    def state_rate(self, command: Any, q: Any, v: Any, angle: Any, velocity: Any) -> Any:
        torque = self.force(q, v, angle, velocity)
        return velocity, (command - torque - self.friction * velocity) / self.inertia

    def units(self, inputs: Mapping[str, str]) -> Mapping[str, str]:
        check_force_command(inputs, ())
        return {}
