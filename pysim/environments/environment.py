"""`Environment`: worlds that a learner acts on, as the `[environment]` table of their scene says.

    environment = Environment("go1.toml", 1024)
    observations = environment.reset()
    transition = environment.step(policy(observations))
    environment.reset(where=transition.terminated | transition.truncated)

The scene computes what is observed and rewarded, as signals; the engine computes ends, rewards and observations from
them (cpp/engine/environment_tables.hpp), on the threads of the worlds. Here tables are read, and random numbers drawn.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pysim import _engine
from pysim.elements.number_names import without_index
from pysim.environments.draws import LEAST, draws_by_name, kind_of, uniforms
from pysim.environments.mirror import Mirror, MirroredStates, joined, mirrored_rows
from pysim.environments.observed import ACTION_RATE, LAST_ACTION, Observed
from pysim.environments.randomised import Randomised, accept_drawn
from pysim.errors import SimulationError, did_you_mean
from pysim.scene import located, read_environment
from pysim.simulation.scene_files import load_scene
from pysim.simulation.worlds import KEYS, Worlds
from pysim.sweeps.parameters import Distribution, distribution_of
from pysim.typing import Array
from pysim.worlds.argument_checks import checked_real
from pysim.worlds.saved_parts import packed, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike

    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from pysim.environments.draws import DrawTable, Kind
    from pysim.environments.mirror import SignedPlaces
    from pysim.scene.spec import KeyframeSpec
    from pysim.scene.toml.records.environment_table import Reward

    Mask = NDArray[np.bool_]

MOST = 10**9  # steps of a control period, and these of an episode
WHOLE = 1e-6  # of a step: a span this close to a whole number of steps is that number
START, SPEEDS, KEYFRAME = 1, 2, 3  # uses of draws; the engine's noise has 0
COMMANDS, PUSHES, INTERVALS = 1 << 8, 1 << 9, 1 << 11  # the first of each; numbers have 1 << 10


class Transition(NamedTuple):
    """What a control step led to: observations (n, size), rewards, ends and truncations (n,)."""

    observations: NDArray[Any]
    reward: Array
    terminated: Mask
    truncated: Mask


class Environment:
    """Worlds of a scene with an `[environment]` table.

    Args:
        path: the scene file.
        n: number of worlds.
        overrides: values of keys of the file, as in `pysim.load_scene`.
        threads: that share the worlds in a call; 0 for all processors.
        seed: of everything random; `simulation.seed` by default.
        numbers: (n,) of the worlds, by which their random numbers differ; 0 … n − 1 by default.
        dtype: of observations, np.float32 or np.float64.
        single: whether the worlds are stepped in single precision, which is faster, see `pysim.Worlds`.
        allow_code: whether plugin files of the scene may run.
        package_dirs: folders of packages, as in `pysim.load_scene`.

    Raises:
        SceneError: the file has no valid `[environment]` table.
        SimulationError: a name or number of the table does not suit the scene.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        n: int,
        overrides: Mapping[str, object] | None = None,
        *,
        threads: int = 1,
        seed: int | None = None,
        numbers: Sequence[int] | None = None,
        dtype: DTypeLike = np.float32,
        single: bool = False,
        allow_code: bool = False,
        package_dirs: Iterable[str | PathLike[str]] = (),
    ) -> None:
        self.path, self.dtype = located(path), np.dtype(dtype)
        if self.dtype not in (np.float32, np.float64):
            raise SimulationError("dtype", f"must be np.float32 or np.float64, got {self.dtype}")
        self._tables, self._problems = read_environment(path, overrides)
        scene = load_scene(path, overrides, allow_code=allow_code, package_dirs=package_dirs)
        self._threads = threads
        self._seed = scene.settings.seed if seed is None else seed
        self._number = np.float32 if single else np.float64
        self.worlds = Worlds(
            scene, n, threads=threads, seed=self._seed, numbers=numbers, dtype=self._number
        )
        self._model = self.worlds.scene().model  # as in the scene, whatever worlds differ in
        self._numbers = np.arange(n) if numbers is None else np.asarray(numbers)
        tables = self._tables
        if not math.isfinite(step := scene.settings.step):
            problem = f"steps of {scene.settings.integrator!r} have no fixed length"
            remedy = f"set simulation.step, such as {tables.period:g} s"
            raise self._error(("period",), f"{problem}; {remedy}")
        if tables.period > tables.duration:
            problem = f"{tables.period:g} s is longer than an episode of {tables.duration:g} s"
            remedy = f"take less, such as {tables.period / 1000:g} s if milliseconds were meant"
            raise self._error(("period",), f"{problem}; {remedy}")
        self._every = self._steps("period", tables.period, step, "steps")
        self.period = self._every * step
        self.length = self._steps("duration", tables.duration, self.period, "control periods")
        self._read_action()
        self._observed = Observed(self.worlds, self.action_size)
        self._read_observations()
        self._read_rewards()
        self._read_changes()
        self.mirror = self._read_mirror()  # None without the table
        self._engine = self._engine_tables(n, self._changes)
        parts = self._engine.parts
        self.steps: NDArray[np.int64] = parts["steps"]  # control steps made in the episode
        self._episode: NDArray[np.int64] = parts["episode"]  # −1 before the first
        self._episode[:], parts["number"][:] = -1, self._numbers
        self._key: Array = parts["key"]
        self._action, self._action_rate = parts["action"], parts["action_rate"]
        self._readings: Array = parts["readings"]
        self._history: NDArray[Any] = parts["history"]
        self._frames = self._history.reshape(n, -1)  # a view
        self.terms: Array = parts["terms"]  # of the last step, with their weights
        self.ends: Mask = parts["ends"]  # that hold after the last step
        self._has_begun = False  # whether all worlds have had an episode

    # ------------------------------------------------------------------------------------------------- the tables

    def __len__(self) -> int:
        return len(self.worlds)

    @property
    def observation_size(self) -> int:
        """Numbers of an observation, with its history."""
        return self.frame_size * self._tables.history

    @property
    def limit(self) -> float:
        """Largest magnitude of an observation's number."""
        return self._tables.limit

    @property
    def discount(self) -> float | None:
        """Discount of a reward a control step later; None leaves it to the learner."""
        return self._tables.discount

    @property
    def critic_size(self) -> int:
        """Numbers that a critic sees: the observation, and those of `critic`."""
        return self.observation_size + len(self._critic)

    @property
    def observed_names(self) -> tuple[str, ...]:
        """The signals of `observations`."""
        return tuple(self._tables.observations)

    def observation_columns(self, k: int) -> NDArray[np.intp]:
        """Return the columns of an observation that the k-th signal of `observations` fills, with its history."""
        first = sum(self._sizes[:k])
        own = np.arange(first, first + self._sizes[k])
        frames = np.arange(self._tables.history)[:, None] * self.frame_size
        return np.asarray((frames + own).ravel())

    def where(self, *keys: str | int) -> str:
        """Return the place of a key of `[environment]` in its file."""
        return self._problems.source.where(("environment", *keys))

    def _error(self, keys: tuple[str | int, ...], problem: str) -> SimulationError:
        return SimulationError(self.where(*keys), problem)

    def _steps(self, key: str, span: float, step: float, what: str) -> int:
        count = round(span / step)
        if count < 1 or abs(span - count * step) > WHOLE * step:
            nearest = max(count, 1) * step
            problem = f"{span:g} s is no whole number of {what} of {step:g} s"
            raise self._error((key,), f"{problem}; take {nearest:.9g} s")
        if count > MOST:
            raise self._error((key,), f"{span:g} s is more than {MOST:g} {what}; take less")
        return count

    def _read_action(self) -> None:
        action, inputs = self._tables.action, self.worlds.inputs
        if action.input not in inputs:
            remedy = did_you_mean(action.input, inputs) or "; add a [[signal]] of type input"
            raise self._error(
                ("action", "input"), f"{action.input!r} is no input of the scene{remedy}"
            )
        self.action_size = inputs[action.input].shape[-1]
        self._scale = self._sized(("action", "scale"), action.scale)
        offset = action.offset
        if isinstance(offset, str):
            values = self._keyframe_commands(offset)
            offset = values.tolist()
        self._offset = self._sized(("action", "offset"), offset)
        self.action_range = (action.range[0], action.range[1])

    def _sized(self, keys: tuple[str, ...], given: Sequence[float]) -> Array:
        """Return a number for each of the action's."""
        if len(given) not in (1, self.action_size):
            problem = f"has {len(given)} numbers, and the input {self._tables.action.input!r} has {self.action_size}"
            raise self._error(keys, f"{problem}; give one, or one for each")
        return np.array(np.broadcast_to(np.asarray(given, float), (self.action_size,)))

    def _keyframe_commands(self, name: str) -> Array:
        """Return the values of the action's input in a keyframe: its commands, else positions of servos."""
        frames = {frame.name: frame for frame in self._model.spec.keyframes}
        if name not in frames:
            remedy = did_you_mean(name, frames) or ", and the scene has none; give numbers"
            raise self._error(("action", "offset"), f"there is no keyframe {name!r}{remedy}")
        inputs = self.worlds.inputs
        places = inputs.places_of(self._tables.action.input)
        positions = self._servo_positions(frames[name])
        found = {places[k]: value for k, value in positions.items()}
        found |= inputs.of_keyframe(frames[name])
        missing = [place for place in places if place not in found]
        if missing:
            problem = f"keyframe {name!r} has no values for {len(missing)} of the input's numbers"
            raise self._error(("action", "offset"), f"{problem}; give numbers")
        return np.array([found[place] for place in places])

    def _servo_positions(self, frame: KeyframeSpec) -> dict[int, float]:
        """Return the positions of a keyframe to which servos pull, by the number of the action's input they follow."""
        joints = {joint.name: joint for joint in self._model.spec.joints}
        found = {}
        for block in self.worlds.scene().spec.blocks:
            if block.type != "position_servo":
                continue
            name, index = without_index(block.inputs[0])
            for k, coordinate in enumerate(block.coordinates):
                joint = joints.get(coordinate)
                if name == self._tables.action.input and joint is not None:
                    q = frame.q.get(coordinate, joint.start_q)
                    found[k if index is None else index] = float(q[0])
        return found

    def _read_observations(self) -> None:
        tables, known = self._tables, self._observed
        scales: list[Array] = []
        noise: list[Array] = []
        self.observation_names: list[str] = []
        self._sizes: list[int] = []
        for k, name in enumerate(tables.observations):
            if name in tables.observations[:k]:
                raise self._error(("observations", k), f"{name!r} is there twice; remove one")
            _, size = self._range(("observations", k), name)
            factor = np.asarray(tables.scales.get(name, [1.0]), float)
            if len(factor) not in (1, size):
                problem = f"has {len(factor)} numbers, and the observation has {size}"
                raise self._error(("scales", name), f"{problem}; give one, or one for each")
            self._sizes.append(size)
            scales.append(np.broadcast_to(factor, (size,)))
            noise.append(np.full(size, tables.noise.get(name, 0.0)))
            self.observation_names += known.labels(name)
        for table in ("scales", "noise"):
            for name in getattr(tables, table):
                if name not in tables.observations:
                    remedy = did_you_mean(name, tables.observations)
                    raise self._error((table, name), f"is no observation{remedy}")
        self._factors, self._deviation = np.concatenate(scales), np.concatenate(noise)
        self.frame_size = len(self._factors)
        for k, name in enumerate(tables.critic):
            self._range(("critic", k), name)
        critic = [known.columns(name) for name in tables.critic]
        self._critic = np.concatenate([np.zeros(0, np.intp), *critic])

    def _range(
        self, keys: tuple[str | int, ...], name: str, others: Sequence[str] = ()
    ) -> tuple[int, int]:
        """Return the place of a signal's first number among those of a world, and their count."""
        if name not in self._observed:
            remedy = did_you_mean(name, (*self._observed.names, *others))
            raise self._error(keys, f"there is no signal {name!r}{remedy}")
        return self._observed.range(name)

    def _read_rewards(self) -> None:
        tables = self._tables
        self.end_names = tuple(end.name for end in tables.end)
        self.reward_names = tuple(reward.name for reward in tables.reward)
        for table, names in (("end", self.end_names), ("reward", self.reward_names)):
            for k, name in enumerate(names):
                if name in names[:k]:
                    raise self._error((table, k, "name"), f"{name!r} is there twice; rename one")
        for k, name in enumerate(self.end_names):
            if name in self._observed:
                raise self._error(("end", k, "name"), f"{name!r} is a signal; take another name")
        self._ends = [
            (
                self._range(("end", k, "signal"), end.signal),
                -math.inf if end.below is None else end.below,
                math.inf if end.above is None else end.above,
            )
            for k, end in enumerate(tables.end)
        ]
        self._rewards = [self._reward(k, reward) for k, reward in enumerate(tables.reward)]

    def _reward(self, k: int, reward: Reward) -> tuple[tuple[int, int], str, float, float]:
        """Return the numbers that a reward reads, or that of the end that it names, its kernel, weight and width."""
        if reward.signal in self.end_names:
            if reward.kernel is not None:
                problem = f"{reward.signal!r} is an end, which is 1 or 0; leave kernel out"
                raise self._error(("reward", k, "kernel"), problem)
            return (self.end_names.index(reward.signal), 1), "end", reward.weight, 0.0
        own, kernel = (
            self._range(("reward", k, "signal"), reward.signal, self.end_names),
            reward.kernel,
        )
        if kernel is None:
            if own[1] != 1:
                problem = f"{reward.signal!r} has {own[1]} numbers"
                remedy = "give a kernel, such as { norm = 2 } or { exponential = 0.25 }"
                raise self._error(("reward", k), f"{problem}; {remedy}")
            return own, "value", reward.weight, 0.0
        if kernel.exponential is not None:
            return own, "exponential", reward.weight, kernel.exponential
        return own, "absolute_sum" if kernel.norm == 1 else "square_sum", reward.weight, 0.0

    def _engine_tables(
        self, n: int, changes: Sequence[tuple[bool, DrawTable, int]] = ()
    ) -> _engine.EnvironmentTables:
        tables = self._tables
        return _engine.EnvironmentTables(
            worlds=n,
            signals=self._observed.signal_count,
            scale=self._scale,
            offset=self._offset,
            bounds=self.action_range,
            first_input=self.worlds.inputs.places_of(tables.action.input)[0],
            ends=self._ends,
            rewards=self._rewards,
            observed=[self._observed.range(name) for name in tables.observations],
            factors=self._factors,
            deviations=self._deviation,
            limit=tables.limit,
            history=tables.history,
            length=self.length,
            period=self.period,
            displacement=self._displaced,
            velocity=self._moved,
            changes=changes,
            schedules=self._schedules,
            single=self.dtype == np.float32,
        )

    def _read_changes(self) -> None:
        """Read what is drawn: commands, starts, pushes and numbers of the scene."""
        tables, names = self._tables, self._model.velocity_names
        inputs = self.worlds.inputs
        self._schedules: list[tuple[int, Kind, int]] = []  # control steps between, or −1, time, use
        self._changes: list[tuple[bool, DrawTable, int]] = []  # whether it pushes, what, schedule
        for k, command in enumerate(tables.command):
            if command.input not in inputs or command.input == tables.action.input:
                others = [name for name in inputs if name != tables.action.input]
                remedy = did_you_mean(command.input, others) or "; add a [[signal]] of type input"
                problem = f"{command.input!r} is no input that is free for commands"
                raise self._error(("command", k, "input"), f"{problem}{remedy}")
            if command.input in [other.input for other in tables.command[:k]]:
                problem = f"{command.input!r} is drawn by another command; leave one out"
                raise self._error(("command", k, "input"), problem)
            size = inputs[command.input].shape[-1]
            if len(command.values) != size:
                problem = f"has {len(command.values)} values, and the input has {size}"
                raise self._error(("command", k, "values"), f"{problem}; give one for each")
            drawn = [
                kind_of(distribution_of(self.where("command", k, "values", i), value))
                for i, value in enumerate(command.values)
            ]
            schedule = self._schedule(("command", k, "every"), command.every)
            places = inputs.places_of(command.input)
            self._changes.append((False, (drawn, places, COMMANDS + k), schedule))
        start = tables.start
        frames = [frame.name for frame in self._model.spec.keyframes]
        named = start.keyframe
        self._keyframes: Sequence[str | None] = named if isinstance(named, list) else [named]
        for name in self._keyframes:
            if name is not None and name not in frames:
                remedy = did_you_mean(name, frames) or ", and the scene has none; remove it"
                raise self._error(("start", "keyframe"), f"there is no keyframe {name!r}{remedy}")
        self._displaced = draws_by_name(
            self.where("start", "displacement"), start.displacement, names, START
        )
        self._moved = draws_by_name(self.where("start", "velocity"), start.velocity, names, SPEEDS)
        for k, push in enumerate(tables.push):
            drawn_push = draws_by_name(
                self.where("push", k, "velocity"), push.velocity, names, PUSHES + k
            )
            schedule = self._schedule(("push", k, "every"), push.every)
            self._changes.append((True, drawn_push, schedule))
        self._randomised = [
            Randomised(
                own,
                k,
                self.worlds.parameters,
                partial(self.where, "randomise", k),
                self._schedule(("randomise", k, "every"), own.every),
            )
            for k, own in enumerate(tables.randomise)
        ]
        self._recurring = [own for own in self._randomised if self._schedules[own.schedule][0]]
        for k, own in enumerate(self._randomised):
            for other in self._randomised[:k]:
                if (path := own.shared_with(other)) is not None:
                    problem = f"{path!r} is drawn by another table; leave one out"
                    raise self._error(("randomise", k, "path"), problem)

    def _read_mirror(self) -> Mirror | None:
        tables, own = self._tables, self._tables.mirror
        if own is None:
            return None
        inputs = self.worlds.inputs
        for name, signs in own.signs.items():
            if name not in inputs or name == tables.action.input:
                others = [known for known in inputs if known != tables.action.input]
                problem = f"{name!r} is no input besides the action's"
                remedy = did_you_mean(name, others) or "; leave it out"
                raise self._error(("mirror", "signs", name), f"{problem}{remedy}")
            if len(signs) != (size := inputs[name].shape[-1]):
                problem = f"has {len(signs)} signs, and the input has {size} numbers"
                raise self._error(("mirror", "signs", name), f"{problem}; give one for each")

        home, remedy = self._keyframes[0], "correct the scene"
        if len(self._keyframes) > 1:
            remedy += f", name a keyframe that is its own image before {home!r}"

        def fault(problem: str) -> SimulationError:
            return self._error(("mirror",), f"{problem}; {remedy}, or leave mirror out")

        states = MirroredStates(
            self.worlds.scene(),
            home,
            "xyz".index(own.normal),
            (tables.action.input, self._offset),
            own.signs,
            self._every,
            fault,
        )
        if not np.allclose(self._scale[states.action.place], self._scale):
            raise fault("environment.action.scale is not its own mirror image")
        rows = mirrored_rows(states, self._observed)
        for terms, (_, kernel, *_), reward in zip(
            self._terms_of(states, rows).T, self._rewards, tables.reward, strict=True
        ):
            if kernel != "end":
                states.check_reward(terms, reward.name)

        def images(kind: str, names: Sequence[str]) -> list[SignedPlaces]:
            return [
                states.of_signal(rows, self._observed.columns(name), f"{kind} {name!r}")
                for name in names
            ]

        seen = images("observation", tables.observations)
        observation = joined(seen, self._factors, tables.history)
        critic = joined([observation, *images("critic's", tables.critic)])
        states.check_accelerations(self._scale)
        return Mirror(observation, critic, states.action)

    def _terms_of(self, states: MirroredStates, rows: Array) -> Array:
        """Return the terms of the reward of states, from the numbers that they read."""
        own = self._engine_tables(len(states.worlds))
        own.parts["action"][:] = own.parts["action_rate"][:] = states.actions
        own.end_step(_recorded(states.worlds), rows[:, : self._observed.signal_count])
        return own.parts["terms"]

    def _schedule(self, keys: tuple[str | int, ...], every: float | str | None) -> int:
        """Return the number of a schedule of what happens `every` so many seconds, or after drawn times."""
        span = 0.0 if every is None else distribution_of(self.where(*keys), every)
        if isinstance(span, Distribution):
            if span.values(np.array([LEAST]))[0] < 0:
                raise self._error(keys, f"{span} draws negative times; take uniform(5, 10)")
            found = -1
        else:
            found = round(span / self.period)
            if span and (found < 1 or abs(span - found * self.period) > WHOLE * self.period):
                problem = f"{span:g} s is no whole number of control periods of {self.period:g} s"
                raise self._error(keys, f"{problem}; take {max(found, 1) * self.period:.9g} s")
        number = len(self._schedules)
        self._schedules.append((found, kind_of(span), INTERVALS + number))
        return number

    # ------------------------------------------------------------------------------------------- reset and step

    def reset(self, where: ArrayLike | None = None, *, seed: int | None = None) -> NDArray[Any]:
        """Begin new episodes, and return the observations (n, size) of all worlds.

        Args:
            where: mask (n,) or numbers of the worlds; all by default.
            seed: begin the random numbers of all worlds anew; `where` is left out then.
        """
        if seed is not None:
            if where is not None:
                raise SimulationError(
                    "where", "and seed do not go together; seed resets all worlds"
                )
            self._begin_again(seed)
        chosen = self._chosen(where)
        if len(chosen):
            self._reset(chosen)
            self._observe(chosen, begins=True)
        return self.observations

    def _begin_again(self, seed: int) -> None:
        old = self.worlds
        scene = old._scene  # noqa: SLF001, with its inputs
        self.worlds = Worlds(
            scene,
            len(old),
            threads=self._threads,
            seed=seed,
            numbers=self._numbers.tolist(),
            dtype=self._number,
        )
        self._seed = seed
        self._observed = self._observed.of(self.worlds)
        self._episode[:] = -1

    def _chosen(self, where: ArrayLike | None) -> NDArray[np.int32]:
        n = len(self)
        if where is None:
            return np.arange(n, dtype=np.int32)
        given = np.atleast_1d(np.asarray(where))
        if given.dtype == bool and given.shape == (n,):
            return np.flatnonzero(given).astype(np.int32)
        if given.size and (given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= n):
            problem = f"must be a mask ({n},) or numbers from 0 to {n - 1}"
            raise SimulationError("where", f"{problem}; got {given.dtype} {given.shape}")
        return np.unique(given.astype(np.int32))

    def _reset(self, chosen: NDArray[np.int32]) -> None:
        worlds = self.worlds
        self._engine.begin(chosen, float(self._seed))
        if self._randomised:  # before the reset, whose first outputs follow them
            self._randomise(chosen)
        if len(self._keyframes) == 1:
            worlds.begin_again(chosen, keyframe=self._keyframes[0])
        else:
            u = uniforms(self._key[chosen], 0, KEYFRAME, 1)[:, 0]
            which = (u * len(self._keyframes)).astype(int)
            for k in np.unique(which):
                worlds.begin_again(chosen[which == k], keyframe=self._keyframes[k])
        self._engine.start(_recorded(worlds), chosen)
        worlds.signals.end_call()

    def _randomise(self, chosen: NDArray[np.int32]) -> None:
        """Draw the numbers of the scene in worlds whose episodes begin."""
        key, first = self._key[chosen], self._episode[chosen] == 0
        for randomised in self._randomised:
            own = slice(None) if randomised.is_redrawn else first
            if len(chosen[own]):
                randomised.draw(self.worlds.parameters, chosen[own], key[own], 0)
        accept_drawn(self._randomised, self.worlds.parameters)

    def step(self, actions: ArrayLike) -> Transition:
        """Apply actions (n, size) for a control period, and return what they led to.

        A world that is lost has reward 0 and is terminated; `Worlds.reason` says why.

        Raises:
            SimulationError: no episode has begun in a world, actions are of another shape or not finite, or a signal is
                not; or, with `simulation.on_failure = "stop"`, a world is lost.
        """
        if not self._has_begun:
            self._check_begun()
        given = checked_real(actions, "actions")
        if given.shape != self._action.shape:
            problem = f"must have shape {self._action.shape}, got {given.shape}"
            raise SimulationError("actions", f"{problem}; give a row for each world")
        worlds = self.worlds
        recorded = _recorded(worlds)
        world = self._engine.act(recorded, given)
        if world >= 0:
            raise SimulationError("actions", f"of world {world} are not finite; check the policy")
        worlds.step(steps=self._every)
        readings = self._observed.readings()
        reward, terminated, truncated, changed, faults = self._engine.end_step(
            recorded, readings, self._threads
        )
        if faults:
            self._raise_not_finite(faults)
        if self._recurring or readings is not None:
            again = np.union1d(self._redraw(), changed)
            worlds.signals.end_call()
            self._observe(again, begins=False)
        elif len(changed):
            worlds.signals.end_call()
        return Transition(self.observations, reward, terminated, truncated)

    def _check_begun(self) -> None:
        waiting = np.flatnonzero(self._episode < 0)
        if len(waiting):
            problem = f"that of world {waiting[0]} has not begun; call reset first"
            raise SimulationError("episodes", problem)
        self._has_begun = True

    def _redraw(self) -> NDArray[np.int32]:
        """Draw numbers of the scene anew where it is time; return the worlds that this changes."""
        parameters = self.worlds.parameters
        found = np.zeros(len(self), bool)
        for randomised in self._recurring:
            occurs = self._engine.parts["occurs"][:, randomised.schedule]
            due = np.flatnonzero(occurs)
            if len(due):
                randomised.draw(parameters, due, self._key[due], self.steps[due])
                accept_drawn([randomised], parameters)
                found |= occurs
        return np.flatnonzero(found).astype(np.int32)

    # ---------------------------------------------------------------------------------------------- observations

    @property
    def observations(self) -> NDArray[Any]:
        """Observations (n, size) of now."""
        return self._frames.copy()

    @property
    def critic(self) -> NDArray[Any]:
        """What a critic sees (n, size): the observations, and the signals of `critic` without noise."""
        own = self._numbers_of_worlds()[:, self._critic].astype(self.dtype)
        if not np.isfinite(own).all():
            for k, name in enumerate(self._tables.critic):
                self._check_signal(("critic", k), name)
        return np.concatenate([self.observations, own], axis=1)

    def _numbers_of_worlds(self) -> Array:
        """Return the numbers that the engine has read last."""
        return np.hstack([self._readings, self._action, self._action_rate])

    def _observe(self, chosen: NDArray[np.int32], *, begins: bool) -> None:
        """Observe worlds again; those that begin see their first observation as their history."""
        readings = self._observed.readings(chosen)
        faults = self._engine.observe(
            _recorded(self.worlds), chosen, readings, begins, self._threads
        )
        if faults:
            self._raise_not_finite(faults)

    def _raise_not_finite(self, faults: int) -> None:
        """Raise SimulationError for the first number that is not finite; `faults` has a bit for each kind of table."""
        tables = self._tables
        for k, end in enumerate(tables.end if faults & 1 else ()):
            self._check_signal(("end", k), end.signal)
        for k, reward in enumerate(tables.reward if faults & 2 else ()):
            self._check_finite(self.terms[:, k : k + 1], ("reward", k), reward.signal)
        for k, name in enumerate(tables.observations if faults & 4 else ()):
            self._check_signal(("observations", k), name)

    def _check_signal(self, keys: tuple[str | int, ...], name: str) -> None:
        columns = self._observed.columns(name)
        self._check_finite(self._numbers_of_worlds()[:, columns], keys, name)

    def _check_finite(self, x: Array, keys: tuple[str | int, ...], signal: str) -> None:
        """Require that numbers (n, size), which are computed from a signal, are finite in worlds that are not lost."""
        wrong = np.argwhere(~np.isfinite(x) & ~np.asarray(self.worlds.lost)[:, None])
        if len(wrong):
            world, column = (int(i) for i in wrong[0])
            problem = f"is {x[world, column]} in world {world} at {self.worlds.t[world]:g} s"
            raise self._error(keys, f"{problem}; look at the signal {signal!r}")

    def policy_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a policy has to know of this environment, as arrays for its file."""
        owners = [name.split("[")[0] for name in self.observation_names]
        slots, rates = (
            np.array([k for k, name in enumerate(owners) if name == own], int)
            for own in (LAST_ACTION, ACTION_RATE)
        )
        return {
            "observations": np.array(self.observed_names),
            "scales": self._factors,
            "limit": np.array(self.limit),
            "slots": slots,
            "rates": rates,
            "scale": self._scale,
            "offset": self._offset,
            "range": np.array(self.action_range),
        }

    # ---------------------------------------------------------------------------------------------- save and load

    def save(self) -> bytes:
        """Return everything that the next steps depend on; `load` continues from it to the bit."""
        worlds = np.frombuffer(self.worlds.save(), np.uint8)
        return packed({"worlds": worlds, "seed": np.array(self._seed), **self._state()})

    def load(self, saved: bytes) -> None:
        """Continue from what `save` returned.

        Raises:
            SimulationError: it is of another environment, or holds numbers that none has; then nothing has changed.
        """
        try:
            parts = unpacked(saved)
        except (TypeError, ValueError):
            raise SimulationError(
                "saved", "is not what Environment.save returns; save again"
            ) from None
        own = self._state()
        for name, array in {**own, "worlds": np.zeros(0, np.uint8), "seed": np.array(0)}.items():
            part = parts.get(name)
            if (
                part is None
                or not np.can_cast(part.dtype, array.dtype, "same_kind")
                or (name != "worlds" and part.shape != array.shape)
            ):
                raise SimulationError("saved", "is of another environment; load it into one alike")
        self._check_counts(parts)
        before = self.worlds.save()
        self.worlds.load(parts["worlds"].tobytes())
        lost = np.asarray(self.worlds.lost)
        for name in ("action", "action_rate", "history"):
            rows = parts[name].reshape(len(self), -1)
            if not np.isfinite(rows[~lost]).all():
                self.worlds.load(before)
                raise self._wrong(name, "nan or inf")
        self._seed = int(parts["seed"])
        for name, array in own.items():
            array[...] = parts[name]
        self._has_begun = False
        rows = self._observed.rows(self._action, self._action_rate)
        self._readings[:] = rows[:, : self._observed.signal_count]

    def _check_counts(self, parts: Mapping[str, NDArray[Any]]) -> None:
        """Reject counts and keys that no environment has."""
        bounds = {"steps": (0, MOST), "episode": (-1, KEYS), "key": (0, KEYS), "seed": (0, KEYS)}
        for name in parts:
            least, end = bounds.get(
                name, (-1, MOST + KEYS) if name.startswith("due") else (None, 0)
            )
            if least is None:
                continue
            x = parts[name]
            wrong = ~((x >= least) & (x < end) & (x == np.floor(x)))
            if wrong.any():
                raise self._wrong(name, f"{np.asarray(x)[wrong].ravel()[0]}")

    def _wrong(self, name: str, what: str) -> SimulationError:
        problem = f"holds {what} as {name}, which no environment has"
        return SimulationError("saved", f"{problem}; load what Environment.save returned")

    def _state(self) -> dict[str, NDArray[Any]]:
        return {
            "steps": self.steps,
            "episode": self._episode,
            "key": self._key,
            "action": self._action,
            "action_rate": self._action_rate,
            "history": self._history,
            **{
                f"due{k}": self._engine.parts["due"][:, k]
                for k, (every, *_) in enumerate(self._schedules)
                if every < 0
            },
        }


def _recorded(worlds: Worlds) -> _engine.RecordedWorlds:
    """Return the engine's record of worlds, which the tables read and write."""
    return worlds._records.engine  # noqa: SLF001
