"""`Worlds`: worlds of one scene that are held, stepped, changed, copied, saved and reset by hand.

    worlds = pysim.Worlds("go1.toml", 4096, threads=2)
    worlds.inputs["target"][:] = policy(worlds.q, worlds.v)
    worlds.step(seconds=0.02)
    worlds.reset(where=worlds.q[:, 2] < 0.15)

q, v, t and the inputs are arrays of the engine: what is written to them counts from the next step on.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Never, Self

import numpy as np

from pysim.algorithms import forward_kinematics, jacobian, minverse
from pysim.diagnosis.failed_steps import explain
from pysim.diagnosis.scene_warnings import warn_of_scene
from pysim.errors import (
    PysimWarning,
    SimulationError,
    UnknownSimulationNameError,
    did_you_mean,
)
from pysim.habits import AttributesByHabit
from pysim.loops import constraints, project
from pysim.mechanism.model import State
from pysim.scene.control_inputs import ControlPlace, with_control_inputs
from pysim.scene_files.loaded_scene import load_model_scene, load_scene
from pysim.simulation.recording import Recording, checked_interval
from pysim.simulation.world_events import events_of
from pysim.typing import Array
from pysim.worlds.argument_checks import (
    assign,
    checked_array,
    checked_names,
    checked_real,
    quaternion_fault,
)
from pysim.worlds.contact_report import pair_sums, reported_points
from pysim.worlds.controller_memory import with_own_controllers
from pysim.worlds.failed_worlds import checked_on_failure, failed_world
from pysim.worlds.failure import Status
from pysim.worlds.loading import Scene, compile_scene, with_settings
from pysim.worlds.saved_worlds import controllers_of, load_parts, load_worlds, save_worlds
from pysim.worlds.varied_numbers import check_alike
from pysim.worlds.world_inputs import Inputs
from pysim.worlds.world_parameters import WorldParameters
from pysim.worlds.world_records import WorldRecords
from pysim.worlds.world_rows import WorldRows, rows_of_steps
from pysim.worlds.world_signals import Signals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from pysim._engine import NewtonIteration
    from pysim.mechanism.model import Model
    from pysim.trajectory.contacts import ContactPoints

    Selection = NDArray[np.int32] | None

OPEN = 1e-6  # [m, rad] by which loops of a written state may be open
OPEN_SINGLE = 1e-4  # the same in single precision
WHOLE = 1e-6  # of a step: a span this close to a whole number of steps is that number
MOST = 2**31 - 1  # worlds, and steps of a call
KEYS = 2**53  # seeds and numbers of worlds are below: whole numbers that doubles hold


class Worlds(AttributesByHabit):
    """Worlds of one scene, stepped by hand. `len(worlds)` is their number.

    Args:
        scene: a scene, or the path of one, or of a URDF or MJCF; or a list of scenes that differ in numbers and in
            their starts alone, one for each world.
        n: number of worlds; without it, and without a list, there is one, whose arrays have no axis of worlds.
        threads: that share the worlds in a call; 0 for all processors.
        seed: of random numbers; that of the scene by default.
        numbers: (n,) of the worlds, by which their random numbers differ; 0 … n − 1 by default.
        observe: names of signals that every call computes at its end, so that reading them costs nothing more.
        dtype: of q and v, in which the worlds are stepped: np.float64, or np.float32 for single precision, which is
            faster where there are many worlds.
        on_failure: "drop_world", by which a world that fails stays at its last good state while the others go on, or
            "stop", by which it is an error; the scene's `simulation.on_failure` by default.

    Raises:
        SimulationError: the scene needs double precision where dtype is np.float32, or an argument does not suit it.
        ModelError: the models of scenes differ in structure.
    """

    def __init__(
        self,
        scene: Scene | str | PathLike[str] | Sequence[Scene | str | PathLike[str]],
        n: int | None = None,
        *,
        threads: int = 1,
        seed: int | None = None,
        numbers: Sequence[int] | None = None,
        observe: Sequence[str] = (),
        dtype: DTypeLike = np.float64,
        on_failure: str | None = None,
    ) -> None:
        scenes = [_loaded(own) for own in scene] if isinstance(scene, (list, tuple)) else []
        observe = checked_names(observe, "observe")
        threads = _whole(threads, "threads", 0)
        if scenes and n is not None:
            raise SimulationError("n", "is the number of scenes; leave it out")
        n = len(scenes) if scenes else n
        own, controls = with_controls(_loaded(scenes[0] if scenes else scene))
        own = with_own_controllers(own)
        if seed is not None:
            own = _with_seed(own, _whole(seed, "seed", 0, KEYS - 1))
        choice = checked_on_failure(on_failure) or own.settings.on_failure
        if choice != own.settings.on_failure:
            own = with_settings(own, replace(own.settings, on_failure=choice))
        self._one, count = n is None, 1 if n is None else _whole(n, "n", 1)
        selection = np.arange(count) if numbers is None else checked_array(numbers, "numbers")
        if selection.shape != (count,):
            raise SimulationError("numbers", f"must have shape ({count},), got {selection.shape}")
        if selection.dtype.kind not in "iu":
            raise SimulationError("numbers", f"must be whole numbers, got {selection.dtype} ones")
        if selection.min() < 0:
            raise SimulationError("numbers", f"must be 0 or more, got {selection.min()}")
        if selection.max() >= KEYS:
            raise SimulationError("numbers", f"must be below 2**53, got {selection.max()}")
        selection = selection.astype(np.intp)
        number = _precision(dtype)
        if scenes:
            check_alike(
                [own, *scenes[1:]], ("slip_speed", "contact_law"), "give it Worlds of its own"
            )
            scenes = [own, *(with_controls(other)[0] for other in scenes[1:])]
        warn_of_scene(own)
        self._scene, self._threads = own, threads
        self._records = WorldRecords(scenes or own, count, selection, dtype=number)
        states = [other.state for other in scenes] or [own.state] * count
        self._start = State(
            *(np.array([getattr(s, x) for s in states]) for x in ("q", "v", "loop_q"))
        )
        self._is_uniform = not scenes  # all worlds begin at one start
        self._begin(None, self._start.q, self._start.v, self._start.loop_q)
        self._template = self._records.engine.save(np.zeros(1, np.int32))
        self.inputs = Inputs(self._records, controls, self._one)
        self.parameters = self._records.parameters = WorldParameters(self._records, self._one)
        self.signals = Signals(self._records, observe, self._which, threads, one=self._one)
        self._warned = np.zeros(count, bool)  # worlds whose loss was warned of
        self._recordings: list[Recording] = []
        self._reasons: dict[int, str] = {}  # of worlds to which impossible states were written

    # -------------------------------------------------------------------------------------------------- state

    def __len__(self) -> int:
        return self._records.count

    def __repr__(self) -> str:
        times, lost = self._records.t, int(np.count_nonzero(self.lost))
        span = (
            f"{times.min():.6g}"
            if times.min() == times.max()
            else f"{times.min():.6g} to {times.max():.6g}"
        )
        one = "one world" if self._one else f"{len(self)} worlds"
        name, number = self._scene.spec.name, self._records.q.dtype
        return f"<pysim.Worlds of {name!r}: {one} in {number}, t = {span} s{f', {lost} lost' if lost else ''}>"

    @property
    def t(self) -> Any:  # noqa: ANN401, an array, or a number for one world
        """Times (n,) [s]; write them to change them."""
        return float(self._records.t[0]) if self._one else self._records.t

    @t.setter
    def t(self, value: ArrayLike) -> None:
        assign(self._records.t, value, "t")

    @property
    def q(self) -> Array:
        """Configurations (n, nq), live."""
        return self._live(self._records.q)

    @q.setter
    def q(self, value: ArrayLike) -> None:
        assign(self.q, value, "q")

    @property
    def v(self) -> Array:
        """Velocities (n, nv), live."""
        return self._live(self._records.v)

    @v.setter
    def v(self, value: ArrayLike) -> None:
        assign(self.v, value, "v")

    @property
    def lost(self) -> Any:  # noqa: ANN401, an array, or a truth value for one world
        """Whether each world has ended because a step failed or its written state was impossible (n,)."""
        found = self._records.lost
        return bool(found[0]) if self._one else found

    @property
    def ended(self) -> Any:  # noqa: ANN401, an array, or a truth value for one world
        """Whether each world has stopped at an event with `stop`, and stays there until it is reset (n,)."""
        found = np.asarray(self._records.status == Status.ENDED)
        return bool(found[0]) if self._one else found

    @property
    def events(self) -> Any:  # noqa: ANN401, a list, or the events of one world
        """Events of every world (n,) in the last call of `step` or `rollout`, as `Trajectory.events`."""
        found = events_of(self._records)
        return found[0] if self._one else found

    @property
    def dt(self) -> float:
        """Step [s] of the scene, `simulation.step`; inf where the scheme chooses its steps and the scene sets none."""
        return self._scene.settings.step

    @property
    def model(self) -> Model:
        """Mechanism of the scene; `scene(k).model` is that of a world, with its parameters."""
        return self._scene.model

    @property
    def poses(self) -> Array:
        """Poses (n, nbodies, 4, 4) of the bodies in the world."""
        return np.asarray(forward_kinematics(self._scene.model, self.q))

    def jacobian(
        self, frame: str, expressed: Literal["local", "world", "aligned"] = "local"
    ) -> Array:
        """Return the Jacobians (n, 6, nv) of a frame, as `pysim.jacobian`."""
        return np.asarray(jacobian(self._scene.model, self.q, frame, expressed=expressed))

    def scene(self, world: int = 0) -> Scene:
        """Return the scene of a world, with its parameters, which starts at its current state."""
        k = self._check_world_number(world)
        state = State(*(x.copy() for x in self._records.states(k)))
        scene, seed = self.parameters.scene_of(k), self._scene.settings.seed
        if scene.settings.seed != seed:
            scene = _with_seed(scene, seed)
        return replace(scene, state=state)

    # ------------------------------------------------------------------------------------------------ contacts

    @property
    def pairs(self) -> tuple[str, ...]:
        """Names of the pairs of links that may touch."""
        contacts = self._scene.contacts
        return () if contacts is None else tuple(pair.name for pair in contacts.pairs)

    @property
    def contacts(self) -> Array:
        """Forces (n, pairs, 3) [N] of the pairs in the last step, on the second link, in world axes."""
        return self._live(pair_sums(self._contacts_of_scene(), self._report())[0])

    def contact_points(self) -> ContactPoints:
        """Return the points that touch after the last step; rows are worlds."""
        return reported_points(self._contacts_of_scene(), self._report())

    def newton_iterations(self, world: int = 0) -> list[NewtonIteration]:
        """Return what Newton's method does in the next step of a world, which stays where it is.

        A copy of the world makes the step. If its iterations do not suffice, those of the shorter steps that replace
        it follow; under `accuracy` they are those of the stages of all steps of a span of `simulation.step`.

        Args:
            world: its number.

        Raises:
            SimulationError: the integrator is not convex, or `save` raises one.
        """
        self._contacts_of_scene()
        number = self._check_world_number(world)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PysimWarning)  # of what this world has warned of
            copy = Worlds(self.scene(number), 1, dtype=self.q.dtype)
            chosen = np.array([number], np.int32)
            self._accept(chosen)
            parts = (controllers_of(self._records, 1), b"", self._records.save(chosen))
            load_parts(copy._records, parts, np.zeros(1, np.int32))
            iterations: list[NewtonIteration] = copy._records.engine.newton_iterations(copy.step)
        return iterations

    def _contacts_of_scene(self) -> Any:  # noqa: ANN401, compiled contacts
        if not self._records.is_convex:
            problem = (
                f"{self._scene.settings.integrator!r} computes none that are held from step to step"
            )
            raise SimulationError("contacts", f'{problem}; take integrator = "convex"')
        return self._scene.contacts

    def _report(self) -> Array:
        return self._records.report(self._records.chosen(None))

    # ------------------------------------------------------------------------------------------------- forward

    def step(
        self,
        *positional: Never,
        seconds: float | None = None,
        steps: int | None = None,
        where: ArrayLike | None = None,
        controls: ArrayLike | None = None,
    ) -> None:
        """Advance worlds by whole steps of the scene's `simulation.step`, one by default; `dopri5` by any span.

        A world that is lost stays at its last good state, with one warning a call; the others go on. With
        `on_failure="stop"` it is an error, after the others have made their steps; from then on worlds that include a
        lost one are not stepped until `reset`.

        Args:
            positional: nothing; a span has a keyword.
            seconds: span [s], a whole number of steps, or any if the scene has no step.
            steps: number of steps, instead.
            where: mask (n,) or numbers of the worlds that advance; all by default.
            controls: values (n, steps, inputs) of the inputs in every step, in file order; those held by default.

        Raises:
            SimulationError: `seconds` is no whole number of steps; the error names the nearest. Or it is missing where
                the scene has no step. Or, with `on_failure="stop"`, a world is lost; the error has its number and the
                reason.
            TypeError: a span without a keyword, which might be steps or seconds.

        >>> worlds = pysim.Worlds("scenes/pendulum.toml", 2)
        >>> worlds.step(seconds=0.1)
        >>> worlds.t.tolist()
        [0.1, 0.1]
        """
        if positional:
            span: object = positional[0]
            spans = f"step(steps={span!r}) for steps, or step(seconds={span!r}) for simulated time"
            raise TypeError(f"Worlds.step: takes keywords alone; write {spans}")
        count, length = self._steps(seconds, steps)
        selection = self._which(where)
        self._accept(selection)
        self._stop_at_lost(selection)
        self._records.occurred.clear()
        held = None if controls is None else self._checked_controls(controls, count)
        done = 0
        for some, span in self._parts_of_call(count, length):
            if held is None:
                self._records.step(some, selection, self._threads, span)
            else:
                self._step_with(held[:, done : done + some], selection, span)
            done += some
        self.signals.end_call()
        self._stop_at_lost(selection)
        if self._records.status.any():
            self._warn_of_lost()

    def _parts_of_call(self, count: int, length: float) -> Iterator[tuple[int, float]]:
        """Yield numbers and lengths [s] of steps, up to the rows of recordings, which are recorded in between."""
        if not self._recordings:
            yield count, length
            return
        is_adaptive, left = self._records.is_adaptive, count
        rest = count * length  # [s]
        for recording in tuple(self._recordings):
            recording.note()
        while left > 0 and rest > 0:
            ahead = min(max(recording.ahead(), 0.0) for recording in self._recordings)
            if is_adaptive:
                span = min(ahead, rest) if ahead > 0 else rest
                yield 1, span
                rest -= span
            else:
                some = min(left, max(1, round(ahead / length)))
                yield some, length
                left -= some
            for recording in tuple(self._recordings):
                recording.note()

    def record(self, *, every: float | None = None, world: int = 0) -> Recording:
        """Begin to record rows of a world in calls of `step`; `recording.trajectory()` returns them.

        The trajectory is drawn, plotted and saved as that of a run. The states of the worlds do not depend on it.
        Leave a `with` block, or call `recording.stop()`, to end it.

        Args:
            every: interval of rows [s], a whole number of steps; the scene's `output.every` by default.
            world: its number.

        Raises:
            SimulationError: there is no such world, or the interval is no whole number of steps.

        >>> worlds = pysim.Worlds("scenes/pendulum.toml", 3)
        >>> with worlds.record(every=0.1, world=2) as recording:
        ...     worlds.step(seconds=0.5)
        >>> recording.trajectory().t.round(6).tolist()
        [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
        """
        k, settings = self._check_world_number(world), self._scene.settings
        interval = checked_interval(settings.every if every is None else every, settings.step)
        self._accept(None)
        return Recording(
            self._records, k, interval, lambda: self.parameters.scene_of(k), self._recordings
        )

    def push(self, body: str, impulse: ArrayLike, where: ArrayLike | None = None) -> None:
        """Change the velocities of worlds by an impulse on a body: v ← v + M⁻¹ Jᵀ P, on the loops.

        A force F over a time Δt is the impulse F Δt.

        Args:
            body: name of a body or frame, at whose origin it acts.
            impulse: P (3,) [N·s], or with a moment (6,) [N·s, N·m·s], in world axes; or one for each world chosen.
            where: mask (n,) or numbers of the worlds; all by default.

        Raises:
            UnknownNameError: the model has no such body or frame.
            SimulationError: the impulse has a wrong shape, or is NaN or infinite.

        >>> worlds = pysim.Worlds("scenes/pendulum.toml", 2)
        >>> worlds.push("rod", [0.0, 0.1, 0.0], where=[1])
        """
        worlds = self._records.chosen(self._which(where))
        values = checked_real(impulse, "impulse")
        if values.shape not in {(3,), (6,), (len(worlds), 3), (len(worlds), 6)}:
            shapes = f"(3,), (6,), ({len(worlds)}, 3) or ({len(worlds)}, 6)"
            raise SimulationError("impulse", f"must have shape {shapes}, got {values.shape}")
        if not np.isfinite(values).all():
            raise SimulationError("impulse", "must be finite, got nan or inf")
        self._accept(worlds)
        model, (q, v, loop_q) = self._scene.model, self._records.states(worlds)
        J = np.asarray(jacobian(model, q, body, expressed="aligned"))[:, : values.shape[-1]]
        momentum = np.einsum("kij,ki->kj", J, np.broadcast_to(values, J.shape[:2]))
        pushed = np.empty_like(v)
        for at, k in enumerate(worlds.tolist()):  # worlds may differ in their inertias
            own = self.parameters.scene_of(k).model if self.parameters.are_varied else model
            pushed[at] = v[at] + minverse(own, q[at]) @ momentum[at]
        if model.rows:
            pushed = project(model, q, pushed, loop_q=loop_q, t=self._records.t[worlds]).v
        self._records.v[worlds] = pushed

    def close(self) -> None:
        """Free the memory of the worlds, which cannot be used from then on; a `with` block does it at its end."""
        self.__dict__.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            if name.startswith("_") and not name.startswith("__") and not self.__dict__:
                raise SimulationError("worlds", "are closed; make new ones")
            return super().__getattr__(name)

    def rollout(
        self,
        controls: ArrayLike | None = None,
        *,
        rows: int | None = None,
        every: int = 1,
        signals: Sequence[str] = (),
        out: Mapping[str, NDArray[Any]] | None = None,
    ) -> WorldRows:
        """Advance all worlds by rows of `every` steps of fixed size in one call, and return the state after each row.

        Args:
            controls: values (n, rows, inputs) or (rows, inputs) of the inputs in file order, each held from the row
                before to its own; sampled blocks that are due at a row read those of the next one, as in
                `pysim.rollout`. Those held now by default.
            rows: their number; that of the controls by default.
            every: number of steps from row to row.
            signals: names of signals to return at every row.
            out: arrays for "q" (n, rows, nq), "v" (n, rows, nv) and signals by name, which are filled.

        Raises:
            SimulationError: the scheme adapts its steps, there is no such signal, or an argument has a wrong shape. Or,
                with `on_failure="stop"`, a world is lost; the error has its number and the reason.
        """
        if self._records.is_adaptive:
            problem = f"{self._scene.settings.integrator!r} adapts its steps"
            raise SimulationError("every", f"{problem}; call step(seconds=...) for each row")
        if self._recordings:
            problem = "makes rows of its own, and a recording notes those of step"
            raise SimulationError("rollout", f"{problem}; stop the recording, or call step")
        every, names = _whole(every, "every", 1), checked_names(signals, "signals")
        inputs, count = self._controls_of_rows(controls, rows)
        wanted = {name: self.signals.find(name) for name in names}
        out_rows = {name: self._row_of(x) for name, x in (out or {}).items()}
        if unknown := set(out_rows) - {"q", "v", *names}:
            raise SimulationError(
                f"out: {min(unknown)!r}", 'is neither "q", "v" nor one of signals'
            )
        self._accept(None)
        self._stop_at_lost(None)
        self._records.occurred.clear()
        if inputs is not None and count:
            self._records.signals[:, self.inputs.places] = inputs[:, 0]
            self.inputs.note_jumps()
        found = rows_of_steps(self._records, count, every, self._threads, inputs, wanted, out_rows)
        self.inputs.see(self._records.chosen(None))
        self.signals.end_call()
        self._stop_at_lost(None)
        if self._records.status.any():
            self._warn_of_lost()
        return found.of_one() if self._one else found

    def _controls_of_rows(
        self, controls: ArrayLike | None, rows: int | None
    ) -> tuple[Array | None, int]:
        """Return the inputs (n, rows, inputs) of rows, None if they are held, and the number of rows."""
        if controls is None:
            if rows is None:
                raise SimulationError("rows", "must be given without controls; give their number")
            return None, _whole(rows, "rows", 0)
        values, size = checked_real(controls, "controls"), self.inputs.all.shape[-1]
        count = values.shape[-2] if values.ndim in (2, 3) else -1
        if values.shape not in ((count, size), (len(self), count, size)):
            shapes = f"({len(self)}, rows, {size}) or (rows, {size})"
            raise SimulationError("controls", f"must have shape {shapes}, got {values.shape}")
        if rows is not None and rows != count:
            problem = f"are {count} rows, and rows is {rows}"
            raise SimulationError("controls", f"{problem}; leave rows out")
        if not np.isfinite(values).all():
            raise SimulationError("controls", "must be finite, got nan or inf")
        return np.array(np.broadcast_to(values, (len(self), count, size))), count

    def _row_of(self, given: NDArray[Any]) -> NDArray[Any]:
        """Return an array of worlds, for one that lacks their axis if there is one world."""
        return given[None] if self._one and isinstance(given, np.ndarray) else given

    def _steps(self, seconds: float | None, steps: int | None) -> tuple[int, float]:
        """Return a number of steps and their length [s]; a span of a scene without a step is one step."""
        step = self._scene.settings.step
        if seconds is None:
            if not math.isfinite(step):
                name = self._scene.settings.integrator
                problem = f"are of the length that {name!r} chooses, and the scene sets no step"
                raise SimulationError("steps", f"{problem}; give seconds, or set simulation.step")
            return 1 if steps is None else _whole(steps, "steps", 0), step
        if steps is not None:
            raise SimulationError("seconds", "and steps are two spans; give one of them")
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float, np.number)):
            raise SimulationError("seconds", f"must be a number, got {seconds!r}")
        if not math.isfinite(seconds):
            raise SimulationError("seconds", f"must be finite, got {seconds:g}")
        if not math.isfinite(step):
            if seconds < 0:
                raise SimulationError("seconds", f"must be 0 or more, got {seconds:g}")
            return (1, float(seconds)) if seconds > 0 else (0, 1.0)
        count = round(seconds / step)
        if count > MOST:
            raise SimulationError(
                "seconds", f"{seconds:g} s is more than {MOST} steps of {step:g} s"
            )
        if not count * step >= 0 or abs(seconds - count * step) > WHOLE * step:
            nearest = max(count, 1) * step
            problem = f"{seconds:g} s is no whole number of steps of {step:g} s"
            raise SimulationError("seconds", f"{problem}; the nearest is {nearest:.9g}")
        return count, step

    def _checked_controls(self, controls: ArrayLike, steps: int) -> Array:
        values, size = checked_real(controls, "controls"), self.inputs.all.shape[-1]
        shape = (steps, size) if self._one else (len(self), steps, size)
        if values.shape != shape:
            raise SimulationError("controls", f"must have shape {shape}, got {values.shape}")
        return values[None] if self._one else values

    def _step_with(self, controls: Array, selection: Selection, length: float) -> None:
        rows: Any = slice(None) if selection is None else selection
        everything = self._records.signals[:, self.inputs.places]
        for n in range(controls.shape[1]):
            everything[rows] = controls[rows, n]
            self._records.signals[:, self.inputs.places] = everything
            self.inputs.note_jumps()
            self._records.step(1, selection, self._threads, length)

    # --------------------------------------------------------------------------------------------- set and reset

    def reset(
        self,
        where: ArrayLike | None = None,
        *,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        keyframe: str | None = None,
    ) -> None:
        """Let worlds begin again at t = 0, with the next episode of their random numbers.

        Args:
            where: mask (n,) or numbers of the worlds; all by default.
            q: start configurations (nq,) or (worlds that are reset, nq); the scene's by default.
            v: start velocities (nv,) or (worlds that are reset, nv); the scene's, or 0 with `q`.
            keyframe: name of a keyframe of the scene or its file, to start at.

        Raises:
            SimulationError: a loop does not close near a start, there is no such keyframe, or a shape is wrong.

        >>> worlds = pysim.Worlds("scenes/pendulum.toml", 2)
        >>> worlds.reset(where=[1], q=[0.5])
        >>> worlds.q.tolist()
        [[2.0], [0.5]]
        """
        self.begin_again(self._records.chosen(self._which(where)), q=q, v=v, keyframe=keyframe)

    def set_seed(self, seed: int) -> None:
        """Set the seed of the random numbers; it takes effect in the episodes that the next resets begin.

        Random numbers are then those of worlds that were made with the seed. States and parameters do not change.

        Args:
            seed: a whole number, 0 or more.

        >>> worlds = pysim.Worlds("scenes/pendulum.toml", 2)
        >>> worlds.set_seed(7)
        >>> worlds.reset()
        """
        self._scene = _with_seed(self._scene, _whole(seed, "seed", 0, KEYS - 1))
        self._records.scene = self._scene
        self._records.episode[:] = 0

    def begin_again(
        self,
        worlds: NDArray[np.int32],
        *,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        keyframe: str | None = None,
        displacement: Array | None = None,
    ) -> None:
        """Reset worlds, as `reset` does, without checking their numbers.

        Args:
            worlds: numbers (k,).
            q: start configurations, as in `reset`.
            v: start velocities, as in `reset`.
            keyframe: its name.
            displacement: (k, nv) of the start, q ⊕ displacement.
        """
        records = self._records
        episodes = records.episode[worlds] + 1
        commands: Mapping[int, float] = {}
        if keyframe is not None:
            q, v, commands = self._keyframe(keyframe, q, v)
        is_start = q is None and v is None and displacement is None
        if is_start and self._begins_alike:
            records.engine.load(self._template * len(worlds), worlds)
            records.engine.see(worlds)
            records.episode[worlds] = episodes
        else:
            starts = self._starts(q, v, worlds)
            if displacement is not None:
                moved = self._scene.model.integrate(starts[0], displacement)
                starts = self._starts(moved, starts[1], worlds)
            records.episode[worlds] = episodes
            self._begin(worlds, *starts)
        for place, value in commands.items():
            self._records.signals[worlds, place] = value
        self._forget(worlds)
        self.signals.end_call()

    @property
    def _begins_alike(self) -> bool:
        """Whether the records of worlds that begin at the scene's start are equal."""
        signals = self._scene.signals
        if not self._is_uniform or self._records.python is not None:
            return False
        if signals is None:
            return True
        return signals.noise is None and not signals.callbacks and not self.parameters.are_varied

    def _begin(self, selection: Selection, q: Array, v: Array, loop_q: Array) -> None:
        self._records.begin(selection, 0.0, q, v, loop_q, self._threads)

    def _starts(
        self, q: ArrayLike | None, v: ArrayLike | None, worlds: NDArray[np.int32]
    ) -> tuple[Array, Array, Array]:
        """Return the starts (k, …) of worlds, with loops closed near them."""
        model, start = self._scene.model, self._start
        own_v = start.v[worlds] if q is None else np.zeros(model.nv)
        starts = [
            _check_starts(given, own, len(worlds), name, size)
            for given, own, name, size in (
                (q, start.q[worlds], "q", model.nq),
                (v, own_v, "v", model.nv),
            )
        ]
        loop_q = start.loop_q[worlds]
        if not model.rows:
            for k, row in enumerate(() if q is None else starts[0]):
                if (fault := quaternion_fault(model, row)) is not None:
                    raise SimulationError(f"q: world {k}", f"is {fault}; divide it by its length")
            return starts[0], starts[1], loop_q
        projected = project(model, starts[0], starts[1], loop_q=loop_q)
        is_open = ~(projected.residual <= OPEN)
        if is_open.any():
            world = int(np.flatnonzero(is_open)[0])
            raise SimulationError(
                f"q: world {world}", "its loops do not close near this start; give one nearer"
            )
        return projected.q, projected.v, projected.loop_q

    def _keyframe(
        self, name: str, q: ArrayLike | None, v: ArrayLike | None
    ) -> tuple[ArrayLike, ArrayLike, Mapping[int, float]]:
        """Return the state and the inputs of a keyframe."""
        known = {keyframe.name: keyframe for keyframe in self._scene.model.spec.keyframes}
        if not isinstance(name, str):
            raise SimulationError("keyframe", f"must be the name of one, got {name!r}")
        if name not in known:
            remedy = did_you_mean(name, known) or "; the scene has none" * (not known)
            raise UnknownSimulationNameError("keyframe", f"there is none named {name!r}{remedy}")
        frame, model = known[name], self._scene.model
        own_q, own_v = self._scene.state.q.copy(), np.zeros(model.nv)
        for joint, at_q, at_v in zip(model.joints, model.q_offsets, model.v_offsets, strict=True):
            if joint.name in frame.q and at_q >= 0:
                own_q[at_q : at_q + len(frame.q[joint.name])] = frame.q[joint.name]
                own_v[at_v : at_v + len(frame.v[joint.name])] = frame.v[joint.name]
        return own_q if q is None else q, own_v if v is None else v, self.inputs.of_keyframe(frame)

    def copy(self, source: ArrayLike, target: ArrayLike) -> None:
        """Copy the states of worlds to other worlds, which keep their own random numbers and parameters.

        Args:
            source: numbers (k,) of worlds, or one for all targets.
            target: numbers (k,) of worlds.
        """
        to = self._check_world_numbers(target, "target")
        source_numbers = self._check_world_numbers(source, "source")
        if source_numbers.size not in (1, to.size):
            problem = f"names {source_numbers.size} worlds for {to.size} targets"
            raise SimulationError("source", f"{problem}; name as many, or one")
        source_numbers = np.broadcast_to(source_numbers, to.shape)
        records, signals = self._records, self._scene.signals
        self._accept(np.unique(source_numbers))
        episodes = records.episode[to].copy()
        keys = None
        if signals is not None and signals.noise is not None:
            keys = records.signals[to, signals.noise.place].copy()
        records.copy(np.ascontiguousarray(source_numbers), to)
        records.episode[to] = episodes
        if keys is not None:
            assert signals is not None
            assert signals.noise is not None
            records.signals[to, signals.noise.place] = keys
        self.inputs.see(to)
        self._forget(to)
        self.signals.end_call()

    # -------------------------------------------------------------------------------------------- save and load

    def save(self, where: ArrayLike | None = None) -> bytes:
        """Return the records of worlds, all by default: what `load` continues from to the bit.

        Raises:
            SimulationError: a controller in Python has no methods `state` and `restore`, or has the memory of more
                worlds than are saved; or a scheme in Python remembers what bytes do not hold.
            JointError: the code of a controller's method `state` raises.
        """
        selection = self._which(where)
        self._accept(selection)
        try:
            return save_worlds(self._records, self._records.chosen(selection))
        except TypeError as error:
            problem = f"integrator {self._scene.settings.integrator!r} cannot be saved: its attribute {error}"
            remedy = "keep numbers, texts, arrays, or lists of them"
            raise SimulationError("save", f"{problem}; {remedy}") from None

    def load(self, saved: bytes, where: ArrayLike | None = None) -> None:
        """Overwrite worlds, all by default, by records that `save` returned from worlds of the same scene.

        Raises:
            SimulationError: the records are damaged, of another number of worlds, or of other worlds; then no
                world has changed.
            TypeError: `saved` is not bytes.
        """
        given: Any = saved  # callers without types give other things
        if not isinstance(given, bytes):
            problem = f"saved must be bytes, got {type(given).__name__}"
            raise TypeError(f"{problem}; give what Worlds.save returned")
        worlds = self._records.chosen(self._which(where))
        load_worlds(self._records, saved, worlds)
        self.inputs.see(worlds)
        self._forget(worlds)
        self.signals.end_call()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle worlds by their scene and records."""
        n = None if self._one else len(self)
        return _restored, (
            self._records.scenes or self._scene,
            None if self._records.scenes else n,
            self._threads,
            self._records.numbers,
            self.signals.observed,
            self._records.q.dtype,
            self.save(),
            None if self._is_uniform else self._start,
        )

    # ------------------------------------------------------------------------------------------------ lost worlds

    def reason(self, world: int = 0) -> str:
        """Return why a world is lost, as `simulate` would say; an empty text if it is not."""
        k = self._check_world_number(world)
        if k in self._reasons:
            return self._reasons[k]
        return str(explain(self._records.failure(k))) if self._records.lost[k] else ""

    def _forget(self, worlds: NDArray[np.int32]) -> None:
        """Forget why worlds were lost that have another state now."""
        self._warned[worlds] = False
        for k in worlds.tolist() if self._reasons else ():
            self._reasons.pop(k, None)

    def _stop_at_lost(self, selection: Selection) -> None:
        """Raise SimulationError for the first lost world of a selection, if it is to stop the others."""
        if self._scene.settings.on_failure != "stop" or not self._records.status.any():
            return
        if (first := self._records.first_lost(selection)) is not None:
            raise failed_world("worlds", first, self.reason(first))

    def _warn_of_lost(self) -> None:
        lost = np.flatnonzero(self._records.lost & ~self._warned)
        if not len(lost):
            return
        self._warned[lost] = True
        first = int(lost[0])
        problem = f"{len(lost)} of {len(self)} worlds are lost, world {first}: {self.reason(first)}"
        warnings.warn(
            f"worlds: {problem}; they stay at their last good state until they are reset",
            PysimWarning,
            3,
        )

    # ----------------------------------------------------------------------------------------------------- checks

    def _accept(self, selection: Selection) -> None:
        """Take over what was written to t, q and v; a world to which an impossible state was written is lost."""
        records = self._records
        opened = False
        if records.python is not None:  # schemes of written states begin anew
            records.python.begin(np.array(records.engine.written(selection), np.int32))
        if self._scene.model.rows:
            written = np.array(records.engine.written(selection), np.int32)
            if self.parameters.are_lengths:  # with which loops may be open
                self.parameters.accept()
                written = np.union1d(written, self.parameters.take_moved()).astype(np.int32)
            opened = bool(len(written)) and self._check_loops(written)
        if records.engine.accept(selection) or opened:
            rejected = np.flatnonzero(records.status == Status.WRITTEN).astype(np.int32)
            for k in rejected.tolist():
                self._reasons.setdefault(k, str(explain(records.failure(k))))
            records.engine.restore(rejected)
        self.inputs.note_jumps()
        self.parameters.accept()

    def _check_loops(self, written: NDArray[np.int32]) -> bool:
        """Mark worlds whose written states leave a loop open; return whether there are any."""
        records = self._records
        finite = np.isfinite(records.q[written]).all(axis=1)
        finite &= np.isfinite(records.v[written]).all(axis=1) & np.isfinite(records.t[written])
        good = written[finite]
        if not len(good):
            return False
        q, v, loop_q = records.states(good)
        with records.varied.scene_of_states(good) as scene:
            at = constraints(scene.model, q, v, loop_q=loop_q, t=records.t[good])
        largest = np.abs(at.residual).max(axis=1, initial=0.0)
        is_open = ~(largest <= (OPEN_SINGLE if records.is_single else OPEN))
        records.status[good[is_open]] = Status.WRITTEN
        return bool(is_open.any())

    def _which(self, where: ArrayLike | None) -> Selection:
        if where is None:
            return None
        given = np.atleast_1d(checked_array(where, "where"))
        if given.dtype == bool:
            if given.shape != (len(self),):
                raise SimulationError("where", f"must have shape ({len(self)},), got {given.shape}")
            return np.flatnonzero(given).astype(np.int32)
        return self._check_world_numbers(given, "where")

    def _check_world_numbers(self, given: ArrayLike, name: str) -> NDArray[np.int32]:
        numbers = np.atleast_1d(checked_array(given, name))
        if numbers.size == 0:
            return np.zeros(0, np.int32)
        if numbers.dtype.kind not in "iu" or numbers.ndim != 1:
            raise SimulationError(name, f"must be numbers of worlds, got {given!r}")
        if numbers.min() < 0 or numbers.max() >= len(self):
            wrong = numbers[(numbers < 0) | (numbers >= len(self))][0]
            raise SimulationError(
                name, f"there is no world {wrong}; they are numbered 0 to {len(self) - 1}"
            )
        if name != "source" and len(np.unique(numbers)) != len(numbers):
            raise SimulationError(name, "names a world twice; give each once")
        return np.ascontiguousarray(numbers, np.int32)

    def _check_world_number(self, world: int) -> int:
        if isinstance(world, (bool, np.bool_)) or not isinstance(world, (int, np.integer)):
            raise SimulationError("world", f"must be the number of a world, got {world!r}")
        return int(self._check_world_numbers([world], "world")[0])

    def _live(self, rows: NDArray[Any]) -> NDArray[Any]:
        return rows[0] if self._one else rows


def _loaded(scene: Any) -> Scene:  # noqa: ANN401, whatever is given
    """Return a scene: that given, or that of a scene file or of a model file."""
    if isinstance(scene, Scene):
        return scene
    if not isinstance(scene, (str, PathLike)):
        problem = f"must be a pysim.Scene or a path, got {type(scene).__name__}"
        raise TypeError(f"scene {problem}; give what pysim.load_scene returns")
    is_scene = Path(scene).suffix.lower() == ".toml"
    return load_scene(scene) if is_scene else load_model_scene(scene)


def with_controls(scene: Scene) -> tuple[Scene, dict[str, ControlPlace]]:
    """Return a scene whose model files' actuators follow inputs, and the places of their commands there."""
    spec, places = with_control_inputs(scene.spec)
    if spec is scene.spec:
        return scene, places
    return replace(compile_scene(spec), state=scene.state, settings=scene.settings), places


def _restored(
    scene: Scene | list[Scene],
    n: int | None,
    threads: int,
    numbers: NDArray[np.intp],
    observe: tuple[str, ...],
    dtype: np.dtype[Any],
    saved: bytes,
    start: State | None = None,
) -> Worlds:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        worlds = Worlds(
            scene, n, threads=threads, numbers=numbers.tolist(), observe=observe, dtype=dtype
        )
    if start is not None:
        worlds._start, worlds._is_uniform = start, False  # noqa: SLF001
    worlds.load(saved)
    return worlds


def _whole(given: int, name: str, least: int, most: int = MOST) -> int:
    """Return a whole number of at least `least`; numbers of another kind are no numbers of worlds or steps."""
    if isinstance(given, (bool, np.bool_)) or not isinstance(given, (int, np.integer)):
        raise SimulationError(name, f"must be a whole number, got {given!r}")
    if not least <= given <= most:
        raise SimulationError(name, f"must be from {least} to {most}, got {given}")
    return int(given)


def _precision(dtype: DTypeLike) -> type[np.floating[Any]]:
    """Return the type of the numbers of worlds."""
    own: Any = dtype  # named as it was given where it is no type
    with suppress(TypeError):
        own = np.dtype(dtype)
    for known in (np.float64, np.float32):
        if isinstance(own, np.dtype) and own == known:
            return known
    raise SimulationError("dtype", f"must be np.float64 or np.float32, got {own}")


def _with_seed(scene: Scene, seed: int) -> Scene:
    """Return the scene with another seed of its random numbers."""
    other = with_settings(scene, replace(scene.settings, seed=seed))
    signals = scene.signals
    if signals is None or signals.noise is None:
        return other
    return replace(other, signals=replace(signals, noise=replace(signals.noise, seed=seed)))


def _check_starts(given: ArrayLike | None, own: Array, count: int, name: str, size: int) -> Array:
    """Return the starts of worlds (count, size)."""
    values = own if given is None else checked_real(given, name)
    if values.shape not in ((size,), (count, size)):
        raise SimulationError(
            name, f"must have shape ({size},) or ({count}, {size}), got {values.shape}"
        )
    if not np.isfinite(values).all():
        raise SimulationError(name, "must be finite, got nan or inf")
    return np.array(np.broadcast_to(values, (count, size)), float)
