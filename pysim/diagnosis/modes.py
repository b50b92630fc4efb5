"""Frequencies and decays of a mechanism linearised about a state.

    M δv̇ = −K δq − D δv        s of [[0, 1], [−M⁻¹K, −M⁻¹D]]

K and D are central differences of the acceleration, so they include actuators, continuous controllers, gravity,
springs, friction and plugins. States of elements count with the modes that they have alone. With loops or couplings,
δq = N x with J N = 0, and every state is projected onto the constraints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from pysim import _engine
from pysim.algorithms import aba, aba_derivatives, crba, minverse
from pysim.loops import allowed_motions, constrained_aba, constrained_aba_derivatives, project
from pysim.mechanism.actuation import actuator_forces
from pysim.mechanism.builder import passive_forces_of
from pysim.typing import Array
from pysim.worlds.accelerations import forces_of_actuators
from pysim.worlds.signal_runs import begin_signals

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pysim.mechanism.model import Model
    from pysim.worlds.loading import Scene

    Roots = NDArray[np.complexfloating[Any, Any]]

DIFFERENCE = 1e-6  # [rad or m] for K
RATE_DIFFERENCE = 1e-7  # [rad/s or m/s] for D: narrower than the width of sharp friction
LEAST_FREQUENCY = 1e-6  # of the largest |s|: no motion of its own, or rounding
ROUNDING = LEAST_FREQUENCY**2  # of the largest entry of K or D
DIGITS_LOST = 64  # rounding of accelerations, in the last digit of the largest
MOST_MOTIONS = 200  # whose modes are looked for: eigenvalues of more take over a second
_sliding: WeakKeyDictionary[Model, tuple[NDArray[np.intp], Array, Array]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Mode:
    """Mode e^(s t), and the joint, or the state of an element, with the largest part of it."""

    s: complex  # [1/s]
    joint: str

    @property
    def frequency(self) -> float:
        """Angular frequency of its oscillation [rad/s]."""
        return abs(self.s.imag)

    @property
    def decay(self) -> float:
        """Rate of its decay [1/s]; negative if it grows."""
        return -self.s.real


def slide_modes(scene: Scene) -> list[Mode]:
    """Return the decay of every coordinate with dry friction close to rest at the start: s = −w (friction / width + d).

    w as in `stop_modes`.
    """
    model = scene.model
    at, slope, _ = sliding_coordinates(model)
    w = np.diag(mobility_matrix(scene))[at] if len(at) else np.zeros(0)
    names = model.velocity_names
    return [Mode(complex(-x), names[k]) for k, x in zip(at.tolist(), w * slope, strict=True)]


def sliding_coordinates(model: Model) -> tuple[NDArray[np.intp], Array, Array]:
    """Return the coordinates with dry friction, the slope of their friction and damping at rest, and their width."""
    known = _sliding.get(model)
    if known is not None:
        return known
    sliding = [
        (
            first + i,
            -passive_forces_of(joint)[i].replaced(stop_damping=0.0).law(0.0, 0.0).by_v,
            joint.friction_width[i],
        )
        for joint, first in zip(model.joints, model.v_offsets, strict=True)
        for i in np.flatnonzero(joint.friction)
        if first >= 0
    ]
    at, slope, width = (
        (np.array(x) for x in zip(*sliding, strict=True)) if sliding else np.zeros((3, 0))
    )
    known = at.astype(np.intp), slope, width
    _sliding[model] = known
    return known


def modes_of(scene: Scene, linearise: Callable[[Scene, Array], Array] | None = None) -> list[Mode]:
    """Return the modes at the start, without modes at rest; of a conjugate pair, the one above the real axis.

    `linearise` is `linearised`, or `exactly_linearised`. There are none if accelerations about the start are not
    finite, which a run reports with the joint, or if there are more than MOST_MOTIONS motions.
    """
    motions = allowed_motions(scene.model, scene.state.q, scene.state.loop_q)
    return modes_along(scene, motions, linearise or linearised)


def modes_along(
    scene: Scene, motions: Array, linearise: Callable[[Scene, Array], Array]
) -> list[Mode]:
    """Return `modes_of` a scene for given motions (nv, n)."""
    n = motions.shape[1]
    A = linearise(scene, motions) if 0 < n <= MOST_MOTIONS else np.zeros((0, 0))
    if not A.size or not np.isfinite(A).all():
        return []
    M = np.asarray(crba(scene.model, scene.state.q))
    scale = np.sqrt(np.diag(motions.T @ M @ motions))
    a = _acceleration(scene)
    values, vectors = np.linalg.eig(_without_rounding(A, scale, float(np.sqrt(a @ M @ a))))
    largest = np.abs(values).max(initial=0.0)
    moves = (np.abs(values) > max(LEAST_FREQUENCY * largest, LEAST_FREQUENCY)) & (values.imag >= 0)
    values = values[moves]
    # rounding of the differences, no decay
    slow = np.abs(values.real) < LEAST_FREQUENCY * np.abs(values)
    rates = np.where(slow, 0.0, values.real) + 1j * values.imag
    shapes = motions @ (vectors[:n, moves] / scale[:, None])
    carriers = carriers_of(scene, M, shapes.astype(complex))
    return [Mode(complex(s), joint) for s, joint in zip(rates, carriers, strict=True)]


def _without_rounding(A: Array, scale: Array, acceleration: float) -> Array:
    """Return A (2 n, 2 n) for motions of unit energy, without entries that are rounding.

    These are entries below the rounding of the differences, and those that are minute beside others: the balancing of
    the eigenvalue solver would mix a motion that is coupled by 1e-22 with the others.

    Args:
        A: the matrix.
        scale: norm of each motion (n,) [√kg], √(2 energy) of a motion at unit speed.
        acceleration: norm √(aᵀ M a) [√kg m/s²] of the acceleration whose differences are in A.
    """
    n, both = len(scale), np.tile(scale, 2)
    scaled = A * both[:, None] / both
    for block, difference in ((scaled[n:, :n], DIFFERENCE), (scaled[n:, n:], RATE_DIFFERENCE)):
        noise = DIGITS_LOST * np.finfo(float).eps * acceleration / (difference * scale)
        least = np.maximum(noise, ROUNDING * np.abs(block).max(initial=0.0))
        block[np.abs(block) < least] = 0.0
    return scaled


def _acceleration(scene: Scene) -> Array:
    """Return the acceleration (nv,) at the start."""
    model, state = scene.model, scene.state
    tau = _actuators(scene, state.q, state.v)
    if model.rows:
        loop_q = state.loop_q
        a = constrained_aba(model, state.q, state.v, tau, loop_q=loop_q, passive=True)
    else:
        a = aba(model, state.q, state.v, tau, passive=True)
    return np.asarray(a)


def stop_modes(scene: Scene) -> list[Mode]:
    """Return the mode of every coordinate at its stop while no other stop acts, at the start.

    s² + w (d s + k) = 0, w = n (Nᵀ M N)⁻¹ nᵀ, n the coordinate's row of the motions N; the faster of two decays. Drives
    that resist the velocity damp the mode further, at the same |s|; if they overdamp it alone, the faster decay is
    theirs, which is there without the stop, and the mode is the slower one.
    """
    model = scene.model
    stops = [
        (joint, first + i, i)
        for joint, first in zip(model.joints, model.v_offsets, strict=True)
        for i in np.flatnonzero(np.isfinite(joint.lower) | np.isfinite(joint.upper))
        if first >= 0
    ]
    mobility = mobility_matrix(scene) if stops else np.zeros((0, 0))
    is_driven = bool(stops) and scene.signals is not None
    drives = -actuator_slopes(scene)[1] if is_driven else np.zeros(scene.model.nv)
    modes = []
    for joint, at, i in stops:
        w, drive = mobility[at, at], max(float(drives[at]), 0.0)
        k, half = w * joint.stop_stiffness[i], w * joint.stop_damping[i] / 2
        s = complex(-half - np.emath.sqrt(half**2 - k)).conjugate()
        if drive > 0 and k > 0:
            s = _driven_stop(abs(s), k, half, w * drive / 2)
        if s != 0:
            modes.append(Mode(s, model.velocity_names[at]))
    return modes


def _driven_stop(rate: float, k: float, half: float, drive: float) -> complex:
    """Return the root of a stop of k [1/s²] whose drive decays at 2 `drive`, beside 2 `half` of its own [1/s]."""
    if drive**2 >= k:
        total = half + drive
        return complex(np.sqrt(total**2 - k) - total)
    ratio = min((half + drive) / np.sqrt(k), 1.0)
    return rate * complex(-ratio, np.sqrt(1 - ratio**2))


def mobility_matrix(scene: Scene) -> Array:
    """Return N (Nᵀ M N)⁻¹ Nᵀ (nv, nv) at the start, which is M⁻¹ without constraints."""
    model, state = scene.model, scene.state
    if not model.rows:
        return np.asarray(minverse(model, state.q))
    N = allowed_motions(model, state.q, state.loop_q)
    return np.asarray(N @ np.linalg.solve(N.T @ np.asarray(crba(model, state.q)) @ N, N.T))


def linearised(scene: Scene, N: Array) -> Array:
    """Return A (2 n, 2 n) of d(x, y)/dt = A (x, y) at the start, with δq = N x and δv = N y for motions N (nv, n)."""
    n = N.shape[1]
    by_q, by_v = _rates(scene, DIFFERENCE * N, 0 * N), _rates(scene, 0 * N, RATE_DIFFERENCE * N)
    slopes = np.vstack([by_q / (2 * DIFFERENCE), by_v / (2 * RATE_DIFFERENCE)])  # (2 n, 2, nv)
    if not np.isfinite(slopes).all():
        return np.full((2 * n, 2 * n), np.nan)
    M = np.asarray(crba(scene.model, scene.state.q))
    forces = N.T @ M @ slopes.reshape(4 * n, -1).T
    parts = np.asarray(np.linalg.solve(N.T @ M @ N, forces), float)
    A = parts.reshape(n, 2 * n, 2).transpose(2, 0, 1).reshape(2 * n, 2 * n)
    A[:n, n:] = np.eye(n)
    return A


def exactly_linearised(scene: Scene, N: Array) -> Array:
    """Return `linearised` by derivatives, which resolve friction narrower than the differences.

    Raises:
        PysimError: the start is a singular position, which has no derivatives.
    """
    model, state = scene.model, scene.state
    tau = actuator_forces(scene.actuation, 0.0)
    if model.rows:
        by_q, by_v, _ = constrained_aba_derivatives(
            model, state.q, state.v, tau, loop_q=state.loop_q, passive=True
        )
    else:
        by_q, by_v, _ = aba_derivatives(model, state.q, state.v, tau, passive=True)
    n, back = N.shape[1], np.linalg.pinv(N)
    return np.block([[np.zeros((n, n)), np.eye(n)], [back @ by_q @ N, back @ by_v @ N]])


def _rates(scene: Scene, dq: Array, dv: Array) -> Array:
    """Return the differences of (v, v̇) ahead and behind, for every column of (dq, dv): (n, 2, nv)."""
    model, state = scene.model, scene.state
    by_q, by_v = np.hstack([dq, -dq]).T, np.hstack([dv, -dv]).T
    many = len(by_q)
    q, v = model.integrate(np.tile(state.q, (many, 1)), by_q), state.v + by_v
    if model.rows:
        there = project(model, q, v, loop_q=np.tile(state.loop_q, (many, 1)))
        v, tau = there.v, _actuators(scene, there.q, there.v)
        if not np.isfinite(tau).all():  # an element is NaN beside the start
            return np.full((many // 2, 2, model.nv), np.nan)
        a = constrained_aba(model, there.q, v, tau, loop_q=there.loop_q, passive=True)
    else:
        tau = _actuators(scene, q, v)
        if not np.isfinite(tau).all():
            return np.full((many // 2, 2, model.nv), np.nan)
        a = np.asarray(aba(model, q, v, tau, passive=True))
    ahead, behind = np.split(np.stack([v, a], axis=1), 2)
    return np.asarray(ahead - behind)


def linearised_actuators(scene: Scene, N: Array) -> Array:
    """Return `linearised` with the forces of actuators alone."""
    model, state, n = scene.model, scene.state, N.shape[1]
    both = np.hstack([N, -N]).T
    there, still = np.tile(state.q, (2 * n, 1)), np.tile(state.v, (2 * n, 1))
    by_q = _actuators(scene, model.integrate(there, DIFFERENCE * both), still)
    by_v = _actuators(scene, there, still + RATE_DIFFERENCE * both)
    slopes = [
        (rows[:n] - rows[n:]).T / (2 * size)
        for rows, size in ((by_q, DIFFERENCE), (by_v, RATE_DIFFERENCE))
    ]
    M = N.T @ np.asarray(crba(model, state.q)) @ N
    parts = np.linalg.solve(M, N.T @ np.hstack(slopes))
    return np.block([[np.zeros((n, n)), np.eye(n)], [parts]])


def actuator_slopes(scene: Scene) -> Array:
    """Return the changes of every actuator's force (2, nv) with its own coordinate and velocity, at the start."""
    model, state, nv = scene.model, scene.state, scene.model.nv
    one = np.vstack([np.eye(nv), -np.eye(nv)])
    there, still = np.tile(state.q, (2 * nv, 1)), np.tile(state.v, (2 * nv, 1))
    by_q = _actuators(scene, model.integrate(there, DIFFERENCE * one), still) / (2 * DIFFERENCE)
    by_v = _actuators(scene, there, still + RATE_DIFFERENCE * one) / (2 * RATE_DIFFERENCE)
    return np.array([np.diag(rows[:nv]) - np.diag(rows[nv:]) for rows in (by_q, by_v)])


