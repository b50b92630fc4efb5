"""Checks of a scene's step: too long for stability, fast motion, a bounce, sharp friction or a fast spin."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import minverse
from pysim.diagnosis.modes import actuator_slopes, mobility_matrix, sliding_coordinates
from pysim.diagnosis.sampled_stability import stable_share
from pysim.diagnosis.stability import GROWTH, bounce_bound, slide_bound, stable_step, step_bounds
from pysim.errors import PysimError
from pysim.integrators import find_integrator
from pysim.joints import find_joint
from pysim.mechanism.model import State
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pysim.diagnosis.modes import Mode
    from pysim.diagnosis.stability import StepBounds
    from pysim.worlds.loading import Scene

REST_ROWS = 64  # outputs near rest whose friction is checked
REST_ROWS_OF_LOOPS = 16  # the same with loops, whose motions take longer
# outputs at which the stability of control is checked, at most one of OUTPUTS_A_CHECK
CONTROL_ROWS = 16
OUTPUTS_A_CHECK = 8
CONTROLLED = 12  # velocities of a mechanism up to which it is: the modes of more take too long
# times the bound of a step, up to which that of the mechanism without control is the same
ALIKE = 1.05
SLIDES = 20.0  # widths of dry friction, at which its slope has vanished
STIFF = 20  # steps of the scene in a stable one, beyond which an implicit scheme is advised
STIFF_SCHEME = "generalized_alpha"
SAME_PERIOD = 1e-9  # relative difference of a period and a step that are meant to be equal
SPIN_ANGLE = 0.3  # [rad] a step up to which generalized_alpha keeps the energy of a spin


def long_steps(scene: Scene, bounds: StepBounds | None = None) -> Iterator[str]:
    """Describe what a fixed step is too long for.

    Bounds that are not given are computed only if they can be exceeded.
    """
    settings = scene.settings
    stop, bounce = (bounds.stop, bounds.bounce) if bounds else bounce_bound(scene)
    if stop is not None and settings.step > bounce:
        yield _bounce(scene, stop, bounce)
    yield from _fast_spins(scene)
    yield from short_periods(scene)
    yield from _long_periods(scene)
    if settings.integrator == "convex" and scene.signals is not None:
        yield from _fast_servo(scene, bounds or step_bounds(scene))
    if settings.integrator not in GROWTH or find_integrator(settings.integrator).adaptive:
        return
    bounds = bounds or step_bounds(scene)
    text = _unstable(scene, bounds, "at the start")
    if text is not None:
        yield text
        return
    slide, longest = bounds.slide, bounds.sticks
    if slide is not None and settings.step > longest:
        yield _friction(scene, slide.joint, longest, "")
    elif settings.step > 2 * bounds.accurate and np.isfinite(bounds.stable):
        yield (
            f"simulation.step is {settings.step:g} [s], more than a tenth of the shortest period, which "
            f"{settings.integrator} damps or misses; take {bounds.accurate:.1g} or less, or an implicit scheme"
        )


def _unstable(scene: Scene, bounds: StepBounds, when: str) -> str | None:
    """Describe a step beyond the stability of an explicit scheme, with the cause and remedies; None within it."""
    settings = scene.settings
    if settings.step <= bounds.stable or bounds.limiting is None:
        return None
    take = f"{0.8 * bounds.stable:.2g} or less"
    if scene.smooth_contacts is not None:
        take = f'integrator = "convex", whose contacts need no short steps, or {take}'
    elif is_stiff(scene, bounds):
        take = f'integrator = "{STIFF_SCHEME}", which is stable at this step, or {take}'
    cause, remedy = _cause_of_bound(scene, bounds)
    return (
        f"simulation.step is {settings.step:g} [s], beyond the {bounds.stable:.3g} [s] for which "
        f"{settings.integrator} is stable {when}, because of {cause}; take {take}, or {remedy}"
    )


def beyond_stability(scene: Scene, *states: State, control: bool = False) -> str | None:
    """Describe the cause of a step beyond stability at states of a run that failed, or at its start; None if within.

    Dry friction is no cause: it is bounded, so that a step too long for it chatters.

    Args:
        scene: whose step is judged.
        states: at which the run failed; their velocities count if their configurations alone are stable.
        control: whether to describe the control of actuators alone.
    """
    name = scene.settings.integrator
    if name not in GROWTH or find_integrator(name).adaptive:
        return None
    at, _, width = sliding_coordinates(scene.model)
    sliding = np.zeros(scene.model.nv)
    sliding[at] = SLIDES * width
    where = [(replace(state, v=sliding), "there") for state in states]
    where += [(replace(scene.state, v=sliding), "at the start")]
    if not len(at):
        where += [(state, "there") for state in states]
    for state, when in where:
        if not (np.isfinite(state.q).all() and np.isfinite(state.v).all()):
            continue
        own = replace(scene, state=state)
        try:
            with np.errstate(all="ignore"):
                bounds = step_bounds(own)
                text = _unstable(own, bounds, when)
                if text is None or (control and not _is_control(own, bounds)):
                    continue
        except (PysimError, np.linalg.LinAlgError):  # the state may be out of the loops' reach
            continue
        return text
    return None


def _is_control(scene: Scene, bounds: StepBounds) -> bool:
    return _cause_of_bound(scene, bounds)[0].startswith("the control")


def unstable_control(scene: Scene, t: Array, q: Array) -> str | None:
    """Describe control whose step is stable at the start of a run and unstable later; None if there is none.

    Args:
        scene: with signals and an explicit scheme of fixed steps; there is nothing to describe in others.
        t: times of the outputs (n,) [s].
        q: configurations (n, nq); a few of them are looked at.
    """
    settings, model = scene.settings, scene.model
    explicit = settings.integrator in GROWTH and not find_integrator(settings.integrator).adaptive
    if not explicit or scene.signals is None or model.nv > CONTROLLED or len(t) < 2:
        return None
    rows = np.flatnonzero(np.isfinite(q).all(axis=1))
    count = min(CONTROL_ROWS, len(rows) // OUTPUTS_A_CHECK)
    rows = rows[np.unique(np.linspace(0, max(len(rows) - 1, 0), count).astype(int))]
    for k in rows.tolist():
        own = replace(scene, state=State(q[k], np.zeros(model.nv), scene.state.loop_q))
        try:
            with np.errstate(all="ignore"):
                bounds = step_bounds(own)
                if settings.step <= bounds.stable or bounds.limiting is None:
                    continue
                if k == 0 or not _is_control(own, bounds):
                    return None
                return _unstable(own, bounds, f"at t = {t[k]:.6g} s")
        except (PysimError, np.linalg.LinAlgError):
            continue
    return None


def _fast_servo(scene: Scene, bounds: StepBounds) -> Iterator[str]:
    """Describe actuators that are too fast for a step of the convex scheme, which is explicit in them alone."""
    step = scene.settings.step
    if step > bounds.stable and bounds.limiting is not None:
        yield (
            f"simulation.step is {step:g} [s], but convex needs at most {bounds.stable:.3g} [s] for the actuators of "
            f"joint {bounds.limiting.joint!r}; take {0.8 * bounds.stable:.2g} [s] or less, or smaller gains there"
        )


def _cause_of_bound(scene: Scene, bounds: StepBounds) -> tuple[str, str]:
    """Return what bounds the step, and the remedy: a joint, its actuators, or a state of an element."""
    assert bounds.limiting is not None
    name = bounds.limiting.joint
    if scene.signals is None:
        return f"joint {name!r}", "a softer spring, damper or friction there"
    if name in scene.signals.state_names:
        return f"the state {name!r}", "a slower one"
    alone = step_bounds(replace(scene, signals=None))
    if alone.stable <= max(scene.settings.step, ALIKE * bounds.stable):
        return f"joint {name!r}", "a softer spring, damper or friction there"
    acting = acting_on(scene, name)
    if not acting:  # on a joint that moves with this one, by a loop or a coupling
        name = _driven_joint(scene) or name
        acting = acting_on(scene, name)
    by = f" by {', '.join(map(repr, acting))}" if acting else ""
    return f"the control of joint {name!r}{by}", "smaller gains"


def acting_on(scene: Scene, joint: str) -> list[str]:
    """Return the names of the actuators that act on coordinates of a joint."""
    return [
        block.name
        for block in scene.spec.blocks
        if block.kind == "actuator"
        and any(at == joint or at.startswith(f"{joint}.") for at in block.coordinates)
    ]


def _driven_joint(scene: Scene) -> str | None:
    """Return the joint of the coordinate whose actuators decay or swing fastest by themselves; None without any."""
    slopes = np.abs(actuator_slopes(scene)) * np.diag(mobility_matrix(scene))  # [1/s²], [1/s]
    rates = np.maximum(np.sqrt(slopes[0]), slopes[1])
    if not np.isfinite(rates).all() or not rates.any():
        return None
    fastest = int(rates.argmax())
    before = [k for k, at in enumerate(scene.model.v_offsets) if 0 <= at <= fastest]
    return scene.model.joint_names[before[-1]]


def short_periods(scene: Scene) -> Iterator[str]:
    """Describe sampled blocks whose period is shorter than a fixed step, which is cut at their instants."""
    settings = scene.settings
    if scene.signals is None or find_integrator(settings.integrator).adaptive:
        return
    periods = zip(scene.signals.sampled, scene.signals.periods, strict=True)
    short = {name: period for name, period in periods if period < settings.step * (1 - SAME_PERIOD)}
    if short:
        name = min(short, key=lambda key: short[key])
        yield (
            f"the period of {name!r}, {short[name]:g} [s], is shorter than simulation.step, {settings.step:g} [s]: "
            f"every step is cut at its instants; take a step of {short[name]:g} or less, or a longer period"
        )


def _long_periods(scene: Scene) -> Iterator[str]:
    """Describe sampled control that is unstable at its periods, and stable with shorter ones."""
    found = stable_share(scene)
    if found is None or scene.signals is None:
        return
    share, joint = found
    kinds = {block.name: block.kind for block in scene.spec.blocks}
    periods = dict(zip(scene.signals.sampled, scene.signals.periods, strict=True))
    acting = [name for name in periods if kinds.get(name) == "controller"] or list(periods)
    longest = max(periods[name] for name in acting)
    by = ", ".join(map(repr, acting))
    yield (
        f"the control of joint {joint!r} by {by} is unstable with a period of {longest:g} [s] at the start; "
        f"take {0.8 * share * longest:.2g} or less, or smaller gains"
    )


def is_stiff(scene: Scene, bounds: StepBounds | None = None) -> bool:
    """Return whether an explicit scheme needs far shorter steps at the start than those of the scene."""
    settings = scene.settings
    if settings.integrator not in GROWTH or find_integrator(settings.integrator).adaptive:
        return False
    bounds = bounds or step_bounds(scene)
    return bool(settings.step > STIFF * bounds.stable)


def sharp_friction(scene: Scene, t: Array, q: Array, v: Array) -> str | None:
    """Describe friction that is sharper than the step where a run comes to rest, though not at the start.

    Args:
        scene: with fixed steps; there is nothing to describe under adaptive or implicit schemes.
        t: times of the outputs (n,) [s].
        q: configurations (n, nq).
        v: velocities (n, nv).
    """
    integrator, step = scene.settings.integrator, scene.settings.step
    if integrator not in GROWTH or find_integrator(integrator).adaptive or len(t) < 2:
        return None
    at, slope, width = sliding_coordinates(scene.model)
    if not len(at) or step > slide_bound(scene)[1]:
        return None
    slow = np.abs(v[:, at]) < width
    slow[1:] |= v[1:, at] * v[:-1, at] < 0
    rows = np.flatnonzero(slow.any(axis=1) & np.isfinite(v).all(axis=1))
    if not len(rows):
        return None
    most = REST_ROWS if scene.model.rows == 0 else REST_ROWS_OF_LOOPS
    rows = rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(int))]
    decay = np.where(slow[rows], _mobilities(scene, q[rows])[:, at] * slope, 0.0)
    row, k = np.unravel_index(decay.argmax(), decay.shape)
    longest = stable_step(complex(-decay[row, k]), integrator)
    if step <= longest:
        return None
    name = scene.model.velocity_names[int(at[k])]
    return _friction(scene, name, longest, f" at t = {t[rows[row]]:.6g} s")


def _mobilities(scene: Scene, q: Array) -> Array:
    """Return the diagonals of the mobility matrix at configurations (n, nq), (n, nv)."""
    if not scene.model.rows:
        return np.diagonal(np.asarray(minverse(scene.model, q)), axis1=1, axis2=2)
    states = (State(x, np.zeros(scene.model.nv), scene.state.loop_q) for x in q)
    return np.array([np.diag(mobility_matrix(replace(scene, state=state))) for state in states])


def _friction(scene: Scene, name: str, longest: float, when: str) -> str:
    settings = scene.settings
    return (
        f"simulation.step is {settings.step:g} [s], but {settings.integrator} needs at most {longest:.3g} [s] to "
        f"resolve the friction of {name!r} where it comes to rest{when}; take {0.8 * longest:.2g} [s] or less, or a "
        "wider friction_width"
    )


def _bounce(scene: Scene, stop: Mode, bounce: float) -> str:
    settings = scene.settings
    return (
        f"simulation.step is {settings.step:g} [s], beyond the {bounce:.3g} [s] up to which "
        f"{settings.integrator} follows a bounce where {stop.joint!r} is at its stop; a longer one may "
        f"throw it back faster than it came; take {0.95 * bounce:.2g} or less, or a softer stop "
        "(limits.stiffness, limits.damping)"
    )


def _fast_spins(scene: Scene) -> Iterator[str]:
    """Describe joints that rotate in space so fast that generalized_alpha damps their nutation."""
    model, settings = scene.model, scene.settings
    if settings.integrator != "generalized_alpha":
        return
    for joint, at in zip(model.joints, model.v_offsets, strict=True):
        for first, nv in find_joint(joint.type).turning if at >= 0 else ():
            speed = float(np.linalg.norm(scene.state.v[at + first : at + first + nv]))
            if speed * settings.step > SPIN_ANGLE:
                yield (
                    f"simulation.step is {settings.step:g} [s], and joint {joint.name!r} spins at {speed:.4g} [rad/s], "
                    f"{speed * settings.step:.2g} rad a step; generalized_alpha damps the nutation of what turns by "
                    f"more than {SPIN_ANGLE:g} rad; take {0.8 * SPIN_ANGLE / speed:.2g} or less, or implicit_midpoint"
                )
