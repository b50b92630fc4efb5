"""Trajectory in memory: a header, see header.py, and arrays with one row for each instant."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pysim.errors import Named, TrajectoryError, UnknownTrajectoryNameError, did_you_mean
from pysim.habits import AttributesByHabit
from pysim.trajectory.contacts import ContactPoints, no_points
from pysim.trajectory.events import Events, no_events
from pysim.trajectory.header import (
    COUPLING_FORCES,
    ELEMENTS,
    FORCES,
    LOOP_WRENCHES,
    PAIR_FORCES,
    PAIR_IMPULSES,
    SIGNALS,
    WORK,
    TrajectoryHeader,
)
from pysim.trajectory.interpolation import interpolated_poses, rotation_matrices
from pysim.trajectory.stored_rows import by_blocks
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from pysim.trajectory import drawing, from_states, instants, labelled, trajectory_table, writer

    Rows = slice | NDArray[np.intp]


EVERY = slice(None)


class StoredRun(NamedTuple):
    """Run in a trajectory file: the name of its scene, and whether it reached its end."""

    name: str
    complete: bool


@dataclass(frozen=True)
class Trajectory(AttributesByHabit):
    """Result of a run: n output instants of a mechanism, in SI units.

    `poses` holds body frames in the world: position [m], then quaternion (x, y, z, w). `complete`
    is false when the run was cut short. `source` is the file it was read from, `folder` that file's folder, in and
    around which it may name meshes; None for a run of this process. Of a file that is opened as a stream
    the arrays are `StoredRows`, which read what they are indexed with.
    """

    header: TrajectoryHeader
    t: Array  # (n,) [s]
    q: Array  # (n, nq)
    v: Array  # (n, nv)
    a: Array  # (n, nv)
    kinetic: Array  # (n,) [J]
    potential: Array  # (n,) [J]
    elastic: Array  # (n,) [J]
    poses: Array  # (n, nbodies, 7)
    complete: bool = True
    source: str = "trajectory"
    events: Events = field(default_factory=no_events)
    constraint_forces: Mapping[str, Array] = field(default_factory=dict)  # by their datasets
    contacts: ContactPoints = field(default_factory=no_points)
    signals: Mapping[str, Array] = field(default_factory=dict)  # by name, (n,) or (n, size)
    work: Mapping[str, Array] = field(default_factory=dict)  # (n,) [J], see `energy_balance`
    folder: Path | None = None

    if TYPE_CHECKING:  # functions that need this class; pysim.trajectory makes them its methods
        of = staticmethod(from_states.trajectory_of_model)
        at = instants.at
        save = writer.save
        to_csv = trajectory_table.to_csv
        to_dxf = drawing.to_dxf
        to_pandas = trajectory_table.to_pandas
        to_xarray = labelled.to_xarray

    def __post_init__(self) -> None:
        for name in ("signals", "work"):
            object.__setattr__(self, name, Named(name, getattr(self, name)))

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        times = f"{len(self)} instants"
        if len(self):
            times += f" from {self.t[0]:g} to {self.t[-1]:g} s"
        cut = "" if self.complete else ", incomplete"
        shapes = f"q {self.q.shape}, v {self.v.shape}"
        return f"<pysim.Trajectory {self.header.name!r}: {times}, {shapes}{cut}>"

    @property
    def energy(self) -> Array:
        """Total energy (n,) [J], the sum of kinetic, potential and elastic energy."""
        return np.asarray(self.kinetic + self.potential + self.elastic)

    @property
    def energy_balance(self) -> Array:
        """Energy plus what was dissipated less what was injected (n,) [J]: constant but for errors of the scheme.

        `work` holds the work of every element into the mechanism that is not taken from its stored energy, its sum
        over joints and passive forces, "dissipated" with the opposite sign, and over actuators and forces that depend
        on time or signals, "injected". It is empty if nothing exchanges energy, or if the run did not record it.
        """
        if not self.work:
            return self.energy
        return np.asarray(self.energy + self.work["dissipated"] - self.work["injected"])

    @property
    def loop_wrenches(self) -> Array:
        """Wrench (n, loops, 6) [N, N·m] of every loop on its second body, in frame B about its origin."""
        return self.constraint_forces.get(LOOP_WRENCHES, np.zeros((len(self), 0, 6)))

    @property
    def loop_loads(self) -> Array:
        """Strength (n, loops, 2) of every loop's force [N], and of its moment [N·m] about the origin of frame B."""

        def loads(wrenches: Array) -> Array:
            halves = (wrenches[..., :3], wrenches[..., 3:])
            return np.stack([np.linalg.norm(half, axis=-1) for half in halves], axis=-1)

        return by_blocks(loads, self.loop_wrenches)

    @property
    def coupling_forces(self) -> Array:
        """λ (n, couplings) [N or N·m] of every coupling; the force on a coordinate is λ times its factor."""
        return self.constraint_forces.get(COUPLING_FORCES, np.zeros((len(self), 0)))

    @property
    def element_forces(self) -> Array:
        """Numbers (n, k) [N or N·m] of forces; `header.force_names` names the columns."""
        return self.constraint_forces.get(ELEMENTS, np.zeros((len(self), 0)))

    @property
    def contact_forces(self) -> Array:
        """Force (n, pairs, 3) [N] of every pair of links on its second one, in world axes, at the outputs.

        There are none, (n, 0, 3), of more than 4096 pairs; `contacts` has the forces of points.
        """
        return self.constraint_forces.get(PAIR_FORCES, np.zeros((len(self), 0, 3)))

    @property
    def contact_impulses(self) -> Array:
        """Impulse (n, pairs, 3) [N·s] of every pair of links since the output before, likewise."""
        return self.constraint_forces.get(PAIR_IMPULSES, np.zeros((len(self), 0, 3)))

    @property
    def columns(self) -> tuple[Array, ...]:
        """The rows' arrays in the order of `header.row_shapes`."""
        energies = self.kinetic, self.potential, self.elastic
        given = self.constraint_forces
        forces = (given[key] for key in FORCES if key in given)
        signals = (self.signals[name] for name in self.header.signal_names)
        work = (self.work[name] for name in self.header.work_names)
        return self.t, self.q, self.v, self.a, *energies, self.poses, *forces, *signals, *work

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """Names of joints, bodies, frames, coordinates (q), velocities (v, a), and of all that is recorded besides."""
        header = self.header
        return {
            "joints": header.joint_names,
            "bodies": header.body_names,
            "frames": header.frame_names,
            "coordinates": header.coordinate_names,
            "velocities": header.velocity_names,
            "loops": header.loop_names,
            "couplings": header.coupling_names,
            "contacts": header.contact_names,
            "forces": header.force_names,
            "signals": header.signal_names,
            "work": header.work_names,
        }

    @property
    def units(self) -> dict[str, tuple[str, ...]]:
        """Units of the columns of t, q, v, a, energy and forces, and of the signals."""
        velocity = self.header.velocity_units
        return {
            "t": ("s",),
            "q": self.header.coordinate_units,
            "v": velocity,
            "a": tuple(unit + "²" if unit.endswith("/s") else unit + "/s" for unit in velocity),
            "energy": ("J",),
            "forces": self.header.force_units,
            "signals": self.header.signal_units,
        }

    @property
    def scene_text(self) -> str:
        return self.header.scene_text

    @property
    def scene_hash(self) -> str:
        return self.header.scene_hash

    @property
    def version(self) -> str:
        return self.header.version

    @property
    def visuals(self) -> Sequence[Mapping[str, Any]]:
        return self.header.visuals

    def show(self, *, height: int = 480, **options: Any) -> Any:  # noqa: ANN401, a page
        """Return the run as the last line of a notebook's cell shows it: `pysim.render.show`.

        Args:
            height: of the frame [pixel].
            options: those of `pysim.render.web`.

        Raises:
            PysimError: viser is missing, or an option is wrong.
        """
        import pysim  # noqa: PLC0415, pictures are a layer above

        return pysim.render.show(self, height=height, **options)

    def to_usd(self, path: str | PathLike[str], **options: Any) -> Path:  # noqa: ANN401, as above
        """Write the bodies and their motion as Universal Scene Description: `pysim.render.usd`.

        Args:
            path: the file, .usd, .usda or .usdc.
            options: those of `pysim.render.usd`.

        Raises:
            TrajectoryError: the run has no rows.
            PysimError: usd-core is missing, an option is wrong, or the file cannot be written.
        """
        import pysim  # noqa: PLC0415, as above

        return pysim.render.usd(self, path, **options)

    def plot(
        self,
        *names: str,
        path: str | PathLike[str] | None = None,
        against: str | None = None,
        spectrum: bool = False,
    ) -> None:
        """Plot recorded quantities into a file, or show them in a window: `pysim.render.plot`.

        Args:
            names: quantities, such as "energy" or "v.hinge"; by default q, v, forces and energy.
            path: picture to write, .png, .pdf, .svg, .jpg or .webp; a window by default.
            against: quantity on the horizontal axis instead of the time.
            spectrum: plot amplitudes over the frequency [Hz] instead of values over the time.

        Raises:
            TrajectoryError: a name that matches nothing, a run without rows, or too short for a spectrum.
            PysimError: the file cannot be written, or there is no display.
        """
        import pysim  # noqa: PLC0415, as above

        pysim.render.plot(self, path, names, against=against, spectrum=spectrum)

    def poses_at(self, times: ArrayLike) -> Array:
        """Return body poses (k, nbodies, 7) at `times` (k,) [s], interpolated; constant beyond both ends.

        >>> run = pysim.Trajectory.of(model, [0.0, 1.0], [[0.0, 0.0], [0.4, 1.0]])
        >>> run.poses_at([0.0, 0.5]).shape
        (2, 2, 7)
        """
        if len(self) == 0:
            raise TrajectoryError(self.source, "has no rows; the run stopped before its first")
        return interpolated_poses(self.t, self.poses, np.atleast_1d(np.asarray(times, float)))

    def path_of(self, frame: str, rows: Rows = EVERY) -> Array:
        """Return the positions (n, 3) [m] of a frame, or of a body's origin, in the world, at all or some rows."""
        body, offset = self.carrier_of(frame)
        return self.carried_point(body, offset[:3, 3], rows)

    def carrier_of(self, frame: str) -> tuple[int, Array]:
        """Return the body (-1: world) that carries a frame, and the frame's pose (4, 4) [m] in that body."""
        header = self.header
        if frame in header.frame_names:
            index = header.frame_names.index(frame)
            return header.frame_bodies[index], header.frame_poses[index]
        if frame in header.body_names:
            return header.body_names.index(frame), np.eye(4)
        hint = did_you_mean(frame, (*header.frame_names, *header.body_names))
        raise UnknownTrajectoryNameError(self.source, f"unknown frame {frame!r}{hint}")

    def carried_point(self, body: int, point: ArrayLike, rows: Rows = EVERY) -> Array:
        """Return the positions (n, 3) [m] in the world of a `point` (3,) [m] fixed to a body (-1: world)."""
        place = np.asarray(point, float)
        if body < 0:
            return np.tile(place, (len(self.t[rows]), 1))

        def moved(poses: Array) -> Array:
            own = poses[:, body]
            return np.asarray(own[:, :3] + rotation_matrices(own[:, 3:]) @ place)

        return by_blocks(moved, self.poses if rows is EVERY else self.poses[rows])


def trajectory_of(
    header: TrajectoryHeader,
    columns: Mapping[str, Array],
    *,
    complete: bool,
    source: str,
    events: Events,
    contacts: ContactPoints,
) -> Trajectory:
    """Return a trajectory from its arrays, by the names and in the order of `header.row_shapes`."""
    t, q, v, a, kinetic, potential, elastic, poses, *_ = columns.values()
    forces = {key: columns[key] for key in FORCES if key in columns}
    energies = kinetic, potential, elastic
    signals = {name: columns[SIGNALS + name] for name in header.signal_names}
    work = {name: columns[WORK + name] for name in header.work_names}
    return Trajectory(
        header,
        t,
        q,
        v,
        a,
        *energies,
        poses,
        complete,
        source,
        events,
        forces,
        contacts,
        signals,
        work,
    )
