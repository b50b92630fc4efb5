"""Summary of a run: duration, speed, energy, events, loops and the final pose of the tool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim.diagnosis.conserved_energy import conserves_energy
from pysim.loops import constraints, independence, mobility
from pysim.trajectory.interpolation import pose_matrices
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pysim.mechanism.model import Model
    from pysim.simulation.run import Update
    from pysim.trajectory import Trajectory
    from pysim.worlds.loading import Scene

ROUNDING_ENERGY = 1e-24  # of the energy: the kinetic energy that rounding alone gives


@dataclass(frozen=True)
class EventSummary:
    """Number of occurrences of an event, and their times."""

    name: str
    count: int
    first: float  # [s], NaN if it never did
    last: float


@dataclass(frozen=True)
class LoopLoad:
    """Largest force of a loop, and its largest moment about the origin of frame B."""

    name: str
    force: float  # [N]
    moment: float  # [N·m]


@dataclass(frozen=True)
class Reaction:
    """Largest force on a coordinate that its prescribed motion needs."""

    name: str
    force: float  # in `unit`
    unit: str
    t: float  # [s]


@dataclass(frozen=True)
class LoopSummary:
    """Residuals of loops and couplings over a run, and their loads."""

    residual: float  # largest [m, rad]
    slip: float  # largest rate of it [m/s, rad/s]
    independence: (
        float  # least independence of the rows: 0 if singular, 1 at the greatest distance from that
    )
    nearest: float  # when that was [s]
    strongest: tuple[LoopLoad, ...]  # largest load of every loop
    redundant: int = 0  # redundant rows: the loads are one of many valid distributions
    reactions: tuple[Reaction, ...] = ()  # largest force of every prescribed motion


@dataclass(frozen=True)
class WorkSummary:
    """Energy ledger at the end of a run [J]."""

    injected: float
    dissipated: float
    elements: dict[str, float]  # work of each into the mechanism
    drift: float  # largest change of energy + dissipated − injected
    scale: float = 0.0  # the energy involved: largest kinetic energy and range of the stored one


@dataclass(frozen=True)
class RunSummary:
    """Numbers that `pysim scene.toml` prints at the end."""

    duration: float  # simulated [s]
    steps: int
    wall: float  # spent [s]
    callback_wall: float  # of that, in joints that Python computes [s]
    energy: tuple[float, float]  # at the start and at the end [J]
    energy_drift: float  # largest distance from the energy at the start [J]
    energy_scale: float  # largest kinetic energy [J]
    conserves_energy: bool  # whether nothing in the scene drives or brakes it
    events: tuple[EventSummary, ...]
    stopped_by: str | None  # the event that ended the run
    tool: str | None  # name of a frame, None if nothing moves
    tool_position: Array  # (3,) in the world [m]
    tool_is_centre: bool  # whether it is a body's centre of mass, not the origin of the frame
    tool_rpy: Array  # (3,) roll, pitch, yaw in the world [rad]
    loops: LoopSummary | None = None
    iterations: int = 0  # of Newton's method, in implicit schemes
    rejected: int = 0  # steps of an implicit scheme that were made again in shorter ones
    work: WorkSummary | None = None  # None if nothing exchanges energy, or it was not recorded

    @property
    def steps_per_second(self) -> float:
        return self.steps / self.wall if self.wall > 0 else float("inf")

    @property
    def moved(self) -> bool:
        """Whether anything moved by more than rounding."""
        return self.energy_scale > ROUNDING_ENERGY * max(*map(abs, self.energy), self.energy_drift)

    @property
    def relative_drift(self) -> float:
        """Drift of the energy relative to the largest kinetic energy; 0 if nothing moved."""
        return self.energy_drift / self.energy_scale if self.moved else 0.0


def summarize(scene: Scene, trajectory: Trajectory, last: Update) -> RunSummary:
    """Return the summary of a finished run; `last` is the last update that was passed to `progress`."""
    energy = trajectory.energy
    tool = tool_frame(scene, trajectory)
    pose = tool_pose(trajectory, tool) if tool else np.eye(4)
    centre = None if scene.spec.render.tool else centre_of_mass(scene, tool)
    return RunSummary(
        duration=float(trajectory.t[-1]),
        steps=last.steps,
        wall=last.wall,
        callback_wall=scene.model.callback_time[0],
        energy=(float(energy[0]), float(energy[-1])),
        energy_drift=float(np.abs(energy - energy[0]).max()),
        energy_scale=float(trajectory.kinetic.max()),
        conserves_energy=conserves_energy(scene),
        events=tuple(_events_of(trajectory, name) for name in _reported_events(scene, trajectory)),
        stopped_by=_stopped_by(scene, trajectory),
        tool=tool,
        tool_position=pose[:3, 3] if centre is None else pose[:3, :3] @ centre + pose[:3, 3],
        tool_is_centre=centre is not None,
        tool_rpy=roll_pitch_yaw(pose[:3, :3]),
        loops=summarize_loops(scene, trajectory) if scene.model.rows else None,
        iterations=last.iterations,
        rejected=last.rejected,
        work=_work_summary(trajectory),
    )


def _work_summary(trajectory: Trajectory) -> WorkSummary | None:
    if not trajectory.work:
        return None
    work = {name: float(values[-1]) for name, values in trajectory.work.items()}
    injected, dissipated = work.pop("injected"), work.pop("dissipated")
    balance = trajectory.energy_balance
    stored = trajectory.energy - trajectory.kinetic
    scale = float(trajectory.kinetic.max() + np.ptp(stored))
    return WorkSummary(injected, dissipated, work, float(np.abs(balance - balance[0]).max()), scale)


def summarize_loops(scene: Scene, trajectory: Trajectory) -> LoopSummary:
    """Return the summary of a run's loops, evaluated at its outputs."""
    model, state = scene.model, scene.state
    at = constraints(model, trajectory.q, trajectory.v, t=trajectory.t)
    slip = np.einsum("nij,nj->ni", at.jacobian, trajectory.v) + at.rates
    rank = mobility(model, state.q, state.loop_q).rank
    rows = independence(model, trajectory.q, rank)
    return LoopSummary(
        residual=float(np.abs(at.residual).max()),
        slip=float(np.abs(slip).max()),
        independence=float(rows.min()),
        nearest=float(trajectory.t[rows.argmin()]),
        strongest=_loads(trajectory),
        redundant=model.rows - rank,
        reactions=tuple(_reactions(model, trajectory)),
    )


