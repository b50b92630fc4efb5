"""Runs of one world with steps of fixed size on its record (world_records.py), through output times.

n = ⌈(t_k+1 − t_k) / step⌉ equal steps lead from one output, or instant of a sampled block, to the next, none longer
than `simulation.step`. One call of the engine covers many outputs, and is short enough for progress reports and
interrupts; its length changes no bit.
"""

from __future__ import annotations

import time
import warnings
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from pysim.diagnosis.failed_steps import explain
from pysim.errors import PysimWarning
from pysim.mechanism.model import State
from pysim.simulation.fixed_steps import (
    Pace,
    check_count,
    pace_of,
)
from pysim.tracing.author_code import definition_place
from pysim.typing import Array
from pysim.worlds.contact_report import NUMBERS
from pysim.worlds.external_forces import tau_of_rows
from pysim.worlds.failure import Status
from pysim.worlds.python_stepping import runs_in_python
from pysim.worlds.segment import Segment
from pysim.worlds.world_records import Stop, WorldRecords

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from pysim import _engine
    from pysim.worlds.external_forces import ExternalForces
    from pysim.worlds.implicit_state import SolverState
    from pysim.worlds.loading import Scene
    from pysim.worlds.saved_parts import SavedParts
    from pysim.worlds.signal_runs import SignalRun

MOST_REPORTED = 1 << 23  # numbers of contact reports in a call


