"""Runs a scene from its start to its duration.

    t_k = k · every, and last `duration`        n_k = ⌈(t_k+1 − t_k) / step⌉

Each output interval is n_k equal steps, none longer than `simulation.step`, made in C++ without
coming back to Python; an integrator that adapts its steps interpolates the outputs. The rows are
completed (accelerations, energies, poses) in batches and streamed to the trajectory file. A state
that is no longer finite stops the run within its step.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pysim import _engine
from pysim.algorithms import aba
from pysim.compile import Scene, compile_scene
from pysim.errors import SimulationError
from pysim.integrators import find_integrator, make
from pysim.loops import constraints, mobility
from pysim.model import State
from pysim.simulation.adaptive import fly
from pysim.simulation.blame import plugin_fault
from pysim.simulation.implicit import SchemeMemory, unsolved
from pysim.simulation.python_stepping import (
    ModelSystem,
    advance,
    builtin_in_python,
    leaves_numbers,
)
from pysim.simulation.recorder import Recorder, effort

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from os import PathLike

    from numpy.typing import NDArray

    from pysim.trajectory import Trajectory

    Array = NDArray[np.float64]
    Steps = Callable[[Array, Array, float, float, int], tuple[Array, Array, int]]

STEPS_A_CALL = 4096  # so that an interrupt is answered soon and progress shows in long intervals
REPORT_INTERVAL = 0.1  # [s] of wall time between two calls of `progress`


@dataclass(frozen=True)
class Update:
    """How far a run has come."""

    time: float  # simulated [s]
    duration: float  # to simulate [s]
    wall: float  # spent [s]
    steps: int  # made
    iterations: int = 0  # of Newton's method, in implicit schemes
    rejected: int = 0  # steps of an implicit scheme that were made again in shorter ones

    @property
    def speed(self) -> float:
        """Simulated seconds per second of wall time."""
        return self.time / self.wall if self.wall > 0 else math.inf


class Progress(Protocol):
    """Called about ten times a second while a run lasts, and once at its end."""

    def __call__(self, update: Update, /) -> None: ...


def load_scene(
    path: str | PathLike[str],
    overrides: Mapping[str, Any] | None = None,
    allow_code: bool = False,
) -> Scene:
    """Read a scene file and compile it; `overrides` maps dotted keys to values.

    A scene that names Python code is refused unless `allow_code`.
    """
    from pysim.scene import read_scene  # noqa: PLC0415, pydantic costs 0.1 s

    return compile_scene(read_scene(path, overrides=dict(overrides or {}), allow_code=allow_code))


def simulate(
    scene: Scene,
    output: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    *,
    overwrite: bool = False,
) -> Trajectory:
    """Run a scene and return its trajectory; with `output`, stream it to that file as well.

    The file is marked incomplete until the run has ended; an existing trajectory is replaced with
    `overwrite`. An error or an interrupt leaves everything so far in the file.
    """
    with Recorder(scene, output, overwrite=overwrite) as recorder:
        _run(scene, recorder, _Clock(scene.settings.duration, progress))
        recorder.finish()
    return recorder.trajectory()


def output_times(duration: float, every: float) -> Iterator[float]:
    """Output instants [s]: the multiples of `every` below `duration`, then `duration` itself."""
    k = 0
    while duration - k * every > 1e-9 * every:
        yield k * every
        k += 1
    yield duration


def steps_between(start: float, end: float, step: float) -> int:
    """Least number of equal steps from `start` to `end` [s], none longer than `step` [s]."""
    return max(1, math.ceil((end - start) / step - 1e-9))


def _run(scene: Scene, recorder: Recorder, clock: _Clock) -> None:
    times = output_times(scene.settings.duration, scene.settings.every)
    recorder.add(0.0, scene.state.q, scene.state.v, scene.state.loop_q)
    if find_integrator(scene.settings.integrator).adaptive:
        _fly(scene, times, recorder, clock)
    else:
        _march(scene, times, recorder, clock)
    clock.report()


def _fly(scene: Scene, times: Iterator[float], recorder: Recorder, clock: _Clock) -> None:
    """Run with steps of adapted size."""
    if scene.model.callback_numbers:
        builtin_in_python(scene.settings.integrator, str(scene.spec.path))  # refuses, by name
    last = 0.0  # [s] recorded
    for leg in fly(scene, islice(times, 1, None)):
        for row in zip(leg.t, leg.q, leg.v, strict=True):
            recorder.add(*row, leg.loop_q)
        last = float(leg.t[-1]) if leg.t.size else last
        event = leg.event
        if event is not None:
            recorder.add_event(event.t, event.index, event.q, event.v)
            if scene.spec.events[event.index].stop and event.t > last:
                recorder.add(event.t, event.q, event.v, leg.loop_q)
        clock.tick(last if event is None else event.t, leg.steps)


def _march(scene: Scene, times: Iterator[float], recorder: Recorder, clock: _Clock) -> None:
    """Run with equal steps between outputs."""
    q, v, loop_q = scene.state.q, scene.state.v, scene.state.loop_q.copy()
    memory = clock.memory = SchemeMemory(scene)
    make_steps = _stepper(scene, loop_q, memory)
    for start, end in pairwise(times):
        steps = steps_between(start, end, scene.settings.step)
        step = (end - start) / steps
        made = 0
        while made < steps:
            wanted = min(steps - made, STEPS_A_CALL)
            now = start + made * step
            q, v, done = make_steps(q, v, now, step, wanted)
            if done < wanted:
                state, last = State(q, v, loop_q), now + done * step
                raise _stopped(scene, state, memory, last, step)
            made += wanted
            clock.tick(start + made * step, wanted)
        recorder.add(end, q, v, loop_q.copy())


def _stepper(scene: Scene, loop_q: Array, memory: SchemeMemory) -> Steps:
    """Return what makes steps: the engine, or Python where a plugin or a joint needs it.

    The coordinates of joints that close loops, and the scheme's memory, are moved along in place.
    """
    name, model, drive = scene.settings.integrator, scene.model, scene.actuation
    scheme, own_keys = find_integrator(name).plugin, scene.settings.parameters
    if scheme is None and not model.callback_numbers:
        return lambda q, v, t, h, n: _engine.advance(
            model, q, v, t, h, n, name, drive, loop_q=loop_q, memory=memory.numbers, **own_keys
        )
    own = (
        builtin_in_python(name, str(scene.spec.path)) if scheme is None else make(scheme, own_keys)
    )
    system = ModelSystem(model, drive, loop_q)
    return lambda q, v, t, h, n: advance(own, system, q, v, t, h, n)


def _stopped(
    scene: Scene, state: State, memory: SchemeMemory, last: float, step: float
) -> SimulationError:
    """Say what ended a run after the last good state, at `last` [s]."""
    fault = plugin_fault(scene.model, state.q, state.v, step)
    if fault is not None:
        return SimulationError(str(scene.spec.path), f"at t = {last:g} s {fault}")
    if memory.lost:
        return unsolved(scene, state, memory.worst, last, step)
    opened = scene.model.rows and _stays_finite(scene, state, last, step)
    return (_opened if opened else _diverged)(scene, state, last, step)


def _stays_finite(scene: Scene, state: State, last: float, step: float) -> bool:
    """Whether a plugin's scheme leaves finite numbers, so that only the loops can have ended the run."""
    plugin = find_integrator(scene.settings.integrator).plugin
    if plugin is None:
        return True
    system = ModelSystem(scene.model, scene.actuation, state.loop_q.copy())
    return leaves_numbers(make(plugin, scene.settings.parameters), system, state, last, step)


