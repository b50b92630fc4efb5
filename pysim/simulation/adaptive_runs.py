"""Runs of one world with steps of adapted size on its record, through output times and events.

The engine passes outputs and interpolates them; a step ends at an instant of sampled blocks. One call covers up to
OUTPUTS_A_CALL outputs. The monitors of very many steps and of stalled runs, and the impacts of surfaces, are looked at
after every call.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.diagnosis.failed_steps import explain, too_large
from pysim.diagnosis.stall import StallDetector
from pysim.errors import SimulationError
from pysim.mechanism.model import State
from pysim.simulation.adaptive_pace import PaceMonitor, warn_of_pace
from pysim.simulation.impacts import ImpactRun
from pysim.simulation.record_runs import RecordRun
from pysim.typing import Array
from pysim.worlds.adaptive_scheme import Place
from pysim.worlds.external_forces import tau_of_rows
from pysim.worlds.segment import EventOccurrence, Segment
from pysim.worlds.world_records import Stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pysim.worlds.external_forces import ExternalForces
    from pysim.worlds.implicit_state import SolverState
    from pysim.worlds.loading import Scene
    from pysim.worlds.saved_parts import SavedParts
    from pysim.worlds.signal_runs import SignalRun

OUTPUTS_A_CALL = 256
ATTEMPTS_A_CALL = 4096  # so that an interrupt is answered soon
ONLY = np.zeros(1, np.int32)  # the number of the world


class AdaptiveRun(RecordRun):
    """Run of a scene with steps of adapted size, which may go on from any of its segments.

    A segment ends at outputs, at an event, or where a call has used up its attempts. Then the rest of the call's
    outputs is left for the next one, so that a run that goes on makes the same calls.

    Args:
        scene: whose scheme is dopri5.
        memory: of other schemes; stays as it is.
        signals: state of the signals, updated with every segment; None without any.
        external: forces from outside; None without any.
        warn: gets the text of a warning of very many steps.
    """

    def __init__(
        self,
        scene: Scene,
        memory: SolverState,
        signals: SignalRun | None,
        external: ExternalForces | None = None,
        warn: Callable[[str], object] = warn_of_pace,
    ) -> None:
        self._impacts = ImpactRun(scene) if scene.settings.contact_law == "impact" else None
        watched = scene.events if self._impacts is None else self._impacts.events
        super().__init__(scene, memory, signals, external, watched=watched)
        self._warn = warn
        self._wanted = np.empty(0)  # outputs left of a call [s]
        self._ahead = np.empty(0)  # the output after them [s]
        self._over = False  # whether the last segment ended the run

    def segments(
        self, state: State, times: Iterator[float], inputs: Array | None = None
    ) -> Iterator[Segment]:
        """Yield the segments through output times [s], ascending, from a state at the first of them.

        The run ends at an event that stops it. `inputs` are those of RecordRun.

        Raises:
            SimulationError: a step underflowed, a tolerance is finer than rounding, or the run has stalled (stall.py).
        """
        start, v, step = next(times), state.v, 0.0
        if self._impacts is not None:
            v = self._impacts.begin(start, state.q, v)
            step = self._impacts.first_step(state.q, v)
        self._records.place(start, replace(state, v=v), self._memory.numbers, self._signals)
        self._records.begin_steps(step)
        self._shown = start
        self._wanted, self._ahead = np.empty(0), np.empty(0)
        self._stall = StallDetector(self._scene, start)
        yield from self._through(times, inputs)

    def saved(self) -> dict[str, Any] | None:
        """Return what `resumed` goes on from after the last segment; None if that ended the run or blocks are due."""
        saved = None if self._over else super().saved()
        if saved is None:
            return None
        stall = self._stall
        saved |= {
            "wanted": self._wanted,
            "reached": np.array(float(stall.time)),
            "stall": np.array([stall.steps, stall.calls, stall.stiff], np.int64),
        }
        return saved | ({} if self._impacts is None else self._impacts.saved())

    def resumed(self, saved: SavedParts, times: Iterator[float]) -> Iterator[Segment]:
        """Yield the segments through output times [s]; `saved` returned after the first one, before the next.

        Raises:
            SimulationError: `saved` is not what a run of the scene returns there.
        """
        start = next(times)
        self._wanted = saved.numbers("wanted", (None,))
        following = np.array([*islice(times, len(self._wanted))])
        if not np.array_equal(self._wanted, following):
            raise saved.error("holds a checkpoint whose outputs are at other times")
        self._ahead = np.array([*islice(times, 1)])
        after = [*self._wanted, *self._ahead, self._scene.settings.duration]
        self.restore(saved, start, after[0])
        if self._impacts is not None:
            self._impacts.restore(saved)
        steps, calls, stiff = saved.counts("stall", (3,))
        self._stall = StallDetector(self._scene, saved.number("reached"), steps, calls, stiff)
        self._shown = self._records.step_start(0)[0]
        return self._through(times)

    def _through(self, times: Iterator[float], inputs: Array | None = None) -> Iterator[Segment]:
        """Yield the segments through further output times."""
        assert inputs is None
        self._monitor = PaceMonitor(self._scene, self._records.step_start(0)[0], self._warn)
        most = OUTPUTS_A_CALL if self._external is None else 1
        while True:
            if not self._wanted.size:
                self._wanted = np.array([*self._ahead, *islice(times, most + 1 - len(self._ahead))])
                self._wanted, self._ahead = self._wanted[:most], self._wanted[most:]
            if not self._wanted.size:
                break
            segment, error = self._go_on()
            self._show()
            event = segment.event
            self._over = error is not None or (
                event is not None and stops(self._scene, event.index)
            )
            yield segment
            if error is not None:
                raise error
            if self._over:
                break
        self._monitor.at_end()

    def _go_on(self) -> tuple[Segment, Exception | None]:
        """Return the segment of a call of the engine, and the error that ends the run after it."""
        scene, records, impacts = self._scene, self._records, self._impacts
        wanted, rows = self._wanted, records.rows(len(self._wanted))
        steps, rejected = int(records.steps[0]), records.scheme[0, Place.REJECTED]
        stop, reached = self._call_engine(wanted, rows)
        self._waits = stop == Stop.WAITS
        accepted = int(records.steps[0]) - steps
        tried = accepted + int(records.scheme[0, Place.REJECTED] - rejected)
        self._sync()
        at = self._event() if stop == Stop.EVENT else None
        q, v = (rows[name][0, :reached] for name in ("q_rows", "v_rows"))
        own = rows["signal_rows"][0, :reached] if "signal_rows" in rows else None
        near = np.tile(records.loop_q[0], (reached, 1))
        whole = _whole_rows(q, v, own)
        segment = Segment(
            wanted[:whole],
            q[:whole],
            v[:whole],
            near[:whole],
            float(records.t[0]),
            accepted,
            report=None if impacts is None else impacts.report(q[:whole], v[:whole]),
            signals=None if own is None else own[:whole],
            external=tau_of_rows(self._external, whole),
        )
        self._wanted = wanted[reached:]
        if whole < reached:
            beyond = too_large(scene, float(wanted[whole]), v[max(whole - 1, 0)])
            return segment, beyond
        if self._waits:
            assert self._signals is not None
            records.answer_one(self._signals, None)
            self._waits = False
        struck = False
        if at is not None:
            struck = impacts is not None and impacts.is_impact(at.index)
            segment, ends = self._with_event(segment, at, struck=struck)
            if ends:
                return segment, None
        if stop == Stop.LOST:
            return segment, explain(records.failure(0))
        if not struck:
            time, state, _ = records.step_start(0)
            row = records.scheme[0]
            call = (
                state,
                max(time, segment.end),
                float(row[Place.SIZE]),
                tried,
                int(row[Place.WORST]),
            )
            self._monitor.after_call(*call)
            try:
                self._stall.after_call(*call)
            except SimulationError as error:
                return segment, error
        return segment, None

    def _call_engine(self, wanted: Array, rows: dict[str, Array]) -> tuple[Stop, int]:
        """Advance through the wanted outputs; return why the world stopped, and how many it reached."""
        records, impacts = self._records, self._impacts
        if self._external is not None:
            t, state, _ = records.step_start(0)
            drive = self._external.before_call(self._scene.actuation, t, state.q, state.v)
            records.set_actuation(drive)
        repeats = impacts is not None or self.watch is not None
        held = records.save(ONLY) if repeats else b""
        known = np.concatenate([wanted, self._ahead])
        while True:
            if impacts is not None:
                records.engine.set_smooth_contacts(impacts.forces)
            row = np.zeros(1, np.int64)
            stop = records.call(known, row, rows, None, None, ATTEMPTS_A_CALL, len(wanted))
            if impacts is None:
                break
            after = records.step_start(0)[1]
            if not impacts.passed(after.q, after.v):
                break
            records.load(held, ONLY)  # again, with the pair at rest
            self._begin_at(*records.step_start(0))
            held = records.save(ONLY)
        if self.watch is None:
            return stop, int(row[0])
        records.load(held, ONLY)
        row[0] = 0
        for _ in range(ATTEMPTS_A_CALL):  # the same steps, one by one
            stop = records.call(known, row, rows, None, None, 1, len(wanted))
            if stop != Stop.UNFINISHED:
                break
            self._show()
        return stop, int(row[0])

    def _show(self) -> None:
        """Show the start of the next step, unless it was shown."""
        if self.watch is not None and (t := self._records.step_start(0)[0]) > self._shown:
            self._shown = t
            self.watch(self._records)

    def _event(self) -> EventOccurrence:
        """Return the event at which the world has stopped, at the duration at the latest despite rounding."""
        records = self._records
        t, own = min(float(records.t[0]), self._scene.settings.duration), None
        if self._signals is not None:
            own = records.signals[0].copy()
        q, v, loop_q = (x.copy() for x in records.states(0))
        return EventOccurrence(int(records.scheme[0, Place.EVENT]), t, q, v, loop_q, own)

    def _with_event(
        self, segment: Segment, at: EventOccurrence, *, struck: bool
    ) -> tuple[Segment, bool]:
        """Return a segment with the event after it, or the impacts, and whether that ends the run.

        Steps begin anew at an event that changed forces, or velocities if surfaces `struck` each other.
        """
        signals = self._signals
        event: EventOccurrence | None = at
        following: list[EventOccurrence] = []
        if struck:
            assert self._impacts is not None
            following, restarts = self._impacts.at_event(at)
            event = following.pop(0) if following else None
        else:
            restarts = signals is not None and signals.release(at.index)
        segment = replace(segment, end=at.t, event=event, following=tuple(following))
        if event is not None and stops(self._scene, event.index):
            return segment, True
        if restarts:
            v, step = at.v, 0.0
            if self._impacts is not None:
                v = self._impacts.velocity if struck else v
                step = self._impacts.first_step(at.q, v)
            numbers = None if signals is None else signals.numbers
            self._begin_at(at.t, State(at.q, v, at.loop_q), numbers, step)
        return segment, False

    def _begin_at(self, t: float, state: State, numbers: Array | None, step: float = 0.0) -> None:
        """Let steps begin anew at a time [s] and state, by a step [s]; 0 to choose it."""
        records = self._records
        records.t[0], records.q[0], records.v[0] = t, state.q, state.v
        if numbers is not None:
            records.signals[0] = numbers
        records.begin_steps(step)


def stops(scene: Scene, event: int) -> bool:
    """Return whether an event ends a run, given its number; those of impacts follow the scene's and do not."""
    return event < len(scene.spec.events) and scene.spec.events[event].stop


def _whole_rows(*columns: Array | None) -> int:
    """Return the number of rows before the first that is not finite in one of the columns."""
    finite = [np.isfinite(rows).all(axis=1) for rows in columns if rows is not None]
    good = np.logical_and.reduce(finite)
    return len(good) if good.all() else int(good.argmin())
