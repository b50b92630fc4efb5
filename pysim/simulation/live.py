"""Run of a scene in small pieces, under forces from outside, for windows that show it while it runs.

    with LiveRun(scene, "run.h5") as run:
        run.force = lambda t, q, v: tau      # (nv,) [N or N·m]; None: no forces from outside
        while run.advance():
            draw(run.q)
    trajectory = run.trajectory

Without forces from outside the trajectory is that of `simulate`.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from pysim.diagnosis.scene_warnings import warn_of_scene
from pysim.errors import PysimError
from pysim.integrators import find_integrator
from pysim.simulation.fixed_steps import steps_between
from pysim.simulation.recorder import Recorder
from pysim.simulation.run import Clock, recorded_segments, warn_of_run
from pysim.typing import Array
from pysim.worlds.external_forces import ExternalForces
from pysim.worlds.interrupt import interrupts_held_back
from pysim.worlds.ledger import with_ledger
from pysim.worlds.python_stepping import runs_in_python

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from os import PathLike
    from types import TracebackType

    from pysim.simulation.run import Progress
    from pysim.trajectory import Trajectory
    from pysim.worlds.loading import Scene
    from pysim.worlds.segment import Segment

PREVIEW = 0.4  # [s] of wall time
LONGEST_INTERVAL = 2e-3  # [s] of fixed steps between two evaluations of the forces from outside, if a step is shorter


class LiveRun:
    """Run that `advance` takes forward; leaving the `with` block closes its file."""

    def __init__(
        self,
        scene: Scene,
        output: str | PathLike[str] | None = None,
        progress: Progress | None = None,
        *,
        overwrite: bool = False,
    ) -> None:
        self.scene = scene
        self.t, self.q, self.v = 0.0, scene.state.q, scene.state.v
        self.force: Callable[[float, Array, Array], Array] | None = None
        self.pulled = False  # whether a force from outside has acted
        self.done = False
        self._none = np.zeros(scene.model.nv)
        self._progress = progress
        self._recorded = with_ledger(scene)
        self._recorder = Recorder(self._recorded, output, overwrite=overwrite)
        self._stack = ExitStack()

    def advance(self) -> bool:
        """Advance by one call of the engine; return False at the end of the run.

        Raises:
            SimulationError: the run cannot continue.
        """
        if not self.done:
            segment = next(self._segments, None)
            if segment is None:
                self._recorder.finish()
                self.done = True
            elif len(segment.t):
                self.t, self.q, self.v = float(segment.t[-1]), segment.q[-1], segment.v[-1]
        return not self.done

    @cached_property
    def preview(self) -> Trajectory:
        """Predict the motion without forces of the mouse, for as long as `PREVIEW` seconds of wall time allow.

        It shows where the mechanism moves. Of a scene whose elements call Python it is the start alone, because that
        code may count its calls.
        """
        end = time.perf_counter() + (0.0 if runs_in_python(self.scene) else PREVIEW)
        recorder = Recorder(self.scene)
        clock = Clock(self.scene.settings.duration, None, lambda: None)
        with suppress(PysimError):
            for _ in recorded_segments(self.scene, recorder, clock):
                if time.perf_counter() > end:
                    break
        recorder.finish()
        return recorder.trajectory()

    @property
    def trajectory(self) -> Trajectory:
        """The trajectory recorded so far."""
        return self._recorder.trajectory()

    def warn(self) -> None:
        """Warn of what `simulate` warns of after a run; of gained or lost energy if no force from outside has acted."""
        warn_of_run(self.scene, self.trajectory, self._clock.steps, pulled=self.pulled)

    def __enter__(self) -> Self:
        warn_of_scene(self.scene)
        check_interrupts = self._stack.enter_context(interrupts_held_back())
        self._stack.enter_context(self._recorder)
        settings = self.scene.settings
        self._clock = Clock(settings.duration, self._progress, check_interrupts)
        steps = 1
        if not find_integrator(settings.integrator).adaptive:
            interval = steps_between(0.0, settings.every, settings.step)
            steps = max(1, int(LONGEST_INTERVAL * interval / settings.every))
        external = ExternalForces(self._compute, steps, self._none)
        self._segments: Iterator[Segment] = recorded_segments(
            self._recorded, self._recorder, self._clock, external
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, traceback)

    def _compute(self, t: float, q: Array, v: Array) -> Array:
        self.t, self.q, self.v = t, q, v
        if self.force is None:
            return self._none
        self.pulled = True
        return self.force(t, q, v)
