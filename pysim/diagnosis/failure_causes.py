"""Likely cause of a failed run, from its last steps: an element, a stiff spring or contact, a loop, or control."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.diagnosis.element_faults import element_fault
from pysim.diagnosis.last_state import SINGULAR, fastest, has_diverged, plugin_fault
from pysim.diagnosis.stability import GROWTH, stable_step
from pysim.diagnosis.stall import stiffness
from pysim.diagnosis.step_checks import acting_on, beyond_stability
from pysim.integrators import find_integrator
from pysim.loops.constraints import constraints
from pysim.loops.mobility import rows_and_lengths
from pysim.typing import Array
from pysim.worlds.accelerations import forces_of_actuators
from pysim.worlds.contact_report import reported_points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.mechanism.model import State
    from pysim.worlds.loading import Scene

# [rad] least angle between the rows of loops that counts as a singular configuration
SINGULAR_ANGLE = 0.05
LIMIT = 0.5  # of a contact's stable step, from which on it is named: others may touch beside it
TIME_AHEAD = 1e-6  # [s] length of an adaptive step that failed first
PUSHING_SHARE = 0.9  # share of the steps in which an actuator of the wrong sign does positive work


@dataclass(frozen=True)
class LastSteps:
    """Last valid states of a run that failed, of n steps."""

    t: Sequence[float]  # [s]
    states: Sequence[State]
    numbers: Sequence[Array | None]  # of the signals
    reports: Sequence[Array]  # of contacts, (1, points, 18) each


def likely_cause(scene: Scene, last: LastSteps) -> str:
    """Return the likely cause in a sentence."""
    if not last.states:
        return "the first step fails: " + (
            beyond_stability(scene) or "look at the start of the scene"
        )
    state, step = last.states[-1], _last_step(scene, last)
    with np.errstate(all="ignore"):  # of states that grow without bound
        fault = None
        if not has_diverged(state.q, state.v):
            fault = plugin_fault(scene.model, state.q, state.v, step)
            fault = fault or element_fault(scene, state, last.numbers[-1], last.t[-1], step)
        cause = (
            fault
            or _wrong_sign(scene, last)
            or beyond_stability(scene)
            or _singular(scene, last)
            or _stiff_contact(scene, last)
            or beyond_stability(scene, state)
            or _stiff_motion(scene, last, step)
        )
    if cause is not None:
        return cause
    return f"no element, loop, contact or stiffness stands out; {fastest(scene.model, state.v)}"


def _last_step(scene: Scene, last: LastSteps) -> float:
    """Return the length of the last step [s]."""
    if not find_integrator(scene.settings.integrator).adaptive:
        return scene.settings.step
    return last.t[-1] - last.t[-2] if len(last.t) > 1 else TIME_AHEAD


def _stiff_motion(scene: Scene, last: LastSteps, step: float) -> str | None:
    """Describe what is stiff where adaptive steps [s] have become short."""
    if not find_integrator(scene.settings.integrator).adaptive:
        return None
    state = last.states[-1]
    if has_diverged(state.q, state.v):
        return None
    return stiffness(replace(scene, state=state), last.t[-1], step)


def _singular(scene: Scene, last: LastSteps) -> str | None:
    """Describe a singular configuration of the loops among the last steps."""
    model = scene.model
    if not model.rows:
        return None
    angles = []
    for state in last.states:
        at = constraints(model, state.q, loop_q=state.loop_q)
        if not np.isfinite(at.jacobian).all():
            angles.append(np.inf)
            continue
        sines = np.linalg.svd(rows_and_lengths(model, state.q, at)[0], compute_uv=False)
        angles.append(float(sines[sines > SINGULAR[0]].min(initial=np.inf)))
    nearest = int(np.argmin(angles))
    least, when = angles[nearest], last.t[nearest]
    beside = [x for x in angles[max(nearest - 1, 0) : nearest + 2] if np.isfinite(x)]
    if least > max([SINGULAR_ANGLE, *(x - least for x in beside)]):  # a step may lead past it
        return None
    driven = scene.spec.driven_joints
    by = f" by the actuators of {', '.join(map(repr, sorted(driven)))}" if driven else ""
    return (
        f"the loops are driven{by} through a singular configuration: they are within {least:.2g} rad of it at"
        f" t = {when:.6g} s, where forces in them grow without bound; keep away from it, or pass it with less force"
    )


def _stiff_contact(scene: Scene, last: LastSteps) -> str | None:
    """Describe the contact whose stiffness the explicit steps cannot follow."""
    contacts, settings = scene.contacts, scene.settings
    if scene.smooth_contacts is None or contacts is None or settings.integrator not in GROWTH:
        return None
    if find_integrator(settings.integrator).adaptive:  # its steps follow
        return None
    stiffest, worst = 0.0, 0
    points = reported_points(contacts, np.vstack(last.reports))
    stiffness = np.zeros(len(points))
    for shape in contacts.shapes:  # dF/dx = m K x^(m − 1)
        own, law = points.pair == shape.pair, shape.law
        slopes = law.exponent * law.stiffness * points.penetration[own] ** (law.exponent - 1)
        stiffness[own] = np.maximum(stiffness[own], slopes)
    masses = {body.name: float(body.theta[0]) for body in scene.model.spec.bodies}
    for k, pair in enumerate(points.pair.tolist()):
        links = contacts.pairs[pair].first, contacts.pairs[pair].second
        mass = min((masses[name] for name in links if name in masses), default=0.0)
        square = stiffness[k] / mass if mass > 0 else 0.0
        if square > stiffest:
            stiffest, worst = float(square), k
    if not stiffest > 0:
        return None
    longest = stable_step(1j * np.sqrt(stiffest), settings.integrator)
    if settings.step < LIMIT * longest:
        return None
    name = contacts.pairs[int(points.pair[worst])].name
    return (
        f"the contact of {name} is too stiff for the step: at {stiffness[worst]:.3g} N/m {settings.integrator} needs"
        f" {longest:.2g} s or less, and simulation.step is {settings.step:g} [s]; take {0.5 * longest:.1g} [s],"
        ' integrator = "convex", or a larger sink'
    )


def _wrong_sign(scene: Scene, last: LastSteps) -> str | None:
    """Describe the actuator that pushes the fastest joint along, step after step, as control of the wrong sign does."""
    if scene.signals is None or last.numbers[-1] is None:
        return None
    t = np.array(last.t)
    q, v = (np.array([getattr(state, name) for state in last.states]) for name in ("q", "v"))
    numbers = np.array(last.numbers, float)
    tau = forces_of_actuators(scene, t, q, v, numbers)
    power = tau * v  # [W] (steps, nv)
    total = power.sum(axis=0)
    if not np.isfinite(total).all() or not total.any():
        return None
    k = int(total.argmax())
    v_k = v[:, k]
    same_direction = abs(np.sign(v_k).sum()) == len(v_k)
    grows = abs(v_k[-1]) > abs(v_k[0])
    if (power[:, k] > 0).mean() < PUSHING_SHARE or not (same_direction and grows):
        return None
    joint = [
        name
        for name, at in zip(scene.model.joint_names, scene.model.v_offsets, strict=True)
        if 0 <= at <= k
    ][-1]
    acting = acting_on(scene, joint)
    if not acting:
        return None
    return (
        f"the control of joint {joint!r} by {', '.join(map(repr, acting))} pushes the way the joint moves, with"
        f" {power[-1, k]:.3g} W at t = {t[-1]:.6g} s, as with a wrong sign; check the signs of its gains and its error"
    )
