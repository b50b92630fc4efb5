"""Errors of failed steps: what a world's last good state shows of the cause, and the remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import aba
from pysim.diagnosis.element_faults import element_fault
from pysim.diagnosis.growing_states import growth_error
from pysim.diagnosis.last_state import fastest, has_diverged, near_singular, plugin_fault
from pysim.diagnosis.step_checks import STIFF_SCHEME, beyond_stability, is_stiff
from pysim.errors import SimulationError
from pysim.integrators import find_integrator, make
from pysim.loops import constraints, mobility
from pysim.loops.redundant_rows import redundant_opening
from pysim.mechanism.actuation import actuator_forces
from pysim.typing import Array
from pysim.worlds.adaptive_scheme import tolerances
from pysim.worlds.argument_checks import quaternion_fault
from pysim.worlds.failure import Failure, Status
from pysim.worlds.python_stepping import ModelSystem, scheme_fault

if TYPE_CHECKING:
    from pysim.mechanism.model import Model, State
    from pysim.worlds.loading import Scene

# smallest parts of a step that are tried (cpp/stepping/step_halving.hpp, convex/step.hpp)
LEAST_PARTS = 64
FINEST = 1e-15  # smallest rtol that rounding permits for every coordinate
TIME_AHEAD = 1e-6  # [s] in which a value that is NaN is looked for where the step shrank to nothing


def explain(failure: Failure) -> Exception:
    """Return the error of a failed step."""
    scene = failure.scene
    if failure.error is not None:
        return failure.error
    if failure.why == Status.WRITTEN:
        problem = f"at t = {failure.t:g} s {_impossible(scene.model, failure.t, failure.state)}"
        return SimulationError(str(scene.spec.path), problem)
    if failure.why == Status.BLURRED:
        return _too_fine(failure)
    if failure.why == Status.UNDERFLOW:
        return _underflow_error(failure)
    if find_integrator(scene.settings.integrator).contacts:
        return _stop_of_convex_steps(failure)
    return _stop_of_fixed_steps(failure)


def divergence(scene: Scene, t: float, state: State, numbers: Array | None) -> Exception:
    """Return the error of a run whose accelerations or energies at a state are NaN or infinite."""
    if find_integrator(scene.settings.integrator).adaptive:
        return too_large(scene, t, state.v)
    return explain(Failure(scene, t, state, numbers, scene.settings.step, Status.DIVERGED, 0))


def _impossible(model: Model, t: float, state: State) -> str:
    """Describe why a time or a state that was written cannot be one."""
    remedy = "write another state, and reset the world"
    for name, x, names in (
        ("q", state.q, model.coordinate_names),
        ("v", state.v, model.velocity_names),
    ):
        if not np.isfinite(x).all():
            k = int(np.flatnonzero(~np.isfinite(x))[0])
            return f"{name} was set to {x[k]} for {names[k]!r}; {remedy}"
    if not np.isfinite(t):
        return f"t was set to {t:g}; {remedy}"
    fault = quaternion_fault(model, state.q)
    if fault is not None:
        return f"q was set to {fault}; {remedy}"
    if not model.rows:  # the state before is back, and the record does not hold what was written
        return f"t, q or v was set to an impossible value; {remedy}"
    at = constraints(model, state.q, state.v, loop_q=state.loop_q, t=t)
    k = int(np.abs(at.residual).argmax())
    left = f"{abs(at.residual[k]):.3g} [m, rad]"
    return f"q, or a length, was set where {model.row_names[k]!r} is open by {left}; {remedy}"


# ------------------------------------------------------------------------------------------ steps of fixed size


def _stop_of_fixed_steps(failure: Failure) -> SimulationError:
    scene, state, last, step = failure.scene, failure.state, failure.t, failure.step
    fault = plugin_fault(scene.model, state.q, state.v, step)
    if fault is not None:
        return SimulationError(str(scene.spec.path), f"at t = {last:g} s {fault}")
    fault = element_fault(scene, state, failure.numbers, last, step)
    if fault is not None:
        return SimulationError(str(scene.spec.path), fault)
    growth = growth_error(scene, last, state.q, state.v, failure.numbers, step)
    if growth is not None:
        return growth
    if failure.why == Status.UNSOLVED:
        return _unsolved(failure)
    turns = _turns_too_far(scene, state, last, step)
    if turns is not None:
        return SimulationError(str(scene.spec.path), turns)
    own_fault = _plugin_scheme_fault(scene, state, last, step)
    if scene.model.rows and own_fault is None:
        return _opened(scene, state, last, step)
    return _divergence(scene, state, last, step, own_fault)


def _unsolved(failure: Failure) -> SimulationError:
    """Return the error of an implicit step without a solution."""
    scene, state, last, step = failure.scene, failure.state, failure.t, failure.step
    model, worst = scene.model, failure.worst
    shortest = step / LEAST_PARTS
    opening = redundant_opening(model, state.q, state.loop_q) if model.rows else None
    remedy = (
        f"{opening}"
        if opening is not None
        else "check this time for a stop or friction that is too stiff, a singular configuration or an unbounded force,"
        f" or reduce simulation.step, now {scene.settings.step:g} [s]"
    )
    problem = (
        f"at t = {last:.9g} s the equations of {scene.settings.integrator!r} have no solution that Newton's"
        f" method finds, even in steps of {shortest:.2g} s; {model.velocity_names[worst]!r} converges worst,"
        f" {fastest(model, state.v)}: {remedy}"
    )
    return SimulationError(str(scene.spec.path), problem)


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


def _divergence(
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
    with np.errstate(over="ignore"):
        overflows = bool(np.isfinite(growth).all() and not np.isfinite(growth**2).all())
    values = "an infinite energy" if overflows else "NaN or infinite values"
    problem = (
        f"joint {joint!r} reaches {values} at t = {last + step:g} s; the last valid state, at"
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


# ------------------------------------------------------------------------------------------ convex steps


def _stop_of_convex_steps(failure: Failure) -> SimulationError:
    scene, state, last, step = failure.scene, failure.state, failure.t, failure.step
    fault = element_fault(scene, state, failure.numbers, last, step)
    if fault is not None:
        return SimulationError(str(scene.spec.path), fault)
    growth = growth_error(scene, last, state.q, state.v, failure.numbers, step)
    if growth is not None:
        return growth
    if failure.why != Status.UNSOLVED:
        return _divergence(scene, state, last, step)
    contacts = scene.contacts
    assert contacts is not None
    where = "a stop or dry friction"
    if contacts.engine.points:
        pair = contacts.pair_of_point[failure.worst]
        where = f"the contact of {contacts.pairs[pair].name}"
    problem = (
        f"at t = {last:.9g} s {where} has no solution that Newton's method finds, even in steps of"
        f" {step / LEAST_PARTS:.2g} s; reduce simulation.step, now {scene.settings.step:g} [s], or its stiffness"
    )
    return SimulationError(str(scene.spec.path), problem)


# ------------------------------------------------------------------------------------------ steps of adapted size


def _underflow_error(failure: Failure) -> SimulationError:
    """Return the error of a step that underflowed."""
    scene, at, time, step = failure.scene, failure.state, failure.t, failure.step
    numbers, worst, (q, v) = failure.numbers, failure.worst, (at.q, at.v)
    fault = plugin_fault(scene.model, q, v, step)
    if fault is not None:
        return SimulationError(str(scene.spec.path), f"at t = {time:.9g} s {fault}")
    fault = element_fault(scene, at, numbers, time, max(step, TIME_AHEAD))
    if fault is not None:
        return SimulationError(str(scene.spec.path), fault)
    growth = growth_error(scene, time, q, v, numbers, max(step, TIME_AHEAD))
    if growth is not None:
        return growth
    opening = redundant_opening(scene.model, q) if scene.model.rows else None
    near = near_singular(scene.model, q)
    if opening is not None:
        remedy = f"{opening}"
    elif near is not None:
        remedy = f'{near}; change a length so that they pass it farther away, or take simulation.integrator = "rk4"'
    else:
        remedy = (
            "check this time for a stop or friction that is too stiff, a singular configuration or an unbounded force,"
            " or raise simulation.rtol and atol"
        )
    problem = (
        f"at t = {time:.9g} s the step shrank to {step:.2g} s; the error of"
        f" {scene.model.velocity_names[worst]!r} is the largest,"
        f" {fastest(scene.model, v)}: {remedy}"
    )
    return SimulationError(str(scene.spec.path), problem)


def too_large(scene: Scene, t: float, v: Array) -> SimulationError:
    """Return the error of a run that has grown beyond what numbers hold, at t [s] with velocities v (nv,)."""
    problem = (
        f"at t = {t:.9g} s the run has grown beyond what numbers hold, {fastest(scene.model, v)}"
    )
    remedy = "check the signs of control, and the forces that drive it"
    return SimulationError(str(scene.spec.path), f"{problem}; {remedy}")


def _too_fine(failure: Failure) -> SimulationError:
    """Return the error of tolerances finer than the rounding of a coordinate."""
    scene, time, worst = failure.scene, failure.t, failure.worst
    name, (rtol, atol) = scene.model.velocity_names[worst], tolerances(scene)
    problem = (
        f"at t = {time:.9g} s {name!r} cannot be resolved as finely as simulation.rtol {rtol[worst]:g}"
        f" and atol {atol[worst]:g} require: numbers have 16 digits, so no step is short enough; raise rtol to"
        f" {FINEST:g} or more"
    )
    return SimulationError(str(scene.spec.path), problem)
