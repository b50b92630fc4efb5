"""Records of worlds of one scene: everything that their next steps depend on, and the one way forward.

The record and its advance are the engine's (cpp/stepping/world_record.hpp, world_advance.hpp). Here worlds begin, are
advanced, saved and copied. Blocks of signals that Python runs are those of record_blocks.py, answers to events those of
event_answers.py; steps of integrator plugins and of callback joints are those of python_steps.py, which the engine's
loop calls. The file is long because the class is all that can be done with a record, over arrays its methods share.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.integrators import find_integrator
from pysim.mechanism.model import State
from pysim.typing import Array
from pysim.worlds.adaptive_scheme import Place
from pysim.worlds.contact_report import NUMBERS, report_by_point
from pysim.worlds.engine_calls import EngineCalls, Stop
from pysim.worlds.engine_worlds import engine_worlds
from pysim.worlds.event_answers import answer_events
from pysim.worlds.failure import Failure, Status
from pysim.worlds.impacts import Impacts, has_impacts, impact_events
from pysim.worlds.parameters.varied_numbers import SceneNumbers, VariedNumbers, numbers_together
from pysim.worlds.python_stepping import runs_in_python
from pysim.worlds.python_steps import PythonSteps
from pysim.worlds.record_blocks import RecordBlocks
from pysim.worlds.segment import EventOccurrence
from pysim.worlds.single_precision import check_single_precision

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from pysim import _engine
    from pysim.mechanism.model import Model
    from pysim.worlds.loading import Scene
    from pysim.worlds.parameters.world_parameters import WorldParameters

    Selection = NDArray[np.int32] | None  # numbers of worlds, None for all

WORST = 2  # place of the coordinate of v, or of the contact point, that converged worst
PLACES_OF_WORST = {  # in the scheme's part of a lost world
    Status.UNSOLVED: WORST,
    Status.UNDERFLOW: Place.WORST,
    Status.BLURRED: Place.WORST,
}
MOST_STEPS = 1 << 40  # of a world in a call
SIZE = 8  # bytes of a length
# [s] intended wall time of a call of the engine, so that an interrupt is answered soon
CALL_TIME = 0.2


class WorldRecords:
    """Records of `count` worlds of a scene, in arrays with one row a world.

    Args:
        scene: whose settings, actuators, signals and contacts all worlds have; or a list of scenes that differ in
            numbers alone, one for each world.
        count: of worlds.
        numbers: (count,) of the worlds, by which their random numbers differ.
        dtype: of q and v, in which worlds are stepped: np.float64 or np.float32.
        scene_numbers: numbers of the scenes of a list that `alike` has found to be stepped together.

    Raises:
        SimulationError: the scene needs double precision.
    """

    def __init__(
        self,
        scene: Scene | list[Scene],
        count: int,
        numbers: NDArray[np.intp],
        *,
        dtype: type[np.floating[Any]] = np.float64,
        scene_numbers: list[SceneNumbers] | None = None,
    ) -> None:
        self.scenes = scene if isinstance(scene, list) else None
        self.scene = scene = scene[0] if isinstance(scene, list) else scene
        self.count, self.numbers = count, numbers
        self.is_single = dtype == np.float32
        if self.is_single:
            check_single_precision(scene)
        kind = find_integrator(scene.settings.integrator)
        self.is_convex = kind.contacts  # steps solve contacts, which the engine demands then
        self.is_adaptive = kind.adaptive
        strikes = has_impacts(scene)
        events = impact_events(scene) if strikes else scene.events
        self._first_of_start = Place.SIGNS + (0 if events is None else len(events))
        self.python = PythonSteps(scene, count) if runs_in_python(scene) else None
        self.engine = engine_worlds(
            scene, count, is_single=self.is_single, python=self.python, events=events
        )
        self._name_parts()
        self.blocks, self._calls = RecordBlocks(self), EngineCalls(self)
        self.varied = VariedNumbers(scene, count, self.is_convex)  # in which the worlds differ
        self.parameters: WorldParameters | None = None  # by which they are written
        if self.scenes is not None:
            self.varied.set_scenes(scene_numbers or numbers_together(self.scenes), self.scenes)
            self.varied.lend(self.engine)
        self.impacts: list[Impacts] = []  # of every world
        if strikes:
            rests = self.engine.parts["caller_numbers"]
            self.impacts = [Impacts(self.scene_of(k), rests[k]) for k in range(count)]
        # events by world, until it is emptied
        self.occurred: list[tuple[int, EventOccurrence]] = []

    def _name_parts(self) -> None:
        """Name the arrays of the engine's records."""
        parts = self.engine.parts
        if self.python is not None:
            self.python.attach(parts)
        self.t: Array = parts["t"][:, 0]
        self.q: NDArray[Any] = parts["q"]
        self.v: NDArray[Any] = parts["v"]
        self.loop_q: Array = parts["loop_q"]
        self.scheme: Array = parts["scheme"]
        self.signals: Array = parts["signals"]
        self.steps: NDArray[np.int64] = parts["steps"][:, 0]  # since the start
        self.status: NDArray[np.int64] = parts["status"][:, 0]
        self.episode: NDArray[np.int64] = parts["episode"][:, 0]
        self._touching: NDArray[np.int64] = parts["touching"][:, 0]
        self._contacts: Array = parts["contacts"].reshape(self.count, -1, 6)
        self._report: Array = parts["report"].reshape(self.count, -1, NUMBERS)

    def scene_of(self, k: int) -> Scene:
        """Return the scene of a world, with its parameters."""
        if self.parameters is not None:
            return self.parameters.scene_of(k)
        return self.scene if self.scenes is None else self.scenes[k]

    def set_model(self, model: Model) -> None:
        """Step by another model from now on, with the same states and other numbers or programs."""
        self.engine.set_model(model)
        self.scene = replace(self.scene, model=model)
        self.varied.clear(self.scene)
        if self.python is not None:
            self.python.set_model(model)

    def set_actuation(self, actuation: _engine.Actuation) -> None:
        """Let other prescribed forces act from now on."""
        self.engine.set_actuation(actuation)
        if self.python is not None:
            self.python.set_actuation(actuation)

    def scene_with_numbers(self, worlds: NDArray[np.int32]) -> AbstractContextManager[Scene]:
        """Return a context with a scene whose model has the numbers of worlds, row by row."""
        if self.parameters is not None:
            self.parameters.accept()
        return self.varied.scene_of_states(worlds)

    # ------------------------------------------------------------------------------------------------- start

    def begin(
        self,
        selection: Selection,
        t: float,
        q: Array,
        v: Array,
        loop_q: Array,
        threads: int,
        inputs: Array | None = None,
        signals: Array | None = None,
        keyframe: Mapping[int, float] | None = None,
    ) -> None:
        """Let worlds begin at t [s].

        Args:
            selection: the worlds, None for all.
            t: time [s].
            q: configurations (n, nq).
            v: velocities (n, nv).
            loop_q: coordinates of the joints that close loops (n, loop_nq).
            threads: that share the worlds.
            inputs: values of the scene's inputs (n, inputs) in file order; their start by default.
            signals: numbers of signals (n, numbers) to go on with; they start anew by default.
            keyframe: inputs, and states of elements, with other starts, by place among the numbers of signals.
        """
        if self.scene.signals is not None and self.parameters is not None:
            self.parameters.accept()
        rows = slice(None) if selection is None else selection
        worlds = self.chosen(selection)
        self.t[rows], self.q[rows], self.v[rows], self.loop_q[rows] = t, q, v, loop_q
        self.scheme[rows] = 0.0
        for name in (
            "steps",
            "pending",
            "jumped",
            "status",
            "touching",
            "pivots",
            "signs",
            "caller_numbers",
        ):
            self.engine.parts[name][rows] = 0
        self.engine.begin_clock(worlds)
        if self.python is not None:
            self.python.begin(worlds)
        if self.scene.signals is not None:
            self.blocks.begin(worlds, t, threads, inputs, signals, keyframe or {})
        for k in worlds.tolist() if self.impacts else ():
            impacts, (at_q, at_v, _) = self.impacts[k], self.states(k)
            self.v[k] = impacts.begin(t, at_q, at_v)
            self.scheme[k, Place.SIZE] = impacts.first_step(at_q, self.v[k])
        self.engine.see(worlds)

    def states(self, which: Any) -> tuple[Array, Array, Array]:  # noqa: ANN401, numbers, a slice or a number
        """Return q, v and the coordinates of the joints that close loops, of worlds, in double precision."""
        q, v = (np.asarray(part[which], float) for part in (self.q, self.v))
        return q, v, self.loop_q[which]

    def chosen(self, selection: Selection) -> NDArray[np.int32]:
        """Return the numbers of the worlds of a selection."""
        return np.arange(self.count, dtype=np.int32) if selection is None else selection

    def begin_steps(self, k: int, state: State, t: float, step: float = 0.0) -> None:
        """Let steps of adapted size begin anew at a state and time [s] in a world, by a step [s]; 0 to choose it."""
        self.t[k], self.q[k], self.v[k] = t, state.q, state.v
        self.scheme[k, Place.BEGUN], self.scheme[k, Place.SIZE] = 0.0, step
        self.engine.see(np.array([k], np.int32))

    def go_back(self, k: int, record: bytes) -> None:
        """Return a world to a record, from which steps of adapted size begin anew; pairs that rest now rest on."""
        rests = self.engine.parts["caller_numbers"][k].copy()
        self.engine.load(record, np.array([k], np.int32))
        self.engine.parts["caller_numbers"][k] = rests
        t, state, numbers = self.step_start(k)
        if numbers is not None:
            self.signals[k] = numbers
        self.begin_steps(k, state, t)

    def step_start(self, k: int) -> tuple[float, State, Array | None]:
        """Return the time [s], state and numbers of the signals of a world from which its next step is made."""
        numbers = None if self.scene.signals is None else self.signals[k].copy()
        loop_q = self.loop_q[k].copy()
        if not self.is_adaptive or not self.scheme[k, Place.BEGUN]:
            q, v = (np.array(part[k], float) for part in (self.q, self.v))
            return float(self.t[k]), State(q, v, loop_q), numbers
        start = self.scheme[k, self._first_of_start :].copy()
        last = self.q.shape[1] + self.v.shape[1]
        if numbers is not None:
            numbers[: start.size - last] = start[last:]
        state = State(start[: self.q.shape[1]], start[self.q.shape[1] : last], loop_q)
        return float(self.scheme[k, Place.TIME]), state, numbers

    # ----------------------------------------------------------------------------------------------- forward

    def step(self, steps: int, selection: Selection, threads: int, length: float) -> None:
        """Make steps of a length [s] on the grid in worlds; those that are lost keep their last good state."""
        if not self.impacts:
            return self._step(steps, selection, threads, length)
        for k in self.chosen(selection):  # each by the forces of the pairs that rest in it
            self._step(steps, np.array([k], np.int32), 1, length)
        return None

    def _step(self, steps: int, selection: Selection, threads: int, length: float) -> None:
        count = self.count if selection is None else len(selection)
        keys: dict[str, Any] = {"threads": threads, "wall": CALL_TIME}
        left = self._calls.result_of(
            selection, lambda: self.engine.step(steps, selection, length=length, **keys)
        )
        while left:
            stops = self.engine.stops(count)
            worlds = self.chosen(selection)
            answer_events(self, worlds, stops)
            if ((stops == Stop.REACHED) | (stops == Stop.LOST)).all():
                return
            self.blocks.run_due(self.blocks.waiting(worlds), None, threads)
            left = self._calls.result_of(selection, lambda: self.engine.go_on(selection, **keys))

    def advance(
        self,
        times: Array,
        threads: int,
        *,
        rows: dict[str, Array] | None = None,
        report: Array | None = None,
        inputs: Array | None = None,
        stops: bool = False,
        every: int = 0,
        after: Callable[[], None] | None = None,
    ) -> NDArray[np.int64]:
        """Advance all worlds through times (n,) [s]; return how many rows each reached.

        Args:
            times: ascending [s].
            threads: that share the worlds; 0 for all processors.
            rows: arrays that receive q_rows (worlds, n, nq), v_rows, signal_rows and report_rows.
            report: contacts of the last step (worlds, points, 18), with impulses since the last row; in and out.
            inputs: values (worlds, n, inputs) of the scene's inputs held up to each row; those up to the first are
                set already.
            stops: whether worlds stop where the first is lost, once no other can be lost before it.
            every: steps from row to row on the grid, in place of the times.
            after: called after every call of the engine.
        """
        reached = np.zeros(self.count, np.int64)
        keys: dict[str, Any] = {
            "times": times,
            "threads": threads,
            "every": every,
            "wall": CALL_TIME,
        }
        arrays = {**(rows or {}), **self.blocks.inputs_of_rows(inputs)}
        if report is not None:
            arrays["report"] = report
        while True:
            reasons = self._calls.advance(reached, arrays, **keys)
            if after is not None:
                after()
            if ((reasons == Stop.REACHED) | (reasons == Stop.LOST)).all():
                return reached
            if stops and self._first_is_lost():
                return reached
            worlds = self.chosen(None)
            answer_events(self, worlds, reasons)
            self.blocks.run_due(self.blocks.waiting(worlds), report, threads)

    def call(
        self,
        times: Array,
        row: NDArray[np.int64],
        rows: dict[str, Any],
        report: Array | None,
        most: int,
        wall: float = math.inf,
        count: int | None = None,
    ) -> int:
        """Let the only world go on through times from its row on; return why it stopped.

        It goes to the last of the times, or of the first `count`, in `most` steps at most and for about `wall` [s].
        """
        arrays = {**rows, "report": report}
        keys: dict[str, Any] = {"most": most, "wall": wall, "count": count, "threads": 1}
        return int(self._calls.advance(row, arrays, times=times, **keys)[0])

    def step_rows(
        self,
        count: int,
        every: int,
        threads: int,
        rows: dict[str, Array],
        *,
        report: Array | None = None,
        inputs: Array | None = None,
    ) -> tuple[Array, NDArray[np.int64]]:
        """Make rows of steps on the grid; return their times (worlds, count) [s], and how many each world reached.

        Args:
            count: of rows.
            every: steps from row to row.
            threads: that share the worlds; 0 for all processors.
            rows: arrays that receive what `advance` hands out.
            report: as `advance` takes it.
            inputs: values (worlds, count, inputs) of the scene's inputs held up to each row; those up to the first are
                set already.
        """
        self.engine.step(count * every, None, 0, threads)  # notes where the grid ends
        begin, step, made = (self.engine.parts[name] for name in ("begin", "step", "made"))
        t = begin + (made + every * np.arange(1, count + 1)) * step
        if not count:
            return t, np.zeros(self.count, np.int64)
        reached = self.advance(
            np.zeros(count), threads, rows=rows, report=report, inputs=inputs, every=every
        )
        return t, reached

    def _first_is_lost(self) -> bool:
        """Return whether a world is lost, and all that are not are past its time."""
        lost = self.lost
        goes = self.status == Status.RUNNING
        return bool(lost.any()) and self.t[lost].min() < self.t[goes].min(initial=np.inf)

    @property
    def lost(self) -> NDArray[np.bool_]:
        """Whether each world has ended because a step failed or its written state was impossible (n,)."""
        return np.asarray((self.status != Status.RUNNING) & (self.status != Status.ENDED))

    @property
    def points(self) -> int:
        """Number of contact points that convex steps report."""
        return int(self._contacts.shape[1])

    def rows(self, count: int) -> dict[str, Any]:
        """Return arrays for `count` rows of everything that advance hands out."""
        sizes = {"q_rows": self.q, "v_rows": self.v}
        if not self.is_adaptive:  # there are none within steps
            sizes["loop_rows"] = self.loop_q
        if self.scene.signals is not None:
            sizes["signal_rows"] = self.signals
        rows: dict[str, Any] = {
            name: np.zeros((self.count, count, part.shape[1])) for name, part in sizes.items()
        }
        if self.is_convex:
            rows["report_rows"] = np.zeros((self.count, count, self.points, NUMBERS))
        return rows

    def solver_counts(self, k: int) -> tuple[int, int]:
        """Return the iterations of Newton's method so far in a world, and the steps repeated with shorter ones."""
        if self.is_adaptive or not self.scheme.shape[1]:
            return 0, 0
        return int(self.scheme[k, 0]), int(self.scheme[k, 1])

    # ------------------------------------------------------------------------------------------ copies and bytes

    def copy(self, source: NDArray[np.int32], target: NDArray[np.int32]) -> None:
        """Copy records of worlds to other worlds."""
        for callback in () if self.scene.signals is None else self.scene.signals.callbacks:
            callback.plugin.copy(source, target)
        self.engine.copy(source, target)
        if self.python is not None:
            self.python.copy(source, target)
        self.engine.see(target)

    def save(self, worlds: NDArray[np.int32]) -> bytes:
        """Return the records of worlds, with what their schemes in Python remember.

        Raises:
            TypeError: a scheme remembers what files do not hold; the text names it.
        """
        record = self.engine.save(worlds)
        if self.python is None:
            return record
        memory = self.python.saved(worlds)
        return len(memory).to_bytes(SIZE, "little") + memory + record

    def load(self, saved: bytes, worlds: NDArray[np.int32]) -> None:
        """Overwrite the records of worlds by those that `save` returned.

        Raises:
            ValueError: they are of other worlds, or hold numbers that no world has; then no world has changed.
        """
        end, memories = 0, {}
        if self.python is not None:
            end = SIZE + int.from_bytes(saved[:SIZE], "little")
            memories = self.python.read(saved[SIZE:end], worlds)
        self.engine.load(saved[end:], worlds)
        if self.python is not None:
            self.python.load(memories)
        self.engine.see(worlds)

    # ------------------------------------------------------------------------------------------------ contacts

    def report(self, worlds: NDArray[np.int32]) -> Array:
        """Return the reports (n, points, 18) of the contacts after the last step of worlds."""
        return report_by_point(self._report, self._contacts, self._touching, worlds)

    # ---------------------------------------------------------------------------------------------- lost worlds

    def first_lost(self, selection: Selection = None) -> int | None:
        """Return the world of a selection that was lost first, at equal times that of the lowest number."""
        worlds = self.chosen(selection)
        lost = worlds[self.lost[worlds]]
        return int(lost[np.lexsort((lost, self.t[lost]))[0]]) if len(lost) else None

    def failure(self, k: int) -> Failure:
        """Return the failed step of a lost world."""
        why = Status(self.status[k])
        place = PLACES_OF_WORST.get(why)
        return Failure(
            scene=self.scene_of(k),
            t=float(self.t[k]),
            state=State(*(part.copy() for part in self.states(k))),
            numbers=None if self.scene.signals is None else self.signals[k].copy(),
            step=float(
                self.scheme[k, Place.SIZE] if self.is_adaptive else self.engine.parts["step"][k, 0]
            ),
            why=why,
            worst=0 if place is None else int(self.scheme[k, place]),
            error=None if self.python is None else self.python.errors.get(k),
        )
