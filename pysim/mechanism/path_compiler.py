"""Compilation of paths: points, conditional points and obstacles in the frames of the engine's bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim._engine import PathKind, PathPoint
from pysim.errors import ModelError
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pysim.mechanism.constraint_compiler import Coordinates
    from pysim.scene.spec import PathPart

    Place = Callable[[str], tuple[int, Array]]


def compile_path(
    path: Sequence[PathPart], place: Place, coordinates: Coordinates, where: str
) -> list[PathPoint]:
    """Return the parts of a path for the engine.

    Args:
        path: parts, in order.
        place: number of a body and pose in it, of a link or frame.
        coordinates: of the model, for conditional points.
        where: place of the path in its file, for errors.

    Raises:
        ModelError: a conditional point depends on a coordinate that is not there, or is no plain number.
    """
    points = []
    for part in path:
        body, pose = place(part.body)
        q = -1
        if part.kind == "conditional":
            q = coordinates.place(part.coordinate, where)[0]
            if q < 0:
                problem = f"{part.coordinate!r} is a velocity, whose position is no single number"
                raise ModelError(where, f"{problem}; name another coordinate for the point")
        kind = f"inside_{part.kind}" if part.inside else part.kind
        is_cylinder = part.kind == "cylinder"
        ends = (-part.length / 2, part.length / 2) if is_cylinder else (part.above, part.below)
        points.append(
            PathPoint(
                body,
                pose @ part.at,
                PathKind[kind],
                part.radii,
                part.side,
                q,
                *ends,
                *([part.multiplicity] if part.multiplicity != 1 else []),
            )
        )
    return points
