"""Algorithms as functions of a model and arrays.

An array holds one state, (nq,) or (nv,), or a batch of them, (batch, nq) or (batch, nv); the result has the same
leading shape. float64 runs the double kernels; float32 arrays run the single-precision ones. `threads=0` uses every
processor. Derivatives and accelerations are components in the bodies' own frames, linear part first.

Every function raises ValueError, naming the argument, for a wrong shape or dtype, a NaN or infinity, and a quaternion
that is not of unit length.
"""

from __future__ import annotations

from pysim.algorithms.dynamics import (
    aba,
    available_isas,
    center_of_mass,
    crba,
    elastic_energy,
    forward_kinematics,
    frame_placement,
    generalized_gravity,
    kinetic_energy,
    nonlinear_effects,
    passive_forces,
    potential_energy,
    rnea,
    use_isa,
)
from pysim.algorithms.regressors import (
    body_regressor,
    joint_torque_regressor,
    kinetic_energy_regressor,
    momentum_regressor,
    potential_energy_regressor,
)

__all__ = [
    "aba",
    "available_isas",
    "body_regressor",
    "center_of_mass",
    "crba",
    "elastic_energy",
    "forward_kinematics",
    "frame_placement",
    "generalized_gravity",
    "joint_torque_regressor",
    "kinetic_energy",
    "kinetic_energy_regressor",
    "momentum_regressor",
    "nonlinear_effects",
    "passive_forces",
    "potential_energy",
    "potential_energy_regressor",
    "rnea",
    "use_isa",
]
