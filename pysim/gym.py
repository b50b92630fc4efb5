"""Environments of scenes for Gymnasium (extra `gym`).

    env = pysim.gym.make_vec("go1.toml", 1024)       # gymnasium.vector.VectorEnv
    env = pysim.gym.make("go1.toml")                 # gymnasium.Env of one world
    pysim.gym.register("Go1-v0", "go1.toml")         # gymnasium.make("Go1-v0"), gymnasium.make_vec("Go1-v0", 1024)

`[environment]` of the scene says what is observed, done and rewarded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.environments.environment import Environment
from pysim.environments.learning_settings import warn_without_reward
from pysim.environments.transition import Transition
from pysim.errors import SimulationError, did_you_mean, without_package
from pysim.scene import read_environment

try:
    import gymnasium
    from gymnasium.envs.registration import EnvSpec
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space

    from pysim.environments.spaces import spaces_of
except ModuleNotFoundError as error:
    raise without_package(error, "gymnasium", "gym") from None

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike

    from numpy.typing import NDArray

    Path_ = str | PathLike[str]

__all__ = ["PysimEnv", "PysimVectorEnv", "make", "make_vec", "register"]

MODES = {mode.value: mode for mode in AutoresetMode} | {
    mode.name.lower(): mode for mode in AutoresetMode
}
MASK = "reset_mask"  # Gymnasium's option: which worlds begin again
SEEDS = 2**31  # seeds that are drawn where none is given


def make_vec(path: Path_, num_envs: int, **options: Any) -> PysimVectorEnv:  # noqa: ANN401, see PysimVectorEnv
    """Return a vector environment of worlds of a scene; options are those of `PysimVectorEnv`."""
    env = PysimVectorEnv(path, num_envs, **options)
    env.spec = _spec_of(path, options)
    return env


def make(path: Path_, **options: Any) -> PysimEnv:  # noqa: ANN401, see PysimEnv
    """Return an environment of one world of a scene; options are those of `PysimEnv`."""
    env = PysimEnv(path, **options)
    env.spec = _spec_of(path, options)
    return env


def register(name: str, path: Path_, **options: Any) -> None:  # noqa: ANN401, see PysimEnv
    """Register the environment of a scene file with Gymnasium under a name such as "Go1-v0".

    Its specification has `max_episode_steps`: that of the options, or the control periods of the scene's
    `environment.duration`.
    """
    gymnasium.register(**_arguments_of_spec(name, path, options))


def _arguments_of_spec(name: str, path: Path_, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of Gymnasium's specification of an environment."""
    own = dict(options)
    own["overrides"] = _lasting(path, own.get("overrides"), own.pop("max_episode_steps", None))
    tables, _ = read_environment(path, own["overrides"])
    return {
        "id": name,
        "entry_point": "pysim.gym:PysimEnv",
        "vector_entry_point": "pysim.gym:PysimVectorEnv",
        "max_episode_steps": round(tables.duration / tables.period),
        "kwargs": {"path": str(Path(path).resolve()), **own},
    }


def _lasting(
    path: Path_, overrides: Mapping[str, object] | None, steps: int | None
) -> Mapping[str, object] | None:
    """Return values of keys of a scene with which its episodes have that many control periods; None keeps theirs."""
    if steps is None:
        return overrides
    duration = steps * read_environment(path, overrides)[0].period
    return {**(overrides or {}), "environment.duration": duration}


def _spec_of(path: Path_, options: Mapping[str, Any]) -> EnvSpec:
    """Return the specification of an environment that is not registered."""
    name = re.sub(r"[^\w:.-]", "_", Path(path).stem)
    return EnvSpec(**_arguments_of_spec(f"pysim/{name}-v0", path, options))


def check_options(options: object) -> None:
    """Reject options of a reset that are no mapping.

    Raises:
        SimulationError: they are something else.
    """
    if not isinstance(options, Mapping):
        problem = f"must map names to values, got {options!r}"
        raise SimulationError("options", f"{problem}; write options={{{MASK!r}: mask}}, or None")


