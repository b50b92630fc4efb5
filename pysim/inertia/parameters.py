"""Conversions of bodies' parameters θ: from and to mass, centre of mass and inertia, and between frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.inertia.parameter_orders import FROM_PACKED, TO_PACKED
from pysim.spatial.arrays import (
    checked,
    checked_double,
    checked_number,
    checked_record,
    checked_symmetric,
    leading,
    map_pairs,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pysim.spatial.arrays import Array


def theta_from_com(mass: float, com: ArrayLike, inertia: ArrayLike) -> Array:
    """Return θ (10,) of a body.

    Args:
        mass: mass [kg].
        com: centre of mass in the body frame (3,) [m].
        inertia: rotational inertia about the centre of mass, body axes (3, 3) [kg·m²].

    Raises:
        PysimError: an argument has a wrong shape or NaN or infinite entries, or the inertia is not symmetric.
    """
    m, c = checked_number(mass, "mass", "kg"), _vector(com, "com", "m")
    return joined_at(m, c, _tensor(inertia))


def theta_from_origin(mass: float, first_moment: ArrayLike, inertia: ArrayLike) -> Array:
    """Return θ (10,) from the first moment mc (3,) [kg·m] and the inertia about the origin (3, 3) [kg·m²].

    Raises:
        PysimError: an argument has a wrong shape or NaN or infinite entries, or the inertia is not symmetric.
    """
    h = _vector(first_moment, "first_moment", "kg·m")
    return joined(checked_number(mass, "mass", "kg"), h, _tensor(inertia))


def rotational_inertia(theta: ArrayLike) -> Array:
    """Return the rotational inertia about the origin (…, 3, 3) [kg·m²] of θ (…, 10).

    Raises:
        PysimError: theta is not ten finite numbers (…, 10).
    """
    return tensors(checked(theta, "theta", (10,)))


def center_of_mass(theta: ArrayLike) -> Array:
    """Return the centre of mass (…, 3) [m] of θ (…, 10); zero where the mass is zero.

    Raises:
        PysimError: theta is not ten finite numbers (…, 10).
    """
    return centers(checked(theta, "theta", (10,)))


def central_inertia(theta: ArrayLike) -> Array:
    """Return the rotational inertia about the centre of mass (…, 3, 3) [kg·m²] of θ (…, 10).

    Raises:
        PysimError: theta is not ten finite numbers (…, 10).
    """
    values = checked(theta, "theta", (10,))
    c = centers(values)
    square = (c * c).sum(-1)[..., None, None] * np.eye(3)
    shift = square - c[..., :, None] * c[..., None, :]
    about_com: Array = tensors(values) - values[..., 0, None, None] * shift
    return about_com


def move_theta(theta: ArrayLike, pose: ArrayLike) -> Array:
    """Return θ (…, 10) of the same bodies in frame A, given X_AB (…, 4, 4) and their θ in B.

    X_AB may be a record (…, 12) instead.

    Raises:
        PysimError: theta is not ten finite numbers (…, 10), pose is no displacement, or their leading axes do not fit.
    """
    values, record = checked(theta, "theta", (10,)), checked_record(pose, "pose")
    leading(values, 1, "theta", record, 1, "pose")
    return moved(values, record)


def moving_matrix(pose: ArrayLike) -> Array:
    """Return the matrix (…, 10, 10) with θ_A = matrix θ_B, given X_AB (…, 4, 4): `move_theta` is linear in θ.

    Raises:
        PysimError: pose is no displacement, nor the record (…, 12) of one.
    """
    columns = moved(np.eye(10), checked_record(pose, "pose")[..., None, :])
    return np.swapaxes(columns, -1, -2)


# The same without checks of the arguments -------------------------------------------------


def joined(mass: float, first_moment: Array, inertia: Array) -> Array:
    """Return θ (10,) of a mass, mc (3,) and the upper triangle of a tensor about the origin (3, 3)."""
    I = inertia  # noqa: E741, the symbol of the formula
    tensor = [I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]]
    return np.array([mass, *first_moment, *tensor], float)


def joined_at(mass: float, com: Array, inertia: Array) -> Array:
    """Return θ (10,) of a mass, its centre (3,) and a symmetric tensor about that (3, 3)."""
    c = com
    return joined(mass, mass * c, inertia + mass * (c @ c * np.eye(3) - c[:, None] * c))


def centers(numbers: Array) -> Array:
    """Return centres of mass (…, 3) of ten numbers (…, 10) in any order; zero where the mass is zero."""
    mass = numbers[..., :1]
    com: Array = np.zeros_like(numbers[..., 1:4])
    np.divide(numbers[..., 1:4], mass, out=com, where=mass != 0)
    return com


def tensors(theta: Array) -> Array:
    """Return tensors (…, 3, 3) of θ (…, 10)."""
    tensor: Array = theta[..., [4, 5, 7, 5, 6, 8, 7, 8, 9]].reshape(*theta.shape[:-1], 3, 3)
    return tensor


def moved(theta: Array, record: Array) -> Array:
    """Return θ (…, 10) in another frame, given records (…, 12) of displacements; θ may be symbolic."""
    if theta.dtype == object:
        columns = moved(np.eye(10), record[..., None, :])  # of a linear map
        return np.asanyarray((theta[..., None, :] @ columns)[..., 0, :])
    return map_pairs("inertia_transform", theta[..., TO_PACKED], record)[..., FROM_PACKED]


def moved_by(theta: Array, pose: Array) -> Array:
    """Return θ (10,) in another frame, given X (4, 4) of a displacement that is valid by its construction."""
    return moved(theta, pose[:3].T.reshape(12))


def _vector(x: ArrayLike, name: str, unit: str) -> Array:
    return checked_double(x, name, (3,), unit=unit, alone=True)


def _tensor(inertia: ArrayLike) -> Array:
    tensor = checked_symmetric(inertia, "inertia", "I", 3, "kg·m²", alone=True)
    return tensor.astype(np.float64, copy=False)
