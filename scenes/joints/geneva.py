"""A Geneva drive of four slots: its motion as a coupling, and the shapes of its wheel and driver."""

import numpy as np

from pysim.joints import relation
from pysim.shapes import SignedDistance, shape

CENTRES = 0.1  # [m], distance of the axes
CRANK = CENTRES * np.sin(np.pi / 4)  # [m], so that the pin enters along the slot
PIN = 0.006  # [m], radius
LOCK = 0.05  # [m], radius of the arc that holds the wheel between two steps
PLAY = 5e-4  # [m] between wheel and driver


@relation("geneva")
def wheel_angle(crank):
    """Turn by a quarter while the pin is in a slot, and stand for the other three quarters of the crank's turn."""
    turns = np.floor((crank + np.pi) / (2 * np.pi))
    angle = crank - 2 * np.pi * turns  # from the line of centres, −π to π
    in_slot = np.arctan2(CRANK * np.sin(angle), CENTRES - CRANK * np.cos(angle))
    locked = np.where(angle > 0, np.pi / 4, -np.pi / 4)
    return -np.pi / 2 * turns - np.where(abs(angle) < np.pi / 4, in_slot, locked)


@shape("geneva_wheel")
class GenevaWheel(SignedDistance):
    """The wheel, about z, with slots along x and y."""

    width: float  # [m]

    def distance(self, p):
        x, y, z = abs(p[0]), abs(p[1]), abs(p[2])
        slot = np.maximum(np.minimum(x, y) - PIN, CENTRES - CRANK - np.maximum(x, y))
        arc = np.hypot((x + y) / np.sqrt(2) - CENTRES, (x - y) / np.sqrt(2)) - LOCK
        disc = np.hypot(x, y) - CRANK
        return np.maximum(np.maximum(disc, z - self.width / 2), -np.minimum(slot, arc))

    def bounds(self):
        r, h = 1.02 * CRANK, 0.51 * self.width
        return (-r, -r, -h), (r, r, h)


@shape("geneva_driver")
class GenevaDriver(SignedDistance):
    """The disc that locks the wheel, about z, cut where the wheel passes."""

    width: float  # [m]

    def distance(self, p):
        x, y, z = p
        disc = np.hypot(x, y) - (LOCK - PLAY)
        cut = CRANK + PLAY - np.hypot(x - CENTRES, y)
        return np.maximum(np.maximum(disc, cut), abs(z) - self.width / 2)

    def bounds(self):
        h = 0.51 * self.width
        return (-1.02 * LOCK, -1.02 * LOCK, -h), (1.02 * LOCK, 1.02 * LOCK, h)
