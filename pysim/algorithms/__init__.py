"""Algorithms: kinematics, dynamics and their derivatives, as functions of a model and arrays.

An array holds one state, (nq,) or (nv,), or a batch of states, (batch, nq) or (batch, nv); the result has the same
leading shape. float64 arrays run the double-precision kernels, float32 arrays the single-precision ones. `threads=0`
uses every processor. `out=` takes a C-contiguous array of the result's shape and dtype that shares no memory with the
arguments; it is filled and returned. Derivatives and accelerations are components in the bodies' own frames, linear
part first.

Every function raises ValueError for an argument of a wrong shape or dtype, a NaN or infinity, a quaternion that is not
of unit length, or an `out` that does not fit the result; the error names the argument. A state at which a joint plugin
is not finite gives NaN in its own rows of the result and does not affect other rows; a callback joint whose code raises
ends the call with a JointError.

In single precision, including the rounding of the arguments, no error over 64 random states of Panda, ANYmal, a
humanoid and a tree of every joint shape exceeded these fractions of the largest entry. The derivatives of `aba`, which
apply M⁻¹ twice, lose digits if light links are attached to heavy ones (Panda's fingers):

    aba                             6e-7
    aba_derivatives                 2e-5
    body_regressor                  2e-7
    center_of_mass                  5e-7
    centroidal_map                  6e-7
    centroidal_map_time_derivative  5e-7
    centroidal_momentum             4e-7
    centroidal_momentum_rate        5e-7
    com_jacobian                    5e-7
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

from pysim.algorithms import (
    centroidal,
    derivatives,
    design,
    differential,
    dynamics,
    frames,
    inertia_matrices,
    link_mesh,
    reactions,
    regressors,
    vertex_derivatives,
)
from pysim.algorithms.centroidal import *
from pysim.algorithms.derivatives import *
from pysim.algorithms.design import *
from pysim.algorithms.differential import *
from pysim.algorithms.dynamics import *
from pysim.algorithms.frames import *
from pysim.algorithms.inertia_matrices import *
from pysim.algorithms.link_mesh import *
from pysim.algorithms.reactions import *
from pysim.algorithms.regressors import *
from pysim.algorithms.vertex_derivatives import *

if not TYPE_CHECKING:  # a checker knows the names above, and that there are no others
    __all__ = (
        centroidal.__all__
        + derivatives.__all__
        + design.__all__
        + differential.__all__
        + dynamics.__all__
        + frames.__all__
        + inertia_matrices.__all__
        + link_mesh.__all__
        + reactions.__all__
        + regressors.__all__
        + vertex_derivatives.__all__
    )
