"""Analytical derivatives of forces and accelerations with respect to the state, and of forces to joint placements.

These are the engine's functions without a wrapper.
"""

from __future__ import annotations

from pysim._engine import (
    aba_derivatives,
    passive_force_derivatives,
    placement_derivatives,
    rnea_derivatives,
    twist_derivatives,
)

__all__ = [
    "aba_derivatives",
    "passive_force_derivatives",
    "placement_derivatives",
    "rnea_derivatives",
    "twist_derivatives",
]
