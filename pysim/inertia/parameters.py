"""Inertia of rigid bodies as ten numbers.

θ = [m, mcx, mcy, mcz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz] is the order of the public interface, about the body frame's
origin, tensor entries (the off-diagonal ones are minus the products of inertia). The engine's packed record is
[m, mcx, mcy, mcz, Ixx, Iyy, Izz, Ixy, Iyz, Izx]. Leading axes are batches. Units: kg, kg·m, kg·m².
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

_TO_PACKED = [0, 1, 2, 3, 4, 6, 9, 5, 8, 7]
_FROM_PACKED = [0, 1, 2, 3, 4, 7, 5, 9, 8, 6]
_TO_KWON = [0, 1, 2, 3, 4, 6, 9, 5, 7, 8]
_FROM_KWON = [0, 1, 2, 3, 4, 7, 5, 8, 9, 6]


def theta_to_packed(theta: ArrayLike) -> Array:
    """Return the engine's record (…, 10) of θ (…, 10)."""
    return np.asarray(theta, float)[..., _TO_PACKED]


def packed_to_theta(packed: ArrayLike) -> Array:
    """Return θ (…, 10) of the engine's record (…, 10)."""
    return np.asarray(packed, float)[..., _FROM_PACKED]


def theta_to_kwon(theta: ArrayLike) -> Array:
    """Return [m, mc, Ixx, Iyy, Izz, Ixy, Ixz, Iyz] (…, 10), Kwon's order, of θ (…, 10)."""
    return np.asarray(theta, float)[..., _TO_KWON]


def kwon_to_theta(kwon: ArrayLike) -> Array:
    """Return θ (…, 10) of numbers in Kwon's order (…, 10)."""
    return np.asarray(kwon, float)[..., _FROM_KWON]


def theta_from_com(mass: float, com: ArrayLike, inertia: ArrayLike) -> Array:
    """Return θ (10,) of a body.

    Args:
        mass: mass [kg].
        com: centre of mass in the body frame (3,) [m].
        inertia: rotational inertia about the centre of mass, body axes (3, 3) [kg·m²].
    """
    c = np.asarray(com, float)
    about_origin = np.asarray(inertia, float) + mass * (c @ c * np.eye(3) - np.outer(c, c))
    return theta_from_origin(mass, mass * c, about_origin)


def theta_from_origin(mass: float, first_moment: ArrayLike, inertia: ArrayLike) -> Array:
    """Return θ (10,) from the first moment mc (3,) [kg·m] and the inertia about the origin (3, 3) [kg·m²]."""
    I = np.asarray(inertia, float)  # noqa: E741, the symbol of the formula
    tensor = [I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]]
    return np.array([mass, *np.asarray(first_moment, float), *tensor], float)


def rotational_inertia(theta: ArrayLike) -> Array:
    """Return the rotational inertia about the origin (…, 3, 3) [kg·m²] of θ (…, 10)."""
    values = np.asarray(theta, float)
    tensor: Array = values[..., [4, 5, 7, 5, 6, 8, 7, 8, 9]].reshape(*values.shape[:-1], 3, 3)
    return tensor


def center_of_mass(theta: ArrayLike) -> Array:
    """Return the centre of mass (…, 3) [m] of θ (…, 10); zero where the mass is zero."""
    values = np.asarray(theta, float)
    mass = values[..., :1]
    com: Array = np.zeros_like(values[..., 1:4])
    np.divide(values[..., 1:4], mass, out=com, where=mass != 0)
    return com


def central_inertia(theta: ArrayLike) -> Array:
    """Return the rotational inertia about the centre of mass (…, 3, 3) [kg·m²] of θ (…, 10)."""
    values = np.asarray(theta, float)
    c = center_of_mass(values)
    square = (c * c).sum(-1)[..., None, None] * np.eye(3)
    shift = square - c[..., :, None] * c[..., None, :]
    about_com: Array = rotational_inertia(values) - values[..., 0, None, None] * shift
    return about_com


def move_theta(theta: ArrayLike, pose: ArrayLike) -> Array:
    """Return θ (10,) of the same body seen from frame A, given X_AB (4, 4) and its θ in B."""
    values, X = np.asarray(theta, float), np.asarray(pose, float)
    R, p = X[:3, :3], X[:3, 3]
    m, mc = values[0], R @ values[1:4]
    s = mc + 0.5 * m * p
    moved = R @ rotational_inertia(values) @ R.T
    moved += 2 * (p @ s) * np.eye(3) - np.outer(p, s) - np.outer(s, p)
    return theta_from_origin(m, mc + m * p, moved)
