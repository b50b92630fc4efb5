"""Pairs of shapes of one imported robot: which of them touch each other, and why others do not.

A file lets its links touch by masks (MJCF), `<self_collide>` (SDF) or what a Semantic Robot Description leaves enabled;
`self_collision` of a [[model]] overrides it. A URDF file alone says nothing: of its links, those shapes touch whose
contact points have a closed form, which costs little.

Shapes in files of robots are simplified: those of a hip and a thigh, or of two parts that are bolted together, often
overlap in every posture, and would throw the robot apart. As in the collision matrices of MoveIt's setup assistant
[Coleman et al. 2014], links that overlap in the start posture do not touch each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.contact.pair_distances import distance_of, near_shapes
from pysim.contact.shape_pairs import Distinct
from pysim.mechanism.compile import start_state
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pysim.contact.compiler import CompiledContacts
    from pysim.contact.pairs import PlacedShape
    from pysim.contact.shape_pairs import ShapePairs
    from pysim.mechanism.model import Model

CLOSED_FORMS = set(map(frozenset, _engine.closed_form_pairs()))
DEEP_START = 10.0  # of the depth at rest: an overlap at the start that throws a body back
OFF, OVERLAP, UNSTATED = "off", "overlap", "unstated"


@dataclass(frozen=True)
class LeftOutPair:
    """Two shapes of one robot that pass through each other, and why.

    Attributes:
        first: one shape.
        second: the other one.
        reason: OFF, by `self_collision = false`; UNSTATED, by a URDF file; or OVERLAP.
        depth: overlap at the start [m], 0 of further shapes of links that overlap.
    """

    first: PlacedShape
    second: PlacedShape
    reason: str
    depth: float = 0.0


def left_out_pairs(
    model: Model,
    shapes: ShapePairs,
    roots: Sequence[int],
    named: Iterable[int],
    q: Array | None = None,
) -> dict[int, LeftOutPair]:
    """Return the pairs of shapes of one imported robot that do not touch each other, by their numbers.

    Args:
        model: of the scene.
        shapes: pairs of shapes.
        roots: for every body, the first body of its mechanism.
        named: numbers of pairs of links that a [[contact]] names, which touch in any case.
        q: coordinates at the start (nq,); by default those of the joints, whose loops may be open.
    """
    robots = Distinct[tuple[str, str] | None]()
    each = [robots.index(robot, robot or ()) for robot in map(_robot, shapes.placed)]
    of_shape = np.array([*each, -1])  # the last one is that of −1, a plane
    if None in robots.values:
        of_shape[of_shape == robots.values.index(None)] = -1
    if (of_shape < 0).all():
        return {}
    robot = of_shape[shapes.moving]
    same = (robot >= 0) & (robot == of_shape[shapes.opposite])
    same &= ~np.isin(shapes.pair, np.array(sorted(named), int))
    left_out, examined = {}, []
    for k in np.flatnonzero(same).tolist():
        pair, other = shapes[k], shapes[k].opposite
        assert other is not None
        mask, masked = pair.moving.collision.filter, other.collision.filter
        if mask is not None and masked is not None and masked.name in mask.partners:
            continue  # a <pair> of MJCF
        reason = _reason(model, pair.moving, other, roots)
        if reason is None:
            examined.append(k)
        else:
            left_out[k] = LeftOutPair(other, pair.moving, reason)
    depths = _overlaps(model, shapes, examined, q)
    apart = {int(shapes.pair[k]) for k in depths}
    for k in examined:
        pair = shapes[k]
        if pair.pair in apart and pair.opposite is not None:
            left_out[k] = LeftOutPair(pair.opposite, pair.moving, OVERLAP, depths.get(k, 0.0))
    return left_out


def _robot(shape: PlacedShape) -> tuple[str, str] | None:
    """Return the copy of another program's file that a shape is from, None of a scene's own shapes."""
    if not shape.collision.is_imported:
        return None
    return shape.collision.robot, shape.link.rpartition("/")[0]


def _reason(model: Model, a: PlacedShape, b: PlacedShape, roots: Sequence[int]) -> str | None:
    """Return why the file of two shapes does not let them touch, None if it does."""
    stated = [x.collision.self_collision for x in (a, b)]
    stated = [model.spec.self_collision if x is None else x for x in stated]
    if False in stated:
        return OFF
    is_tree = b.body >= 0 and roots[a.body] == roots[b.body]
    is_closed = frozenset((a.shape.kind, b.shape.kind)) in CLOSED_FORMS
    return UNSTATED if None in stated and is_tree and not is_closed else None


def _overlaps(
    model: Model, shapes: ShapePairs, examined: Sequence[int], q: Array | None
) -> dict[int, float]:
    """Return the overlaps at the start [m] that would throw links apart, by number of the pair."""
    if not examined:
        return {}
    poses = _engine.forward_kinematics(model, start_state(model).q if q is None else q)
    near = near_shapes(shapes.take(np.array(examined)), poses)
    depths = {k: -distance_of(shapes[k], poses) for k in (examined[n] for n in near)}
    return {k: depth for k, depth in depths.items() if depth > DEEP_START * shapes[k].law.sink}


def overlaps_of_links(contacts: CompiledContacts) -> dict[str, float]:
    """Return the greatest overlap at the start [m] of links of one robot that are left out, by "first, second"."""
    found: dict[str, float] = {}
    for pair in contacts.left_out:
        if pair.reason == OVERLAP:
            name = f"{pair.first.link}, {pair.second.link}"
            found[name] = max(pair.depth, found.get(name, 0.0))
    return found
