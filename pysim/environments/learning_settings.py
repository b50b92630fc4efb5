"""Settings and progress of learning, without the network's library."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pysim.errors import PysimError, PysimWarning

if TYPE_CHECKING:
    from pysim.environments.environment import Environment


DISCOUNT = 0.97  # of a reward a control step later, where neither the environment nor the settings give one


@dataclass(frozen=True)
class Settings:
    """Settings of PPO [Schulman, Wolski, Dhariwal, Radford and Klimov 2017]; the defaults suit legged robots."""

    steps: int = 24  # control steps of every world between updates
    epochs: int = 4
    minibatches: int = 4
    hidden: tuple[int, ...] = (128, 128)
    activation: str = "elu"
    discount: float | None = None  # by default the environment's, or DISCOUNT of `learn`
    trace_decay: float = 0.95  # of the generalised advantage
    clip: float = 0.2
    entropy: float = 0.002
    learning_rate: float = 1e-3
    divergence: float = 0.02  # to which the learning rate adapts
    deviation: float = 0.5  # of actions at the start
    end: float = float("inf")  # control steps of all worlds with which learning ends
    settling: float = 0.0  # last share of them, in which divergence and entropy fall to 0
    mirrored: bool = True  # learn from mirror images, too, where the environment has a mirror


@dataclass(frozen=True)
class Progress:
    """Results of an iteration: means over the episodes that ended in it, or over earlier ones if none did."""

    iteration: int
    steps: int  # control steps of all worlds so far
    seconds: float  # so far
    reward: float  # of a control step
    episode_return: float
    episode_length: float  # [s]
    terms: dict[str, float]  # of the reward of a control step
    simulated: float  # share of the time that the worlds took
    clipped: float  # share of the actions' numbers that were beyond their range


def discount_of(settings: Settings, environment: Environment) -> float:
    """Return the discount of the settings, else of the environment, else DISCOUNT."""
    discounts = (settings.discount, environment.discount, DISCOUNT)
    return next(value for value in discounts if value is not None)


def warn_without_reward(environment: Environment) -> None:
    """Warn of an environment that rewards nothing."""
    if not environment.reward_names:
        problem = "has no reward, so that all rewards are 0; add an [[environment.reward]]"
        warnings.warn(f"{environment.where()}: {problem}", PysimWarning, stacklevel=3)


def check_rewards(environment: Environment) -> None:
    """Reject an environment that rewards nothing, in which nothing can be learned.

    Raises:
        PysimError: it has no reward.
    """
    if not environment.reward_names:
        problem = "has no reward, so that nothing can be learned; add an [[environment.reward]]"
        raise PysimError(environment.where(), problem)
