"""Detects fixed explicit steps beyond their stability that do not end in infinite values, and ends the run.

Forces that grow without bound are often bounded by the mechanism. The run then rests where a step reproduces its
velocity,

    v₁ = R(z) v₀ = ± v₀        q₁ − q₀ = h v₀ (R(z) − 1)/z = 0 for R = 1        z = h s [Hairer, Wanner 1996, IV.2]

so that q stands still while v is far from 0, or v changes its sign at every step. Such a step is recognised by

    |(q₁ − q₀)/h − (v₀ + v₁)/2| > ½ max(|v₀|, |v₁|)        in STEPS steps, after which |v| ≥ 0.99 |v₀|

and only tried where two outputs look like it. The energy ledger of a run shows the same: either the work of a force
beyond stability is no change of energy, so that the balance is off by more than all energy that the run has, or what
dissipates energy gives it. Without a ledger a kinetic energy that grows by far in the later half of a run is
recognised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.algorithms import crba
from pysim.diagnosis.failed_steps import divergence
from pysim.diagnosis.growing_states import growth_between
from pysim.diagnosis.modes import sliding_coordinates
from pysim.diagnosis.stability import GROWTH
from pysim.diagnosis.step_checks import SLIDES, beyond_stability
from pysim.errors import SimulationError
from pysim.integrators import find_integrator
from pysim.mechanism.model import State
from pysim.typing import Array
from pysim.worlds.argument_checks import quaternion_fault
from pysim.worlds.ledger import balances, energies

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pysim.worlds.loading import Scene
    from pysim.worlds.saved_parts import SavedParts
    from pysim.worlds.segment import Segment

STEPS_IN_A_ROW = 4  # in a row that do not follow their velocity
REMAINING_SHARE = 0.99  # of a velocity, which remains after these steps; a stable step reduces it
ENERGY_SHARE = 0.1  # share of the kinetic energy that a coordinate of such a step has at least
VELOCITY_CHANGE = 0.1  # relative change of a velocity from output to output, and of q against it
# [rad or m] between two outputs at a constant velocity, relative to 1 and |q|: less may be rounding
LEAST_MOTION = 1e-6
EARLY_FACTOR = 10.0  # times the energy of a run so far, by which its balance is off while the run may still gain energy
MOST_STATES = 8  # of a run, at which the cause of a balance that is off is looked for
MOST_ROWS = 512  # outputs kept of a run whose balance is not judged
ENERGY_GROWTH = 100.0  # times the energies of the first half of a run: beyond what motors do to a kinetic energy
SPEED_GROWTH = 3.0  # times the largest speed of the first half: what a kinetic energy beyond reason takes at least
# of energy and work: a smaller change of the balance may be an error of the scheme
BALANCE_TOLERANCE = 0.3


class StepGuard:
    """Guard of a run with fixed steps against steps beyond stability; schemes that are implicit or adapt pass it."""

    def __init__(
        self, scene: Scene, numbers: Array | None, *, energy: bool = True, start: float = 0.0
    ) -> None:
        """Guard the run of a scene from `start` [s], with its ledger if `energy` is to be judged.

        `numbers` (signal_numbers,) are those of the signals at the start.
        """
        self._scene = scene
        self._explicit = is_explicit(scene)
        signals = scene.signals
        self._judged = self._explicit and energy and signals is not None and bool(signals.work)
        self._judged &= not any(event.release for event in scene.spec.events)
        state = scene.state
        self._q, self._v, self._t = state.q, state.v, start
        self._loop_q = state.loop_q
        self._rows, self._apart, self._count = list[tuple[Array, Array]](), 1, 0  # some outputs
        self._numbers = None if numbers is None else numbers.copy()
        self._last, self._work_of_dissipators, self._seen = 0.0, 0.0, list[State]()
        self._kinetic, self._stored, self._exchanged = 0.0, np.zeros(0), np.zeros(0)
        if self._judged and numbers is not None:
            self._begin = self._balance(0.0, state.q, state.v, numbers)

    def saved(self) -> dict[str, Array]:
        """Return what `restore` returns to."""
        values = {"q": self._q, "v": self._v, "stored": self._stored, "exchanged": self._exchanged}
        values["loop_q"] = self._loop_q
        values["rows_q"], values["rows_v"] = self._stacked(self._rows)
        values["apart"], values["count"] = np.array([self._apart]), np.array(self._count)
        values["numbers"] = np.zeros(0) if self._numbers is None else self._numbers
        begin = self._begin if self._judged and self._numbers is not None else 0.0
        values["energies"] = np.array([self._t, self._last, self._kinetic, begin])
        for name in ("q", "v", "loop_q"):
            own = [getattr(state, name) for state in self._seen]
            values[f"seen_{name}"] = np.stack(own) if own else np.zeros((0, 0))
        return values

    def restore(self, saved: SavedParts) -> None:
        """Return to what `saved` returned.

        Raises:
            SimulationError: it is of another scene.
        """
        model = self._scene.model
        sizes = {"q": model.nq, "v": model.nv, "loop_q": len(self._scene.state.loop_q)}
        state = (saved.numbers(name, (size,), finite=True) for name, size in sizes.items())
        self._q, self._v, self._loop_q = state
        self._check_quaternions(saved, "q", self._q[None])
        for name in ("stored", "exchanged"):
            # none are used by a run that is not judged
            size = getattr(self, f"_{name}").size or None
            setattr(self, f"_{name}", saved.numbers(name, (size,)))
        rows_q = saved.numbers("rows_q", (None, model.nq), finite=True)
        rows_v = saved.numbers("rows_v", (len(rows_q), model.nv), finite=True)
        self._check_quaternions(saved, "rows_q", rows_q)
        self._rows = list(zip(rows_q, rows_v, strict=True))
        (self._apart,) = saved.counts("apart", (1,), least=1)
        self._count = saved.count("count")
        if self._numbers is not None:
            self._numbers = saved.numbers("numbers", self._numbers.shape)
        energies = saved.numbers("energies", (4,)).tolist()
        self._t, self._last, self._kinetic, self._begin = energies
        count = len(saved.numbers("seen_q", (None, None)))
        seen = [
            saved.numbers(f"seen_{name}", (count, size if count else 0), finite=True)
            for name, size in sizes.items()
        ]
        self._check_quaternions(saved, "seen_q", seen[0])
        self._seen = [State(*own) for own in zip(*seen, strict=True)]

    def _check_quaternions(self, saved: SavedParts, name: str, rows: Array) -> None:
        """Require that quaternions of q (n, nq) have unit length."""
        for row in rows:
            if (fault := quaternion_fault(self._scene.model, row)) is not None:
                raise saved.wrong(name, f"holds {fault}")

    def check(self, part: Segment) -> None:
        """Check the outputs of a segment.

        Raises:
            SimulationError: velocities are not followed, a state grows without bound, or the balance is off by far more
                than the energy so far.
        """
        if not len(part.t) or find_integrator(self._scene.settings.integrator).adaptive:
            return
        q, v = np.vstack([self._q, part.q]), np.vstack([self._v, part.v])
        t = np.concatenate([[self._t], part.t])
        if part.signals is not None:
            before = part.signals[:1] if self._numbers is None else self._numbers[None]
            numbers = np.vstack([before, part.signals])
            error = growth_between(self._scene, t, q, v, numbers)
            if error is not None:
                raise error
            self._numbers = part.signals[-1].copy()
        self._q, self._v, self._t = q[-1], v[-1], float(t[-1])
        if not self._explicit:
            return
        for k in suspicious(self._scene, t, q, v).tolist():
            own = None if part.signals is None else part.signals[k]
            state = State(part.q[k], part.v[k], part.loop_q[k])
            error = frozen_step(self._scene, state, float(part.t[k]), own)
            if error is not None:
                raise error
        if not self._judged:
            apart = -max(1, len(part.t) // MOST_STATES)  # from the last one
            for row in zip(part.q[::apart][::-1], part.v[::apart][::-1], strict=True):
                self._keep(*row)
            self._loop_q = part.loop_q[-1]
        elif part.signals is not None:
            self._see(part)
            self._last = self._balance(self._t, self._q, self._v, part.signals[-1]) - self._begin
            self._judge(EARLY_FACTOR)

    def _keep(self, q: Array, v: Array) -> None:
        """Keep one output in `_apart`, and every second of those kept when they are too many."""
        if self._count % self._apart == 0:
            self._rows.append((q.copy(), v.copy()))
        self._count += 1
        if len(self._rows) > MOST_ROWS:
            self._rows, self._apart = self._rows[::2], 2 * self._apart

    def _stacked(self, rows: list[tuple[Array, Array]]) -> tuple[Array, Array]:
        """Return q (rows, nq) and v (rows, nv) of outputs."""
        model = self._scene.model
        q, v = np.zeros((len(rows), model.nq)), np.zeros((len(rows), model.nv))
        for k, row in enumerate(rows):
            q[k], v[k] = row
        return q, v

    def _see(self, part: Segment) -> None:
        """Keep some states of the run, the last ones more densely."""
        rows = np.unique(np.linspace(0, len(part.t) - 1, min(len(part.t), MOST_STATES)).astype(int))
        own = [State(part.q[k], part.v[k], part.loop_q[k]) for k in rows.tolist()]
        before = self._seen[:: 1 + len(self._seen) // MOST_STATES]
        self._seen = [*before, *own]

    def finish(self) -> None:
        """Check the balance of the whole run, or the growth of its kinetic energy if it has no ledger.

        Raises:
            SimulationError: the energy at the end is infinite, the balance is off by more than the energy of the run,
                or the kinetic energy grows beyond reason.
        """
        with np.errstate(all="ignore"):
            kinetic, stored = energies(self._scene.model, self._q[None], self._v[None])
        if not np.isfinite(kinetic + stored).all():
            end = State(self._q, self._v, self._loop_q)
            raise divergence(self._scene, self._t, end, self._numbers)
        if self._judged:
            self._judge(1.0)
        elif self._explicit:
            kept = self._stacked([*self._rows, (self._q, self._v)])
            problem = grown(self._scene, *kept, self._loop_q)
            if problem is not None:
                where = str(self._scene.spec.path)
                raise SimulationError(where, f"at t = {self._t:.6g} s {problem}")

    def _balance(self, t: float, q: Array, v: Array, numbers: Array) -> float:
        """Return the balance of a state [J], and keep the extremes of energies and work."""
        found = balances(self._scene, np.array([t]), q[None], v[None], numbers[None])
        self._kinetic = max(self._kinetic, float(found.kinetic[0]))
        self._stored = np.append(self._stored, found.stored)
        self._stored = np.array([self._stored.min(), self._stored.max()])
        work = np.abs(found.work[:, 0])
        self._exchanged = np.maximum(self._exchanged, work) if self._exchanged.size else work
        assert self._scene.signals is not None
        passive = np.array([not term.injects for term in self._scene.signals.work], bool)
        self._work_of_dissipators = float(np.maximum(found.work[passive, 0], 0.0).sum())
        return float(found.balance[0])

    def _judge(self, factor: float) -> None:
        scale = self._kinetic + float(np.ptp(self._stored))
        off = abs(self._last)
        # work that is found in the energy
        gives = self._work_of_dissipators - off > BALANCE_TOLERANCE * scale
        if not gives and off <= max(
            factor * scale, BALANCE_TOLERANCE * (scale + float(self._exchanged.sum()))
        ):
            return  # infinite energies, whose balance is NaN, are judged
        cause = beyond_stability(self._scene, *self._seen)
        if cause is None:
            return  # within stability it is an error of a transient, which may be warned of after the run
        what = f"the energy balance is off by {off:.3g} J, more than the {scale:.3g} J of energy in the run"
        if gives:
            what = f"what dissipates energy has given {self._work_of_dissipators:.3g} J of the {scale:.3g} J in the run"
        problem = f"at t = {self._t:.6g} s {what}: {cause}"
        raise SimulationError(str(self._scene.spec.path), problem)


def is_explicit(scene: Scene) -> bool:
    """Return whether a scene takes fixed steps of an explicit scheme of the engine."""
    name = scene.settings.integrator
    return (
        name in GROWTH and not find_integrator(name).adaptive and not scene.model.callback_numbers
    )


def suspicious(scene: Scene, t: Array, q: Array, v: Array) -> NDArray[np.intp]:
    """Return which outputs but the first have the velocity of the one before, which q has not followed.

    The outputs are t (n,) [s], q (n, nq) and v (n, nv); their numbers begin with 0 at the second.
    """
    return np.flatnonzero(stands_still(scene, t, q[None], v[None])[0].any(axis=1))


def stands_still(scene: Scene, t: Array, q: Array, v: Array) -> NDArray[np.bool_]:
    """Return which coordinates (worlds, n − 1, nv) have the velocity of the output before, which q has not followed.

    The outputs are t (n,) [s], q (worlds, n, nq) and v (worlds, n, nv).
    """
    v0, v1 = v[:, :-1], v[:, 1:]
    lengths = np.diff(t)[:, None]
    with np.errstate(all="ignore"):  # of runs that grow without bound
        same = np.abs(v1 - v0) <= VELOCITY_CHANGE * np.abs(v0)
        if not same.any():
            return same
        q0, q1 = (x.reshape(v0.shape[0] * v0.shape[1], -1) for x in (q[:, :-1], q[:, 1:]))
        moved = np.abs(scene.model.difference(q0, q1)).reshape(v0.shape)
        reach = lengths * np.abs(v0)
        large = reach > LEAST_MOTION * (1 + np.abs(q[:, :-1]).max(axis=2, initial=0.0)[..., None])
        return np.asarray(same & large & (moved <= VELOCITY_CHANGE * reach))


def grown(scene: Scene, q: Array, v: Array, loop_q: Array) -> str | None:
    """Describe a kinetic energy that grows beyond reason at outputs q (n, nq), v (n, nv); None else."""
    speed = np.abs(v).max(axis=1, initial=0.0)
    half = (len(speed) + 1) // 2
    if not len(speed) or not speed[-1] > SPEED_GROWTH * speed[:half].max(initial=0.0):
        return None
    with np.errstate(all="ignore"):
        return unstable_growth(scene, *energies(scene.model, q, v), State(q[-1], v[-1], loop_q))


def unstable_growth(scene: Scene, kinetic: Array, stored: Array, end: State) -> str | None:
    """Describe a kinetic energy that grows far beyond the energies before in the later half of a run; None else.

    Args:
        scene: the scene.
        kinetic: energies of n states [J].
        stored: the same.
        end: the last of these states.
    """
    if len(kinetic) < 3 or not is_explicit(scene):
        return None
    before = kinetic[: (len(kinetic) + 1) // 2].max() + np.ptp(stored)
    if not kinetic[-1] > ENERGY_GROWTH * before:
        return None
    cause = beyond_stability(scene, end)
    if cause is None:
        return None
    return f"the kinetic energy has grown from {before:.3g} to {kinetic[-1]:.3g} J: {cause}"


def frozen_step(
    scene: Scene, state: State, t: float, numbers: Array | None
) -> SimulationError | None:
    """Return the error of a state whose next steps do not follow their velocity; None if they do."""
    model, h = scene.model, scene.settings.step
    world = _engine.Worlds(
        model, scene.actuation, scene.smooth_contacts, 1, scene.settings.integrator, h,
        **scene.settings.parameters,
    )  # fmt: skip
    start = {"t": t, "q": state.q, "v": state.v, "loop_q": state.loop_q}
    for name, own in (start if numbers is None else {**start, "signals": numbers}).items():
        world.parts[name][0] = own  # sampled blocks are held, for it has none
    world.begin_clock(np.zeros(1, np.int32))
    world.see()
    q, v = state.q, state.v
    frozen = np.ones(model.nv, bool)
    for _ in range(STEPS_IN_A_ROW):
        if world.step(1):
            return None  # the run itself reports it
        q1, v1 = world.parts["q"][0].copy(), world.parts["v"][0].copy()
        mean = np.asarray(model.difference(q, q1)) / h
        off = np.abs(mean - (v + v1) / 2)
        frozen &= off > 0.5 * np.maximum(np.abs(v), np.abs(v1))
        if not frozen.any():
            return None
        q, v = q1, v1
    slides, _, width = sliding_coordinates(model)
    frozen &= np.abs(v) >= REMAINING_SHARE * np.abs(state.v)
    # dry friction chatters, which is warned of
    frozen[slides] &= np.abs(v[slides]) > SLIDES * width
    energy = np.diag(np.asarray(crba(model, q))) * v**2
    if energy[frozen].max(initial=0.0) < ENERGY_SHARE * energy.sum():
        return None
    worst = int(np.where(frozen, energy, -1.0).argmax())
    remedy = beyond_stability(scene, state) or f"reduce simulation.step, now {h:g} [s]"
    problem = (
        f"at t = {t:.6g} s {model.velocity_names[worst]!r} does not follow its velocity of {state.v[worst]:.3g}"
        f" {model.velocity_units[worst]}, because steps of {h:g} s are unstable: {remedy}"
    )
    return SimulationError(str(scene.spec.path), problem)


def frozen_worlds(
    scene_of: Callable[[int], Scene],
    times: tuple[float, float],
    before: State,
    after: State,
    numbers: Array | None,
    alive: NDArray[np.bool_],
) -> dict[int, SimulationError]:
    """Return the errors of the worlds of a rollout whose steps do not follow their velocity at an output.

    Args:
        scene_of: returns the scene of a world.
        times: of the output before and of this one [s].
        before: states (worlds, nq), (worlds, nv) at the output before.
        after: the same at this output.
        numbers: of the signals (worlds, signal_numbers).
        alive: worlds that have not ended (worlds,).
    """
    errors: dict[int, SimulationError] = {}
    v0, v1 = before.v, after.v
    with np.errstate(all="ignore"):
        same = (np.abs(v1 - v0) <= VELOCITY_CHANGE * np.abs(v0)) & (
            np.abs(v0) * np.ptp(times) > LEAST_MOTION
        )
        for k in np.flatnonzero(same.any(axis=1) & alive).tolist():
            pair = (
                np.array(times),
                *(np.stack([a[k], b[k]]) for a, b in ((before.q, after.q), (v0, v1))),
            )
            scene = scene_of(k)
            if not suspicious(scene, *pair).size:
                continue
            own = State(after.q[k], after.v[k], after.loop_q[k])
            error = frozen_step(scene, own, times[1], None if numbers is None else numbers[k])
            if error is not None:
                errors[k] = error
    return errors
