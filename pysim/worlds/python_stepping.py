"""Steps of fixed size in Python, for models with callback joints and for integrator plugins.

The built-in schemes are those of cpp/stepping/semi_implicit.hpp and runge_kutta.hpp, for one state.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.algorithms import aba
from pysim.errors import JointError, PysimError, SimulationError
from pysim.integrators import BUILTIN, Integrator, find_integrator, make
from pysim.joints import find_joint
from pysim.loops import project
from pysim.loops.constraints import classify_rows, constraint_forces, constraints
from pysim.mechanism.actuation import actuator_forces
from pysim.spatial import right_jacobian_inverse
from pysim.tracing.author_code import author_error, breaking_line, method_place
from pysim.trajectory.interpolation import rotation_matrices
from pysim.typing import Array
from pysim.worlds.contact_report import contact_wrenches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pysim.contact import CompiledContacts
    from pysim.integrators import System
    from pysim.mechanism.model import Model, State
    from pysim.worlds.loading import Scene
    from pysim.worlds.signal_runs import SignalRun


class NotFiniteError(ValueError):
    """A stage has NaN or infinite values."""


@dataclass(frozen=True)
class ModelSystem:
    """Model with its actuators, in the form that schemes call (pysim.integrators.System).

    Raises:
        NotFiniteError: a state is NaN or infinite, which the engine would reject.
    """

    model: Model
    actuation: _engine.Actuation
    # coordinates of joints that close loops, updated in place
    loop_q: Array = field(default_factory=lambda: np.zeros(0))
    signals: SignalRun | None = None  # of its scene
    contacts: CompiledContacts | None = None  # of its scene, as smooth forces
    # 1 for rows (rows,) that a step leaves out from its start on, see `at_start`; found at every state if None
    redundant: Array | None = None

    def at_start(self, t: float, q: Array) -> ModelSystem:
        """Return the system for a step from t [s] and q (nq,), which determines the redundant rows.

        Within a step a state is slightly off the constraints, where redundant rows seem to be independent.
        """
        if not self.model.rows:
            return self
        _check_finite(q)
        classes = classify_rows(self.model, q, loop_q=self.loop_q, t=t)
        return replace(self, redundant=classes.redundant.astype(float))

    def acceleration(self, t: float, q: Array, v: Array) -> Array:
        _check_finite(q, v)
        tau, f_ext = self._forces(t, q, v)
        if self.model.rows:
            return _engine.constrained_aba(
                self.model,
                q,
                v,
                tau,
                f_ext,
                self.loop_q,
                passive=True,
                t=t,
                redundant=self.redundant,
            ).a
        return aba(self.model, q, v, tau, f_ext, passive=True)

    def motion_powers(self, t: float, q: Array, v: Array) -> dict[str, float]:
        """Return the powers [W] of prescribed motions, by the names of their rows."""
        model = self.model
        tau, f_ext = self._forces(t, q, v)
        forces = constraint_forces(model, q, v, tau, f_ext, loop_q=self.loop_q, passive=True, t=t)
        rates = constraints(model, q, v, loop_q=self.loop_q, t=t).rates
        timed = {own.name for own in model.spec.couplings if own.signal is not None}
        timed |= {own.name for own in model.spec.loops if own.position}
        powers = dict.fromkeys(timed, 0.0)
        for name, power in zip(model.row_names, (-forces * rates).tolist(), strict=True):
            if name in timed:
                powers[name] += power
        return powers

    def _forces(self, t: float, q: Array, v: Array) -> tuple[Array, Array | None]:
        """Return the generalised forces of actuators, and the wrenches of contacts."""
        tau = actuator_forces(self.actuation, t)
        if self.signals is not None:
            forces = _engine.signal_forces(self.model, np.array([t]), q, v, self.signals.numbers)
            tau = tau + forces[0]
        f_ext = None
        if self.contacts is not None:
            report = _engine.contact_points(self.contacts.engine, q[np.newaxis], v[np.newaxis])
            f_ext = contact_wrenches(self.contacts, self.model, q[np.newaxis], report)[0]
        return tau, f_ext

    def close(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Project a state at t [s] onto the constraints; NaN is returned if that fails."""
        _check_finite(q, v)
        if not self.model.rows:
            return q, v
        projected = project(self.model, q, v, loop_q=self.loop_q, t=t, redundant=self.redundant)
        if not projected.closed:
            return q * np.nan, v
        self.loop_q[:] = projected.loop_q
        return projected.q, projected.v

    def integrate(self, q: Array, dq: Array) -> Array:
        _check_finite(q, dq)
        return self.model.integrate(q, dq)

    def lift(self, xi: Array, v: Array) -> Array:
        """Rotation by rotation and displacement by displacement."""
        _check_finite(xi, v)
        rate = v.copy()
        for joint, at in zip(self.model.joints, self.model.v_offsets, strict=True):
            for first, nv in find_joint(joint.type).turning if at >= 0 else ():
                own = slice(at + first, at + first + nv)
                rate[own] = right_jacobian_inverse(xi[own]) @ v[own]
        return rate


