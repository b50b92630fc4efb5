"""The parameters θ of bodies: from mass, centre and inertia, and back, and in another frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.inertia.orders import packed_to_theta, theta_to_packed
from pysim.spatial.arrays import floats, map_pairs

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pysim.spatial.arrays import Array


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
    values = floats(theta)
    tensor: Array = values[..., [4, 5, 7, 5, 6, 8, 7, 8, 9]].reshape(*values.shape[:-1], 3, 3)
    return tensor


def center_of_mass(theta: ArrayLike) -> Array:
    """Return the centre of mass (…, 3) [m] of θ (…, 10); zero where the mass is zero."""
    values = floats(theta)
    mass = values[..., :1]
    com: Array = np.zeros_like(values[..., 1:4])
    np.divide(values[..., 1:4], mass, out=com, where=mass != 0)
    return com


def central_inertia(theta: ArrayLike) -> Array:
    """Return the rotational inertia about the centre of mass (…, 3, 3) [kg·m²] of θ (…, 10)."""
    values = floats(theta)
    c = center_of_mass(values)
    square = (c * c).sum(-1)[..., None, None] * np.eye(3)
    shift = square - c[..., :, None] * c[..., None, :]
    about_com: Array = rotational_inertia(values) - values[..., 0, None, None] * shift
    return about_com


def move_theta(theta: ArrayLike, pose: ArrayLike) -> Array:
    """Return θ (…, 10) of the same bodies seen from frame A, given X_AB (…, 4, 4) and their θ in B."""
    X = floats(pose)
    record = np.swapaxes(X[..., :3, :], -1, -2).reshape(*X.shape[:-2], 12)
    return packed_to_theta(map_pairs("inertia_transform", theta_to_packed(theta), record))


def moving_matrix(pose: ArrayLike) -> Array:
    """Return the matrix (…, 10, 10) with θ_A = matrix θ_B, given X_AB (…, 4, 4): `move_theta` is linear in θ."""
    columns = move_theta(np.eye(10), np.asarray(pose)[..., None, :, :])
    return np.swapaxes(columns, -1, -2)
