"""Heights of the ground over points of the world, of symbolic numbers.

Each surface of the ground returns its upper height along the vertical through (x, y), and whether there is one:

    plane          z = (offset − n_x x − n_y y)/n_z
    convex solid   least of the planes that bound it from above, if none of the others lies higher
    quadric        larger root z of |A (p − c)|² = 1
    heights        bilinear in a cell of the grid
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pysim.tracing.expression import Scalar, clip, maximum, minimum, record, where
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.tracing.tape import Tape

NO_GROUND_HEIGHT = -1e9  # [m], the height where there is no ground
PARALLEL_TOLERANCE = 1e-9  # of a unit vector: less is parallel to the vertical


class GroundSurface(Protocol):
    """Surface that is fixed to the world."""

    def height(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Return the upper height z [m] over (x, y) [m], and 1 if there is one, else 0."""
        ...


class Ground:
    """Surfaces fixed to the world, on which a mechanism stands.

    Args:
        surfaces: in any order.
    """

    def __init__(self, surfaces: Sequence[GroundSurface]) -> None:
        self.surfaces = tuple(surfaces)

    def height(self, x: Any, y: Any) -> Any:
        """Return the height z [m] of the highest surface over the point (x, y) [m] of the world, −1e9 over none."""
        highest: Any = NO_GROUND_HEIGHT
        for surface in self.surfaces:
            z, exists = surface.height(x, y)
            highest = maximum(highest, where(exists, z, NO_GROUND_HEIGHT))
        return highest


@dataclass(frozen=True)
class Plane:
    """The plane normal · p = offset; its normal points upwards."""

    normal: tuple[float, float, float]
    offset: float

    def height(self, x: Any, y: Any) -> tuple[Any, Any]:
        a, b, c = self.normal
        return (self.offset - a * x - b * y) / c, 1.0


@dataclass(frozen=True)
class ConvexSolid:
    """The solid n · p ≤ offset of all rows (n, offset) of `planes` (k, 4), n of unit length."""

    planes: Array

    def height(self, x: Any, y: Any) -> tuple[Any, Any]:
        top: Any = -NO_GROUND_HEIGHT
        bottom: Any = NO_GROUND_HEIGHT
        exists: Any = 1.0
        for a, b, c, offset in self.planes.tolist():
            room = offset - a * x - b * y
            if c > PARALLEL_TOLERANCE:
                top = minimum(top, room / c)
            elif c < -PARALLEL_TOLERANCE:
                bottom = maximum(bottom, room / c)
            else:
                exists = exists * (room >= 0)
        return top, exists * (bottom <= top)


@dataclass(frozen=True)
class Quadric:
    """The solid |A (p − c)| ≤ 1, an ellipsoid or an infinite cylinder, between two heights along an axis.

    Attributes:
        A: (k, 3) [1/m]; two rows for a cylinder.
        c: middle (3,) [m].
        axis: unit vector (3,) along which it is cut off.
        half: [m] on both sides of the middle; infinite where it is not cut off.
    """

    A: Array
    c: Array
    axis: Array
    half: float = math.inf

    def height(self, x: Any, y: Any) -> tuple[Any, Any]:
        r = x - float(self.c[0]), y - float(self.c[1])
        up = self.A[:, 2].tolist()
        across = [a * r[0] + b * r[1] for a, b in self.A[:, :2].tolist()]
        # |A (r + z e_z)|² = 1 is square z² + 2 middle z + rest = 0, z from the height of c
        square = float(np.sum(self.A[:, 2] ** 2))
        middle = sum(u * v for u, v in zip(up, across, strict=True))
        rest = sum(v * v for v in across) - 1.0
        if square < PARALLEL_TOLERANCE**2 * float(np.sum(self.A**2)):  # an upright cylinder
            top, bottom, exists = -NO_GROUND_HEIGHT, NO_GROUND_HEIGHT, rest <= 0
        else:
            root = middle * middle - square * rest
            exists = root >= 0
            width = record("sqrt", maximum(root, 0.0)) / square
            top, bottom = -middle / square + width, -middle / square - width
        slope = float(self.axis[2])
        if math.isfinite(self.half):
            along = float(self.axis[0]) * r[0] + float(self.axis[1]) * r[1]
            if abs(slope) > PARALLEL_TOLERANCE:
                ends = (self.half - along) / slope, (-self.half - along) / slope
                top = minimum(top, maximum(*ends))
                bottom = maximum(bottom, minimum(*ends))
            else:
                exists = exists * (along <= self.half) * (along >= -self.half)
        return top + float(self.c[2]), exists * (bottom <= top)


@dataclass(frozen=True)
class HeightGrid:
    """Heights (rows, columns) [m] at nodes with a spacing along x and y [m], centred at the origin of its frame.

    `NO_GROUND_HEIGHT` is the height of a node over nothing, and of the cells around it.

    The frame is upright: it is turned about the vertical, its axes are the columns of the rotation, and moved.
    """

    heights: Array
    spacing: tuple[float, float]
    pose: Array  # (4, 4) in the world
    _places: list[tuple[Tape, int]] = field(default_factory=list, repr=False, compare=False)

    def height(self, x: Any, y: Any) -> tuple[Any, Any]:
        rows, columns = self.heights.shape
        (c, s), (px, py, pz) = self.pose[:2, 0].tolist(), self.pose[:3, 3].tolist()
        dx, dy = x - px, y - py
        u = (c * dx + s * dy) / self.spacing[0] + 0.5 * (columns - 1)
        v = (c * dy - s * dx) / self.spacing[1] + 0.5 * (rows - 1)
        within = (u >= 0) * (u <= columns - 1) * (v >= 0) * (v <= rows - 1)
        i = record("floor", clip(u, 0.0, columns - 1.5))
        j = record("floor", clip(v, 0.0, rows - 1.5))
        node = j * columns + i
        h00, h10, h01, h11 = (self._at(node, k) for k in (0, 1, columns, columns + 1))
        low = h00 + (u - i) * (h10 - h00)
        high = h01 + (u - i) * (h11 - h01)
        z = low + (v - j) * (high - low)
        if self.heights.min() <= NO_GROUND_HEIGHT:  # one of the nodes is over nothing
            within = within * (minimum(minimum(h00, h10), minimum(h01, h11)) > NO_GROUND_HEIGHT)
        return pz + z, within

    def _at(self, node: Any, offset: int) -> Any:
        if not isinstance(node, Scalar):
            return float(self.heights.ravel()[int(node) + offset])
        tape = node.tape
        first = next((first for known, first in self._places if known is tape), None)
        if first is None:
            first = tape.table(self.heights.ravel().tolist())
            self._places[:] = [(tape, first)]
        return Scalar(tape, tape.node("lookup", node.index, data=(first + offset, 1)))
