"""Shapes: what bodies look like, and the mass properties of a shape of uniform density.

Sizes [m]: box (x, y, z) full lengths; sphere (radius); cylinder, cone (radius, length); capsule (radius, length
without the caps); ellipsoid (three semi-axes); a mesh has none. Every primitive is centred at its origin, except that
a cone's origin is the middle of its axis: base at z = −length/2, tip at z = +length/2. Axes are z.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.inertia import theta_from_com

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SIZES: dict[str, tuple[str, ...]] = {
    "box": ("x", "y", "z"),
    "sphere": ("radius",),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"),
    "cone": ("radius", "length"),
    "ellipsoid": ("a", "b", "c"),
    "mesh": (),
}


@dataclass(frozen=True)
class Shape:
    """A primitive by its sizes [m], or a mesh by its file and scale."""

    kind: str
    size: tuple[float, ...] = ()
    mesh: Path | None = None
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)


@dataclass(frozen=True)
class Geometry:
    """A shape on a body: `pose` (4, 4) in the body frame, colour (r, g, b, a), role "visual" or "collision"."""

    shape: Shape
    pose: Array
    color: tuple[float, float, float, float] | None = None
    role: str = "visual"

    def moved(self, pose: Array) -> Geometry:
        """Return the same geometry on a body in which the old body frame sits at `pose` (4, 4)."""
        return replace(self, pose=pose @ self.pose)


def primitive_volume(shape: Shape) -> float:
    """Return the volume of a primitive [m³]."""
    size = shape.size
    match shape.kind:
        case "box":
            return size[0] * size[1] * size[2]
        case "sphere":
            return 4 / 3 * np.pi * size[0] ** 3
        case "cylinder":
            return np.pi * size[0] ** 2 * size[1]
        case "capsule":
            return np.pi * size[0] ** 2 * (size[1] + 4 / 3 * size[0])
        case "cone":
            return np.pi * size[0] ** 2 * size[1] / 3
        case "ellipsoid":
            return 4 / 3 * np.pi * size[0] * size[1] * size[2]
    raise ValueError(f"no primitive is called {shape.kind!r}")


def primitive_theta(shape: Shape, density: float) -> Array:
    """Return θ (10,) of a primitive of uniform density [kg/m³] about its origin."""
    mass = density * primitive_volume(shape)
    com = np.zeros(3)
    size = shape.size
    match shape.kind:
        case "box":
            x, y, z = np.square(size) / 12
            moments = (y + z, z + x, x + y)
        case "sphere":
            moments = (0.4 * size[0] ** 2,) * 3
        case "cylinder":
            across = size[0] ** 2 / 4 + size[1] ** 2 / 12
            moments = (across, across, size[0] ** 2 / 2)
        case "capsule":
            moments = _capsule_moments(*size)
        case "cone":
            radius, length = size
            com[2] = -length / 4
            across = 3 / 20 * radius**2 + 3 / 80 * length**2
            moments = (across, across, 0.3 * radius**2)
        case _:
            a, b, c = np.square(size) / 5
            moments = (b + c, c + a, a + b)
    return theta_from_com(mass, com, mass * np.diag(moments))


def _capsule_moments(radius: float, length: float) -> tuple[float, float, float]:
    """Principal moments over mass [m²] of a cylinder with two half balls."""
    middle, caps = length, 4 / 3 * radius  # volumes over π r²
    total = middle + caps
    along = (middle * radius**2 / 2 + caps * 0.4 * radius**2) / total
    # a half ball's centroid lies 3/8 r from its face, which lies length/2 from the middle
    cap = 0.4 * radius**2 + length**2 / 4 + 3 / 8 * length * radius
    across = (middle * (radius**2 / 4 + length**2 / 12) + caps * cap) / total
    return across, across, along
