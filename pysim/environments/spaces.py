"""Gymnasium's spaces of an environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from gymnasium.spaces import Box

if TYPE_CHECKING:
    from pysim.environments.environment import Environment


def spaces_of(environment: Environment) -> tuple[Box, Box]:
    """Return the spaces of the observation and of the action of one world."""
    own = environment
    observed = Box(-own.limit, own.limit, (own.observation_size,), own.dtype.type)
    return observed, Box(*own.action_range, (own.action_size,), np.float32)
