"""Compilation of paths: points, conditional and moving points, and obstacles in the frames of the engine's bodies.

    p(x) = Σ fₖ(xₖ) aₖ        of a moving point: axes a, functions f of its coordinates x

The engine runs p as a program of the coordinates, with its derivatives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pysim._engine import ElementCoordinate, PathKind, PathPoint, Program
from pysim.errors import ModelError
from pysim.joints.coordinate_functions import displacement
from pysim.tracing.derivative import Derivative
from pysim.tracing.expression import Scalar
from pysim.tracing.program import emit
from pysim.tracing.tape import Tape
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pysim.mechanism.constraint_compiler import Coordinates
    from pysim.scene.spec import Mimic, PathPart, PointMove

    Place = Callable[[str], tuple[int, Array]]


class _Motion(NamedTuple):
    """Coordinates that move a point, and the programs of its place."""

    coordinates: list[ElementCoordinate]
    place: Program
    slopes: Program


def compile_path(
    path: Sequence[PathPart], place: Place, coordinates: Coordinates, where: str
) -> list[PathPoint]:
    """Return the parts of a path for the engine.

    Args:
        path: parts, in order.
        place: number of a body and pose in it, of a link or frame.
        coordinates: of the model, for conditional and moving points.
        where: place of the path in its file, for errors.

    Raises:
        ModelError: a point depends on a coordinate that is not there, or is no plain number.
    """
    points = []
    for part in path:
        body, pose = place(part.body)
        q = -1
        if part.kind == "conditional":
            q = coordinates.place(part.coordinate, where)[0]
            if q < 0:
                raise ModelError(where, _no_number(part.coordinate))
        kind = f"inside_{part.kind}" if part.inside else part.kind
        is_cylinder = part.kind == "cylinder"
        ends = (-part.length / 2, part.length / 2) if is_cylinder else (part.above, part.below)
        point = PathPoint(
            body,
            pose @ part.at,
            PathKind[kind],
            part.radii,
            part.side,
            q,
            *ends,
            part.multiplicity,
        )
        if part.moves:
            point = point.replaced(**_motion(part.moves, coordinates, where)._asdict())
        points.append(point)
    return points


def _no_number(name: str) -> str:
    problem = f"{name!r} is a velocity, whose position is no single number"
    return f"{problem}; name another coordinate for the point"


def _argument(q: Scalar, mimic: Mimic | None) -> Scalar:
    """Return the argument of a function; q is the leader's coordinate if the joint follows another."""
    return q if mimic is None else mimic.ratio * q + mimic.offset


def _motion(moves: Sequence[PointMove], coordinates: Coordinates, where: str) -> _Motion:
    """Return what moves a point; a joint that follows another stands for that one."""
    leaders = [coordinates.leader(move.coordinate, where) for move in moves]
    places = list(dict.fromkeys(leader.place for leader in leaders))
    for move, (q, _) in zip(moves, (leader.place for leader in leaders), strict=True):
        if q < 0:
            raise ModelError(where, _no_number(move.coordinate))
    tape = Tape()
    numbers = {at: Scalar(tape, tape.input(k)) for k, at in enumerate(places)}
    terms = [
        (move.axis, move.function, _argument(numbers[leader.place], leader.mimic))
        for move, leader in zip(moves, leaders, strict=True)
    ]
    p = [x.index if isinstance(x, Scalar) else tape.const(x) for x in displacement(terms)]
    along = [Derivative(tape, {k: tape.const(1)}) for k in range(len(places))]
    first = [by.of(node) for by in along for node in p]
    second = [
        by.of(node) for k in range(0, len(first), 3) for by in along for node in first[k : k + 3]
    ]
    return _Motion(
        [ElementCoordinate(*at) for at in places],
        emit(tape, [*p, *first], [], len(places)),
        emit(tape, [*p, *first, *second], [], len(places)),
    )
