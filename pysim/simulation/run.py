"""`simulate`: runs a scene from its start to its duration.

    t_k = k · every, and last `duration`

Fixed steps end at outputs (record_runs.py), adaptive steps pass them (adaptive_runs.py); one call of the engine covers
many outputs. Rows are completed (accelerations, energies, poses) in batches and streamed to the trajectory file. A NaN
or infinite state stops the run within its step.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from pysim.diagnosis.contact_checks import warn_of_long_steps, warn_of_sinking
from pysim.diagnosis.fast_turns import check_turns
from pysim.diagnosis.scene_warnings import (
    warn_of_control,
    warn_of_friction,
    warn_of_obstacles,
    warn_of_scene,
)
from pysim.diagnosis.silent_faults import warn_of_silent_faults
from pysim.diagnosis.unstable_steps import StepGuard
from pysim.simulation.checkpoints import Checkpoints, origin_of, why_not
from pysim.simulation.ledger_monitor import warn_of_imbalance
from pysim.simulation.recorder import Recorder
from pysim.simulation.scene_run import run_of
from pysim.worlds.argument_checks import check_progress, checked_flag, checked_path
from pysim.worlds.external_forces import ExternalForces
from pysim.worlds.failure import Status
from pysim.worlds.interrupt import interrupts_held_back
from pysim.worlds.ledger import with_ledger
from pysim.worlds.loading import Scene

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from os import PathLike

    from pysim.trajectory import Trajectory
    from pysim.worlds.saved_parts import SavedParts
    from pysim.worlds.segment import Segment
    from pysim.worlds.world_records import WorldRecords

REPORT_INTERVAL = 0.1  # [s] of wall time between two calls of `progress`


@dataclass(frozen=True)
class Update:
    """Progress of a run."""

    time: float  # simulated [s]
    duration: float  # to simulate [s]
    wall: float  # spent [s]
    steps: int  # made
    iterations: int = 0  # of Newton's method, in implicit schemes
    rejected: int = 0  # steps of an implicit scheme that were repeated with shorter ones

    @property
    def speed(self) -> float:
        """Simulated seconds per second of wall time."""
        return self.time / self.wall if self.wall > 0 else math.inf


class Progress(Protocol):
    """Callback that is called about ten times a second during a run, and once at its end."""

    def __call__(self, update: Update, /) -> None: ...


def simulate(
    scene: Scene,
    output: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    *,
    overwrite: bool = False,
) -> Trajectory:
    """Run a scene and return its trajectory; with `output`, stream it to that file as well.

    There are warnings about a suspicious start, about a step too long for stability, a bounce, sharp friction or a fast
    spin, and after the run about friction sharper than the step where a joint came to rest, and about energy gained or
    lost without work that the errors of the scheme do not explain. Faults that leave no error are warned of, too: a
    limit that is passed, a pair that sinks, a body that catches at a seam, or never comes to rest.

    The file is marked incomplete until the run has ended; `resume` continues a run that was stopped. An existing
    trajectory is replaced with `overwrite`. After an error or an interrupt the file holds the rows so far.

    Raises:
        TypeError: the argument is not a scene.
        SimulationError: an argument is of a wrong kind; the run cannot continue, or has stalled under `dopri5`, with
            time and joint.

    >>> trajectory = pysim.simulate(pysim.load_scene("scenes/pendulum.toml", {"simulation.duration": 1.0}))
    >>> float(trajectory.t[-1]), trajectory.q.shape[1]
    (1.0, 1)
    """
    _check_scene(scene)
    output = None if output is None else checked_path(output, "output")
    check_progress(progress)
    overwrite = checked_flag(overwrite, "overwrite")
    warn_of_scene(scene)
    recorded = with_ledger(scene)
    origin = None if output is None else origin_of(scene)
    with (
        interrupts_held_back() as check_interrupts,
        Recorder(recorded, output, overwrite=overwrite, origin=origin) as recorder,
    ):
        clock = Clock(scene.settings.duration, progress, check_interrupts)
        for _ in recorded_segments(recorded, recorder, clock):
            pass
        recorder.finish()
    trajectory = recorder.trajectory()
    warn_of_run(scene, trajectory, clock.steps)
    return trajectory


def warn_of_run(
    scene: Scene, trajectory: Trajectory, steps: int, *, pulled: bool = False, stacklevel: int = 2
) -> None:
    """Warn of what a run has shown.

    Args:
        scene: the scene.
        trajectory: of the run.
        steps: made in it.
        pulled: forces from outside have acted, so that energy is not balanced.
        stacklevel: as of `warnings.warn`, from the caller of this function.
    """
    level = stacklevel + 1
    warn_of_friction(scene, trajectory.t, trajectory.q, trajectory.v, level)
    warn_of_control(scene, trajectory.t, trajectory.q, level)
    warn_of_obstacles(scene, trajectory.t, trajectory.q, level)
    if not pulled:
        warn_of_imbalance(scene, trajectory, steps, level)
        warn_of_long_steps(scene, trajectory, level)
        warn_of_silent_faults(scene, trajectory, level)
    warn_of_sinking(scene, trajectory, level)


def _check_scene(scene: object) -> None:
    if not isinstance(scene, Scene):
        problem = f"must be a pysim.Scene, got {type(scene).__name__}"
        raise TypeError(f"scene {problem}; give what pysim.load_scene returns")


def output_times(duration: float, every: float) -> Iterator[float]:
    """Yield the output instants [s]: the multiples of `every` below `duration`, then `duration` itself."""
    k = 0
    while duration - k * every > 1e-9 * every:
        yield k * every
        k += 1
    yield duration


def recorded_segments(
    scene: Scene,
    recorder: Recorder,
    clock: Clock,
    external: ExternalForces | None = None,
    *,
    saved: SavedParts | None = None,
    done: int = 0,
) -> Iterator[Segment]:
    """Run a scene, and yield every segment after it is recorded.

    Args:
        scene: to run.
        recorder: of its rows.
        clock: of the run.
        external: forces from outside.
        saved: checkpoint from which the run goes on; from the scene's start by default.
        done: number of rows up to it.
    """
    times = output_times(scene.settings.duration, scene.settings.every)
    run = run_of(scene, external)
    start = run.begin()
    guard = StepGuard(scene, start, energy=external is None)
    last = 0.0  # [s] recorded
    points = None
    clock.records = run.records
    if recorder.has_file and external is None and not why_not(scene):
        points = Checkpoints(scene, recorder, run, guard)
    if saved is None:
        segments = run.segments(times)
    else:
        guard.restore(saved.part("guard."))
        last = saved.number("last")
        segments = run.resumed(saved.part("run."), islice(times, done - 1, None))
    if saved is None:
        recorder.add_state(0.0, scene.state.q, scene.state.v, scene.state.loop_q, start)
    for stretch in segments:
        rows = (stretch.t, stretch.q, stretch.v, stretch.loop_q, stretch.report, stretch.signals)
        recorder.add(*rows, stretch.external)
        guard.check(stretch)
        check_turns(scene, stretch)
        last = float(stretch.t[-1]) if stretch.t.size else last
        event = stretch.event
        if event is not None:
            recorder.add_event(event.t, event.index, event.q, event.v)
            if run.records.status[0] == Status.ENDED and event.t > last:
                recorder.add_state(event.t, event.q, event.v, event.loop_q, event.signals)
        for impact in stretch.following:
            recorder.add_event(impact.t, impact.index, impact.q, impact.v)
        clock.tick(stretch.end, stretch.steps)
        if points is not None:
            points.after_segment(stretch, clock.steps, last)
        yield stretch
    guard.finish()
    clock.report()


class Clock:
    """Counter of steps and wall time, which raises Ctrl-C and calls `progress` at intervals."""

    def __init__(
        self, duration: float, progress: Progress | None, check_interrupts: Callable[[], None]
    ) -> None:
        self._duration = duration
        self._progress = progress
        self._check_interrupts = check_interrupts
        self._begin = self._reported = time.perf_counter()
        self.steps = 0
        self.time = 0.0
        self.records: WorldRecords | None = None

    def tick(self, now: float, steps: int) -> None:
        self.steps += steps
        self.time = now
        self._check_interrupts()
        if time.perf_counter() - self._reported > REPORT_INTERVAL:
            self.report()

    def report(self) -> None:
        self._reported = time.perf_counter()
        if self._progress is not None:
            wall = self._reported - self._begin
            counts = (0, 0) if self.records is None else self.records.solver_counts(0)
            self._progress(Update(self.time, self._duration, wall, self.steps, *counts))
