"""Surfaces of SDF collisions: friction and restitution as materials, and planes of static links as grounds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pysim.scene.sdf.values import non_negative, numbers, raw_pose
from pysim.scene.spec import GroundSpec, SurfaceSpec
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pysim.scene.import_omissions import Omissions
    from pysim.scene.materials import Materials
    from pysim.scene.urdf.xml import Element

DEFAULT = "default"
DEFAULT_FRICTION = 1.0  # of SDF
SPEED = 1.0  # [m/s] of the impact whose restitution a material has
_FRICTIONS = (("ode", "mu", "mu2"), ("bullet", "friction", "friction2"))


def surface_of(collision: Element, omissions: Omissions) -> SurfaceSpec | None:
    """Return friction and restitution of a <collision>: Drake's, ODE's or Bullet's; None if it has neither."""
    properties = collision.child("drake:proximity_properties")
    coefficients: list[float] = []
    if properties is not None:
        coefficients = _values(properties, ("drake:mu_static", "drake:mu_dynamic"))
    surface = collision.child("surface")
    friction = surface.child("friction") if surface is not None else None
    if friction is not None and not coefficients:
        coefficients = _directed(friction, collision, omissions)
    spinning, rolling = _turning(friction, coefficients, collision, omissions)
    if spinning is not None and not coefficients:
        coefficients = [DEFAULT_FRICTION]
    restitution = None
    bounce = surface.child("bounce") if surface is not None else None
    if bounce is not None:
        value = non_negative(bounce, "restitution_coefficient", "1", 0.0)
        restitution = (min(value, 1.0), SPEED) if value else None
    if not coefficients and restitution is None and rolling is None:
        return None
    static, dynamic = (max(coefficients), min(coefficients)) if coefficients else (None, None)
    return SurfaceSpec(
        static_friction=static,
        dynamic_friction=dynamic,
        restitution=restitution,
        rolling=rolling,
        spinning=spinning,
    )


def _turning(
    friction: Element | None, sliding: list[float], collision: Element, omissions: Omissions
) -> tuple[float | None, float | None]:
    """Return the lengths of spinning and rolling friction [m].

    Gazebo bounds the moment about the normal by 3π/16 a μ₃ f_n on a patch of radius a, pysim by ρ μ f_n.
    """
    spinning, rolling = None, None
    torsional = None if friction is None else friction.child("torsional")
    if torsional is not None:
        coefficient = non_negative(torsional, "coefficient", "1", 1.0)
        radius = non_negative(torsional, "patch_radius", "m", 0.0)
        name = collision.attributes.get("name", "")
        item = f"{collision.owner}: the torsional friction of collision {name!r}"
        patch = torsional.child("use_patch_radius")
        if patch is not None and patch.content.strip() in {"0", "false"}:
            reason = "is left out: its patch depends on the depth; give it a patch_radius"
            omissions.add("frictions", item, collision.where, reason)
        elif coefficient and radius and min(sliding, default=DEFAULT_FRICTION):
            mu = min(sliding, default=DEFAULT_FRICTION)
            spinning = 3 * math.pi / 16 * radius * coefficient / mu
        elif coefficient and radius:
            reason = "is left out: it slides freely"
            omissions.add("frictions", item, collision.where, reason)
    bullet = None if friction is None else friction.child("bullet")
    if bullet is not None:
        rolling = non_negative(bullet, "rolling_friction", "m", 0.0) or None
    return spinning, rolling


def _directed(friction: Element, collision: Element, omissions: Omissions) -> list[float]:
    """Return the friction of the first engine that has one; the smaller one of two directions."""
    for engine, *tags in _FRICTIONS:
        element = friction.child(engine)
        found = _values(element, tuple(tags)) if element is not None else []
        if found:
            if min(found) != max(found):
                name = collision.attributes.get("name", "")
                item = f"{collision.owner}: the frictions {found[0]:g} and {found[1]:g} of collision {name!r}"
                reason = f"differ, and friction has no direction: it is {min(found):g}"
                omissions.add("frictions", item, collision.where, reason)
            return [min(found)]
    return []


def _values(holder: Element, tags: tuple[str, ...]) -> list[float]:
    return [non_negative(holder, tag, "1", 0.0) for tag in tags if holder.child(tag) is not None]


def has_plane(collision: Element) -> bool:
    """Whether the shape of a <collision> or <visual> is a plane."""
    geometry = collision.child("geometry")
    return geometry is not None and geometry.child("plane") is not None


def grounds_of(
    link: Element, X: Array, materials: Materials, omissions: Omissions
) -> Iterator[GroundSpec]:
    """Yield the planes of a link that collide; X (4, 4) is its pose in the world."""
    for collision in link.all("collision"):
        if not has_plane(collision):
            continue
        plane = collision.required("geometry").required("plane")
        element = plane.child("normal")
        given = np.array((0.0, 0.0, 1.0) if element is None else numbers(element, 3))
        length = float(np.linalg.norm(given))
        if length < 1e-9:
            plane.fail("the plane has no direction; write <normal>")
        pose = X @ raw_pose(collision)
        x, y, z = map(float, pose[:3, :3] @ given / length)
        offset = float(np.dot((x, y, z), pose[:3, 3]))
        surface = surface_of(collision, omissions)
        material = DEFAULT if surface is None else materials.name(surface)
        yield GroundSpec((x, y, z), offset, material, collision.where)
