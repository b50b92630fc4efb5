"""Worlds that fail among many: one error that ends all of them, or one warning with which the others go on."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import PysimWarning, SimulationError, did_you_mean
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import NDArray

ON_FAILURE = ("stop", "drop_world")
DROP = "drop_world"  # by default


def checked_on_failure(choice: object) -> str | None:
    """Return whether a failed world stops the others or is dropped; None for the choice of the scene."""
    if choice is None:
        return None
    if not isinstance(choice, str):
        problem = f"must be 'stop' or 'drop_world', got {choice!r}"
        raise SimulationError("on_failure", f"{problem}; leave it out for that of the scene")
    if choice not in ON_FAILURE:
        remedy = did_you_mean(choice, ON_FAILURE)
        raise SimulationError("on_failure", f"there is no choice {choice!r}{remedy}")
    return choice


def failed_world(name: str, world: int, reason: str) -> SimulationError:
    """Return the error that ends many worlds, a call of `name`, because of the first that failed."""
    remedy = 'on_failure = "drop_world" goes on with the others'
    return SimulationError(f"{name}: world {world}", f"{reason}; {remedy}")


def report_lost(
    v: NDArray[np.floating[Any]], t: Array, *, stops: bool = False, stacklevel: int = 2
) -> None:
    """Report worlds whose velocities v (…, rows, nv) end in NaN, with the time of the first, t (rows,) [s].

    Raises:
        SimulationError: there are some, and the first of them stops the others.
    """
    worlds = v if v.ndim == 3 else v[None]
    lost = np.flatnonzero(np.isnan(worlds[:, -1]).any(axis=-1))
    if not len(lost):
        return
    row = np.isnan(worlds[lost]).any(axis=-1).argmax(axis=1)
    first = int(row.argmin())
    cause, when = "reached NaN or infinite values or opened", f"before t = {t[row[first]]:.4g} s"
    remedy = "take a shorter step or smaller forces"
    if stops:
        raise failed_world("rollout", int(lost[first]), f"it {cause} its loops {when}; {remedy}")
    problem = f"{len(lost)} of {len(worlds)} worlds {cause} their loops"
    text = f"rollout: {problem}, world {lost[first]} first, {when}; their rows are NaN from there on; {remedy}"
    warnings.warn(text, PysimWarning, stacklevel=stacklevel + 1)
