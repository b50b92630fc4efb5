"""Materials of a foreign file: one for each combination of numbers, named FILE/surface, FILE/surface_2 and so on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pysim.scene.spec import BodySpec, CollisionSpec, ContactsSpec, SurfaceSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pysim.scene.spec import GroundSpec
    from pysim.shapes import Geometry


class Materials:
    """Materials of a file, in the order in which they are first used."""

    def __init__(self, stem: str) -> None:
        self.stem = stem
        self.surfaces: dict[str, SurfaceSpec] = {}

    def name(self, surface: SurfaceSpec) -> str:
        """Return the name of the material with these numbers, wherever they are in the file."""
        surface = replace(surface, where="")
        for name, other in self.surfaces.items():
            if other == surface:
                return name
        count = len(self.surfaces)
        name = f"{self.stem}/surface" + (f"_{count + 1}" if count else "")
        self.surfaces[name] = surface
        return name


def with_contacts(
    bodies: Iterable[BodySpec],
    material_of: Callable[[BodySpec, Geometry], str],
    materials: Materials,
    grounds: tuple[GroundSpec, ...] = (),
    excluded: tuple[tuple[str, str], ...] = (),
) -> tuple[tuple[BodySpec, ...], ContactsSpec | None]:
    """Return bodies whose shapes for contact collide, and the contacts; None if the file says nothing of them."""
    bodies = tuple(bodies)
    colliding = tuple(
        replace(
            body,
            collisions=tuple(
                CollisionSpec(g.shape, g.pose, material_of(body, g), convex=True, where=body.where)
                for g in body.geometries
                if g.role == "collision"
            ),
        )
        for body in bodies
    )
    if not (materials.surfaces or grounds or excluded):
        return bodies, None
    return colliding, ContactsSpec(materials.surfaces, grounds, (), excluded)
