"""Derivatives of steps of worlds: how states after them change with those before and with inputs.

    δx⁺ = A δx + B δu        x = (q, v, deflections of contacts and of dry friction, states of elements, held numbers)

Points that resist rolling or spinning have angular deflections, too.

A and B of a step are made as matrices, with one factor of the step's own equations
(cpp/stepping/convex/derivatives.hpp), those of all worlds, such as the nodes of a horizon, together, in packs. Where
worlds have parts that these do not cover, rows are products of the steps' derivatives with rows of the identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim.analysis.differentiable_steps import DifferentiableSteps
from pysim.elements.graph_types import names_of_numbers
from pysim.errors import SimulationError
from pysim.integrators import find_integrator
from pysim.mechanism.model_numbers import coordinate_laws
from pysim.typing import Array
from pysim.worlds.argument_checks import checked_real, refuse_not_finite

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pysim.simulation.worlds import Worlds
    from pysim.worlds.loading import Scene

__all__ = ["StepDerivatives", "step_derivatives"]

_SOLVER = 7  # numbers of an implicit scheme before its accelerations


@dataclass(frozen=True)
class StepDerivatives:
    """States of worlds after steps, and their derivatives; arrays of one world have no axis of worlds.

    Derivatives of a configuration and by one are along δ of q ⊕ δ, as `Model.integrate` has it.
    """

    q: Array  #: (n, nq) after the steps
    v: Array  #: (n, nv) after the steps
    A: Array  #: (n, size, size) of the states after the steps by those before
    B: Array  #: (n, size, inputs) by the inputs, which are held during the steps
    states: tuple[
        str, ...
    ]  #: q.NAME and v.NAME, deflections, states of elements, and held[k] of sampled blocks
    inputs: tuple[str, ...]  #: in file order
    row_by_row: (
        str  #: why rows of A and B are made one by one: a part of the scene; '' if they are not
    )


def step_derivatives(
    worlds: Worlds, controls: ArrayLike | None = None, *, steps: int = 1
) -> StepDerivatives:
    """Return A and B of the next steps of worlds, which keep their states.

    Contacts remember how far they are deflected. The deflections of points that touch in some world are states, in
    world axes, and so are those of dry friction, the states of elements, and the numbers that sampled blocks hold.

    Args:
        worlds: as `gradient` takes them: nodes of a horizon, say.
        controls: (n, inputs), in file order; those of the worlds by default.
        steps: number of steps, during which inputs are held.

    Raises:
        SimulationError: as `gradient`.

    >>> builder = pysim.SceneBuilder("cart")
    >>> _ = builder.body("cart", mass=2.0)
    >>> _ = builder.joint("rail", "prismatic", child="cart", axis=[1, 0, 0], damping=0.1)
    >>> _ = builder.simulation(integrator="convex", step=0.1, duration=1.0)
    >>> worlds = pysim.Worlds(builder.build(), 64)
    >>> found = pysim.step_derivatives(worlds)
    >>> found.A.shape, found.states
    ((64, 2, 2), ('q.rail', 'v.rail'))
    """
    run = DifferentiableSteps(worlds, steps=steps)
    held = None if controls is None else _checked(run, controls)
    states, matrices = _states_and_matrices(run, held)
    q, v, A, B = (np.asarray(x[0]) if run.is_single else x for x in matrices)
    names = tuple(states.names()), tuple(_input_names(worlds))
    return StepDerivatives(q, v, A, B, *names, run.products)


def derivatives_by_numbers(
    worlds: Worlds, steps: int, states: list[int], columns: list[int]
) -> Array:
    """Return the derivatives of q, v and numbers of the signals after the next steps of a single world.

    Args:
        worlds: a single world, which keeps its state.
        steps: their number.
        states: numbers of the signals that are states.
        columns: those by which derivatives are taken, beside q and v: the states, then what is held.

    Returns:
        (2 nv + states, 2 nv + columns).
    """
    run = DifferentiableSteps(worlds, steps=steps)
    run.places = columns[len(states) :]
    state_places, (_, _, A, B) = _states_and_matrices(run, None, states)
    rows = [
        *range(2 * run.scene.model.nv),
        *range(state_places.size - len(states), state_places.size),
    ]
    return np.hstack([A[0][np.ix_(rows, rows)], B[0][rows]])


def _states_and_matrices(
    run: DifferentiableSteps, held: Array | None, numbers: list[int] | None = None
) -> tuple[_States, _Matrices]:
    """Return the states of steps, and their derivatives, under inputs that are held."""
    with run.from_here():
        states = _States(run, numbers)
        if held is not None:
            run.records.signals[:, run.places] = held
            run.worlds.inputs.note_jumps()
        start = run.records.engine.save(run.every)
        make = _products if run.products else _matrices
        while (matrices := make(run, states)) is None:
            run.load(start)
    return states, matrices


_Matrices = tuple[Array, Array, Array, Array]  # q and v at the end, A and B of all worlds


def _matrices(run: DifferentiableSteps, states: _States) -> _Matrices | None:
    """Return the product of the matrices of all steps; None if more points touch than were states: now they are."""
    A = np.eye(states.size)
    B = np.zeros((states.size, len(run.places)))
    for n in range(run.steps):
        if n > 0:
            run.advance(n - 1)
        q, v, of_step, touching = run.step_matrices(n, states.numbers())
        if states.add(touching):
            return None
        by_state, by_input = of_step[:, :, : states.size], of_step[:, :, states.size :]
        A, B = (by_state, by_input) if n == 0 else (by_state @ A, by_state @ B + by_input)
    return q, v, A, B


def _products(run: DifferentiableSteps, states: _States) -> _Matrices | None:
    """Return A and B whose rows are products; None if more points touch than were states: now they are."""
    recorded = run.forward(1)
    if states.add_points():
        return None
    run.take_rows(states.size)
    bar = run.cotangents()
    states.seed(bar)
    run.pull(recorded, 0, run.steps, bar)
    return run.q[:, -1], run.v[:, -1], *states.matrices(bar)


def _checked(run: DifferentiableSteps, controls: ArrayLike) -> Array:
    values = checked_real(controls, "controls")
    shape = (len(run.places),) if run.is_single else (run.count, len(run.places))
    if values.shape != shape:
        problem = f"must have shape {shape}, got {values.shape}"
        raise SimulationError("controls", f"{problem}; give one for every input")
    values = values.reshape(run.count, -1)
    refuse_not_finite(values, "controls", "are", "give finite numbers", has_steps=False)
    return values


def _input_names(worlds: Worlds) -> list[str]:
    names: list[str] = []
    for name in worlds.inputs:
        size = int(np.asarray(worlds.inputs[name]).size) // len(worlds)
        names += names_of_numbers(name, size)
    return names


class _States:
    """Numbers of the record that are states, in the order of A.

    Args:
        run: steps whose worlds are at the start.
        numbers: those of the signals that are states; those of elements and of sampled blocks by default.
    """

    def __init__(self, run: DifferentiableSteps, numbers: list[int] | None = None) -> None:
        self._run, self._model = run, run.scene.model
        self._points: set[int] = set()
        self.add_points()
        signals = run.scene.signals
        self._elements: dict[int, str] = {}  # and numbers that sampled blocks hold, by their places
        if signals is not None:
            self._elements.update(enumerate(signals.state_names))
            self._elements |= signals.held_states if signals.periods else {}
            self._elements |= _rates(run.scene)
        self._numbers = list(self._elements) if numbers is None else numbers
        self._frictions = _frictions(run.scene)
        self._turnings = run.sizes["turnings"]
        self._carried = _carried(run.scene) if numbers is None else {}

    def add_points(self) -> bool:
        """Take the points that touch now among the states; return whether some were not."""
        parts = self._run.records.engine.parts
        listed = parts["contacts"].reshape(self._run.count, -1, 6)[..., 0]
        used = np.arange(listed.shape[1]) < parts["touching"].reshape(-1, 1)
        return self.add(listed[used].astype(int))

    def add(self, points: NDArray[np.intp]) -> bool:
        """Take points among the states; return whether some were not."""
        before = len(self._points)
        self._points |= set(points.tolist())
        return len(self._points) > before

    def numbers(self) -> list[list[int]]:
        """Return the numbers of points, coordinates and signals that are states."""
        return [sorted(self._points), list(self._frictions), self._numbers]

    def _parts(self) -> list[tuple[str, list[int]]]:
        """Return the arrays of cotangents that have states, with the places of these."""
        nv = self._model.nv
        points = [3 * k + i for k in sorted(self._points) for i in range(3)]
        return [
            ("q", list(range(nv))),
            ("v", list(range(nv))),
            ("deflections", points),
            ("turnings", list(range(self._turnings))),
            ("coordinates", list(self._frictions)),
            ("signals", self._numbers),
            ("scheme", list(self._carried)),
        ]

    @property
    def size(self) -> int:
        return sum(len(places) for _, places in self._parts())

    def names(self) -> list[str]:
        """Return the names of the states."""
        known = self._model.velocity_names
        return [
            *(f"{kind}.{name}" for kind in "qv" for name in known),
            *(f"deflection[{k}].{axis}" for k in sorted(self._points) for axis in "xyz"),
            *(f"turning[{k}].{axis}" for k in range(self._turnings // 3) for axis in "xyz"),
            *(f"deflection.{name}" for name in self._frictions.values()),
            *self._elements.values(),
            *self._carried.values(),
        ]

    def seed(self, bar: dict[str, Array]) -> None:
        """Set the cotangents of every world to rows of the identity."""
        row = 0
        for part, places in self._parts():
            for place in places:
                self._run.set_row(bar[part], row, place, 1.0)
                row += 1

    def matrices(self, bar: dict[str, Array]) -> tuple[Array, Array]:
        """Return A and B of all worlds from the cotangents at the start."""
        run, size = self._run, self.size
        found = [run.rows_of(bar[part])[:, :size, places] for part, places in self._parts()]
        inputs = run.rows_of(bar["signals"])[:, :size, run.places]
        return np.concatenate(found, axis=2), inputs


def _rates(scene: Scene) -> dict[int, str]:
    """Return names of the rates of states that a scheme carries, by their places."""
    signals = scene.signals
    if signals is None or scene.settings.integrator != "generalized_alpha":
        return {}
    own, names = signals.description, signals.state_names
    first = own.states + own.held_numbers
    found = {first + k: f"algorithmic.{name}" for k, name in enumerate(names)}
    return found | {first + own.states + k: f"rate.{name}" for k, name in enumerate(names)}


def _carried(scene: Scene) -> dict[int, str]:
    """Return names of the accelerations that a scheme carries, by their places (cpp/stepping/solver_state.hpp)."""
    if scene.settings.integrator != "generalized_alpha":
        return {}
    names, nv = scene.model.velocity_names, scene.model.nv
    found = {_SOLVER + k: f"acceleration.{name}" for k, name in enumerate(names)}
    return found | {_SOLVER + 3 * nv + k: f"algorithmic.{name}" for k, name in enumerate(names)}


def _frictions(scene: Scene) -> dict[int, str]:
    """Return names of the tree's coordinates that have dry friction, by their numbers among the laws."""
    if not find_integrator(scene.settings.integrator).contacts:  # their friction remembers nothing
        return {}
    model = scene.model
    friction = np.concatenate([np.zeros(0), *(joint.friction for joint in model.joints)])
    names = model.tree_velocity_names
    return {law: names[v] for v, law in coordinate_laws(model).items() if friction[v] > 0}
