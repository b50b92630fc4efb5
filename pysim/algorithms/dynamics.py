"""Poses, dynamics and energies: the engine's functions without a wrapper, to keep the cost of a call low."""

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
