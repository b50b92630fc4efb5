"""Recordings of worlds that are stepped by hand: rows of one world at an interval, as a trajectory.

with worlds.record(every=0.02) as recording:
    while worlds.t[0] < 5.0:
        worlds.inputs["target"][:] = policy(worlds.q, worlds.v)
        worlds.step(seconds=0.01)
pysim.render.movie(recording.trajectory(), "walk.mp4")
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Self

import numpy as np

from pysim.errors import SimulationError
from pysim.simulation.recorder import Recorder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pysim.trajectory import Trajectory
    from pysim.worlds.loading import Scene
    from pysim.worlds.world_records import WorldRecords

TIME_TOLERANCE = 1e-6  # of the interval: a time this close to that of a row is its time


class Recording:
    """Rows of a world that it reaches in calls of `step`; `Worlds.record` begins it, leaving its `with` block ends it.

    A world that is reset or loaded begins its rows anew. Numbers of `parameters` are those of the first row.
    """

    def __init__(
        self,
        records: WorldRecords,
        world: int,
        every: float,
        scene: Callable[[], Scene],
        recordings: list[Recording],
    ) -> None:
        self._records, self._world, self._every = records, world, every
        self._scene, self._recordings = scene, recordings
        self._recorder: Recorder
        self._first = self._last = math.inf  # [s]
        self._rows = 0
        self._begin()
        recordings.append(self)

    def _begin(self) -> None:
        self._recorder = Recorder(self._scene())
        self._first, self._rows = self._time, 0
        self._add()

    @property
    def _time(self) -> float:
        return float(self._records.t[self._world])

    def ahead(self) -> float:
        """Return the time [s] from now to the next row."""
        if self._time < self._last:
            return 0.0
        return self._first + self._rows * self._every - self._time

    def note(self) -> None:
        """Record a row if its time has come; begin anew if the world is at an earlier time than its last row."""
        now = self._time
        if now < self._last:
            self._begin()
        elif now > self._last and self.ahead() <= TIME_TOLERANCE * self._every:
            self._add()

    def _add(self) -> None:
        records, k = self._records, np.array([self._world], np.int32)
        q, v, loop_q = records.states(k)
        report = records.report(k) if records.is_convex else None
        numbers = None if self._recorder.scene.signals is None else records.signals[k].copy()
        self._recorder.add(records.t[k].copy(), q, v, loop_q.copy(), report, numbers)
        self._last = self._time
        self._rows = math.floor((self._last - self._first) / self._every + TIME_TOLERANCE) + 1

    def stop(self) -> None:
        """Record no further rows."""
        if self in self._recordings:
            self._recordings.remove(self)

    def trajectory(self) -> Trajectory:
        """Return the rows so far: to draw, plot and save, with signals, contacts and forces as those of a run."""
        with self._recorder as recorder:
            recorder.finish()
        found = recorder.trajectory()
        recorder.complete = False
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


def parts_of_call(
    recordings: Sequence[Recording], count: int, length: float, *, is_adaptive: bool
) -> Iterator[tuple[int, float]]:
    """Yield numbers and lengths [s] of steps, up to the rows of recordings, which are recorded in between."""
    if not recordings:
        yield count, length
        return
    left, seconds_left = count, count * length
    for recording in tuple(recordings):
        recording.note()
    while left > 0 and seconds_left > 0:
        ahead = min(max(recording.ahead(), 0.0) for recording in recordings)
        if is_adaptive:
            span = min(ahead, seconds_left) if ahead > 0 else seconds_left
            yield 1, span
            seconds_left -= span
        else:
            some = min(left, max(1, round(ahead / length)))
            yield some, length
            left -= some
        for recording in tuple(recordings):
            recording.note()


def checked_interval(every: float, step: float) -> float:
    """Return an interval [s] of rows; SimulationError if it is no whole number of steps."""
    if isinstance(every, bool) or not isinstance(every, (int, float, np.number)):
        raise SimulationError("every", f"must be a number, got {every!r}")
    if not (math.isfinite(every) and every > 0):
        raise SimulationError("every", f"must be more than 0 and finite, got {every:g} s")
    if not math.isfinite(step):
        return float(every)
    count = max(1, round(every / step))
    if abs(every - count * step) > TIME_TOLERANCE * step:
        problem = f"{every:g} s is no whole number of steps of {step:g} s"
        raise SimulationError("every", f"{problem}; the nearest is {count * step:.9g}")
    return count * step
