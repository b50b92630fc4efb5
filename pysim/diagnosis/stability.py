"""Stability limits on the step size, from the frequencies and decays of a mechanism linearised about a state.

    M δv̇ = −K δq − D δv        s of [[0, 1], [−M⁻¹K, −M⁻¹D]]

K and D are central differences of the acceleration, so they include actuators, continuous controllers, gravity,
springs, friction and plugins. States of elements count with the modes that they have alone.
The convex scheme is implicit in all but the actuators, of whose K and D it takes the diagonals k and d implicitly:

    (M + h d + h² k) (v₁ − v₀) = −h (K x₀ + D v₀) − h² k v₀        x₁ = x₀ + h v₁

With loops or couplings, δq = N x with J N = 0, and every state is projected onto the constraints. A scheme is stable if
h s lies in its region; each s is tested along its own ray, so a decay is bounded by the negative real axis, an
oscillation by the imaginary axis [Hairer, Wanner 1996, IV.2].
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from pysim import _engine
from pysim.algorithms import aba, aba_derivatives, crba, minverse
from pysim.integrators import find_integrator
from pysim.loops import allowed_motions, constrained_aba, constrained_aba_derivatives, project
from pysim.mechanism.actuation import actuator_forces
from pysim.mechanism.builder import passive_forces_of
from pysim.mechanism.motion_compiler import with_uniform_motions
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
STEPS_A_PERIOD = 20
BOUNCE_ERROR = 0.01  # of the speed that a body had before its stop threw it back
DAMPED = 0.3  # damping ratio of a stop, from which on it need not give back the speed
STILL = 1e-6  # of the largest |s|: no motion of its own, or rounding
ROUNDING = STILL**2  # of the largest entry of K or D
DIGITS_LOST = 64  # rounding of accelerations, in the last digit of the largest
PRECISION = 1e-12  # of a largest step
FARTHEST = 8.0  # |h s| beyond which no explicit scheme here is stable
# h |s| of convex steps whose growth is looked at, and their number
LEAST_GROWN, MOST_GROWN, GROWN = (0.5, 1e3, 45)
AMPLIFIED = 1e-6  # growth of a convex step beyond rounding
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


@dataclass(frozen=True)
class StepBounds:
    """Limits on the step size of a scene at its start."""

    fastest: Mode | None  # of the highest frequency
    steepest: Mode | None  # of the largest decay
    stable: float  # largest stable step [s], inf if unbounded or unknown
    limiting: Mode | None  # the mode that bounds it
    accurate: float  # 1/20 of the shortest period [s]
    stop: Mode | None = None  # the hardest stop, touched; its joint is the coordinate's name
    bounce: float = np.inf  # largest step with which the scheme follows a bounce off it [s]
    slide: Mode | None = None  # the sharpest friction, at rest; its joint is the coordinate's name
    sticks: float = np.inf  # largest step with which the scheme follows it to rest [s]
    # that are free at the start; modes of more than MOST_MOTIONS are not looked for
    motions: int = 0


def step_bounds(scene: Scene) -> StepBounds:
    """Return the limits on the step size, from the scene linearised at its start.

    Numbers that overflow end in infinite or NaN slopes, from which no limit follows.
    """
    with np.errstate(all="ignore"):
        try:
            return _step_bounds(scene)
        except np.linalg.LinAlgError:
            return StepBounds(None, None, np.inf, None, np.inf)


def _step_bounds(scene: Scene) -> StepBounds:
    model = with_uniform_motions(scene.model, scene.state)
    if model is not scene.model:
        scene = replace(scene, model=model)
    motions = allowed_motions(scene.model, scene.state.q, scene.state.loop_q)
    modes = _modes_along(scene, motions, linearised)
    turning = [mode for mode in modes if mode.frequency > 0]
    dying = [mode for mode in modes if mode.decay > 0]
    fastest = max(turning, key=lambda mode: mode.frequency, default=None)
    scheme, stepped = scene.settings.integrator, [*modes, *state_modes(scene)]
    if scheme == "convex":
        stable, limiting = _convex_bound(scene, motions)
    else:
        # growing modes do not limit the step
        lasting = [complex(min(mode.s.real, 0.0), mode.s.imag) for mode in stepped]
        stable, which = np.inf, -1
        for k, s in enumerate(lasting):
            if s != 0 and (bound := stable_step(s, scheme, stable)) < stable:
                stable, which = bound, k
        limiting = stepped[which] if np.isfinite(stable) else None
    stop, bounce = bounce_bound(scene)
    return StepBounds(
        fastest,
        max(dying, key=lambda mode: mode.decay, default=None),
        stable,
        limiting,
        2 * np.pi / fastest.frequency / STEPS_A_PERIOD if fastest is not None else np.inf,
        stop,
        bounce,
        *slide_bound(scene),
        motions.shape[1],
    )


def bounce_bound(scene: Scene) -> tuple[Mode | None, float]:
    """Return the stiffest stop in contact, and the largest step [s] with which the scheme follows a bounce off it.

    None and inf for a scheme that adapts its steps and for a plugin.
    """
    settings = scene.settings
    kind = find_integrator(settings.integrator)
    if kind.bounce is None or kind.damped_bounce is None:
        return None, np.inf
    undamped, damped = kind.bounce, kind.damped_bounce
    if settings.integrator == "generalized_alpha":
        undamped = min(undamped, 0.17 + 0.25 * settings.parameters["spectral_radius"])
    bounds = [
        ((damped if mode.decay >= DAMPED * abs(mode.s) else undamped) / abs(mode.s), mode)
        for mode in stop_modes(scene)
    ]
    bound, stop = min(bounds, key=lambda pair: pair[0], default=(np.inf, None))
    return stop, bound


def slide_bound(scene: Scene) -> tuple[Mode | None, float]:
    """Return the steepest friction at rest, and the largest step [s] with which the scheme lets it come to rest.

    None and inf for a scheme that adapts its steps or solves equations, and for a plugin.
    """
    integrator = scene.settings.integrator
    if integrator not in GROWTH or find_integrator(integrator).adaptive:
        return None, np.inf
    sharpest = max(slide_modes(scene), key=lambda mode: mode.decay, default=None)
    if sharpest is None:
        return None, np.inf
    return sharpest, stable_step(sharpest.s, integrator)


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
    return _modes_along(scene, motions, linearise or linearised)


def _modes_along(
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
    moves = (np.abs(values) > max(STILL * largest, STILL)) & (values.imag >= 0)
    values = values[moves]
    slow = np.abs(values.real) < STILL * np.abs(values)  # rounding of the differences, no decay
    rates = np.where(slow, 0.0, values.real) + 1j * values.imag
    shapes = motions @ (vectors[:n, moves] / scale[:, None])
    carriers = _carriers(scene, M, shapes.astype(complex))
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


def _convex_bound(scene: Scene, N: Array) -> tuple[float, Mode | None]:
    """Return the largest step [s] of the convex scheme for the actuators at the start, and the mode that bounds it.

    That is where a step amplifies some motion of N (nv, n) that the actuators alone do not; inf and None if none does.
    """
    n = N.shape[1]
    if scene.signals is None or scene.contacts is None or not 0 < n <= MOST_MOTIONS:
        return np.inf, None
    A = linearised_actuators(scene, N)
    if not np.isfinite(A).all() or not A[n:].any():
        return np.inf, None
    M = N.T @ np.asarray(crba(scene.model, scene.state.q)) @ N
    run = begin_signals(scene, 0.0, calls=False)
    assert run is not None
    engine, q, v = scene.contacts.engine, scene.state.q, scene.state.v
    rates = np.linalg.eigvals(A)
    by_q, by_rate = M @ A[n:, :n], M @ A[n:, n:]
    fastest, growing = float(np.abs(rates).max()), max(float(rates.real.max()), 0.0)
    # the forces change with the state, but no motion grows, decays or swings by them
    if fastest == 0:
        return np.inf, None

    def implicit(h: float) -> list[Array]:
        found = _engine.actuator_damping(engine, q, v, run.numbers, scene.actuation, h)
        return [np.asarray(N.T @ (x.reshape(-1, 1) * N)) for x in found]

    def growth(h: float) -> tuple[float, Array]:
        """Return how much faster than the actuators alone a step of size h grows, and the motion that grows most."""
        D, K = implicit(h)
        rest = np.hstack([by_q, by_rate - h * K])
        B = h * np.linalg.solve(M + h * D + h * h * K, rest)
        by_x, by_v = B[:, :n], np.eye(n) + B[:, n:]
        values, vectors = np.linalg.eig(np.block([[np.eye(n) + h * by_x, h * by_v], [by_x, by_v]]))
        most = int(np.abs(values).argmax())
        return float(np.abs(values[most])) / np.exp(h * growing) - 1, vectors[n:, most]

    D, K = implicit(1 / fastest)
    if all(
        np.abs(own + whole).max() <= AMPLIFIED * np.abs(whole).max()
        for own, whole in ((K, by_q), (D, by_rate))
    ):
        return np.inf, None  # every actuator acts on its own coordinate alone
    sizes = np.geomspace(LEAST_GROWN / fastest, MOST_GROWN / fastest, GROWN)
    above = next((k for k, h in enumerate(sizes) if growth(h)[0] > AMPLIFIED), None)
    if above is None:
        return np.inf, None
    low, high = float(sizes[max(above - 1, 0)]), float(sizes[above])
    while high - low > 1e-3 * high:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if growth(middle)[0] > AMPLIFIED else (middle, high)
    motion = growth(high)[1]
    carrier = _carriers(
        scene, np.asarray(crba(scene.model, scene.state.q)), (N @ motion[:, None]).astype(complex)
    )[0]
    return low, Mode(complex(-fastest), carrier)


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
        if abs(s) > STILL and s.imag >= 0
    ]


def _carriers(scene: Scene, M: Array, motions: Roots) -> list[str]:
    """Return the joint of the coordinate with the largest energy |x_i|² M_ii in each motion (nv, n)."""
    most = np.argmax(np.abs(motions) ** 2 * np.diag(M)[:, None], axis=0)
    firsts = np.array(scene.model.v_offsets)  # -1: follows another joint
    leaders = np.flatnonzero(firsts >= 0)
    at = leaders[np.searchsorted(firsts[leaders], most, side="right") - 1]
    names = scene.model.joint_names
    return [names[joint] for joint in at]


def _polynomial(order: int) -> Callable[[Roots], Array]:
    """Return |R(z)| of the explicit Runge-Kutta schemes: the exponential's series up to the order."""
    terms = np.cumprod([1.0, *1 / np.arange(1.0, order + 1)])
    return lambda z: np.abs(np.polyval(terms[::-1], z))


