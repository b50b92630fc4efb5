"""Energy errors of a scheme, estimated by comparing one step h with steps of h/2 and h/4 from the same state.

    e = |E(h) − E(h/4)|        E(h/2) − E(h/4) = e (2⁻ᵖ − 4⁻ᵖ) / (1 − 4⁻ᵖ)

Errors of a scheme of order p fall by 2ᵖ. An error that falls at another rate is no truncation error: it is a jump
between branches of a mechanism's motion, rounding, or an impact.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.algorithms import elastic_energy, kinetic_energy, potential_energy
from pysim.errors import SimulationError
from pysim.integrators import find_integrator
from pysim.mechanism.model import State
from pysim.simulation.checks.stability import modes_of, slide_bound
from pysim.simulation.stepping.adaptive_steps import AdaptiveRun
from pysim.simulation.stepping.fixed_steps import steps_between
from pysim.simulation.stepping.implicit_state import SolverState
from pysim.simulation.stepping.record_runs import run_fixed
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.simulation.loading import Scene

_SCHEME = 10.0  # safety factor of errors interpolated between outputs
_EVERY_STEP = 2.0  # safety factor of errors estimated at every step
_LARGE = {
    1: 0.05,
    2: 0.03,
    3: 0.02,
    4: 0.01,
}  # largest truncation error of a step, by order, of the energy involved
_RESOLVED = 0.7  # largest |h s| of the fastest mode that a step resolves
_PARTS = 64  # outputs in an interval that is run again with adaptive steps
_PROBES = 256  # outputs at which the error of a step is estimated
_PROBES_ALONE = 32  # the same if every step has its own controls
_WORST = 4  # intervals whose errors are estimated at every step
_MOST_STEPS = 4096  # in such an interval
_LIKE = 6.0  # factor by which the fall of an error may differ from that of its order


@dataclass(frozen=True)
class Motion:
    """Outputs of one world."""

    scene: Scene
    t: Array  # (n,) [s]
    q: Array
    v: Array
    energy: Array  # (n,) [J]
    kinetic: Array  # (n,) [J]
    steps: int  # in total
    controls: Array | None = (
        None  # generalised forces of every step (steps, nv), added to the actuators'
    )

    def before(self, row: int) -> Motion:
        """Return the outputs before a row."""
        made = self.steps * max(row - 1, 0) // max(len(self.t) - 1, 1)
        controls = None if self.controls is None else self.controls[:made]
        t, q, v, energy, kinetic = (
            column[:row] for column in (self.t, self.q, self.v, self.energy, self.kinetic)
        )
        return Motion(self.scene, t, q, v, energy, kinetic, made, controls)

    def actuation(self, step: int) -> _engine.Actuation:
        """Return the actuation during a step, given its number."""
        own = self.scene.actuation
        if self.controls is None:
            return own
        offset = own.offset + self.controls[step]
        return _engine.Actuation(offset, own.amplitude, own.frequency, own.phase)


def motion_of(
    scene: Scene, t: Array, q: Array, v: Array, steps: int, controls: Array | None = None
) -> Motion:
    """Return outputs with their energies."""
    kinetic = np.asarray(kinetic_energy(scene.model, q, v))
    stored = np.asarray(potential_energy(scene.model, q)) + elastic_energy(scene.model, q)
    return Motion(scene, t, q, v, kinetic + stored, kinetic, steps, controls)


def resolves(motion: Motion, row: int) -> bool:
    """Return whether the step resolves the modes at some outputs up to a row."""
    scene, settings = motion.scene, motion.scene.settings
    if find_integrator(settings.integrator).adaptive:
        return True
    if settings.step > slide_bound(scene)[1]:
        return False
    fastest = []
    for k in np.unique(np.linspace(0, row, 3).astype(int)):
        state = State(motion.q[k], motion.v[k], scene.state.loop_q)
        modes = modes_of(replace(scene, state=state))
        fastest.append(max((abs(mode.s) for mode in modes), default=0.0))
    return bool(settings.step * np.median(fastest) < _RESOLVED)


def scheme_errors(motion: Motion, d: Array, scale: float) -> Array:
    """Return the largest energy error that the scheme explains in every interval (n − 1,) [J]."""
    settings = motion.scene.settings
    kind = find_integrator(settings.integrator)
    if kind.adaptive:
        return _tolerated(motion, scale)
    if kind.plugin is not None or motion.scene.model.callback_numbers:
        return np.full(len(d), np.inf)  # their steps are too slow to be repeated
    lengths = np.diff(motion.t)
    counts = np.array([steps_between(0.0, x, settings.step) for x in lengths])
    probes = _PROBES if motion.controls is None else _PROBES_ALONE
    rows = np.unique(np.linspace(0, len(d) - 1, min(len(d), probes)).astype(int))
    first = np.concatenate([[0], np.cumsum(counts)])  # step after every output
    begins = motion.t[rows], motion.q[rows], motion.v[rows]
    each = _step_errors(motion, *begins, lengths[rows] / counts[rows], first[rows])
    each = _of_the_scheme(motion, each, scale)
    errors = _SCHEME * counts * np.interp(np.arange(len(d)), rows, each)
    for k in np.argsort(-np.abs(d))[:_WORST]:
        if counts[k] <= _MOST_STEPS:
            steps = first[k] + np.arange(counts[k])
            own = _of_the_scheme(motion, _interval_errors(motion, int(k), steps), scale)
            errors[k] = _EVERY_STEP * own.sum()
    return errors


def _order(motion: Motion) -> int:
    order = find_integrator(motion.scene.settings.integrator).order
    assert order is not None, "errors are estimated for built-in schemes only"
    return order


def _of_the_scheme(motion: Motion, errors: Array, scale: float) -> Array:
    """Return the errors of single steps, 0 for those too large to be truncation errors of a suitable step."""
    large = _LARGE[min(_order(motion), max(_LARGE))]
    return np.where(errors <= large * scale, errors, 0.0)


def _interval_errors(motion: Motion, k: int, numbers: NDArray[np.intp]) -> Array:
    """Return the errors of every step of an interval (count,), given their numbers; the interval is run again."""
    steps = rerun_interval(motion, k)
    h = np.full(len(steps.t) - 1, (motion.t[k + 1] - motion.t[k]) / len(numbers))
    return _step_errors(motion, steps.t[:-1], steps.q[:-1], steps.v[:-1], h, numbers[: len(h)])


def rerun_interval(motion: Motion, k: int, parts: int = 1) -> Motion:
    """Run the interval between two outputs again, with an output after every part of a step.

    Adaptive steps remain adaptive, with outputs at equal distances.
    """
    scene, start, end = motion.scene, float(motion.t[k]), float(motion.t[k + 1])
    settings, q0, v0 = scene.settings, motion.q[k], motion.v[k]
    t, q, v = [np.array([start])], [q0[None]], [v0[None]]
    if find_integrator(settings.integrator).adaptive:
        times = np.linspace(start, end, _PARTS + 1)
        state = State(q0, v0, scene.state.loop_q)
        own = replace(scene, state=state, settings=replace(settings, duration=end))
        try:
            for part in AdaptiveRun(own, warn=str).from_start(iter(times.tolist())):
                t.append(part.t)
                q.append(part.q)
                v.append(part.v)
        except SimulationError:
            pass
    else:
        count = parts * steps_between(start, end, settings.step)
        times = np.linspace(start, end, count + 1)
        if motion.controls is not None:
            every = count // parts
            given = np.repeat(motion.controls[k * every : (k + 1) * every], parts, axis=0)
            return _under_controls(motion, k, times, given)
        own = replace(scene, state=State(q0, v0, scene.state.loop_q))
        with suppress(SimulationError):
            for part in run_fixed(own, iter(times.tolist()), SolverState(own)):
                t.append(part.t)
                q.append(part.q)
                v.append(part.v)
    return motion_of(scene, np.concatenate(t), np.concatenate(q), np.concatenate(v), 0)


def _under_controls(motion: Motion, k: int, times: Array, controls: Array) -> Motion:
    """Run an interval again with an output after every step, each under its own controls."""
    scene, settings = motion.scene, motion.scene.settings
    state = motion.q[k], motion.v[k]
    states = [state]
    for time, u in zip(times[:-1], controls, strict=True):
        drive = replace(motion, controls=u[None]).actuation(0)
        h = float(times[1] - times[0])
        q, v, done = _engine.advance(
            scene.model, *state, float(time), h, 1, settings.integrator, drive, **settings.parameters
        )  # fmt: skip
        if done != 1:
            break
        state = q, v
        states.append(state)
    q_t, v_t = (np.array(column) for column in zip(*states, strict=True))
    n = len(states)
    return motion_of(scene, times[:n], q_t, v_t, n - 1, controls[: n - 1])


def _step_errors(
    motion: Motion, t: Array, q: Array, v: Array, h: Array, numbers: NDArray[np.intp]
) -> Array:
    """Return |E(h) − E(h/4)| (n,) after one step and after four shorter ones; 0 where the order does not hold."""
    ends = [_energies_after(motion, t, q, v, h, numbers, parts) for parts in (1, 2, 4)]
    whole, half = np.abs(ends[0] - ends[2]), np.abs(ends[1] - ends[2])
    p = _order(motion)
    expected = (2.0**-p - 4.0**-p) / (1 - 4.0**-p)
    rounding = 1e-13 * (np.abs(ends[2]) + np.abs(motion.energy).max())
    falls = half <= _LIKE * expected * whole + rounding
    falls &= half >= expected / _LIKE * whole - rounding
    return np.where(falls & np.isfinite(whole), whole, 0.0)


def _energies_after(
    motion: Motion, t: Array, q: Array, v: Array, h: Array, numbers: NDArray[np.intp], parts: int
) -> Array:
    """Return E (n,) after a step h, divided into equal parts."""
    scene, settings = motion.scene, motion.scene.settings
    energies = np.full(len(t), np.nan)
    for rows in _alike(motion, h):
        first = int(rows[0])
        q1, v1, done = _engine.advance(
            scene.model, q[rows], v[rows], float(t[first]), float(h[first]) / parts, parts,
            settings.integrator, motion.actuation(int(numbers[first])), **settings.parameters,
        )  # fmt: skip
        after = motion_of(scene, t[rows], np.asarray(q1), np.asarray(v1), 0).energy
        energies[rows] = np.where(np.asarray(done) == parts, after, np.nan)
    return energies


def _alike(motion: Motion, h: Array) -> list[NDArray[np.intp]]:
    """Return the rows that one call can advance: all with the same step, or each alone if forces depend on time."""
    if motion.controls is not None or motion.scene.actuation.amplitude.any():
        return list(np.arange(len(h))[:, None])
    return [np.flatnonzero(h == size) for size in np.unique(h)]


def _tolerated(motion: Motion, scale: float) -> Array:
    """Return the energy error of adaptive steps that are all off by their tolerances."""
    settings = motion.scene.settings
    rtol = max(settings.rtol.values())
    atol = max(settings.atol.values())
    momentum = 2 * motion.kinetic.max() / max(float(np.abs(motion.v).max()), 1e-300)
    a_step = rtol * scale + atol * momentum
    return np.full(len(motion.t) - 1, a_step * motion.steps / max(len(motion.t) - 1, 1))
