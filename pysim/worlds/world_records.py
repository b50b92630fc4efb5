"""Records of worlds of one scene: everything that their next steps depend on, and the one way forward.

The record and its advance are the engine's (cpp/stepping/world_record.hpp, world_advance.hpp). Here worlds begin, and
sampled blocks run that the engine cannot: controllers in Python, and blocks that read accelerations after a step with
contacts. A world stops at the instant of such a block and goes on when it has run. Steps of integrator plugins and of
callback joints are those of python_steps.py, which the engine's loop calls.
"""

from __future__ import annotations

import math
from dataclasses import replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pysim import _engine
from pysim.algorithms import forward_kinematics
from pysim.errors import SimulationError
from pysim.integrators import find_integrator
from pysim.mechanism.model import State
from pysim.tracing.random_numbers import episode_key, world_key
from pysim.typing import Array
from pysim.worlds.adaptive_scheme import (
    Place,
    adaptive_settings,
)
from pysim.worlds.contact_report import NUMBERS, report_by_point
from pysim.worlds.failure import Failure, Status
from pysim.worlds.impacts import Impacts, has_impacts, impact_events, kept_numbers
from pysim.worlds.python_stepping import runs_in_python
from pysim.worlds.python_steps import PythonSteps
from pysim.worlds.segment import EventOccurrence
from pysim.worlds.signal_runs import SignalRun, start_numbers
from pysim.worlds.varied_numbers import SceneNumbers, VariedNumbers, numbers_together

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from pysim.mechanism.model import Model
    from pysim.worlds.loading import Scene
    from pysim.worlds.world_parameters import WorldParameters

    Selection = NDArray[np.int32] | None  # numbers of worlds, None for all

_T = TypeVar("_T")
WORST = 2  # place of the coordinate of v, or of the contact point, that converged worst
PLACES_OF_WORST = {  # in the scheme's part of a lost world
    Status.UNSOLVED: WORST,
    Status.UNDERFLOW: Place.WORST,
    Status.BLURRED: Place.WORST,
}
MOST_STEPS = 1 << 40  # of a world in a call
LEAST_DEPTH = 10.0  # of contacts under the weight, over what floats resolve
SIZE = 8  # bytes of a length
SAME_LENGTH = 1e-6  # of a quaternion that is not of unit length
# [s] intended wall time of a call of the engine, so that an interrupt is answered soon
CALL_TIME = 0.2