def _actuators(scene: Scene, q: Array, v: Array) -> Array:
    """Return the forces (…, nv) of actuators at the start time, with the states and held numbers of the start."""
    if scene.signals is None:
        return np.asarray(actuator_forces(scene.actuation, np.zeros(q.shape[:-1])))
    run = begin_signals(scene, 0.0, calls=False)
    assert run is not None
    rows = np.atleast_2d(q)
    numbers = np.tile(run.numbers, (len(rows), 1))
    tau = forces_of_actuators(scene, np.zeros(len(rows)), rows, np.atleast_2d(v), numbers)
    return np.asarray(tau.reshape(v.shape))


def state_modes(scene: Scene) -> list[Mode]:
    """Return the modes of the states of elements alone, at the start, each with the name of its largest state."""
    names = () if scene.signals is None else scene.signals.state_names
    run = begin_signals(scene, 0.0, calls=False) if 0 < len(names) <= MOST_MOTIONS else None
    if run is None:
        return []
    count, state = len(names), scene.state
    step = DIFFERENCE * (1 + np.abs(run.numbers[:count]))
    numbers = np.tile(run.numbers, (2 * count, 1))
    at = np.arange(count)
    numbers[at, at] += step
    numbers[count + at, at] -= step
    q, v = (np.tile(x, (2 * count, 1)) for x in (state.q, state.v))
    _, rates = _engine.signal_forces(scene.model, np.zeros(2 * count), q, v, numbers)
    rates = rates.reshape(2 * count, -1)[:, :count]  # without integrals of a ledger
    slopes = ((rates[:count] - rates[count:]) / (2 * step[:, None])).T
    if not np.isfinite(slopes).all():
        return []
    values, vectors = np.linalg.eig(slopes)
    largest = np.abs(vectors).argmax(axis=0)
    return [
        Mode(complex(s), names[k])
        for s, k in zip(values, largest, strict=True)
        if abs(s) > LEAST_FREQUENCY and s.imag >= 0
    ]


def carriers_of(scene: Scene, M: Array, motions: Roots) -> list[str]:
    """Return the joint of the coordinate with the largest energy |x_i|² M_ii in each motion (nv, n)."""
    most = np.argmax(np.abs(motions) ** 2 * np.diag(M)[:, None], axis=0)
    firsts = np.array(scene.model.v_offsets)  # -1: follows another joint
    leaders = np.flatnonzero(firsts >= 0)
    at = leaders[np.searchsorted(firsts[leaders], most, side="right") - 1]
    names = scene.model.joint_names
    return [names[joint] for joint in at]
