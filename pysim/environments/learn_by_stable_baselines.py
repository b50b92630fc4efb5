"""Learning of policies by PPO of stable-baselines3, with the settings and the interface of `Learner`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.environments.learning_settings import Progress, Settings, check_rewards, discount_of
from pysim.errors import PysimError
from pysim.sweeps.extras import check_installed

check_installed("learn --learner sb3", "torch", "stable_baselines3")

import torch  # noqa: E402, after the check
from stable_baselines3 import PPO  # noqa: E402
from stable_baselines3.common.vec_env import VecMonitor, VecNormalize  # noqa: E402

from pysim.environments.stable_baselines_worlds import StableBaselinesWorlds  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pysim.environments.environment import Environment

ACTIVATIONS = {"elu": torch.nn.ELU, "relu": torch.nn.ReLU, "tanh": torch.nn.Tanh}


class StableBaselinesLearner:
    """PPO of stable-baselines3 on the worlds of an environment; its learning rate is fixed.

    Args:
        environment: the worlds.
        settings: of PPO; `divergence`, `settling` and `mirrored` are of rsl_rl alone.
        seed: of the network's start and the actions.
    """

    def __init__(self, environment: Environment, settings: Settings, *, seed: int = 0) -> None:
        check_rewards(environment)
        self.environment, self.settings = environment, settings
        self._worlds = VecNormalize(
            VecMonitor(StableBaselinesWorlds(environment)), norm_reward=False
        )
        network = {
            "net_arch": list(settings.hidden),
            "activation_fn": ACTIVATIONS[settings.activation],
            "log_std_init": float(np.log(settings.deviation)),
        }
        self._ppo = PPO(
            "MlpPolicy", self._worlds, learning_rate=settings.learning_rate, n_steps=settings.steps,
            batch_size=settings.steps * len(environment) // settings.minibatches, n_epochs=settings.epochs,
            gamma=discount_of(settings, environment), gae_lambda=settings.trace_decay,
            clip_range=settings.clip, ent_coef=settings.entropy, max_grad_norm=1.0, policy_kwargs=network, seed=seed,
            device="cpu",
        )  # fmt: skip
        self._iteration, self._seconds = 0, 0.0

    @property
    def steps(self) -> int:
        """Control steps of all worlds so far."""
        return int(self._ppo.num_timesteps)

    def iterations(self, count: int) -> Iterator[Progress]:
        """Make iterations, each of steps of all worlds and an update, and yield what each led to."""
        for _ in range(count):
            start = time.perf_counter()
            self._ppo.learn(self.settings.steps * len(self.environment), reset_num_timesteps=False)
            self._iteration += 1
            self._seconds += time.perf_counter() - start
            yield self._progress()

    def _progress(self) -> Progress:
        environment, buffer = self.environment, self._ppo.rollout_buffer
        lowest, highest = environment.action_range
        episodes = list(self._ppo.ep_info_buffer or ())
        returned, length = (
            (float(np.mean([e[name] for e in episodes])) if episodes else float("nan"))
            for name in ("r", "l")
        )
        terms = environment.terms.mean(axis=0).tolist()  # of the last step
        return Progress(
            self._iteration,
            self.steps,
            self._seconds,
            float(buffer.rewards.mean()),
            returned,
            length * environment.period,
            dict(zip(environment.reward_names, terms, strict=True)),
            float("nan"),
            float(((buffer.actions < lowest) | (buffer.actions > highest)).mean()),
        )

    def write_policy(self, path: str | Path) -> None:
        """Write the policy, which `pysim scene.toml --policy` and controllers of type `learned_policy` read."""
        arrays: dict[str, Any] = {
            name: x.detach().cpu().numpy() for name, x in self._ppo.policy.state_dict().items()
        }
        seen = self._worlds.obs_rms
        arrays |= {"obs_rms.mean": seen.mean, "obs_rms.var": seen.var}
        arrays["activation"] = np.array(self.settings.activation)
        np.savez(path, allow_pickle=False, **arrays, **self.environment.policy_arrays())

    def save(self, path: str | Path) -> None:
        """Write the learner as stable-baselines3 does; `PPO.load` reads it."""
        self._ppo.save(path)

    def load(self, path: str | Path) -> None:
        """Refuse: what stable-baselines3 writes may run code when it is read.

        Raises:
            PysimError: always.
        """
        remedy = "go on in stable-baselines3 with PPO.load, or start anew"
        raise PysimError(str(path), f"is of stable-baselines3, which pysim does not read; {remedy}")
