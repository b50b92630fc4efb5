"""Laws of pairs of shapes: from their materials, the surface of a changed pair, and the load that they carry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.contact.laws import NUMBERS, STANDARD_GRAVITY, Load, PairLaw, pair_law
from pysim.contact.laws_at_once import LawGroup, Surfaces, law_kind
from pysim.contact.pairs import PlacedShape
from pysim.shapes import PRIMITIVES
from pysim.tracing.symbolic_array import SymbolicArray
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pysim.contact.compiler import CompiledContacts
    from pysim.contact.shape_pairs import ShapePair
    from pysim.mechanism.model import Model
    from pysim.scene.spec import ContactsSpec, SurfaceSpec


class PairLaws:
    """Laws of pairs of shapes; those of the same materials under the same load have one."""

    def __init__(self, model: Model, spec: ContactsSpec) -> None:
        self._spec, self._masses = spec, mechanism_masses(model)
        self._gravity = float(np.linalg.norm(model.gravity)) or STANDARD_GRAVITY
        self._known: dict[object, PairLaw] = {}
        self._kinds: dict[object, int] = {}  # of shapes: what their loads depend on
        self._kind_of: dict[int, tuple[int, PlacedShape]] = {}  # by id, of shapes that are kept

    def law(
        self, first: str, own: PlacedShape, other: PlacedShape | None, surface: SurfaceSpec | None
    ) -> PairLaw:
        """Return the law of a shape and another one, or a plane, of the material `first`."""
        key = (first, self.kind(own), None if other is None else self.kind(other), id(surface))
        law = self._known.get(key)
        if law is None:
            load = _load(self._masses, self._gravity, own, other)
            law = self._known[key] = pair_law(*_materials(self._spec, first, own), surface, load)
        return law

    def kind(self, shape: PlacedShape) -> int:
        """Return the number of what laws and loads of a shape depend on."""
        known = self._kind_of.get(id(shape))
        if known is None:
            mass = None if shape.body < 0 else self._masses[shape.body]
            points, material = _carrying_points(shape), shape.collision.material
            key = (mass, points, _curvature(shape), _smallest_dimension(shape), material)
            known = self._kinds.setdefault(key, len(self._kinds)), shape
            self._kind_of[id(shape)] = known
        return known[0]


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
            load = _load([0.0] * len(root), 1.0, shape.moving, shape.opposite)
            bodies = [
                root[own.body] for own in (shape.moving, shape.opposite) if own and own.body >= 0
            ]
            between = frozenset((links.first, links.second))
            material = _other_material(shape)
            changed = model.spec.contacts is not None and any(
                frozenset(pair.between) == between for pair in model.spec.contacts.pairs
            )
            materials = (material, shape.moving.collision.material, changed and between)
            key = (*materials, tuple(bodies), load.points, load.radius, load.size)
            if key not in index:
                index[key] = len(self._groups)
                self._groups.append((shape.moving, shape.opposite, material, between))
                self._loads.append(load)
            self.group_of[n] = index[key]

    def numbers(
        self, spec: ContactsSpec, varied: frozenset[str], masses: Sequence[Any], gravity: Array
    ) -> Array:
        """Return the numbers of every group of pairs with one law (groups, numbers, k).

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
            for n, (touching, load) in enumerate(zip(surfaces, self._loads, strict=True)):
                kinds.setdefault(law_kind(touching, load), []).append(n)
            self._alike[varied] = [
                LawGroup(rows, [self._loads[n] for n in rows]) for rows in kinds.values()
            ]
        weight = np.where(gravity > 0, gravity, STANDARD_GRAVITY)
        laws: list[tuple[list[int], tuple[Any, ...]]] = []
        for alike in self._alike[varied]:
            each = [_lighter(masses, *self._groups[n][:2]) for n in alike.rows]
            law = alike.law([surfaces[n] for n in alike.rows], each, weight)
            laws.append((alike.rows, law.numbers))
        symbolic = [x for _, own in laws for x in own if isinstance(x, SymbolicArray)]
        shape = (len(self._groups), len(NUMBERS), len(gravity))
        columns = np.empty_like(symbolic[0], shape=shape) if symbolic else np.empty(shape)
        for rows, numbers in laws:
            for i, number in enumerate(numbers):
                columns[rows, i] = number
        return columns


def laws_of_shapes(
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
        load = _load(masses, gravity, shape.moving, shape.opposite)
        bodies = [root[own.body] for own in (shape.moving, shape.opposite) if own and own.body >= 0]
        materials = (first, shape.moving.collision.material, id(change))
        key = (*materials, tuple(bodies), load.points, load.radius, load.size)
        if key not in known:
            surface = None if change is None else change.surface
            known[key] = pair_law(*_materials(spec, first, shape.moving), surface, load)
        yield known[key]


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
    points, curvature = _carrying_points(own), _curvature(own)
    size, mass = _smallest_dimension(own), _lighter(masses, own, other)
    if other is not None:
        points = min(points, _carrying_points(other))
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


def _other_material(shape: ShapePair) -> str:
    """Return the material of the other shape of a pair, or of the ground."""
    if shape.opposite is not None:
        return shape.opposite.collision.material
    assert shape.ground is not None
    return shape.ground.material


def _smallest_dimension(shape: PlacedShape) -> float:
    """Return the thickness of a shape [m]; the parts of one mesh, which have one law, have that of the mesh."""
    return shape.thickness if shape.hull_of_mesh is None else shape.hull_of_mesh.thickness


def _curvature(shape: PlacedShape) -> float:
    """Return 1/radius of a curved shape [1/m], 0 of others."""
    own = shape.shape
    return 1 / own.size[0] if own.primitive is not None and own.primitive.is_curved else 0.0


def _carrying_points(shape: PlacedShape) -> int:
    """Return the number of points that carry a shape at rest; a mesh or field has those of a box."""
    own = shape.shape.primitive
    return PRIMITIVES["box"].carrying_points if own is None else own.carrying_points


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
