"""Compilation of a scene's contacts for the engine: pairs of shapes, and of shapes and grounds, with their laws."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pysim import _engine
from pysim.contact.covered_faces import covered_faces
from pysim.contact.hulls import NO_FACES, NO_HULL
from pysim.contact.laws import NUMBERS, STANDARD_GRAVITY, PairLaw
from pysim.contact.pair_laws import PairLaws, laws_of_shapes, mechanism_masses, root_bodies
from pysim.contact.pairs import (
    LinkPairs,
    PlacedShape,
    link_pairs,
    placed_shapes,
    with_hull,
    with_samples,
)
from pysim.contact.self_contact import LeftOutPair, left_out_pairs
from pysim.contact.shape_dimensions import engine_dimensions, engine_kind
from pysim.contact.shape_pairs import Distinct, ShapePair, ShapePairs, Velocity, first_places
from pysim.errors import ModelError
from pysim.scene.spec import CollisionFilter, CollisionSpec, GroundSpec, may_touch
from pysim.scene.tree import WORLD
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from pysim.contact.pairs import ContactPair
    from pysim.mechanism.model import Model
    from pysim.scene.spec import ContactSpec, ContactsSpec
    from pysim.shapes import HeightField
    from pysim.shapes.signed_distance import Field

NO_VELOCITY = (0.0, 0.0, 0.0)  # [m/s]
NO_LINKS = LinkPairs((WORLD,), *np.zeros((2, 0), np.int32))
NO_SHAPES = ShapePairs.of(())


@dataclass(frozen=True)
class CompiledContacts:
    """Contacts of a model: pairs of links, pairs of shapes, and the engine's record of them."""

    engine: _engine.Contacts
    pairs: LinkPairs
    shapes: ShapePairs
    left_out: tuple[LeftOutPair, ...]  # shapes of one robot that pass through each other
    covered: list[NDArray[np.intp]]  # faces of every shape that others of its body cover

    @cached_property
    def shape_of_point(self) -> NDArray[np.int32]:
        """Pair of shapes of every point (points,)."""
        return np.asarray(self.engine.pair_of_point)

    @cached_property
    def pair_of_point(self) -> NDArray[np.int32]:
        """Pair of links of every point (points,)."""
        return self.shapes.pair[self.shape_of_point]

    @cached_property
    def signs_of_shapes(self) -> Array:
        """−1 for every pair of shapes where the engine's forces act on the first link, else 1."""
        numbers = {name: k for k, name in enumerate(self.pairs.links)}
        links = np.array([numbers[shape.link] for shape in self.shapes.placed], np.int32)
        is_first = links[self.shapes.moving] == self.pairs.first[self.shapes.pair]
        return np.where(is_first, -1.0, 1.0)

    @cached_property
    def signs(self) -> Array:
        """−1 for every point (points,) where the engine's forces act on the first link, else 1."""
        return self.signs_of_shapes[self.shape_of_point]


def compile_contacts(
    model: Model, slip_speed: float = 0.01, *, impacts: bool = False, q: Array | None = None
) -> CompiledContacts:
    """Return the contacts of a model, none if nothing in its scene can touch.

    Args:
        model: of the scene.
        slip_speed: of friction that is a smooth force [m/s].
        impacts: whether surfaces strike each other at events, so that what remains has no restitution.
        q: coordinates at the start (nq,), at which shapes of one robot may overlap; by default those of the joints.

    Raises:
        ModelError: a mesh is not convex, or two materials have no common law.
    """
    spec = model.spec.contacts
    placed = [] if spec is None else placed_shapes(model)
    of_link: dict[str, list[PlacedShape]] = {}
    for own in placed:
        of_link.setdefault(own.link, []).append(own)
    links = NO_LINKS if spec is None else link_pairs(model, spec)
    shapes = NO_SHAPES if spec is None else _shape_pairs(model, spec, links, of_link)
    changed = () if spec is None else spec.pairs
    named = {k for contact in changed if (k := links.find(*contact.between)) is not None}
    apart = left_out_pairs(model, shapes, root_bodies(model), named, q)
    if apart:
        touches = np.ones(len(shapes), bool)
        touches[list(apart)] = False
        shapes = shapes.take(touches)
    is_used = np.zeros(len(links), bool)
    is_used[shapes.pair] = True
    if not is_used.all():
        number = np.cumsum(is_used, dtype=np.int32) - np.int32(1)
        shapes, links = replace(shapes, pair=number[shapes.pair]), links.take(is_used)
    laws = [law.without_restitution() if impacts else law for law in shapes.laws]
    shapes = shapes.with_laws(laws, shapes.law)
    covered = _covered(shapes)
    engine = engine_contacts(model, shapes, slip_speed, covered)
    return CompiledContacts(engine, links, shapes, tuple(apart.values()), covered)


