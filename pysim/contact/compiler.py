"""Compilation of a scene's contacts for the engine: pairs of shapes, and of shapes and grounds, with their laws."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from pysim import _engine
from pysim.contact.hulls import NO_FACES, NO_HULL
from pysim.contact.laws import CARRYING_POINTS, CURVED, STANDARD_GRAVITY, Load, PairLaw, pair_law
from pysim.contact.laws_at_once import LawGroup, Surfaces, law_kind
from pysim.contact.pairs import (
    ContactPair,
    PlacedShape,
    link_pairs,
    pairs_of,
    placed_shapes,
    with_hull,
    with_samples,
)
from pysim.contact.self_contact import LeftOutPair, left_out_pairs
from pysim.contact.shape_dimensions import engine_dimensions, engine_kind
from pysim.errors import ModelError
from pysim.scene.spec import CollisionSpec, may_touch
from pysim.scene.tree import WORLD
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from pysim.mechanism.model import Model
    from pysim.scene.spec import ContactsSpec, GroundSpec, SurfaceSpec
    from pysim.shapes import Shape

Value = TypeVar("Value")
NO_VELOCITY = (0.0, 0.0, 0.0)  # [m/s]


class ShapePair(NamedTuple):
    """A shape of a moving body, and the ground or the shape that it may touch, with the law between them."""

    pair: int  # among the pairs of links
    own: PlacedShape
    other: PlacedShape | None  # None for a plane
    ground: GroundSpec | None  # None for a shape of a body
    law: PairLaw
    surface_velocity: tuple[
        float, float, float
    ]  # of the other surface, in its body or the world [m/s]

    @property
    def body(self) -> int:
        """Body that moves."""
        return self.own.body

    @property
    def shape(self) -> Shape:
        """Shape on that body."""
        return self.own.shape

    @property
    def pose(self) -> Array:
        """Pose of the shape in the body (4, 4)."""
        return self.own.pose

    @property
    def kinds(self) -> str:
        """Kinds of the shapes, one of a pair with a ground."""
        return (
            self.shape.kind if self.other is None else f"{self.other.shape.kind}, {self.shape.kind}"
        )


@dataclass(frozen=True)
class CompiledContacts:
    """Contacts of a model: pairs of links, pairs of shapes, and the engine's record of them."""

    engine: _engine.Contacts
    pairs: tuple[ContactPair, ...]
    shapes: tuple[ShapePair, ...]
    shape_of_point: NDArray[np.intp]  # (points,) among shapes
    pair_of_point: NDArray[np.intp]  # (points,) among pairs
    signs: Array  # (points,) −1 if the engine's forces act on the first link
    left_out: tuple[LeftOutPair, ...]  # shapes of one robot that pass through each other


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
    links = [] if spec is None else link_pairs(model, spec)
    shapes = [] if spec is None else list(_shape_pairs(model, spec, links, of_link))
    root = root_bodies(model)
    changed = set() if spec is None else {frozenset(contact.between) for contact in spec.pairs}
    named = [k for k, pair in enumerate(links) if changed and frozenset(pair) in changed]
    apart = left_out_pairs(model, shapes, root, named, q)
    left_out = tuple(apart.values())
    shapes = [s for k, s in enumerate(shapes) if k not in apart]
    used = {k: n for n, k in enumerate(sorted({s.pair for s in shapes}))}
    if len(used) < len(links):
        shapes = [s._replace(pair=used[s.pair]) for s in shapes]
        links = [links[k] for k in used]
    if impacts:
        shapes = [s._replace(law=s.law.without_restitution()) for s in shapes]
    engine = engine_contacts(model, shapes, slip_speed)
    shape_of_point = np.array(engine.pair_of_point, int)
    of_shape = np.array([s.pair for s in shapes], int)
    return CompiledContacts(
        engine,
        tuple(links),
        tuple(shapes),
        shape_of_point,
        of_shape[shape_of_point] if shapes else shape_of_point,
        np.array([_sign(links, s) for s in shapes])[shape_of_point] if shapes else np.zeros(0),
        left_out,
    )


