"""Forces written in Python: springs, dampers, drag and others between frames, along paths and on coordinates.

    import numpy as np

    from pysim.forces import Force, Wrench, force

    @force("air_drag")
    class AirDrag(Force):
        \"\"\"Drag of still air on frame b, which moves relative to frame a.\"\"\"

        coefficient: float  # [N·s²/m²]

        def wrench(self, twist):
            speed = np.sqrt(twist.v @ twist.v)
            return Wrench(force=-self.coefficient * speed * twist.v)

A plugin has one of the methods `wrench(self, pose, twist)`, `tension(self, length, rate)` and `force(self, q, v)`, and
`energy` if it stores energy. Each is called once with symbolic numbers; the recorded formulas run in the engine, which
differentiates them. `states = real("name")` with a method `state_rate` adds states, which an integrator carries along.
"""

from __future__ import annotations

from pysim.elements.channels import Signal, real
from pysim.elements.force import Force, find_force, force
from pysim.elements.quantities import Twist, Wrench
from pysim.joints.displacement import Pose
from pysim.tracing.implicit_equation import solve
from pysim.tracing.lookup_table import table
from pysim.tracing.spline import spline

__all__ = [
    "Force",
    "Pose",
    "Signal",
    "Twist",
    "Wrench",
    "find_force",
    "force",
    "real",
    "solve",
    "spline",
    "table",
]
