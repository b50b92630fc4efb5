"""Steps of fixed size: their number between two outputs, the length of calls, and the errors that end a run.

n = ⌈(t_k+1 − t_k) / step⌉ equal steps lead from one output to the next, none longer than `simulation.step`. The runs
are in record_runs.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pysim.errors import SimulationError
from pysim.worlds.external_forces import ExternalForces

if TYPE_CHECKING:
    from pysim.worlds.loading import Scene
    from pysim.worlds.signal_runs import SignalRun


MOST_STEPS = 2**53  # a double counts no further
STEPS_A_CALL = 4096  # so that an interrupt is answered soon and progress shows in long intervals
CALL_TIME = 0.05  # [s] intended wall time of a call


def check_count(scene: Scene) -> None:
    """Reject a number of steps that no double counts."""
    settings = scene.settings
    if settings.duration / settings.step > MOST_STEPS:
        problem = (
            f"step {settings.step:g} [s] makes more than 2**53 steps of {settings.duration:g} [s]"
        )
        raise SimulationError(str(scene.spec.path), f"{problem}; take a longer step")


def steps_between(start: float, end: float, step: float) -> int:
    """Return the least number of equal steps from `start` to `end` [s], none longer than `step` [s]."""
    return max(1, math.ceil((end - start) / step - 1e-9))


@dataclass
class Pace:
    """Number of outputs in a call, adapted to the intended wall time."""

    most: int
    outputs: int = 1
    steps: int = STEPS_A_CALL

    def keep(self, wall: float) -> None:
        fitting = math.floor(self.outputs * CALL_TIME / wall)
        self.outputs = max(1, min(self.most, 2 * self.outputs, fitting))


def pace_of(
    scene: Scene, signals: SignalRun | None, external: ExternalForces | None = None
) -> Pace:
    """Return one output for each call where Python runs in or between them, so that its errors lose no output."""
    if external is not None:
        return Pace(1, steps=external.steps)
    if signals is not None and signals.calls_python:
        return Pace(1)
    settings = scene.settings
    return Pace(max(1, STEPS_A_CALL // steps_between(0.0, settings.every, settings.step)))
