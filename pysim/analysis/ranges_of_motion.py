"""Ranges of motion of a mechanism, and the links whose collision shapes overlap in them.

Every coordinate moves through its range alone, with the others at the start; then all take random values. A coordinate
has a range if it has limits or is an angle. Meshes are represented by their convex hulls; links that a joint connects,
and pairs that the file excludes, may overlap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import forward_kinematics
from pysim.contact.distances import distances
from pysim.contact.hulls import collision_hull, convex_pieces
from pysim.contact.pairs import ContactPair, link_pairs
from pysim.errors import ModelError
from pysim.joints import find_joint
from pysim.scene.doctor import shape_radius
from pysim.scene.mimic import leading
from pysim.scene.spec import CollisionFilter, CollisionSpec, ContactsSpec, may_touch
from pysim.typing import Array
from pysim.worlds.loading import compile_model

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from pysim.mechanism.model import Model
    from pysim.scene.spec import BodySpec, JointSpec, ModelSpec
    from pysim.shapes import Shape

    Mask = NDArray[np.bool_]

STEPS = 49  # positions of a coordinate that moves alone
SAMPLES = 400  # random configurations
TOUCHING = 2e-3  # of the extent of both shapes: less is no overlap


@dataclass(frozen=True)
class CoordinateRange:
    """Range of a coordinate, and the part of it about the start in which no links overlap beyond those at the start."""

    name: str
    index: int  # in q
    lower: float  # [m or rad]
    upper: float
    unit: str
    clear: tuple[float, float] | None = None  # None if links overlap at the start already
    first: tuple[str, str] | None = None  # links that overlap beyond it


@dataclass(frozen=True)
class OverlappingLinks:
    """Two links that overlap: at the start, and in a share of the random configurations."""

    first: str
    second: str
    at_start: bool
    share: float
    where: str


@dataclass(frozen=True)
class RangesOfMotion:
    """Ranges of a mechanism's coordinates, overlapping links, and what was not examined."""

    coordinates: tuple[CoordinateRange, ...]
    overlapping: tuple[OverlappingLinks, ...]
    configurations: int
    pairs: int
    without_shape: tuple[str, ...]  # moving links that have no collision shape
    without_range: tuple[str, ...]  # joints that keep their start


def ranges_of_motion(model: Model, start: ArrayLike) -> RangesOfMotion:
    """Sample the ranges of a mechanism without loops about a configuration `start` (nq,).

    Raises:
        ModelError: the mechanism has loops or couplings, so that its coordinates depend on each other, or a mesh is
            flat.
    """
    tied = (*model.loop_names, *model.coupling_names)
    if tied:
        problem = f"{tied[0]!r} makes coordinates depend on each other, and their ranges are those of single joints"
        raise ModelError(model.spec.where, f"{problem}; check the ranges of the model without it")
    q = np.asarray(start, float)
    ranges = list(_ranges(model))
    shapes = _Shapes(model)
    rng = np.random.default_rng(0)
    random = np.tile(q, (SAMPLES, 1))
    for own in ranges:
        random[:, own.index] = rng.uniform(own.lower, own.upper, SAMPLES)
    alone = [_moved(q, own) for own in ranges]
    overlap = shapes.overlaps(np.vstack([q, *alone, random]))  # (configurations, pairs)
    at_start, by_joint, drawn = overlap[0], overlap[1:-SAMPLES], overlap[-SAMPLES:]
    steps = by_joint.reshape(len(ranges), STEPS, len(shapes.pairs))
    coordinates = [
        _with_clear(own, q[own.index], mask & ~at_start, shapes.pairs)
        for own, mask in zip(ranges, steps, strict=True)
    ]
    where = {body.name: body.where for body in model.spec.bodies}
    pairs = [
        OverlappingLinks(
            pair.first,
            pair.second,
            bool(at_start[k]),
            float(drawn[:, k].mean()),
            where[pair.second],
        )
        for k, pair in enumerate(shapes.pairs)
        if at_start[k] or drawn[:, k].any() or steps[:, :, k].any()
    ]
    return RangesOfMotion(
        tuple(coordinates),
        tuple(pairs),
        len(overlap),
        len(shapes.pairs),
        shapes.missing,
        tuple(_without_range(model, ranges)),
    )


def _ranges(model: Model) -> Iterator[CoordinateRange]:
    """Yield the coordinates that have a range; that of a joint that others follow is narrowed by their limits."""
    followers = _followers(model.spec)
    for joint, at in zip(model.joints, model.q_offsets, strict=True):
        if at < 0:
            continue
        kind = find_joint(joint.type)
        for k, k_v in zip(*kind.real_coordinates, strict=True):
            lower, upper = float(joint.lower[k_v]), float(joint.upper[k_v])
            for follower, ratio, offset in followers.get(joint.name, ()):
                bounds = sorted(
                    (limit[0] - offset) / ratio for limit in (follower.lower, follower.upper)
                )
                lower, upper = max(lower, bounds[0]), min(upper, bounds[1])
            if kind.q_units[k] == "rad":
                lower, upper = _turn(lower, upper)
            if math.isfinite(lower) and math.isfinite(upper) and lower < upper:
                unit = kind.q_units[k]
                yield CoordinateRange(model.coordinate_names[at + k], at + k, lower, upper, unit)


