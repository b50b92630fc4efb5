"""Inertia of rigid bodies as ten numbers.

θ = [m, mcx, mcy, mcz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz] is the order of the public interface, about the body frame's
origin, tensor entries (the off-diagonal ones are minus the products of inertia). The engine's packed record is
[m, mcx, mcy, mcz, Ixx, Iyy, Izz, Ixy, Iyz, Izx]. Leading axes are batches. Units: kg, kg·m, kg·m².
"""

from __future__ import annotations

from pysim.inertia.mesh import (
    mesh_inertia,
)
from pysim.inertia.parameters import (
    center_of_mass,
    central_inertia,
    kwon_to_theta,
    move_theta,
    packed_to_theta,
    rotational_inertia,
    theta_from_com,
    theta_from_origin,
    theta_to_kwon,
    theta_to_packed,
)
from pysim.inertia.physical import (
    is_physical,
    pseudo_inertia,
    unphysical_reason,
)

__all__ = [
    "center_of_mass",
    "central_inertia",
    "is_physical",
    "kwon_to_theta",
    "mesh_inertia",
    "move_theta",
    "packed_to_theta",
    "pseudo_inertia",
    "rotational_inertia",
    "theta_from_com",
    "theta_from_origin",
    "theta_to_kwon",
    "theta_to_packed",
    "unphysical_reason",
]