class PysimVectorEnv(VectorEnv[Any, Any, Any]):
    """Worlds of a scene as a Gymnasium vector environment.

    Args:
        path: the scene file, with an `[environment]` table.
        num_envs: number of worlds.
        autoreset_mode: "next_step", "same_step" or "disabled", as in Gymnasium.
        render_mode: "rgb_array" for pictures, or None.
        render_worlds: numbers of the worlds that `render` draws.
        groups: whether observations are dictionaries of groups: `policy`, `critic`, and those of `environment.groups`.
        threads: that share the worlds.
        single: whether the worlds are stepped in single precision, which is faster, see `pysim.Worlds`.
        overrides: values of keys of the scene file.
        max_episode_steps: control periods of an episode; those of the scene's `environment.duration` by default.
        allow_code: whether plugin files of the scene may run.
        package_dirs: folders of packages, as in `pysim.load_scene`.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}  # noqa: RUF012, as Gymnasium's

    def __init__(
        self,
        path: Path_,
        num_envs: int = 1,
        *,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        render_worlds: Sequence[int] = (0,),
        groups: bool = False,
        threads: int = 1,
        single: bool = False,
        overrides: Mapping[str, object] | None = None,
        max_episode_steps: int | None = None,
        allow_code: bool = False,
        package_dirs: Iterable[str | PathLike[str]] = (),
    ) -> None:
        self.environment = Environment(
            path,
            num_envs,
            _lasting(path, overrides, max_episode_steps),
            threads=threads,
            single=single,
            allow_code=allow_code,
            package_dirs=package_dirs,
        )
        environment = self.environment
        self.mode = _mode(autoreset_mode)
        self.num_envs, self.render_mode = num_envs, _render_mode(render_mode)
        self._drawn = _worlds_to_draw(render_worlds, num_envs)
        self.metadata = self.metadata | {
            "render_fps": round(1 / environment.period),
            "autoreset_mode": self.mode,
        }
        warn_without_reward(environment)
        self._has_groups = groups
        self.single_observation_space, self.single_action_space = spaces_of(
            environment, groups=groups
        )
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._done, self._begun = np.zeros(num_envs, bool), False

    def reset(
        self, *, seed: int | list[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin new episodes, of those worlds whose `reset_mask` is true if options have one."""
        if isinstance(seed, list):
            raise SimulationError(
                "seed", "is a list; give one number, from which all worlds follow"
            )
        own = self.environment
        if (mask := self._mask({} if options is None else options, seed)) is not None:
            self._done[mask] = False
            return self._seen(own.reset(where=mask)), {}
        super().reset(seed=seed)
        self._done[:] = False
        draws, self._begun = seed is None and not self._begun, True  # else episodes follow the last
        seen = own.reset(seed=int(self.np_random.integers(SEEDS)) if draws else seed)
        return self._seen(seen), {}

    def _seen(self, observations: NDArray[Any]) -> Any:  # noqa: ANN401, an array, or groups
        """Return current observations as users see them: an array, or a dictionary of groups."""
        return self.environment.groups if self._has_groups else observations

    def _mask(self, options: Mapping[str, Any], seed: int | None) -> NDArray[np.bool_] | None:
        """Return the option `reset_mask`."""
        check_options(options)
        for name in options:
            if name != MASK:
                raise SimulationError(
                    f"options.{name}", f"is no option{did_you_mean(name, [MASK])}"
                )
        if (given := options.get(MASK)) is None:
            return None
        mask, where = np.asarray(given), f"options.{MASK}"
        if mask.dtype != bool or mask.shape != (self.num_envs,):
            problem = f"must be a mask ({self.num_envs},) of True and False"
            raise SimulationError(where, f"{problem}, got {mask.dtype} {mask.shape}")
        if seed is not None:
            raise SimulationError(where, "and seed do not go together; seed resets all worlds")
        return mask

    def step(
        self,
        actions: Any,  # noqa: ANN401, an array
    ) -> tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Apply actions (num_envs, size) for a control period."""
        environment, info = self.environment, {}
        begins = self._done.copy()
        if self.mode == AutoresetMode.DISABLED and begins.any():
            world = int(np.flatnonzero(begins)[0])
            problem = f"{int(begins.sum())} have ended, such as that of world {world}"
            raise SimulationError(
                "episodes", f"{problem}; reset them by options={{'reset_mask': …}}"
            )
        transition = environment.step(actions)
        observations, reward, terminated, truncated = transition
        if begins.any():  # their actions are left out
            observations = environment.reset(where=begins)
            environment.terms[begins] = 0.0
            reward = np.where(begins, 0.0, reward)
            terminated, truncated = terminated & ~begins, truncated & ~begins
        done = terminated | truncated
        info = _terms(environment, Transition(observations, reward, terminated, truncated))
        if self.mode == AutoresetMode.SAME_STEP and done.any():
            final = _final(self._seen(observations), done)
            info |= {"final_obs": final, "_final_obs": done.copy()}
            info |= {"final_info": {"terms": info["terms"]}, "_final_info": done.copy()}
            observations = environment.reset(where=done)
        self._done = done if self.mode != AutoresetMode.SAME_STEP else np.zeros_like(done)
        return self._seen(observations), reward, terminated, truncated, info

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """Return a picture (height, width, 3) of each of the worlds to draw; Gymnasium's `RecordVideo` tiles them."""
        if self.render_mode is None:
            return None
        return tuple(_picture(self.environment, world) for world in self._drawn)


