"""Reader of paths: points, points that count within a range of a coordinate, and obstacles."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pysim.scene.spec import PathPart
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
        )
    for kind in ("sphere", "cylinder"):
        radius = getattr(table, kind)
        if radius is not None:
            x, y, z = (0.0, 0.0, 0.0) if table.side is None else map(float, table.side)
            at = pose @ table.at.matrix
            return PathPart(body, at, kind, radius, (x, y, z), inside=table.inside)
    return PathPart(body, pose @ point, multiplicity=multiplicity * table.multiplicity)


def check_parts(tables: Sequence[PathPoint], path: Steps, problems: Problems) -> None:
    """Report a path with too few points, obstacles that are not between two points, and strands before the first."""
    if len(tables) == 1:
        problems.add((*path, "path"), "has one point; a path needs two or more")
    if tables and "multiplicity" in tables[0].model_fields_set:
        problem = "the first point has a multiplicity, and no part of the path is before it"
        problems.add((*path, "path", 0, "multiplicity"), f"{problem}; remove it")
    plain = [
        table.when is None and table.sphere is None and table.cylinder is None for table in tables
    ]
    for k, is_point in enumerate(plain):
        if is_point or (0 < k < len(plain) - 1 and plain[k - 1] and plain[k + 1]):
            continue
        what = "the condition `when`" if tables[k].when is not None else "an obstacle"
        problem = f"has {what}, but is not between two points without one"
        problems.add((*path, "path", k), f"{problem}; put a point before and after it")
