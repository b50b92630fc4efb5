"""A scene about whose state it is linearised: names and places of states, inputs and outputs, and displaced states.

    x = (q ⊖ q₀ and v of independent coordinates, states of elements, and numbers that sampled blocks hold)

With loops δq = N δq_i and δv = N δv_i, N from the constraints.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.analysis.linear_system import independent_motions
from pysim.elements.graph_types import names_of_numbers
from pysim.errors import SimulationError, UnknownSimulationNameError, did_you_mean
from pysim.loops import project
from pysim.mechanism.model import State
from pysim.mechanism.motion_compiler import with_uniform_motions
from pysim.typing import Array
from pysim.worlds.argument_checks import checked_names
from pysim.worlds.signal_runs import begin_signals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from pysim.mechanism.model import Model
    from pysim.worlds.loading import Scene


def with_state(scene: Scene, state: State | None) -> Scene:
    """Return the scene with a start of the given state."""
    if state is None:
        return scene
    model, start = scene.model, scene.state
    loop_q = state.loop_q if len(state.loop_q) else start.loop_q
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


class LinearizedScene:
    """A scene at a state, whose states, inputs and outputs have names and places.

    Args:
        scene: at the state.
        inputs: names, or values by name, as of `linearize`.
        outputs: names, as of `linearize`.
        period: [s] of a sampled system, None of a continuous one.
        coordinates: names of coordinates that are states.
    """

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
        values = inputs if isinstance(inputs, Mapping) else {}
        self.input_names, self.input_places = self._inputs(inputs)
        run = begin_signals(scene, 0.0, inputs=self._input_values(values), calls=False)
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
        self.output_names, self.readings, self.rows = self._outputs(outputs)

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

    def _input_values(self, values: Mapping[str, ArrayLike]) -> Array | None:
        """Return the arrays of all inputs of the scene, None without any."""
        signals = self.scene.signals
        if signals is None or not values:
            return None
        arrays = []
        for signal in signals.inputs:
            start = np.array([signals.start[place] for place in signal.places])
            array = np.array(values.get(signal.name, start), float)
            if array.shape not in {(), start.shape} or not np.isfinite(array).all():
                problem = (
                    f"must be {len(start)} finite numbers, got an array of shape {array.shape}"
                )
                raise SimulationError(f"inputs[{signal.name!r}]", problem)
            arrays.append(np.broadcast_to(array, start.shape))
        return np.concatenate(arrays)

    def _inputs(
        self, chosen: Sequence[str] | Mapping[str, ArrayLike] | None
    ) -> tuple[list[str], list[int]]:
        signals = self.scene.signals
        known = {} if signals is None else {signal.name: signal.places for signal in signals.inputs}
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
            names += names_of_numbers(name, len(known[name]))
            places += known[name]
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
        known = {} if signals is None else {signal.name: signal for signal in signals.recorded}
        coordinates = {name: k for k, name in enumerate(self.model.velocity_names)}
        names: list[str] = []
        columns: list[int] = []
        rows: dict[int, Array] = {}
        for name in chosen:
            kind, _, coordinate = name.partition(".")
            if name in known:
                signal = known[name]
                columns += range(signal.first, signal.first + signal.size)
                names += names_of_numbers(name, signal.size)
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

    def moved(self, moves: Array) -> tuple[Array, Array, Array, Array]:
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
        model, state, n, independent = (
            self.model,
            self.scene.state,
            self.N.shape[1],
            self.independent,
        )
        for _ in range(6):
            there = project(model, q, v, loop_q=loop_q)
            q, v, loop_q = there.q, there.v, there.loop_q
            start = np.tile(state.q, (len(q), 1))
            left = moves[:, :n] - np.asarray(model.difference(start, q))[:, independent]
            slip = state.v[independent] + moves[:, n : 2 * n] - v[:, independent]
            if max(np.abs(left).max(initial=0.0), np.abs(slip).max(initial=0.0)) < 1e-14:
                break
            q = np.asarray(model.integrate(q, left @ self.N.T))
            v = v + slip @ self.N.T
        there = project(model, q, v, loop_q=loop_q)
        return there.q, there.v, there.loop_q
