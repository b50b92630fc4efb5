"""Recorder: completes states to rows of a trajectory, in memory and in its file.

A row is (t, q, v, a, kinetic, potential, elastic, poses, wrenches of loops, forces of couplings). States are collected
until a chunk is full, because a batch of many takes the engine little longer than one state.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Self

import numpy as np

from pysim import _engine
from pysim.algorithms import (
    elastic_energy,
    forward_kinematics,
    kinetic_energy,
    potential_energy,
)
from pysim.diagnosis.failed_steps import divergence
from pysim.diagnosis.last_state import plugin_fault
from pysim.errors import PysimError, SimulationError
from pysim.mechanism.model import State
from pysim.mechanism.passive_elements import TOTALS
from pysim.simulation.force_records import ForceRecords
from pysim.spatial.arrays import map_rows
from pysim.trajectory import Events, TrajectoryHeader, TrajectoryWriter
from pysim.trajectory.contacts import ContactPoints, joined_points
from pysim.trajectory.events import joined
from pysim.trajectory.from_states import model_header
from pysim.trajectory.record import trajectory_of
from pysim.typing import Array
from pysim.worlds.accelerations import accelerations_and_forces, forces_of_actuators
from pysim.worlds.contact_readings import with_contact_numbers
from pysim.worlds.contact_report import (
    NUMBERS,
    reported_points,
    start_report,
)
from pysim.worlds.ledger import work_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from pysim.elements.graph_types import WorkTerm
    from pysim.trajectory import Trajectory
    from pysim.trajectory.writer import Beginning
    from pysim.worlds.loading import Scene

ROWS_A_CHUNK = 256
NUMBERS_A_CHUNK = 1 << 24  # of contact reports, if their rows are few
CHUNK_INTERVAL = 0.5  # [s] of wall time


class Recorder:
    """Recorder of a run's states; leaving the `with` block records the remaining ones."""

    def __init__(
        self,
        scene: Scene,
        output: str | PathLike[str] | None = None,
        *,
        overwrite: bool = False,
        origin: str | None = None,
        beginning: Beginning | None = None,
    ) -> None:
        self.scene = scene
        self._records = ForceRecords(scene.model, scene.signals)
        self.header = header_of(scene, self._records)
        self.complete = False
        self._signals = np.array(() if scene.signals is None else scene.signals.start)
        self._waiting: list[tuple[Array, ...]] = []
        self._rows = 0  # of the waiting segments
        points = 0 if scene.contacts is None else scene.contacts.engine.points
        most = NUMBERS_A_CHUNK // max(1, NUMBERS * points)
        self._most_rows = max(1, min(ROWS_A_CHUNK, most))
        self._chunks: list[tuple[Array, ...]] = []
        self._events: list[Events] = []
        self._contacts: list[ContactPoints] = []
        self._flushed = time.monotonic()
        if beginning is not None:
            self._chunks.append(beginning.columns)
            self._contacts.append(beginning.contacts)
            self._events.append(beginning.events)
        self._writer = (
            None
            if output is None
            else TrajectoryWriter(
                output, self.header, overwrite=overwrite, origin=origin, beginning=beginning
            )
        )

    def add(
        self,
        t: Array,
        q: Array,
        v: Array,
        loop_q: Array,
        report: Array | None = None,
        signals: Array | None = None,
        external: Array | None = None,
    ) -> None:
        """Record the states at t (n,) [s]: q (n, nq), v (n, nv), loop_q (n, loop_nq), and what contacts report.

        `signals` (n, signal_numbers) are the states of the signals; by default those of their start. `external` (n, nv)
        are generalised forces from outside the scene [N or N·m].
        """
        if len(t):
            if report is None:
                report = start_report(self.scene, q, v)
            if signals is None:
                signals = np.tile(self._signals, (len(t), 1))
            if external is None:
                external = np.zeros((len(t), self.scene.model.nv))
            self._waiting.append((t, q, v, loop_q, signals, external, report))
            self._rows += len(t)
        if self._rows >= self._most_rows or time.monotonic() - self._flushed > CHUNK_INTERVAL:
            self._flush()

    def add_state(
        self, t: float, q: Array, v: Array, loop_q: Array, signals: Array | None = None
    ) -> None:
        """Record the state at `t` [s]."""
        own = None if signals is None else signals[np.newaxis]
        self.add(np.array([t]), q[np.newaxis], v[np.newaxis], loop_q[np.newaxis], None, own)

    def add_event(self, t: float, index: int, q: Array, v: Array) -> None:
        """Record an event of the scene, by its index, at `t` [s]."""
        names = (self.header.event_names[index],)
        event = Events(np.array([t]), names, q[np.newaxis], v[np.newaxis])
        self._events.append(event)
        if self._writer is not None:
            self._writer.append_events(event)

    @property
    def has_file(self) -> bool:
        """Whether rows go into a file."""
        return self._writer is not None

    def checkpoint(self, record: bytes) -> None:
        """Record the waiting states, and then in the file what the run needs to go on from there."""
        self._flush()
        if self._writer is not None:
            self._writer.checkpoint(record)

    def finish(self) -> None:
        """Record the remaining states and mark the trajectory complete."""
        self._flush()
        if self._writer is not None:
            self._writer.finish()
        self.complete = True

    def trajectory(self) -> Trajectory:
        """Return the trajectory recorded so far."""
        shapes = self.header.row_shapes
        parts = zip(*self._chunks, strict=True)
        columns = {key: np.concatenate(part) for key, part in zip(shapes, parts, strict=True)}
        name = self.header.name if self._writer is None else str(self._writer.path)
        events = joined(self._events, *shapes["q"], *shapes["v"])
        points = joined_points(self._contacts)
        return trajectory_of(
            self.header,
            columns,
            complete=self.complete,
            source=name,
            events=events,
            contacts=points,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is not None:
            self._rescue(error)
            return
        try:
            self._flush()
        except BaseException as failed:
            self._rescue(failed)
            raise
        if self._writer is not None:
            self._writer.close()

    def _flush(self) -> None:
        """Complete and record the waiting states, which remain waiting if that fails."""
        if self._waiting:
            waiting = self._all_waiting()
            self._keep(complete_rows(self.scene, self._records, *waiting), waiting[-1])
            self._waiting, self._rows = [], 0
        self._flushed = time.monotonic()

    def _rescue(self, error: BaseException) -> None:
        """Record as much as possible and close the file, without replacing the `error` that ended the run."""
        try:
            self._salvage()
        except Exception as other:  # noqa: BLE001, whatever it is, the run's own error goes on
            error.add_note(f"and the buffered rows could not be recorded: {other}")
        try:
            if self._writer is not None:
                self._writer.close(_reason(error))
        except Exception as other:  # noqa: BLE001, as above
            error.add_note(f"and its file could not be closed: {other}")

    def _salvage(self) -> None:
        """Record the waiting states before the first one that cannot be completed, which stopped the run."""
        if not self._waiting:
            return
        columns = self._all_waiting()
        self._waiting, self._rows = [], 0
        for k in range(len(columns[0])):
            try:
                row = [x[k : k + 1] for x in columns]
                self._keep(complete_rows(self.scene, self._records, *row), row[-1])
            except PysimError:
                return

    def _all_waiting(self) -> list[Array]:
        """Return times, q, v, loop_q, states of signals, external forces, reports of contacts of the waiting states."""
        return [np.concatenate(column) for column in zip(*self._waiting, strict=True)]

    def _keep(self, rows: tuple[Array, ...], report: Array) -> None:
        named = dict(zip(self.header.row_shapes, rows, strict=True))
        t, q, v, poses = (named[key] for key in ("time", "q", "v", "poses"))
        if not np.isfinite(poses).all():
            k = int(np.argmin(np.isfinite(poses).all(axis=(1, 2))))
            fault = plugin_fault(self.scene.model, q[k], v[k], 0.0) or "a pose is not finite"
            raise SimulationError(str(self.scene.spec.path), f"at t = {t[k]:g} s {fault}")
        points = reported_points(self.scene.contacts, report)
        self._chunks.append(rows)
        self._contacts.append(points)
        if self._writer is not None:
            self._writer.append_contacts(points)
            self._writer.append(*rows)


def _reason(error: BaseException) -> str:
    """Return the reason why a run ended, for its file."""
    return "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)


def complete_rows(
    scene: Scene,
    records: ForceRecords,
    t: Array,
    q: Array,
    v: Array,
    loop_q: Array,
    signals: Array,
    external: Array,
    report: Array,
) -> tuple[Array, ...]:
    """Return the rows of n states at t (n,) [s], one array for each of a header's `row_shapes`.

    Raises:
        SimulationError: accelerations that signals read are NaN or infinite, as those of a run that has diverged.
    """
    model = scene.model
    with np.errstate(over="ignore", invalid="ignore"):
        tau = forces_of_actuators(scene, t, q, v, signals) + external
        a, forces, f_ext = accelerations_and_forces(scene, t, tau, q, v, loop_q, report)
    rows = None
    if scene.signals is not None:
        finite = np.isfinite(a).all(axis=1)
        if not finite.all():
            k = int(np.argmin(finite))
            raise divergence(scene, float(t[k]), State(q[k], v[k], loop_q[k]), signals[k])
        signals = with_contact_numbers(scene, signals, q, v, report)
        rows = np.asarray(_engine.read_signals(model, t, q, v, a, signals, f_ext))
    return (
        t,
        q,
        v,
        a,
        np.asarray(kinetic_energy(model, q, v)),
        np.asarray(potential_energy(model, q))
        + 0.0,  # no −0, whose sign depends on the rows beside
        np.asarray(elastic_energy(model, q)),
        map_rows("position_and_quaternion", forward_kinematics(model, q), 2, (7,)),
        *forces,
        *([records.values(q, v, signals, rows)] if records.columns else []),
        *([] if rows is None else readings(scene, signals, rows)),
    )


def readings(scene: Scene, signals: Array, rows: Array) -> list[Array]:
    """Return signals (n,) or (n, size), and work (n,), in the order of the header.

    `signals` (n, numbers) are the states of the signals, and `rows` (n, numbers) what the engine read of them.
    """
    if scene.signals is None:
        return []
    found = [
        rows[:, s.first] if s.is_single else rows[:, s.first : s.first + s.size]
        for s in scene.signals.recorded
    ]
    return [*found, *(_works(scene.signals.work, signals, rows) if scene.signals.work else ())]


def _works(terms: Sequence[WorkTerm], signals: Array, rows: Array) -> list[Array]:
    """Return the work (n,) [J] of every element, then what was dissipated and injected."""
    each = [work_of(term, signals, rows) for term in terms]
    none = np.zeros(len(signals))
    passive = [x for x, term in zip(each, terms, strict=True) if not term.injects]
    active = [x for x, term in zip(each, terms, strict=True) if term.injects]
    return [*each, none - sum(passive, none), sum(active, none)]


def header_of(scene: Scene, records: ForceRecords) -> TrajectoryHeader:
    """Return the header: names, units and everything else that is known before the first row."""
    model, spec = scene.model, scene.spec
    recorded = () if scene.signals is None else scene.signals.recorded
    return model_header(
        model,
        spec.blocks,
        integrator=scene.settings.integrator,
        step=scene.settings.step,
        name=spec.name,
        scene_text=spec.text,
        overrides=spec.overrides,
        render=asdict(spec.render),
        event_names=event_names(scene),
        loop_names=model.loop_names,
        coupling_names=model.coupling_names,
        contact_names=() if scene.contacts is None else tuple(p.name for p in scene.contacts.pairs),
        force_names=tuple(column.name for column in records.columns),
        force_units=tuple(column.unit for column in records.columns),
        signal_names=tuple(s.name for s in recorded),
        signal_units=tuple(s.unit for s in recorded),
        signal_sizes=tuple(0 if s.is_single else s.size for s in recorded),
        work_names=_work_names(scene),
    )


def event_names(scene: Scene) -> tuple[str, ...]:
    """Return the names of a scene's events, and after them of those that impacts of pairs of links are."""
    names = tuple(event.name for event in scene.spec.events)
    if scene.contacts is None or scene.settings.contact_law != "impact":
        return names
    return names + tuple(f"impact of {pair.name}" for pair in scene.contacts.pairs)


def _work_names(scene: Scene) -> tuple[str, ...]:
    terms = () if scene.signals is None else scene.signals.work
    return (*(term.name for term in terms), *TOTALS) if terms else ()
