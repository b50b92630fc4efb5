"""`Environment`: worlds that a learner acts on, as the `[environment]` table of their scene says.

    environment = Environment("go1.toml", 1024)
    observations = environment.reset()
    transition = environment.step(policy(observations))
    environment.reset(where=transition.terminated | transition.truncated)

The scene computes what is observed and rewarded, as signals; the engine computes ends, rewards and observations from
them (cpp/engine/environment_tables.hpp), on the threads of the worlds, as the plan says that `tables.py` reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim import _engine
from pysim.environments.groups import Groups
from pysim.environments.mirror_table import read_mirror
from pysim.environments.number_checks import NumberChecks
from pysim.environments.policy_arrays import policy_arrays
from pysim.environments.saved_environment import load_environment, saved_environment
from pysim.environments.starts import Starts, chosen_worlds
from pysim.environments.table_places import TablePlaces
from pysim.environments.tables import TableReader
from pysim.environments.transition import Transition
from pysim.errors import SimulationError
from pysim.scene import located, read_environment
from pysim.scene_files.loaded_scene import load_scene
from pysim.simulation.worlds import Worlds
from pysim.typing import Array
from pysim.worlds.argument_checks import checked_real

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike

    from numpy.typing import ArrayLike, DTypeLike, NDArray


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
        tables, problems = read_environment(path, overrides)
        scene = load_scene(path, overrides, allow_code=allow_code, package_dirs=package_dirs)
        seed = scene.settings.seed if seed is None else seed
        self._threads, self._seed = threads, np.array(seed)
        self.worlds = Worlds(
            scene,
            n,
            threads=threads,
            seed=seed,
            numbers=numbers,
            dtype=np.float32 if single else np.float64,
        )
        self._places = TablePlaces(problems)
        self.plan, self._observed = TableReader(tables, self._places, self.worlds).read()
        plan = self.plan
        self.period, self.length = plan.period, plan.length  # [s]; control steps of an episode
        self.limit, self.discount = plan.limit, tables.discount  # None leaves it to the learner
        self.action_size, self.action_range = len(plan.scale), (plan.lowest, plan.highest)
        self.frame_size, self.observation_names = len(plan.factors), list(plan.names)
        self.observation_size = self.frame_size * plan.history
        self.observed_names = tuple(own.signal for own in plan.observed)
        self.critic_size = self.observation_size + sum(own.x.count for own in plan.critic)
        self.end_names = tuple(end.name for end in plan.ends)
        self.reward_names = tuple(reward.name for reward in plan.rewards)
        self.mirror = read_mirror(tables.mirror, self._places, plan, self._observed, self.worlds)
        self._starts = Starts(plan, self.worlds)
        self.levels = self._starts.level_of_worlds  # (n,), live; None without a curriculum
        self._checks = NumberChecks(plan, self._places, self._observed, self.worlds)
        self._groups = Groups(plan, self._observed, self._checks)
        self._engine = _engine.EnvironmentTables(plan, worlds=n, single=self.dtype == np.float32)
        parts = self._engine.parts
        self.steps: NDArray[np.int64] = parts["steps"]  # control steps made in the episode
        self._episode: NDArray[np.int64] = parts["episode"]  # −1 before the first
        self._episode[:] = -1
        parts["number"][:] = np.arange(n) if numbers is None else np.asarray(numbers)
        self._key, self._readings = parts["key"], parts["readings"]
        self._action, self._action_rate = parts["action"], parts["action_rate"]
        self._frames: NDArray[Any] = parts["history"].reshape(n, -1)  # a view
        self.terms: Array = parts["terms"]  # of the last step, with their weights
        self.ends: NDArray[np.bool_] = parts["ends"]  # that hold after the last step
        self._has_begun = False  # whether all worlds have had an episode

    def __len__(self) -> int:
        return len(self.worlds)

    def where(self, *keys: str | int) -> str:
        """Return the place of a key of `[environment]` in its file."""
        return self._places.where(*keys)

    def reset(self, where: ArrayLike | None = None, *, seed: int | None = None) -> NDArray[Any]:
        """Begin new episodes, and return the observations (n, size) of all worlds.

        Args:
            where: mask (n,) or numbers of the worlds; all by default.
            seed: begin the random numbers of all worlds anew; `where` is left out then.
        """
        if seed is not None:
            if where is not None:
                problem = "and seed do not go together; seed resets all worlds"
                raise SimulationError("where", problem)
            self.worlds.set_seed(seed)
            self._seed[...] = seed
            self._episode[:] = -1
        chosen = chosen_worlds(where, len(self))
        if len(chosen):
            self._engine.begin(chosen, float(self._seed))
            self._starts.begin(chosen, self._key[chosen], self._episode[chosen] == 0)
            self._engine.start(self._records, chosen)
            self.worlds.signals.end_call()
            self._observe(chosen, begins=True)
        return self.observations

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
            problem = f"must have shape {self._action.shape}, got {given.shape}; give a row for each world"
            raise SimulationError("actions", problem)
        world = self._engine.act(self._records, given)
        if world >= 0:
            raise SimulationError("actions", f"of world {world} are not finite; check the policy")
        self.worlds.step(steps=self.plan.every)
        readings = self._observed.readings()
        reward, terminated, truncated, changed, faults = self._engine.end_step(
            self._records, readings, self._threads
        )
        if faults:
            self._checks.raise_first(faults, self._numbers(), self.terms)
        self._starts.note_step(self.terms, terminated, truncated)
        if self._starts.recurring or readings is not None:
            occurs = self._engine.parts["occurs"]
            drawn = self._starts.draw_again(occurs, self._key, self.steps)
            self.worlds.signals.end_call()
            self._observe(np.union1d(drawn, changed), begins=False)
        elif len(changed):
            self.worlds.signals.end_call()
        return Transition(self.observations, reward, terminated, truncated)

    def _check_begun(self) -> None:
        waiting = np.flatnonzero(self._episode < 0)
        if len(waiting):
            raise SimulationError(
                "episodes", f"that of world {waiting[0]} has not begun; call reset first"
            )
        self._has_begun = True

    @property
    def _records(self) -> _engine.RecordedWorlds:
        """The engine's records of the worlds, which the tables read and write."""
        return self.worlds._records.engine  # noqa: SLF001

    @property
    def observations(self) -> NDArray[Any]:
        """Current observations (n, size)."""
        return self._frames.copy()

    @property
    def critic(self) -> NDArray[Any]:
        """Observations of a critic (n, size): those of the policy, and the signals of `critic` without noise."""
        return self._groups.critic(self.observations, self._numbers())

    @property
    def groups(self) -> dict[str, NDArray[Any]]:
        """Groups of observations: `policy`, `critic` where it sees more, and those of the table `groups`."""
        return self._groups.all(self.observations, self._numbers())

    def _numbers(self) -> Array:
        """Return the numbers that the engine has read last."""
        return np.hstack([self._readings, self._action, self._action_rate])

    def _observe(self, chosen: NDArray[np.int32], *, begins: bool) -> None:
        """Observe worlds again; those that begin see their first observation as their history."""
        readings = self._observed.readings(chosen)
        faults = self._engine.observe(self._records, chosen, readings, begins, self._threads)
        if faults:
            self._checks.raise_first(faults, self._numbers(), self.terms)

    def policy_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a policy has to know of this environment, as arrays for its file."""
        return policy_arrays(self.plan)

    def save(self) -> bytes:
        """Return everything that the next steps depend on; `load` continues from it to the bit."""
        return saved_environment(self.worlds, self._state())

    def load(self, saved: bytes) -> None:
        """Continue from what `save` returned.

        Raises:
            SimulationError: it is of another environment, or holds numbers that none has; then nothing has changed.
        """
        load_environment(saved, self.worlds, self._state(), self._starts.level_count)
        self._has_begun = False
        rows = self._observed.rows(self._action, self._action_rate)
        self._readings[:] = rows[:, : self.plan.signals]

    def _state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that the next steps depend on besides the worlds, live."""
        parts = self._engine.parts
        names = ("steps", "episode", "key", "action", "action_rate", "history")
        own = {"seed": self._seed, **{name: parts[name] for name in names}}
        own |= {f"due{k}": parts["due"][:, k] for k in self.plan.drawn_times()}
        return own | self._starts.state()
