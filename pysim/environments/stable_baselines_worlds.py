"""Environments for stable-baselines3: the interface of its `VecEnv`."""

from __future__ import annotations

# ruff: noqa: ANN401, ARG002, the signatures are those of stable-baselines3
from typing import TYPE_CHECKING, Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from pysim.environments.learning_settings import warn_without_reward
from pysim.environments.spaces import spaces_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from pysim.environments.environment import Environment


class StableBaselinesWorlds(VecEnv):
    """Worlds that stable-baselines3 learns with; those that end begin again in the same call.

    Args:
        environment: the worlds.
    """

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self._actions = np.zeros((len(environment), environment.action_size))
        warn_without_reward(environment)
        super().__init__(len(environment), *spaces_of(environment))

    def reset(self) -> NDArray[Any]:
        """Begin new episodes, from a seed that `seed` has set."""
        seeds = [seed for seed in self._seeds if seed is not None]
        self._reset_seeds()
        return self.environment.reset(seed=seeds[0] if seeds else None)

    def step_async(self, actions: NDArray[Any]) -> None:
        """Keep the actions (n, size) of the next step."""
        self._actions = actions

    def step_wait(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], list[dict[str, Any]]]:
        """Apply the actions for a control period."""
        own = self.environment
        found = own.step(self._actions)
        done = found.terminated | found.truncated
        infos: list[dict[str, Any]] = [{} for _ in range(len(own))]
        observations = found.observations
        for world in np.flatnonzero(done):
            infos[world]["terminal_observation"] = observations[world]
            infos[world]["TimeLimit.truncated"] = bool(found.truncated[world])
        if done.any():
            observations = own.reset(where=done)
        return observations, found.reward.astype(np.float32), done, infos

    def close(self) -> None:
        """End; worlds hold nothing that has to be closed."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of the environment for each world asked for."""
        return [getattr(self, attr_name, None) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refuse: worlds share one environment.

        Raises:
            AttributeError: always.
        """
        raise AttributeError(
            f"{attr_name}: all worlds share one pysim.Environment; set the attribute of that object"
        )

    def env_method(
        self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any
    ) -> list[Any]:
        """Refuse: worlds are no environments of their own.

        Raises:
            AttributeError: always.
        """
        raise AttributeError(
            f"{method_name}: all worlds share one pysim.Environment; call the method of that object"
        )

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """Return that no world is wrapped."""
        return [False for _ in self._get_indices(indices)]

    def _get_indices(self, indices: int | Iterable[int] | None) -> Iterable[int]:
        return super()._get_indices(indices)
