"""Log-Cholesky parameters of a body's inertia: a bijection from ℝ¹⁰ to the solid bodies.

    φ = [α, d1, d2, d3, s12, s23, s13, t1, t2, t3]        J = U Uᵀ

             [ e^d1  s12   s13   t1 ]
    U = e^α  [       e^d2  s23   t2 ]     m = e^2α [kg], t the centre of mass [m],
             [             e^d3  t3 ]     U[:3, :3] U[:3, :3]ᵀ the second moments about it
             [                   1  ]

Rucker and Wensing 2022, "Smooth Parameterization of Rigid-Body Inertia", eqs. 9 to 12. det ∂θ/∂φ is
32 exp(20 α + 2 d1 + 3 d2 + 4 d3), never zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import PysimError
from pysim.inertia.parameter_requirements import require_solid
from pysim.inertia.pseudo_inertia import matrix_of, theta_of
from pysim.spatial.arrays import checked_double
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_ROW, _COLUMN = np.array([0, 1, 0, 0, 1, 2]), np.array([1, 2, 2, 3, 3, 3])  # of s12, s23, s13, t


def from_log_cholesky(phi: ArrayLike) -> Array:
    """Return θ (…, 10) of log-Cholesky parameters φ (…, 10).

    Raises:
        PysimError: phi is not ten finite numbers (…, 10).
    """
    U = _factor(checked_double(phi, "phi", (10,)))
    return theta_of(in_range(U @ np.swapaxes(U, -1, -2), "phi"))


def log_cholesky(theta: ArrayLike) -> Array:
    """Return the log-Cholesky parameters φ (…, 10) of θ (…, 10).

    Raises:
        PysimError: theta is not ten finite numbers (…, 10), or the pseudo-inertia is not positive definite: physically
            inconsistent, or a rod, plate or point.
    """
    values = require_solid(theta)
    J = matrix_of(values)
    L = np.linalg.cholesky(J[..., ::-1, ::-1])  # of the reversed matrix: reversed back it is upper
    U = L[..., ::-1, ::-1]
    scaled = U / U[..., 3:, 3:]
    phi = np.empty_like(values)
    phi[..., 0] = np.log(U[..., 3, 3])
    phi[..., 1:4] = np.log(np.diagonal(scaled, axis1=-2, axis2=-1)[..., :3])
    phi[..., 4:] = scaled[..., _ROW, _COLUMN]
    return phi


def log_cholesky_jacobian(phi: ArrayLike) -> Array:
    """Return ∂θ/∂φ (…, 10, 10); dJ = dU Uᵀ + U dUᵀ, column by column.

    Raises:
        PysimError: phi is not ten finite numbers (…, 10).
    """
    U, dU = log_cholesky_factor(phi)
    half = dU @ np.swapaxes(U, -1, -2)[..., None, :, :]
    columns = theta_of(half + np.swapaxes(half, -1, -2))
    return np.swapaxes(columns, -1, -2)


def log_cholesky_determinant(phi: ArrayLike) -> Array:
    """Return det ∂θ/∂φ (…), 32 exp(20 α + 2 d₁ + 3 d₂ + 4 d₃): never 0, so φ is a chart of all solid bodies.

    Raises:
        PysimError: phi is not ten finite numbers (…, 10).
    """
    p = checked_double(phi, "phi", (10,))
    return np.asarray(32 * np.exp(p[..., :4] @ np.array([20.0, 2.0, 3.0, 4.0])))


def log_cholesky_factor(phi: ArrayLike) -> tuple[Array, Array]:
    """Return U (…, 4, 4) and ∂U/∂φ (…, 10, 4, 4).

    Raises:
        PysimError: phi is not ten finite numbers (…, 10).
    """
    p = checked_double(phi, "phi", (10,))
    U = _factor(p)
    dU = np.zeros((*p.shape[:-1], 10, 4, 4))
    dU[..., 0, :, :] = U
    for k in range(3):
        dU[..., 1 + k, k, k] = U[..., k, k]
    dU[..., np.arange(4, 10), _ROW, _COLUMN] = np.exp(p[..., :1])
    return U, dU


def _factor(phi: Array) -> Array:
    """Return U (…, 4, 4) of φ (…, 10); PysimError where an exponential overflows, on which LAPACK would not return."""
    U = np.zeros((*phi.shape[:-1], 4, 4))
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(3):
            U[..., k, k] = np.exp(phi[..., 1 + k])
        U[..., _ROW, _COLUMN] = phi[..., 4:]
        U[..., 3, 3] = 1
        scaled: Array = np.exp(phi[..., 0, None, None]) * U
    return in_range(scaled, "phi")


def in_range(x: Array, name: str) -> Array:
    """Return x; PysimError if the parameters of this name let it overflow."""
    if np.isfinite(x).all():
        return x
    problem = "describes a body whose numbers overflow; take parameters nearer to 0"
    raise PysimError(name, problem)