class _Numbered(NamedTuple):
    """Shapes of pairs, as the engine numbers them."""

    placed: list[PlacedShape]
    facing: NDArray[np.bool_]  # which of them touch other shapes, and need faces
    pairs: NDArray[np.int32]  # (n, 4): other shape or −1 for a plane, shape, surface and law


def _numbered(columns: ShapePairs) -> _Numbered:
    facing = np.zeros(len(columns.placed) + 1, bool)  # the last one is −1, a plane
    facing[columns.opposite] = True
    facing[columns.moving[columns.opposite >= 0]] = True
    is_used = facing.copy()
    is_used[columns.moving] = True
    used = np.flatnonzero(is_used[:-1])
    number = np.full(len(is_used), -1, np.int32)
    number[used] = np.arange(len(used))
    pairs = np.empty((len(columns), 4), np.int32)
    pairs[:, 0], pairs[:, 1] = number[columns.opposite], number[columns.moving]
    pairs[:, 2], pairs[:, 3] = columns.surface, columns.law
    return _Numbered([columns.placed[k] for k in used.tolist()], facing[used], pairs)


def _covered(columns: ShapePairs) -> list[NDArray[np.intp]]:
    """Return the covered faces of every shape, as the engine numbers them."""
    placed, _, pairs = _numbered(columns)
    return covered_faces(placed, _partners(placed, pairs))


def engine_contacts(
    model: Model,
    shapes: Iterable[ShapePair],
    slip_speed: float,
    covered: list[NDArray[np.intp]] | None = None,
) -> _engine.Contacts:
    """Return the engine's record of pairs of shapes, with the covered faces of every shape if they are known."""
    if model.spec.wheels:
        problem = f"rolls without slip on {model.spec.wheels[0]!r}, which steps with contacts do not support yet"
        remedy = 'take integrator = "rk4" and remove the contacts, or let a collision shape roll with friction'
        raise ModelError(model.spec.where or model.name, f"{problem}; {remedy}")
    columns = ShapePairs.of(shapes)
    placed, facing, pairs = _numbered(columns)
    fields: Distinct[Field | HeightField] = Distinct()
    field_of_shape = [-1 if (f := s.shape.field) is None else fields.index(f) for s in placed]
    faces_of = [
        s.hull.faces if faces else NO_FACES for s, faces in zip(placed, facing, strict=True)
    ]
    covered = _covered(columns) if covered is None else covered
    for k, rows in enumerate(covered):
        if len(rows) and len(faces_of[k].numbers):
            faces_of[k] = faces_of[k].covered_at(rows)
    planes = np.array([_plane(ground) for ground, _ in columns.surfaces]).reshape(-1, 4)
    velocities = np.array([velocity for _, velocity in columns.surfaces]).reshape(-1, 3)
    laws = np.array([law.numbers for law in columns.laws]).reshape(-1, len(NUMBERS))
    return _engine.Contacts(
        model,
        [s.body for s in placed],
        [engine_kind(s.shape) for s in placed],
        np.array([engine_dimensions(s.shape) for s in placed]).reshape(-1, 3),
        np.array([s.hull.placed(s.pose) for s in placed]).reshape(-1, 4, 4),
        [
            (s.hull.vertices, faces.numbers, faces.corners, s.hull.groups, faces.groups)
            for s, faces in zip(placed, faces_of, strict=True)
        ],
        pairs,
        planes,
        velocities,
        laws,
        slip_speed,
        [field.engine() for field in fields.values],
        field_of_shape if fields.values else (),
        [_covered_bits(s, rows) for s, rows in zip(placed, covered, strict=True)],
    )


def _partners(placed: Sequence[PlacedShape], pairs: NDArray[np.int32]) -> dict[int, frozenset[int]]:
    """Return the bodies that the shapes of bodies with several shapes may touch, by the shape's number."""
    bodies = np.array([shape.body for shape in placed], np.int64)
    has_several = np.bincount(bodies + 1, minlength=1)[bodies + 1] > 1
    if not has_several.any():
        return {}
    found: dict[int, set[int]] = {k: set() for k in np.flatnonzero(has_several).tolist()}
    between = pairs[pairs[:, 0] >= 0, :2]
    for own, other in (between.T, between[:, ::-1].T):
        rows = has_several[own]
        touched = np.unique(np.stack([own[rows], bodies[other[rows]]], axis=1), axis=0)
        for k, body in touched.tolist():
            found[k].add(body)
    return {k: frozenset(own) for k, own in found.items()}


