"""Central differences of fourth order of functions of a scene's states and inputs.

f′ ≈ (8 (f(h) − f(−h)) − (f(2h) − f(−2h))) / 12 h
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import PysimWarning
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable

    from pysim.analysis.linearized_scene import LinearizedScene

    Functions = tuple[Array, ...]  # (points, outputs) of each function

# [rad, m, rad/s, m/s], and of numbers relative to 1 + their size
WIDE_DIFFERENCE, NARROW_DIFFERENCE = 1e-3, 1e-6
SLOPE_TOLERANCE = 1e-6  # of a slope and the largest in its row: by which both may differ
KINK = 0.01  # of the largest slope: difference of one-sided slopes that is reported


def differences(
    at: LinearizedScene, functions: Callable[..., Functions]
) -> tuple[Functions, Functions]:
    """Return values (outputs,) of functions at the state, and slopes (outputs, states and inputs).

    Wide differences lose fewer digits. Where narrow ones do not agree with them, these are taken.
    """
    values, narrow = _differences_of(at, functions, NARROW_DIFFERENCE, judge=True)
    _, wide = _differences_of(at, functions, WIDE_DIFFERENCE)
    slopes = []
    for near, far in zip(narrow, wide, strict=True):
        allowed = SLOPE_TOLERANCE * (
            np.abs(near) + np.abs(near).max(axis=1, initial=0.0, keepdims=True)
        )
        slopes.append(np.where(np.abs(near - far) <= allowed, far, near))
    return values, tuple(slopes)


def _differences_of(
    at: LinearizedScene, functions: Callable[..., Functions], size: float, *, judge: bool = False
) -> tuple[Functions, Functions]:
    n, places = 2 * at.N.shape[1], [*at.element_places, *at.input_places]
    step = np.full(n + len(places), size)
    step[n:] *= 1 + np.abs(at.numbers[places])
    shares = np.array([1.0, -1.0, 2.0, -2.0])
    moves = np.concatenate([np.zeros((1, len(step))), *(s * np.diag(step) for s in shares)])
    values = functions(*at.moved(moves))
    slopes = []
    for rows in values:
        points = rows[1:].reshape(len(shares), len(step), rows.shape[1])
        near = (points[0] - points[1]) / 2
        slopes.append(((4 * near - (points[2] - points[3]) / 4) / 3 / step[:, None]).T)
        if judge:
            _report_kinks(at, points[0] + points[1] - 2 * rows[0], near)
    return tuple(rows[0] for rows in values), tuple(slopes)


def _report_kinks(at: LinearizedScene, bend: Array, near: Array) -> None:
    """Warn of a state or input along which one-sided slopes differ."""
    largest = np.abs(near).max(initial=0.0)
    bent = np.abs(bend).max(axis=1, initial=0.0)
    if largest and bent.max(initial=0.0) > KINK * 2 * largest:
        name = [*at.states, *at.input_names][int(bent.argmax())]
        problem = (
            f"slopes ahead of the state and behind it differ along {name!r}: a contact, stop, limit or dry "
            "friction changes there, and the mean is returned; choose a state to one side of it"
        )
        warnings.warn(f"linearize: {problem}", PysimWarning, stacklevel=7)