def _dopri5(z: Roots) -> Array:
    """Return 1 + … + z⁵/120 + z⁶/600 [Hairer, Norsett, Wanner 1993, II.5]."""
    terms = [1.0, 1.0, 1 / 2, 1 / 6, 1 / 24, 1 / 120, 1 / 600]
    return np.asarray(np.abs(np.polyval(terms[::-1], z)))


def _oscillator(s: Roots) -> tuple[Array, Array]:
    """Return (k, d) of ẍ = −k x − d ẋ with the roots s, the others their conjugates, or 0 where s is real."""
    swings = s.imag != 0
    return np.where(swings, np.abs(s) ** 2, 0.0), np.where(swings, -2 * s.real, -s.real)


def _symplectic(z: Roots) -> Array:
    """Return largest |multiplier| of v₁ = v − k x − d v, x₁ = x + v₁ (h = 1)."""
    k, d = _oscillator(z)
    steps = np.moveaxis(np.array([[1 - k, 1 - d], [-k, 1 - d]]), (0, 1), (-2, -1))
    return np.asarray(np.abs(np.linalg.eigvals(steps)).max(axis=-1))


# |R(z)| for many z
GROWTH: dict[str, Callable[[Roots], Array]] = {
    "semi_implicit": _symplectic,
    "rk2": _polynomial(2),
    "rk4": _polynomial(4),
    "dopri5": _dopri5,
}


def stable_step(s: complex, integrator: str, least: float = np.inf) -> float:
    """Return the largest h [s] for which a scheme does not amplify a mode s [1/s]; inf if its region is unknown.

    It is inf as well if it is certainly not less than `least` [s].
    A pure oscillation grows under `rk2` at any step, by (h ω)⁴ / 8 a step: there the bound is where that is 1e-4.
    """
    growth = GROWTH.get(integrator)
    if growth is None or s == 0:
        return np.inf
    allowed = 1 + (1e-4 if s.real == 0 else 1e-9)
    sizes = np.linspace(0, FARTHEST, 1601)[1:]
    grows = growth(sizes * s / abs(s)) > allowed
    if not grows.any():
        return np.inf
    beyond = float(sizes[grows.argmax()])
    low, high = beyond - float(sizes[0]), beyond
    if low > least * abs(s):
        return np.inf
    while high - low > PRECISION * high:
        parts = np.linspace(low, high, 65)
        at = int((growth(parts[1:] * s / abs(s)) > allowed).argmax())
        low, high = float(parts[at]), float(parts[at + 1])
    return low / abs(s)
