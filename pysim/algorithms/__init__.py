"""Algorithms as functions of a model and arrays.

An array holds one state, (nq,) or (nv,), or a batch of them, (batch, nq) or (batch, nv); the result has the same
leading shape. float64 runs the double kernels; float32 arrays run the single-precision ones. `threads=0` uses every
processor. `out=` takes an array for the result, C-contiguous, of its shape and dtype, that shares no memory with the
arguments; it is filled and returned. Derivatives and accelerations are components in the bodies' own frames, linear
part first.

Every function raises ValueError, naming the argument, for a wrong shape or dtype, a NaN or infinity, and a quaternion
that is not of unit length; so does an `out` that cannot take the result. A state at which a joint plugin is not finite
is NaN in its own rows of the result and leaves every other row as it is; a callback joint whose code raises ends the
call, with a JointError.

In single precision, with the rounding of the arguments to it, no error over 64 random states of Panda, ANYmal, a
humanoid and a tree of every joint shape was above this share of the largest entry; what goes through M⁻¹ twice, as the
derivatives of `aba` do, loses digits where light links hang on heavy ones (Panda's fingers):

    aba                             6e-7
    aba_derivatives                 2e-5
    body_regressor                  2e-7
    center_of_mass                  5e-7
    centroidal_map                  6e-7
    centroidal_map_time_derivative  5e-7
    centroidal_momentum             4e-7
    centroidal_momentum_rate        5e-7
    coriolis_matrix                 4e-7
    crba                            3e-7
    differential_dynamics           6e-7
    elastic_energy                  2e-7
    forward_kinematics              6e-7
    frame_acceleration              5e-7
    frame_placement                 3e-7
    frame_velocity                  3e-7
    generalized_gravity             4e-7
    influence_coefficients          4e-7
    jacobian                        6e-7
    jacobian_time_derivative        4e-7
    joint_reactions                 4e-7
    joint_torque_regressor          6e-7
    kinetic_energy                  3e-7
    kinetic_energy_regressor        5e-7
    link_length_derivatives         3e-7
    minverse                        1e-6
    momentum_regressor              5e-7
    nonlinear_effects               4e-7
    operational_space_inertia       6e-7
    operational_space_mobility      8e-7
    passive_force_derivatives       2e-7
    passive_forces                  2e-7
    placement_derivatives           5e-7
    potential_energy                4e-7
    potential_energy_regressor      6e-7
    rnea                            4e-7
    rnea_derivatives                8e-7
    second_influence_coefficients   5e-7
    torque_vertex_derivatives       4e-7
    twist_derivatives               6e-7
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from pysim.algorithms.design import link_length_derivatives
from pysim.algorithms.differential import DifferentialDynamics, differential_dynamics
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
    second_influence_coefficients,
)
from pysim.algorithms.inertia_matrices import (
    coriolis_matrix,
    minverse,
    operational_space_inertia,
    operational_space_mobility,
)
from pysim.algorithms.link_mesh import MassMesh, mass_mesh
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
from pysim.deprecation import renamed

__all__ = [
    "DifferentialDynamics",
    "JointReactions",
    "MassMesh",
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
    "differential_dynamics",
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
    "link_length_derivatives",
    "mass_mesh",
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
    "second_influence_coefficients",
    "torque_vertex_derivatives",
    "torque_vertex_gradient",
    "twist_derivatives",
    "use_isa",
]

_RENAMED = {"WeighedMesh": "MassMesh", "weighed_mesh": "mass_mesh"}


if not TYPE_CHECKING:  # a checker knows the names above, and that there are no others

    def __getattr__(name: str) -> object:
        if name in _RENAMED:
            return renamed(f"pysim.algorithms.{name}", "pysim.algorithms", _RENAMED[name])
        raise AttributeError(f"module 'pysim.algorithms' has no attribute {name!r}")
