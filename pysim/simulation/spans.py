"""Spans of calls that step worlds: numbers of steps, or seconds that are a whole number of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import SimulationError
from pysim.worlds.argument_checks import MOST_WORLDS_OR_STEPS, checked_whole_number

if TYPE_CHECKING:
    from pysim.scene.spec import Settings

# of a step: a span this close to a whole number of steps is that number
WHOLE_STEP_TOLERANCE = 1e-6


def steps_of_span(
    settings: Settings, seconds: float | None, steps: int | None
) -> tuple[int, float]:
    """Return a number of steps and their length [s]; a span of a scene without a step is one step."""
    step = settings.step
    if seconds is None:
        if not math.isfinite(step):
            name = settings.integrator
            problem = f"have no fixed length: {name!r} chooses it, and the scene sets no step"
            raise SimulationError("steps", f"{problem}; give seconds, or set simulation.step")
        return 1 if steps is None else checked_whole_number(steps, "steps", 0), step
    if steps is not None:
        raise SimulationError("seconds", "is given together with steps; leave one of them out")
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float, np.number)):
        raise SimulationError("seconds", f"must be a number, got {seconds!r}")
    if not math.isfinite(seconds):
        raise SimulationError("seconds", f"must be finite, got {seconds:g}")
    if not math.isfinite(step):
        if seconds < 0:
            raise SimulationError("seconds", f"must be 0 or more, got {seconds:g}")
        return (1, float(seconds)) if seconds > 0 else (0, 1.0)
    count = round(seconds / step)
    if count > MOST_WORLDS_OR_STEPS:
        raise SimulationError(
            "seconds", f"{seconds:g} s is more than {MOST_WORLDS_OR_STEPS} steps of {step:g} s"
        )
    if not count * step >= 0 or abs(seconds - count * step) > WHOLE_STEP_TOLERANCE * step:
        nearest = max(count, 1) * step
        problem = f"{seconds:g} s is no whole number of steps of {step:g} s"
        raise SimulationError("seconds", f"{problem}; the nearest is {nearest:.9g}")
    return count, step
