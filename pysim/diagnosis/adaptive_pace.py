"""Warning of adaptive runs that make very many steps, with what in the scene is sharp.

A run of dopri5 that makes more than MOST steps for a simulated second is accurate, and slow for a reason that its
author can usually change: a drive that ends abruptly at a velocity limit, friction, stops or springs that are stiff.
"""

from __future__ import annotations

import warnings
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.diagnosis.stall import sharpness
from pysim.errors import PysimWarning
from pysim.mechanism.element_places import acting_limits, velocity_band

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pysim.mechanism.model import State
    from pysim.worlds.loading import Scene

MOST_STEPS_A_SECOND = 1e5  # steps a simulated second
WINDOW = 1.0  # [s] over which they are counted while a run continues
STEPS_OF_SHORT_RUN = 10_000  # steps of a run that is too short for a window
NEAR_LIMIT_BANDS = 2.0  # bands: a joint that is closer to its velocity limit is affected by it
NEAR_LIMIT_SHARE = 1e-3  # share of the limit: likewise
# of the shortest steps so far, to which they shrink before their cause is looked for again
FALL = 0.5


def warn_of_pace(text: str) -> None:
    """Emit the warning."""
    warnings.warn(text, PysimWarning, stacklevel=2)


@dataclass
class PaceMonitor:
    """Counter of the steps of an adaptive run, updated after every call of the engine; it warns once."""

    scene: Scene
    start: float  # [s]
    report: Callable[[str], object] = warn_of_pace
    steps: int = 0  # tried
    sharp: str = ""  # in the call whose steps were shortest
    _shortest: float = np.inf  # mean step of that call [s]
    _calls: deque[tuple[float, float, int]] = field(default_factory=deque)  # times [s] and steps
    _last: float = np.nan  # [s]
    _warned: bool = False

    def after_call(self, state: State, time: float, step: float, tried: int, worst: int) -> None:
        """Record a call that tried some steps and reached `time` [s], with `step` [s] as the next."""
        begin = self.start if np.isnan(self._last) else self._last
        self._last, self.steps = time, self.steps + tried
        if self._warned or not tried:
            return
        mean = (time - begin) / tried
        if mean < FALL * self._shortest and mean * MOST_STEPS_A_SECOND < 1:
            self._shortest = mean
            self.sharp = self._cause(replace(self.scene, state=state), time, step, worst)
        self._calls.append((begin, time, tried))
        while self._calls[0][1] < time - WINDOW:
            self._calls.popleft()
        if sum(call[2] for call in self._calls) > MOST_STEPS_A_SECOND * max(
            WINDOW, time - self._calls[0][0]
        ):
            self._warn(self._calls[0][0], time, sum(call[2] for call in self._calls))

    def at_end(self) -> None:
        """Record the end of the run."""
        span = self._last - self.start
        if (
            not self._warned
            and self.steps >= STEPS_OF_SHORT_RUN
            and self.steps > MOST_STEPS_A_SECOND * span
        ):
            self._warn(self.start, self._last, self.steps)

    def _warn(self, begin: float, end: float, steps: int) -> None:
        self._warned = True
        path, settings = self.scene.spec.path, self.scene.settings
        problem = (
            f"{path}: {settings.integrator!r} made {steps:.2g} steps from t = {begin:.6g} to {end:.6g} s,"
            f" more than {MOST_STEPS_A_SECOND:.0e} a second"
        )
        remedy = (
            "make it softer, or set simulation.integrator to generalized_alpha or implicit_midpoint"
        )
        cause = f": {self.sharp}" if self.sharp else ""
        self.report(f"{problem}{cause}; {remedy}")

    def _cause(self, scene: Scene, time: float, step: float, worst: int) -> str:
        """Describe what makes steps short at the scene's state; '' if nothing is found."""
        if limit := _limit(scene):
            return limit
        try:
            return sharpness(scene, time, step, worst)
        except ValueError:
            # forces that are NaN have no modes; the run ends with the name of their element
            return ""


def _limit(scene: Scene) -> str:
    """Describe the velocity limits with the narrowest band at which a joint moves, nothing if there is none."""
    found = min(_limits(scene), default=None)
    if found is None:
        return ""
    width, joint, limit, unit = found
    return (
        f"the force of the actuators on {joint!r} falls to 0 within {width:.2g} {unit} of its velocity_limit of"
        f" {limit:g} {unit}; widen its velocity_band"
    )


def _limits(scene: Scene) -> Iterator[tuple[float, str, float, str]]:
    """Yield the width of the band [m/s or rad/s], joint, limit and unit of the velocity limits that act."""
    model, v = scene.model, scene.state.v
    for joint, at in zip(model.joints, model.v_offsets, strict=True):
        _, limit = acting_limits(joint)
        if limit is None or at < 0:
            continue
        width = velocity_band(joint) * limit
        speeds = np.abs(v[at : at + len(joint.damping)])
        if (np.abs(speeds - limit) < max(NEAR_LIMIT_BANDS * width, NEAR_LIMIT_SHARE * limit)).any():
            yield width, joint.name, limit, model.velocity_units[at]