def engine_contacts(
    model: Model, shapes: Sequence[ShapePair], slip_speed: float
) -> _engine.Contacts:
    """Return the engine's record of pairs of shapes."""
    if model.spec.wheels:
        problem = f"rolls without slip on {model.spec.wheels[0]!r}, which steps with contacts do not support yet"
        remedy = 'take integrator = "rk4" and remove the contacts, or let a collision shape roll with friction'
        raise ModelError(model.spec.where or model.name, f"{problem}; {remedy}")
    used = [shape for pair in shapes for shape in (pair.other, pair.own) if shape is not None]
    placed = list({id(shape): shape for shape in used}.values())
    index = {id(shape): k for k, shape in enumerate(placed)}
    fields = FieldsOfPairs(shapes)
    facing = {
        id(s) for pair in shapes if pair.other is not None for s in (pair.own, pair.other)
    }  # other shapes need no faces
    faces_of = [s.hull.faces if id(s) in facing else NO_FACES for s in placed]
    return _engine.Contacts(
        model,
        [s.body for s in placed],
        [engine_kind(s.shape) for s in placed],
        np.array([engine_dimensions(s.shape) for s in placed]).reshape(-1, 3),
        np.array([s.hull.placed(s.pose) for s in placed]).reshape(-1, 4, 4),
        [s.hull.vertices for s in placed],
        [faces for faces, _ in faces_of],
        [(s.hull.groups, groups) for s, (_, groups) in zip(placed, faces_of, strict=True)],
        [(-1 if s.other is None else index[id(s.other)], index[id(s.own)]) for s in shapes],
        _rows((s.ground for s in shapes), _plane, 4),
        _rows((s.surface_velocity for s in shapes), tuple, 3),
        _rows((s.law for s in shapes), lambda law: law.numbers, 9),
        slip_speed,
        fields.engine,
        fields.index,
        fields.is_second,
    )


def _rows(
    values: Iterable[Value], numbers: Callable[[Value], tuple[float, ...]], width: int
) -> Array:
    """Return the numbers of values (n, width); many values are the same."""
    place: dict[int, int] = {}
    rows: list[tuple[float, ...]] = []
    places: list[int] = []
    for value in values:
        found = place.get(id(value))
        if found is None:
            found = place[id(value)] = len(rows)
            rows.append(numbers(value))
        places.append(found)
    return np.array(rows).reshape(-1, width)[places]


class FieldsOfPairs:
    """Fields of pairs of shapes, as the engine takes them: each once, and for every pair its index and its side.

    Args:
        shapes: the pairs.
    """

    def __init__(self, shapes: Sequence[ShapePair]) -> None:
        self.index: list[int] = []
        self.is_second: list[bool] = []  # whether it is the field of the shape that moves
        known: dict[int, int] = {}
        self.engine: list[_engine.Field] = []
        for pair in shapes:
            of_own = pair.own.shape.field if pair.other is not None else None
            field = of_own if of_own is not None or pair.other is None else pair.other.shape.field
            self.is_second.append(of_own is not None)
            if field is None:
                self.index.append(-1)
                continue
            if id(field) not in known:
                known[id(field)] = len(self.engine)
                self.engine.append(field.engine())
            self.index.append(known[id(field)])


def _sign(links: Sequence[ContactPair], shape: ShapePair) -> float:
    """Return −1 if the engine's forces act on a shape of the first link."""
    return -1.0 if shape.own.link == links[shape.pair].first else 1.0


def _is_fixed(model: Model, link: str) -> bool:
    return link == WORLD or model.frames[link][0] < 0


def _plane(ground: GroundSpec | None) -> tuple[float, float, float, float]:
    return (0.0, 0.0, 0.0, 0.0) if ground is None else (*ground.normal, ground.offset)


def _shape_pairs(
    model: Model,
    spec: ContactsSpec,
    links: list[ContactPair],
    shapes: dict[str, list[PlacedShape]],
) -> Iterator[ShapePair]:
    changes = {frozenset(contact.between): contact for contact in spec.pairs}
    laws = _Laws(model, spec)
    fields = [_placed_field(ground) for ground in spec.grounds]
    for k, pair in enumerate(links):
        change = changes.get(frozenset(pair)) if changes else None
        surface = None if change is None else change.surface
        if WORLD in pair:
            velocity = NO_VELOCITY if change is None else change.surface_velocity
            for placed in shapes[pair.second if pair.first == WORLD else pair.first]:
                hull = with_hull(placed)
                for ground, field in zip(spec.grounds, fields, strict=True):
                    if not may_touch(ground.filter, placed.collision.filter):
                        continue
                    other, own = (None, hull) if field is None else with_samples(field, placed)
                    law = laws.of(ground.material, own, other, surface)
                    yield ShapePair(k, own, other, ground, law, velocity)
            continue
        velocity = NO_VELOCITY
        if change is not None and any(change.surface_velocity):
            if _is_fixed(model, pair.second) and not _is_fixed(model, pair.first):
                problem = (
                    f"surface_velocity is that of {pair.first!r}, the first body of between, and "
                    f"{pair.second!r} is the fixed one"
                )
                remedy = (
                    f'to move the fixed surface, write between = ["{pair.second}", "{pair.first}"]'
                )
                raise ModelError(change.where, f"{problem}; {remedy}")
            x, y, z = model.frames[pair.first][1][:3, :3] @ change.surface_velocity
            velocity = float(x), float(y), float(z)
        for other, own in pairs_of(pair, shapes):
            law = laws.of(other.collision.material, own, other, surface)
            yield ShapePair(k, own, other, None, law, velocity)


