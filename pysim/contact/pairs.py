"""Pairs of links and of shapes that may touch.

Links touch each other unless they belong to one body, are parent and child, are both fixed to the world, or are
excluded by the scene.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from pysim.contact.columns import Columns
from pysim.contact.hulls import NO_HULL, Hull, collision_hull, convex_pieces, is_left_out, mesh_hull
from pysim.contact.surface_samples import samples_of
from pysim.scene.doctor import shape_radius
from pysim.scene.tree import WORLD
from pysim.shapes import drawn
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from pysim.mechanism.model import Model
    from pysim.scene.spec import CollisionSpec, ContactsSpec
    from pysim.shapes import Shape


class ContactPair(NamedTuple):
    """Two links that may touch: the normal points from the first to the second, and forces act on the second."""

    first: str
    second: str

    @property
    def name(self) -> str:
        """Name in trajectories."""
        return f"{self.first}, {self.second}"


@dataclass(frozen=True, eq=False)
class LinkPairs(Columns[ContactPair]):
    """Pairs of links that may touch, as columns of numbers."""

    columns: ClassVar = ("first", "second")
    links: tuple[str, ...]
    first: NDArray[np.int32]  # (n,) among the links
    second: NDArray[np.int32]  # (n,)

    def row(self, index: int) -> ContactPair:
        return ContactPair(self.links[self.first[index]], self.links[self.second[index]])

    def __iter__(self) -> Iterator[ContactPair]:
        each = zip(self.first.tolist(), self.second.tolist(), strict=True)
        return (ContactPair(self.links[a], self.links[b]) for a, b in each)

    def find(self, a: str, b: str) -> int | None:
        """Return the number of the pair of two links, in either order; None if they do not touch."""
        numbers = self._number_of_key.get(a), self._number_of_key.get(b)
        if None in numbers:
            return None
        low, high = sorted(k for k in numbers if k is not None)
        key = low * len(self.links) + high
        place = int(np.searchsorted(self._sorted[0], key))
        is_there = place < len(self) and self._sorted[0][place] == key
        return int(self._sorted[1][place]) if is_there else None

    def order(self, first: str, second: str) -> None:
        """Give the pair of two links this order."""
        k = self.find(first, second)
        if k is not None:
            self.first[k], self.second[k] = self._number_of_key[first], self._number_of_key[second]

    @cached_property
    def _number_of_key(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.links)}

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """Ascending keys of the pairs, and the pairs that have them."""
        low, high = np.minimum(self.first, self.second), np.maximum(self.first, self.second)
        keys = low.astype(np.int64) * len(self.links) + high
        order = np.argsort(keys)
        return keys[order], order


@dataclass(frozen=True)
class PlacedShape:
    """A shape of a link, on its body or fixed to the world."""

    link: str
    body: int  # −1 for the world
    collision: CollisionSpec
    pose: Array  # in the body or the world (4, 4)
    hull: Hull  # of a mesh
    hull_of_mesh: Hull | None = None  # of the mesh that this is a convex part of

    @property
    def shape(self) -> Shape:
        """Shape in its frame."""
        return self.collision.shape

    @property
    def thickness(self) -> float:
        """Smallest edge or diameter [m], of a mesh along its axes."""
        shape = self.shape
        if shape.field is not None:
            return shape.field.thickness
        return (
            self.hull.thickness
            if shape.primitive is None
            else shape.primitive.thickness(shape.size)
        )

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
    shapes = []
    for link in model.spec.bodies:
        for collision in link.collisions:
            if is_left_out(collision):  # contact_checks.py warns of it
                continue
            body, pose = model.frames[link.name]
            pieces = convex_pieces(collision)
            hull_of_mesh = _hull_of_pieces(collision, pieces)
            for own in pieces:
                hull = collision_hull(own) if own.shape.kind == "mesh" else NO_HULL
                shapes.append(
                    PlacedShape(link.name, body, own, pose @ own.pose, hull, hull_of_mesh)
                )
    return shapes


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


def link_pairs(model: Model, spec: ContactsSpec) -> LinkPairs:
    """Return the pairs of links that may touch: those with the world, then the others in the order of the file."""
    links = [link.name for link in model.spec.bodies if link.collisions]
    body = np.array([model.frames[name][0] for name in links], np.int32)
    grounded = 1 + np.flatnonzero(body >= 0) if spec.grounds else np.zeros(0, int)
    parents = np.array((*model.parents, -1), np.int32)  # that of the world is the last
    partners = [grounded.astype(np.int32)]
    for k, i in enumerate(body.tolist()):
        j = body[k + 1 :]
        meet = (j != i) & ((parents[i] != j) | (j < 0))
        if i >= 0:
            meet &= parents[j] != i
        partners.append(np.flatnonzero(meet).astype(np.int32) + np.int32(k + 2))
    first = np.repeat(np.arange(len(partners), dtype=np.int32), [len(x) for x in partners])
    pairs = LinkPairs((WORLD, *links), first, np.concatenate(partners))
    joined = [pair for pair in _joined_links(model) if WORLD not in pair]
    apart = (pairs.find(*pair) for pair in (*spec.excluded, *joined))
    left_out = [k for k in apart if k is not None]
    if left_out:
        touches = np.ones(len(pairs), bool)
        touches[left_out] = False
        pairs = pairs.take(touches)
    for contact in spec.pairs:
        pairs.order(*contact.between)
    return pairs


def _joined_links(model: Model) -> set[tuple[str, str]]:
    """Return the pairs of links that a joint connects; one of them may be fixed to the world.

    In files with masks (MJCF), a link that is fixed to the world touches what it carries.
    """
    masked = {
        link.name for link in model.spec.bodies if any(shape.filter for shape in link.collisions)
    }
    pairs = ((joint.parent, joint.child) for joint in model.spec.joints)
    return {pair for pair in pairs if masked.isdisjoint(pair)}


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