class SemiImplicit(Integrator):
    """Advance the velocity first, then the pose along the new velocity; of free joints that of the centre of mass."""

    def step(self, system: System, t: float, h: float, q: Array, v: Array) -> tuple[Array, Array]:
        a = system.acceleration(t, q, v)
        free = list(_free_joints(system))
        for _, at, c in free:
            omega = v[at + 3 : at + 6]
            a[at : at + 3] += np.cross(omega, v[at : at + 3] + np.cross(omega, c))
        v1 = v + h * a
        q1 = system.integrate(q, h * v1)
        for place, at, c in free:
            omega = v1[at + 3 : at + 6]
            u = v1[at : at + 3] + np.cross(omega, c)
            R0, R1 = rotation_matrices(np.stack([x[place + 3 : place + 7] for x in (q, q1)]))
            q1[place : place + 3] = q[place : place + 3] + R0 @ (h * u + c) - R1 @ c
            v1[at : at + 3] = R1.T @ R0 @ u - np.cross(omega, c)
        return q1, v1


def _free_joints(system: System) -> Iterator[tuple[int, int, Array]]:
    """Yield the places in q and v of free joints, and the centres of mass of their bodies."""
    if not isinstance(system, ModelSystem):
        return
    model = system.model
    for k, joint in enumerate(model.joints):
        if joint.type == "free" and model.q_offsets[k] >= 0:
            mass = float(model.parameters[k, 0])
            yield model.q_offsets[k], model.v_offsets[k], model.parameters[k, 1:4] / (mass or 1.0)


class RungeKutta(Integrator):
    """Runge-Kutta-Munthe-Kaas scheme whose stages each depend on the previous one only."""

    nodes: tuple[float, ...]
    weights: tuple[float, ...]

    def step(self, system: System, t: float, h: float, q: Array, v: Array) -> tuple[Array, Array]:
        rate, a = np.zeros_like(v), np.zeros_like(v)
        sum_rate, sum_a = np.zeros_like(v), np.zeros_like(v)
        for node, weight in zip(self.nodes, self.weights, strict=True):
            xi, stage_v = node * h * rate, v + node * h * a
            a = system.acceleration(t + node * h, system.integrate(q, xi), stage_v)
            rate = system.lift(xi, stage_v)
            sum_rate, sum_a = sum_rate + weight * h * rate, sum_a + weight * h * a
        return system.integrate(q, sum_rate), v + sum_a


IN_PYTHON: dict[str, Integrator] = {
    "semi_implicit": SemiImplicit(),
    "rk2": RungeKutta((0.0, 0.5), (0.0, 1.0)),
    "rk4": RungeKutta((0.0, 0.5, 0.5, 1.0), (1 / 6, 1 / 3, 1 / 3, 1 / 6)),
}


def builtin_in_python(name: str, where: str) -> Integrator:
    """Return a built-in scheme written in Python.

    Raises:
        SimulationError: the scheme is implemented in the engine only.
    """
    if name not in IN_PYTHON and name in BUILTIN:
        problem = (
            f"integrator {name!r} runs in the engine, but the model's callback joints run in Python; "
            f"choose one of {', '.join(IN_PYTHON)}"
        )
        raise SimulationError(where, problem)
    return IN_PYTHON[name]


def runs_in_python(scene: Scene) -> bool:
    """Return whether Python makes the steps of a scene."""
    plugin = find_integrator(scene.settings.integrator).plugin
    return plugin is not None or bool(scene.model.callback_numbers)