class PysimEnv(gymnasium.Env[Any, Any]):
    """One world of a scene as a Gymnasium environment; see `PysimVectorEnv` for its arguments."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}  # noqa: RUF012, as Gymnasium's

    def __init__(
        self,
        path: Path_,
        *,
        render_mode: str | None = None,
        groups: bool = False,
        single: bool = False,
        overrides: Mapping[str, object] | None = None,
        max_episode_steps: int | None = None,
        allow_code: bool = False,
        package_dirs: Iterable[str | PathLike[str]] = (),
    ) -> None:
        self.environment = Environment(
            path,
            1,
            _lasting(path, overrides, max_episode_steps),
            single=single,
            allow_code=allow_code,
            package_dirs=package_dirs,
        )
        self.render_mode, self._begun = _render_mode(render_mode), False
        self.metadata = self.metadata | {"render_fps": round(1 / self.environment.period)}
        warn_without_reward(self.environment)
        self._has_groups = groups
        self.observation_space, self.action_space = spaces_of(self.environment, groups=groups)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin a new episode."""
        check_options({} if options is None else options)
        super().reset(seed=seed, options=options)
        draws, self._begun = seed is None and not self._begun, True  # else episodes follow the last
        new = int(self.np_random.integers(SEEDS)) if draws else seed
        return self._seen(self.environment.reset(seed=new)), {}

    def _seen(self, observations: NDArray[Any]) -> Any:  # noqa: ANN401, an array, or groups
        """Return the current observation as users see it: an array, or a dictionary of groups."""
        if not self._has_groups:
            return observations[0]
        return {name: x[0] for name, x in self.environment.groups.items()}

    def step(
        self,
        action: Any,  # noqa: ANN401, an array
    ) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Apply an action for a control period."""
        given = np.asarray(action)
        if given.shape != self.action_space.shape:
            problem = f"must have shape {self.action_space.shape}, got {given.shape}"
            raise SimulationError("action", problem)
        transition = self.environment.step(given[None])
        own = self.environment
        info: dict[str, Any] = {
            "terms": dict(zip(own.reward_names, own.terms[0].tolist(), strict=True))
        }
        if own.levels is not None:
            info["level"] = int(own.levels[0])
        return (
            self._seen(transition.observations),
            float(transition.reward[0]),
            bool(transition.terminated[0]),
            bool(transition.truncated[0]),
            info,
        )

    def render(self) -> Any:  # noqa: ANN401, as Gymnasium
        """Return a picture (height, width, 3) with `render_mode = "rgb_array"`."""
        return None if self.render_mode is None else _picture(self.environment, 0)


def _mode(given: str | AutoresetMode) -> AutoresetMode:
    if isinstance(given, AutoresetMode):
        return given
    name = str(given)
    if name.lower() not in MODES:
        known = [mode.name.lower() for mode in AutoresetMode]
        raise SimulationError("autoreset_mode", f"there is no {given!r}{did_you_mean(name, known)}")
    return MODES[name.lower()]


def _render_mode(given: str | None) -> str | None:
    if given not in (None, "rgb_array"):
        raise SimulationError("render_mode", f'is {given!r}; give "rgb_array", or none')
    return given


def _worlds_to_draw(given: Sequence[int], count: int) -> tuple[int, ...]:
    """Return the numbers of the worlds to draw; SimulationError if there is none of a number."""
    worlds = tuple(given)
    numbers: tuple[Any, ...] = worlds  # callers without types give other things
    for world in numbers:
        if not isinstance(world, (int, np.integer)) or not 0 <= world < count:
            problem = f"there is no world {world!r}; they are numbered 0 to {count - 1}"
            raise SimulationError("render_worlds", problem)
    return worlds


def _terms(own: Environment, found: Transition) -> dict[str, Any]:
    """Return the terms of the reward by name, in the form of Gymnasium's infos."""
    every = np.ones(len(found.reward), bool)
    terms = {name: own.terms[:, k].copy() for k, name in enumerate(own.reward_names)}
    info: dict[str, Any] = {"terms": terms, "_terms": every}
    if own.levels is not None:
        info |= {"level": own.levels.copy(), "_level": every}
    return info


def _final(observations: Any, done: NDArray[np.bool_]) -> NDArray[np.object_]:  # noqa: ANN401, an array, or groups
    """Return the last observations of the episodes that are done, None for the others."""
    found = np.full(len(done), None, dtype=object)
    for world in np.flatnonzero(done):
        if isinstance(observations, dict):
            found[world] = {name: x[world] for name, x in observations.items()}
        else:
            found[world] = observations[world]
    return found


def _picture(own: Environment, world: int) -> NDArray[np.uint8]:
    from pysim.render.still import still  # noqa: PLC0415, VTK costs a second

    return still(own.worlds.scene(world))
