"""Stability limits on the step size, from the modes of a mechanism linearised about a state.

The convex scheme is implicit in all but the actuators, of whose K and D it takes the diagonals k and d implicitly:

    (M + h d + h² k) (v₁ − v₀) = −h (K x₀ + D v₀) − h² k v₀        x₁ = x₀ + h v₁

A scheme is stable if h s lies in its region; each s is tested along its own ray, so a decay is bounded by the negative
real axis, an oscillation by the imaginary axis [Hairer, Wanner 1996, IV.2].
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim import _engine
from pysim.algorithms import crba
from pysim.diagnosis.modes import (
    MOST_MOTIONS,
    Mode,
    carriers_of,
    linearised,
    linearised_actuators,
    modes_along,
    slide_modes,
    state_modes,
    stop_modes,
)
from pysim.integrators import find_integrator
from pysim.loops import allowed_motions
from pysim.mechanism.motion_compiler import with_uniform_motions
from pysim.typing import Array
from pysim.worlds.signal_runs import begin_signals

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pysim.worlds.loading import Scene

    Roots = NDArray[np.complexfloating[Any, Any]]

STEPS_A_PERIOD = 20
BOUNCE_ERROR = 0.01  # of the speed that a body had before its stop threw it back
DAMPED = 0.3  # damping ratio of a stop, from which on it need not give back the speed
PRECISION = 1e-12  # of a largest step
FARTHEST = 8.0  # |h s| beyond which no explicit scheme here is stable
# h |s| of convex steps whose growth is looked at, and their number
LEAST_GROWN, MOST_GROWN, GROWN = (0.5, 1e3, 45)
AMPLIFIED = 1e-6  # growth of a convex step beyond rounding


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
    modes = modes_along(scene, motions, linearised)
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
    carrier = carriers_of(
        scene, np.asarray(crba(scene.model, scene.state.q)), (N @ motion[:, None]).astype(complex)
    )[0]
    return low, Mode(complex(-fastest), carrier)


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
