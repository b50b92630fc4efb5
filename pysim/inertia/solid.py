"""What the parametrisations ask of θ: a positive mass, or a body with extent in every direction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import PysimError
from pysim.inertia.pseudo import pseudo_inertia

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_ROUNDING = 16 * np.finfo(float).eps  # smaller eigenvalues have no digit that is right


def require_positive_mass(numbers: Array, name: str = "theta") -> Array:
    """Return ten numbers (…, 10) whose first is a positive mass.

    Raises:
        PysimError: names the row.
    """
    if numbers.ndim == 0 or numbers.shape[-1] != 10:
        raise PysimError(name, f"must have shape (…, 10), got {numbers.shape}")
    wrong = ~(numbers[..., 0] > 0) | ~np.isfinite(numbers).all(axis=-1)
    if wrong.any():
        where, row = first_row(numbers, wrong, name)
        if np.isfinite(row).all():
            raise PysimError(where, f"the mass must be positive [kg], got {row[0]:g}")
        raise PysimError(where, "must be finite, got nan or inf")
    return numbers


def require_solid(theta: Array, name: str = "theta") -> Array:
    """Return θ (…, 10) if every pseudo-inertia is positive definite.

    Raises:
        PysimError: names the row.
    """
    require_positive_mass(theta, name)
    eigenvalues = np.linalg.eigvalsh(pseudo_inertia(theta))
    wrong = eigenvalues[..., 0] <= _ROUNDING * eigenvalues[..., 3]
    if wrong.any():
        where, _ = first_row(theta, wrong, name)
        smallest = eigenvalues[..., 0][wrong][0]
        problem = (
            f"the pseudo-inertia must be positive definite, its smallest eigenvalue is {smallest:.3g}: no body, or "
            "a rod, plate or point; nearest_physical(theta, margin=1e-6) is a body close by"
        )
        raise PysimError(where, problem)
    return theta


def first_row(numbers: Array, wrong: NDArray[np.bool_], name: str) -> tuple[str, Array]:
    """Name the first row that is wrong, and return it."""
    if numbers.ndim == 1:
        return name, numbers
    index = tuple(int(k) for k in np.argwhere(wrong)[0])
    return f"{name}[{', '.join(map(str, index))}]", numbers[index]
