"""Steps of fixed size: their number between two outputs, and the outputs of a call.

n = ⌈(t_k+1 − t_k) / step⌉ equal steps lead from one output to the next, none longer than `simulation.step`. The runs
are in record_runs.py.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pysim.errors import SimulationError
from pysim.worlds.contact_report import NUMBERS
from pysim.worlds.external_forces import ExternalForces
from pysim.worlds.python_stepping import runs_in_python

if TYPE_CHECKING:
    from pysim.worlds.loading import Scene


MOST_STEPS = 2**53  # a double counts no further
STEPS_A_CALL = 4096  # whose outputs a call hands out
MOST_REPORTED = 1 << 23  # numbers of contact reports in a call


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


def outputs_a_call(scene: Scene, external: ExternalForces | None = None) -> int:
    """Return the most outputs of a call: one where Python runs in or between them, so that its errors lose none."""
    if external is not None or runs_in_python(scene):
        return 1
    if scene.signals is not None and scene.signals.callbacks:
        return 1
    settings = scene.settings
    most = STEPS_A_CALL // steps_between(0.0, settings.every, settings.step)
    contacts = scene.contacts
    if contacts is not None and scene.smooth_contacts is None and contacts.engine.points:
        most = min(most, MOST_REPORTED // (NUMBERS * contacts.engine.points))
    return max(1, most)
