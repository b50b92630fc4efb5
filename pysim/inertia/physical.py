"""Physical consistency of parameters θ: tests, reasons, and the nearest consistent parameters.

About the centre of mass, the second moments Σ_C = ½ tr(I_C) 1 − I_C of a body are those of a density and hence positive
semidefinite; together with m > 0 this is necessary and sufficient [Wensing, Kim, Slotine 2018]. Equivalently, no
principal moment exceeds the sum of the other two. Rods, plates and points lie on the boundary, and numbers in files are
rounded, hence a tolerance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.inertia.parameter_requirements import require_positive_mass
from pysim.inertia.pseudo_inertia import matrix_of, theta_of
from pysim.spatial.arrays import checked_double, checked_number, shaped
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_POINT_SIZE = 1e-8  # [m] smaller bodies count as points; the signs of their moments are rounding
_AXES = "xyz"


def physical_margin(theta: ArrayLike) -> Array:
    """Return how far θ (…, 10) is from inconsistency (…): 1 for a ball, 0 for a plate, negative if inconsistent.

    The margin is the smallest eigenvalue of Σ_C over the largest in magnitude; −inf without a positive mass, 0 for a
    point.

    Raises:
        PysimError: theta is not ten finite numbers (…, 10).
    """
    values = checked_double(theta, "theta", (10,))
    sigma, _ = _central_moments(values)
    size = np.abs(sigma).max(axis=-1)
    margin = np.divide(sigma[..., 0], size, out=np.zeros_like(size), where=size > 0)
    return np.where(values[..., 0] > 0, margin, -np.inf)


def is_physical(theta: ArrayLike, tolerance: float = 1e-6) -> NDArray[np.bool_]:
    """Return whether the parameters θ (…, 10) are physically consistent; ten zeros, no body at all, are.

    NaN and infinite values are inconsistent. `unphysical_reason` gives the reason, `physical_margin` the margin.

    Args:
        theta: parameters about the frame's origin.
        tolerance: by which the largest principal moment may exceed the sum of the others, relative to that sum.

    Raises:
        PysimError: theta is not ten numbers (…, 10), or tolerance is not a finite number.
    """
    values = shaped(theta, "theta", (10,)).astype(np.float64, copy=False)
    return _is_physical(values, checked_number(tolerance, "tolerance"))


def has_positive_energy(theta: ArrayLike, tolerance: float = 1e-6) -> NDArray[np.bool_]:
    """Return whether no twist gives θ (…, 10) a negative kinetic energy: m ≥ 0 and no principal moment negative.

    This is weaker than `is_physical`: parameters that only violate the triangle inequality pass.

    Raises:
        PysimError: theta is not ten finite numbers (…, 10), or tolerance is not a finite number.
    """
    values = checked_double(theta, "theta", (10,))
    sigma, _ = _central_moments(values)
    return _energy_is_positive(values, sigma, checked_number(tolerance, "tolerance"))


def unphysical_reason(theta: ArrayLike, tolerance: float = 1e-6) -> str | None:
    """Return the reason why the parameters θ (10,) are physically inconsistent, None if they are consistent.

    Args:
        theta: parameters about the frame's origin.
        tolerance: by which the largest principal moment may exceed the sum of the others, relative to that sum: thin
            plates and rods reach the bound, and files round.

    Raises:
        PysimError: theta is not ten numbers (10,), or tolerance is not a finite number.
    """
    values = shaped(theta, "theta", (10,), alone=True).astype(np.float64, copy=False)
    tolerance = checked_number(tolerance, "tolerance")
    if _is_physical(values, tolerance):
        return None
    if not np.isfinite(values).all():
        return "a number is not finite"
    if values[0] < 0:
        return f"the mass is negative, {values[0]:g} [kg]"
    if values[0] == 0:
        return "the mass is zero but the inertia is not"
    sigma, axes = _central_moments(values)
    moments = sigma.sum() - sigma[::-1]  # ascending
    if not _energy_is_positive(values, sigma, tolerance):
        return f"the principal moment {moments[0]:.4g} [kg·m²] is negative"
    excess = 100 * (moments[2] - moments[0] - moments[1]) / moments[2]
    listed = ", ".join(f"{moment:.4g}" for moment in moments)
    across = int(np.argmax(np.abs(axes[:, 0])))  # the axis of the largest moment
    if abs(axes[across, 0]) > 1 - 1e-9:
        i, j = (k for k in range(3) if k != across)
        names = [f"I{_AXES[k]}{_AXES[k]}" for k in (i, j, across)]
        sum_ = f"{names[0]} + {names[1]} < {names[2]} by {excess:.3g} %"
        return f"{sum_}, against the triangle inequality of the principal moments {listed} [kg·m²]"
    return (
        f"the principal moments {listed} [kg·m²] violate the triangle inequality: "
        f"the largest exceeds the sum of the others by {excess:.3g} %"
    )


def nearest_physical(theta: ArrayLike, margin: float = 0.0) -> Array:
    """Return the nearest physically consistent parameters to θ (…, 10), of the same mass and centre of mass.

    Nearest in the Frobenius norm of the difference of the pseudo-inertias about θ's centre of mass. There
    J = diag(Σ_C, m), so the projection onto the positive semidefinite matrices is that of Σ_C alone, in closed form:
    negative eigenvalues become zero [Higham 1988, theorem 2.1]. Consistent parameters are returned unchanged.

    Args:
        theta: parameters about the frame's origin; ten zeros stay zeros.
        margin: smallest second moment allowed, relative to the largest; 0 allows plates, 1e-6 makes a solid.

    Raises:
        PysimError: theta is not ten finite numbers (…, 10), margin is not a finite number, or a mass is not positive,
            so that the centre of mass is undefined.
    """
    values, least = checked_double(theta, "theta", (10,)), checked_number(margin, "margin")
    massless = np.asarray(~values.any(axis=-1))
    require_positive_mass(np.where(massless[..., None], np.eye(10)[0], values))
    sigma, axes = _central_moments(values)
    raised = np.maximum(sigma, least * np.maximum(sigma[..., 2:], 0))
    J = matrix_of(values)
    J[..., :3, :3] += (axes * (raised - sigma)[..., None, :]) @ np.swapaxes(axes, -1, -2)
    changed = (raised != sigma).any(axis=-1) & ~massless
    return np.where(changed[..., None], theta_of(J), values)


def _is_physical(theta: Array, tolerance: float) -> NDArray[np.bool_]:
    """`is_physical` of numbers (…, 10) that may not be finite."""
    finite = np.asarray(np.isfinite(theta).all(axis=-1))
    safe = np.where(finite[..., None], theta, 0.0)
    sigma, _ = _central_moments(safe)
    solid = (safe[..., 0] > 0) & (sigma[..., 0] >= -0.5 * _slack(safe, sigma, tolerance))
    physical: NDArray[np.bool_] = finite & (solid | ~safe.any(axis=-1))
    return physical


def _energy_is_positive(theta: Array, sigma: Array, tolerance: float) -> NDArray[np.bool_]:
    moments = sigma.sum(axis=-1) - sigma[..., 2]
    held = (theta[..., 0] > 0) | ~theta[..., :4].any(axis=-1)
    positive: NDArray[np.bool_] = held & (moments >= -_slack(theta, sigma, tolerance))
    return positive


def _central_moments(theta: Array) -> tuple[Array, Array]:
    """Return ascending eigenvalues of Σ_C (…, 3) and their axes (…, 3, 3) in columns; about the origin where m = 0."""
    J = matrix_of(theta)
    m, h = theta[..., 0, None, None], theta[..., 1:4]
    square = h[..., :, None] * h[..., None, :]
    shift = np.divide(square, m, out=np.zeros_like(square), where=m != 0)
    eigenvalues, axes = np.linalg.eigh(J[..., :3, :3] - shift)
    return eigenvalues, axes


def _slack(theta: Array, sigma: Array, tolerance: float) -> Array:
    """Return the tolerance on the triangle inequality [kg·m²]."""
    moments = sigma.sum(axis=-1, keepdims=True) - sigma
    # rounding error of a point far from the origin
    rounding = 32 * np.finfo(float).eps * np.abs(theta[..., 4:]).max(axis=-1)
    slack: Array = (
        tolerance * np.abs(moments).max(axis=-1) + rounding + theta[..., 0] * _POINT_SIZE**2
    )
    return slack
