"""Proximal policy optimization on one page: a network learns to act in an environment of pysim.

    python ppo.py [SCENE] [--steps 3e5] [--worlds 256] [--seed 0]

Writes ppo.npz, the policy, which `pysim SCENE --policy ppo.npz` runs, and ppo.png, its mean reward. By default a pole
learns to stay upright, in ten seconds. Needs PyTorch. Formulas of Schulman, Wolski, Dhariwal, Radford and Klimov 2017,
https://arxiv.org/abs/1707.06347, with the advantages of Schulman et al. 2016, https://arxiv.org/abs/1506.02438.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np

from pysim.environments import Environment

import torch  # isort: skip  # after pysim
from torch import nn
from torch.distributions import Normal, kl_divergence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

HIDDEN = 128
STEPS = 24  # T, control steps of every world between two updates
EPOCHS = 4
MINIBATCHES = 4
DISCOUNT = 0.97  # γ
TRACE_DECAY = 0.95  # λ
CLIP = 0.2  # ε
ENTROPY = 0.002
DIVERGENCE = 0.02  # of the policies before and after an update, which the learning rate keeps


def network(inputs: int, outputs: int) -> nn.Sequential:
    """Return a network with two hidden layers."""
    layers = [nn.Linear(inputs, HIDDEN), nn.ELU(), nn.Linear(HIDDEN, HIDDEN), nn.ELU()]
    return nn.Sequential(*layers, nn.Linear(HIDDEN, outputs))


class Normaliser(nn.Module):
    """Brings numbers (n, size) to mean 0 and deviation 1, by all that it has seen."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.count = 0
        self.mean, self.variance = torch.zeros(size), torch.ones(size)

    @property
    def deviation(self) -> Tensor:
        """Of the numbers, not too small to divide by."""
        return self.variance.sqrt() + 0.01

    def see(self, x: Tensor) -> None:
        """Take more numbers into mean and variance [Chan, Golub and LeVeque 1979]."""
        self.count += len(x)
        share, step = len(x) / self.count, x.mean(0) - self.mean
        own = x.var(0, unbiased=False) - self.variance
        self.variance = self.variance + share * (own + (1 - share) * step**2)
        self.mean = self.mean + share * step

    def forward(self, x: Tensor) -> Tensor:
        return (x - self.mean) / self.deviation


class Agent(nn.Module):
    """Actor π(a|s), a normal distribution about a network's output, and critic V(s).

    Args:
        environment: whose observations s it sees; the critic sees those of the table `critic`, too.
        deviation: of the actions at the start.
    """

    def __init__(self, environment: Environment, deviation: float = 0.5) -> None:
        super().__init__()
        own, size = environment, environment.action_size
        self.seen, self.known = Normaliser(own.observation_size), Normaliser(own.critic_size)
        self.actor, self.critic = network(own.observation_size, size), network(own.critic_size, 1)
        self.deviation = nn.Parameter(torch.full((size,), deviation).log())

    def policy(self, seen: Tensor) -> Normal:
        """Return π(·|s), independent in each number of the action."""
        mean = self.actor(self.seen(seen))
        return Normal(mean, self.deviation.exp().expand_as(mean))

    def value(self, known: Tensor) -> Tensor:
        """Return V(s) (n,)."""
        return self.critic(self.known(known))[..., 0]


@dataclass
class Batch:
    """What T control steps of n worlds led to; every array is (T, n) or (T, n, size)."""

    seen: Tensor
    known: Tensor
    action: Tensor
    mean: Tensor  # of π, when it acted
    deviation: Tensor
    advantage: Tensor
    target: Tensor  # of the critic

    def minibatches(self) -> Iterator[Batch]:
        """Divide the samples, T·n of them, at random."""
        flat = [x.flatten(0, 1) for x in vars(self).values()]
        for chosen in torch.randperm(len(flat[0])).chunk(MINIBATCHES):
            yield Batch(*(x[chosen] for x in flat))