class Stop(IntEnum):
    """Why a call of the engine left a world (cpp/stepping/world_advance.hpp)."""

    REACHED = 0
    UNFINISHED = 1  # the steps of the call are used up
    WAITS = 2  # Python has to run blocks
    LOST = 3  # or ended
    EVENT = 4  # and later ones: at event k, 4 + k


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
        settings, signals = scene.settings, scene.signals
        self.is_single = dtype == np.float32
        if self.is_single:
            _check_single(scene)
        kind = find_integrator(settings.integrator)
        self.is_convex = kind.contacts  # steps solve contacts, which the engine demands then
        self.is_adaptive = kind.adaptive
        strikes = has_impacts(scene)
        watched = impact_events(scene) if strikes else scene.events
        self._first_of_start = Place.SIGNS + (0 if watched is None else len(watched))
        self.python = PythonSteps(scene, count) if runs_in_python(scene) else None
        python = 0
        if signals is not None:
            python = sum(1 << callback.bit for callback in signals.callbacks)
            python |= signals.touching
            if kind.contacts:
                python |= signals.measuring
            if self.python is not None:
                python = (1 << (signals.begins + len(signals.periods))) - 1
        make = _engine.FloatWorlds if self.is_single else _engine.Worlds
        self.engine = make(
            scene.model,
            scene.actuation,
            None if scene.contacts is None else scene.contacts.engine,
            count,
            settings.integrator,
            settings.step,
            periods=[] if signals is None else list(signals.periods),
            first_bit=0 if signals is None else signals.begins,
            python=python,
            key=-1 if signals is None or signals.noise is None else signals.noise.place,
            python_step=self.python,
            events=watched,
            kept=kept_numbers(scene) if strikes else 0,
            **(adaptive_settings(scene) if self.is_adaptive else {}),
            **_parameters(scene),
        )
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
        self._pending: NDArray[np.int64] = parts["pending"][:, 0]
        self._jumped: NDArray[np.int64] = parts["jumped"][:, 0]
        self._touching: NDArray[np.int64] = parts["touching"][:, 0]
        self._contacts: Array = parts["contacts"].reshape(count, -1, 6)
        self._report: Array = parts["report"].reshape(count, -1, NUMBERS)
        self.varied = VariedNumbers(scene, count, self.is_convex)  # in which the worlds differ
        self.parameters: WorldParameters | None = None  # by which they are written
        if self.scenes is not None:
            numbers_of_scenes = scene_numbers or numbers_together(self.scenes)
            self.varied.set_scenes(numbers_of_scenes, self.scenes)
            self.varied.lend(self.engine)
        self.impacts: list[Impacts] = []  # of every world
        if strikes:
            self.impacts = [Impacts(self.scene_of(k), parts["kept"][k]) for k in range(count)]
        # events by world, until it is emptied
        self.occurred: list[tuple[int, EventOccurrence]] = []

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
        """
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
            "kept",
        ):
            self.engine.parts[name][rows] = 0
        self.engine.begin_clock(worlds)
        if self.python is not None:
            self.python.begin(worlds)
        if self.scene.signals is not None:
            self.signals[rows] = self._start_numbers(worlds) if signals is None else signals
            if inputs is not None:
                self.signals[np.ix_(worlds, self._input_places)] = inputs
            if signals is None:
                self._begin_signals(worlds, t, threads)
            goes_on = signals is not None and (inputs is not None or self._is_instant(t))
            self._jumped[rows] = goes_on
        for k in worlds.tolist() if self.impacts else ():
            impacts, (own_q, own_v, _) = self.impacts[k], self.states(k)
            self.v[k] = impacts.begin(t, own_q, own_v)
            self.scheme[k, Place.SIZE] = impacts.first_step(own_q, self.v[k])
        self.engine.see(worlds)

    def set_inputs(self, values: Array) -> None:
        """Set the scene's inputs (worlds, inputs), in file order, from now on."""
        self.signals[:, self._input_places] = values
        self._jumped[:] = 1

    def begin_signals(self, worlds: NDArray[np.int32]) -> None:
        """Let the signals of worlds that have made no step begin again, under the same inputs."""
        signals = self.scene.signals
        if signals is None or signals.callbacks:
            return
        self.clear_signals(worlds)
        self._begin_signals(worlds, float(self.t[worlds[0]]), 1)

    def clear_signals(self, worlds: NDArray[np.int32], *, settled: bool = False) -> None:
        """Set the numbers of signals to those before their blocks run at the start, under the same inputs.

        With `settled` they have the initial values that depend on one another.
        """
        held = self.signals[np.ix_(worlds, self._input_places)]
        self.signals[worlds] = self._start_numbers(worlds)
        self.signals[np.ix_(worlds, self._input_places)] = held
        signals = self.scene.signals
        places = np.array(() if signals is None else signals.settled, int)
        if settled and len(places):
            with self.scene_with_numbers(worlds) as scene:
                run = SignalRun(scene, self.signals[worlds], worlds=worlds, count=self.count)
                run.settle(float(self.t[worlds[0]]), *self.states(worlds))
            self.signals[np.ix_(worlds, places)] = run.numbers[:, places]

    def _begin_signals(self, worlds: NDArray[np.int32], t: float, threads: int) -> None:
        """Set the states of signals that depend on the start at t [s], from their numbers before it."""
        signals = self.scene.signals
        assert signals is not None
        parts = [worlds]
        if self.scenes is not None and (signals.touching or signals.measuring):
            # contacts at the start follow the law of each scene
            parts = np.split(worlds, len(worlds))
        for some in parts:
            with self.scene_with_numbers(some) as scene:
                own = scene if len(parts) == 1 else self.scene_of(int(some[0]))
                run = SignalRun(own, self.signals[some], worlds=some, count=self.count)
                run.begin(t, *self.states(some), threads)
            self.signals[some] = run.numbers

    def _is_instant(self, t: float) -> bool:
        return SignalRun(self.scene, self.signals).is_instant(t)

    @property
    def _input_places(self) -> NDArray[np.intp]:
        """Places of the scene's inputs among the numbers of the signals."""
        signals = self.scene.signals
        inputs = () if signals is None else signals.inputs
        return np.array([place for own in inputs for place in own.places], np.intp)

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
        rests = self.engine.parts["kept"][k].copy()
        self.engine.load(record, np.array([k], np.int32))
        self.engine.parts["kept"][k] = rests
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

    def _start_numbers(self, worlds: NDArray[np.int32]) -> Array:
        assert self.scene.signals is not None
        numbers = start_numbers(self.scene.signals, self.numbers[worlds])
        for row, k in enumerate(worlds.tolist() if self.scenes is not None else ()):
            own = self.scene_of(k).signals
            assert own is not None
            numbers[row] = own.start
        self.set_keys(worlds, numbers)
        return numbers

    def set_keys(self, worlds: NDArray[np.int32], numbers: Array) -> None:
        """Set the keys of the random numbers in `numbers` (n, …) of worlds, from their numbers and episodes."""
        noise = None if self.scene.signals is None else self.scene.signals.noise
        if noise is not None:
            key = world_key(noise.seed, self.numbers[worlds])
            numbers[:, noise.place] = episode_key(key, self.episode[worlds])

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
        left = self._made(
            selection, lambda: self.engine.step(steps, selection, length=length, **keys)
        )
        while left:
            stops = self.engine.stops(count)
            worlds = self.chosen(selection)
            self._answer_events(worlds, stops)
            if ((stops == Stop.REACHED) | (stops == Stop.LOST)).all():
                return
            waiting = worlds[self._pending[worlds] != 0]
            self._answer(waiting, None, threads)
            left = self._made(selection, lambda: self.engine.go_on(selection, **keys))

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
        arrays = {**(rows or {}), **self._inputs(inputs)}
        if report is not None:
            arrays["report"] = report
        while True:
            reasons = self._through(reached, arrays, **keys)
            if after is not None:
                after()
            if ((reasons == Stop.REACHED) | (reasons == Stop.LOST)).all():
                return reached
            if stops and self._first_is_lost():
                return reached
            self._answer_events(self.chosen(None), reasons)
            self._answer(np.flatnonzero(self._pending).astype(np.int32), report, threads)

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
        given: dict[str, Any] = {"rows": rows, "report": report, "inputs": inputs, "every": every}
        return t, self.advance(np.zeros(count), threads, **given)

    def _through(
        self,
        row: NDArray[np.int64],
        arrays: dict[str, Any],
        **keys: Any,  # noqa: ANN401, as the engine takes them
    ) -> NDArray[np.int64]:
        """Let all worlds go on through rows of a call, from the rows (worlds,) on; return why each stops."""
        if not self.impacts:
            return self._called(lambda: self.engine.advance(row=row, **arrays, **keys))
        each = [self._through_alone(k, row, arrays, keys) for k in range(self.count)]
        return np.array(each, np.int64)

    def _through_alone(
        self, k: int, row: NDArray[np.int64], arrays: dict[str, Any], keys: dict[str, Any]
    ) -> int:
        """Let a world with impacts go on through rows of a call."""
        own: dict[str, Any] = {
            n: x[k : k + 1] if isinstance(x, np.ndarray) else x for n, x in arrays.items()
        }
        chosen, reached = np.array([k], np.int32), int(row[k])

        def go_on() -> NDArray[np.int64]:
            row[k] = reached
            return self.engine.advance(chosen, row=row[k : k + 1], **own, **keys)

        return int(self._made(chosen, go_on)[0])

    def _made(self, selection: Selection, call: Callable[[], _T]) -> _T:
        """Return what a call of the engine returns; repeat it where surfaces have passed through each other in it.

        Those surfaces rest on each other from then on. `call` is of one world where there are impacts.
        """
        if not self.impacts:
            return self._called(call)
        chosen = self.chosen(selection)
        k = int(chosen[0])
        while True:
            self.engine.set_smooth_contacts(self.impacts[k].forces)
            held = self.engine.save(chosen)
            result = self._called(call)
            after = self.step_start(k)[1]
            if not self.impacts[k].passed(after.q, after.v):
                return result
            self.go_back(k, held)

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
        found: dict[str, Any] = {
            name: np.zeros((self.count, count, part.shape[1])) for name, part in sizes.items()
        }
        if self.is_convex:
            found["report_rows"] = np.zeros((self.count, count, self.points, NUMBERS))
        return found

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
        return int(self._through(row, arrays, times=times, **keys)[0])

    def waits(self, k: int) -> bool:
        """Return whether Python has to run blocks of a world before its next step."""
        return bool(self._pending[k])

    def answer(self, k: int, report: Array | None) -> None:
        """Run the blocks that are due in a world."""
        self._answer(np.array([k], np.int32), report, 1)

    def answer_event(self, k: int, event: int) -> list[EventOccurrence]:
        """Let a world that has stopped at an event go on, or end; return what has occurred, in order.

        An event releases forces, and changes velocities where surfaces meet.
        """
        q, v, loop_q = (part.copy() for part in self.states(k))
        numbers = None if self.scene.signals is None else self.signals[k].copy()
        t = float(self.t[k])
        at = EventOccurrence(event, t, q, v, loop_q, numbers)
        if self.impacts and self.impacts[k].is_impact(event):
            impacts = self.impacts[k]
            occurred, restarts = impacts.at_event(at)
            if restarts:
                step = impacts.first_step(q, impacts.velocity)
                self.begin_steps(k, State(q, impacts.velocity, loop_q), t, step)
            return occurred
        if self.scene.spec.events[event].stop:
            self.status[k] = Status.ENDED
            return [at]
        acted = self._release(k, event)
        if acted and self.is_adaptive:
            step = self.impacts[k].first_step(q, v) if self.impacts else 0.0
            self.begin_steps(k, State(q, v, loop_q), t, step)
        return [at]

    def _release(self, k: int, event: int) -> bool:
        """End the action of the forces that an event releases in a world; return whether one acted until now."""
        releases = () if self.scene.signals is None else self.scene.signals.releases
        places = list(releases[event]) if event < len(releases) else []
        acted = bool(places) and bool(self.signals[k, places].any())
        if acted:
            self.signals[k, places] = 0.0
            self._jumped[k] = 1
        return acted

    def _answer_events(self, worlds: NDArray[np.int32], stops: NDArray[np.int64]) -> None:
        """Let worlds go on that have stopped at events, or end there."""
        for at in np.flatnonzero(stops >= Stop.EVENT).tolist():
            k = int(worlds[at])
            for occurrence in self.answer_event(k, int(stops[at]) - Stop.EVENT):
                self.occurred.append((k, occurrence))

    def _inputs(self, inputs: Array | None) -> dict[str, Any]:
        signals = self.scene.signals
        if inputs is None or signals is None:
            return {}
        return {"inputs": inputs, "input_places": self._input_places.tolist()}

    def _called(self, call: Callable[[], _T]) -> _T:
        """Return what a call of the engine returns; raise the error of a plugin's code in it."""
        result = call()
        if self.python is not None:
            self.python.raise_error()
        return result

    def solver_counts(self, k: int) -> tuple[int, int]:
        """Return the iterations of Newton's method so far in a world, and the steps repeated with shorter ones."""
        if self.is_adaptive or not self.scheme.shape[1]:
            return 0, 0
        return int(self.scheme[k, 0]), int(self.scheme[k, 1])

    def _answer(self, worlds: NDArray[np.int32], report: Array | None, threads: int) -> None:
        """Run the blocks that are due in worlds, together in those that are at the same time."""
        for due, t in sorted({(int(self._pending[k]), float(self.t[k])) for k in worlds}):
            some = worlds[(self._pending[worlds] == due) & (self.t[worlds] == t)]
            with self.scene_with_numbers(some) as scene:
                run = SignalRun(scene, self.signals[some], worlds=some, count=self.count)
                own = None
                if self.is_convex and (run.measures(due) or run.touches(due)):
                    own = self.report(some) if report is None else report[some]
                run.update(t, due, *self.states(some), threads, own)
            self.signals[some] = run.numbers
            self._pending[some], self._jumped[some] = 0, 1

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


