"""Inertia of rigid bodies as ten numbers θ, as objects, of meshes, and their parametrisations.

θ = [m, mcx, mcy, mcz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz] is the order of the public interface, about the body frame's
origin, tensor entries (the off-diagonal ones are minus the products of inertia). Leading axes are batches. Units: kg,
kg·m, kg·m².

| parametrisation | there, back, Jacobian ∂θ/∂… (…, 10, 10) |
|---|---|
| pseudo-inertia (…, 4, 4) | `pseudo_inertia`, `from_pseudo_inertia`, linear |
| log-Cholesky φ | `log_cholesky`, `from_log_cholesky`, `log_cholesky_jacobian` |
| eigen ψ | `eigen`, `from_eigen`, `eigen_jacobian` |
| matrix logarithm γ | `matrix_logarithm`, `from_matrix_logarithm`, `matrix_logarithm_jacobian` |
"""

from __future__ import annotations

from pysim.inertia.body import Inertia
from pysim.inertia.eigen import eigen, eigen_jacobian, from_eigen
from pysim.inertia.factorisation import Factor
from pysim.inertia.log_cholesky import (
    from_log_cholesky,
    log_cholesky,
    log_cholesky_determinant,
    log_cholesky_jacobian,
)
from pysim.inertia.matrix_logarithm import (
    from_matrix_logarithm,
    log_cholesky_difference,
    matrix_logarithm,
    matrix_logarithm_jacobian,
    riemannian_difference,
    riemannian_distance,
)
from pysim.inertia.mesh import (
    mesh_inertia,
    mesh_inertia_density_derivative,
    mesh_inertia_derivatives,
    mesh_inertia_gradient,
    moved_derivative,
)
from pysim.inertia.parameter_orders import (
    centroidal_to_packed,
    kwon_to_packed,
    kwon_to_theta,
    packed_to_centroidal,
    packed_to_kwon,
    packed_to_theta,
    swap_blocks,
    swap_halves,
    theta_to_kwon,
    theta_to_packed,
)
from pysim.inertia.parameters import (
    center_of_mass,
    central_inertia,
    move_theta,
    moving_matrix,
    rotational_inertia,
    theta_from_com,
    theta_from_origin,
)
from pysim.inertia.physical import (
    has_positive_energy,
    is_physical,
    nearest_physical,
    physical_margin,
    unphysical_reason,
)
from pysim.inertia.pseudo_inertia import from_pseudo_inertia, pseudo_inertia

__all__ = [
    "Factor",
    "Inertia",
    "center_of_mass",
    "central_inertia",
    "centroidal_to_packed",
    "eigen",
    "eigen_jacobian",
    "from_eigen",
    "from_log_cholesky",
    "from_matrix_logarithm",
    "from_pseudo_inertia",
    "has_positive_energy",
    "is_physical",
    "kwon_to_packed",
    "kwon_to_theta",
    "log_cholesky",
    "log_cholesky_determinant",
    "log_cholesky_difference",
    "log_cholesky_jacobian",
    "matrix_logarithm",
    "matrix_logarithm_jacobian",
    "mesh_inertia",
    "mesh_inertia_density_derivative",
    "mesh_inertia_derivatives",
    "mesh_inertia_gradient",
    "move_theta",
    "moved_derivative",
    "moving_matrix",
    "nearest_physical",
    "packed_to_centroidal",
    "packed_to_kwon",
    "packed_to_theta",
    "physical_margin",
    "pseudo_inertia",
    "riemannian_difference",
    "riemannian_distance",
    "rotational_inertia",
    "swap_blocks",
    "swap_halves",
    "theta_from_com",
    "theta_from_origin",
    "theta_to_kwon",
    "theta_to_packed",
    "unphysical_reason",
]