class RecordRun:
    """Run of one world of a scene, which may be continued from any state.

    Args:
        scene: whose scheme has steps of fixed size.
        memory: what the scheme carries, updated with every segment.
        signals: state of the signals, updated with every segment; None without any.
        external: forces from outside; None without any.
        watched: events at which steps of adapted size stop; None without any.
    """

    def __init__(
        self,
        scene: Scene,
        memory: SolverState,
        signals: SignalRun | None,
        external: ExternalForces | None = None,
        *,
        watched: _engine.Events | None = None,
    ) -> None:
        check_count(scene)
        self._scene, self._memory, self._signals, self._external = scene, memory, signals, external
        in_python = signals is not None and signals.next_inputs is not None
        self._records = WorldRecords(
            scene, 1, np.zeros(1, np.intp), events=True, watched=watched, python_blocks=in_python
        )
        if self._records.python is not None and memory.scheme is not None:
            self._records.python.schemes[0] = memory.scheme
        self._pace = _pace(scene, signals, external)
        self._report: Array | None = None
        self._waits = False  # blocks in Python are due
        self._refused = False  # the scheme remembers what cannot be saved
        self.watch: Callable[[WorldRecords], None] | None = None  # called after every step if set

    def from_start(self, times: Iterator[float]) -> Iterator[Segment]:
        """Yield the segments through output times [s] from the scene's start at the first of them."""
        return self.segments(self._scene.state, times)

    def saved(self) -> dict[str, Any] | None:
        """Return what `resumed` goes on from after the last segment; None if blocks are due or a step failed."""
        if self._waits or self._refused or self._records.status[0] != Status.RUNNING:
            return None
        try:
            record = self._records.save(np.zeros(1, np.int32))
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
        records = self._records
        try:
            records.load(saved.data("record"), np.zeros(1, np.int32))
        except ValueError as error:
            raise saved.error(f"holds a checkpoint that is not one of its scene: {error}") from None
        if records.status[0] != Status.RUNNING:
            raise saved.error("holds a checkpoint of a run that had failed")
        if not first <= (t := float(records.t[0])) <= last:
            raise saved.error(f"holds a checkpoint of t = {t:.9g} s after a row of {first:.9g} s")
        if records.points:
            self._report = saved.numbers("report", (1, records.points, NUMBERS), finite=True)
        self._sync()

    @property
    def state(self) -> State:
        """The state of the record."""
        return State(*(np.array(x) for x in self._records.states(0)))

    def _warn_of_memory(self, error: TypeError) -> None:
        """Warn that a file cannot hold what a scheme in Python remembers."""
        assert self._records.python is not None
        where = definition_place(type(self._records.python.schemes[0]))
        problem = f"its attribute {error}, which checkpoints do not hold, so a run that is stopped begins again"
        remedy = "keep numbers, texts, arrays, or lists of them"
        warnings.warn(f"{where}: {problem}; {remedy}", PysimWarning, stacklevel=3)

    def held_scheme(self) -> dict[str, Any] | None:
        """Return a copy of what a scheme in Python remembers; None for one of the engine."""
        python = self._records.python
        return None if python is None else python.held(0)

    def put_back_scheme(self, held: dict[str, Any] | None) -> None:
        """Return a scheme in Python to what `held_scheme` returned."""
        if self._records.python is not None and held is not None:
            self._records.python.put_back(0, held)

    def resumed(self, saved: SavedParts, times: Iterator[float]) -> Iterator[Segment]:
        """Yield the segments through output times [s]; `saved` returned at the first one.

        Raises:
            SimulationError: `saved` is not what a run of the scene returns there.
        """
        start = next(times)
        self.restore(saved, start, start)
        return self._through(times)

    def segments(
        self, state: State, times: Iterator[float], inputs: Array | None = None
    ) -> Iterator[Segment]:
        """Yield the segments through output times [s], ascending, from a state at the first of them.

        `inputs` (outputs, inputs) of the scene are held up to each output; those up to the first are set already.

        Raises:
            SimulationError: the state became NaN or infinite or left its loops, or a step found no solution.
        """
        records = self._records
        records.place(next(times), state, self._memory.numbers, self._signals)
        points = records.points
        self._report = np.zeros((1, points, NUMBERS)) if points else None
        return self._through(times, inputs)

    def _through(self, times: Iterator[float], inputs: Array | None = None) -> Iterator[Segment]:
        """Yield the segments through further output times."""
        count = 0
        while part := list(islice(times, self._pace.outputs)):
            ends, held = np.array(part), None
            if inputs is not None:
                held = np.array(inputs[None, count : count + len(ends) + 1])
            yield from self._call(ends, self._report, held)
            count += len(ends)

    def _call(self, ends: Array, report: Array | None, inputs: Array | None) -> Iterator[Segment]:
        """Yield the segments through some outputs."""
        records, external = self._records, self._external
        rows = records.rows(len(ends))
        row, done, steps = np.zeros(1, np.int64), 0, int(records.steps[0])
        while True:
            if external is not None:
                now = float(records.t[0]), records.q[0], records.v[0]
                records.set_actuation(external.before_call(self._scene.actuation, *now))
            began = time.perf_counter()
            most = self._pace.steps if self.watch is None else 1
            stop = records.call(ends, row, rows, report, inputs, most)
            if self.watch is not None and stop != Stop.LOST:
                self.watch(records)
            elif not done:
                self._pace.keep(time.perf_counter() - began)
            found = slice(done, int(row[0]))
            self._waits = stop == Stop.WAITS
            if stop != Stop.WAITS or found.stop > found.start:
                made, steps = int(records.steps[0]) - steps, int(records.steps[0])
                self._sync()
                if stop != Stop.LOST or found.stop > found.start:
                    yield self._segment(ends, rows, found, made)
            done = found.stop
            if stop == Stop.REACHED:
                return
            if stop == Stop.LOST:
                raise explain(records.failure(0))
            if stop == Stop.WAITS:
                assert self._signals is not None
                records.answer_one(self._signals, report)

    def _segment(self, ends: Array, rows: dict[str, Array], found: slice, steps: int) -> Segment:
        """Return the segment of the outputs of a call."""
        part: dict[str, Any] = {name: values[0, found] for name, values in rows.items()}
        return Segment(
            ends[found],
            part["q_rows"],
            part["v_rows"],
            part["loop_rows"],
            float(self._records.t[0]),
            steps,
            report=part.get("report_rows"),
            signals=part.get("signal_rows"),
            external=tau_of_rows(self._external, found.stop - found.start),
        )

    def _sync(self) -> None:
        """Update what the callers hold of the record."""
        if not self._records.is_adaptive:
            self._memory.numbers[:] = self._records.scheme_memory()[0]
        if self._signals is not None:
            self._signals.numbers[:] = self._records.signals[0]
            self._signals.jumped = self._records.inputs_changed(0)


def _pace(scene: Scene, signals: SignalRun | None, external: ExternalForces | None) -> Pace:
    pace = pace_of(scene, signals, external)
    if runs_in_python(scene):
        pace.most = 1
    contacts = scene.contacts
    if contacts is not None and scene.smooth_contacts is None and contacts.engine.points:
        pace.most = max(1, min(pace.most, MOST_REPORTED // (NUMBERS * contacts.engine.points)))
    return pace


def run_fixed(
    scene: Scene,
    times: Iterator[float],
    memory: SolverState,
    signals: SignalRun | None = None,
    external: ExternalForces | None = None,
) -> Iterator[Segment]:
    """Yield the segments of a run without events through output times [s] from the scene's start at the first."""
    return RecordRun(scene, memory, signals, external).segments(scene.state, times)