def quaternion_fault(model: Model, q: Array) -> str | None:
    """Describe a quaternion of q (nq,) that is not of unit length; None if all are."""
    for name, at in model.quaternions():
        length = float(np.linalg.norm(q[at : at + 4]))
        if abs(length - 1) > SAME_LENGTH:
            return f"a quaternion (x, y, z, w) of length {length:.6g} for joint {name!r}"
    return None


def _parameters(scene: Scene) -> dict[str, Any]:
    """Return the numbers of the scheme by the engine's names."""
    known = ("spectral_radius", "passes", "solver_tolerance", "accuracy", "least_step")
    return {name: value for name, value in scene.settings.parameters.items() if name in known}


def _check_single(scene: Scene) -> None:
    """Refuse what worlds in single precision cannot do."""
    settings, signals, where = scene.settings, scene.signals, "dtype"
    remedy = "leave dtype out for double precision"
    if runs_in_python(scene):
        raise SimulationError(where, f"Python makes steps in double precision alone; {remedy}")
    if find_integrator(settings.integrator).adaptive:
        problem = f"{settings.integrator!r} makes steps in double precision alone"
        raise SimulationError(where, f"{problem}; {remedy}")
    if settings.integrator == "convex" and settings.parameters.get("accuracy", 0.0) > 0:
        problem = "accuracy controls errors below the resolution of single precision"
        raise SimulationError(where, f"{problem}; leave accuracy out of [simulation], or {remedy}")
    if settings.integrator != "convex" and scene.contacts is not None:
        problem = f"contacts under {settings.integrator!r} are computed in double precision alone"
        raise SimulationError(where, f'{problem}; take integrator = "convex", or {remedy}')
    if scene.spec.events:
        problem = f"event {scene.spec.events[0].name!r} is located in double precision alone"
        raise SimulationError(where, f"{problem}; leave it out, or {remedy}")
    if signals is not None and signals.noise is not None:
        problem = "the scene draws random numbers, whose keys have 53 bits"
        raise SimulationError(where, f"{problem}; leave noise out of the scene, or {remedy}")
    if scene.contacts is not None:
        _check_depths(scene, remedy)


def _check_depths(scene: Scene, remedy: str) -> None:
    """Refuse contacts so stiff, or so far from the origin, that floats do not resolve how deep they rest."""
    assert scene.contacts is not None
    place = np.asarray(forward_kinematics(scene.model, scene.state.q))[:, :3, 3]
    for shape in scene.contacts.shapes:
        normal = scene.model.gravity if shape.ground is None else shape.ground.normal
        size = float(np.linalg.norm(normal))
        height = abs(float(np.dot(normal, place[shape.body]))) / size if size > 0 else 0.0
        finest = float(np.finfo(np.float32).eps) * height
        if shape.law.sink >= LEAST_DEPTH * finest:
            continue
        name = scene.contacts.pairs[shape.pair].name
        problem = (
            f"contact {name!r} rests {shape.law.sink:.2g} m deep, and {height:.3g} m from the origin floats resolve"
            f" {finest:.2g} m"
        )
        raise SimulationError(
            "dtype",
            f"{problem}; give it a sink of {LEAST_DEPTH * finest:.1e} m or more, or {remedy}",
        )
