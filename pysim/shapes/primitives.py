"""Primitive shapes: of each kind its sizes, mass properties, extents, points and mesh.

A new kind is a class here, its θ in `pysim.inertia.primitives`, its keys in `pysim/scene/toml/records/tables.py`, and
a file in cpp/collision/shapes with its place in shape_kinds.hpp.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pysim.inertia import primitives
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

POINTS_AROUND = 24  # points of a rim, along which a shape touches a field
POINTS_ALONG = 9  # points of the axis of a capsule, likewise
UP = (0, 0, 1)

Sizes = tuple[float, ...]


class Primitive:
    """A kind of primitive shape; its methods are functions of the sizes [m] of `pysim.shapes.Shape`.

    Attributes:
        kind: its name.
        keys: names of its sizes in a scene.
        carrying_points: points that carry it on a plane.
        is_curved: whether it touches with the curvature of its first size, a radius.
        is_flat: whether it touches a terrain at corners and rims alone.
        xml_keys: names in SDF and URDF files of its sizes, each with the count of numbers.
        is_in_urdf: whether URDF files have it.
    """

    kind: ClassVar[str]
    keys: ClassVar[tuple[str, ...]] = ("radius", "length")
    carrying_points: ClassVar[int]
    is_curved: ClassVar[bool] = False
    is_flat: ClassVar[bool] = False
    xml_keys: ClassVar[tuple[tuple[str, int], ...]] = (("radius", 1), ("length", 1))
    is_in_urdf: ClassVar[bool] = True

    def theta(self, size: Sizes, density: float) -> Array:
        """Return θ (10,) of uniform density [kg/m³] about its origin."""
        theta: Array = getattr(primitives, self.kind)(*size, density=density)
        return theta

    def half_sizes(self, size: Sizes) -> Sizes:
        """Return half lengths, radii and semi-axes [m], as the engine and MuJoCo have them."""
        radius, length = size
        return radius, length / 2

    def of_half_sizes(self, half: Sequence[float]) -> Sizes:
        """Return the sizes of half lengths, radii and semi-axes; further numbers are ignored."""
        return half[0], 2 * half[1]

    def ball_radius(self, size: Sizes) -> float:
        """Return the radius of the ball about its origin that holds it [m]."""
        radius, length = size
        return math.hypot(radius, length / 2)

    def thickness(self, size: Sizes) -> float:
        """Return its smallest edge or diameter [m]."""
        radius, length = size
        return min(2 * radius, length)

    def samples(self, size: Sizes) -> tuple[Array, float]:
        """Return points (n, 3) of its surface that can touch a field, or of a core and the radius around it [m]."""
        raise NotImplementedError

    def mesh(self, size: Sizes) -> Any:  # noqa: ANN401, of PyVista
        """Return the mesh of its surface for pictures."""
        raise NotImplementedError


class Box(Primitive):
    """A box, by its full lengths."""

    kind = "box"
    keys = ("x", "y", "z")
    carrying_points = 4
    is_flat = True
    xml_keys = (("size", 3),)

    def half_sizes(self, size: Sizes) -> Sizes:
        return tuple(length / 2 for length in size)

    def of_half_sizes(self, half: Sequence[float]) -> Sizes:
        return tuple(2 * length for length in half)

    def ball_radius(self, size: Sizes) -> float:
        return float(np.linalg.norm(size) / 2)

    def thickness(self, size: Sizes) -> float:
        return min(size)

    def samples(self, size: Sizes) -> tuple[Array, float]:
        corners = np.meshgrid(*([-length / 2, length / 2] for length in size))
        return np.array(corners).reshape(3, -1).T, 0.0

    def mesh(self, size: Sizes) -> Any:  # noqa: ANN401, of PyVista
        import pyvista as pv

        x, y, z = self.half_sizes(size)
        return pv.Box(bounds=(-x, x, -y, y, -z, z)).triangulate()


class Ellipsoid(Primitive):
    """An ellipsoid, by its semi-axes."""

    kind = "ellipsoid"
    keys: ClassVar[tuple[str, ...]] = ("a", "b", "c")
    carrying_points = 1
    xml_keys = (("radii", 3),)
    is_in_urdf = False

    def half_sizes(self, size: Sizes) -> Sizes:
        return size

    def of_half_sizes(self, half: Sequence[float]) -> Sizes:
        return tuple(half)

    def ball_radius(self, size: Sizes) -> float:
        return max(size)

    def thickness(self, size: Sizes) -> float:
        return 2 * min(size)

    def samples(self, size: Sizes) -> tuple[Array, float]:
        angle, height = _around(), np.linspace(-1, 1, POINTS_AROUND)
        z, a = (part.ravel() for part in np.meshgrid(height, angle))
        flat = np.sqrt(1 - z * z)
        return np.column_stack([flat * np.cos(a), flat * np.sin(a), z]) * size, 0.0

    def mesh(self, size: Sizes) -> Any:  # noqa: ANN401, of PyVista
        import pyvista as pv

        ball = pv.Sphere(radius=1.0, theta_resolution=64, phi_resolution=48)
        return ball.scale(list(size), inplace=False)


class Sphere(Ellipsoid):
    """A ball."""

    kind = "sphere"
    keys = ("radius",)
    is_curved = True
    xml_keys = (("radius", 1),)
    is_in_urdf = True

    def of_half_sizes(self, half: Sequence[float]) -> Sizes:
        return (half[0],)

    def samples(self, size: Sizes) -> tuple[Array, float]:
        return np.zeros((1, 3)), size[0]

    def mesh(self, size: Sizes) -> Any:  # noqa: ANN401, of PyVista
        return super().mesh(3 * size)


class Cylinder(Primitive):
    """A cylinder along z."""

    kind = "cylinder"
    carrying_points = 3
    is_flat = True

    def samples(self, size: Sizes) -> tuple[Array, float]:
        radius, length = size
        return np.vstack([_rim(radius, -length / 2), _rim(radius, length / 2)]), 0.0

    def mesh(self, size: Sizes) -> Any:  # noqa: ANN401, of PyVista
        import pyvista as pv

        radius, length = size
        return pv.Cylinder(direction=UP, radius=radius, height=length, resolution=72).triangulate()


class Capsule(Primitive):
    """A cylinder along z with hemispheres at its ends; its length is that of the cylinder."""

    kind = "capsule"
    carrying_points = 2
    is_curved = True

    def ball_radius(self, size: Sizes) -> float:
        return size[0] + size[1] / 2

    def thickness(self, size: Sizes) -> float:
        return 2 * size[0]

    def samples(self, size: Sizes) -> tuple[Array, float]:
        along = np.zeros((POINTS_ALONG, 3))
        along[:, 2] = np.linspace(-size[1] / 2, size[1] / 2, POINTS_ALONG)
        return along, size[0]

    def mesh(self, size: Sizes) -> Any:  # noqa: ANN401, of PyVista
        import pyvista as pv

        radius, length = size
        return pv.Capsule(
            direction=UP, radius=radius, cylinder_length=length, resolution=64
        ).triangulate()


class Cone(Primitive):
    """A cone along z: base at −length/2, tip at +length/2."""

    kind = "cone"
    carrying_points = 3
    is_flat = True
    is_in_urdf = False

    def samples(self, size: Sizes) -> tuple[Array, float]:
        radius, length = size
        return np.vstack([_rim(radius, -length / 2), [[0, 0, length / 2]]]), 0.0

    def mesh(self, size: Sizes) -> Any:  # noqa: ANN401, of PyVista
        import pyvista as pv

        radius, length = size
        return pv.Cone(direction=UP, height=length, radius=radius, resolution=72).triangulate()


def _around() -> Array:
    return np.linspace(0, 2 * np.pi, POINTS_AROUND, endpoint=False)


def _rim(radius: float, z: float) -> Array:
    """Return points (n, 3) of a circle at a height z."""
    angle = _around()
    return np.column_stack(
        [radius * np.cos(angle), radius * np.sin(angle), np.full(POINTS_AROUND, z)]
    )


PRIMITIVES: dict[str, Primitive] = {
    own.kind: own for own in (Box(), Sphere(), Cylinder(), Capsule(), Cone(), Ellipsoid())
}
