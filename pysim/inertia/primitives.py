"""Mass properties of primitives of uniform density, solid or hollow, in closed form.

Sizes [m] are numbers or arrays that broadcast; the result is θ (…, 10) about the primitive's origin, its centre (for a
cone the middle of its axis), with axes along z. One of these is given:

    density    [kg/m³]
    mass       [kg]

and thickness [m] for a hollow primitive, which is closed and whose wall grows inwards. The cavity is the primitive of
the same kind whose faces lie `thickness` further in (for an ellipsoid, with semi-axes shorter by that much).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import PysimError
from pysim.spatial.arrays import checked

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pysim.spatial.arrays import Array

    Sizes = tuple[Array, ...]


def box(
    x: ArrayLike,
    y: ArrayLike,
    z: ArrayLike,
    *,
    density: ArrayLike | None = None,
    mass: ArrayLike | None = None,
    thickness: ArrayLike | None = None,
) -> Array:
    """Return θ of a box of full lengths x, y, z."""
    outer, t = _sizes(thickness, x=x, y=y, z=z)
    cavity = None if t is None else _inside(_box(*(a - 2 * t for a in outer)), outer, 2 * t)
    return _with_mass(_box(*outer), cavity, density, mass)


def sphere(
    radius: ArrayLike,
    *,
    density: ArrayLike | None = None,
    mass: ArrayLike | None = None,
    thickness: ArrayLike | None = None,
) -> Array:
    """Return θ of a ball or a hollow sphere of this outer radius."""
    (r,), t = _sizes(thickness, radius=radius)
    cavity = None if t is None else _inside(_ellipsoid(r - t, r - t, r - t), (r,), t)
    return _with_mass(_ellipsoid(r, r, r), cavity, density, mass)


def ellipsoid(
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike,
    *,
    density: ArrayLike | None = None,
    mass: ArrayLike | None = None,
    thickness: ArrayLike | None = None,
) -> Array:
    """Return θ of an ellipsoid of semi-axes a, b, c."""
    outer, t = _sizes(thickness, a=a, b=b, c=c)
    cavity = None if t is None else _inside(_ellipsoid(*(s - t for s in outer)), outer, t)
    return _with_mass(_ellipsoid(*outer), cavity, density, mass)


def cylinder(
    radius: ArrayLike,
    length: ArrayLike,
    *,
    density: ArrayLike | None = None,
    mass: ArrayLike | None = None,
    thickness: ArrayLike | None = None,
) -> Array:
    """Return θ of a cylinder along z."""
    (r, h), t = _sizes(thickness, radius=radius, length=length)
    cavity = None if t is None else _inside(_cylinder(r - t, h - 2 * t), (2 * r, h), 2 * t)
    return _with_mass(_cylinder(r, h), cavity, density, mass)


def tube(
    radius: ArrayLike,
    length: ArrayLike,
    *,
    density: ArrayLike | None = None,
    mass: ArrayLike | None = None,
    thickness: ArrayLike,
) -> Array:
    """Return θ of a tube along z, open at both ends, of this outer radius."""
    (r, h), t = _sizes(thickness, radius=radius, length=length)
    cavity = None if t is None else _inside(_cylinder(r - t, h), (r,), t)
    return _with_mass(_cylinder(r, h), cavity, density, mass)


def capsule(
    radius: ArrayLike,
    length: ArrayLike,
    *,
    density: ArrayLike | None = None,
    mass: ArrayLike | None = None,
    thickness: ArrayLike | None = None,
) -> Array:
    """Return θ of a cylinder along z with hemispheres at its ends; length is that of the cylinder."""
    (r, h), t = _sizes(thickness, radius=radius, length=length)
    cavity = None if t is None else _inside(_capsule(r - t, h), (r,), t)
    return _with_mass(_capsule(r, h), cavity, density, mass)


def cone(
    radius: ArrayLike,
    length: ArrayLike,
    *,
    density: ArrayLike | None = None,
    mass: ArrayLike | None = None,
    thickness: ArrayLike | None = None,
) -> Array:
    """Return θ of a cone along z: base at −length/2, tip at +length/2."""
    (r, h), t = _sizes(thickness, radius=radius, length=length)
    if t is None:
        return _with_mass(_cone(r, h), None, density, mass)
    # radius of the inscribed ball; the cavity is the cone scaled about the centre of that ball
    ball = r * h / (r + np.sqrt(r * r + h * h))
    scale = 1 - t / ball
    lift = (1 - scale) * (ball - h / 2)
    cavity = _inside(_cone(scale * r, scale * h, lift), (ball,), t)
    return _with_mass(_cone(r, h), cavity, density, mass)


# Unit density: θ (…, 10) about the middle ---------------------------------------------------------


def _box(x: Array, y: Array, z: Array) -> Array:
    xx, yy, zz = x * x / 12, y * y / 12, z * z / 12
    return _theta(x * y * z, xx, yy, zz)


def _ellipsoid(a: Array, b: Array, c: Array) -> Array:
    return _theta(4 / 3 * np.pi * a * b * c, a * a / 5, b * b / 5, c * c / 5)


def _cylinder(r: Array, h: Array) -> Array:
    return _theta(np.pi * r * r * h, r * r / 4, r * r / 4, h * h / 12)


def _capsule(r: Array, h: Array) -> Array:
    # a half ball's centroid lies 3/8 r from its face, which lies length/2 from the middle
    caps = 4 / 3 * np.pi * r**3
    zz = r * r / 5 + h * h / 4 + 3 / 8 * h * r
    return _cylinder(r, h) + _theta(caps, r * r / 5, r * r / 5, zz)


def _cone(r: Array, h: Array, lift: ArrayLike = 0.0) -> Array:
    """Return θ of a cone with the middle of its axis at z = lift; its centre of mass is h/4 above the base."""
    z = np.asarray(lift) - h / 4
    across = 3 / 20 * r * r
    return _theta(np.pi * r * r * h / 3, across, across, 3 / 80 * h * h + z * z, z)


def _theta(volume: Array, xx: Array, yy: Array, zz: Array, z: ArrayLike = 0.0) -> Array:
    """Return θ of mean squares xx, yy, zz about the origin and a centre of mass (0, 0, z)."""
    o = np.zeros_like(volume)
    over_volume = (o + 1, o, o, o + z, yy + zz, o, zz + xx, o, o, xx + yy)
    if not any(map(np.ndim, over_volume)):
        return np.array(over_volume) * volume
    return np.stack(np.broadcast_arrays(*over_volume), axis=-1) * volume[..., None]


# Arguments ----------------------------------------------------------------------------------------


def _sizes(thickness: ArrayLike | None, **sizes: ArrayLike) -> tuple[Sizes, Array | None]:
    """Return sizes and thickness as arrays; PysimError if one is not positive."""
    t = None if thickness is None else _positive(thickness, "thickness", "m")
    return tuple(_positive(size, name, "m") for name, size in sizes.items()), t


def _inside(cavity: Array, outer: Sizes, taken: Array) -> Array:
    """Return the sizes of the cavity; PysimError if the wall is too thick for one."""
    if any((taken >= size).any() for size in outer):
        room = min(float(np.min(size / taken)) for size in outer)
        problem = f"leaves no cavity: it is {1 / room:.3g} times the largest possible; leave it out for a solid"
        raise PysimError("thickness", problem)
    return cavity


def _with_mass(
    solid: Array, cavity: Array | None, density: ArrayLike | None, mass: ArrayLike | None
) -> Array:
    theta = solid if cavity is None else solid - cavity
    if (density is None) == (mass is None):
        got = "none" if mass is None else "both"
        raise PysimError("mass", f"needs one of density [kg/m³] and mass [kg], got {got}")
    if density is not None:
        return theta * _positive(density, "density", "kg/m³")[..., None]
    return theta * (_positive(mass, "mass", "kg") / theta[..., 0])[..., None]


def _positive(x: ArrayLike | None, name: str, unit: str) -> Array:
    a = checked(0.0 if x is None else x, name, (), unit=unit)
    if not (a > 0).all():
        raise PysimError(name, f"must be positive [{unit}], got {float(a.min()):g}")
    return a
