"""Energy monitor: compares the energy of a run with the work done on it and reports errors larger than the scheme's.

    E = T + V + U        P = v·(τ + f(q, v) − f(q, 0))        d_k = E_k+1 − E_k − ∫ P dt        D_k = Σ d

U is the energy of springs and stops, f the passive forces, τ the actuators' forces. P is integrated over the outputs by
cubics; their difference from the trapezoidal rule estimates the error of the integral. An imbalance larger than this
error is compared with the errors of the scheme (scheme_errors.py), estimated at outputs and, in the intervals with the
largest imbalance, at every step.

Intervals in which a joint may touch a stop are excluded: a bounce is shorter than the output interval. Runs with
signals are judged by their energy ledger (ledger_monitor.py).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import passive_forces
from pysim.errors import PysimWarning
from pysim.integrators import find_integrator
from pysim.joints import find_joint
from pysim.loops import constraints
from pysim.mechanism.actuation import actuator_forces
from pysim.simulation.checks.start_checks import light_bodies
from pysim.simulation.monitors.ledger_monitor import balance_change
from pysim.simulation.monitors.scheme_errors import Motion, rerun_interval, resolves, scheme_errors
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.mechanism.model import Model
    from pysim.scene.spec import JointSpec
    from pysim.simulation.loading import Scene
    from pysim.trajectory import Trajectory

_CONSERVED = (
    1e-3  # of the energy involved: a smaller imbalance is not reported where no work is done
)
_WORKED = 1e-2  # the same, of energy and work, where work is integrated
_INTEGRAL = 3.0  # times the error of the integrals
_ROUNDING = 1e-10  # of the potential energy
_REFINED = (
    1,
    4,
    16,
    64,
)  # intervals whose work is integrated over every step, until it explains the balance
_FINER = 8  # parts of a step for the integral of its work
_AFTER_STOP = 4.0  # steps after contact with a stop that are excluded, too
_CURVED = 0.1  # deviation of a velocity from a straight line, as a share of its change between two outputs
_SINGULAR = 0.2  # of the largest smallest singular value: near a singular position
_ROWS = 256  # outputs at which the rank of the loops is compared
_REACH = 1.5  # times the distance covered between two outputs at their larger speed


@dataclass(frozen=True)
class Imbalance:
    """Energy gained or lost without work."""

    before: float  # [s]
    after: float  # [s]: the interval with the largest part of it
    size: float  # [J] in total
    scale: float  # [J] of the energy involved
    row: int


def imbalance(motion: Motion, most_steps: float = np.inf) -> Imbalance | None:
    """Return the imbalance that neither the scheme nor the output interval explains; None if there is none.

    Args:
        motion: rows of a run.
        most_steps: steps run again to integrate the work; if more are needed, the balance is not judged.
    """
    if len(motion.t) < 2 or not is_monitored(motion.scene):
        return None
    with np.errstate(all="ignore"):  # of runs that grow without bound
        return _imbalance(motion, most_steps)


def _imbalance(motion: Motion, most_steps: float) -> Imbalance | None:
    work, error = _work(motion)
    finite = np.isfinite(motion.energy[1:]) & np.isfinite(work) & np.isfinite(error)
    if not finite.all():  # growth without bound: compare the rows before
        return imbalance(motion.before(1 + int(finite.argmin())), most_steps)
    d = np.diff(motion.energy) - work
    free = ~_may_touch_stops(motion)
    d, error = np.where(free, d, 0.0), np.where(free, error, 0.0)
    stored = motion.energy - motion.kinetic
    scale = float(motion.kinetic.max() + np.ptp(stored))
    share = _WORKED if work.any() else _CONSERVED
    least = share * (scale + float(np.abs(work).sum())) + _ROUNDING * float(np.abs(stored).max())

    def excess() -> Array:
        return np.abs(np.cumsum(d)) - least - _INTEGRAL * np.cumsum(error)

    if (excess() <= 0).all():
        return None
    if work.any():
        each = _FINER * motion.steps / len(d)
        for intervals in np.split(np.argsort(-np.abs(d))[: _REFINED[-1]], _REFINED[:-1]):
            most_steps -= each * len(intervals)
            if most_steps < 0:
                return None
            _refine(motion, d, error, intervals)
            if (excess() <= 0).all():
                return None
    beyond = excess() - np.cumsum(scheme_errors(motion, d, scale))
    if (beyond <= 0).all():
        return None
    until = int(np.abs(np.cumsum(d)).argmax()) + 1
    if not resolves(motion, int(np.abs(d[:until]).argmax())):
        return None
    row = int(np.abs(d[:until]).argmax())
    size = float(np.cumsum(d)[until - 1])
    return Imbalance(float(motion.t[row]), float(motion.t[row + 1]), size, scale, row)


def describe(motion: Motion, found: Imbalance) -> str:
    """Return the warning about an imbalance: its size, time and likely cause, and a remedy."""
    verb = "lost" if found.size < 0 else "gained"
    share = (
        f"{abs(found.size) / found.scale:.2g} of the energy involved" if found.scale > 0 else "all"
    )
    problem = (
        f"the run {verb} {abs(found.size):.3g} J ({share}) without work, most of it between t = {found.before:.6g} and "
        f"{found.after:.6g} s, more than the errors of {motion.scene.settings.integrator} explain"
    )
    cause, remedy = _cause(motion, found)
    return f"{problem}; {cause}: {remedy}"


def warn_of_imbalance(
    scene: Scene, trajectory: Trajectory, steps: int, stacklevel: int = 2
) -> None:
    """Warn of a finished run whose energy balance does not close.

    Of runs with contacts those of convex steps of one length are monitored, by their ledger, for energy gained.
    """
    touching = scene.contacts is not None
    if touching and not find_integrator(scene.settings.integrator).contacts:
        return
    columns = (trajectory.t, trajectory.q, trajectory.v, trajectory.energy, trajectory.kinetic)
    motion = Motion(scene, *columns, steps)
    by_ledger = touching or not is_monitored(scene)
    found = _imbalance_of_ledger(motion, trajectory) if by_ledger else imbalance(motion)
    if found is not None:
        text = f"{scene.spec.path}: {describe(motion, found)}"
        warnings.warn(text, PysimWarning, stacklevel=stacklevel + 1)


def _imbalance_of_ledger(motion: Motion, trajectory: Trajectory) -> Imbalance | None:
    """Return the imbalance by the ledger of a run, which contains the work of all forces."""
    if not trajectory.work:
        return None
    found = balance_change(motion.scene, trajectory, motion.steps)
    if found is None:
        return None
    if motion.scene.contacts is None and not resolves(motion, found.row):
        return None
    before, after = (float(motion.t[found.row + k]) for k in (0, 1))
    return Imbalance(before, after, found.size, found.scale, found.row)


def is_monitored(scene: Scene) -> bool:
    """Return whether the work of all forces can be computed from the outputs of a run.

    It cannot if springs and stops act beside the force of a joint plugin, a force that has no energy acts at rest, or
    signals command actuators.
    """
    model = scene.model
    if model.connections.unstored or model.connections.signals is not None:
        return False
    own = [joint for joint in model.joints if find_joint(joint.type).has_force]
    if not own:
        return True
    elastic = any(
        joint.stiffness.any() or np.isfinite(joint.lower).any() or np.isfinite(joint.upper).any()
        for joint in model.joints
    )
    return not elastic and not model.spec.forces


def _work(motion: Motion) -> tuple[Array, Array]:
    """Return the work done over every interval and the estimated error of its integral (n − 1,) [J]."""
    P = _power(motion)
    step = np.diff(motion.t)
    trapezoid = 0.5 * step * (P[1:] + P[:-1])
    given, off = _work_of_controls(motion)
    if not P.any():
        return trapezoid + given, off
    wide = np.concatenate([[2 * P[0] - P[1]], P, [2 * P[-1] - P[-2]]])
    cubic = trapezoid - step / 24 * (wide[3:] - wide[2:-1] - wide[1:-2] + wide[:-3])
    error = np.abs(cubic - trapezoid)
    near = np.concatenate([error[:1], error, error[-1:]])
    return cubic + given, np.maximum(error, np.maximum(near[2:], near[:-2])) + off


def _work_of_controls(motion: Motion) -> tuple[Array, Array]:
    """Return Σ h u·v over the steps of every interval, v interpolated between outputs, and its error (n − 1,) [J]."""
    intervals = len(motion.t) - 1
    if motion.controls is None:
        return np.zeros(intervals), np.zeros(intervals)
    every = len(motion.controls) // intervals
    u = motion.controls[: every * intervals].reshape(intervals, every, -1)
    h = np.diff(motion.t) / every
    begin, change = motion.v[:-1], np.diff(motion.v, axis=0)
    share = (np.arange(every) + 0.5) / every
    v = begin[:, None] + share[:, None] * change[:, None]
    off = _CURVED * np.einsum("kni,ki->k", np.abs(u), np.abs(change))
    return h * np.einsum("kni,kni->k", u, v), h * off


def _power(motion: Motion) -> Array:
    """Return P (n,) [W]."""
    model, q, v = motion.scene.model, motion.q, motion.v
    force = actuator_forces(motion.scene.actuation, motion.t)
    if dissipates(model):
        force = force + passive_forces(model, q, v)
        if not any(find_joint(joint.type).has_force for joint in model.joints):
            force -= passive_forces(model, q, np.zeros_like(v))
    return np.asarray(np.einsum("ni,ni->n", v, force))


def dissipates(model: Model) -> bool:
    """Return whether a passive force depends on velocities or is a plugin's; stops do not count."""
    if model.connections.nonconservative:
        return True
    return any(
        joint.damping.any() or joint.friction.any() or find_joint(joint.type).has_force
        for joint in model.joints
    )


