"""Coordinates of a model in tables of motions: columns named like joints, angles in degrees or radians."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import TrajectoryError, did_you_mean
from pysim.motions.motion_tables import MotionTable
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.mechanism.model import Model

VALUE = "value"  # end of a path in a file of states, /jointset/JOINT/COORDINATE/value


def configurations(model: Model, table: MotionTable) -> Array:
    """Return the configurations (n, nq) of a table; coordinates without a column stay at the neutral configuration.

    Columns are names of joints with one coordinate, "joint.coordinate", or paths of OpenSim's files of states. Columns
    of joints that follow others, and of speeds and muscles, are left out.

    Raises:
        TrajectoryError: no column is a coordinate, or a number is not finite.
    """
    places = _places(model)
    q = np.tile(np.asarray(model.neutral(), float), (len(table.times), 1))
    columns = 0
    for name, values in zip(table.columns, table.values.T, strict=True):
        label = _coordinate(name)
        if label not in places:
            continue
        if not np.isfinite(values).all():
            when = table.times[int(np.argmax(~np.isfinite(values)))]
            problem = f"is not finite at {when:g} s"
            raise TrajectoryError(f"column {name!r}", f"{problem}; fill the gap")
        at, unit = places[label]
        q[:, at] = np.radians(values) if table.in_degrees and unit == "rad" else values
        columns += 1
    if not columns:
        known = did_you_mean(_coordinate(table.columns[0]), places) if table.columns else ""
        problem = f"no column is a coordinate of {model.name!r}"
        raise TrajectoryError(f"table {table.name!r}", f"{problem}{known}")
    return q


def coordinate_table(
    model: Model, times: Array, q: Array, *, degrees: bool = True, name: str = "Coordinates"
) -> MotionTable:
    """Return a table of configurations (n, nq), with a column for each real coordinate."""
    places = _places(model)
    columns = list(places)
    values = np.asarray(q)[:, [places[column][0] for column in columns]].copy()
    if degrees:
        turns = [places[column][1] == "rad" for column in columns]
        values[:, turns] = np.degrees(values[:, turns])
    return MotionTable(np.asarray(times, float), tuple(columns), values, degrees, name)


def _places(model: Model) -> dict[str, tuple[int, str]]:
    """Return the offset in q and the unit of every real coordinate, by name."""
    quaternions = {at + i for _, at in model.quaternions() for i in range(4)}
    names, units = model.coordinate_names, model.coordinate_units
    pairs = enumerate(zip(names, units, strict=True))
    return {name: (k, unit) for k, (name, unit) in pairs if k not in quaternions}


def _coordinate(column: str) -> str:
    """Return the coordinate of a column: its name, or that in a path that ends with /value."""
    if not column.startswith("/"):
        return column
    *_, name, quantity = ("", *column.split("/"))
    return name if quantity == VALUE else ""