def _covered_bits(shape: PlacedShape, faces: NDArray[np.intp]) -> int:
    """Return the numbers of covered faces as bits, 1 of a mesh that has some."""
    return (
        int(len(faces) > 0) if shape.shape.kind == "mesh" else sum(1 << k for k in faces.tolist())
    )


def _is_fixed(model: Model, link: str) -> bool:
    return link == WORLD or model.frames[link][0] < 0


def _plane(ground: GroundSpec | None) -> tuple[float, float, float, float]:
    return (0.0, 0.0, 0.0, 0.0) if ground is None else (*ground.normal, ground.offset)


def _shape_pairs(
    model: Model, spec: ContactsSpec, links: LinkPairs, of_link: dict[str, list[PlacedShape]]
) -> ShapePairs:
    """Return the pairs of shapes in the order of their links, grounds first."""
    changes = {k: own for own in spec.pairs if (k := links.find(*own.between)) is not None}
    number = {k: n for n, k in enumerate(sorted(changes), 1)}  # 0 where nothing is changed
    pair_laws, laws = PairLaws(model, spec), Distinct[PairLaw]()
    placed, surfaces = Distinct[PlacedShape](), Distinct[tuple[GroundSpec | None, Velocity]]()
    each = [of_link.get(name, []) for name in links.links]
    start = np.cumsum([0, *map(len, each)], dtype=np.int32)
    for shape in chain.from_iterable(each):
        placed.index(shape)
    fields = [_placed_field(ground) for ground in spec.grounds]
    rows = []
    for k in np.flatnonzero((links.first == 0) | (links.second == 0)).tolist():
        own_change = changes.get(k)
        velocity = NO_VELOCITY if own_change is None else own_change.surface_velocity
        for shape in of_link.get(next(name for name in links[k] if name != WORLD), ()):
            hull = with_hull(shape)
            for ground, field in zip(spec.grounds, fields, strict=True):
                if not may_touch(ground.filter, shape.collision.filter):
                    continue
                below, above = (None, hull) if field is None else with_samples(field, shape)
                change = None if own_change is None else own_change.surface
                law = laws.index(pair_laws.law(ground.material, above, below, change))
                surface = surfaces.index((ground, velocity), (id(ground), velocity))
                place = -1 if below is None else placed.index(below)
                rows.append((k, placed.index(above), place, surface, law))
    grounded = np.array(rows, np.int32).reshape(-1, 5).T
    pair, moving, opposite = _pairs_of_two_links(links, start, placed)
    kinds = np.array([pair_laws.kind(shape) for shape in placed.values], np.int64)
    change_of, surface_of = np.zeros((2, len(links)), np.int32)
    surface_of += surfaces.index((None, NO_VELOCITY), (id(None), NO_VELOCITY))
    for k, n in number.items():
        change_of[k] = n
        if WORLD not in links[k]:
            velocity = _velocity(model, links[k], changes[k])
            surface_of[k] = surfaces.index((None, velocity), (id(None), velocity))
    changes_count, kinds_count = len(number) + 1, int(kinds.max(initial=0)) + 1
    most = changes_count * kinds_count**2
    kinds = kinds.astype(np.int32 if most < 2**31 else np.int64)
    key = kinds[opposite]
    key *= kinds_count
    key += kinds[moving]
    if changes_count > 1:
        key *= changes_count
        key += change_of[pair]
    first, which = first_places(key, most)
    of_number = [None, *(changes[k].surface for k in number)]
    law_of = [
        laws.index(pair_laws.law(a.collision.material, b, a, of_number[change_of[pair[r]]]))
        for r in first.tolist()
        for a, b in [(placed.values[opposite[r]], placed.values[moving[r]])]
    ]
    del key
    between = (pair, moving, opposite, surface_of[pair], np.array(law_of, np.int32)[which])
    del pair, moving, opposite, which
    columns = [np.concatenate(column) for column in zip(grounded, between, strict=True)]
    shared = tuple(placed.values), tuple(surfaces.values), tuple(laws.values)
    return ShapePairs(*shared, *columns)


