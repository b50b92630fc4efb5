"""Matrix-logarithm parameters of a body's inertia, γ = vech(log J), and the affine-invariant distance between bodies.

    J = V e^Λ Vᵀ      log J = V Λ Vᵀ      d exp(T)[E] = V (F ∘ VᵀEV) Vᵀ,  F_ij = (e^λi − e^λj) / (λi − λj)

by symmetric eigendecomposition; F is the first divided difference [Daleckii and Krein 1965; Higham 2008, theorem
3.11]. The power series −Σ (1 − J)^k / k diverges for the inertia of almost every robot link.

vech takes the upper triangle column by column, [11, 12, 22, 13, 23, 33, 14, 24, 34, 44], as θ takes its tensor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.inertia.log_cholesky import in_range, log_cholesky_factor
from pysim.inertia.parameter_requirements import require_solid
from pysim.inertia.pseudo_inertia import matrix_of, theta_of
from pysim.spatial.arrays import checked_double, leading
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_COLUMN, _ROW = np.tril_indices(4)  # of the upper triangle, column by column
_UNIT_GAMMA = np.zeros((10, 4, 4))  # ∂T/∂γ
_UNIT_GAMMA[np.arange(10), _ROW, _COLUMN] = _UNIT_GAMMA[np.arange(10), _COLUMN, _ROW] = 1
_WEIGHT = np.where(_ROW == _COLUMN, 1.0, np.sqrt(2.0))  # makes vech an isometry


def from_matrix_logarithm(gamma: ArrayLike) -> Array:
    """Return θ (…, 10) of γ (…, 10).

    Raises:
        PysimError: gamma is not ten finite numbers (…, 10).
    """
    values, V = _eigen(gamma)
    return theta_of(_rotated(V, np.exp(values)))


def matrix_logarithm(theta: ArrayLike) -> Array:
    """Return γ (…, 10) of θ (…, 10).

    Raises:
        PysimError: theta is not ten finite numbers (…, 10), or the pseudo-inertia is not positive definite: physically
            inconsistent, or a rod, plate or point.
    """
    J = matrix_of(require_solid(theta))
    values, V = np.linalg.eigh(J)
    T: Array = _rotated(V, np.log(values))[..., _ROW, _COLUMN]
    return T


def matrix_logarithm_jacobian(gamma: ArrayLike) -> Array:
    """Return ∂θ/∂γ (…, 10, 10).

    Raises:
        PysimError: gamma is not ten finite numbers (…, 10).
    """
    values, V = _eigen(gamma)
    F = _exponential_differences(values)
    dJ = _through(V, F, _UNIT_GAMMA)
    return np.swapaxes(theta_of(dJ), -1, -2)


def riemannian_distance(theta: ArrayLike, reference: ArrayLike) -> Array:
    """Return d = ‖log(J₀^-½ J J₀^-½)‖_F (…), the affine-invariant distance between two bodies θ, θ₀ (…, 10).

    It does not depend on units, on the frame or on the order of the two, and grows without bound towards the boundary
    of physical consistency [Lee and Park 2018, eq. 20; without their factor ½].

    Raises:
        PysimError: an argument is not ten finite numbers (…, 10), their leading axes do not fit, or a pseudo-inertia is
            not positive definite: physically inconsistent, or a rod, plate or point.
    """
    difference = riemannian_difference(theta, reference)
    return np.asarray(np.linalg.norm(difference, axis=-1))


def riemannian_difference(theta: ArrayLike, reference: ArrayLike) -> Array:
    """Return ten numbers r (…, 10) with ‖r‖ the distance of θ from θ₀: vech of log(A J Aᵀ), A J₀ Aᵀ = 1.

    Raises:
        PysimError: an argument is not ten finite numbers (…, 10), their leading axes do not fit, or a pseudo-inertia is
            not positive definite: physically inconsistent, or a rod, plate or point.
    """
    values, V = _relative(theta, reference)
    r: Array = _WEIGHT * _rotated(V, np.log(values))[..., _ROW, _COLUMN]
    return r


def log_cholesky_difference(phi: ArrayLike, reference: ArrayLike) -> tuple[Array, Array]:
    """Return r (…, 10) of `riemannian_difference` for the body of φ (…, 10), and ∂r/∂φ (…, 10, 10).

    A J Aᵀ = (A U)(A U)ᵀ, and the singular values of A U are positive even for very thin bodies.

    Raises:
        PysimError: an argument is not ten finite numbers (…, 10), their leading axes do not fit, or the pseudo-inertia
            of the reference is not positive definite.
    """
    U, dU = log_cholesky_factor(phi)
    A = _whitening(reference)
    leading(U, 2, "phi", A, 2, "reference")
    B = in_range(A @ U, "phi")
    V, roots, _ = np.linalg.svd(B)
    logarithms = 2 * np.log(roots)
    r = _WEIGHT * _rotated(V, logarithms)[..., _ROW, _COLUMN]
    half = A[..., None, :, :] @ dU @ np.swapaxes(B, -1, -2)[..., None, :, :]
    dW = half + np.swapaxes(half, -1, -2)
    dr = _through(V, 1 / _exponential_differences(logarithms), dW)[..., _ROW, _COLUMN]
    return r, np.swapaxes(_WEIGHT * dr, -1, -2)


def _relative(theta: ArrayLike, reference: ArrayLike) -> tuple[Array, Array]:
    """Return eigenvalues and vectors of A J Aᵀ."""
    J = matrix_of(require_solid(theta))
    A = _whitening(reference)
    leading(J, 2, "theta", A, 2, "reference")
    with np.errstate(over="ignore", invalid="ignore"):
        relative = A @ J @ np.swapaxes(A, -1, -2)
    values, V = np.linalg.eigh(in_range(relative, "theta"))
    return values, V


def _whitening(reference: ArrayLike) -> Array:
    """Return a = L₀⁻¹ with J₀ = L₀ L₀ᵀ."""
    J0 = matrix_of(require_solid(reference, "reference"))
    A: Array = np.linalg.inv(np.linalg.cholesky(J0))
    return A


def _eigen(gamma: ArrayLike) -> tuple[Array, Array]:
    """Return eigenvalues and vectors of log J of γ; PysimError where J overflows."""
    values, V = np.linalg.eigh(_symmetric(gamma))
    with np.errstate(over="ignore"):
        in_range(np.exp(values), "gamma")
    return values, V


def _symmetric(gamma: ArrayLike) -> Array:
    """Return T = log J (…, 4, 4) of γ (…, 10); PysimError if those are not finite numbers."""
    entries = checked_double(gamma, "gamma", (10,))
    T = np.empty((*entries.shape[:-1], 4, 4))
    T[..., _ROW, _COLUMN] = T[..., _COLUMN, _ROW] = entries
    return T


def _rotated(V: Array, values: Array) -> Array:
    """Return V diag(values) Vᵀ."""
    rotated: Array = (V * values[..., None, :]) @ np.swapaxes(V, -1, -2)
    return rotated


def _through(V: Array, F: Array, E: Array) -> Array:
    """Return V (F ∘ VᵀEV) Vᵀ for each of the directions E (…, 10, 4, 4)."""
    V, F = V[..., None, :, :], F[..., None, :, :]
    V_T = np.swapaxes(V, -1, -2)
    derivative: Array = V @ (F * (V_T @ E @ V)) @ V_T
    return derivative


def _exponential_differences(values: Array) -> Array:
    """Return (e^λi − e^λj) / (λi − λj) = e^½(λi + λj) sinh(x) / x, x = ½(λi − λj): no digit is lost near λi = λj."""
    mean = 0.5 * (values[..., :, None] + values[..., None, :])
    x = 0.5 * (values[..., :, None] - values[..., None, :])
    near = np.abs(x) < 1e-4
    wide = np.where(near, 1.0, x)
    ratio: Array = np.exp(mean) * np.where(near, 1 + x * x / 6, np.sinh(wide) / wide)
    return ratio
