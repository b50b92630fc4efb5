"""Linearisation of a scene about a state: mechanism, elements, loops and contacts together.

    ẋ = A x + B u        x = (q ⊖ q₀ and v of independent coordinates, states of elements)
    x⁺ = A x + B u       over a period, with the inputs held: the derivative of the scheme's own steps

With loops δq = N δq_i and δv = N δv_i, N from the constraints. Accelerations have analytical derivatives by q, v and τ;
the forces of elements that signals drive, the rates of their states and the readings of signals are differentiated by
central differences of fourth order, and so is everything where smooth contacts act, or loops move.

A sampled system has the held numbers of sampled blocks among its states. Its matrices are the derivatives of its steps,
as `step_derivatives` makes them, along motions that keep loops closed, and those of the side of every switch that the
steps take; where steps have none, they are differences of steps of perturbed worlds.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.algorithms import aba, aba_derivatives
from pysim.analysis.linear_system import LinearSystem, bracket, followed_velocities
from pysim.analysis.linearized_scene import LinearizedScene, with_state
from pysim.analysis.refusals import refusal
from pysim.analysis.state_differences import differences
from pysim.analysis.step_derivatives import derivatives_by_numbers
from pysim.diagnosis.element_faults import element_fault, slope_fault
from pysim.diagnosis.failed_steps import explain
from pysim.errors import SimulationError
from pysim.integrators import find_integrator
from pysim.loops import constrained_aba, constrained_aba_derivatives
from pysim.mechanism.model import State
from pysim.simulation.world_scenes import with_controls
from pysim.simulation.worlds import Worlds
from pysim.spatial.arrays import checked_number
from pysim.typing import Array
from pysim.worlds.accelerations import accelerations_and_forces, forces_of_actuators
from pysim.worlds.argument_checks import checked_names
from pysim.worlds.contact_report import start_report
from pysim.worlds.loading import Scene
from pysim.worlds.signal_runs import signals_of_states
from pysim.worlds.world_records import WorldRecords

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from pysim.analysis.state_differences import Functions

__all__ = ["linearize"]

REST_SPEED = 1e-9  # [m/s, rad/s] of a mechanism at rest
MOST_PERIODS = 1000  # of the fastest block until all blocks repeat


def linearize(
    scene: Scene,
    inputs: Sequence[str] | Mapping[str, ArrayLike] | None = None,
    outputs: Sequence[str] | None = None,
    state: State | tuple[ArrayLike, ...] | None = None,
    *,
    period: float | None = None,
    coordinates: Sequence[str] | None = None,
) -> LinearSystem:
    """Return the matrices A, B, C, D of a scene about a state, at t = 0, with all elements acting.

    The result unpacks as `A, B, C, D` and names its states, inputs and outputs. It is continuous unless blocks are
    sampled, the scheme is "convex", or a period is given. Then it maps one sample to the next, by the scene's scheme
    and step. There is a warning if the state accelerates: it is no equilibrium.

    Args:
        scene: the scene.
        inputs: names of signals of type "input", or "ctrl" for the actuators of a model file; all by default. A
            mapping gives their values at the state as well, which are those of the scene otherwise.
        outputs: names of signals, and q.NAME or v.NAME of coordinates; the states by default.
        state: (q, v), (q, v, states of elements), or a `pysim.State`; the scene's start by default. Loops are closed.
        period: [s] of a sampled system. By default that after which all sampled blocks repeat, or one step of "convex".
        coordinates: names of coordinates that are states where loops leave a choice, such as that of a motor; by
            default those that move most.

    Raises:
        TypeError: the argument is not a scene.
        SimulationError: an argument is of a wrong kind, no such input, output or coordinate, a wheel rolls on a plane,
            the scheme of a sampled system adapts its steps, or numbers are not finite.

    >>> hanging = pysim.linearize(pysim.load_scene("scenes/pendulum.toml"), state=([0.0], [0.0]))
    >>> hanging.states
    ('q.hinge', 'v.hinge')
    >>> hanging.poles.imag.round(3).tolist()  # [rad/s]
    [3.796, -3.796]
    """
    _check_arguments(scene, inputs, outputs, state)
    stepped, elements = with_controls(scene)[0], None
    if period is not None:
        period = checked_number(period, "period", "s")
    if isinstance(state, tuple):
        if len(state) not in (2, 3):
            raise SimulationError("state", f"must be (q, v) or (q, v, s), got {len(state)} arrays")
        if len(state) == 3:
            elements = np.array(state[2], float)
        state = State(np.array(state[0], float), np.array(state[1], float))
    chosen = with_state(stepped, state)
    if chosen.model.spec.wheels:
        problem = "has fewer velocities than positions and no linear system of this form; leave the wheel out"
        raise SimulationError(f"loop {chosen.model.spec.wheels[0]!r}", f"rolls: it {problem}")
    period = _sampling(chosen, period)
    linearization = _Linearization(chosen, inputs, outputs, period, coordinates)
    if elements is not None:
        linearization.set_elements(elements)
    system = linearization.system()
    system.warn_off_equilibrium("linearize")
    return system


def _check_arguments(scene: object, inputs: object, outputs: object, state: object) -> None:
    """Reject arguments of a wrong kind; a text for a list of names is rejected where names are read."""
    if not isinstance(scene, Scene):
        problem = f"must be a pysim.Scene, got {type(scene).__name__}"
        raise TypeError(f"scene {problem}; give what pysim.load_scene returns")
    for name, given in (("inputs", inputs), ("outputs", outputs)):
        if given is not None and not isinstance(given, str):
            checked_names(given, name)
    if not isinstance(state, (State, tuple, NoneType)):
        problem = f"must be (q, v), (q, v, s) or a pysim.State, got {type(state).__name__}"
        raise SimulationError("state", f"{problem}; leave it out for the scene's start")


def _sampling(scene: Scene, period: float | None) -> float | None:
    """Return the period [s] of a sampled system, None of a continuous one."""
    scheme = find_integrator(scene.settings.integrator)
    blocks = () if scene.signals is None else scene.signals.periods
    if period is None and blocks:
        period = _common_period(blocks)
    elif period is None and scheme.contacts and scene.contacts is not None:
        period = scene.settings.step
    if period is not None and scheme.adaptive:
        problem = (
            f"{scheme.name!r} adapts its steps, so that differences of its runs are no derivatives"
        )
        raise SimulationError("simulation.integrator", f"{problem}; take one with fixed steps")
    if period is not None and not (np.isfinite(period) and period > 0):
        raise SimulationError("period", f"must be positive [s], got {period}")
    return period


def _common_period(periods: tuple[float, ...]) -> float:
    """Return the period [s] after which all sampled blocks repeat."""
    base = min(periods)
    for count in range(1, MOST_PERIODS + 1):
        ratios = count * base / np.array(periods)
        if (np.abs(ratios - np.round(ratios)) < 1e-6).all():
            return count * base
    raise SimulationError(
        "period", f"sampled blocks do not repeat within {MOST_PERIODS * base:g} s; give one"
    )


class _Linearization(LinearizedScene):
    """A scene at a state, and the functions of its states and inputs that are differentiated."""

    def system(self) -> LinearSystem:
        """Return the linear system."""
        size, count = len(self.states), len(self.input_names)
        with np.errstate(all="ignore"):
            if self.period is not None and (steps := self._steps()):
                rate, derivatives = self._step_derivatives(*steps)
            elif self.period is not None:
                (rate,), (derivatives,) = differences(self, self._next)
            elif self._is_analytical():
                rate, derivatives = self._analytical()
            else:
                (rate,), (derivatives,) = differences(self, self._rates)
            if self.readings:
                (_,), (read,) = differences(self, self._read)
            else:
                read = np.zeros((0, size + count))
        if not (np.isfinite(derivatives).all() and np.isfinite(read).all()):
            raise self._not_finite()
        outputs = np.zeros((len(self.output_names), size + count))
        of_signals = sorted(set(range(len(self.output_names))) - set(self.rows))
        outputs[of_signals] = read
        for at, row in self.rows.items():
            outputs[at, :size] = row
        if self.period is None:
            derivatives[: self.N.shape[1]] = self._position_rates(size + count)
        used = self._used_states(derivatives, outputs)
        return LinearSystem(
            derivatives[np.ix_(used, used)],
            derivatives[used, size:],
            outputs[:, used],
            outputs[:, size:],
            tuple(self.states[k] for k in used),
            tuple(self.input_names),
            tuple(self.output_names),
            self.period,
            rate[used],
            self.model,
            self.scene.state,
            self.N,
        )

    def _used_states(self, derivatives: Array, outputs: Array) -> list[int]:
        """Return the states without held numbers that nothing depends on."""
        n = 2 * self.N.shape[1]
        used = list(range(len(self.states)))
        if self.period is None:
            return used
        requested = bool(self.rows) and len(self.rows) == len(self.states)
        while True:
            influence = np.abs(derivatives[np.ix_(used, used)]).max(axis=0, initial=0.0)
            if not requested:
                influence += np.abs(outputs[:, used]).max(axis=0, initial=0.0)
            left = [k for k, x in zip(used, influence, strict=True) if x > 0 or k < n]
            if left == used:
                return used
            used = left

    def _position_rates(self, width: int) -> Array:
        """Return the rows of d(q ⊖ q₀)/dt = δv − ad(v) δq: rotating frames turn with v."""
        n = self.N.shape[1]
        rows = np.zeros((n, width))
        turned = -bracket(self.model, self.scene.state.v) @ self.N
        rows[:, :n] = turned[self.independent]
        rows[:, n : 2 * n] = np.eye(n)
        return rows

    def _is_analytical(self) -> bool:
        """Whether the accelerations have analytical derivatives along the motions."""
        scene = self.scene
        if scene.contacts is not None and scene.contacts.pairs:
            return False
        if any("in Python" in motion for motion in self.model.joint_motions):
            return False
        return not self.model.rows or bool(np.abs(scene.state.v).max(initial=0.0) < REST_SPEED)

    def _analytical(self) -> tuple[Array, Array]:
        """Return ẋ and [A B], with the derivatives of the accelerations by q, v and τ."""
        model, state, N = self.model, self.scene.state, self.N
        (tau, rates), (by_x, rates_by_x) = differences(self, self._forces)
        if not np.isfinite(tau).all():
            raise self._not_finite()
        arguments = model, state.q, state.v, tau
        if model.rows:
            a = constrained_aba(*arguments, loop_q=state.loop_q, passive=True)
            slopes = constrained_aba_derivatives(*arguments, loop_q=state.loop_q, passive=True)
        else:
            a = np.asarray(aba(*arguments, passive=True))
            slopes = aba_derivatives(*arguments, passive=True)
        by_q, by_v, by_tau = (np.asarray(x) for x in slopes)
        n = N.shape[1]
        forces = by_tau @ by_x
        forces[:, :n] += by_q @ N
        forces[:, n : 2 * n] += by_v @ N
        size = len(self.states)
        derivatives = np.zeros((size, by_x.shape[1]))
        derivatives[n : 2 * n] = forces[self.independent]
        derivatives[2 * n :] = rates_by_x
        rate = np.concatenate([state.v[self.independent], a[self.independent], rates])
        return rate, derivatives

    def _not_finite(self) -> SimulationError:
        """Return the error of values or slopes that are NaN or infinite."""
        scene, numbers = self.scene, None if self.scene.signals is None else self.numbers
        fault = slope_fault(scene, scene.state)
        fault = fault or element_fault(scene, scene.state, numbers, 0.0, 0.0)
        problem = "numbers beside the state are NaN or infinite; choose another state"
        return SimulationError("linearize", fault or problem)

    def _forces(self, q: Array, v: Array, _loop_q: Array, numbers: Array) -> Functions:
        """Return the forces of actuators and the rates of the states of elements."""
        times = np.zeros(len(q))
        tau = forces_of_actuators(self.scene, times, q, v, numbers)
        tau = np.broadcast_to(tau, (len(q), self.model.nv))
        return tau, self._element_rates(times, q, v, numbers)

    def _element_rates(self, times: Array, q: Array, v: Array, numbers: Array) -> Array:
        count = len(self.element_places)
        if self.scene.signals is None or not count:
            return np.zeros((len(q), 0))
        rates = np.asarray(_engine.signal_forces(self.model, times, q, v, numbers)[1])
        return rates.reshape(len(q), -1)[:, :count]

    def _rates(self, q: Array, v: Array, loop_q: Array, numbers: Array) -> Functions:
        """Return ẋ, with the contacts of smooth schemes."""
        own = self.independent
        tau, rates = self._forces(q, v, loop_q, numbers)
        report = start_report(self.scene, q, v)
        a = accelerations_and_forces(self.scene, 0.0, np.array(tau), q, v, loop_q, report)[0]
        return (np.hstack([v[:, own], np.asarray(a)[:, own], rates]),)

    def _read(self, q: Array, v: Array, loop_q: Array, numbers: Array) -> Functions:
        """Return the readings of the outputs."""
        times = np.zeros(len(q))
        if (
            find_integrator(self.scene.settings.integrator).contacts
            and self.scene.contacts is not None
        ):
            self._refuse_accelerations(times[:1], q[:1], v[:1], numbers[:1])
        found = signals_of_states(self.scene, times, q, v, numbers, loop_q)
        return (found[:, self.readings],)

    def _refuse_accelerations(self, t: Array, q: Array, v: Array, numbers: Array) -> None:
        """Reject outputs that depend on accelerations or wrenches, which a convex step has only as means over it."""
        nv, wrenches = self.model.nv, np.zeros((1, self.model.nbodies, 6))
        read = [
            _engine.read_signals(self.model, t, q, v, np.full((1, nv), x), numbers, wrenches + x)
            for x in (0.0, 1.0)
        ]
        differs = (np.asarray(read[0]) != np.asarray(read[1]))[0]
        for own in self.scene.signals.recorded if self.scene.signals is not None else ():
            differs[own.first : own.first + own.size] |= own.is_touching
        differs = differs[self.readings]
        if differs.any():
            names = [x for k, x in enumerate(self.output_names) if k not in self.rows]
            name = names[int(differs.argmax())]
            problem = "reads accelerations or forces of contacts, which convex steps have only over a step"
            raise SimulationError(
                f"outputs: {name!r}", f"{problem}; choose positions and velocities"
            )

    def _steps(self) -> tuple[Worlds, int] | None:
        """Return a world at the state, and how many steps a period has, if these have derivatives."""
        assert self.period is not None
        step = self.scene.settings.step
        steps = round(self.period / step)
        solves_contacts = find_integrator(self.scene.settings.integrator).contacts
        if not solves_contacts or abs(steps * step - self.period) > 1e-9 * self.period:
            return None
        worlds = Worlds(self.scene, 1)
        return None if refusal(worlds) else (worlds, steps)

    def _step_derivatives(self, worlds: Worlds, steps: int) -> tuple[Array, Array]:
        """Return x⁺ − x and [A B] of the scheme's steps."""
        state, model, places = self.scene.state, self.model, self.element_places
        worlds.q[:], worlds.v[:] = state.q, state.v
        records = worlds._records  # noqa: SLF001, the engine's records
        if self.scene.signals is not None:
            records.signals[:] = self.numbers
        columns = [*places, *self.input_places]
        derivatives = derivatives_by_numbers(worlds, steps, places, columns)
        worlds.step(steps=steps)
        independent = self.independent
        moved = np.asarray(model.difference(state.q, worlds.q[0]))[independent]
        held = records.signals[0, places] - self.numbers[places]
        changed = np.concatenate([moved, worlds.v[0, independent] - state.v[independent], held])
        return changed, self._of_independent(derivatives)

    def _of_independent(self, of_all: Array) -> Array:
        """Return derivatives of independent coordinates, from those (2 nv + …, 2 nv + …) of all.

        δq = N δq_i        δv = N δv_i + E δq_i
        """
        N, nv, independent = self.N, self.model.nv, self.independent
        if not self.model.rows:
            return of_all
        by_q, by_v, by_rest = np.split(of_all, [nv, 2 * nv], axis=1)
        E = followed_velocities(self.model, self.scene.state, N, independent)
        of_rows = np.hstack([by_q @ N + by_v @ E, by_v @ N, by_rest])
        return of_rows[[*independent, *(nv + independent), *range(2 * nv, len(of_all))]]

    def _next(self, q: Array, v: Array, loop_q: Array, numbers: Array) -> Functions:
        """Return x after a period, relative to where the state itself leads, by the scheme's own steps."""
        scene, model, independent = self.scene, self.model, self.independent
        assert self.period is not None
        records = WorldRecords(scene, len(q), np.zeros(len(q), np.intp))
        signals = None if scene.signals is None else numbers
        records.begin(None, 0.0, q, v, loop_q, 1, signals=signals)
        records.advance(np.array([self.period]), 1)
        if records.status.any():
            k = int(np.flatnonzero(records.status)[0])
            why = explain(records.failure(k))
            raise SimulationError("linearize", f"a world beside the state is lost: {why}")
        base = np.tile(records.q[0], (len(q), 1))
        positions = np.asarray(model.difference(base, records.q))[:, independent]
        places = self.element_places
        held = records.signals[:, places] if places else np.zeros((len(q), 0))
        found = np.hstack([positions, records.v[:, independent], held])
        moved = np.asarray(model.difference(scene.state.q, records.q[0]))[independent]
        begin = np.concatenate(
            [np.zeros(len(independent)), scene.state.v[independent], self.numbers[places]]
        )
        found -= begin  # so that the row of the state itself is x⁺ − x
        found[:, : len(independent)] += moved
        return (found,)
