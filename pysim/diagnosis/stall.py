"""Detection of stalled adaptive runs, and diagnosis of the joint and rate that limit the step.

    left = (T − t) · tried / (t − t₀)        over the steps of a call

The step of an explicit scheme is limited by the fastest mode even after that has decayed: h |s| stays at the boundary
of its stability region, about 3.3 for a decay s [Hairer, Wanner 1996, IV.2]. Such a run is stiff and remains slow; one
whose error requires short steps may soon accelerate. Either is continued unless the estimated number of remaining steps
is out of reach.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pysim.diagnosis.modes import exactly_linearised, modes_of
from pysim.diagnosis.stability import stable_step
from pysim.errors import PysimError, SimulationError
from pysim.worlds.python_stepping import ModelSystem

if TYPE_CHECKING:
    from pysim.mechanism.model import State
    from pysim.worlds.loading import Scene


class Limits(NamedTuple):
    """Estimated remaining steps beyond which a run is stopped, if both are exceeded."""

    end: float
    output: float  # from one output to the next


STIFF = Limits(1e9, 1e5)  # an hour and more, tenths of a second for a row
ANY = Limits(1e11, 1e8)  # days, minutes for a row
PATIENCE = 2**18  # steps of a stalled run before it is stopped
AT_THE_EDGE = 0.5  # of the largest stable step: the step is bound by stability
ACCELERATION_JUMP = 1.0  # change of the acceleration within a step, of its size


@dataclass
class StallDetector:
    """Detector of stalled runs, updated after every call of the engine."""

    scene: Scene
    time: float = 0.0  # reached [s]
    steps: int = 0  # tried in consecutive calls with little progress
    calls: int = 0
    stiff: int = 0  # calls at whose end stability bound the step

    def after_call(self, state: State, time: float, step: float, tried: int, worst: int) -> None:
        """Record a call that tried some steps, reached `time` [s], and would continue with `step` [s].

        Raises:
            SimulationError: the run has stalled for long, and its end is out of reach.
        """
        advance, self.time = time - self.time, time
        left = self._left(advance, tried)
        asked = step >= self.scene.settings.step  # as long as the author lets them be
        if asked or left.end <= STIFF.end or left.output <= STIFF.output:
            self.steps = self.calls = self.stiff = 0
            return
        now = replace(self.scene, state=state)
        cause = stiffness(now, time, step)
        self.steps += tried
        self.calls += 1
        self.stiff += cause is not None
        if self.steps < PATIENCE:
            return
        stiff = 2 * self.stiff > self.calls
        if stiff or (left.end > ANY.end and left.output > ANY.output):
            raise _endless(now, time, step, left.end, cause or _fast(now, worst))
        self.steps = self.calls = self.stiff = 0

    def _left(self, advance: float, tried: int) -> Limits:
        """Return steps left at this pace; where an event may stop the run, those to double its time instead."""
        settings = self.scene.settings
        end = settings.duration - self.time
        if any(event.stop for event in self.scene.spec.events):
            end = min(end, max(self.time, settings.every))
        spans = end, min(settings.every, end)
        return Limits(*(span * tried / advance if advance > 0 else math.inf for span in spans))


def _endless(scene: Scene, time: float, step: float, left: float, cause: str) -> SimulationError:
    problem = (
        f"at t = {time:.9g} s steps stay as short as {step:.2g} s, and about {left:.1g} more are needed: {cause}; set"
        " simulation.integrator to generalized_alpha or implicit_midpoint, reduce the stiffness or damping there"
        " (of a spring, a damper or limits), or increase friction_width"
    )
    return SimulationError(str(scene.spec.path), problem)


def stiffness(scene: Scene, time: float, step: float) -> str | None:
    """Describe the mode that limits a step [s] of dopri5 at the scene's state by stability, None if none does."""
    mode = _steepest(scene)
    if mode is not None:
        s, joint = mode
        bound = stable_step(s, "dopri5") if s.real <= 0 else math.inf
        if step > AT_THE_EDGE * bound:
            return f"the motion is stiff, {_rate(s, joint)}, for which a step of dopri5 is stable up to {bound:.2g} s"
    return _chatter(scene, time, step)


def sharpness(scene: Scene, time: float, step: float, worst: int) -> str:
    """Describe what keeps a step [s] of dopri5 short at the scene's state; `worst` is the coordinate of its error."""
    return stiffness(scene, time, step) or _fast(scene, worst)


def _steepest(scene: Scene) -> tuple[complex, str] | None:
    """Return the mode of largest |s| at the scene's state."""
    try:
        modes = modes_of(scene, exactly_linearised)
    except PysimError:  # a singular position, which has no derivatives
        return None
    return max(((m.s, m.joint) for m in modes), key=lambda mode: abs(mode[0]), default=None)


def _rate(s: complex, joint: str) -> str:
    if abs(s.imag) > abs(s.real):
        return f"{joint!r} swings at {abs(s.imag):.3g} rad/s"
    return f"{joint!r} {'decays' if s.real < 0 else 'grows'} at {abs(s.real):.3g} 1/s"


def _chatter(scene: Scene, time: float, step: float) -> str | None:
    """Describe the coordinate whose acceleration jumps within a step, under a force too steep for derivatives."""
    model, state = scene.model, scene.state
    system = ModelSystem(model, scene.actuation, state.loop_q)
    before = system.acceleration(time, state.q, state.v)
    if not np.isfinite(before).all():
        return None
    ahead = model.integrate(state.q, step * state.v)
    after = system.acceleration(time + step, ahead, state.v + step * before)
    change = np.abs(after - before)
    if not change.max() > ACCELERATION_JUMP * np.abs(before).max():
        return None
    name = model.velocity_names[int(change.argmax())]
    return f"the motion is stiff, the acceleration of {name!r} jumps by {change.max():.3g} within a step"


def _fast(scene: Scene, worst: int) -> str:
    """Describe the coordinate whose error requires short steps, if stability does not."""
    mode = _steepest(scene)
    moves = f", and {_rate(*mode)}" if mode is not None else ""
    return f"the error of {scene.model.velocity_names[worst]!r} requires them{moves}"
