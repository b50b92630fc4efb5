"""Environments for learners, which the `[environment]` table of a scene describes."""

from __future__ import annotations

from pysim.environments.environment import Environment, Transition

__all__ = ["Environment", "Transition"]
