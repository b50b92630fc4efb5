"""A gyroid: the lattice of printed light-weight cores, a triply periodic surface with a thickness."""

import numpy as np

from pysim.shapes import SignedDistance, shape


@shape("gyroid")
class Gyroid(SignedDistance):
    """A sheet about the gyroid sin x cos y + sin y cos z + sin z cos x = 0 [Schoen 1970], cut to a cube."""

    cell: float  # [m] period along the axes
    thickness: float  # [m] of the sheet where it is steepest, on the threefold axes
    edge: float  # [m] of the cube

    def distance(self, p):
        k = 2 * np.pi / self.cell
        (sx, sy, sz), (cx, cy, cz) = np.sin(k * p), np.cos(k * p)
        sheet = abs(sx * cy + sy * cz + sz * cx) / (np.sqrt(3) * k) - self.thickness / 2
        cube = np.maximum(np.maximum(abs(p[0]), abs(p[1])), abs(p[2])) - self.edge / 2
        return np.maximum(sheet, cube)

    def bounds(self):
        h = 0.51 * self.edge
        return (-h, -h, -h), (h, h, h)
