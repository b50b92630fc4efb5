"""Closed loops and couplings: their rows, constrained dynamics, and assembly of the start."""

from __future__ import annotations

from pysim.loops.actuation import ActuationMap, actuation_map
from pysim.loops.assembly import Assembled, assemble
from pysim.loops.constrained_derivatives import (
    constrained_aba_derivatives,
    constraint_force_derivatives,
)
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
from pysim.loops.mobility import Mobility, allowed_motions, independence, mobility
from pysim.loops.torque_derivatives import TorqueDerivatives

__all__ = [
    "ActuationMap",
    "Assembled",
    "Constraints",
    "Mobility",
    "Projected",
    "TorqueDerivatives",
    "actuation_map",
    "allowed_motions",
    "assemble",
    "constrained_aba",
    "constrained_aba_derivatives",
    "constraint_force_derivatives",
    "constraint_forces",
    "constraint_jacobian",
    "constraint_residual",
    "constraints",
    "independence",
    "loop_wrenches",
    "mobility",
    "project",
]
