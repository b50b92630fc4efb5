"""Runs of one world with steps of fixed size on its record (world_records.py), through output times and events.

n = ⌈(t_k+1 − t_k) / step⌉ equal steps lead from one output, instant of a sampled block or event to the next, none
longer than `simulation.step`. One call of the engine covers many outputs, and is short enough for progress reports and
interrupts; its length changes no bit.
"""

from __future__ import annotations

import warnings
from itertools import chain, islice
from typing import TYPE_CHECKING

import numpy as np

from pysim.diagnosis.failed_steps import explain
from pysim.errors import JointError, PysimError, PysimWarning
from pysim.simulation.fixed_steps import check_count, outputs_a_call
from pysim.tracing.author_code import definition_place
from pysim.typing import Array
from pysim.worlds.contact_report import NUMBERS
from pysim.worlds.engine_calls import Stop
from pysim.worlds.event_answers import answer_event
from pysim.worlds.external_forces import tau_of_rows
from pysim.worlds.failure import Status
from pysim.worlds.ledger import begin_work
from pysim.worlds.saved_worlds import load_worlds, save_worlds
from pysim.worlds.segment import Segment
from pysim.worlds.world_records import MOST_STEPS, WorldRecords

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from pysim.worlds.external_forces import ExternalForces
    from pysim.worlds.loading import Scene
    from pysim.worlds.saved_parts import SavedParts
    from pysim.worlds.segment import EventOccurrence

CALL_TIME = 0.05  # [s] intended wall time of a call, so that progress shows and an interrupt is answered soon
ONLY = np.zeros(1, np.int32)  # the number of the world


