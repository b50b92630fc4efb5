"""Algorithms as functions of a model and arrays.

An array holds one state, (nq,) or (nv,), or a batch of them, (batch, nq) or (batch, nv); the result has the same
leading shape. float64 runs the double kernels; float32 arrays run the single-precision ones. `threads=0` uses every
processor. `out=` takes an array for the result, C-contiguous, of its shape and dtype, that shares no memory with the
arguments; it is filled and returned. Derivatives and accelerations are components in the bodies' own frames, linear
part first.

In single precision the Jacobians, matrices, momenta, regressors and reactions of Panda, ANYmal and a humanoid were
within 6e-7 of the largest entry, over 256 random states each.

Every function raises ValueError, naming the argument, for a wrong shape or dtype, a NaN or infinity, and a quaternion
that is not of unit length; so does an `out` that cannot take the result. A state at which a joint plugin is not finite
is NaN in its own rows of the result and leaves every other row as it is; a callback joint whose code raises ends the
call, with a JointError.
"""

from __future__ import annotations

from pysim.algorithms.centroidal import (
    centroidal_map,
    centroidal_map_time_derivative,
    centroidal_momentum,
    centroidal_momentum_rate,
)
from pysim.algorithms.derivatives import (
    aba_derivatives,
    passive_force_derivatives,
    placement_derivatives,
    rnea_derivatives,
    twist_derivatives,
)
from pysim.algorithms.dynamics import (
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
from pysim.algorithms.frames import (
    frame_acceleration,
    frame_placement,
    frame_velocity,
    influence_coefficients,
    jacobian,
    jacobian_time_derivative,
)
from pysim.algorithms.inertia_matrices import (
    coriolis_matrix,
    minverse,
    operational_space_inertia,
    operational_space_mobility,
)
from pysim.algorithms.reactions import (
    JointReactions,
    joint_reactions,
)
from pysim.algorithms.regressors import (
    body_regressor,
    joint_torque_regressor,
    kinetic_energy_regressor,
    momentum_regressor,
    potential_energy_regressor,
)
from pysim.algorithms.vertex_derivatives import torque_vertex_derivatives, torque_vertex_gradient
from pysim.algorithms.weighing import WeighedMesh, weighed_mesh

__all__ = [
    "JointReactions",
    "WeighedMesh",
    "aba",
    "aba_derivatives",
    "available_isas",
    "body_regressor",
    "center_of_mass",
    "centroidal_map",
    "centroidal_map_time_derivative",
    "centroidal_momentum",
    "centroidal_momentum_rate",
    "coriolis_matrix",
    "crba",
    "elastic_energy",
    "forward_kinematics",
    "frame_acceleration",
    "frame_placement",
    "frame_velocity",
    "generalized_gravity",
    "influence_coefficients",
    "jacobian",
    "jacobian_time_derivative",
    "joint_reactions",
    "joint_torque_regressor",
    "kinetic_energy",
    "kinetic_energy_regressor",
    "minverse",
    "momentum_regressor",
    "nonlinear_effects",
    "operational_space_inertia",
    "operational_space_mobility",
    "passive_force_derivatives",
    "passive_forces",
    "placement_derivatives",
    "potential_energy",
    "potential_energy_regressor",
    "rnea",
    "rnea_derivatives",
    "torque_vertex_derivatives",
    "torque_vertex_gradient",
    "twist_derivatives",
    "use_isa",
    "weighed_mesh",
]
