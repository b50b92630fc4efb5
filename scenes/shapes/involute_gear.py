"""A spur gear with involute teeth, and the points of its flanks that touch another one."""

import numpy as np

from pysim.shapes import SignedDistance, shape


@shape("involute_gear")
class InvoluteGear(SignedDistance):
    """A spur gear about z, with a tooth on x; involutes of one circle are parallel curves."""

    module: float  # [m] pitch diameter by teeth
    teeth: int
    width: float  # [m]
    pressure_angle: float = 0.3490658503988659  # [rad], 20°
    backlash: float = 0.0  # [m] that a tooth is thinner on the pitch circle

    def _circles(self):  # radii of pitch and base circle, half the angle of a tooth on the latter
        pitch, a = self.module * self.teeth / 2, self.pressure_angle
        half = (np.pi / self.teeth - self.backlash / pitch) / 2 + np.tan(a) - a
        return pitch, pitch * np.cos(a), half

    def distance(self, p):
        (pitch, base, half), m, (x, y, z) = self._circles(), self.module, p
        rho, angle, step = np.hypot(x, y), np.arctan2(y, x), 2 * np.pi / self.teeth
        angle = abs(angle - step * np.floor(angle / step + 0.5))  # from the middle of a tooth
        roll = np.sqrt(np.maximum(rho**2 - base**2, 0.0)) / base
        flank = np.minimum(rho, base) * (angle - half) + base * (roll - np.arctan(roll))
        side = np.minimum(np.maximum(flank, rho - pitch - m), rho - pitch + 1.25 * m)
        return np.maximum(side, abs(z) - self.width / 2)

    def bounds(self):
        r, h = 1.02 * self.module * (self.teeth / 2 + 1), 0.51 * self.width
        return (-r, -r, -h), (r, r, h)

    def points(self):
        (pitch, base, half), m = self._circles(), self.module
        rho = np.linspace(max(pitch - m, base), pitch + m, 12)
        rho, side, tooth = np.meshgrid(rho, [-1, 1], np.arange(self.teeth))
        roll = np.sqrt(np.maximum((rho / base) ** 2 - 1, 0))
        angle = 2 * np.pi / self.teeth * tooth + side * (half - roll + np.arctan(roll))
        return np.column_stack([(rho * f(angle)).ravel() for f in (np.cos, np.sin, np.zeros_like)])