def collect(environment: Environment, agent: Agent) -> tuple[Batch, float]:
    """Act for T control steps in all worlds; return the samples and the mean reward."""
    own, rows = environment, []
    with torch.no_grad():
        for _ in range(STEPS):
            seen, known = torch.from_numpy(own.observations), torch.from_numpy(own.critic)
            agent.seen.see(seen)
            agent.known.see(known)
            policy = agent.policy(seen)
            action = policy.sample()
            found = own.step(action.numpy())
            # the last state of an episode has a value only where time was what ended it
            value, after = agent.value(known), agent.value(torch.from_numpy(own.critic))
            after[torch.from_numpy(found.terminated)] = 0.0
            done = torch.from_numpy(found.terminated | found.truncated)
            reward = torch.from_numpy(found.reward).float()
            error = reward + DISCOUNT * after - value  # δ = r + γ V(s′) − V(s)
            rows.append(
                (seen, known, action, policy.mean, policy.stddev, value, error, reward, done)
            )
            own.reset(where=done.numpy())
        columns = [torch.stack(column) for column in zip(*rows, strict=True)]
        *samples, value, error, reward, done = columns
        advantage, total = torch.zeros_like(value), torch.zeros(len(own))
        for t in reversed(range(STEPS)):  # A_t = δ_t + γ λ A_t+1, within an episode
            total = error[t] + DISCOUNT * TRACE_DECAY * ~done[t] * total
            advantage[t] = total
    scaled = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    return Batch(*samples, scaled, advantage + value), float(reward.mean())


def loss_of(agent: Agent, batch: Batch) -> tuple[Tensor, float]:
    """Return what is minimised, and by how much the policy has moved from the one that acted."""
    policy, before = agent.policy(batch.seen), Normal(batch.mean, batch.deviation)
    log_ratio = (policy.log_prob(batch.action) - before.log_prob(batch.action)).sum(-1)
    ratio = log_ratio.exp()  # π(a|s) / π_before(a|s)
    gain = torch.min(
        ratio * batch.advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * batch.advantage
    ).mean()
    miss = (agent.value(batch.known) - batch.target).square().mean()
    with torch.no_grad():
        moved = kl_divergence(before, policy).sum(-1).mean()
    return miss - gain - ENTROPY * policy.entropy().sum(-1).mean(), float(moved)


def update(agent: Agent, optimizer: torch.optim.Adam, batch: Batch) -> None:
    """Improve actor and critic by a batch."""
    group = optimizer.param_groups[0]
    for _ in range(EPOCHS):
        for own in batch.minibatches():
            loss, moved = loss_of(agent, own)
            if moved > 2 * DIVERGENCE:
                group["lr"] = max(group["lr"] / 1.5, 1e-5)
            elif moved < DIVERGENCE / 2:
                group["lr"] = min(group["lr"] * 1.5, 1e-2)
            optimizer.zero_grad()
            loss.backward()
            for part in (
                agent.actor,
                agent.critic,
            ):  # by itself, for the critic's errors are larger
                nn.utils.clip_grad_norm_(part.parameters(), 1.0)
            optimizer.step()


def learn(environment: Environment, steps: float, seed: int = 0) -> tuple[Agent, list[float]]:
    """Learn from control steps of all worlds; return the agent and the mean rewards of its iterations."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)  # products this small gain nothing from more
    agent, rewards = Agent(environment), []
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3)
    environment.reset(seed=seed)
    for k in range(max(1, round(steps / STEPS / len(environment)))):
        batch, reward = collect(environment, agent)
        update(agent, optimizer, batch)
        rewards.append(reward)
        if k % 10 == 9:
            print(f"{(k + 1) * STEPS * len(environment) / 1e6:.2f} M: reward {reward:.3f}")
    return agent, rewards


def write_policy(agent: Agent, environment: Environment, path: str) -> None:
    """Write the policy as scenes read it."""
    arrays: dict[str, Any] = environment.policy_arrays()
    for k, layer in enumerate(agent.actor[::2]):
        arrays[f"weight{k}"] = layer.weight.detach().numpy()
        arrays[f"bias{k}"] = layer.bias.detach().numpy()
    seen = agent.seen
    arrays |= {"mean": seen.mean.numpy(), "deviation": seen.deviation.numpy(), "activation": "elu"}
    np.savez(path, **arrays)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="learn to act in an environment")
    parser.add_argument("scene", nargs="?", default="scenes/environments/cart_pole.toml")
    parser.add_argument("--steps", type=float, default=3e5)
    parser.add_argument("--worlds", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    environment = Environment(given.scene, given.worlds)
    agent, rewards = learn(environment, given.steps, given.seed)
    write_policy(agent, environment, "ppo.npz")
    figure, axes = plt.subplots(figsize=(5, 3.2), layout="constrained")
    axes.plot(np.arange(1, len(rewards) + 1) * STEPS * len(environment) / 1e6, rewards)
    axes.set(xlabel="million control steps", ylabel="mean reward")
    figure.savefig("ppo.png", dpi=110)