def _reactions(model: Model, trajectory: Trajectory) -> Iterator[Reaction]:
    units = dict(zip(model.coordinate_names, model.coordinate_units, strict=True))
    for k, loop in enumerate(model.spec.loops):
        if not loop.position:
            continue
        for load, unit in zip(trajectory.loop_loads[:, k].T, ("N", "N·m"), strict=True):
            at = int(load.argmax())
            if unit == "N" or loop.rotation:
                yield Reaction(loop.name, float(load[at]), unit, float(trajectory.t[at]))
    for coupling, force in zip(model.spec.couplings, trajectory.coupling_forces.T, strict=True):
        if coupling.signal is None:
            continue
        k = int(np.abs(force).argmax())
        unit = "N·m" if units[next(iter(coupling.terms))] == "rad" else "N"
        yield Reaction(coupling.name, float(force[k]), unit, float(trajectory.t[k]))


def _loads(trajectory: Trajectory) -> tuple[LoopLoad, ...]:
    most = trajectory.loop_loads.max(axis=0).tolist()
    names = trajectory.names["loops"]
    return tuple(LoopLoad(name, *load) for name, load in zip(names, most, strict=True))


def _reported_events(scene: Scene, trajectory: Trajectory) -> list[str]:
    """Return the names of the scene's events, and of the pairs of links that struck each other."""
    own = [event.name for event in scene.spec.events]
    return own + sorted(set(trajectory.events.names) - set(own))


def _events_of(trajectory: Trajectory, name: str) -> EventSummary:
    times = trajectory.events.times_of(name)
    first, last = (times[0], times[-1]) if times.size else (np.nan, np.nan)
    return EventSummary(name, len(times), float(first), float(last))


def _stopped_by(scene: Scene, trajectory: Trajectory) -> str | None:
    """Return the name of the event that ended a run: the last one, if it has `stop`."""
    last = trajectory.events.names[-1] if len(trajectory.events) else None
    stops = {event.name for event in scene.spec.events if event.stop}
    return last if last in stops else None


def tool_frame(scene: Scene, trajectory: Trajectory) -> str | None:
    """Return the name of the tool frame: `render.tool`, else the last frame that the run moves, else None."""
    if scene.spec.render.tool:
        return scene.spec.render.tool
    rows = {0, len(trajectory.t) // 2, len(trajectory.t) - 1}
    for frame in reversed(list(scene.model.frames)):
        last = tool_pose(trajectory, frame)
        if any(not np.allclose(tool_pose(trajectory, frame, row), last) for row in rows):
            return frame
    return None


def centre_of_mass(scene: Scene, frame: str | None) -> Array | None:
    """Return the centre of mass (3,) [m] in a body's own frame, which lies at its joint.

    None for other frames, and for a frame at the centre of mass.
    """
    names = scene.model.body_names
    if frame not in names:
        return None
    m, *moment = scene.model.parameters[names.index(frame), :4]
    return np.array(moment) / m if m > 0 and any(moment) else None


def tool_pose(trajectory: Trajectory, frame: str, row: int = -1) -> Array:
    """Return the pose (4, 4) of a frame in the world at the last instant, or at that of a row."""
    header = trajectory.header
    index = header.frame_names.index(frame)
    body = header.frame_bodies[index]
    offset = np.asarray(header.frame_poses[index], float)
    if body < 0:
        return offset
    placed: Array = pose_matrices(trajectory.poses[row, body]) @ offset
    return placed


def roll_pitch_yaw(R: Array) -> Array:
    """Return the angles (3,) [rad] with R = Rz(yaw) Ry(pitch) Rx(roll)."""
    pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    return np.array([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])
