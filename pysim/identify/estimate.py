"""Estimation of physically consistent parameters: nonlinear least squares over log-Cholesky coordinates.

    min over x   ‖R p(x) − z‖² + Σ_bodies ‖r(θ_b, θ⁰_b)‖² / s²

p(x) is θ(φ) for every body, so each iterate is physically consistent, and the resistances themselves, bounded by zero
where they must be. r is the affine-invariant difference from the prior θ⁰ [Lee, Wensing and Park 2020], s the assumed
relative deviation of the prior. R, z come from `regression`: an iteration costs the cube of the unknowns, not the
samples.

Each body is measured in the affine frame in which its prior is the unit body, J = U₀ J′ U₀ᵀ with J⁰′ = 1: there all
coordinates are of order one, and φ = 0 is the prior. With an accurate recording, low values of the sum lie in a narrow,
curved region. The sum is therefore minimised first for a larger noise, which is then reduced to its actual value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim.inertia import (
    from_log_cholesky,
    from_pseudo_inertia,
    log_cholesky,
    log_cholesky_difference,
    log_cholesky_jacobian,
    pseudo_inertia,
)
from pysim.inertia.log_cholesky import log_cholesky_factor
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import NDArray

_UNIT = from_pseudo_inertia(np.eye(4))
_TOLERANCE = 1e-7  # of the sum of squares, which is the number of equations: far below one unit of likelihood
_COARSE_TOLERANCE = 1e-3  # on the way
_NOISE_DIVISOR = 10.0  # by which the noise falls from one stage to the next
_EVALUATIONS = 200
_ROUNDS = 20  # of putting unknowns on their bounds
_LARGEST_EXPONENT = 40.0  # exponents: e⁴⁰ times heavier or longer is no step


@dataclass(frozen=True)
class Prior:
    """Prior knowledge: θ⁰ (blocks, 10), its relative deviation s, and bounds of the other unknowns."""

    theta: Array
    deviation: float
    lower: Array  # of the unknowns behind the bodies'


@dataclass(frozen=True)
class Estimate:
    """p (size,), its covariance (size, size), how often it was evaluated, and whether that converged."""

    p: Array
    x: Array  # φ of every body in the frame of its prior, and the rest
    covariance: Array
    evaluations: int
    converged: bool


def estimate(
    R: Array, z: Array, prior: Prior, other_start: Array, x: Array | None = None
) -> Estimate:
    """Return the p (size,) that explains z = R p best.

    Args:
        R: equations for unit noise (k, size).
        z: their right sides (k,).
        prior: what is believed of the bodies.
        other_start: where the search starts for the unknowns behind the bodies'.
        x: where it starts altogether, an `Estimate.x` of nearly the same equations.
    """
    problem = _Problem(R, z, prior)
    if x is None:
        x, evaluations = problem.followed(np.concatenate([np.zeros(problem.inertial), other_start]))
    else:
        evaluations = 0
    x, free, more, converged = problem.bounded(x)
    jacobian, slope = problem.jacobian(x)[:, free], problem.slope(x)[:, free]
    covariance = slope @ np.linalg.pinv(jacobian.T @ jacobian, hermitian=True) @ slope.T
    return Estimate(problem.p(x), x, covariance, evaluations + more, converged)


class _Problem:
    """The sum of squares, in the bodies' own frames."""

    def __init__(self, R: Array, z: Array, prior: Prior) -> None:
        self.inertial = prior.theta.size
        self.deviation = prior.deviation
        self.lower = np.concatenate([np.full(self.inertial, -np.inf), prior.lower])
        self.maps = _own_frames(prior.theta)  # θ = T θ′
        self.R, self.z = _times_blocks(R, self.maps), z

    def followed(self, x: Array) -> tuple[Array, int]:
        """Follow the minimum while the noise decreases from the size of the residual to one."""
        residual = self.R @ self._body_unknowns(x) - self.z
        noise, evaluations = float(np.sqrt(np.mean(residual**2))), 0
        while noise > _NOISE_DIVISOR:
            found = self._search(x, np.ones(len(x), bool), noise, _COARSE_TOLERANCE)
            x, noise = found[0], noise / _NOISE_DIVISOR
            evaluations += found[1]
        return x, evaluations

    def bounded(self, x: Array) -> tuple[Array, NDArray[np.bool_], int, bool]:
        """Return the minimum above the bounds: x, the free unknowns, number of evaluations, whether it converged.

        What falls below is put on its bound and left out, round by round, and let free again where the sum falls
        inwards [Lawson and Hanson 1974, ch. 23].
        """
        free, evaluations, converged = np.ones(len(x), bool), 0, False
        for _ in range(_ROUNDS):
            x, more, converged = self._search(x, free, 1.0, _TOLERANCE)
            evaluations += more
            below = free & (x < self.lower)
            x = np.maximum(x, self.lower)
            freed = ~free & (self.jacobian(x).T @ self.residual(x) < 0)
            if not (below.any() or freed.any()):
                break
            free = (free & ~below) | freed
        return x, free, evaluations, converged

    def _search(
        self, x: Array, free: NDArray[np.bool_], noise: float, tolerance: float
    ) -> tuple[Array, int, bool]:
        """Minimise over the free unknowns by Levenberg and Marquardt's method, with analytical derivatives."""
        from scipy.optimize import least_squares  # noqa: PLC0415, loads when first used

        def with_fixed(y: Array) -> Array:
            filled = x.copy()
            filled[free] = y
            return filled

        solution = least_squares(
            lambda y: self.residual(with_fixed(y), noise),
            x[free],
            lambda y: self.jacobian(with_fixed(y), noise)[:, free],
            method="lm",
            x_scale="jac",
            ftol=tolerance,
            xtol=tolerance,
            gtol=tolerance,
            max_nfev=_EVALUATIONS,
        )
        return with_fixed(solution.x), int(solution.nfev), bool(solution.status > 0)

    def phi(self, x: Array) -> Array:
        """Return φ of every body, its exponents limited against overflow: a step that long is rejected."""
        phi = x[: self.inertial].reshape(-1, 10).copy()
        phi[:, :4] = phi[:, :4].clip(-_LARGEST_EXPONENT, _LARGEST_EXPONENT)
        return phi

    def _body_unknowns(self, x: Array) -> Array:
        """Return the unknowns with every θ′ in the frame of its body."""
        return np.concatenate([from_log_cholesky(self.phi(x)).ravel(), x[self.inertial :]])

    def p(self, x: Array) -> Array:
        own = from_log_cholesky(self.phi(x))
        theta = (self.maps @ own[:, :, None])[..., 0]
        return np.concatenate([theta.ravel(), x[self.inertial :]])

    def residual(self, x: Array, noise: float = 1.0) -> Array:
        difference, _ = log_cholesky_difference(self.phi(x), _UNIT)
        data = (self.R @ self._body_unknowns(x) - self.z) / noise
        return np.concatenate([data, difference.ravel() / self.deviation])

    def jacobian(self, x: Array, noise: float = 1.0) -> Array:
        phi = self.phi(x)
        data = _times_blocks(self.R, log_cholesky_jacobian(phi)) / noise
        _, own = log_cholesky_difference(phi, _UNIT)
        regular = np.zeros((self.inertial, len(x)))
        return np.concatenate([data, _with_blocks(regular, own / self.deviation)])

    def slope(self, x: Array) -> Array:
        """Return ∂p/∂x, block diagonal."""
        return _with_blocks(np.eye(len(x)), self.maps @ log_cholesky_jacobian(self.phi(x)))


def _own_frames(theta: Array) -> Array:
    """Return T (blocks, 10, 10) with θ = T θ′, where J = U₀ J′ U₀ᵀ and J⁰ = U₀ U₀ᵀ."""
    U, _ = log_cholesky_factor(log_cholesky(theta))
    units = pseudo_inertia(np.eye(10))
    moved = U[:, None] @ units @ np.swapaxes(U, -1, -2)[:, None]
    return np.swapaxes(from_pseudo_inertia(moved), -1, -2)


def _times_blocks(R: Array, blocks: Array) -> Array:
    """Multiply the first columns of R, ten by ten, by blocks (k, 10, 10)."""
    inertial = 10 * len(blocks)
    product = R.copy()
    by_block = R[:, :inertial].reshape(len(R), len(blocks), 10).transpose(1, 0, 2)
    product[:, :inertial] = (by_block @ blocks).transpose(1, 0, 2).reshape(len(R), inertial)
    return product


def _with_blocks(matrix: Array, blocks: Array) -> Array:
    """Put blocks (k, 10, 10) on the diagonal."""
    for k, block in enumerate(blocks):
        matrix[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] = block
    return matrix
