"""Signals of a run: their state, the instants of sampled blocks, and the forces of actuators."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pysim import _engine
from pysim.algorithms import aba
from pysim.loops.constraints import constrained_motion
from pysim.mechanism.actuation import actuator_forces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pysim.mechanism.model import Model
    from pysim.simulation.loading import Scene

    Array = NDArray[np.float64]

SAME_INSTANT = 1e-9  # of a period: an output this close to an instant is at the instant


class Instants(NamedTuple):
    """Periods [s] of sampled blocks, and the bit of the first of them."""

    periods: tuple[float, ...] = ()
    first: int = 0


@dataclass
class SignalRun:
    """State of the signals in one or many worlds: numbers (…, signal_numbers), changed in place."""

    scene: Scene
    numbers: Array
    jumped: bool = False  # held numbers have changed since the last step

    @property
    def periods(self) -> tuple[float, ...]:
        """Periods [s] of the sampled blocks."""
        return () if self.scene.signals is None else self.scene.signals.periods

    @property
    def instants(self) -> Instants:
        """When the sampled blocks run."""
        first = 0 if self.scene.signals is None else self.scene.signals.begins
        return Instants(self.periods, first)

    def begin(self, t: float, q: Array, v: Array, loop_q: Array, threads: int = 1) -> None:
        """Set the states that depend on the start, and run all sampled blocks, at t [s]."""
        assert self.scene.signals is not None
        count = self.scene.signals.begins + len(self.periods)
        self._run(t, (1 << count) - 1, q, v, loop_q, first=True, threads=threads)
        self.jumped = False

    def update(
        self, t: float, due: int, q: Array, v: Array, loop_q: Array, threads: int = 1
    ) -> None:
        """Run the sampled blocks that are due at t [s] (see `with_instants`)."""
        if due:
            self._run(t, due, q, v, loop_q, first=False, threads=threads)

    def _run(
        self,
        t: float,
        due: int,
        q: Array,
        v: Array,
        loop_q: Array,
        *,
        first: bool,
        threads: int,
    ) -> None:
        _engine.update_signals(
            self.scene.model,
            q,
            v,
            t,
            due,
            self.numbers,
            self.scene.actuation,
            loop_q=loop_q.copy(),
            first=first,
            threads=threads,
        )
        self.jumped = True


def begin_signals(scene: Scene, t: float) -> SignalRun | None:
    """Return the signals of a run that begins with the scene's state at t [s]; None if it has none."""
    if scene.signals is None:
        return None
    run = SignalRun(scene, np.array(scene.signals.start))
    state = scene.state
    run.begin(t, state.q, state.v, state.loop_q)
    return run


def with_instants(times: Iterator[float], instants: Instants) -> Iterator[tuple[float, bool, int]]:
    """Yield ends of intervals: outputs and instants k · period, with whether they are outputs and which blocks are due.

    The first time is the start, which is no end.
    """
    start = next(times)
    yield start, False, 0
    periods, bit = instants
    counts = [math.floor(start / period + SAME_INSTANT) + 1 for period in periods]
    for t in times:
        while True:
            nexts = [count * period for count, period in zip(counts, periods, strict=True)]
            first = min(nexts, default=math.inf)
            near = SAME_INSTANT * min(periods, default=0.0)
            if first > t + near:
                yield t, True, 0
                break
            due = 0
            for k, instant in enumerate(nexts):
                if instant <= first + near:
                    due |= 1 << (bit + k)
                    counts[k] += 1
            if first >= t - near:
                yield t, True, due
                break
            yield first, False, due


def forces_of_actuators(scene: Scene, t: Array, q: Array, v: Array, signals: Array) -> Array:
    """Return the generalised forces (n, nv) of the actuators of n states at t (n,) [s]."""
    tau = actuator_forces(scene.actuation, t)
    if scene.signals is not None:
        tau = tau + _engine.signal_forces(scene.model, t, q, v, signals)[0]
    return tau


def signals_of_states(scene: Scene, t: Array, q: Array, v: Array, signals: Array) -> Array:
    """Return the readings (n, readings) of all signals of n states at t (n,) [s]."""
    model = scene.model
    tau = forces_of_actuators(scene, t, q, v, signals)
    if not model.rows:
        return _readings(model, t, q, v, aba(model, q, v, tau, passive=True), signals)
    a = constrained_motion(model, q, v, tau, passive=True).a
    return _readings(model, t, q, v, a, signals)


def _readings(model: Model, t: Array, q: Array, v: Array, a: Array, signals: Array) -> Array:
    return np.asarray(_engine.read_signals(model, t, q, v, a, signals))
