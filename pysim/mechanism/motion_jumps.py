"""Jumps of prescribed motions: a motion is rejected whose value or rate jumps within a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import SceneError
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.mechanism.motion_courses import Course

_INTERVALS = 1024  # intervals of a run in which a signal is searched for jumps
_PARTS_OF_INTERVAL = 16  # of an interval that is searched further
_ROUNDS = 9
_LEAST_JUMP = 1e-9  # of the largest value or rate


def refuse_jumps(courses: Sequence[Course], duration: float) -> None:
    """Reject motions that are not finite, or whose value or rate jumps within the run.

    A jump is what the integral of the derivative does not explain in an interval, however short it is.

    Raises:
        SceneError: the error gives the time of the jump.
    """
    times = np.linspace(0, duration, 2 * _INTERVALS + 1)
    for course in courses:
        values = course.at(times)
        if not np.isfinite(values).all():
            lost = times[~np.isfinite(values).all(axis=0)][0]
            problem = f"{course.label} or a derivative of it is NaN or infinite at t = {lost:g} s"
            raise SceneError(course.where, f"{problem}; give it a value in the whole run")
        for order in (0, 1):
            size = np.abs(values[order]).max()
            found = _jump(course, order, times, values[order : order + 2])
            if found is not None and abs(found[1]) > _LEAST_JUMP * size:
                raise _jumps(course, order, *found)


def _jump(course: Course, order: int, times: Array, values: Array) -> tuple[float, float] | None:
    """Return the time and size of the largest jump of a motion's derivative of an order; None without one."""
    first = None
    for _ in range(_ROUNDS):
        left = _unexplained(times, *values)
        at = int(np.abs(left).argmax())
        first = abs(left[at]) if first is None else first
        if abs(left[at]) <= 0.5 * first or first == 0:
            return None
        begin, end = times[2 * at], times[2 * at + 2]
        if end - begin <= 1e-12 * max(1.0, abs(end)):
            break
        times = np.linspace(begin, end, 2 * _PARTS_OF_INTERVAL + 1)
        values = course.at(times)[order : order + 2]
    return float(end), float(left[at])


def _unexplained(times: Array, f: Array, rate: Array) -> Array:
    """Return Δf − ∫ḟ dt of intervals (n,), each with its middle among the times (2 n + 1,), by Simpson's rule."""
    h = times[2::2] - times[:-2:2]
    return f[2::2] - f[:-2:2] - h / 6 * (rate[:-2:2] + 4 * rate[1::2] + rate[2::2])


def _jumps(course: Course, order: int, t: float, size: float) -> SceneError:
    unit = course.units[order]
    if order == 0:
        problem = (
            f"{course.label} jumps by {size:.4g} [{unit}] at t = {t:.6g} s, which no motion follows"
        )
        remedy = "use a signal without jumps, such as spline or waypoints"
    else:
        problem = f"{course.label} has a rate that jumps by {size:.4g} [{unit}] at t = {t:.6g} s, where its "
        problem += "acceleration does not exist"
        remedy = 'interpolate it smoothly: type = "spline", interpolation = "natural", or waypoints'
    return SceneError(course.where, f"{problem}; {remedy}")
