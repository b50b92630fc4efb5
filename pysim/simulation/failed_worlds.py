"""Worlds of a rollout whose states became NaN or infinite, or left their loops."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import PysimWarning

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def warn_of_lost(v: NDArray[np.floating[Any]], t: Array, stacklevel: int = 2) -> None:
    """Warn of worlds whose velocities v (…, rows, nv) end in NaN, with the time of the first, t (rows,) [s]."""
    worlds = v if v.ndim == 3 else v[None]
    lost = np.flatnonzero(np.isnan(worlds[:, -1]).any(axis=-1))
    if not len(lost):
        return
    row = np.isnan(worlds[lost]).any(axis=-1).argmax(axis=1)
    first = int(row.argmin())
    when = f"world {lost[first]} first, before t = {t[row[first]]:.4g} s"
    problem = f"{len(lost)} of {len(worlds)} worlds reached NaN or infinite values or opened their loops, {when}"
    text = f"rollout: {problem}; their rows are NaN from there on; take a shorter step or smaller forces"
    warnings.warn(text, PysimWarning, stacklevel=stacklevel + 1)
