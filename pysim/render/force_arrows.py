"""Forces of a run as arrows: of contacts and loops, and those between frames, such as thrusts, on their second frame.

They have one scale for the run: the force that a share `USUAL` of the run's forces does not exceed is as long as
`LONGEST` of the mechanism's size, and so are those beyond it, which impacts exert.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pysim.trajectory.stored_rows import by_blocks
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pysim.trajectory import Trajectory

LONGEST = 0.3  # length of a strong force, of the mechanism's size
USUAL = 0.95
CONTACT, LOOP, FORCE = "#e07a1f", "#7b4fb5", "#2a8f5b"


class ForceArrows:
    """Forces of a run at any time, and the lengths of their arrows."""

    def __init__(self, trajectory: Trajectory) -> None:
        self._trajectory = trajectory
        self._loops = [e for e in trajectory.header.connections if e["role"] == "loop"]
        self._wrenches = list(_wrenches(trajectory))
        self.strong = _strong_force(trajectory, self._wrenches)  # [N]

    def at(self, time: float, matrices: Array) -> Iterator[tuple[Array, Array, str]]:
        """Yield points (3,) [m] of the world, forces (3,) [N], and colours at a `time` [s].

        `matrices` (nbodies + 1, 4, 4) are the poses of the bodies, the last one that of the world.
        """
        run, row = self._trajectory, self.row_at(time)
        points = run.contacts.of_row(row) if len(run.contacts) else run.contacts
        for point, force in zip(points.point, points.force, strict=True):
            yield point, force, CONTACT
        wrenches = run.loop_wrenches[row] if self._loops else ()
        for entry, wrench in zip(self._loops, wrenches, strict=False):
            body, at = entry["frames"][1]
            frame = matrices[body] @ np.array(at, float)
            yield frame[:3, 3], frame[:3, :3] @ wrench[:3], LOOP
        numbers = run.element_forces[row] if self._wrenches else ()
        for body, pose, first in self._wrenches:
            frame = matrices[body] @ pose
            yield frame[:3, 3], frame[:3, :3] @ numbers[first : first + 3], FORCE

    def row_at(self, time: float) -> int:
        """Return the last row that is not after a `time` [s]."""
        t = self._trajectory.t
        return int(np.clip(np.searchsorted(t, time + 1e-9, side="right") - 1, 0, len(t) - 1))

    def arrow(self, force: Array, size: float) -> Array:
        """Return the vector (3,) [m] of the arrow of a force (3,) [N] in a mechanism of a `size` [m]."""
        strength = max(float(np.linalg.norm(force)), 1e-300)
        return force * LONGEST * size * min(1 / max(self.strong, 1e-300), 1 / strength)


def _wrenches(trajectory: Trajectory) -> Iterator[tuple[int, Array, int]]:
    """Yield body and pose (4, 4) in it of the frames on which recorded forces act, and the columns of their force."""
    names = trajectory.header.force_names
    for entry in trajectory.header.connections:
        first = f"{entry.get('name')}.fx"
        if "frame" in entry and first in names:
            body, pose = entry["frame"]
            yield int(body), np.array(pose, float), names.index(first)


def _strong_force(trajectory: Trajectory, wrenches: Sequence[tuple[int, Array, int]]) -> float:
    """Return the quantile `USUAL` of the forces [N] of contacts, loops and frames in the run."""
    points = by_blocks(lambda force: np.linalg.norm(force, axis=-1), trajectory.contacts.force)
    found = [points, np.ravel(trajectory.loop_loads[..., 0])]
    for _, _, first in wrenches:
        norm = partial(_norm_of_columns, slice(first, first + 3))
        found.append(by_blocks(norm, trajectory.element_forces))
    sizes = np.concatenate(found)
    sizes = sizes[sizes > 0]
    return float(np.quantile(sizes, USUAL)) if len(sizes) else 0.0


def _norm_of_columns(columns: slice, rows: Array) -> Array:
    return np.asarray(np.linalg.norm(rows[:, columns], axis=-1))
