"""Closed loops and couplings: their rows, the dynamics that obeys them, and how they are assembled."""

from __future__ import annotations

from pysim.loops.assembly import Assembled, assemble
from pysim.loops.constraints import (
    Constraints,
    Projected,
    constrained_aba,
    constraint_forces,
    constraint_jacobian,
    constraint_residual,
    constraints,
    loop_wrenches,
    project,
)
from pysim.loops.mobility import Mobility, mobility

__all__ = [
    "Assembled",
    "Constraints",
    "Mobility",
    "Projected",
    "assemble",
    "constrained_aba",
    "constraint_forces",
    "constraint_jacobian",
    "constraint_residual",
    "constraints",
    "loop_wrenches",
    "mobility",
    "project",
]
