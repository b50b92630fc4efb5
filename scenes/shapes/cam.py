"""A plate cam whose pitch curve is an eccentric circle with lobes, from its profile as a table."""

import numpy as np

from pysim.shapes import SignedDistance, shape


@shape("eccentric_cam")
class EccentricCam(SignedDistance):
    """A circular disc that turns about a point beside its centre; the axis is z."""

    radius: float  # [m] of the disc
    eccentricity: float  # [m] from the axis of rotation to the centre of the disc, along x
    thickness: float  # [m]

    def distance(self, p):
        x, y, z = p
        round_ = np.hypot(x - self.eccentricity, y) - self.radius
        flat = abs(z) - self.thickness / 2
        outside = np.hypot(np.maximum(round_, 0.0), np.maximum(flat, 0.0))
        return outside + np.minimum(np.maximum(round_, flat), 0.0)

    def bounds(self):
        r, e, h = 1.02 * self.radius, self.eccentricity, 0.51 * self.thickness
        return (e - r, -r, -h), (e + r, r, h)
