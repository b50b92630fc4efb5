"""`replay`: the last steps of a run that failed, one by one, and the likely cause.

The run goes on from the last checkpoint in its file, in memory, to the failure, which comes again to the bit. Then it
goes on once more from the last record before the failure, one step a call, and every step is looked at. Adaptive steps
are made again one by one beside each call.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pysim.algorithms import elastic_energy, kinetic_energy, potential_energy
from pysim.diagnosis.failure_causes import LastSteps, likely_cause
from pysim.diagnosis.last_state import has_diverged
from pysim.errors import SimulationError
from pysim.mechanism.model import State
from pysim.simulation.recorder import Recorder
from pysim.simulation.resume import StoppedRun
from pysim.simulation.run import Clock, output_times, recorded_segments
from pysim.simulation.scene_run import run_of
from pysim.typing import Array
from pysim.worlds.argument_checks import checked_path
from pysim.worlds.contact_report import reported_points, start_report
from pysim.worlds.interrupt import interrupts_held_back
from pysim.worlds.ledger import with_ledger
from pysim.worlds.saved_parts import SavedParts

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from pysim.worlds.loading import Scene
    from pysim.worlds.world_records import WorldRecords

SHOWN_STEPS = 20  # that are shown
RECORDS_BEFORE_FAILURE = 64  # before the failure that are kept


@dataclass(frozen=True)
class ReplayStep:
    """State at the end of a step."""

    t: float  # [s]
    q: Array  # (nq,)
    v: Array  # (nv,)
    kinetic: float  # [J]
    stored: float  # potential and elastic energy [J]
    fastest: str  # velocity coordinate
    speed: float  # its velocity
    unit: str  # of it, m/s or rad/s
    contacts: tuple[str, ...]  # pairs that touch
    force: float  # largest of a contact point [N]
    iterations: int  # of Newton's method in the step


@dataclass(frozen=True)
class Replay:
    """Last steps of a run that failed."""

    steps: tuple[ReplayStep, ...]
    problem: str  # the error that ended the run
    cause: str  # the likely one, in a sentence


class _Stop(BaseException):
    """End of what is looked at."""


class _Checkpoint(NamedTuple):
    """Checkpoint of a run; that of its start has no record."""

    record: bytes | None
    rows: int  # before it
    steps: int  # made before it


class _LastRecords(Recorder):
    """Recorder in memory that keeps the last checkpoints before a run diverges."""

    def __init__(self, scene: Scene, start: _Checkpoint) -> None:
        super().__init__(scene)
        self.checkpoints = deque([start], maxlen=RECORDS_BEFORE_FAILURE)
        self.failed_at = np.inf  # [s] of outputs that were found to be wrong, if no step failed
        self._rows_added = start.rows

    @property
    def has_file(self) -> bool:
        """Whether checkpoints are taken."""
        return True

    def add(self, t: Array, q: Array, v: Array, *others: Any) -> None:  # noqa: ANN401, as of Recorder
        super().add(t, q, v, *others)
        self._rows_added += len(t)
        if len(t):
            self.failed_at = float(t[-1])

    def add_state(self, *state: Any) -> None:  # noqa: ANN401, as of Recorder
        super().add_state(*state)
        self.failed_at = np.inf  # the start, or the end at an event, which no check follows

    def checkpoint(self, record: bytes) -> None:
        steps = SavedParts.of(record, "checkpoint").count("steps")
        self.checkpoints.append(_Checkpoint(record, self._rows_added, steps))


class _CheckedClock(Clock):
    """Clock of a run, which ticks where its outputs have passed the checks."""

    def __init__(self, recorder: _LastRecords, *others: Any) -> None:  # noqa: ANN401, as of Clock
        super().__init__(*others)
        self._recorder = recorder

    def tick(self, now: float, steps: int) -> None:
        super().tick(now, steps)
        self._recorder.failed_at = np.inf


class _Watch:
    """Keeps the last steps of a run, up to where it has diverged, unless it had so before."""

    def __init__(self, scene: Scene, steps: int, reached: float) -> None:
        self._scene, self._reached = scene, reached
        self.seen: deque[tuple[float, State, Array | None, int, Array]] = deque(maxlen=steps + 1)

    def __call__(self, records: WorldRecords) -> None:
        t, state, numbers = records.step_start(0)
        if self.seen and has_diverged(state.q, state.v):
            raise _Stop
        if records.is_convex:
            report = records.report(np.zeros(1, np.int32))
        else:
            report = start_report(self._scene, state.q[None], state.v[None])
        self.seen.append((t, state, numbers, records.solver_counts(0)[0], report))
        if t >= self._reached:
            raise _Stop

    def last(self) -> LastSteps:
        """Return the states of the steps that were seen."""
        seen = self.seen
        return LastSteps(
            [one[0] for one in seen],
            [one[1] for one in seen],
            [one[2] for one in seen],
            [one[4] for one in seen],
        )

    def steps(self) -> tuple[ReplayStep, ...]:
        """Return the recorded steps, each with the iterations that it took."""
        before = [0, *(one[3] for one in self.seen)]
        found = [
            self._step(*one, max(0, one[3] - start) if k else one[3])
            for k, (one, start) in enumerate(zip(self.seen, before, strict=False))
        ]
        return tuple(found[1:] if len(found) == self.seen.maxlen else found)

    def _step(
        self, t: float, state: State, _: Array | None, _so_far: int, report: Array, iterations: int
    ) -> ReplayStep:
        model, q, v = self._scene.model, state.q, state.v
        points = reported_points(self._scene.contacts, report)
        pairs = () if self._scene.contacts is None else self._scene.contacts.pairs
        k = int(np.abs(v).argmax()) if v.size else 0
        with np.errstate(all="ignore"):  # a run that grows without bound overflows
            return ReplayStep(
                t,
                q,
                v,
                float(kinetic_energy(model, q, v)),
                float(potential_energy(model, q) + elastic_energy(model, q)),
                model.velocity_names[k],
                float(v[k]),
                model.velocity_units[k],
                tuple(pairs[pair].name for pair in np.unique(points.pair).tolist()),
                float(np.linalg.norm(points.force, axis=1).max(initial=0.0)),
                iterations,
            )


def replay(
    path: str | PathLike[str],
    steps: int = SHOWN_STEPS,
    *,
    force: bool = False,
    allow_code: bool = False,
    package_dirs: Iterable[str | PathLike[str]] = (),
) -> Replay:
    """Return the last steps of a run that failed, and the likely cause; its file stays as it is.

    Args:
        path: trajectory file of the run.
        steps: number of steps before the failure, 1 or more.
        force: go on although the scene, plugin files, pysim or the instruction set have changed.
        allow_code: whether the scene may run Python code that it names.
        package_dirs: folders that hold packages of the scene's models.

    Raises:
        TrajectoryError: the file is not a trajectory, is in use or is damaged.
        SimulationError: the run did not fail, does not fail again, cannot be resumed, or something has changed.
    """
    given: object = steps
    if not isinstance(given, (int, np.integer)) or isinstance(given, bool) or steps < 1:
        problem = f"must be a whole number, 1 or more, got {steps!r}"
        raise SimulationError("steps", f"{problem}; give a positive number")
    file = checked_path(path, "path")
    run = StoppedRun(file, force=force, allow_code=allow_code, package_dirs=package_dirs)
    return replay_run(run, steps)


def replay_run(run: StoppedRun, steps: int = SHOWN_STEPS) -> Replay:
    """Return the last steps of a run that was stopped by an error.

    Raises:
        SimulationError: it was not, or does not fail again.
    """
    settings = replace(run.scene.settings, checkpoint=0.0)
    scene = with_ledger(replace(run.scene, settings=settings))
    start = _Checkpoint(None, 0, 0)
    if run.checkpoint is not None:
        record = run.checkpoint.record
        steps_before = SavedParts.of(record, str(run.path)).count("steps")
        start = _Checkpoint(record, run.checkpoint.rows, steps_before)
    recorder = _LastRecords(scene, start)
    error = _failure(scene, recorder, start, str(run.path))
    if error is None:
        problem = "does not fail when it goes on; it was stopped or killed"
        raise SimulationError(str(run.path), f"{problem}; go on with pysim resume {run.path}")
    enough = recorder.checkpoints[-1].steps - steps
    begin = max(
        (own for own in recorder.checkpoints if own.steps <= enough),
        default=recorder.checkpoints[0],
        key=lambda own: own.steps,
    )
    watch = _Watch(scene, steps, recorder.failed_at)
    _look(scene, begin, watch, str(run.path))
    return Replay(watch.steps(), str(error), likely_cause(scene, watch.last()))


def _failure(
    scene: Scene, recorder: _LastRecords, start: _Checkpoint, where: str
) -> SimulationError | None:
    """Run a scene from a checkpoint of a file; return the error that ends the run, None at its end.

    Raises:
        SimulationError: the checkpoint is not one of the scene.
    """
    saved = None if start.record is None else SavedParts.of(start.record, where)
    try:
        with interrupts_held_back() as check_interrupts, recorder:
            clock = _CheckedClock(recorder, scene.settings.duration, None, check_interrupts)
            clock.steps = start.steps
            for _ in recorded_segments(scene, recorder, clock, saved=saved, done=start.rows):
                pass
    except SimulationError as error:
        return error
    return None


def _look(scene: Scene, start: _Checkpoint, watch: _Watch, where: str) -> None:
    """Run a scene from a checkpoint one step a call, to its failure or until enough is seen."""
    run = run_of(scene, warn=lambda _: None)  # warned of in the run
    run.begin()
    run.watch = watch
    times = output_times(scene.settings.duration, scene.settings.every)
    if start.record is None:
        segments = run.segments(times)
    else:
        left = islice(times, start.rows - 1, None)
        saved = SavedParts.of(start.record, where)
        segments = run.resumed(saved.part("run."), left)
    with suppress(SimulationError, _Stop):
        deque(segments, maxlen=0)
