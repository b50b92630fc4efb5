"""Run of worlds that are stepped together, row by row, with their recorders and monitors."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pysim.diagnosis.failed_steps import explain
from pysim.integrators import find_integrator
from pysim.rollouts.adaptive_worlds import AdaptiveMonitors
from pysim.rollouts.lost_worlds import failure, lost_worlds, overflows, unstable_worlds
from pysim.rollouts.recorders import ContactRecorder, SignalRecorder, smooth_report
from pysim.rollouts.result import Rollout
from pysim.simulation.world_events import events_of
from pysim.typing import Array
from pysim.worlds.contact_report import NUMBERS
from pysim.worlds.failure import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from pysim.rollouts.output_rows import RowBlock
    from pysim.rollouts.rollout_worlds import RolloutWorlds
    from pysim.worlds.world_records import WorldRecords

MOST_NUMBERS = 1 << 24  # of contact reports that are held at once


class PackResult(NamedTuple):
    """Rollout of worlds that were stepped together, and what there is to report of them."""

    run: Rollout
    steps: int  # the largest number of a world
    lost: list[int]  # worlds that ended early
    errors: dict[int, str]  # of those whose cause is known
    slow: list[tuple[int, str]]  # worlds that made very many steps, and why
    ended: NDArray[np.bool_]  # worlds that an event has ended


class FailedWorld(NamedTuple):
    """A world whose failure ends all of them."""

    t: float  # [s]
    world: int
    reason: str


class PackRun:
    """Run of worlds of one scene, or of scenes that differ in numbers alone.

    Args:
        worlds: their starts, and what is recorded.
        records: of the worlds, which begin here.
        blocks: rows after the start.
    """

    def __init__(
        self, worlds: RolloutWorlds, records: WorldRecords, blocks: Sequence[RowBlock]
    ) -> None:
        scene, count = worlds.scenes[0], len(worlds.q0)
        self._worlds, self._records, self._scene = worlds, records, scene
        _begin(worlds, records)
        self._steps_before = records.steps.copy()
        self._t = np.concatenate([[worlds.start], *(block.times for block in blocks)])
        rows = len(self._t)
        self._q = np.full((count, rows, scene.model.nq), np.nan)
        self._v = np.full((count, rows, scene.model.nv), np.nan)
        self._q[:, 0], self._v[:, 0] = worlds.q0, worlds.v0
        self._signals = SignalRecorder(worlds, count, rows)
        self._forces = ContactRecorder(worlds, count, rows)
        self._start_numbers = None if scene.signals is None else records.signals.copy()
        self._record_start()
        convex = find_integrator(worlds.settings.integrator).contacts
        reports = convex and (worlds.contacts or bool(worlds.recorded))
        points = scene.contacts.engine.points if reports and scene.contacts is not None else 0
        self._report = np.zeros((count, points, NUMBERS)) if reports else None
        self._monitors = (
            AdaptiveMonitors(records, worlds.settings.duration) if records.is_adaptive else None
        )

    def result(self) -> PackResult | FailedWorld:
        """Make all rows; return their rollout, or the world whose failure ends all of them."""
        records, worlds, monitors = self._records, self._worlds, self._monitors
        t, q, v = self._t, self._q, self._v
        for rows in self._parts_of_rows():
            if (failed := self._advance(rows)) is not None:
                return failed
        unstable = unstable_worlds(records, t, q, v, self._start_numbers)
        if worlds.stops and unstable:
            world = min(unstable, key=lambda k: (unstable[k][0], k))
            row, text = unstable[world]
            return FailedWorld(float(t[row]), world, text)
        known = {} if monitors is None else monitors.errors | overflows(records, t, q, v)
        if worlds.lost is not None:  # which no result shows
            q[worlds.lost] = worlds.q0[worlds.lost, None]
            v[worlds.lost] = worlds.v0[worlds.lost, None]
        gone = () if worlds.lost is None else np.flatnonzero(worlds.lost).tolist()
        lost, errors = lost_worlds(records, unstable, known, gone)
        texts = [failure(k, v[k], t, errors) if k in lost else "" for k in range(len(q))]
        for array in (q, v, *self._signals.rows.values()):
            for k, (row, _) in unstable.items():
                array[k, row:] = np.nan
        events = events_of(records) if self._scene.spec.events or records.impacts else ()
        recorded = self._signals.rows, events, tuple(texts), self._forces.pairs
        run = Rollout(t, q, v, bytes, *recorded)
        slow = [] if monitors is None else monitors.end()
        steps = int((records.steps - self._steps_before).max())
        return PackResult(run, steps, lost, errors, slow, records.status == Status.ENDED)

    def _parts_of_rows(self) -> Iterator[slice]:
        """Yield the rows after the start in parts whose contact reports fit into memory."""
        numbers = 0 if self._report is None else self._report.size
        most = max(1, MOST_NUMBERS // (numbers + 1))
        if self._records.impacts and self._worlds.contacts:
            most = 1
        for begin in range(1, len(self._t), most):
            yield slice(begin, min(begin + most, len(self._t)))

    def _advance(self, rows: slice) -> FailedWorld | None:
        """Make some rows and record them; return the world whose failure ends all of them, if there is one."""
        records, worlds, monitors = self._records, self._worlds, self._monitors
        call_rows, inputs = self._room(rows.stop - rows.start), None
        if worlds.controls is not None:
            inputs = np.array(worlds.controls[:, rows.start - 1 : rows.stop])
        reached = records.advance(
            self._t[rows],
            worlds.threads,
            rows=call_rows,
            report=self._report,
            inputs=inputs,
            stops=worlds.stops,
            after=None if monitors is None else monitors.after_call,
        )
        if worlds.stops and monitors is not None and monitors.errors:
            failed = min(monitors.errors)
            return FailedWorld(float(records.t[failed]), failed, monitors.errors[failed])
        if worlds.stops and (first := records.first_lost()) is not None:
            reason = str(explain(records.failure(first)))
            return FailedWorld(float(records.t[first]), first, reason)
        self._q[:, rows], self._v[:, rows] = call_rows["q_rows"], call_rows["v_rows"]
        for k in range(rows.stop - rows.start):
            self._record(rows.start + k, k, call_rows, reached > k)
        return None

    def _room(self, rows: int) -> dict[str, Array]:
        """Return arrays for rows of a call of the engine."""
        count, model = len(self._q), self._scene.model
        room: dict[str, Array] = {
            "q_rows": np.full((count, rows, model.nq), np.nan),
            "v_rows": np.full((count, rows, model.nv), np.nan),
        }
        if self._worlds.recorded and self._scene.signals is not None:
            room["signal_rows"] = np.zeros((count, rows, self._records.signals.shape[1]))
        if self._report is not None:
            room["report_rows"] = np.zeros((count, rows, *self._report.shape[1:]))
        return room

    def _record_start(self) -> None:
        worlds = self._worlds
        for which, scene in worlds.each():
            start = worlds.q0[which], worlds.v0[which], worlds.loop_q[which]
            numbers = None if self._scene.signals is None else self._records.signals[which]
            self._signals.record(0, which, scene, self._t[0], *start, numbers)

    def _record(
        self, row: int, k: int, call_rows: dict[str, Array], reached: NDArray[np.bool_]
    ) -> None:
        """Record a row, the k-th of a call of the engine, of the worlds that reached it."""
        records, q, v = self._records, self._q[:, row], self._v[:, row]
        report = call_rows["report_rows"][:, k] if self._report is not None else None
        alive = np.flatnonzero(reached)
        if "signal_rows" in call_rows and len(alive):
            states = q[alive], v[alive], records.loop_q[alive]
            numbers = call_rows["signal_rows"][alive, k]
            touching = None if report is None else report[alive]
            with records.scene_with_numbers(alive.astype(np.int32)) as scene:
                self._signals.record(row, alive, scene, self._t[row], *states, numbers, touching)
        if self._worlds.contacts:
            self._forces.add(
                row, smooth_report(records, q, v) if report is None else report, reached
            )


def _begin(worlds: RolloutWorlds, records: WorldRecords) -> None:
    """Let worlds begin at their starts, or go on, under the inputs up to the first row."""
    controls = worlds.controls
    first = None if controls is None or not controls.shape[1] else controls[:, 0]
    if worlds.lost is None:
        starts = (worlds.q0, worlds.v0, worlds.loop_q, worlds.threads)
        records.begin(None, worlds.start, *starts, first)
    elif first is not None:
        records.blocks.set_inputs(first)
    records.occurred.clear()
