"""Reader of paths: points, points that count within a range of a coordinate or that move with some, and obstacles."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pysim.scene.spec import MOST_OBSTACLES, PathPart, PointMove
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.scene.toml.problems import Problems
    from pysim.scene.toml.records.constraint_tables import PathPoint
    from pysim.scene.toml.source import Steps


def read_part(table: PathPoint, body: str, pose: Array, multiplicity: float = 1.0) -> PathPart:
    """Return a part of a path on a body.

    Args:
        table: the part.
        body: on which it is.
        pose: of the frame that the table names in the body (4, 4).
        multiplicity: of the whole path.
    """
    point = np.eye(4)
    point[:3, 3] = table.point
    moves = tuple(PointMove(move.coordinate, move.unit, move.function) for move in table.moves)
    if table.when is not None:
        above = -math.inf if table.when.above is None else table.when.above
        below = math.inf if table.when.below is None else table.when.below
        return PathPart(
            body,
            pose @ point,
            "conditional",
            coordinate=table.when.coordinate,
            above=above,
            below=below,
            moves=moves,
        )
    if table.is_obstacle:
        x, y, z = (0.0, 0.0, 0.0) if table.side is None else map(float, table.side)
        at, side = pose @ table.at.matrix, (x, y, z)
        if table.ellipsoid is not None:
            a, b, c = table.ellipsoid
            return PathPart(body, at, "ellipsoid", side=side, semi_axes=(a, b, c))
        if table.torus is not None:
            return PathPart(body, at, "torus", table.torus[0], tube=table.torus[1])
        if table.sphere is not None:
            return PathPart(body, at, "sphere", table.sphere, side, inside=table.inside)
        assert table.cylinder is not None
        length = math.inf if table.length is None else table.length
        return PathPart(
            body, at, "cylinder", table.cylinder, side, inside=table.inside, length=length
        )
    return PathPart(body, pose @ point, multiplicity=multiplicity * table.multiplicity, moves=moves)


def check_parts(tables: Sequence[PathPoint], path: Steps, problems: Problems) -> None:
    """Report a path with too few points, parts out of place, sides that are not solved, and strands before it."""
    if len(tables) == 1:
        problems.add((*path, "path"), "has one point; a path needs two or more")
    if tables and "multiplicity" in tables[0].model_fields_set:
        problem = "the first point has a multiplicity, and no part of the path is before it"
        problems.add((*path, "path", 0, "multiplicity"), f"{problem}; remove it")
    plain = [table.when is None and not table.is_obstacle for table in tables]
    run = 0
    for k, is_point in enumerate(plain):
        run = 0 if is_point else run + 1
        inner = 0 < k < len(plain) - 1
        if tables[k].when is not None and not (inner and plain[k - 1] and plain[k + 1]):
            problem = "has the condition `when`, but is not between two points without one"
            problems.add((*path, "path", k), f"{problem}; put a point before and after it")
        elif tables[k].is_obstacle and not inner:
            problem = "is an obstacle, but not between two points"
            problems.add((*path, "path", k), f"{problem}; put a point before and after it")
        elif run > MOST_OBSTACLES:
            problem = f"is obstacle {run} between two points, and there may be {MOST_OBSTACLES}"
            problems.add((*path, "path", k), f"{problem}; put a point between them")
        is_sided = tables[k].side is not None and tables[k].cylinder is None
        if is_sided and inner and any(tables[n].is_obstacle for n in (k - 1, k + 1)):
            problem = "is that of a sphere or ellipsoid beside another obstacle, and only cylinders"
            remedy = "have one there; remove it, or put a point between the obstacles"
            problems.add((*path, "path", k, "side"), f"{problem} {remedy}")