class _Laws:
    """Laws of pairs of shapes; those of the same materials under the same load have one."""

    def __init__(self, model: Model, spec: ContactsSpec) -> None:
        self._spec, self._masses = spec, mechanism_masses(model)
        self._gravity = float(np.linalg.norm(model.gravity)) or STANDARD_GRAVITY
        self._known: dict[object, PairLaw] = {}
        self._kinds: dict[object, int] = {}  # of shapes: what their loads depend on
        self._kind_of: dict[int, tuple[int, PlacedShape]] = {}  # by id, of shapes that are kept

    def of(
        self, first: str, own: PlacedShape, other: PlacedShape | None, surface: SurfaceSpec | None
    ) -> PairLaw:
        """Return the law of a shape and another one, or a plane, of the material `first`."""
        key = (first, self._kind(own), None if other is None else self._kind(other), id(surface))
        law = self._known.get(key)
        if law is None:
            load = _load(self._masses, self._gravity, own, other)
            law = self._known[key] = pair_law(*_materials(self._spec, first, own), surface, load)
        return law

    def _kind(self, shape: PlacedShape) -> int:
        known = self._kind_of.get(id(shape))
        if known is None:
            mass = None if shape.body < 0 else self._masses[shape.body]
            points, material = CARRYING_POINTS[shape.shape.kind], shape.collision.material
            key = (mass, points, _curvature(shape), _smallest_dimension(shape), material)
            known = self._kinds.setdefault(key, len(self._kinds)), shape
            self._kind_of[id(shape)] = known
        return known[0]


def _placed_field(ground: GroundSpec) -> PlacedShape | None:
    """Return the field of a ground as a shape that is fixed to the world, None of a plane."""
    if ground.field is None:
        return None
    collision = CollisionSpec(ground.field.shape, ground.field.pose, ground.material)
    return PlacedShape(WORLD, -1, collision, ground.field.pose, NO_HULL)


def _materials(
    spec: ContactsSpec, first: str, second: PlacedShape
) -> tuple[SurfaceSpec, SurfaceSpec]:
    return spec.materials[first], spec.materials[second.collision.material]


def _load(
    masses: Sequence[Any],
    gravity: Any,  # noqa: ANN401, a number or one for each world
    own: PlacedShape,
    other: PlacedShape | None,
) -> Load:
    """Return what a contact point carries: its share of the lighter mechanism's weight."""
    points, curvature = CARRYING_POINTS[own.shape.kind], _curvature(own)
    size, mass = _smallest_dimension(own), _lighter(masses, own, other)
    if other is not None:
        points = min(points, CARRYING_POINTS[other.shape.kind])
        curvature += _curvature(other)
        size = min(size, _smallest_dimension(other))
    return Load(mass, gravity, points, 1 / curvature if curvature else None, size)


def _lighter(masses: Sequence[Any], own: PlacedShape, other: PlacedShape | None) -> Any:  # noqa: ANN401
    """Return the mass of the lighter mechanism of two shapes, a number or (k,) [kg]."""
    if other is None or other.body < 0:
        return masses[own.body]
    return least(masses[own.body], masses[other.body])


def least(a: Any, b: Any) -> Any:  # noqa: ANN401, numbers or arrays of them
    """Return the smaller of two numbers, world by world."""
    return np.minimum(a, b) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else min(a, b)


