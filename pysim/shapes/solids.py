"""Primitives, meshes and fields as shapes of bodies, for pictures, contacts and mass properties of uniform density.

Sizes [m]: box (x, y, z) full lengths; sphere (radius); cylinder, cone (radius, length); capsule (radius, length
without the caps); ellipsoid (three semi-axes); a mesh has none. Every primitive is centred at its origin, except that
a cone's origin is the middle of its axis: base at z = −length/2, tip at z = +length/2. Axes are z.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pysim.shapes.primitives import PRIMITIVES, Primitive
from pysim.typing import Array

if TYPE_CHECKING:
    from pathlib import Path

    from pysim.shapes.height_field import HeightField
    from pysim.shapes.signed_distance import Field

MESH_SUFFIXES = (".stl", ".obj", ".ply", ".dae", ".glb")  # files of these kinds are read
READ_SUFFIXES = (*MESH_SUFFIXES, ".vtp")  # with those of OpenSim's bones
SIZES: dict[str, tuple[str, ...]] = {
    **{kind: own.keys for kind, own in PRIMITIVES.items()},
    "mesh": (),
}


@dataclass(frozen=True)
class Shape:
    """A primitive by its sizes [m], a mesh by its file and scale, or a field by its signed distance.

    The mesh of a field is its surface, for pictures and mass properties.
    """

    kind: str
    size: tuple[float, ...] = ()
    mesh: Path | None = None
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    field: Field | HeightField | None = None

    @property
    def primitive(self) -> Primitive | None:
        """Its kind, None of a mesh or field."""
        return PRIMITIVES.get(self.kind)


@dataclass(frozen=True)
class MassSource:
    """Contribution of a shape to its body's mass: by a density [kg/m³], or by its share of the volume.

    A mesh stands for the solid inside it, with small holes closed (`repair`), for its convex hull (`convex`), or for a
    sheet of a thickness [m] (`shell`).
    """

    density: float | None = None
    repair: bool = False
    convex: bool = False
    shell: float | None = None


@dataclass(frozen=True)
class Geometry:
    """A shape on a body: `pose` (4, 4) in the body frame, colour (r, g, b, a), role "visual" or "collision".

    `mass_source` describes its contribution to the body's mass; None if it has none. A bar of a rod is not drawn where
    the rod is, as one smooth tube.
    """

    shape: Shape
    pose: Array
    color: tuple[float, float, float, float] | None = None
    role: str = "visual"
    mass_source: MassSource | None = None
    is_bar: bool = False

    def moved(self, pose: Array) -> Geometry:
        """Return the geometry in another body frame, in which the present one has the pose `pose` (4, 4)."""
        return replace(self, pose=pose @ self.pose)


def drawn(shape: Shape) -> Shape:
    """Return a shape as it is drawn: a field by the mesh of its surface."""
    return shape if shape.field is None else Shape("mesh", (), shape.mesh)


def primitive_volume(shape: Shape) -> float:
    """Return the volume of a primitive [m³]."""
    return float(primitive_theta(shape, 1.0)[0])


def primitive_theta(shape: Shape, density: float) -> Array:
    """Return θ (10,) of a primitive of uniform density [kg/m³] about its origin."""
    if shape.primitive is None:
        raise ValueError(f"no primitive is called {shape.kind!r}")
    return shape.primitive.theta(shape.size, density)
