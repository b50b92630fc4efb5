"""Intervals that follow each other without overlap, and integrals over them by the trapezoidal rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import IdentificationError
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.identify.samples import Samples


def check_intervals(samples: Samples, folds: int, interval: float) -> tuple[int, int]:
    """Return how many samples an interval [s] has, and how many intervals there are.

    Raises:
        IdentificationError: the recording is shorter than an interval a fold.
    """
    step = float(np.diff(samples.t).mean())
    stride = max(1, round(interval / step))
    count = (len(samples) - 1) // stride
    if count < folds:
        problem = (
            f"lasts {samples.t[-1] - samples.t[0]:g} [s], less than {folds} intervals of {interval:g} [s]; record "
            "longer or take a shorter interval"
        )
        raise IdentificationError(samples.source, problem)
    return stride, count


def integrals(rate: Array, t: Array, stride: int) -> Array:
    """Return ∫ rate dt (k, …) over consecutive intervals of `stride` samples, of rates (n, …)."""
    steps = np.diff(t).reshape(-1, *(1,) * (rate.ndim - 1))
    pieces = 0.5 * (rate[1:] + rate[:-1]) * steps
    whole: Array = pieces.reshape(-1, stride, *rate.shape[1:]).sum(axis=1)
    return whole