def _may_touch_stops(motion: Motion) -> NDArray[np.bool_]:
    """Return the intervals (n − 1,) in which a coordinate may touch a stop."""
    model, step = motion.scene.model, np.diff(motion.t)
    found = np.zeros(len(step), bool)
    places = zip(model.joints, model.q_offsets, model.v_offsets, strict=True)
    for joint, at_q, at_v in places:
        kind = find_joint(joint.type)
        if at_q < 0:
            found |= _follower_may_touch(motion, joint, step)
            continue
        at = kind.real_coordinates
        for i, k in zip(*at, strict=True):
            if not (np.isfinite(joint.lower[k]) or np.isfinite(joint.upper[k])):
                continue
            q, v = motion.q[:, at_q + i], motion.v[:, at_v + k]
            found |= _comes_near(q, v, step, joint.lower[k], joint.upper[k])
    return _with_neighbours(found, motion) if found.any() else found


def _with_neighbours(found: NDArray[np.bool_], motion: Motion) -> NDArray[np.bool_]:
    """Add the intervals a few steps before and after: the error of a bounce may show in later steps."""
    step = motion.scene.settings.step
    reach = _AFTER_STOP * step / float(np.diff(motion.t).max()) if np.isfinite(step) else 1.0
    beside = max(1, int(np.ceil(reach)))
    near = np.convolve(found, np.ones(2 * beside + 1))  # longer at both ends
    return np.asarray(near[beside : beside + len(found)] > 0)


