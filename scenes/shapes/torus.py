"""A ring with a round cross-section: a torus."""

import numpy as np

from pysim.shapes import SignedDistance, shape


@shape("torus")
class Torus(SignedDistance):
    """A torus about z."""

    radius: float  # [m] of the circle in the middle of the tube
    tube: float  # [m] radius of the tube

    def distance(self, p):
        x, y, z = p
        return np.hypot(np.hypot(x, y) - self.radius, z) - self.tube

    def bounds(self):
        r, h = self.radius + 1.02 * self.tube, 1.02 * self.tube
        return (-r, -r, -h), (r, r, h)
