"""Which ten numbers some body has: the pseudo-inertia, and the reasons in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.inertia.parameters import central_inertia, rotational_inertia

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

_POINT = 1e-12  # [m] what is smaller than an atom is a point, whatever the signs of its moments


def pseudo_inertia(theta: ArrayLike) -> Array:
    """Return J = [[Σ, mc], [mcᵀ, m]] (…, 4, 4) with Σ = ½ tr(I) 1 − I; physical exactly where J > 0.

    Wensing, Kim and Slotine 2018, eq. 16.
    """
    values = np.asarray(theta, float)
    I = rotational_inertia(values)  # noqa: E741, the symbol of the formula
    J = np.empty((*values.shape[:-1], 4, 4))
    J[..., :3, :3] = 0.5 * np.trace(I, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - I
    J[..., :3, 3] = J[..., 3, :3] = values[..., 1:4]
    J[..., 3, 3] = values[..., 0]
    return J


def is_physical(theta: ArrayLike, tolerance: float = 1e-6) -> NDArray[np.bool_]:
    """Return whether some body has the parameters θ (…, 10); `unphysical_reason` says why not."""
    values = np.asarray(theta, float)
    rows = [unphysical_reason(row, tolerance) is None for row in values.reshape(-1, 10)]
    return np.array(rows).reshape(values.shape[:-1])


def unphysical_reason(theta: ArrayLike, tolerance: float = 1e-6) -> str | None:
    """Say why no body has the parameters θ (10,), or return None.

    Args:
        theta: parameters about the frame's origin.
        tolerance: what the triangle inequality of the principal moments may be violated by, relative to the
            largest: thin plates and rods reach it, files round it.
    """
    values = np.asarray(theta, float)
    if not np.isfinite(values).all():
        return "a number is not finite"
    if values[0] < 0:
        return f"the mass is negative, {values[0]:g} [kg]"
    if values[0] == 0:
        return "the mass is zero but the inertia is not" if values[1:].any() else None
    moments = np.linalg.eigvalsh(central_inertia(values))
    rounding = 32 * np.finfo(float).eps * abs(values[4:]).max()  # all that a point far off leaves
    slack = tolerance * abs(moments).max() + rounding + values[0] * _POINT**2
    if moments[0] < -slack:
        return f"the principal moment {moments[0]:.4g} [kg·m²] is negative"
    excess = moments[2] - moments[0] - moments[1]
    if excess > slack:
        small, middle, large = moments
        return (
            f"the principal moments {small:.4g}, {middle:.4g}, {large:.4g} [kg·m²] violate the triangle "
            f"inequality: the largest exceeds the sum of the others by {100 * excess / large:.2g} %"
        )
    return None
