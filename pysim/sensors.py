"""Sensors written in Python: what a scene measures, as signals.

    from pysim.sensors import Sensor, sensor, signal

    @sensor("tilt")
    class Tilt(Sensor):
        \"\"\"Angle between z of the frame and the vertical.\"\"\"

        outputs = signal("angle", unit="rad")

        def measure(self, pose):
            return np.arccos(pose.rotation[2][2])

`measure` names what it reads: `q` and `v` of the scene's `coordinates`; `pose`, `twist` and `acceleration` of its
`frame`; `length` and `rate` of its `path`; `wrench` of its `joint`; `gravity`, `t`, `inputs`.
"""

from __future__ import annotations

from pysim.elements.block import Sensor, sensor
from pysim.elements.channels import Signal, signal

__all__ = ["Sensor", "Signal", "sensor", "signal"]
