"""Poses, dynamics and energies."""

from __future__ import annotations

from pysim import _engine

available_isas = _engine.available_isas
use_isa = _engine.use_isa


# Control loops feel every layer of a call: these are the engine's functions as they are.
aba = _engine.aba
center_of_mass = _engine.center_of_mass
crba = _engine.crba
elastic_energy = _engine.elastic_energy
forward_kinematics = _engine.forward_kinematics
generalized_gravity = _engine.generalized_gravity
kinetic_energy = _engine.kinetic_energy
nonlinear_effects = _engine.nonlinear_effects
passive_forces = _engine.passive_forces
potential_energy = _engine.potential_energy
rnea = _engine.rnea
