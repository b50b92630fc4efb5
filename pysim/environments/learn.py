"""Learning of policies by PPO of rsl_rl (extra `learn`).

learner = Learner(Environment("go1.toml", 1024), seed=1)
for progress in learner.iterations(100):
    print(progress.reward, progress.episode_length)
learner.write_policy("policy.npz")

A learner is one of several where `torch.distributed` has a group of processes, see `parallel_learning`.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import time
from copy import deepcopy
from dataclasses import dataclass, field
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pysim.environments.learning_settings import Progress, Settings, check_rewards, discount_of
from pysim.errors import PysimError, SimulationError
from pysim.sweeps.extras import check_installed

check_installed("learn", "torch", "rsl_rl")

import torch  # noqa: E402, after the check
from rsl_rl.algorithms import PPO  # noqa: E402
from torch import distributed  # noqa: E402

from pysim.environments.rsl_rl_worlds import RslRlWorlds  # noqa: E402
from pysim.environments.sealed_file import read_sealed, write_sealed  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tensordict import TensorDict

    from pysim.environments.environment import Environment
    from pysim.environments.mirror import Mirror

FORMAT = b"pysim learner 2\n"
MOST_ITERATIONS = 10**9
FASTEST = 1e-2  # learning rate of PPO whose divergence is held
UNREADABLE = (
    RuntimeError, LookupError, TypeError, ValueError, AttributeError, EOFError, OverflowError, MemoryError,
    UnpicklingError,
)  # fmt: skip
T = TypeVar("T")


@dataclass
class _Episodes:
    """Returns and lengths of episodes."""

    returns: np.ndarray[Any, Any]
    recent: list[tuple[float, int]] = field(default_factory=list)

    def add(
        self,
        reward: np.ndarray[Any, Any],
        done: np.ndarray[Any, Any],
        lengths: np.ndarray[Any, Any],
    ) -> None:
        self.returns += reward
        for world in np.flatnonzero(done):
            self.recent.append((float(self.returns[world]), int(lengths[world])))
        self.returns[done] = 0.0
        del self.recent[:-200]


def _means(episodes: list[tuple[float, int]]) -> tuple[float, float]:
    """Return the mean return and length [control steps]; nan without episodes."""
    if not episodes:
        return float("nan"), float("nan")
    a, b = np.mean(episodes, axis=0)
    return float(a), float(b)


class _Images:
    """Batches with their mirror images, for the symmetry of rsl_rl.

    Args:
        mirror: of the environment.
    """

    def __init__(self, mirror: Mirror) -> None:
        own = {"policy": mirror.observation, "critic": mirror.critic, "action": mirror.action}
        self._places = {name: torch.from_numpy(image.place) for name, image in own.items()}
        self._factors = {
            name: torch.from_numpy(image.factor).float() for name, image in own.items()
        }

    def __call__(
        self, *, env: RslRlWorlds, obs: TensorDict, actions: torch.Tensor
    ) -> tuple[TensorDict, torch.Tensor]:
        """Return observations and actions, each followed by its mirror image."""
        del env
        images = obs.clone(recurse=False)
        for name in obs.keys():  # noqa: SIM118, a TensorDict
            images[name] = self._of(obs[name], str(name))
        both: Any = torch.cat([obs, images])  # torch declares that it returns a tensor
        return both, torch.cat([actions, self._of(actions, "action")])

    def _of(self, x: torch.Tensor, name: str) -> torch.Tensor:
        if name not in self._places:  # a group that neither the actor nor the critic sees
            return x
        return x.index_select(1, self._places[name]) * self._factors[name]


@contextlib.contextmanager
def _fast_products() -> Iterator[None]:
    """Multiply matrices with factors in bfloat16, twice as fast, on processors that do; sums have 32 bits."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _keep_memory() -> None:
    """Let glibc keep freed memory: an update frees tensors of megabytes, and their pages cost a tenth of the time."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(-1, 1 << 30)  # M_TRIM_THRESHOLD
        mallopt(-3, 1 << 25)  # M_MMAP_THRESHOLD, the largest possible


class Learner:
    """PPO on the worlds of an environment.

    Args:
        environment: the worlds.
        settings: of PPO.
        seed: of the network's start and the actions.
        threads: of the network.
    """

    def __init__(
        self,
        environment: Environment,
        settings: Settings | None = None,
        *,
        seed: int = 0,
        threads: int = 1,
    ) -> None:
        check_rewards(environment)
        self.environment, self.settings = environment, settings or Settings()
        self._rank, self._ranks = 0, 1
        if distributed.is_available() and distributed.is_initialized():
            self._rank, self._ranks = distributed.get_rank(), distributed.get_world_size()
        self._count = sum(self._gathered(len(environment)))
        torch.manual_seed(seed)
        torch.set_num_threads(threads)
        _keep_memory()
        self._worlds = RslRlWorlds(environment)
        self._observations = self._worlds.get_observations()
        with contextlib.redirect_stdout(io.StringIO()):  # rsl_rl prints its networks
            self._ppo = PPO.construct_algorithm(
                self._observations, self._worlds, self._configuration(), "cpu"
            )
        self._ppo.train_mode()
        # no loss is made of what it would compute at every update
        if self._ppo.symmetry is not None:
            self._ppo.symmetry.compute_loss = lambda *_: torch.zeros(())
        rng = np.random.default_rng(seed)
        if self._rank > 0:  # the same network, and other actions
            rng = np.random.default_rng([seed, self._rank])
            torch.manual_seed(int(rng.integers(2**63)))
        environment.steps[:] = rng.integers(0, environment.length, len(environment))
        self._iteration, self._seconds = 0, 0.0
        self._episodes = _Episodes(np.zeros(len(environment)))

    def _configuration(self) -> dict[str, Any]:
        settings = self.settings
        network = {
            "class_name": "rsl_rl.models:MLPModel",
            "hidden_dims": list(settings.hidden),
            "activation": settings.activation,
            "obs_normalization": True,
        }
        normal = {
            "class_name": "rsl_rl.modules.distribution:GaussianDistribution",
            "init_std": settings.deviation,
        }
        mirror = self.environment.mirror if settings.mirrored else None
        # samples of a minibatch, which costs as much with half of them
        twice = 1 if mirror is None else 2
        symmetry = None
        if mirror is not None:
            symmetry = {"use_data_augmentation": True, "data_augmentation_func": _Images(mirror)}
        sees_more = self.environment.critic_size > self.environment.observation_size
        return {
            "num_steps_per_env": settings.steps,
            "obs_groups": {"actor": ["policy"], "critic": ["critic" if sees_more else "policy"]},
            "multi_gpu": None
            if self._ranks == 1
            else {"global_rank": self._rank, "world_size": self._ranks},
            "algorithm": {
                "class_name": "rsl_rl.algorithms:PPO",
                "num_learning_epochs": max(1, settings.epochs // twice),
                "num_mini_batches": settings.minibatches * twice,
                "symmetry_cfg": symmetry,
                "clip_param": settings.clip,
                "gamma": discount_of(settings, self.environment),
                "lam": settings.trace_decay,
                "entropy_coef": settings.entropy,
                "learning_rate": settings.learning_rate,
                "desired_kl": settings.divergence,
            },
            "actor": {**network, "distribution_cfg": normal},
            "critic": network,
        }

    @property
    def steps(self) -> int:
        """Control steps of all worlds so far."""
        return self._iteration * self.settings.steps * self._count

    def _gathered(self, own: T) -> list[T]:
        """Return what every process gives, in their order."""
        found = [own] * self._ranks
        if self._ranks == 1:
            return found
        distributed.all_gather_object(found, own)
        return found

    def iterations(self, count: int) -> Iterator[Progress]:
        """Make iterations, each of steps of all worlds and an update, and yield what each led to."""
        for _ in range(count):
            with _fast_products():
                progress = self._iterate()
            yield progress

    def _iterate(self) -> Progress:
        environment, ppo, start = self.environment, self._ppo, time.perf_counter()
        total, terms, clipped = 0.0, np.zeros(len(environment.reward_names)), 0.0
        lowest, highest = environment.action_range
        with torch.inference_mode():
            for _ in range(self.settings.steps):
                actions = ppo.act(self._observations)
                clipped += float(((actions < lowest) | (actions > highest)).float().mean())
                before = environment.steps + 1
                self._observations, reward, done, extras = self._worlds.step(actions)
                ppo.process_env_step(self._observations, reward, done, extras)
                self._episodes.add(reward.numpy(), done.numpy(), before)
                total += float(reward.mean())
                terms += environment.terms.mean(axis=0)
            ppo.compute_returns(self._observations)
        simulated = time.perf_counter() - start
        self._settle()
        ppo.update()
        spent = time.perf_counter() - start
        self._iteration += 1
        self._seconds += spent
        share = len(environment) / self._count
        sums = share * np.array([total, clipped, *terms]) / self.settings.steps
        gathered = self._gathered((sums, self._episodes.recent))
        reward, beyond, *means = np.sum([sums for sums, _ in gathered], axis=0).tolist()
        returned, length = _means([episode for _, recent in gathered for episode in recent])
        return Progress(
            self._iteration,
            self.steps,
            self._seconds,
            reward,
            returned,
            length * environment.period,
            dict(zip(environment.reward_names, means, strict=True)),
            simulated / spent,
            beyond,
        )

    def _settle(self) -> None:
        """Let the policy change ever less towards the end of learning."""
        own = self.settings
        left = max(0.0, 1.0 - self.steps / own.end)
        share = 1.0 if left >= own.settling else left / own.settling
        self._ppo.desired_kl = share * own.divergence
        self._ppo.entropy_coef = share * own.entropy

    def write_policy(self, path: str | Path) -> None:
        """Write the policy, which `pysim scene.toml --policy` and controllers of type `learned_policy` read."""
        if self._rank > 0:  # the same policy
            return
        actor, environment = self._ppo.actor, self.environment
        layers = [layer for layer in actor.mlp.modules() if isinstance(layer, torch.nn.Linear)]
        arrays: dict[str, Any] = {}
        for k, layer in enumerate(layers):
            arrays[f"weight{k}"] = layer.weight.detach().numpy()
            arrays[f"bias{k}"] = layer.bias.detach().numpy()
        normal = actor.obs_normalizer
        size = environment.observation_size
        eps = float(getattr(normal, "eps", 0.0))
        arrays["mean"] = normal.mean.detach().numpy().reshape(size)
        arrays["deviation"] = normal.std.detach().numpy().reshape(size) + eps
        arrays["activation"] = np.array(self.settings.activation)
        arrays |= environment.policy_arrays()
        np.savez(path, **arrays)

    def save(self, path: str | Path) -> None:
        """Write what `load` continues from, of all processes."""
        own = {
            "environment": self.environment.save(),
            "returns": self._episodes.returns.tolist(),
            "random": torch.get_rng_state(),
        }
        first, *others = self._gathered(own)
        state = {
            "ppo": self._ppo.save(),
            "iteration": self._iteration,
            "seconds": self._seconds,
            "learning_rate": self._ppo.learning_rate,
            **first,
            "others": others,
        }
        if self._rank == 0:
            file = io.BytesIO()
            torch.save(state, file)
            write_sealed(path, FORMAT, file.getvalue())

    def load(self, path: str | Path) -> None:
        """Continue from what `save` has written.

        Raises:
            PysimError: it is damaged, or of another environment, network or number of processes; then the learner
                stays as it was.
        """
        data = read_sealed(path, FORMAT, "checkpoint of pysim learn")
        try:
            state = torch.load(io.BytesIO(data), weights_only=True)
            shares = [state, *state.get("others", [])]
            progress = _progress(state, max(self.settings.learning_rate, FASTEST))
        except UNREADABLE:
            raise PysimError(str(path), "is no checkpoint of pysim learn; start anew") from None
        if len(shares) != self._ranks:
            problem = f"is of {len(shares)} processes, not of {self._ranks}"
            raise PysimError(str(path), f"{problem}; go on with --threads {len(shares)}")
        before = deepcopy(self._ppo.save())
        try:
            returns, random = _own_share(shares[self._rank], len(self.environment))
            _check_finite(state["ppo"])
            self._ppo.load(state["ppo"], None, True)
            self.environment.load(shares[self._rank]["environment"])
        except (*UNREADABLE, SimulationError):
            self._ppo.load(before, None, True)
            problem = "does not fit this environment and network"
            remedy = "give the scene, --set and --worlds that it was learned with, or start anew"
            raise PysimError(str(path), f"{problem}; {remedy}") from None
        self._observations = self._worlds.get_observations()
        self._iteration, self._seconds, self._ppo.learning_rate = progress
        self._episodes.returns[:] = returns
        torch.set_rng_state(random)


def _check_finite(part: Any) -> None:  # noqa: ANN401, whatever PPO saves
    """Require that the numbers of networks and their optimizer are finite.

    Raises:
        ValueError: one is not.
    """
    if isinstance(part, torch.Tensor):
        if not bool(torch.isfinite(part).all()):
            raise ValueError("nan or inf")
    elif isinstance(part, dict):
        for own in part.values():
            _check_finite(own)
    elif isinstance(part, (list, tuple)):
        for own in part:
            _check_finite(own)


def _progress(state: dict[str, Any], fastest: float) -> tuple[int, float, float]:
    """Return iteration, seconds [s] and learning rate, `fastest` at most, of a checkpoint.

    Raises:
        ValueError: they are others than a learner has.
    """
    iteration, seconds, rate = (state[name] for name in ("iteration", "seconds", "learning_rate"))
    if type(iteration) is not int or not 0 <= iteration < MOST_ITERATIONS:
        raise ValueError(iteration)
    if not (0 <= float(seconds) < np.inf and 0 < float(rate) <= fastest):
        raise ValueError(seconds, rate)
    return iteration, float(seconds), float(rate)


def _own_share(share: dict[str, Any], worlds: int) -> tuple[np.ndarray[Any, Any], torch.Tensor]:
    """Return the returns of episodes (worlds,) and the state of random numbers in the share of a process.

    Raises:
        ValueError: they are others than a learner has.
    """
    returns, random = np.asarray(share["returns"], float), share["random"]
    torch.Generator().set_state(random)
    if returns.shape != (worlds,) or not np.isfinite(returns).all():
        raise ValueError(returns.shape)
    return returns, random
