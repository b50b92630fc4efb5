"""A plate cam from its law of motion: the lift as a coupling, and the shape of the cam that gives it to a roller."""

import numpy as np

from pysim.joints import relation
from pysim.shapes import SignedDistance, shape

LIFT = 0.025  # [m]
# the rest of the turn is at the lower dwell
RISE, UPPER, RETURN = np.radians(120), np.radians(60), np.radians(100)
BASE = 0.05  # [m], from the cam's axis to the roller's at the lower dwell


def lift(angle):
    """Rise by a cycloid, dwell, return by a polynomial 3-4-5, dwell; speed and acceleration are continuous."""
    turn = angle - 2 * np.pi * np.floor(angle / (2 * np.pi))
    up = np.minimum(turn / RISE, 1.0)
    down = np.clip((turn - RISE - UPPER) / RETURN, 0.0, 1.0)
    rise = up - np.sin(2 * np.pi * up) / (2 * np.pi)
    return LIFT * (rise - down**3 * (10 - 15 * down + 6 * down**2))


@relation("cam_law")
def place_of_roller(angle):
    """Return the distance of the axes [m] at an angle of the cam."""
    return BASE + lift(angle)


@shape("law_cam")
class LawCam(SignedDistance):
    """The cam, about z: the curve of the roller's centre, less the roller's radius along its normal."""

    roller: float  # [m], radius
    thickness: float  # [m]

    def distance(self, p):
        x, y, z = p
        # the roller is at y = BASE where the cam has not turned
        angle, step = np.pi / 2 - np.arctan2(y, x), 1e-4
        pitch = BASE + lift(angle)
        slope = (lift(angle + step) - lift(angle - step)) / (2 * step) / pitch
        side = (np.hypot(x, y) - pitch) / np.sqrt(1 + slope**2) + self.roller
        return np.maximum(side / 1.2, abs(z) - self.thickness / 2)

    def bounds(self):
        r, h = 1.02 * (BASE + LIFT), 0.51 * self.thickness
        return (-r, -r, -h), (r, r, h)
