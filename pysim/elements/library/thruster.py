"""Thruster: force and torque along axes of a frame that follow a command."""

from __future__ import annotations

from typing import Any

import numpy as np

from pysim.elements.channels import Signal
from pysim.elements.force import Force, force
from pysim.elements.force_range import Range, check_range, clipped
from pysim.elements.quantities import Wrench


@force("thruster")
class Thruster(Force):
    """Force and torque at the origin of b, along axes of b, such as those of a propeller or a jet."""

    command: Signal  # type: ignore[valid-type]  # sets the thrust
    force_axis: tuple[float, float, float] = (0.0, 0.0, 1.0)  # force per unit of thrust
    torque_axis: tuple[float, float, float] = (0.0, 0.0, 0.0)  # [m], torque per unit of thrust
    gain: float = 1.0  # [N], thrust per command
    command_range: Range = ()
    force_range: Range = ()  # [N], of the thrust

    def __post_init__(self) -> None:
        check_range("command_range", self.command_range)
        check_range("force_range", self.force_range)

    def wrench(self) -> Wrench:
        command: Any = clipped(self.command, self.command_range)
        thrust = clipped(self.gain * command, self.force_range)
        return Wrench(
            force=thrust * np.array(self.force_axis), torque=thrust * np.array(self.torque_axis)
        )
