"""`Worlds`: worlds of one scene that are held, stepped, changed, copied, saved and reset by hand.

    worlds = pysim.Worlds("go1.toml", 4096, threads=2)
    worlds.inputs["target"][:] = policy(worlds.q, worlds.v)
    worlds.step(seconds=0.02)
    worlds.reset(where=worlds.q[:, 2] < 0.15)

q, v, t and the inputs are arrays of the engine: what is written to them counts from the next step on.

The file is long because the class has all that users do with worlds, each with its arguments, units and an example;
what is behind it lies in files of its own.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Never, Self

import numpy as np

from pysim.algorithms import forward_kinematics, jacobian, minverse
from pysim.diagnosis.failed_steps import explain
from pysim.diagnosis.scene_warnings import warn_of_scene
from pysim.errors import PysimWarning, SimulationError
from pysim.habits import AttributesByHabit
from pysim.loops import project
from pysim.mechanism.model import State
from pysim.simulation.recording import Recording, checked_interval, parts_of_call
from pysim.simulation.spans import steps_of_span
from pysim.simulation.world_events import events_of
from pysim.simulation.world_scenes import KEYS, loaded, scene_to_step, with_controls, with_seed
from pysim.simulation.world_starts import WorldStarts
from pysim.simulation.written_states import WrittenStates
from pysim.typing import Array
from pysim.worlds.argument_checks import (
    assign,
    checked_array,
    checked_names,
    checked_real,
    checked_whole_number,
)
from pysim.worlds.contact_report import pair_sums, reported_points
from pysim.worlds.failed_worlds import failed_world
from pysim.worlds.failure import Status
from pysim.worlds.loading import Scene
from pysim.worlds.parameters.varied_numbers import check_alike
from pysim.worlds.parameters.world_parameters import WorldParameters
from pysim.worlds.saved_worlds import controllers_of, load_parts, load_worlds, save_worlds
from pysim.worlds.selections import Selections
from pysim.worlds.world_inputs import Inputs
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
        scenes = [loaded(given) for given in scene] if isinstance(scene, (list, tuple)) else []
        observe = checked_names(observe, "observe")
        threads = checked_whole_number(threads, "threads", 0)
        if scenes and n is not None:
            raise SimulationError("n", "is the number of scenes; leave it out")
        n = len(scenes) if scenes else n
        first = scenes[0] if scenes else loaded(scene)
        self._scene, controls = scene_to_step(first, seed, on_failure)
        self._is_single, count = n is None, 1 if n is None else checked_whole_number(n, "n", 1)
        world_numbers, precision = _world_numbers(numbers, count), _precision(dtype)
        if scenes:
            check_alike(
                [self._scene, *scenes[1:]],
                ("slip_speed", "contact_law"),
                "give it Worlds of its own",
            )
            scenes = [self._scene, *(with_controls(other)[0] for other in scenes[1:])]
        warn_of_scene(self._scene)
        self._threads = threads
        self._records = WorldRecords(scenes or self._scene, count, world_numbers, dtype=precision)
        self._starts = WorldStarts(self._records, scenes, threads)
        self._selections = Selections(count)
        self.inputs = Inputs(self._records, controls, self._is_single)
        self.parameters = self._records.parameters = WorldParameters(self._records, self._is_single)
        self.signals = Signals(
            self._records, observe, self._selections.of, threads, is_single=self._is_single
        )
        self._written = WrittenStates(self._records, self.parameters)
        self._warned = np.zeros(count, bool)  # worlds whose loss was warned of
        self._recordings: list[Recording] = []

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
        one = "one world" if self._is_single else f"{len(self)} worlds"
        name, number = self._scene.spec.name, self._records.q.dtype
        return f"<pysim.Worlds of {name!r}: {one} in {number}, t = {span} s{f', {lost} lost' if lost else ''}>"

    @property
    def t(self) -> Any:  # noqa: ANN401, an array, or a number for one world
        """Times (n,) [s]; write them to change them."""
        return float(self._records.t[0]) if self._is_single else self._records.t

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
        lost = self._records.lost
        return bool(lost[0]) if self._is_single else lost

    @property
    def ended(self) -> Any:  # noqa: ANN401, an array, or a truth value for one world
        """Whether each world has stopped at an event with `stop`, and stays there until it is reset (n,)."""
        ended = np.asarray(self._records.status == Status.ENDED)
        return bool(ended[0]) if self._is_single else ended

    @property
    def events(self) -> Any:  # noqa: ANN401, a list, or the events of one world
        """Events of every world (n,) in the last call of `step` or `rollout`, as `Trajectory.events`."""
        events = events_of(self._records)
        return events[0] if self._is_single else events

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
        return np.asarray(forward_kinematics(self._scene.model, self._finite_q()))

    def jacobian(
        self, frame: str, expressed: Literal["local", "world", "aligned"] = "local"
    ) -> Array:
        """Return the Jacobians (n, 6, nv) of a frame, as `pysim.jacobian`."""
        return np.asarray(jacobian(self._scene.model, self._finite_q(), frame, expressed=expressed))

    def _finite_q(self) -> Array:
        """Return q, if no world has a configuration that is NaN or infinite.

        Raises:
            SimulationError: a world has one.
        """
        q = self._records.q
        if not np.isfinite(q).all():
            k, i = np.argwhere(~np.isfinite(q))[0].tolist()
            problem = f"q of world {k} was set to {q[k, i]} for {self.model.coordinate_names[i]!r}"
            raise SimulationError("worlds", f"{problem}; write another, or reset the world")
        return self.q

    def scene(self, world: int = 0) -> Scene:
        """Return the scene of a world, with its parameters, which starts at its current state."""
        k = self._selections.number(world)
        self._accept(np.array([k], np.int32))
        state = State(*(x.copy() for x in self._records.states(k)))
        scene, seed = self.parameters.scene_of(k), self._scene.settings.seed
        if scene.settings.seed != seed:
            scene = with_seed(scene, seed)
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
        number = self._selections.number(world)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PysimWarning)  # of what this world has warned of
            copy = Worlds(self.scene(number), 1, dtype=self.q.dtype)
            chosen = np.array([number], np.int32)
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
        count, length = steps_of_span(self._scene.settings, seconds, steps)
        selection = self._selections.of(where)
        self._accept(selection)
        self._stop_at_lost(selection)
        self._records.occurred.clear()
        inputs = None
        if controls is not None:
            inputs = self.inputs.of_steps(controls, count)
        done, is_adaptive = 0, self._records.is_adaptive
        for some, span in parts_of_call(self._recordings, count, length, is_adaptive=is_adaptive):
            if inputs is None:
                self._records.step(some, selection, self._threads, span)
            else:
                self._step_with(inputs[:, done : done + some], selection, span)
            done += some
        self.signals.end_call()
        self._stop_at_lost(selection)
        if self._records.status.any():
            self._warn_of_lost()

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
        k, settings = self._selections.number(world), self._scene.settings
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
        worlds = self._records.chosen(self._selections.of(where))
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
            varied = self.parameters.scene_of(k).model if self.parameters.are_varied else model
            pushed[at] = v[at] + minverse(varied, q[at]) @ momentum[at]
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
        every, names = checked_whole_number(every, "every", 1), checked_names(signals, "signals")
        inputs, count = self.inputs.of_rows(controls, rows)
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
        made = rows_of_steps(self._records, count, every, self._threads, inputs, wanted, out_rows)
        self.inputs.note_inputs(self._records.chosen(None))
        self.signals.end_call()
        self._stop_at_lost(None)
        if self._records.status.any():
            self._warn_of_lost()
        return made.of_single_world() if self._is_single else made

    def _row_of(self, given: NDArray[Any]) -> NDArray[Any]:
        """Return an array of worlds, for one that lacks their axis if there is one world."""
        return given[None] if self._is_single and isinstance(given, np.ndarray) else given

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
            keyframe: name of a keyframe of the scene or its file, to start at, with its commands and activations.

        Raises:
            SimulationError: a loop does not close near a start, there is no such keyframe, or a shape is wrong.

        >>> worlds = pysim.Worlds("scenes/pendulum.toml", 2)
        >>> worlds.reset(where=[1], q=[0.5])
        >>> worlds.q.tolist()
        [[2.0], [0.5]]
        """
        self.begin_again(
            self._records.chosen(self._selections.of(where)), q=q, v=v, keyframe=keyframe
        )

    def set_seed(self, seed: int) -> None:
        """Set the seed of the random numbers; it takes effect in the episodes that the next resets begin.

        Random numbers are then those of worlds that were made with the seed. States and parameters do not change.

        Args:
            seed: a whole number, 0 or more.

        >>> worlds = pysim.Worlds("scenes/pendulum.toml", 2)
        >>> worlds.set_seed(7)
        >>> worlds.reset()
        """
        self._scene = with_seed(self._scene, seed)
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
        numbers: Mapping[int, float] = {}
        if keyframe is not None:
            frame_q, frame_v, frame = self._starts.keyframe(keyframe)
            q, v = frame_q if q is None else q, frame_v if v is None else v
            numbers = self.inputs.of_keyframe(frame)
        self._starts.begin_again(worlds, q, v, displacement, numbers)
        self._forget(worlds)
        self.signals.end_call()

    def copy(self, source: ArrayLike, target: ArrayLike) -> None:
        """Copy the states of worlds to other worlds, which keep their own random numbers and parameters.

        Args:
            source: numbers (k,) of worlds, or one for all targets.
            target: numbers (k,) of worlds.
        """
        to = self._selections.numbers(target, "target")
        source_numbers = self._selections.numbers(source, "source", repeated=True)
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
        self.inputs.note_inputs(to)
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
        selection = self._selections.of(where)
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
        untyped: Any = saved  # callers without types give other things
        if not isinstance(untyped, bytes):
            problem = f"saved must be bytes, got {type(untyped).__name__}"
            raise TypeError(f"{problem}; give what Worlds.save returned")
        worlds = self._records.chosen(self._selections.of(where))
        load_worlds(self._records, saved, worlds)
        self.inputs.note_inputs(worlds)
        self._forget(worlds)
        self.signals.end_call()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle worlds by their scene and records."""
        n = None if self._is_single else len(self)
        return _restored, (
            self._records.scenes or self._scene,
            None if self._records.scenes else n,
            self._threads,
            self._records.numbers,
            self.signals.observed,
            self._records.q.dtype,
            self.save(),
            None if self._starts.is_uniform else self._starts.state,
        )

    # ------------------------------------------------------------------------------------------------ lost worlds

    def reason(self, world: int = 0) -> str:
        """Return why a world is lost, as `simulate` would say; an empty text if it is not."""
        k = self._selections.number(world)
        if k in self._written.reasons:
            return self._written.reasons[k]
        return str(explain(self._records.failure(k))) if self._records.lost[k] else ""

    def _forget(self, worlds: NDArray[np.int32]) -> None:
        """Forget why worlds were lost that have another state now."""
        self._warned[worlds] = False
        self._written.forget(worlds)

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
        self._written.accept(selection)
        self.inputs.note_jumps()
        self.parameters.accept()

    def _live(self, rows: NDArray[Any]) -> NDArray[Any]:
        return rows[0] if self._is_single else rows


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
        worlds._starts.set(start)  # noqa: SLF001
    worlds.load(saved)
    return worlds


def _world_numbers(numbers: Sequence[int] | None, count: int) -> NDArray[np.intp]:
    """Return the numbers of worlds (count,), by which their random numbers differ."""
    values = np.arange(count) if numbers is None else checked_array(numbers, "numbers")
    if values.shape != (count,):
        raise SimulationError("numbers", f"must have shape ({count},), got {values.shape}")
    if values.dtype.kind not in "iu":
        raise SimulationError("numbers", f"must be whole numbers, got {values.dtype} ones")
    if values.min() < 0:
        raise SimulationError("numbers", f"must be 0 or more, got {values.min()}")
    if values.max() >= KEYS:
        raise SimulationError("numbers", f"must be below 2**53, got {values.max()}")
    return values.astype(np.intp)


def _precision(dtype: DTypeLike) -> type[np.floating[Any]]:
    """Return the type of the numbers of worlds."""
    kind: Any = dtype  # named as it was given where it is no type
    with suppress(TypeError):
        kind = np.dtype(dtype)
    for known in (np.float64, np.float32):
        if isinstance(kind, np.dtype) and kind == known:
            return known
    raise SimulationError("dtype", f"must be np.float64 or np.float32, got {kind}")