def _pairs_of_two_links(
    links: LinkPairs, start: NDArray[np.int32], placed: Distinct[PlacedShape]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return pair of links, own and other shape of the pairs of shapes of two links (n,); adds to the shapes.

    The other shape is the fixed one, else a field, else that of the first link. Of two fields, one is samples of its
    surface. Shapes of link k are those from start[k] to start[k + 1].
    """
    count = np.diff(start)
    pair = np.flatnonzero((links.first > 0) & (links.second > 0)).astype(np.int32)
    a, b = links.first[pair], links.second[pair]
    first, second = start[a], start[b]
    if not (count == 1).all():
        sizes = count[a] * count[b]
        within = np.arange(sizes.sum(), dtype=np.int32)
        within -= np.repeat(np.cumsum(sizes, dtype=np.int32) - sizes, sizes)
        columns = np.repeat(count[b], sizes)
        pair, first, second = (np.repeat(x, sizes) for x in (pair, first, second))
        first += within // columns
        second += within % columns
        del sizes, within, columns
    del a, b
    shapes = [shape.collision for shape in placed.values]
    kinds = Distinct[CollisionFilter | None]()
    filters = np.array([kinds.index(member.filter, member.filter) for member in shapes], np.int32)
    if len(kinds.values) > 1:
        admits = np.array([[may_touch(x, y) for y in kinds.values] for x in kinds.values])
        meet = admits[filters[first], filters[second]]
        pair, first, second = pair[meet], first[meet], second[meet]
    is_fixed = np.array([shape.body < 0 for shape in placed.values], bool)
    is_field = np.array([member.shape.field is not None for member in shapes], bool)
    if not (is_fixed.any() or is_field.any()):
        return pair, second, first
    turned = is_field[second] & ~is_fixed[first] & ~is_field[first]
    turned |= is_fixed[second]
    other, member = np.where(turned, second, first), np.where(turned, first, second)
    known: dict[tuple[int, int], tuple[int, int]] = {}
    for r in np.flatnonzero(is_field[other] & is_field[member]).tolist():
        key = int(other[r]), int(member[r])
        if key not in known:
            found = with_samples(*(placed.values[k] for k in key))
            known[key] = placed.index(found[0]), placed.index(found[1])
        other[r], member[r] = known[key]
    return pair, member, other


def _velocity(model: Model, pair: ContactPair, change: ContactSpec) -> Velocity:
    """Return the velocity of a surface of the first of two links, on the axes of its body [m/s]."""
    if not any(change.surface_velocity):
        return NO_VELOCITY
    if _is_fixed(model, pair.second) and not _is_fixed(model, pair.first):
        problem = (
            f"surface_velocity is that of {pair.first!r}, the first body of between, and "
            f"{pair.second!r} is the fixed one"
        )
        remedy = f'to move the fixed surface, write between = ["{pair.second}", "{pair.first}"]'
        raise ModelError(change.where, f"{problem}; {remedy}")
    x, y, z = model.frames[pair.first][1][:3, :3] @ change.surface_velocity
    return float(x), float(y), float(z)


def _placed_field(ground: GroundSpec) -> PlacedShape | None:
    """Return the field of a ground as a shape that is fixed to the world, None of a plane."""
    if ground.field is None:
        return None
    collision = CollisionSpec(ground.field.shape, ground.field.pose, ground.material)
    return PlacedShape(WORLD, -1, collision, ground.field.pose, NO_HULL)


def contacts_with_other_numbers(
    model: Model, first: CompiledContacts, slip_speed: float, *, impacts: bool = False
) -> CompiledContacts:
    """Return the contacts of a model that has the shapes, links and kinds of laws of another one.

    Args:
        model: of the scene.
        first: contacts of the other model.
        slip_speed: of friction that is a smooth force [m/s].
        impacts: as `compile_contacts` takes it.
    """
    spec = model.spec.contacts
    assert spec is not None
    gravity = float(np.linalg.norm(model.gravity)) or STANDARD_GRAVITY
    laws = Distinct[PairLaw]()
    each = laws_of_shapes(model, first, spec, mechanism_masses(model), gravity)
    number = np.array([laws.index(law) for law in each], np.int32)
    found = [law.without_restitution() if impacts else law for law in laws.values]
    shapes = first.shapes.with_laws(found, number)
    engine = engine_contacts(model, shapes, slip_speed, first.covered)
    return replace(first, engine=engine, shapes=shapes)
