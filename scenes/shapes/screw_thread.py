"""A rod with a round thread, as of a jack or a lamp socket."""

import numpy as np

from pysim.shapes import SignedDistance, shape


@shape("screw_thread")
class ScrewThread(SignedDistance):
    """A rod about z whose radius is that of a right-handed thread, a cosine of the angle and of the height."""

    radius: float  # [m] in the middle between root and crest
    pitch: float  # [m] of the thread
    depth: float  # [m] from root to crest
    length: float  # [m]

    def distance(self, p):
        x, y, z = p
        k = 2 * np.pi / self.pitch
        rho = np.hypot(x, y)
        wave = (x * np.cos(k * z) + y * np.sin(k * z)) / np.maximum(rho, self.radius / 2)
        steepest = np.hypot(1 + self.depth / self.radius, k * self.depth / 2)
        side = (rho - self.radius - self.depth / 2 * wave) / steepest
        return np.maximum(side, abs(z) - self.length / 2)

    def bounds(self):
        r, h = self.radius + 0.55 * self.depth, 0.51 * self.length
        return (-r, -r, -h), (r, r, h)