def _followers(spec: ModelSpec) -> dict[str, list[tuple[JointSpec, float, float]]]:
    """Return by joint those that follow it, with ratio and offset."""
    by_name = {joint.name: joint for joint in spec.joints}
    found: dict[str, list[tuple[JointSpec, float, float]]] = {}
    for joint in spec.joints:
        mimic = leading(joint, by_name)
        if mimic is not None and mimic.ratio:
            found.setdefault(mimic.joint, []).append((joint, mimic.ratio, mimic.offset))
    return found


def _turn(lower: float, upper: float) -> tuple[float, float]:
    """Return the range of an angle: a turn where a limit is missing."""
    if math.isinf(lower) and math.isinf(upper):
        return -math.pi, math.pi
    if math.isinf(lower):
        return upper - math.tau, upper
    return (lower, lower + math.tau) if math.isinf(upper) else (lower, upper)


def _moved(q: Array, own: CoordinateRange) -> Array:
    """Return the configurations (STEPS, nq) in which a coordinate moves alone."""
    moved = np.tile(q, (STEPS, 1))
    moved[:, own.index] = np.linspace(own.lower, own.upper, STEPS)
    return moved


def _with_clear(
    coordinate: CoordinateRange, start: float, mask: Mask, pairs: Sequence[ContactPair]
) -> CoordinateRange:
    """Return a range with its part about the start in which no pair of the mask (STEPS, pairs) overlaps."""
    values = np.linspace(coordinate.lower, coordinate.upper, STEPS)
    hit = mask.any(axis=1)
    below, above = (np.flatnonzero(hit & side) for side in (values < start, values >= start))
    lower = values[below[-1] + 1] if len(below) else coordinate.lower
    upper = values[above[0] - 1] if len(above) else coordinate.upper
    edges = [*below[-1:], *above[:1]]
    first = None
    if edges:
        pair = pairs[int(np.argmax(mask[edges[-1]]))]
        first = (pair.first, pair.second)
    return replace(coordinate, clear=(float(lower), float(upper)), first=first)


def _without_range(model: Model, found: list[CoordinateRange]) -> Iterator[str]:
    """Yield the joints that keep coordinates of their start, as a slide without limits and a free body do."""
    sampled = {own.index for own in found}
    for joint, at, nq in zip(model.joints, model.q_offsets, model.joint_nq, strict=True):
        if at >= 0 and not sampled.issuperset(range(at, at + nq)):
            yield joint.name


class _Shapes:
    """Convex shapes of a model's links, and the pairs of links that may not overlap."""

    def __init__(self, model: Model) -> None:
        spec = model.spec
        bodies = tuple(replace(body, collisions=_collisions(body)) for body in spec.bodies)
        contacts = ContactsSpec({}, (), (), spec.contacts.excluded if spec.contacts else ())
        self._model = compile_model(replace(spec, bodies=bodies, contacts=contacts))
        self.pairs = link_pairs(self._model, contacts)
        self.missing = tuple(
            body.name for body in bodies if body.geometries and not body.collisions
        )
        self._shapes = {
            body.name: [
                _Placed.of(own, *self._model.frames[body.name])
                for shape in body.collisions
                for own in convex_pieces(shape)
            ]
            for body in bodies
        }

    def overlaps(self, q: Array) -> Mask:
        """Return which pairs overlap in configurations (n, nq), as (n, pairs)."""
        poses = forward_kinematics(self._model, q)
        found = np.zeros((len(q), len(self.pairs)), bool)
        for k, pair in enumerate(self.pairs):
            for a in self._shapes[pair.first]:
                for b in self._shapes[pair.second]:
                    if may_touch(a.filter, b.filter):
                        apart = distances(a.shape, a.placed(poses), b.shape, b.placed(poses))
                        found[:, k] |= apart.distance < -TOUCHING * (a.extent + b.extent)
        return found


@dataclass(frozen=True)
class _Placed:
    """A convex shape on a body, or on the world."""

    shape: Shape
    extent: float  # radius of a ball about its middle that contains it [m]
    body: int  # −1 for the world
    pose: Array  # in the body or the world (4, 4)
    filter: CollisionFilter | None

    @staticmethod
    def of(own: CollisionSpec, body: int, pose: Array) -> _Placed:
        hull = collision_hull(replace(own, convex=True))
        if own.shape.mesh is None:
            extent = shape_radius(own.shape)
        else:
            extent = float(np.linalg.norm(hull.vertices, axis=1).max())
        return _Placed(own.shape, extent, body, pose @ own.pose, own.filter)

    def placed(self, poses: Array) -> Array:
        """Return its poses (n, 4, 4) in the world, from those of the bodies (n, bodies, 4, 4)."""
        if self.body < 0:
            return np.broadcast_to(self.pose, (len(poses), 4, 4))
        return np.asarray(poses[:, self.body] @ self.pose)


def _collisions(body: BodySpec) -> tuple[CollisionSpec, ...]:
    """Return the shapes of a link that collide, or would if the scene let it."""
    return body.collisions or tuple(
        CollisionSpec(g.shape, g.pose, convex=True, where=body.where)
        for g in body.geometries
        if g.role == "collision"
    )
