"""Detects states of elements that grow without bound by themselves, such as x′ = x², and names the element.

    s: eigenvalues of ∂ẋ/∂x at a state, the mechanism held        h Re s > GROWS: no step of size h resolves the growth

An explicit scheme ends in infinite values, which a joint would be blamed for; an implicit one steps over the pole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.errors import SimulationError
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable

    from pysim.worlds.loading import Scene

UNRESOLVED_GROWTH = 0.5  # h Re s beyond which a growth is not resolved
MOST_STATES = 100  # of a scene, whose growth is looked at
MOST_WORLDS = 16  # whose states are followed at one output
MOST_STEPS = 4096  # of an interval whose states are followed
# steps after an interval, in which a growth that its steps do not resolve is followed
STEPS_AFTER = 32
PARTS_OF_STEP = 16  # of a step that does not resolve a growth, to follow it
# times 1 and its size: a state that grows beyond it in an interval has no bound
UNBOUNDED_FACTOR = 1e8
STATE_DIFFERENCE = 1e-6  # of a state, for its slopes


def growth_error(
    scene: Scene, t: float, q: Array, v: Array, numbers: Array | None, step: float
) -> SimulationError | None:
    """Return the error that names a state whose growth a step [s] does not resolve; None if there is none.

    Args:
        scene: the scene.
        t: time of the state [s].
        q: configuration (nq,).
        v: velocity (nv,).
        numbers: of the signals (signal_numbers,), None without.
        step: size of the step [s].
    """
    if numbers is None or scene.signals is None:
        return None
    found = _fastest_growth(scene, t, q, v, numbers)
    if found is None or not found[0] * step > UNRESOLVED_GROWTH:
        return None
    return _error(scene, t, numbers, found[1])


def growth_between(
    scene: Scene, t: Array, q: Array, v: Array, numbers: Array
) -> SimulationError | None:
    """Return the error of a state that grows without bound between outputs (n,), (n, nq), (n, nv), (n, signal_numbers).

    States are followed from outputs after which one changed by more than its size, with the mechanism held.
    """
    count = _states(scene)
    if not count or len(t) < 2:
        return None
    x = numbers[:, :count]
    with np.errstate(all="ignore"):
        fast = (np.abs(np.diff(x, axis=0)) > np.abs(x[:-1])).any(axis=1)
        for k in np.flatnonzero(fast).tolist():
            found = _fastest_growth(scene, float(t[k]), q[k], v[k], numbers[k])
            length = float(t[k + 1] - t[k])
            if found is None or not found[0] * length > UNRESOLVED_GROWTH:
                continue
            error = _followed(scene, float(t[k]), length, q[k], v[k], numbers[k])
            if error is not None:
                return error
    return None


def growing_worlds(
    scene_of: Callable[[int], Scene],
    times: tuple[float, float],
    q: Array,
    v: Array,
    before: Array,
    after: Array,
) -> dict[int, SimulationError]:
    """Return the errors of the worlds of a rollout in which a state grows without bound between two outputs.

    q (worlds, nq), v (worlds, nv) and the numbers `before` (worlds, signal_numbers) are of the first one; scene_of(k)
    is the scene of a world.
    """
    scene = scene_of(0)
    count, errors = _states(scene), dict[int, SimulationError]()
    if not count or not np.isfinite(scene.settings.step):
        return errors
    with np.errstate(all="ignore"):
        change = np.abs(after[:, :count] - before[:, :count])
        fast = (change > np.abs(before[:, :count])).any(axis=1)
    for k in np.flatnonzero(fast)[:MOST_WORLDS].tolist():
        held_q, held_v = (np.stack([x, x]) for x in (q[k], v[k]))
        numbers = np.stack([before[k], after[k]])
        error = growth_between(scene_of(k), np.array(times), held_q, held_v, numbers)
        if error is not None:
            errors[k] = error
    return errors


def _followed(
    scene: Scene, t: float, length: float, q: Array, v: Array, numbers: Array
) -> SimulationError | None:
    """Return the error of a state whose growth steps do not resolve within `length` [s] after an output at t [s]."""
    settings, count = scene.settings, _states(scene)
    steps = int(min(MOST_STEPS, np.ceil(length / settings.step)))
    h, followed, error = length / steps, numbers.copy(), None
    largest = UNBOUNDED_FACTOR * (1 + np.abs(followed[:count]))
    for k in range(steps + STEPS_AFTER):
        if k >= steps and error is None:
            return None
        error = error or growth_error(scene, t + k * h, q, v, followed, h)
        for part in range(
            PARTS_OF_STEP if error is not None else 1
        ):  # a growth that saturates is none
            dt = h / PARTS_OF_STEP if error is not None else h
            now, x = t + k * h + part * dt, followed[:count].copy()
            followed[:count] = x + 0.5 * dt * _rates(scene, now, q, v, followed[None])[0]
            followed[:count] = x + dt * _rates(scene, now + 0.5 * dt, q, v, followed[None])[0]
            if not (np.abs(followed[:count]) <= largest).all():
                return error
    return None


def _states(scene: Scene) -> int:
    names = () if scene.signals is None else scene.signals.state_names
    return len(names) if len(names) <= MOST_STATES else 0


def _rates(scene: Scene, t: float, q: Array, v: Array, numbers: Array) -> Array:
    """Return the rates of the states (n, states) for n rows of numbers at one state of the mechanism."""
    many = len(numbers)
    where = np.full(many, t), np.tile(q, (many, 1)), np.tile(v, (many, 1))
    rates = _engine.signal_forces(scene.model, *where, numbers)[1]
    return np.asarray(rates).reshape(many, -1)[:, : _states(scene)]


def _fastest_growth(
    scene: Scene, t: float, q: Array, v: Array, numbers: Array
) -> tuple[float, int] | None:
    """Return the largest Re s [1/s] of the states alone, and the state that carries most of it."""
    count = _states(scene)
    own = np.asarray(numbers, float).reshape(-1)
    if not count or not np.isfinite(own).all():
        return None
    step = STATE_DIFFERENCE * (1e-6 + np.abs(own[:count]))
    rows, at = np.tile(own, (2 * count, 1)), np.arange(count)
    rows[at, at] += step
    rows[count + at, at] -= step
    with np.errstate(all="ignore"):
        rates = _rates(scene, t, q, v, rows)
        slopes = ((rates[:count] - rates[count:]) / (2 * step[:, None])).T
        if not np.isfinite(slopes).all():
            return None
        values, vectors = np.linalg.eig(slopes)
    fastest = int(values.real.argmax())
    return float(values[fastest].real), int(np.abs(vectors[:, fastest]).argmax())


def _error(scene: Scene, t: float, numbers: Array, state: int) -> SimulationError:
    assert scene.signals is not None
    name = scene.signals.state_names[state]
    block = next((b for b in scene.spec.blocks if name.startswith(f"{b.name}.")), None)
    owner = f" of {block.kind} {block.name!r}" if block is not None else ""
    value = float(np.asarray(numbers).reshape(-1)[state])
    problem = (
        f"the state {name!r}{owner} grows without bound by itself: it is {value:.3g} at t = {t:.6g} s, and no step of"
        f" {scene.settings.integrator!r} follows it"
    )
    remedy = (
        "bound its rate, or reset it"
        if block is None
        else "bound the rate that its state_rate returns"
    )
    return SimulationError(str(scene.spec.path), f"{problem}; {remedy}")