def scheme_of(scene: Scene) -> Integrator:
    """Return the scheme that makes a scene's steps in Python."""
    name = scene.settings.integrator
    plugin = find_integrator(name).plugin
    if plugin is None:
        return builtin_in_python(name, str(scene.spec.path))
    return make(plugin, scene.settings.parameters)


def make_step(
    scheme: Integrator, system: ModelSystem, t: float, h: float, q: Array, v: Array
) -> tuple[Array, Array] | None:
    """Return (q, v) after a step of length h [s] from t [s]; None if it is NaN, infinite or off its loops.

    Raises:
        JointError: the code of a joint or an integrator raises, or does not return a state; with the author's line.
    """
    with np.errstate(all="ignore"):
        try:
            system = system.at_start(t, q)
            state = scheme.step(system, t, h, q.copy(), v.copy())
            reached = _checked(scheme, system, state, t + h, q, v)
            q1, v1 = system.close(t + h, *reached)
        except NotFiniteError:
            return None
        except PysimError:  # has its own place
            raise
        except Exception as error:
            fault = author_error(error, scheme.step, f"{type(scheme).__qualname__}.step")
            raise JointError(fault.where, f"at t = {t:g} s {fault.problem}") from error
    if not _are_numbers(q1, v1):
        return None
    _add_work(system, t, h, (q, v), (q1, v1))
    return q1, v1


def _add_work(
    system: ModelSystem, t: float, h: float, first: tuple[Array, Array], last: tuple[Array, Array]
) -> None:
    """Add the work of a step from t [s] to the energy ledger, by the trapezoidal rule."""
    run = system.signals
    if run is None or run.scene.signals is None or not run.scene.signals.work:
        return
    terms = run.scene.signals.work
    numbers, times = np.tile(run.numbers, (2, 1)), np.array([t, t + h])
    q, v = (np.stack(pair) for pair in zip(first, last, strict=True))
    rates = np.asarray(_engine.signal_forces(system.model, times, q, v, numbers)[1])
    rates = rates.reshape(2, -1)
    for k in range(2 if run.scene.signals.motion_work else 0):
        for name, power in system.motion_powers(float(times[k]), q[k], v[k]).items():
            rates[k, run.scene.signals.motion_work[name]] = power
    places = [term.place for term in terms]
    run.numbers[places] += 0.5 * h * rates[:, places].sum(axis=0)


def scheme_fault(
    scheme: Integrator, system: ModelSystem, state: State, time: float, step: float
) -> str | None:
    """Return the place where a step from a state computes NaN or infinite values, None if it does not."""
    arguments = (system, time, step, state.q.copy(), state.v.copy())
    with np.errstate(all="ignore"):
        try:
            if _are_numbers(*scheme.step(*arguments)):
                return None
        except NotFiniteError:
            pass
    return f"{type(scheme).__qualname__}.step, {breaking_line(scheme, 'step', *arguments)}"


def _are_numbers(*arrays: Array) -> bool:
    return all(bool(np.isfinite(x).all()) for x in arrays)


def _check_finite(*arrays: Array) -> None:
    """Reject NaN or infinite states; arguments of a wrong type are left to the engine's own errors."""
    if not _are_numbers(*(x for x in arrays if np.asarray(x).dtype.kind == "f")):
        raise NotFiniteError("a stage has NaN or infinite values")


def _checked(
    scheme: Integrator, system: ModelSystem, state: object, t: float, q: Array, v: Array
) -> tuple[Array, Array]:
    """Return the result of a step to t [s] after a check that it is a state like (q, v)."""
    where = method_place(scheme, "step")
    if isinstance(state, tuple) and len(state) == 2:
        try:
            numbers = np.asarray(state[0], float), np.asarray(state[1], float)
        except (TypeError, ValueError) as error:
            raise JointError(where, f"must return numbers, at t = {t:g} s: {error}") from error
        if [x.shape for x in numbers] == [q.shape, v.shape]:
            _check_finite(*numbers)
            try:
                system.integrate(numbers[0], np.zeros_like(v))
            except ValueError as error:  # a quaternion that is not unit, by joint
                problem = f"at t = {t:g} s its {error}, or move q by system.integrate"
                raise JointError(where, problem) from error
            return numbers
        what = f"arrays of shapes {numbers[0].shape} and {numbers[1].shape}"
    else:
        what = type(state).__name__
    problem = f"must return (q, v) of shapes {q.shape} and {v.shape}, got {what} at t = {t:g} s"
    raise JointError(where, problem)
