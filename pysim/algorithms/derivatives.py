"""Analytical derivatives: of forces and accelerations by the state, and of forces by where the joints are.

Like the algorithms, these are the engine's functions as they are.
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
