"""The inside of a sphere: a bowl."""

import numpy as np

from pysim.shapes import SignedDistance, shape


@shape("bowl")
class Bowl(SignedDistance):
    """Everything outside of a sphere about the origin; drawn below `rim`."""

    radius: float  # [m]
    rim: float = 0.0  # [m] height of the rim above the centre

    def distance(self, p):
        return self.radius - np.sqrt(p @ p)

    def bounds(self):
        r = 1.02 * self.radius
        return (-r, -r, -r), (r, r, self.rim)
