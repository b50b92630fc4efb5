"""Choice of the run of a scene by its integrator: with adaptive steps, or with steps of fixed size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.diagnosis.adaptive_pace import warn_of_pace
from pysim.integrators import find_integrator
from pysim.simulation.adaptive_runs import AdaptiveRun
from pysim.simulation.record_runs import RecordRun
from pysim.worlds.python_stepping import builtin_in_python

if TYPE_CHECKING:
    from collections.abc import Callable

    from pysim.worlds.external_forces import ExternalForces
    from pysim.worlds.loading import Scene


def run_of(
    scene: Scene,
    external: ExternalForces | None = None,
    warn: Callable[[str], object] = warn_of_pace,
) -> RecordRun:
    """Return the run of a scene under its integrator.

    Args:
        scene: to run.
        external: forces from outside; None without any.
        warn: gets the text of a warning of very many adaptive steps.
    """
    if find_integrator(scene.settings.integrator).adaptive:
        if scene.model.callback_numbers:
            builtin_in_python(scene.settings.integrator, str(scene.spec.path))  # rejects it
        return AdaptiveRun(scene, external, warn)
    return RecordRun(scene, external)
