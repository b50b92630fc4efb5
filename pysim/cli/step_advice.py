"""What a scene's motion about its start asks of the step, and a complaint where the step is too long."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.cli.messages import complain, say
from pysim.integrators import find_integrator
from pysim.simulation.stability import GROWTH, MOST_MOTIONS, bounce_bound, step_bounds

if TYPE_CHECKING:
    from pysim.simulation.loading import Scene
    from pysim.simulation.stability import Mode, StepBounds


def say_step(scene: Scene, bounds: StepBounds) -> None:
    """Print the fastest motion and the steps that suit it."""
    if bounds.fastest is not None:
        mode, period = bounds.fastest, 2 * np.pi / bounds.fastest.frequency
        say(f"  fastest     {mode.frequency:.4g} rad/s, period {period:.3g} s, mostly {mode.joint}")
    if bounds.steepest is not None:
        mode = bounds.steepest
        say(f"  decay       {mode.decay:.4g} 1/s at most, mostly {mode.joint}")
    if bounds.motions > MOST_MOTIONS:
        why = (
            f"{bounds.motions} motions are more than the {MOST_MOTIONS} whose modes are looked for"
        )
        say(f"  step        not judged, {why}")
    words = []
    if np.isfinite(bounds.accurate):
        words.append(f"{bounds.accurate:.2g} s or less to be accurate")
    if np.isfinite(bounds.stable):
        words.append(f"{bounds.stable:.3g} s at most to be stable")
    if words:
        say(f"  step        {', '.join(words)} with {scene.settings.integrator}, about the start")
    if bounds.stop is not None and np.isfinite(bounds.bounce):
        rate = f"{abs(bounds.stop.s):.4g} 1/s at {bounds.stop.joint!r}"
        say(
            f"  stops       {rate}, a step of {bounds.bounce:.3g} s at most to follow a bounce there"
        )


def warn_of_step(scene: Scene, bounds: StepBounds | None = None) -> None:
    """Warn of a fixed step too long for a bounce off a stop, for stability, or for the fastest motion.

    Bounds that are not given are looked for only where there is something to tell.
    """
    settings = scene.settings
    _warn_of_stop(scene, *((bounds.stop, bounds.bounce) if bounds else bounce_bound(scene)))
    if settings.integrator not in GROWTH or find_integrator(settings.integrator).adaptive:
        return
    bounds = bounds or step_bounds(scene)
    if settings.step > bounds.stable and bounds.limiting is not None:
        problem = (
            f"simulation.step is {settings.step:g} [s], beyond the {bounds.stable:.3g} [s] that "
            f"{settings.integrator} bears at the start, because of joint {bounds.limiting.joint!r}; "
            f"take {0.8 * bounds.stable:.2g} or less, or a softer spring, damper or friction there"
        )
        complain("warning", problem)
    elif settings.step > 2 * bounds.accurate and np.isfinite(bounds.stable):
        problem = (
            f"simulation.step is {settings.step:g} [s], more than a tenth of the shortest period, which "
            f"{settings.integrator} damps or misses; take {bounds.accurate:.1g} or less, or an implicit scheme"
        )
        complain("warning", problem)


def _warn_of_stop(scene: Scene, stop: Mode | None, bounce: float) -> None:
    """Warn of a stop that the step is too long for: it throws back with more energy than it took, or less."""
    settings = scene.settings
    if stop is None or settings.step <= bounce:
        return
    problem = (
        f"simulation.step is {settings.step:g} [s], beyond the {bounce:.3g} [s] up to which "
        f"{settings.integrator} follows a bounce where {stop.joint!r} is at its stop; a longer one may "
        f"throw it back faster than it came; take {0.95 * bounce:.2g} or less, or a softer stop "
        "(limits.stiffness, limits.damping)"
    )
    complain("warning", problem)
