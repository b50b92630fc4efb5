"""Steps of fixed size: their number between two outputs, the length of calls, and the errors that end a run.

n = ⌈(t_k+1 − t_k) / step⌉ equal steps lead from one output to the next, none longer than `simulation.step`. The runs
are in record_runs.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import aba
from pysim.diagnosis.diagnosis import has_diverged, plugin_fault
from pysim.diagnosis.element_faults import element_fault
from pysim.diagnosis.growing_states import growth_error
from pysim.diagnosis.step_checks import STIFF_SCHEME, beyond_stability, is_stiff
from pysim.errors import SimulationError
from pysim.integrators import find_integrator, make
from pysim.loops import constraints, mobility
from pysim.loops.redundant_rows import redundant_opening
from pysim.mechanism.actuation import actuator_forces
from pysim.mechanism.model import State
from pysim.typing import Array
from pysim.worlds.external_forces import ExternalForces
from pysim.worlds.implicit_state import SolverState, unsolved
from pysim.worlds.python_stepping import (
    ModelSystem,
    scheme_fault,
)

if TYPE_CHECKING:
    from pysim.contact import CompiledContacts
    from pysim.mechanism.model import State
    from pysim.worlds.implicit_state import SolverState
    from pysim.worlds.loading import Scene
    from pysim.worlds.signal_runs import SignalRun


MOST_STEPS = 2**53  # a double counts no further
STEPS_A_CALL = 4096  # so that an interrupt is answered soon and progress shows in long intervals
CALL_TIME = 0.05  # [s] intended wall time of a call
LEAST_PARTS = 64  # smallest parts of a convex step that are tried (cpp/stepping/convex.hpp)


def check_count(scene: Scene) -> None:
    """Reject a number of steps that no double counts."""
    settings = scene.settings
    if settings.duration / settings.step > MOST_STEPS:
        problem = (
            f"step {settings.step:g} [s] makes more than 2**53 steps of {settings.duration:g} [s]"
        )
        raise SimulationError(str(scene.spec.path), f"{problem}; take a longer step")


def steps_between(start: float, end: float, step: float) -> int:
    """Return the least number of equal steps from `start` to `end` [s], none longer than `step` [s]."""
    return max(1, math.ceil((end - start) / step - 1e-9))


@dataclass
class Pace:
    """Number of outputs in a call, adapted to the intended wall time."""

    most: int
    outputs: int = 1
    steps: int = STEPS_A_CALL

    def keep(self, wall: float) -> None:
        fitting = math.floor(self.outputs * CALL_TIME / wall)
        self.outputs = max(1, min(self.most, 2 * self.outputs, fitting))


def pace_of(
    scene: Scene, signals: SignalRun | None, external: ExternalForces | None = None
) -> Pace:
    """Return one output for each call where Python runs in or between them, so that its errors lose no output."""
    if external is not None:
        return Pace(1, steps=external.steps)
    if signals is not None and signals.calls_python:
        return Pace(1)
    settings = scene.settings
    return Pace(max(1, STEPS_A_CALL // steps_between(0.0, settings.every, settings.step)))


def stop_of_fixed_steps(
    scene: Scene,
    state: State,
    memory: SolverState,
    last: float,
    step: float,
    signals: Array | None,
) -> SimulationError:
    """Return the error that ended a run after the last valid state, at `last` [s]."""
    fault = plugin_fault(scene.model, state.q, state.v, step)
    if fault is None:
        fault = element_fault(scene, state, signals, last, step)
        if fault is not None:
            return SimulationError(str(scene.spec.path), fault)
    if fault is not None:
        return SimulationError(str(scene.spec.path), f"at t = {last:g} s {fault}")
    growth = growth_error(scene, last, state.q, state.v, signals, step)
    if growth is not None:
        return growth
    if memory.lost:
        return unsolved(scene, state, memory.worst, last, step)
    turns = _turns_too_far(scene, state, last, step)
    if turns is not None:
        return SimulationError(str(scene.spec.path), turns)
    own_fault = _plugin_scheme_fault(scene, state, last, step)
    if scene.model.rows and own_fault is None:
        return _opened(scene, state, last, step)
    return divergence(scene, state, last, step, own_fault)


def _turns_too_far(scene: Scene, state: State, last: float, step: float) -> str | None:
    """Describe a coordinate that turns by π or more in a step of a variational scheme, which has no solution then."""
    name, model = scene.settings.integrator, scene.model
    if name not in ("variational", "variational4"):
        return None
    turning = np.array([unit == "rad/s" for unit in model.velocity_units])
    angle = step * np.where(turning, np.abs(state.v), 0.0)
    fastest = int(angle.argmax())
    if angle[fastest] < np.pi:
        return None
    return (
        f"at t = {last:g} s {model.velocity_names[fastest]!r} turns by {angle[fastest]:.3g} rad in a step of"
        f" {step:g} s, and {name!r} needs less than π; reduce simulation.step to {2 * step / angle[fastest]:.1g} [s]"
    )


def _plugin_scheme_fault(scene: Scene, state: State, last: float, step: float) -> str | None:
    """Return the place where a plugin's scheme computes NaN or infinite values; None if it does not, or is built in."""
    plugin = find_integrator(scene.settings.integrator).plugin
    if plugin is None:
        return None
    system = ModelSystem(scene.model, scene.actuation, state.loop_q.copy(), None, scene.contacts)
    return scheme_fault(make(plugin, scene.settings.parameters), system, state, last, step)