def _diverged(scene: Scene, state: State, last: float, step: float) -> SimulationError:
    """Say which joint left the finite numbers, when, and how large the last good state was."""
    q, v = state.q, state.v
    tau = effort(scene, np.array([last]))[0]
    with np.errstate(all="ignore"):
        a = aba(scene.model, q, v, tau, passive=True)
        growth = np.nan_to_num(np.abs(v) + step * np.abs(a), nan=np.inf)
    offsets = np.array(scene.model.v_offsets)  # -1: follows another joint
    moving = np.flatnonzero((offsets >= 0) & (offsets <= np.argmax(growth)))
    joint = scene.model.joint_names[int(moving[-1])]
    problem = (
        f"joint {joint!r} is no longer finite at t = {last + step:g} s; the last good state, at"
        f" {last:g} s, has max |q| = {np.abs(q).max():.3g} and max |v| = {np.abs(v).max():.3g};"
        f" reduce simulation.step, now {scene.settings.step:g} [s]"
    )
    return SimulationError(str(scene.spec.path), problem)


def _opened(scene: Scene, state: State, last: float, step: float) -> SimulationError:
    """Say which loop could not be kept closed, when, and how the mechanism stood."""
    model, (q, v) = scene.model, (state.q, state.v)
    with np.errstate(all="ignore"):
        ahead = model.integrate(q, np.nan_to_num(step * v))
        residual = np.abs(constraints(model, ahead, loop_q=state.loop_q).residual)
    name = model.row_names[int(np.nan_to_num(residual, nan=np.inf).argmax())]
    problem = (
        f"{name!r} cannot be kept closed at t = {last + step:g} s; the last good state, at {last:g} s, has"
        f" max |v| = {np.abs(v).max():.3g}, and {mobility(model, q, state.loop_q)};"
        f" reduce simulation.step, now {scene.settings.step:g} [s]"
    )
    return SimulationError(str(scene.spec.path), problem)


class _Clock:
    """Counts steps and wall time, and calls `progress` now and then."""

    def __init__(self, duration: float, progress: Progress | None) -> None:
        self._duration = duration
        self._progress = progress
        self._begin = self._reported = time.perf_counter()
        self._steps = 0
        self.time = 0.0
        self.memory: SchemeMemory | None = None

    def tick(self, now: float, steps: int) -> None:
        self._steps += steps
        self.time = now
        if time.perf_counter() - self._reported > REPORT_INTERVAL:
            self.report()

    def report(self) -> None:
        self._reported = time.perf_counter()
        if self._progress is not None:
            wall = self._reported - self._begin
            counts = (self.memory.iterations, self.memory.rejected) if self.memory else (0, 0)
            self._progress(Update(self.time, self._duration, wall, self._steps, *counts))
