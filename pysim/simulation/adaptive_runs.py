"""Runs of one world with steps of adapted size on its record, through output times and events.

The engine passes outputs and interpolates them; a step ends at an instant of sampled blocks. One call covers up to
OUTPUTS_A_CALL outputs. The monitors of very many steps and of stalled runs are looked at after every call.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.diagnosis.adaptive_pace import PaceMonitor, warn_of_pace
from pysim.diagnosis.failed_steps import explain, too_large
from pysim.diagnosis.stall import StallDetector
from pysim.errors import SimulationError
from pysim.simulation.record_runs import ONLY, RecordRun
from pysim.typing import Array
from pysim.worlds.adaptive_scheme import Place
from pysim.worlds.engine_calls import Stop
from pysim.worlds.event_answers import answer_event
from pysim.worlds.external_forces import tau_of_rows
from pysim.worlds.failure import Status
from pysim.worlds.segment import EventOccurrence, Segment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pysim.worlds.external_forces import ExternalForces
    from pysim.worlds.impacts import Impacts
    from pysim.worlds.loading import Scene
    from pysim.worlds.saved_parts import SavedParts

OUTPUTS_A_CALL = 256
ATTEMPTS_A_CALL = 4096  # so that an interrupt is answered soon


class AdaptiveRun(RecordRun):
    """Run of a scene with steps of adapted size, which may go on from any of its segments.

    A segment ends at outputs, at an event, or where a call has used up its attempts. Then the rest of the call's
    outputs is left for the next one, so that a run that goes on makes the same calls.

    Args:
        scene: whose scheme is dopri5.
        external: forces from outside; None without any.
        warn: gets the text of a warning of very many steps.
    """

    def __init__(
        self,
        scene: Scene,
        external: ExternalForces | None = None,
        warn: Callable[[str], object] = warn_of_pace,
    ) -> None:
        super().__init__(scene, external)
        self._warn = warn
        self._wanted = np.empty(0)  # outputs left of a call [s]
        self._ahead = np.empty(0)  # the output after them [s]
        self._has_failed = False  # whether the last segment was followed by an error

    @property
    def _impacts(self) -> Impacts | None:
        return self.records.impacts[0] if self.records.impacts else None

    def segments(self, times: Iterator[float]) -> Iterator[Segment]:
        """Yield the segments through output times [s], ascending, from where the world is at the first of them.

        The run ends at an event that stops it.

        Raises:
            SimulationError: a step underflowed, a tolerance is finer than rounding, or the run has stalled (stall.py).
        """
        self._shown = start = next(times)
        self._wanted, self._ahead = np.empty(0), np.empty(0)
        self._stall = StallDetector(self._scene, start)
        yield from self._through(times)

    def saved(self) -> dict[str, Any] | None:
        """Return what `resumed` goes on from after the last segment; None if blocks are due or the run has ended."""
        saved = None if self._has_failed else super().saved()
        if saved is None:
            return None
        stall = self._stall
        saved |= {
            "wanted": self._wanted,
            "reached": np.array(float(stall.time)),
            "stall": np.array([stall.steps, stall.calls, stall.stiff], np.int64),
        }
        return saved | ({"impulses": self._impacts.impulses} if self._impacts else {})

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
            impulses = saved.numbers("impulses", self._impacts.impulses.shape, finite=True)
            self._impacts.impulses = impulses
        steps, calls, stiff = saved.counts("stall", (3,))
        self._stall = StallDetector(self._scene, saved.number("reached"), steps, calls, stiff)
        self._shown = self.records.step_start(0)[0]
        return self._through(times)

    def _through(self, times: Iterator[float]) -> Iterator[Segment]:
        """Yield the segments through further output times."""
        self._monitor = PaceMonitor(self._scene, self.records.step_start(0)[0], self._warn)
        most = OUTPUTS_A_CALL if self._external is None else 1
        while True:
            if not self._wanted.size:
                self._wanted = np.array([*self._ahead, *islice(times, most + 1 - len(self._ahead))])
                self._wanted, self._ahead = self._wanted[:most], self._wanted[most:]
            if not self._wanted.size:
                break
            segment, error = self._go_on()
            self._show()
            self._has_failed = error is not None
            yield segment
            if error is not None:
                raise error
            if self.records.status[0] == Status.ENDED:
                break
        self._monitor.at_end()

    def _go_on(self) -> tuple[Segment, Exception | None]:
        """Return the segment of a call of the engine, and the error that ends the run after it."""
        scene, records, impacts = self._scene, self.records, self._impacts
        wanted, rows = self._wanted, records.rows(len(self._wanted))
        steps, rejected = int(records.steps[0]), records.scheme[0, Place.REJECTED]
        stop, reached = self._call_engine(wanted, rows)
        accepted = int(records.steps[0]) - steps
        tried = accepted + int(records.scheme[0, Place.REJECTED] - rejected)
        q, v = (rows[name][0, :reached] for name in ("q_rows", "v_rows"))
        signals = rows["signal_rows"][0, :reached] if "signal_rows" in rows else None
        near = np.tile(records.loop_q[0], (reached, 1))
        finite = _whole_rows(q, v, signals)
        segment = Segment(
            wanted[:finite],
            q[:finite],
            v[:finite],
            near[:finite],
            float(records.t[0]),
            accepted,
            report=None if impacts is None else impacts.report(q[:finite], v[:finite]),
            signals=None if signals is None else signals[:finite],
            external=tau_of_rows(self._external, finite),
        )
        self._wanted = wanted[reached:]
        if finite < reached:
            beyond = too_large(scene, float(wanted[finite]), v[max(finite - 1, 0)])
            return segment, beyond
        if records.blocks.waits(0):
            records.blocks.run_due(ONLY, None, 1)
        event = stop - Stop.EVENT
        if event >= 0:
            end = min(segment.end, scene.settings.duration)  # despite rounding
            occurred = [
                replace(signals, t=min(signals.t, end))
                for signals in answer_event(records, 0, event)
            ]
            segment = _with_events(segment, end, occurred)
            if records.status[0] == Status.ENDED:
                return segment, None
        if stop == Stop.LOST:
            return segment, explain(records.failure(0))
        if event < 0 or impacts is None or not impacts.is_impact(event):
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

    def _call_engine(self, wanted: Array, rows: dict[str, Array]) -> tuple[int, int]:
        """Advance through the wanted outputs; return why the world stopped, and how many it reached."""
        records = self.records
        self._drive()
        known, row, count = (
            np.concatenate([wanted, self._ahead]),
            np.zeros(1, np.int64),
            len(wanted),
        )
        kept = records.engine.parts["caller_numbers"][0].copy()
        begun = records.save(ONLY) if self.watch is not None else b""
        stop = records.call(known, row, rows, None, ATTEMPTS_A_CALL, count=count)
        if self.watch is None:
            return stop, int(row[0])
        if np.array_equal(kept, records.engine.parts["caller_numbers"][0]):
            records.load(begun, ONLY)
        else:  # surfaces passed through each other, which rest since the start of the call
            records.go_back(0, begun)
        row[0] = 0
        for _ in range(ATTEMPTS_A_CALL):  # the same steps, one by one
            stop = records.call(known, row, rows, None, 1, count=count)
            if stop != Stop.UNFINISHED:
                break
            self._show()
        return stop, int(row[0])

    def _show(self) -> None:
        """Show the start of the next step, unless it was shown."""
        if self.watch is not None and (t := self.records.step_start(0)[0]) > self._shown:
            self._shown = t
            self.watch(self.records)


def _with_events(segment: Segment, end: float, occurred: list[EventOccurrence]) -> Segment:
    """Return a segment with what has occurred at its end [s]."""
    event = occurred[0] if occurred else None
    return replace(segment, end=end, event=event, following=tuple(occurred[1:]))


def _whole_rows(*columns: Array | None) -> int:
    """Return the number of rows before the first that is not finite in one of the columns."""
    finite = [np.isfinite(rows).all(axis=1) for rows in columns if rows is not None]
    good = np.logical_and.reduce(finite)
    return len(good) if good.all() else int(good.argmin())
