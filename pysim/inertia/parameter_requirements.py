"""Requirements of the parametrisations on θ: a positive mass, or a positive definite pseudo-inertia."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import PysimError
from pysim.inertia.pseudo_inertia import matrix_of
from pysim.spatial.arrays import checked_double
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_ROUNDING = 16 * np.finfo(float).eps  # smaller eigenvalues have no correct digit


def require_positive_mass(numbers: ArrayLike, name: str = "theta") -> Array:
    """Return ten finite numbers (…, 10) whose first is a positive mass.

    Raises:
        PysimError: they are not; the error names the row whose mass is not positive.
    """
    values = checked_double(numbers, name, (10,))
    wrong = ~(values[..., 0] > 0)
    if wrong.any():
        where, row = _first_row(values, wrong, name)
        raise PysimError(where, f"the mass must be positive [kg], got {row[0]:g}")
    return values


def require_solid(theta: ArrayLike, name: str = "theta") -> Array:
    """Return θ (…, 10) if every pseudo-inertia is positive definite.

    Raises:
        PysimError: as in `require_positive_mass`, or a pseudo-inertia is not; the error names the row.
    """
    values = require_positive_mass(theta, name)
    eigenvalues = np.linalg.eigvalsh(matrix_of(values))
    wrong = eigenvalues[..., 0] <= _ROUNDING * eigenvalues[..., 3]
    if wrong.any():
        where, _ = _first_row(values, wrong, name)
        smallest = eigenvalues[..., 0][wrong][0]
        problem = (
            f"the pseudo-inertia must be positive definite, its smallest eigenvalue is {smallest:.3g}, as of a "
            "rod, plate or point or an inconsistent inertia; use nearest_physical(theta, margin=1e-6)"
        )
        raise PysimError(where, problem)
    return values


def _first_row(numbers: Array, wrong: NDArray[np.bool_], name: str) -> tuple[str, Array]:
    """Name the first row that is wrong, and return it."""
    if numbers.ndim == 1:
        return name, numbers
    index = tuple(int(k) for k in np.argwhere(wrong)[0])
    return f"{name}[{', '.join(map(str, index))}]", numbers[index]