class RecordRun:
    """Run of one world of a scene, which begins at its start or goes on from what it has saved.

    Args:
        scene: whose scheme has steps of fixed size.
        external: forces from outside; None without any.
    """

    def __init__(self, scene: Scene, external: ExternalForces | None = None) -> None:
        check_count(scene)
        self._scene, self._external = scene, external
        self.records = WorldRecords(scene, 1, np.zeros(1, np.intp))
        self._outputs = outputs_a_call(scene, external)
        points = self.records.points
        self._report = np.zeros((1, points, NUMBERS)) if points else None
        self._waits = False  # blocks in Python are due
        self._refused = False  # the scheme remembers what cannot be saved
        self.watch: Callable[[WorldRecords], None] | None = None  # called after every step if set

    def begin(self, t: float = 0.0) -> Array | None:
        """Let the world begin at the scene's start, at t [s]; return the numbers of its signals, None without any."""
        state, records = self._scene.state, self.records
        records.begin(None, t, state.q[None], state.v[None], state.loop_q[None], 1)
        if self._scene.signals is None:
            return None
        numbers: Array = records.signals[0]
        begin_work(self._scene, numbers)
        return numbers.copy()

    def saved(self) -> dict[str, Any] | None:
        """Return what `resumed` goes on from after the last segment; None if blocks are due or the run has ended."""
        if self._waits or self._refused or self.records.status[0] != Status.RUNNING:
            return None
        try:
            record = save_worlds(self.records, ONLY)
        except TypeError as error:
            self._refused = True
            self._warn_of_memory(error)
            return None
        saved: dict[str, Any] = {"record": np.frombuffer(record, np.uint8)}
        if self._report is not None:
            saved["report"] = self._report
        return saved

    def restore(self, saved: SavedParts, first: float, last: float) -> None:
        """Return to what `saved` returned between two times [s], which may be the same.

        Raises:
            SimulationError: it is of another scene, or of another time.
        """
        records = self.records
        try:
            load_worlds(records, saved.data("record"), ONLY)
        except JointError:  # of a controller's own code
            raise
        except PysimError as error:
            raise saved.error(f"holds a checkpoint that is not one of its scene: {error}") from None
        if records.status[0] != Status.RUNNING:
            raise saved.error("holds a checkpoint of a run that had failed")
        if not first <= (t := float(records.t[0])) <= last:
            raise saved.error(f"holds a checkpoint of t = {t:.9g} s after a row of {first:.9g} s")
        if records.points:
            self._report = saved.numbers("report", (1, records.points, NUMBERS), finite=True)

    def _warn_of_memory(self, error: TypeError) -> None:
        """Warn that a file cannot hold what a scheme in Python remembers."""
        assert self.records.python is not None
        where = definition_place(type(self.records.python.schemes[0]))
        problem = f"its attribute {error}, which checkpoints do not hold, so a run that is stopped begins again"
        remedy = "keep numbers, texts, arrays, or lists of them"
        warnings.warn(f"{where}: {problem}; {remedy}", PysimWarning, stacklevel=3)

    def resumed(self, saved: SavedParts, times: Iterator[float]) -> Iterator[Segment]:
        """Yield the segments through output times [s]; `saved` returned after the first one, before the next.

        Raises:
            SimulationError: `saved` is not what a run of the scene returns there.
        """
        start, following = next(times), [*islice(times, 1)]
        self.restore(saved, start, max([start, *following]))
        return self._through(chain(following, times))

    def segments(self, times: Iterator[float]) -> Iterator[Segment]:
        """Yield the segments through output times [s], ascending, from where the world is at the first of them.

        The run ends at an event that stops it.

        Raises:
            SimulationError: the state became NaN or infinite or left its loops, or a step found no solution.
        """
        next(times)
        return self._through(times)

    def _through(self, times: Iterator[float]) -> Iterator[Segment]:
        """Yield the segments through further output times."""
        while part := list(islice(times, self._outputs)):
            yield from self._call(np.array(part))
            if self.records.status[0] == Status.ENDED:
                return

    def _call(self, ends: Array) -> Iterator[Segment]:
        """Yield the segments through some outputs, up to an event that stops the run."""
        records, report = self.records, self._report
        rows = records.rows(len(ends))
        row, done, steps = np.zeros(1, np.int64), 0, int(records.steps[0])
        while True:
            self._drive()
            stop = records.call(ends, row, rows, report, self._steps(), CALL_TIME)
            if self.watch is not None and stop != Stop.LOST:
                self.watch(records)
            found = slice(done, int(row[0]))
            occurred = answer_event(records, 0, stop - Stop.EVENT) if stop >= Stop.EVENT else []
            self._waits = records.blocks.waits(0)
            if found.stop > found.start or stop not in (Stop.WAITS, Stop.LOST):
                made, steps = int(records.steps[0]) - steps, int(records.steps[0])
                yield self._segment(ends, rows, found, made, occurred)
            done = found.stop
            if stop == Stop.REACHED or records.status[0] == Status.ENDED:
                return
            if stop == Stop.LOST:
                raise explain(records.failure(0))
            if self._waits:
                records.blocks.run_due(ONLY, report, 1)

    def _steps(self) -> int:
        """Return the most steps of a call."""
        if self.watch is not None:
            return 1
        return MOST_STEPS if self._external is None else self._external.steps

    def _drive(self) -> None:
        """Set the forces from outside of the next call."""
        if self._external is not None:
            t, state, _ = self.records.step_start(0)
            drive = self._external.before_call(self._scene.actuation, t, state.q, state.v)
            self.records.set_actuation(drive)

    def _segment(
        self,
        ends: Array,
        rows: dict[str, Array],
        span: slice,
        steps: int,
        occurred: list[EventOccurrence],
    ) -> Segment:
        """Return the segment of the outputs of a call, and of an event after them."""
        part: dict[str, Any] = {name: values[0, span] for name, values in rows.items()}
        return Segment(
            ends[span],
            part["q_rows"],
            part["v_rows"],
            part["loop_rows"],
            float(self.records.t[0]),
            steps,
            event=occurred[0] if occurred else None,
            report=part.get("report_rows"),
            signals=part.get("signal_rows"),
            external=tau_of_rows(self._external, span.stop - span.start),
            following=tuple(occurred[1:]),
        )
