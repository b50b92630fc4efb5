"""Eigen parameters of a body's inertia: mass, first moment, principal axes and second moments along them.

    ψ = [m, mc (3), β (3), L (3)]      R = exp(β×)      Σ_C = R diag(L) Rᵀ      I_C = tr(Σ_C) 1 − Σ_C

Traversaro, Brossette, Escande and Nori 2016, eqs. 10 to 12, with R and L about the centre of mass: about the frame's
origin, as the equations are often printed, L > 0 does not imply physical consistency. Here θ is physically consistent
exactly if m > 0 and L > 0 [kg·m²]. The map is neither injective nor regular: ∂θ/∂ψ is singular if two of L coincide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.inertia.parameter_requirements import require_positive_mass
from pysim.inertia.pseudo_inertia import matrix_of, theta_of
from pysim.spatial import exp, left_jacobian, log, skew
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def from_eigen(psi: ArrayLike) -> Array:
    """Return θ (…, 10) of eigen parameters ψ (…, 10) [kg, kg·m, rad, kg·m²].

    Raises:
        PysimError: psi is not ten finite numbers (…, 10), or a mass is not positive.
    """
    m, h, _, R, L = _parts(psi)
    J = _bordered(_turned(R, L) + _outer(h, h) / m[..., None], h, m[..., 0])
    return theta_of(J)


def eigen(theta: ArrayLike) -> Array:
    """Return eigen parameters ψ (…, 10) of θ (…, 10), L ascending.

    Raises:
        PysimError: theta is not ten finite numbers (…, 10), or a mass is not positive.
    """
    values = require_positive_mass(theta)
    m, h = values[..., :1], values[..., 1:4]
    central = matrix_of(values)[..., :3, :3] - _outer(h, h) / m[..., None]
    L, R = np.linalg.eigh(central)
    R[..., :, 0] *= np.linalg.det(R)[..., None]  # a rotation: right-handed
    return np.concatenate([m, h, log(R), L], axis=-1)


def eigen_jacobian(psi: ArrayLike) -> Array:
    """Return ∂θ/∂ψ (…, 10, 10).

    dΣ_C = R diag(dL) Rᵀ + w× Σ_C − Σ_C w× with w = J_l(β) dβ, the left Jacobian of SO(3).

    Raises:
        PysimError: psi is not ten finite numbers (…, 10), or a mass is not positive.
    """
    m, h, beta, R, L = _parts(psi)
    shape = m.shape[:-1]
    zero = np.zeros((*shape, 3))
    columns = [_bordered(-_outer(h, h) / m[..., None] ** 2, zero, np.ones(shape))]
    for axis in np.eye(3):
        one = np.broadcast_to(axis, h.shape)
        cross = _outer(h, one)
        sum_ = (cross + np.swapaxes(cross, -1, -2)) / m[..., None]
        columns.append(_bordered(sum_, one, np.zeros(shape)))
    central = _turned(R, L)
    turn = left_jacobian(beta)
    for k in range(3):
        half = skew(turn[..., :, k]) @ central
        columns.append(_bordered(half + np.swapaxes(half, -1, -2), zero, np.zeros(shape)))
    columns += [_bordered(_outer(r, r), zero, np.zeros(shape)) for r in np.moveaxis(R, -1, 0)]
    return np.stack([theta_of(column) for column in columns], axis=-1)


def _parts(psi: ArrayLike) -> tuple[Array, Array, Array, Array, Array]:
    """Return mass (…, 1), first moment (…, 3), β (…, 3), R (…, 3, 3) and L (…, 3)."""
    values = require_positive_mass(psi, "psi")
    beta = values[..., 4:7]
    return values[..., :1], values[..., 1:4], beta, exp(beta), values[..., 7:]


def _turned(R: Array, L: Array) -> Array:
    """Return R diag(L) Rᵀ."""
    turned: Array = (R * L[..., None, :]) @ np.swapaxes(R, -1, -2)
    return turned


def _outer(a: Array, b: Array) -> Array:
    return a[..., :, None] * b[..., None, :]


def _bordered(second: Array, first: Array, mass: Array) -> Array:
    """Return [[second, first], [firstᵀ, mass]] (…, 4, 4)."""
    J = np.empty((*second.shape[:-2], 4, 4))
    J[..., :3, :3] = second
    J[..., :3, 3] = J[..., 3, :3] = first
    J[..., 3, 3] = mass
    return J
