"""Trial of an environment with random actions: ranges of observations and rewards, ends, and speed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.environments.environment import Environment

    Array = NDArray[Any]


@dataclass(frozen=True)
class Trial:
    """Ranges of observations, terms of rewards and ends of episodes in a trial of an environment."""

    steps: int  # control steps of all worlds
    seconds: float  # that they took
    lowest: Array  # (observation numbers,), with noise and scales
    highest: Array
    terms: Array  # (control steps, worlds, rewards), with their weights
    ends: Array  # (ends,), episodes that each has terminated
    at_once: Array  # (ends,), those of them that it has terminated in their first control step
    truncated: int  # episodes
    lost: int  # worlds


def try_environment(environment: Environment, steps: int, seed: int = 0) -> Trial:
    """Take control steps with actions that are uniform in their range, beginning anew where episodes end."""
    rng = np.random.default_rng(seed)
    shape = len(environment), environment.action_size
    observations = environment.reset(seed=seed)
    lowest, highest = observations.min(axis=0), observations.max(axis=0)
    terms, ends = [], np.zeros(len(environment.end_names), int)
    at_once = np.zeros_like(ends)
    truncated = lost = 0
    start = time.perf_counter()
    for _ in range(steps):
        found = environment.step(rng.uniform(*environment.action_range, shape))
        terms.append(environment.terms.copy())
        lowest = np.minimum(lowest, found.observations.min(axis=0))
        highest = np.maximum(highest, found.observations.max(axis=0))
        ends += environment.ends.sum(axis=0)
        at_once += environment.ends[environment.steps == 1].sum(axis=0)
        truncated += int(found.truncated.sum())
        lost += int(np.sum(environment.worlds.lost))
        done = found.terminated | found.truncated
        if done.any():
            environment.reset(where=done)
    seconds = time.perf_counter() - start
    return Trial(
        steps=steps * len(environment),
        seconds=seconds,
        lowest=lowest,
        highest=highest,
        terms=np.array(terms),
        ends=ends,
        at_once=at_once,
        truncated=truncated,
        lost=lost,
    )
