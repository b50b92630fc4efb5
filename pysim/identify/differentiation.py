"""Differentiation of recorded positions without phase delay.

    v_k = (log(q_k⁻¹ q_k+1) − log(q_k⁻¹ q_k−1)) / 2h        then, over a window about every instant,
    v, a: value and slope of the cubic that fits v best     [Savitzky and Golay 1964]

The differences are taken on the joints' groups, so ball and free joints are differentiated in the same way as
hinges. The filter is symmetric in time: its phase is zero. Samples within half a window of either end are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import IdentificationError
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.mechanism.model import Model

_DEGREE = 3
_JITTER = 0.01  # of the mean sampling interval


def differentiated(
    model: Model,
    t: Array,
    q: Array,
    v: Array | None = None,
    *,
    window: float = 0.2,
    source: str = "samples",
) -> tuple[int, dict[str, Array]]:
    """Return how many rows to drop at each end, and the v and a (n − 2 drop, nv) of the rest.

    Args:
        model: the mechanism.
        t: instants (n,) [s], evenly spaced.
        q: configurations (n, nq).
        v: velocities (n, nv) where they were measured; then a is their smoothed slope.
        window: length of the filter [s]; it passes what is slower than about 1.2 / window [Hz].
        source: where the numbers come from, for messages.

    Raises:
        IdentificationError: the samples are unevenly spaced, or too few for the window.
    """
    from scipy.signal import savgol_filter  # noqa: PLC0415, loads when first used

    if not window > 0:
        raise IdentificationError("window", f"must be positive [s], got {window:g}")
    step = _spacing(t, source)
    length = 2 * max(round(0.5 * window / step), _DEGREE) + 1
    if len(t) < length + 2:
        problem = (
            f"{len(t)} rows of {step:g} [s] are fewer than the filter's {length}; record longer, or give v and a, or "
            "a shorter window"
        )
        raise IdentificationError(source, problem)
    raw = _central_differences(model, q, step) if v is None else v
    smooth, slope = (
        savgol_filter(raw, length, _DEGREE, deriv=order, delta=step, axis=0) for order in (0, 1)
    )
    drop = (length + 1) // 2
    rows = slice(drop, len(t) - drop)
    return drop, {"v": smooth[rows] if v is None else v[rows], "a": slope[rows]}


def _central_differences(model: Model, q: Array, step: float) -> Array:
    """Return central differences of second order; the first and last rows, dropped later, repeat their neighbours."""
    ahead = model.difference(q[1:-1], q[2:])
    behind = model.difference(q[1:-1], q[:-2])
    inner = (ahead - behind) / (2 * step)
    return np.concatenate([inner[:1], inner, inner[-1:]])


def _spacing(t: Array, source: str) -> float:
    intervals = np.diff(t)
    step = float(intervals.mean())
    uneven = np.flatnonzero(np.abs(intervals - step) > _JITTER * step)
    if len(uneven):
        row = int(uneven[0])
        problem = (
            f"rows {row} and {row + 1} are {intervals[row]:g} [s] apart, on average rows are {step:g} [s]; "
            "accelerations need even spacing: interpolate the recording, or give v and a"
        )
        raise IdentificationError(source, problem)
    return step