def _follower_may_touch(motion: Motion, joint: JointSpec, step: Array) -> NDArray[np.bool_]:
    """Return the intervals in which a joint that follows another may touch a stop."""
    model, mimic = motion.scene.model, joint.mimic
    assert mimic is not None
    at = model.joint_names.index(mimic.joint)  # of the head of its chain, which has a coordinate
    at_q, at_v = model.q_offsets[at], model.v_offsets[at]
    q, v = mimic.ratio * motion.q[:, at_q] + mimic.offset, mimic.ratio * motion.v[:, at_v]
    return _comes_near(q, v, step, joint.lower[0], joint.upper[0])


def _comes_near(q: Array, v: Array, step: Array, lower: float, upper: float) -> NDArray[np.bool_]:
    """Return the intervals in which a coordinate may reach a limit at its speed."""
    reach = _REACH * step * np.maximum(np.abs(v[1:]), np.abs(v[:-1]))
    high, low = np.maximum(q[1:], q[:-1]) + reach, np.minimum(q[1:], q[:-1]) - reach
    return np.asarray((high >= upper) | (low <= lower))


def _refine(motion: Motion, d: Array, error: Array, intervals: NDArray[np.intp]) -> None:
    """Integrate the work over every step of some intervals, in place."""
    for k in intervals:
        rerun = rerun_interval(motion, int(k), _FINER)
        if np.isclose(rerun.t[-1], motion.t[k + 1], rtol=1e-12):
            work, own = _work(rerun)
            d[k] = motion.energy[k + 1] - motion.energy[k] - work.sum()
            error[k] = own.sum()


def _cause(motion: Motion, found: Imbalance) -> tuple[str, str]:
    """Return the likely cause and the remedy."""
    scene = motion.scene
    light = light_bodies(scene)
    if light is not None:
        problem, remedy = light.rsplit("; ", 1)
        return problem, remedy
    if scene.model.rows and _nearly_singular(motion, found):
        return (
            "the loops nearly lose rank there, at a position where the motion branches",
            "change a length to keep away from this position or to pass exactly through it, or shorten the step",
        )
    settings = scene.settings
    if find_integrator(settings.integrator).adaptive:
        return "the steps do not resolve the motion there", "lower simulation.rtol and atol"
    return (
        "the step does not resolve the motion there",
        f"shorten simulation.step, now {settings.step:g} [s], and check the forces at that time for jumps",
    )


def _nearly_singular(motion: Motion, found: Imbalance) -> bool:
    """Return whether the rows are much closer to losing rank at the imbalance than elsewhere in the run."""
    there = rerun_interval(motion, found.row).q
    everywhere = motion.q[:: max(1, len(motion.q) // _ROWS)]
    J = constraints(motion.scene.model, np.concatenate([there, everywhere])).jacobian
    longest = np.linalg.norm(J, axis=2).max(axis=0)[:, None]  # a row may vanish there
    values = np.linalg.svd(J / np.maximum(longest, 1e-300), compute_uv=False)
    rank = int(np.median((values > 1e-6).sum(axis=1)))
    least = values[:, max(rank - 1, 0)]
    return bool(least[: len(there)].min() < _SINGULAR * least.max())
