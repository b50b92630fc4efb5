"""Rising hinge: the leaf climbs a ramp as it opens, so that its weight closes the door."""

from __future__ import annotations

from typing import Any

import numpy as np

from pysim.joints import Joint, Pose, real

__version__ = "1.0.0"


class RisingHinge(Joint):
    """Rotates about z and rises as it opens to either side, to the top at half a turn."""

    rise: float  # [m] height of the ramp
    coordinates = real("angle")

    def placement(self, q: Any) -> Pose:
        height = self.rise * np.sin(q.angle / 2) ** 2
        return Pose.rotate_z(q.angle) @ Pose.translate(0, 0, height)
