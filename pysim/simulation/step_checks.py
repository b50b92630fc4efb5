"""Checks of a scene's step: long for stability, for the fastest motion, a bounce, sharp friction or a fast spin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.integrators import find_integrator
from pysim.joints import find_joint
from pysim.simulation.stability import GROWTH, bounce_bound, step_bounds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pysim.simulation.loading import Scene
    from pysim.simulation.stability import Mode, StepBounds

SPIN_ANGLE = 0.3  # [rad] a step up to which generalized_alpha keeps the energy of a spin


def long_steps(scene: Scene, bounds: StepBounds | None = None) -> Iterator[str]:
    """Describe what a fixed step is too long for.

    Bounds that are not given are computed only if they can be exceeded.
    """
    settings = scene.settings
    stop, bounce = (bounds.stop, bounds.bounce) if bounds else bounce_bound(scene)
    if stop is not None and settings.step > bounce:
        yield _bounce(scene, stop, bounce)
    yield from _fast_spins(scene)
    if settings.integrator not in GROWTH or find_integrator(settings.integrator).adaptive:
        return
    bounds = bounds or step_bounds(scene)
    if settings.step > bounds.stable and bounds.limiting is not None:
        yield (
            f"simulation.step is {settings.step:g} [s], beyond the {bounds.stable:.3g} [s] for which "
            f"{settings.integrator} is stable at the start, because of joint {bounds.limiting.joint!r}; "
            f"take {0.8 * bounds.stable:.2g} or less, or a softer spring, damper or friction there"
        )
        return
    slide, longest = bounds.slide, bounds.sticks
    if slide is not None and settings.step > longest:
        yield (
            f"simulation.step is {settings.step:g} [s], beyond the {longest:.3g} [s] up to which "
            f"{settings.integrator} follows the friction of {slide.joint!r} where it comes to rest; a longer one "
            f"jumps over its friction_width; take {0.8 * longest:.2g} or less, or a wider friction_width"
        )
    elif settings.step > 2 * bounds.accurate and np.isfinite(bounds.stable):
        yield (
            f"simulation.step is {settings.step:g} [s], more than a tenth of the shortest period, which "
            f"{settings.integrator} damps or misses; take {bounds.accurate:.1g} or less, or an implicit scheme"
        )


def _bounce(scene: Scene, stop: Mode, bounce: float) -> str:
    settings = scene.settings
    return (
        f"simulation.step is {settings.step:g} [s], beyond the {bounce:.3g} [s] up to which "
        f"{settings.integrator} follows a bounce where {stop.joint!r} is at its stop; a longer one may "
        f"throw it back faster than it came; take {0.95 * bounce:.2g} or less, or a softer stop "
        "(limits.stiffness, limits.damping)"
    )


def _fast_spins(scene: Scene) -> Iterator[str]:
    """Describe joints that rotate in space so fast that generalized_alpha damps their nutation."""
    model, settings = scene.model, scene.settings
    if settings.integrator != "generalized_alpha":
        return
    for joint, at in zip(model.joints, model.v_offsets, strict=True):
        for first, nv in find_joint(joint.type).turning if at >= 0 else ():
            speed = float(np.linalg.norm(scene.state.v[at + first : at + first + nv]))
            if speed * settings.step > SPIN_ANGLE:
                yield (
                    f"simulation.step is {settings.step:g} [s], and joint {joint.name!r} spins at {speed:.4g} [rad/s], "
                    f"{speed * settings.step:.2g} rad a step; generalized_alpha damps the nutation of what turns by "
                    f"more than {SPIN_ANGLE:g} rad; take {0.8 * SPIN_ANGLE / speed:.2g} or less, or implicit_midpoint"
                )
