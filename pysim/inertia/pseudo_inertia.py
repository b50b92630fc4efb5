"""The pseudo-inertia J = [[Σ, mc], [mcᵀ, m]] of a body: its second moments in homogeneous coordinates.

    J = ∫ x xᵀ dm, x = (position, 1)      Σ = ½ tr(I) 1 − I      I = tr(Σ) 1 − Σ

θ is physically consistent exactly if J is positive definite [Wensing, Kim, Slotine 2018, theorem 4]; rods, plates and
points lie on the boundary, where J is singular. The map θ → J is linear, so the same functions serve differences and
derivatives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.spatial.arrays import checked_double, checked_symmetric
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def pseudo_inertia(theta: ArrayLike) -> Array:
    """Return J (…, 4, 4) [kg·m², kg·m, kg] of θ (…, 10).

    Wensing, Kim and Slotine 2018, eq. 16.

    Raises:
        PysimError: theta is not ten finite numbers (…, 10).
    """
    return matrix_of(checked_double(theta, "theta", (10,)))


def from_pseudo_inertia(J: ArrayLike) -> Array:
    """Return θ (…, 10) of the symmetric matrix J (…, 4, 4).

    Raises:
        PysimError: J is not finite numbers (…, 4, 4), or asymmetric by more than a millionth of its largest entry.
    """
    return theta_of(checked_symmetric(J, "J", "J", 4).astype(np.float64, copy=False))


# The same without checks of the arguments -------------------------------------------------


def matrix_of(theta: Array) -> Array:
    """Return J (…, 4, 4) of θ (…, 10)."""
    m, x, y, z, xx, xy, yy, xz, yz, zz = np.moveaxis(theta, -1, 0)
    half = 0.5 * (xx + yy + zz)
    rows = [half - xx, -xy, -xz, x, -xy, half - yy, -yz, y, -xz, -yz, half - zz, z, x, y, z, m]
    return np.stack(rows, axis=-1).reshape(*theta.shape[:-1], 4, 4)


def theta_of(J: Array) -> Array:
    """Return θ (…, 10) of the upper triangle of J (…, 4, 4)."""
    sxx, syy, szz = (J[..., k, k] for k in range(3))
    numbers = [
        J[..., 3, 3],
        J[..., 0, 3],
        J[..., 1, 3],
        J[..., 2, 3],
        syy + szz,
        -J[..., 0, 1],
        sxx + szz,
        -J[..., 0, 2],
        -J[..., 1, 2],
        sxx + syy,
    ]
    return np.stack(numbers, axis=-1)
