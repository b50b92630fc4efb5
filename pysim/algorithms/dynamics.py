"""Poses, dynamics and energies: the engine's functions as they are, for a call that costs as little as it can."""

from __future__ import annotations

from pysim._engine import (
    aba,
    available_isas,
    center_of_mass,
    crba,
    elastic_energy,
    forward_kinematics,
    generalized_gravity,
    kinetic_energy,
    nonlinear_effects,
    passive_forces,
    potential_energy,
    rnea,
    use_isa,
)

__all__ = [
    "aba",
    "available_isas",
    "center_of_mass",
    "crba",
    "elastic_energy",
    "forward_kinematics",
    "generalized_gravity",
    "kinetic_energy",
    "nonlinear_effects",
    "passive_forces",
    "potential_energy",
    "rnea",
    "use_isa",
]
