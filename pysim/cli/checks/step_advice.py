"""Lines of `pysim check` about the step: the fastest motion of a scene about its start, and the steps that suit it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.cli.messages import print_line
from pysim.diagnosis.modes import MOST_MOTIONS
from pysim.diagnosis.step_checks import STIFF_SCHEME, is_stiff

if TYPE_CHECKING:
    from pysim.diagnosis.stability import StepBounds
    from pysim.worlds.loading import Scene


def print_step(scene: Scene, bounds: StepBounds) -> None:
    """Print the fastest motion and the steps that suit it."""
    if bounds.fastest is not None:
        mode, period = bounds.fastest, 2 * np.pi / bounds.fastest.frequency
        print_line(
            f"  fastest     {mode.frequency:.4g} rad/s, period {period:.3g} s, mostly {mode.joint}"
        )
    if bounds.steepest is not None:
        mode = bounds.steepest
        print_line(f"  decay       {mode.decay:.4g} 1/s at most, mostly {mode.joint}")
    if bounds.motions > MOST_MOTIONS:
        why = f"modes are computed for at most {MOST_MOTIONS} motions, not for {bounds.motions}"
        print_line(f"  step        not judged, {why}")
    words = []
    if np.isfinite(bounds.accurate):
        words.append(f"{bounds.accurate:.2g} s or less to be accurate")
    if np.isfinite(bounds.stable):
        words.append(f"{bounds.stable:.3g} s at most to be stable")
    if words:
        print_line(
            f"  step        {', '.join(words)} with {scene.settings.integrator}, about the start"
        )
    if is_stiff(scene, bounds):
        print_line(
            f"  scheme      {STIFF_SCHEME} is stable at {scene.settings.step:g} s, for this stiff scene"
        )
    if bounds.stop is not None and np.isfinite(bounds.bounce):
        rate = f"{abs(bounds.stop.s):.4g} 1/s at {bounds.stop.joint!r}"
        print_line(
            f"  stops       {rate}, a step of {bounds.bounce:.3g} s at most to follow a bounce there"
        )
    if bounds.slide is not None and np.isfinite(bounds.sticks):
        rate = f"{bounds.slide.decay:.4g} 1/s at {bounds.slide.joint!r} near rest"
        print_line(
            f"  friction    {rate}, a step of {bounds.sticks:.3g} s at most to come to rest there"
        )
