"""Stability of sampled control, from the scene linearised about its start.

    ż = A z + B n                    z = (x, y, s): δq = N x, δv = N y, states of elements; n: held numbers
    z(t + h) = Φ z + Γ n             [Φ Γ; 0 1] = exp([A B; 0 0] h)                    [Franklin, Powell, Workman 1998]
    n ← U_z z + U_n n                at the instants, by the blocks that are due

The product of these matrices over the time after which all instants repeat has no eigenvalue beyond 1 if the control is
stable. A, B and U are central differences, so a scene is not judged where these depend on the difference, as with
quantised sensors. Steps of the integrator are not considered here.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.algorithms import aba, crba
from pysim.errors import PysimError
from pysim.loops import allowed_motions, constrained_aba, project
from pysim.mechanism.signal_compiler import compile_signals, with_signals
from pysim.typing import Array
from pysim.worlds.accelerations import forces_of_actuators
from pysim.worlds.signal_runs import (
    SAME_INSTANT,
    SignalRun,
    begin_signals,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

    from pysim.worlds.loading import Scene

    Roots = NDArray[np.complexfloating[Any, Any]]

DIFFERENCE = 1e-6  # of coordinates [rad or m], rates, and numbers relative to 1 + their size
SMOOTH = 1e-3  # relative to the largest entry: by which matrices may depend on the difference
# from instant to instant of stable control: rigid motions have 1, up to rounding
LARGEST_STABLE_GROWTH = 1.001
# growth of control that is reported; without damping it grows slowly with any period
UNSTABLE = 1.02
MOST_NUMBERS = 300  # motions, states and held numbers of a scene that is judged
MOST_INSTANTS = 200  # until all repeat
LEAST_SCALE = 1 / 64  # of the periods that are tried


class SampledLoop:
    """A scene with sampled blocks, linearised about its start."""

    def __init__(self, scene: Scene) -> None:
        signals = scene.signals
        assert signals is not None
        run = begin_signals(scene, 0.0, calls=False)
        assert run is not None
        self._scene, self._signals, self._numbers = scene, signals, run.numbers
        self._motions = allowed_motions(scene.model, scene.state.q, scene.state.loop_q)
        states = signals.description.states
        skipped = -1 if signals.noise is None else signals.noise.place
        held = range(states, states + signals.description.held_numbers)
        self._states = list(range(len(signals.state_names)))
        self._held = [place for place in held if place != skipped]

    @property
    def size(self) -> int:
        """Number of motions, states and held numbers, each with two evaluations of the scene."""
        return 2 * int(self._motions.shape[1]) + len(self._states) + len(self._held)

    def growth(self) -> tuple[float, str] | None:
        """Return how much a motion grows at most from an instant to the next, and the joint that moves most in it.

        None if the scene cannot be judged.
        """
        instants = _instants(self._signals.periods, self._signals.begins)
        if instants is None or not self._held:
            return None
        flow = self._smooth(self._flow)
        updates = {}
        for due in {due for _, due in instants}:
            update = self._smooth(partial(self._update, due))
            if update is None:
                return None
            updates[due] = update
        if flow is None:
            return None
        n, m = len(flow), self.size
        whole = np.zeros((m, m))
        whole[:n] = flow
        product, last = np.eye(m), 0.0
        for time, due in instants:
            through, last = exponential(whole * (time - last)), time
            product = np.vstack([np.eye(n, m), updates[due]]) @ through @ product
        if not np.isfinite(product).all():
            return None
        values, vectors = np.linalg.eig(product)
        most = int(np.abs(values).argmax())
        grown = float(np.abs(values[most])) ** (1 / len(instants))
        return grown, self._carrier(vectors[:, most])

    def _smooth(self, matrix: Callable[[float], Array]) -> Array | None:
        """Return a matrix of differences, None if it is not finite or depends on their size."""
        with np.errstate(all="ignore"):
            first, second = matrix(1.0), matrix(2.0)
        if not (np.isfinite(first).all() and np.isfinite(second).all()):
            return None
        allowed = SMOOTH * np.abs(first).max(initial=0.0)
        return first if np.abs(first - second).max(initial=0.0) <= allowed else None

    def _around(self, scale: float) -> tuple[Array, Array, Array, Array, Array]:
        """Return q, v, loop_q and numbers of the states ahead and then behind, and the size of each difference."""
        model, state, N = self._scene.model, self._scene.state, self._motions
        count, size = N.shape[1], self.size
        step = np.full(size, scale * DIFFERENCE)
        places = [*self._states, *self._held]
        step[2 * count :] *= 1 + np.abs(self._numbers[places])
        both = np.vstack([np.diag(step), -np.diag(step)])
        numbers = np.tile(self._numbers, (2 * size, 1))
        numbers[:, places] += both[:, 2 * count :]
        q = model.integrate(np.tile(state.q, (2 * size, 1)), both[:, :count] @ N.T)
        v = state.v + both[:, count : 2 * count] @ N.T
        loop_q = np.tile(state.loop_q, (2 * size, 1))
        if model.rows:
            there = project(model, q, v, loop_q=loop_q)
            q, v, loop_q = there.q, there.v, there.loop_q
        return q, v, loop_q, numbers, step

    def _differences(self, rows: Array, step: Array) -> Array:
        ahead, behind = np.split(rows, 2)
        return np.asarray((ahead - behind).T / (2 * step))

    def _flow(self, scale: float) -> Array:
        """Return [A B], the slopes of ż."""
        scene, N = self._scene, self._motions
        model, count = scene.model, N.shape[1]
        q, v, loop_q, numbers, step = self._around(scale)
        times = np.zeros(len(q))
        tau = forces_of_actuators(scene, times, q, v, numbers)
        rates = np.asarray(_engine.signal_forces(model, times, q, v, numbers)[1])
        if not np.isfinite(tau).all():
            return np.full((self.size, self.size), np.nan)
        if model.rows:
            a = constrained_aba(model, q, v, tau, loop_q=loop_q, passive=True)
        else:
            a = aba(model, q, v, tau, passive=True)
        M = np.asarray(crba(model, scene.state.q))
        forces = N.T @ M @ self._differences(np.asarray(a), step)
        found = np.zeros((2 * count + len(self._states), self.size))
        found[:count, count : 2 * count] = np.eye(count)
        found[count : 2 * count] = np.linalg.solve(N.T @ M @ N, forces)
        found[2 * count :] = self._differences(rates.reshape(len(q), -1)[:, self._states], step)
        return found

    def _update(self, due: int, scale: float) -> Array:
        """Return [U_z U_n] of the blocks that are due."""
        q, v, loop_q, numbers, step = self._around(scale)
        run = SignalRun(self._scene, numbers, calls=False)
        run.update(min(self._signals.periods), due, q, v, loop_q)
        return self._differences(run.numbers[:, self._held], step)

    def _carrier(self, vector: Roots) -> str:
        """Return the joint of the coordinate with the largest energy |v_i|² M_ii."""
        model, count = self._scene.model, self._motions.shape[1]
        rates = self._motions @ vector[count : 2 * count]
        energy = np.abs(rates) ** 2 * np.diag(np.asarray(crba(model, self._scene.state.q)))
        at = int(energy.argmax())
        firsts = [k for k, first in enumerate(model.v_offsets) if 0 <= first <= at]
        return str(model.joint_names[max(firsts, key=lambda k: model.v_offsets[k])])


def _instants(periods: tuple[float, ...], first: int) -> list[tuple[float, int]] | None:
    """Return the instants [s] until all repeat, and the bits of the blocks that are due; None if there are too many."""
    base = min(periods)
    for count in range(1, MOST_INSTANTS + 1):
        ratios = count * base / np.array(periods)
        if (np.abs(ratios - np.round(ratios)) < 1e-6).all() and (np.round(ratios) >= 1).all():
            break
    else:
        return None
    end, near = count * base, SAME_INSTANT * base
    counts, found = np.ones(len(periods)), list[tuple[float, int]]()
    while (time := float((counts * periods).min())) <= end + near:
        is_due = counts * periods <= time + near
        due = sum(1 << (first + k) for k in np.flatnonzero(is_due).tolist())
        found.append((end if time >= end - near else time, due))
        counts += is_due
    return found if len(found) <= MOST_INSTANTS else None


def exponential(A: Array) -> Array:
    """Return e^A by its series, scaled and squared [Moler, Van Loan 2003, method 3]."""
    norm = float(np.abs(A).sum(axis=1).max(initial=0.0))
    squarings = max(0, int(np.ceil(np.log2(norm))) + 2) if norm > 0 and np.isfinite(norm) else 0
    part = A / 2.0**squarings
    term = total = np.eye(len(A))
    for k in range(1, 13):
        term = term @ part / k
        total = total + term
    for _ in range(squarings):
        total = total @ total
    return np.asarray(total)


def stable_share(scene: Scene) -> tuple[float, str] | None:
    """Return the largest share of its periods with which sampled control is stable, and the joint that moves.

    A motion that grows with short periods as well, as that of a body which falls over, is not of the sampling. None if
    the sampling lets none grow, or the scene cannot be judged.
    """
    if scene.signals is None or not scene.signals.periods or scene.signals.callbacks:
        return None
    loop = SampledLoop(scene)
    if loop.size > MOST_NUMBERS:
        return None
    growth = loop.growth()
    if growth is None or growth[0] < UNSTABLE:
        return None
    least = _growth(scene, LEAST_SCALE)
    continuous = max(least, 1.0) ** (1 / LEAST_SCALE) if least < UNSTABLE else np.inf
    if growth[0] < UNSTABLE * continuous:
        return None
    low, high = LEAST_SCALE, 1.0
    while high / low > 1.002:
        middle = (low * high) ** 0.5
        is_stable = _growth(scene, middle) <= LARGEST_STABLE_GROWTH * continuous**middle
        low, high = (middle, high) if is_stable else (low, middle)
    return low, growth[1]


def _growth(scene: Scene, scale: float) -> float:
    """Return how much a motion grows from an instant to the next with all periods multiplied by `scale`."""
    blocks = tuple(
        block if block.period is None else replace(block, period=scale * block.period)
        for block in scene.spec.blocks
    )
    try:
        signals = compile_signals(scene.model, replace(scene.spec, blocks=blocks))
    except PysimError:
        return np.inf
    other = replace(scene, model=with_signals(scene.model, signals), signals=signals)
    found = SampledLoop(other).growth()
    return np.inf if found is None else found[0]