class LawsOfWorlds:
    """Laws of the pairs of shapes of a scene in many worlds.

    Args:
        model: of the scene.
        contacts: of the scene.
    """

    def __init__(self, model: Model, contacts: CompiledContacts) -> None:
        self._groups: list[tuple[PlacedShape, PlacedShape | None, str, frozenset[str]]] = []
        self._loads: list[Load] = []  # of groups, without masses and gravity
        self._alike: dict[frozenset[str], list[LawGroup]] = {}  # by what varies
        index: dict[object, int] = {}
        self.group_of = np.empty(len(contacts.shapes), int)  # of every pair of shapes
        root = root_bodies(model)
        for n, shape in enumerate(contacts.shapes):
            links = contacts.pairs[shape.pair]
            load = _load([0.0] * len(root), 1.0, shape.own, shape.other)
            bodies = [root[own.body] for own in (shape.own, shape.other) if own and own.body >= 0]
            between = frozenset((links.first, links.second))
            material = _other_material(shape)
            changed = model.spec.contacts is not None and any(
                frozenset(pair.between) == between for pair in model.spec.contacts.pairs
            )
            materials = (material, shape.own.collision.material, changed and between)
            key = (*materials, tuple(bodies), load.points, load.radius, load.size)
            if key not in index:
                index[key] = len(self._groups)
                self._groups.append((shape.own, shape.other, material, between))
                self._loads.append(load)
            self.group_of[n] = index[key]

    def numbers(
        self, spec: ContactsSpec, varied: frozenset[str], masses: Sequence[Any], gravity: Array
    ) -> Array:
        """Return the nine numbers of every group of pairs with one law (groups, 9, k).

        Args:
            spec: materials and changed pairs, whose numbers may be arrays (k,).
            varied: names of those that are.
            masses: for every body, the mass of its mechanism, a number or (k,) [kg].
            gravity: size of gravity (k,) [m/s²].
        """
        changes = {frozenset(contact.between): contact.surface for contact in spec.pairs}
        surfaces: list[Surfaces] = [
            (*_materials(spec, material, own), changes.get(between))
            for own, _, material, between in self._groups
        ]
        if varied not in self._alike:
            kinds: dict[object, list[int]] = {}
            for n, (own, load) in enumerate(zip(surfaces, self._loads, strict=True)):
                kinds.setdefault(law_kind(own, load), []).append(n)
            self._alike[varied] = [
                LawGroup(rows, [self._loads[n] for n in rows]) for rows in kinds.values()
            ]
        weight = np.where(gravity > 0, gravity, STANDARD_GRAVITY)
        found = np.empty((len(self._groups), 9, len(gravity)))
        for alike in self._alike[varied]:
            each = [_lighter(masses, *self._groups[n][:2]) for n in alike.rows]
            law = alike.law([surfaces[n] for n in alike.rows], each, weight)
            for i, number in enumerate(law.numbers):
                found[alike.rows, i] = number
        return found


def _other_material(shape: ShapePair) -> str:
    """Return the material of the other shape of a pair, or of the ground."""
    if shape.other is not None:
        return shape.other.collision.material
    assert shape.ground is not None
    return shape.ground.material


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
    laws = _laws(model, first, spec, mechanism_masses(model), gravity)
    if impacts:
        laws = (law.without_restitution() for law in laws)
    shapes = [s._replace(law=law) for s, law in zip(first.shapes, laws, strict=True)]
    return replace(first, engine=engine_contacts(model, shapes, slip_speed), shapes=tuple(shapes))


def _laws(
    model: Model,
    contacts: CompiledContacts,
    spec: ContactsSpec,
    masses: Sequence[Any],
    gravity: float,
) -> Iterator[PairLaw]:
    """Yield the law of every pair of shapes; pairs of the same materials under the same load have one."""
    changes = {frozenset(contact.between): contact for contact in spec.pairs}
    known: dict[object, PairLaw] = {}
    root = root_bodies(model)
    for shape in contacts.shapes:
        links = contacts.pairs[shape.pair]
        change = changes.get(frozenset((links.first, links.second)))
        first = _other_material(shape)
        load = _load(masses, gravity, shape.own, shape.other)
        bodies = [root[own.body] for own in (shape.own, shape.other) if own and own.body >= 0]
        materials = (first, shape.own.collision.material, id(change))
        key = (*materials, tuple(bodies), load.points, load.radius, load.size)
        if key not in known:
            surface = None if change is None else change.surface
            known[key] = pair_law(*_materials(spec, first, shape.own), surface, load)
        yield known[key]


def _smallest_dimension(shape: PlacedShape) -> float:
    """Return the smallest edge or diameter of a shape [m], of a mesh along its axes."""
    kind, size = shape.shape.kind, shape.shape.size
    if shape.shape.field is not None:
        return shape.shape.field.thickness
    if kind == "mesh":
        return (shape.whole or shape.hull).thickness  # the parts of one mesh have one law
    if kind == "box":
        return min(size)
    if kind in {"cone", "cylinder"}:
        return min(2 * size[0], size[1])
    return 2 * (min(size) if kind == "ellipsoid" else size[0])


def _curvature(shape: PlacedShape) -> float:
    """Return 1/radius of a curved shape [1/m], 0 of others."""
    return 1 / shape.shape.size[0] if shape.shape.kind in CURVED else 0.0


def root_bodies(model: Model) -> list[int]:
    """Return, for every body, the first body of the mechanism that it belongs to."""
    root = list(range(model.nbodies))
    for body, parent in enumerate(model.parents):
        if parent >= 0:
            root[body] = root[parent]
    return root


def mechanism_masses(model: Model) -> list[float]:
    """Return, for every body, the mass of the mechanism that it belongs to [kg]."""
    root = root_bodies(model)
    own = [float(body.theta[0]) for body in model.bodies]
    total = [0.0] * len(root)
    for mass, r in zip(own, root, strict=True):
        total[r] += mass
    return [total[k] for k in root]
