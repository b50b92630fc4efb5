"""Square roots of spatial inertias of any rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import PysimError
from pysim.spatial.arrays import checked_number, map_pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.spatial.arrays import Array

_LOWER = ([0, 1, 1, 2, 2, 2], [0, 0, 1, 0, 1, 2])


@dataclass(frozen=True)
class Factor:
    """M = F Fᵀ about the reference point; leading axes are batches.

    Attributes:
        root_mass: √m (…) [kg^½].
        com: centre of mass (…, 3) [m]; the reference point of a massless body.
        lower: L (…, 3, 3), lower triangular [kg^½·m]: Ic[p, p] = L Lᵀ with p the pivots, Ic about the centre of mass.
        pivots: (…, 3), the axes in the order in which they were eliminated, the largest moment left first.
        rank: of Ic (…): 3 for a body, 2 for a thin rod, 0 for a point; 1 only for physically inconsistent numbers.
    """

    root_mass: Array
    com: Array
    lower: Array
    pivots: NDArray[np.int64]
    rank: NDArray[np.int64]

    @property
    def matrix(self) -> Array:
        """F = [[√m 1, 0], [√m c×, Lp]] (…, 6, 6), Lp = L with row i at place pivots[i]."""
        F = np.zeros((*self.rank.shape, 6, 6), self.lower.dtype)
        x, y, z = np.moveaxis(self.root_mass[..., None] * self.com, -1, 0)
        for k in range(3):
            F[..., k, k] = self.root_mass
        F[..., 5, 1], F[..., 3, 2], F[..., 4, 0] = x, y, z
        F[..., 4, 2], F[..., 5, 0], F[..., 3, 1] = -x, -y, -z
        # row pivots[i] of Lp is row i of L
        back = np.argsort(self.pivots, axis=-1)[..., None]
        F[..., 3:, 3:] = np.take_along_axis(self.lower, back, axis=-2)
        return F


def factor(packed: Array, tolerance: float | None = None) -> Factor:
    """Return the square root of inertias in the engine's order (…, 10).

    Cholesky factorisation with diagonal pivoting of the inertia about the centre of mass. A remaining moment counts as
    zero below `tolerance` times the trace (64 rounding errors by default), or below the rounding error of the moments
    about the origin.

    Raises:
        PysimError: M is not positive semidefinite.
    """
    if tolerance is None:
        tolerance = 64 * float(np.finfo(packed.dtype).eps)
    if not 0 <= checked_number(tolerance, "tolerance") < 1:
        raise PysimError("tolerance", f"must lie between 0 and 1, got {tolerance!r}")
    _refuse(packed[..., 0] < 0, packed, "the mass is negative")
    moved = (packed[..., 0] == 0) & packed[..., 1:4].any(axis=-1)
    _refuse(moved, packed, "the mass is zero but the first moment is not")
    y = map_pairs("inertia_factor", packed, np.array([tolerance], packed.dtype))
    L = np.zeros((*y.shape[:-1], 3, 3), y.dtype)
    L[(..., *_LOWER)] = y[..., 4:10]
    pivots, rank = y[..., 10:13].astype(np.int64), y[..., 13].astype(np.int64)
    root = Factor(y[..., 0], y[..., 1:4], L, pivots, rank)
    _check_square(packed, root, tolerance)
    return root


def _check_square(packed: Array, root: Factor, tolerance: float) -> None:
    """Reject a remainder larger than rounding, which means that a moment is negative."""
    F = root.matrix
    square = (F @ np.swapaxes(F, -1, -2))[..., 3:, 3:]
    i, j = [0, 1, 2, 0, 1, 2], [0, 1, 2, 1, 2, 0]
    left = abs(square[..., i, j] - packed[..., 4:]).max(axis=-1)
    size = abs(packed[..., 4:]).max(axis=-1)
    slack = 4 * tolerance + 64 * np.finfo(packed.dtype).eps
    _refuse(left > slack * size, packed, "a moment about the centre of mass is negative")


def _refuse(wrong: NDArray[np.bool_], packed: Array, problem: str) -> None:
    if wrong.any():
        index = tuple(int(k) for k in np.argwhere(wrong)[0])
        at = f" at {list(index)}" if index else ""
        numbers = ", ".join(f"{float(x):.4g}" for x in packed[index])
        text = f"has no square root{at}: {problem}; got [m, mc, I] = [{numbers}]"
        raise PysimError("inertia", text)
