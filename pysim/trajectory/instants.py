"""Rows of a trajectory at any time, interpolated between its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import Named, TrajectoryError
from pysim.spatial.rotations import arc
from pysim.trajectory.interpolation import interpolated_poses, rows_around

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

    from pysim.trajectory.record import Trajectory
    from pysim.typing import Array


@dataclass(frozen=True)
class Instants:
    """Interpolated rows: of one time without an axis of times, of k times with one."""

    t: Array  # () or (k,) [s]
    q: Array  # (…, nq)
    v: Array  # (…, nv)
    a: Array  # (…, nv)
    energy: Array  # (…) [J]
    poses: Array  # (…, nbodies, 7)
    signals: Mapping[str, Array]  # by name, (…) or (…, size)


def at(trajectory: Trajectory, times: ArrayLike) -> Instants:
    """Return q, v, a, energy, poses and signals at one time or at several, interpolated between the rows.

    Numbers change linearly from row to row, quaternions along the shorter arc; the error falls with the square of the
    distance of rows. Between the two sides of an impact or a sampled signal the numbers are those of neither.

    Args:
        trajectory: with one row or more.
        times: () or (k,) [s], from the first row to the last.

    Raises:
        TrajectoryError: the run has no rows, or a time lies outside it.

    >>> run = pysim.Trajectory.of(model, [0.0, 1.0], [[0.0, 0.0], [0.4, 1.0]])
    >>> run.at(0.25).q.round(6).tolist()
    [0.1, 0.25]
    """
    t = np.asarray(times, float)
    if len(trajectory) == 0:
        raise TrajectoryError(trajectory.source, "has no rows; the run stopped before its first")
    first, last = float(trajectory.t[0]), float(trajectory.t[-1])
    if t.ndim > 1:
        raise TrajectoryError("times", f"must be a number or numbers (k,), got shape {t.shape}")
    wrong = np.atleast_1d(t)[~((first <= np.atleast_1d(t)) & (np.atleast_1d(t) <= last))]
    if len(wrong):
        problem = f"{wrong[0]:g} s lies outside the run"
        raise TrajectoryError("times", f"{problem}; give times from {first:g} to {last:g} s")
    rows = np.atleast_1d(t)
    before, after, fraction = rows_around(np.asarray(trajectory.t), rows)

    def mixed(values: Array) -> Array:
        s = fraction.reshape(-1, *(1,) * (values.ndim - 1))
        found = (1 - s) * values[before] + s * values[after]
        return np.asarray(found)

    def shaped(values: Array) -> Array:
        return values if t.ndim else np.asarray(values[0])

    header, q = trajectory.header, mixed(trajectory.q)
    for columns in _quaternions(header.coordinate_names, header.coordinate_units):
        first_q, last_q = trajectory.q[before][:, columns], trajectory.q[after][:, columns]
        q[:, columns] = arc(first_q, last_q, fraction[:, None])
    return Instants(
        t,
        shaped(q),
        shaped(mixed(trajectory.v)),
        shaped(mixed(trajectory.a)),
        shaped(mixed(trajectory.energy)),
        shaped(interpolated_poses(trajectory.t, trajectory.poses, rows)),
        Named(
            "signals",
            {name: shaped(mixed(columns)) for name, columns in trajectory.signals.items()},
        ),
    )


def _quaternions(names: Sequence[str], units: Sequence[str]) -> list[slice]:
    """Return the columns of quaternions in q: four numbers without unit whose names end with x, y, z and w."""
    return [
        slice(k, k + 4)
        for k in range(len(names) - 3)
        if "".join(name[-1] for name in names[k : k + 4]) == "xyzw"
        and len({name[:-1] for name in names[k : k + 4]}) == 1
        and set(units[k : k + 4]) == {"1"}
    ]