def divergence(
    scene: Scene, state: State, last: float, step: float, own_fault: str | None = None
) -> SimulationError:
    """Return the error that names the joint with NaN or infinite values, the last good state, and the plugin's line."""
    q, v = state.q, state.v
    tau = actuator_forces(scene.actuation, last)
    with np.errstate(all="ignore"):
        a = aba(scene.model, q, v, tau, passive=True)
        growth = np.nan_to_num(np.abs(v) + step * np.abs(a), nan=np.inf)
    offsets = np.array(scene.model.v_offsets)  # -1: follows another joint
    moving = np.flatnonzero((offsets >= 0) & (offsets <= np.argmax(growth)))
    joint = scene.model.joint_names[int(moving[-1])]
    cause = None if own_fault is not None else beyond_stability(scene, state, control=True)
    implicit = f'take integrator = "{STIFF_SCHEME}", or ' if is_stiff(scene) else ""
    if scene.smooth_contacts is not None:
        implicit = 'take integrator = "convex", whose contacts need no short steps, or '
    remedy = cause or f"{implicit}reduce simulation.step, now {scene.settings.step:g} [s]"
    problem = (
        f"joint {joint!r} reaches NaN or infinite values at t = {last + step:g} s; the last valid state, at"
        f" {last:g} s, has max |q| = {np.abs(q).max():.3g} and max |v| = {np.abs(v).max():.3g}; {remedy}"
    )
    if own_fault is not None and not has_diverged(q, v):
        problem += f", or fix {own_fault}"
    return SimulationError(str(scene.spec.path), problem)


def _opened(scene: Scene, state: State, last: float, step: float) -> SimulationError:
    """Return the error that names the loop that could not be kept closed, its time and the last good state."""
    model, (q, v) = scene.model, (state.q, state.v)
    with np.errstate(all="ignore"):
        ahead = model.integrate(q, np.nan_to_num(step * v))
        residual = np.abs(constraints(model, ahead, loop_q=state.loop_q, t=last + step).residual)
    name = model.row_names[int(np.nan_to_num(residual, nan=np.inf).argmax())]
    remedy = (
        redundant_opening(model, q, state.loop_q)
        or beyond_stability(scene, state)
        or f"reduce simulation.step, now {scene.settings.step:g} [s]"
    )
    problem = (
        f"{name!r} cannot be kept closed at t = {last + step:g} s; the last valid state, at {last:g} s, has"
        f" max |v| = {np.abs(v).max():.3g}, and {mobility(model, q, state.loop_q)};"
        f" {remedy}"
    )
    return SimulationError(str(scene.spec.path), problem)


def stop_of_convex_steps(
    scene: Scene,
    contacts: CompiledContacts,
    state: State,
    memory: SolverState,
    last: float,
    step: float,
) -> SimulationError:
    """Return the error of a convex step without a solution after the last good state, at `last` [s]."""
    if not memory.lost:
        return divergence(scene, state, last, step)
    where = "a stop or dry friction"
    if contacts.engine.points:
        pair = contacts.pair_of_point[memory.worst]
        where = f"the contact of {contacts.pairs[pair].name}"
    problem = (
        f"at t = {last:.9g} s {where} has no solution that Newton's method finds, even in steps of"
        f" {step / LEAST_PARTS:.2g} s; reduce simulation.step, now {scene.settings.step:g} [s], or its stiffness"
    )
    return SimulationError(str(scene.spec.path), problem)
