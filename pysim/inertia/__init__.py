"""Inertia of rigid bodies as ten numbers, as objects, and of meshes.

θ = [m, mcx, mcy, mcz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz] is the order of the public interface, about the body frame's
origin, tensor entries (the off-diagonal ones are minus the products of inertia). The engine's packed record is
[m, mcx, mcy, mcz, Ixx, Iyy, Izz, Ixy, Iyz, Izx]. Leading axes are batches. Units: kg, kg·m, kg·m².
"""

from __future__ import annotations

from pysim.inertia.body import Inertia
from pysim.inertia.factorisation import Factor
from pysim.inertia.mesh import (
    mesh_inertia,
    mesh_inertia_density_derivative,
    mesh_inertia_derivatives,
    moved_derivative,
)
from pysim.inertia.orders import (
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
from pysim.inertia.physical import is_physical, pseudo_inertia, unphysical_reason

__all__ = [
    "Factor",
    "Inertia",
    "center_of_mass",
    "central_inertia",
    "centroidal_to_packed",
    "is_physical",
    "kwon_to_packed",
    "kwon_to_theta",
    "mesh_inertia",
    "mesh_inertia_density_derivative",
    "mesh_inertia_derivatives",
    "move_theta",
    "moved_derivative",
    "moving_matrix",
    "packed_to_centroidal",
    "packed_to_kwon",
    "packed_to_theta",
    "pseudo_inertia",
    "rotational_inertia",
    "swap_blocks",
    "swap_halves",
    "theta_from_com",
    "theta_from_origin",
    "theta_to_kwon",
    "theta_to_packed",
    "unphysical_reason",
]
