"""Environments for learners, which the `[environment]` table of a scene describes."""

from __future__ import annotations

from pysim.environments.environment import Environment
from pysim.environments.transition import Transition

__all__ = ["Environment", "Transition"]
