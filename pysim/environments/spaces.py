"""Gymnasium's spaces of an environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Box, Dict, Space

if TYPE_CHECKING:
    from pysim.environments.environment import Environment


def spaces_of(environment: Environment, *, groups: bool = False) -> tuple[Space[Any], Box]:
    """Return the spaces of the observation and of the action of one world.

    Args:
        environment: of the scene.
        groups: whether an observation is a dictionary of groups.
    """
    policy = _box(environment, environment.observation_size, 0)
    action = Box(*environment.action_range, (environment.action_size,), np.float32)
    if not groups:
        return policy, action
    plan = environment.plan
    spaces: dict[str, Space[Any]] = {"policy": policy}
    if plan.critic:
        more = environment.critic_size - environment.observation_size
        spaces["critic"] = _box(environment, environment.observation_size, more)
    for name, signals in plan.groups.items():
        spaces[name] = _box(environment, 0, sum(own.x.count for own in signals))
    return Dict(spaces), action


def _box(environment: Environment, limited: int, unlimited: int) -> Box:
    """Return the space of vectors: first numbers within the limit of observations, then numbers without bounds."""
    high = np.full(limited + unlimited, np.inf, environment.dtype)
    high[:limited] = environment.limit
    return Box(-high, high, dtype=environment.dtype.type)
