"""Pairs of links and of shapes that may touch.

Links touch each other unless they belong to one body, are parent and child, are both fixed to the world, or are
excluded by the scene.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from pysim.contact.hulls import NO_HULL, Hull, collision_hull, convex_pieces, is_left_out, mesh_hull
from pysim.contact.surface_samples import samples_of
from pysim.scene.doctor import shape_radius
from pysim.scene.spec import may_touch
from pysim.scene.tree import WORLD
from pysim.shapes import drawn
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pysim.mechanism.model import Model
    from pysim.scene.spec import CollisionSpec, ContactsSpec
    from pysim.shapes import Shape

Value = TypeVar("Value")


class ContactPair(NamedTuple):
    """Two links that may touch: the normal points from the first to the second, and forces act on the second."""

    first: str
    second: str

    @property
    def name(self) -> str:
        """Name in trajectories."""
        return f"{self.first}, {self.second}"


@dataclass(frozen=True)
class PlacedShape:
    """A shape of a link, on its body or fixed to the world."""

    link: str
    body: int  # −1 for the world
    collision: CollisionSpec
    pose: Array  # in the body or the world (4, 4)
    hull: Hull  # of a mesh
    whole: Hull | None = None  # of the mesh that this is a convex part of

    @property
    def shape(self) -> Shape:
        """Shape in its frame."""
        return self.collision.shape

    @property
    def radius(self) -> float:
        """Radius of a ball about its middle that contains it [m]."""
        if self.shape.mesh is None:
            return shape_radius(self.shape)
        return float(np.linalg.norm(self.hull.vertices, axis=1).max())


def placed_shapes(model: Model) -> list[PlacedShape]:
    """Return the shapes that collide, in the order of the file.

    Raises:
        ModelError: a mesh is not convex, or cannot be decomposed.
    """
    found = []
    for link in model.spec.bodies:
        for collision in link.collisions:
            if is_left_out(collision):  # contact_checks.py warns of it
                continue
            body, pose = model.frames[link.name]
            pieces = convex_pieces(collision)
            whole = _hull_of_pieces(collision, pieces)
            for own in pieces:
                hull = collision_hull(own) if own.shape.kind == "mesh" else NO_HULL
                found.append(PlacedShape(link.name, body, own, pose @ own.pose, hull, whole))
    return found


def _hull_of_pieces(collision: CollisionSpec, pieces: Sequence[CollisionSpec]) -> Hull | None:
    """Return the hull of a mesh that collides as several convex parts, None of others."""
    mesh = collision.shape.mesh
    return None if mesh is None or len(pieces) == 1 else mesh_hull(mesh, collision.shape.scale)


def with_hull(shape: PlacedShape) -> PlacedShape:
    """Return a shape as it touches planes: a field as the convex hull of its surface."""
    if shape.shape.field is None:
        return shape
    collision = replace(shape.collision, shape=drawn(shape.shape), convex=True)
    return replace(shape, collision=collision, hull=collision_hull(collision))


def link_pairs(model: Model, spec: ContactsSpec) -> list[ContactPair]:
    """Return the pairs of links that may touch: those with the world, then the others in the order of the file."""
    bodies = {
        link.name: model.frames[link.name][0] for link in model.spec.bodies if link.collisions
    }
    order = _in_both_orders({contact.between: contact.between for contact in spec.pairs})
    excluded = _in_both_orders(dict.fromkeys(spec.excluded))
    apart = {**excluded, **_in_both_orders(dict.fromkeys(_joined_links(model)))}
    parents = (*model.parents, -1)  # that of the world is the last
    found = [(WORLD, name) for name, body in bodies.items() if body >= 0 and spec.grounds]
    found = [between for between in found if between not in excluded]
    found += [
        (a, b)
        for (a, i), (b, j) in combinations(bodies.items(), 2)
        if i != j
        and (parents[i] != j or j < 0)
        and (parents[j] != i or i < 0)
        and (a, b) not in apart
    ]
    return [ContactPair(*order.get(between, between)) for between in found]


def _in_both_orders(of_pair: Mapping[tuple[str, str], Value]) -> dict[tuple[str, str], Value]:
    """Return what belongs to pairs, with the names of each in both orders."""
    return {**{(b, a): value for (a, b), value in of_pair.items()}, **of_pair}


def _joined_links(model: Model) -> set[tuple[str, str]]:
    """Return the pairs of links that a joint connects; one of them may be fixed to the world.

    In files with masks (MJCF), a link that is fixed to the world touches what it carries.
    """
    masked = {
        link.name for link in model.spec.bodies if any(shape.filter for shape in link.collisions)
    }
    pairs = ((joint.parent, joint.child) for joint in model.spec.joints)
    return {pair for pair in pairs if masked.isdisjoint(pair)}


def pairs_of(
    pair: ContactPair, shapes: dict[str, list[PlacedShape]]
) -> Iterator[tuple[PlacedShape, PlacedShape]]:
    """Yield the shapes of two links, the fixed one first, else a field, else that of the first link.

    Of two fields, one is samples of its surface.
    """
    for a in shapes[pair.first]:
        for b in shapes[pair.second]:
            if may_touch(a.collision.filter, b.collision.filter):
                is_turned = b.shape.field is not None and a.body >= 0 and a.shape.field is None
                yield with_samples(*((b, a) if b.body < 0 or is_turned else (a, b)))


def with_samples(first: PlacedShape, second: PlacedShape) -> tuple[PlacedShape, PlacedShape]:
    """Return two shapes as they touch: of two fields, one is samples of its surface.

    It is the one with points of its own, else the one that moves if the other is fixed, else the smaller one.
    """
    fields = first.shape.field, second.shape.field
    if fields[0] is None or fields[1] is None:
        return first, second
    if fields[0].has_points != fields[1].has_points:
        is_first = fields[0].has_points
    else:
        is_first = first.body >= 0 and fields[0].thickness < fields[1].thickness
    return (sampled(first), second) if is_first else (first, sampled(second))


def sampled(shape: PlacedShape) -> PlacedShape:
    """Return a field as it touches another one: as samples of its surface."""
    collision = replace(shape.collision, shape=drawn(shape.shape))
    return replace(shape, collision=collision, hull=samples_of(shape.shape))
