"""Linearisation of a scene about a state: mechanism, elements, loops and contacts together.

    ẋ = A x + B u        x = (q ⊖ q₀ and v of independent coordinates, states of elements)
    x⁺ = A x + B u       over a period, with the inputs held: the derivative of the scheme's own steps

With loops δq = N δq_i and δv = N δv_i, N from the constraints. Accelerations have analytical derivatives by q, v and τ;
the forces of elements that signals drive, the rates of their states and the readings of signals are differentiated by
central differences of fourth order, and so is everything where smooth contacts act, or loops move.

A sampled system has the held numbers of sampled blocks among its states. Its matrices are the derivatives of its steps,
as `step_derivatives` makes them, along motions that keep loops closed, and those of the side of every switch that the
steps take; where steps have none, they are differences of steps of perturbed worlds. The file is long because all of
them share one list of states, inputs and outputs.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from types import NoneType
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.algorithms import aba, aba_derivatives
from pysim.analysis.linear_system import (
    LinearSystem,
    bracket,
    followed_velocities,
    independent_motions,
)
from pysim.analysis.refusals import refusal
from pysim.analysis.step_derivatives import derivatives_by_numbers
from pysim.diagnosis.element_faults import slope_fault
from pysim.diagnosis.failed_steps import explain
from pysim.errors import PysimWarning, SimulationError, UnknownSimulationNameError, did_you_mean
from pysim.integrators import find_integrator
from pysim.loops import constrained_aba, constrained_aba_derivatives, project
from pysim.mechanism.model import State
from pysim.mechanism.motion_compiler import with_uniform_motions
from pysim.simulation.world_scenes import with_controls
from pysim.simulation.worlds import Worlds
from pysim.spatial.arrays import checked_number
from pysim.typing import Array
from pysim.worlds.accelerations import accelerations_and_forces, forces_of_actuators
from pysim.worlds.argument_checks import checked_names
from pysim.worlds.contact_report import start_report
from pysim.worlds.loading import Scene
from pysim.worlds.signal_runs import begin_signals, signals_of_states
from pysim.worlds.world_records import WorldRecords

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from pysim.mechanism.model import Model

    Functions = tuple[Array, ...]  # (points, outputs) of each function

__all__ = ["linearize"]

WIDE, NARROW = 1e-3, 1e-6  # [rad, m, rad/s, m/s], and of numbers relative to 1 + their size
AGREE = 1e-6  # of a slope and the largest in its row: by which both may differ
KINK = 0.01  # of the largest slope: difference of one-sided slopes that is reported
STILL = 1e-9  # [m/s, rad/s] of a mechanism at rest
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
    stepped, elements = (
        with_controls(scene)[0],
        None,
    )
    if period is not None:
        period = checked_number(period, "period", "s")
    if isinstance(state, tuple):
        if len(state) not in (2, 3):
            raise SimulationError("state", f"must be (q, v) or (q, v, s), got {len(state)} arrays")
        if len(state) == 3:
            elements = np.array(state[2], float)
        state = State(np.array(state[0], float), np.array(state[1], float))
    chosen = _at(stepped, state)
    if chosen.model.spec.wheels:
        problem = "has fewer velocities than positions and no linear system of this form; leave the wheel out"
        raise SimulationError(f"loop {chosen.model.spec.wheels[0]!r}", f"rolls: it {problem}")
    scheme = find_integrator(scene.settings.integrator)
    blocks = () if chosen.signals is None else chosen.signals.periods
    if period is None and blocks:
        period = _common_period(blocks)
    elif period is None and scheme.contacts and chosen.contacts is not None:
        period = scene.settings.step
    if period is not None and scheme.adaptive:
        problem = (
            f"{scheme.name!r} adapts its steps, so that differences of its runs are no derivatives"
        )
        raise SimulationError("simulation.integrator", f"{problem}; take one with fixed steps")
    if period is not None and not (np.isfinite(period) and period > 0):
        raise SimulationError("period", f"must be positive [s], got {period}")
    found = _Linearization(chosen, inputs, outputs, period, coordinates)
    if elements is not None:
        found.set_elements(elements)
    system = found.system()
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


def _at(scene: Scene, state: State | None) -> Scene:
    """Return the scene with a start of the given state."""
    if state is None:
        return scene
    model, own = scene.model, scene.state
    loop_q = state.loop_q if len(state.loop_q) else own.loop_q
    arrays = []
    for name, array, size in (("q", state.q, model.nq), ("v", state.v, model.nv)):
        if array.shape != (size,) or not np.isfinite(array).all():
            problem = f"must be {size} finite numbers, got an array of shape {array.shape}"
            raise SimulationError(f"state: {name}", problem)
        arrays.append(array)
    q, v = arrays
    model = with_uniform_motions(model, State(q, v, np.array(loop_q)))
    if model.rows:
        there = project(model, q, v, loop_q=loop_q)
        if not there.residual <= 1e-6:
            raise SimulationError(
                "state", "loops do not close near it; assemble it with pysim.loops"
            )
        q, v, loop_q = there.q, there.v, there.loop_q
    return replace(scene, model=model, state=State(q, v, np.array(loop_q)))


def _places_of(model: Model, coordinates: Sequence[str] | None) -> list[int]:
    """Return the numbers of the velocities of coordinates."""
    names = () if coordinates is None else dict.fromkeys(checked_names(coordinates, "coordinates"))
    known = list(model.velocity_names)
    for name in names:
        if name not in known:
            problem = f"the mechanism has no such coordinate{did_you_mean(name, known)}"
            raise UnknownSimulationNameError(f"coordinates: {name!r}", problem)
    return [known.index(name) for name in names]


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


class _Linearization:
    """A scene at a state, and the functions of its states and inputs that are differentiated."""

    def __init__(
        self,
        scene: Scene,
        inputs: Sequence[str] | Mapping[str, ArrayLike] | None,
        outputs: Sequence[str] | None,
        period: float | None,
        coordinates: Sequence[str] | None = None,
    ) -> None:
        self.scene, self.model, self.period = scene, scene.model, period
        model, state, signals = scene.model, scene.state, scene.signals
        given = inputs if isinstance(inputs, Mapping) else {}
        self.input_names, self.input_places = self._inputs(inputs)
        run = begin_signals(scene, 0.0, inputs=self._input_values(given), calls=False)
        self.numbers = np.zeros(0) if run is None else run.numbers
        if signals is not None and signals.callbacks:
            name = signals.callbacks[0].name
            problem = (
                "runs in Python and cannot be differentiated; write it as a traced @controller"
            )
            raise SimulationError(f"controller {name!r}", problem)
        self.N, self.independent = independent_motions(model, state, _places_of(model, coordinates))
        names = [model.velocity_names[k] for k in self.independent]
        element_names = [] if signals is None else list(signals.state_names)
        self.element_places = list(range(len(element_names)))
        if period is not None and signals is not None:
            element_names += signals.held_states.values()
            self.element_places += signals.held_states
        self.states = [*(f"q.{x}" for x in names), *(f"v.{x}" for x in names), *element_names]
        self.output_names, self._readings, self._rows = self._outputs(outputs)

    def set_elements(self, values: Array) -> None:
        """Set the states of elements."""
        signals = self.scene.signals
        names = () if signals is None else signals.state_names
        if values.shape != (len(names),) or not np.isfinite(values).all():
            listed = f" ({', '.join(names)})" if names else ""
            problem = (
                f"must be {len(names)} finite numbers{listed}, got an array of shape {values.shape}"
            )
            raise SimulationError("state: elements", problem)
        self.numbers[: len(names)] = values

    # ----------------------------------------------------------------------------------------------- arguments

    def _input_values(self, given: Mapping[str, ArrayLike]) -> Array | None:
        """Return the values of all inputs of the scene, None without any."""
        signals = self.scene.signals
        if signals is None or not given:
            return None
        values = []
        for own in signals.inputs:
            start = np.array([signals.start[place] for place in own.places])
            array = np.array(given.get(own.name, start), float)
            if array.shape not in {(), start.shape} or not np.isfinite(array).all():
                problem = (
                    f"must be {len(start)} finite numbers, got an array of shape {array.shape}"
                )
                raise SimulationError(f"inputs[{own.name!r}]", problem)
            values.append(np.broadcast_to(array, start.shape))
        return np.concatenate(values)

    def _inputs(
        self, chosen: Sequence[str] | Mapping[str, ArrayLike] | None
    ) -> tuple[list[str], list[int]]:
        signals = self.scene.signals
        known = {} if signals is None else {own.name: own.places for own in signals.inputs}
        if isinstance(chosen, str):
            raise TypeError(f"inputs must be a list of names, got {chosen!r}; write [{chosen!r}]")
        names: list[str] = []
        places: list[int] = []
        for name in known if chosen is None else chosen:
            if name not in known:
                remedy = did_you_mean(name, known)
                if not known:
                    remedy = '; it has none, add a [[signal]] with type = "input"'
                raise UnknownSimulationNameError(
                    f"inputs: {name!r}", f"the scene has no such input{remedy}"
                )
            own = known[name]
            names += [name] if len(own) == 1 else [f"{name}[{k}]" for k in range(len(own))]
            places += own
        return names, places

    def _outputs(
        self, chosen: Sequence[str] | None
    ) -> tuple[list[str], list[int], dict[int, Array]]:
        """Return names of outputs, columns of readings, and rows of C of those that are coordinates."""
        if chosen is None:
            return list(self.states), [], dict(enumerate(np.eye(len(self.states))))
        if isinstance(chosen, str):
            raise TypeError(f"outputs must be a list of names, got {chosen!r}; write [{chosen!r}]")
        signals, n = self.scene.signals, self.N.shape[1]
        known = {} if signals is None else {own.name: own for own in signals.recorded}
        coordinates = {name: k for k, name in enumerate(self.model.velocity_names)}
        names: list[str] = []
        columns: list[int] = []
        rows: dict[int, Array] = {}
        for name in chosen:
            kind, _, coordinate = name.partition(".")
            if name in known:
                own = known[name]
                columns += range(own.first, own.first + own.size)
                names += [name] if own.size == 1 else [f"{name}[{k}]" for k in range(own.size)]
            elif kind in ("q", "v") and coordinate in coordinates:
                row = np.zeros(len(self.states))
                first = 0 if kind == "q" else n
                row[first : first + n] = self.N[coordinates[coordinate]]
                rows[len(names)] = row
                names.append(name)
            else:
                listed = [*known, *(f"{kind}.{x}" for kind in "qv" for x in coordinates)]
                problem = f"there is no such signal or coordinate{did_you_mean(name, listed)}"
                raise UnknownSimulationNameError(f"outputs: {name!r}", problem)
        return names, columns, rows

    # ------------------------------------------------------------------------------------------------ the system

    def system(self) -> LinearSystem:
        """Return the linear system."""
        size, count = len(self.states), len(self.input_names)
        with np.errstate(all="ignore"):
            if self.period is not None and (steps := self._steps()):
                rate, derivatives = self._step_derivatives(*steps)
            elif self.period is not None:
                (rate,), (derivatives,) = self._differences(self._next)
            elif self._is_analytical():
                rate, derivatives = self._analytical()
            else:
                (rate,), (derivatives,) = self._differences(self._rates)
            if self._readings:
                (_,), (read,) = self._differences(self._read)
            else:
                read = np.zeros((0, size + count))
        if not (np.isfinite(derivatives).all() and np.isfinite(read).all()):
            fault = slope_fault(self.scene, self.scene.state)
            problem = "numbers beside the state are NaN or infinite; choose another state"
            raise SimulationError("linearize", fault or problem)
        outputs = np.zeros((len(self.output_names), size + count))
        of_signals = sorted(set(range(len(self.output_names))) - set(self._rows))
        outputs[of_signals] = read
        for at, row in self._rows.items():
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
        requested = bool(self._rows) and len(self._rows) == len(self.states)
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
        return not self.model.rows or bool(np.abs(scene.state.v).max(initial=0.0) < STILL)

    def _analytical(self) -> tuple[Array, Array]:
        """Return ẋ and [A B], with the derivatives of the accelerations by q, v and τ."""
        model, state, N = self.model, self.scene.state, self.N
        (tau, rates), (by_x, rates_by_x) = self._differences(self._forces)
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

    # ------------------------------------------------------------------------------------------------- functions

    def _differences(self, functions: Callable[..., Functions]) -> tuple[Functions, Functions]:
        """Return values (outputs,) of functions at the state, and slopes (outputs, states and inputs).

        Wide differences lose fewer digits. Where narrow ones do not agree with them, these are taken.
        """
        values, narrow = self._differences_of(functions, NARROW, judge=True)
        _, wide = self._differences_of(functions, WIDE)
        slopes = []
        for near, far in zip(narrow, wide, strict=True):
            allowed = AGREE * (np.abs(near) + np.abs(near).max(axis=1, initial=0.0, keepdims=True))
            slopes.append(np.where(np.abs(near - far) <= allowed, far, near))
        return values, tuple(slopes)

    def _differences_of(
        self, functions: Callable[..., Functions], size: float, *, judge: bool = False
    ) -> tuple[Functions, Functions]:
        n, places = 2 * self.N.shape[1], [*self.element_places, *self.input_places]
        step = np.full(n + len(places), size)
        step[n:] *= 1 + np.abs(self.numbers[places])
        shares = np.array([1.0, -1.0, 2.0, -2.0])
        moves = np.concatenate([np.zeros((1, len(step))), *(s * np.diag(step) for s in shares)])
        values = functions(*self._moved(moves))
        slopes = []
        for rows in values:
            points = rows[1:].reshape(len(shares), len(step), rows.shape[1])
            near = (points[0] - points[1]) / 2
            slopes.append(((4 * near - (points[2] - points[3]) / 4) / 3 / step[:, None]).T)
            if judge:
                self._report_kinks(points[0] + points[1] - 2 * rows[0], near)
        return tuple(rows[0] for rows in values), tuple(slopes)

    def _report_kinks(self, bend: Array, near: Array) -> None:
        """Warn of a state or input along which one-sided slopes differ."""
        largest = np.abs(near).max(initial=0.0)
        bent = np.abs(bend).max(axis=1, initial=0.0)
        if largest and bent.max(initial=0.0) > KINK * 2 * largest:
            name = [*self.states, *self.input_names][int(bent.argmax())]
            problem = (
                f"slopes ahead of the state and behind it differ along {name!r}: a contact, stop, limit or dry "
                "friction changes there, and the mean is returned; choose a state to one side of it"
            )
            warnings.warn(f"linearize: {problem}", PysimWarning, stacklevel=7)

    def _moved(self, moves: Array) -> tuple[Array, Array, Array, Array]:
        """Return q, v, loop_q and numbers of states moved by rows of (states, inputs)."""
        model, state, n = self.model, self.scene.state, self.N.shape[1]
        count = len(moves)
        q = model.integrate(np.tile(state.q, (count, 1)), moves[:, :n] @ self.N.T)
        v = state.v + moves[:, n : 2 * n] @ self.N.T
        loop_q = np.tile(state.loop_q, (count, 1))
        if model.rows:
            q, v, loop_q = self._closed(q, v, loop_q, moves)
        numbers = np.tile(self.numbers, (count, 1))
        numbers[:, [*self.element_places, *self.input_places]] += moves[:, 2 * n :]
        return q, v, loop_q, numbers

    def _closed(
        self, q: Array, v: Array, loop_q: Array, moves: Array
    ) -> tuple[Array, Array, Array]:
        """Return states with loops closed whose independent coordinates and velocities have the given displacements."""
        model, state, n, own = self.model, self.scene.state, self.N.shape[1], self.independent
        for _ in range(6):
            there = project(model, q, v, loop_q=loop_q)
            q, v, loop_q = there.q, there.v, there.loop_q
            start = np.tile(state.q, (len(q), 1))
            left = moves[:, :n] - np.asarray(model.difference(start, q))[:, own]
            slip = state.v[own] + moves[:, n : 2 * n] - v[:, own]
            if max(np.abs(left).max(initial=0.0), np.abs(slip).max(initial=0.0)) < 1e-14:
                break
            q = np.asarray(model.integrate(q, left @ self.N.T))
            v = v + slip @ self.N.T
        there = project(model, q, v, loop_q=loop_q)
        return there.q, there.v, there.loop_q

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
        return (found[:, self._readings],)

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
        differs = differs[self._readings]
        if differs.any():
            names = [x for k, x in enumerate(self.output_names) if k not in self._rows]
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
