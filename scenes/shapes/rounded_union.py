"""A dumb-bell: two balls and a rod, joined by a round fillet."""

import numpy as np

from pysim.shapes import SignedDistance, shape


@shape("dumb-bell")
class DumbBell(SignedDistance):
    """Two balls on the x axis and the rod between them; the fillet is a polynomial smooth minimum."""

    length: float  # [m] between the centres of the balls
    ball: float  # [m] radius
    rod: float  # [m] radius
    fillet: float  # [m] depth to which it is blended, about four times what it adds

    def distance(self, p):
        x, y, z = p
        half = self.length / 2
        balls = np.sqrt((abs(x) - half) ** 2 + y**2 + z**2) - self.ball
        beyond = np.maximum(abs(x) - half, 0.0)
        rod = np.sqrt(beyond**2 + y**2 + z**2) - self.rod
        near = np.maximum(self.fillet - abs(balls - rod), 0.0) / self.fillet
        return np.minimum(balls, rod) - near**2 * self.fillet / 4

    def bounds(self):
        r = 1.02 * self.ball + self.fillet / 4
        return (-self.length / 2 - r, -r, -r), (self.length / 2 + r, r, r)
