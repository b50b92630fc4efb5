"""Actuators written in Python: forces on joints, or along paths, that follow a command.

    from pysim.actuators import Actuator, actuator

    @actuator("weak_motor")
    class WeakMotor(Actuator):
        \"\"\"Torque that falls with speed.\"\"\"

        stall: float  # [N·m]
        free: float  # [rad/s]

        def force(self, command, v):
            return self.stall * command * (1 - v / self.free)

`force(self, command, q, v)` returns the generalised force on the joint, `tension(self, command, length, rate)` the
tension of a path; each names the arguments that it uses.
"""

from __future__ import annotations

from pysim.elements.block import Actuator, actuator
from pysim.elements.channels import Signal, real, signal
from pysim.tracing.implicit_equation import solve
from pysim.tracing.lookup_table import table
from pysim.tracing.spline import spline

__all__ = ["Actuator", "Signal", "actuator", "real", "signal", "solve", "spline", "table"]
