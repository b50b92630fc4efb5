"""Environments for rsl_rl (`rsl-rl-lib` 5): its `VecEnv`, with the groups of observations of the environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from rsl_rl.env import VecEnv
from tensordict import TensorDict

from pysim.environments.learning_settings import warn_without_reward

if TYPE_CHECKING:
    from pysim.environments.environment import Environment


class RslRlWorlds(VecEnv):  # type: ignore[misc]  # rsl_rl has no types
    """Worlds that rsl_rl learns with; those that end begin again in the same call, on the processor.

    Args:
        environment: the worlds.
    """

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.num_envs, self.num_actions = len(environment), environment.action_size
        self.max_episode_length = environment.length
        self.device, self.cfg = "cpu", {"scene": str(environment.path)}
        warn_without_reward(environment)
        environment.reset()

    @property
    def episode_length_buf(self) -> torch.Tensor:
        """Control steps made in the episodes (n,)."""
        return torch.from_numpy(self.environment.steps)

    @episode_length_buf.setter
    def episode_length_buf(self, steps: torch.Tensor) -> None:
        self.environment.steps[:] = steps.numpy()

    def get_observations(self) -> TensorDict:
        """Return the current observations."""
        groups = {name: torch.from_numpy(x) for name, x in self.environment.groups.items()}
        return TensorDict(groups, batch_size=[self.num_envs])

    def step(
        self, actions: torch.Tensor
    ) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict[str, Any]]:
        """Apply actions (n, size) for a control period."""
        own = self.environment
        found = own.step(actions.numpy())
        done = found.terminated | found.truncated
        means = own.terms.mean(axis=0).tolist()
        log = {f"/reward/{name}": x for name, x in zip(own.reward_names, means, strict=True)}
        if own.levels is not None:
            log["/curriculum/level"] = float(own.levels.mean())
        if done.any():
            own.reset(where=done)
        extras = {"time_outs": torch.from_numpy(found.truncated), "log": log}
        reward = torch.from_numpy(found.reward.astype(np.float32))
        return self.get_observations(), reward, torch.from_numpy(done), extras
