"""Sensors written in Python: what a scene measures, as signals.

    from pysim.sensors import Sensor, sensor, signal

    @sensor("tilt")
    class Tilt(Sensor):
        \"\"\"Angle between z of the frame and the vertical.\"\"\"

        outputs = signal("angle", unit="rad")

        def measure(self, pose):
            return np.arccos(pose.rotation[2][2])

`measure` names what it reads: `q` and `v` of the scene's `coordinates`; `pose`, `twist` and `acceleration` of its
`frame`, and the `contact` of the frame's body; `length` and `rate` of its `path`; `wrench` of its `joint`; `gravity`,
`t`, `inputs`. `acceleration.linear` is the classical acceleration of the frame's origin, the second derivative of its
position, and `acceleration.angular` the angular one, both in the axes of the frame; `acceleration.spatial` holds the
derivatives of the numbers of the twist.
"""

from __future__ import annotations

from pysim.elements.block import Sensor, sensor
from pysim.elements.channels import Signal, signal
from pysim.elements.quantities import Acceleration

__all__ = ["Acceleration", "Sensor", "Signal", "sensor", "signal"]
