"""The pseudo-inertia J = [[Σ, mc], [mcᵀ, m]] of a body: its second moments in homogeneous coordinates.

    J = ∫ x xᵀ dm, x = (position, 1)      Σ = ½ tr(I) 1 − I      I = tr(Σ) 1 − Σ

Some body has the parameters θ exactly where J is positive definite [Wensing, Kim, Slotine 2018, theorem 4]; rods,
plates and points lie on the boundary, where J is singular. The map θ → J is linear, so the same functions serve
differences and derivatives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]


def pseudo_inertia(theta: ArrayLike) -> Array:
    """Return J (…, 4, 4) [kg·m², kg·m, kg] of θ (…, 10).

    Wensing, Kim and Slotine 2018, eq. 16.
    """
    values = np.asarray(theta, float)
    m, x, y, z, xx, xy, yy, xz, yz, zz = np.moveaxis(values, -1, 0)
    half = 0.5 * (xx + yy + zz)
    rows = [half - xx, -xy, -xz, x, -xy, half - yy, -yz, y, -xz, -yz, half - zz, z, x, y, z, m]
    return np.stack(rows, axis=-1).reshape(*values.shape[:-1], 4, 4)


def from_pseudo_inertia(J: ArrayLike) -> Array:
    """Return θ (…, 10) of the symmetric matrix J (…, 4, 4)."""
    values = np.asarray(J, float)
    sxx, syy, szz = (values[..., k, k] for k in range(3))
    numbers = [
        values[..., 3, 3],
        values[..., 0, 3],
        values[..., 1, 3],
        values[..., 2, 3],
        syy + szz,
        -values[..., 0, 1],
        sxx + szz,
        -values[..., 0, 2],
        -values[..., 1, 2],
        sxx + syy,
    ]
    return np.stack(numbers, axis=-1)
