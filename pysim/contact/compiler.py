"""Compilation of a scene's contacts for the engine: one pair for every shape that collides and every ground."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.contact.hulls import hull_vertices
from pysim.contact.laws import CARRYING_POINTS, CURVED, STANDARD_GRAVITY, Load, PairLaw, pair_law
from pysim.contact.sizes import engine_size
from pysim.scene.tree import WORLD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pysim.mechanism.model import Model
    from pysim.scene.spec import CollisionSpec, ContactSpec, ContactsSpec, GroundSpec
    from pysim.shapes import Shape

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class ContactPair:
    """Two links that may touch: the normal points from the first to the second, and forces act on the second."""

    first: str
    second: str

    @property
    def name(self) -> str:
        """Name in trajectories."""
        return f"{self.first}, {self.second}"


@dataclass(frozen=True)
class ShapePair:
    """A shape of a link and a ground, with the law between them."""

    pair: int  # among the pairs of links
    body: int
    shape: Shape
    pose: Array  # in the moving body (4, 4)
    ground: GroundSpec
    law: PairLaw
    surface_velocity: tuple[float, float, float]
    vertices: Array  # of a mesh (n, 3) [m]


@dataclass(frozen=True)
class CompiledContacts:
    """Contacts of a model: pairs of links, pairs of shapes, and the engine's record of them."""

    engine: _engine.Contacts
    pairs: tuple[ContactPair, ...]
    shapes: tuple[ShapePair, ...]
    shape_of_point: NDArray[np.intp]  # (points,) among shapes
    pair_of_point: NDArray[np.intp]  # (points,) among pairs
    signs: Array  # (pairs,) −1 if the world is the second link
    normals: Array  # (points, 3), towards the second link


def compile_contacts(model: Model) -> CompiledContacts:
    """Return the contacts of a model, none if its scene has no ground.

    Raises:
        ModelError: a mesh is not convex, or two materials have no common law.
    """
    spec = model.spec.contacts
    links = [] if spec is None else _links(model, spec)
    shapes = [] if spec is None else list(_shape_pairs(model, spec, links))
    engine = _engine.Contacts(
        model,
        [s.body for s in shapes],
        [s.shape.kind for s in shapes],
        np.array([engine_size(s.shape) for s in shapes]).reshape(-1, 3),
        np.array([s.pose for s in shapes]).reshape(-1, 4, 4),
        np.array([(*s.ground.normal, s.ground.offset) for s in shapes]).reshape(-1, 4),
        np.array([s.surface_velocity for s in shapes]).reshape(-1, 3),
        np.array([s.law.numbers for s in shapes]).reshape(-1, 7),
        [s.vertices for s in shapes],
    )
    shape_of_point = np.array(engine.pair_of_point, int)
    of_shape = np.array([s.pair for s in shapes], int)
    signs = np.array([1.0 if pair.first == WORLD else -1.0 for pair in links])
    pair_of_point = of_shape[shape_of_point] if shapes else shape_of_point
    normals = np.array([shapes[k].ground.normal for k in shape_of_point]).reshape(-1, 3)
    if shapes:
        normals *= signs[pair_of_point, np.newaxis]
    return CompiledContacts(
        engine, tuple(links), tuple(shapes), shape_of_point, pair_of_point, signs, normals
    )


def _links(model: Model, spec: ContactsSpec) -> list[ContactPair]:
    """Return the pairs of the world and a link that collides, in the order of the file, without excluded ones."""
    order = {frozenset(contact.between): contact.between for contact in spec.pairs}
    excluded = {frozenset(between) for between in spec.excluded}
    found = []
    for body in model.spec.bodies:
        between = frozenset((WORLD, body.name))
        if body.collisions and between not in excluded and model.frames[body.name][0] >= 0:
            found.append(ContactPair(*order.get(between, (WORLD, body.name))))
    return found


def _shape_pairs(model: Model, spec: ContactsSpec, links: list[ContactPair]) -> Iterator[ShapePair]:
    bodies = {body.name: body for body in model.spec.bodies}
    changes = {frozenset(contact.between): contact for contact in spec.pairs}
    masses = _tree_masses(model)
    gravity = float(np.linalg.norm(model.gravity)) or STANDARD_GRAVITY
    for k, pair in enumerate(links):
        link = pair.second if pair.first == WORLD else pair.first
        body, pose = model.frames[link]
        change = changes.get(frozenset((pair.first, pair.second)))
        for collision in bodies[link].collisions:
            shape = collision.shape
            vertices = np.zeros((0, 3)) if shape.mesh is None else hull_vertices(collision)
            load = Load(masses[body], gravity, CARRYING_POINTS[shape.kind], _radius(shape))
            for ground in spec.grounds:
                law = _law(spec, ground, collision, change, load)
                velocity = (0.0, 0.0, 0.0) if change is None else change.surface_velocity
                yield ShapePair(
                    k, body, shape, pose @ collision.pose, ground, law, velocity, vertices
                )


def _law(
    spec: ContactsSpec,
    ground: GroundSpec,
    collision: CollisionSpec,
    change: ContactSpec | None,
    load: Load,
) -> PairLaw:
    first, second = spec.materials[ground.material], spec.materials[collision.material]
    return pair_law(first, second, None if change is None else change.surface, load)


def root_bodies(model: Model) -> list[int]:
    """Return, for every body, the first body of the mechanism that it belongs to."""
    root = list(range(model.nbodies))
    for body, parent in enumerate(model.parents):
        if parent >= 0:
            root[body] = root[parent]
    return root


def _tree_masses(model: Model) -> list[float]:
    """Return, for every body, the mass of the mechanism that it belongs to [kg]."""
    root = root_bodies(model)
    own = [float(body.theta[0]) for body in model.bodies]
    total = [sum(m for m, r in zip(own, root, strict=True) if r == k) for k in range(len(root))]
    return [total[k] for k in root]


def _radius(shape: Shape) -> float | None:
    return shape.size[0] if shape.kind in CURVED else None
