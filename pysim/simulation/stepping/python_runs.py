"""Runs whose steps Python makes: of integrator plugins, and of mechanisms with callback joints.

n = ⌈(t_k+1 − t_k) / step⌉ equal steps lead from one output, or instant of a sampled block, to the next, none longer
than `simulation.step`. Runs that the engine steps are in record_runs.py; the errors that end a run are the same.
"""

from __future__ import annotations

import warnings
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pysim.errors import PysimWarning, SimulationError
from pysim.integrators import find_integrator, make
from pysim.mechanism.model import State
from pysim.simulation.stepping.external_forces import ExternalForces, tau_of_rows
from pysim.simulation.stepping.fixed_steps import (
    STEPS_A_CALL,
    check_count,
    steps_between,
    stop_of_fixed_steps,
)
from pysim.simulation.stepping.implicit_state import SolverState
from pysim.simulation.stepping.python_stepping import ModelSystem, advance, builtin_in_python
from pysim.simulation.stepping.scheme_memory import copied_memory, memory_of, set_memory
from pysim.simulation.stepping.segment import Segment
from pysim.simulation.stepping.signal_runs import Instants, with_instants
from pysim.tracing.author_code import definition_place
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pysim.integrators import Integrator
    from pysim.simulation.loading import Scene
    from pysim.simulation.stepping.signal_runs import SignalRun


class Call(NamedTuple):
    """Equal steps from a time to an end [s], which is an output, an instant of sampled blocks, or both."""

    time: float  # [s]
    step: float  # [s]
    steps: int
    end: float  # [s]
    is_output: bool
    due: int  # bit k: the sampled block k runs at the end


class PythonRun:
    """Run of a scene whose steps Python makes, which may go on from its last output.

    Args:
        scene: whose scheme or joints are computed in Python.
        signals: state of the signals, updated with every segment; None without any.
        external: forces from outside; None without any.
    """

    def __init__(
        self, scene: Scene, signals: SignalRun | None, external: ExternalForces | None = None
    ) -> None:
        self._scene, self._signals, self._external = scene, signals, external
        self._state = scene.state
        self._counts: list[int] = []  # of the next instants of sampled blocks
        self._refused = False  # whether the scheme remembers what cannot be saved
        self._scheme = _scheme_of(scene)
        self._at_output = False  # whether the last segment ended at one

    def from_start(self, times: Iterator[float]) -> Iterator[Segment]:
        """Yield the segments through output times [s], ascending, from the scene's start at the first of them.

        Raises:
            SimulationError: the state became NaN or infinite or left its loops.
        """
        check_count(self._scene)
        return self._through(times)

    def segments(self, state: State, times: Iterator[float]) -> Iterator[Segment]:
        """Yield the segments through output times [s] from a state at the first; the scheme goes on as it is."""
        self._state = state
        self._counts.clear()
        return self._through(times)

    def _through(self, times: Iterator[float]) -> Iterator[Segment]:
        """Yield the segments through output times [s] from the state at the first of them."""
        scene, signals, external, scheme = (
            self._scene,
            self._signals,
            self._external,
            self._scheme,
        )
        q, v, loop_q = self._state.q, self._state.v, self._state.loop_q.copy()
        advance_interval = _advance_function(scene, scheme, loop_q, signals, external)
        steps = STEPS_A_CALL if external is None else external.steps
        instants = Instants() if signals is None else signals.instants
        for call in split_into_calls(times, scene.settings.step, steps, instants, self._counts):
            q, v, done = advance_interval(q, v, call)
            if done < call.steps:
                last = call.time + done * call.step
                numbers = None if signals is None else signals.numbers
                state, memory = State(q, v, loop_q), SolverState(scene)
                raise stop_of_fixed_steps(scene, state, memory, last, call.step, numbers)
            self._state, self._at_output = State(q, v, loop_q), call.is_output
            rows = slice(0, int(call.is_output))
            numbers = None if signals is None else signals.numbers[None].copy()[rows]
            yield Segment(
                np.array([call.end])[rows],
                q[None][rows],
                v[None][rows],
                loop_q[None].copy()[rows],
                call.end,
                call.steps,
                signals=numbers,
                external=tau_of_rows(external, rows.stop),
            )

    def saved(self) -> dict[str, Any] | None:
        """Return what `resumed` goes on from after the last segment.

        Returns:
            Arrays by name; None if that did not end at an output, or if a file cannot hold what the scheme remembers.
        """
        memory = self.saved_scheme() if self._at_output else None
        if memory is None:
            return None
        state = self._state
        saved: dict[str, Any] = {"q": state.q, "v": state.v, "loop_q": state.loop_q}
        saved |= {"memory": memory, "counts": np.array(self._counts, np.int64)}
        if self._signals is not None:
            saved["signals"] = self._signals.numbers
        return saved

    def saved_scheme(self) -> Array | None:
        """Return what the scheme remembers; None, with a warning, if a file cannot hold it."""
        if self._refused:
            return None
        try:
            return np.array(memory_of(self._scheme))
        except TypeError as error:
            self._refused = True
            problem = f"its attribute {error}, which checkpoints do not hold, so a run that is stopped begins again"
            remedy = "keep numbers, texts, arrays, or lists of them"
            warnings.warn(
                f"{definition_place(type(self._scheme))}: {problem}; {remedy}",
                PysimWarning,
                stacklevel=2,
            )
            return None

    def restore_scheme(self, saved: Array) -> None:
        """Return the scheme to what `saved_scheme` returned."""
        set_memory(self._scheme, str(saved))

    def held_scheme(self) -> dict[str, Any]:
        """Return a copy of what the scheme remembers, for `put_back_scheme`.

        Raises:
            SimulationError: an attribute cannot be copied.
        """
        return copied_memory(self._scheme)

    def put_back_scheme(self, held: dict[str, Any]) -> None:
        """Return the scheme to what `held_scheme` returned."""
        vars(self._scheme).clear()
        vars(self._scheme).update(deepcopy(held))

    def resumed(self, saved: Mapping[str, Any], times: Iterator[float]) -> Iterator[Segment]:
        """Yield the segments through output times [s]; `saved` returned at the first one."""
        self._state = State(saved["q"], saved["v"], saved["loop_q"])
        self._counts[:] = saved["counts"].tolist()
        self.restore_scheme(saved["memory"])
        if self._signals is not None:
            self._signals.numbers[:] = saved["signals"]
        return self.from_start(times)


def split_into_calls(
    times: Iterator[float],
    longest: float,
    most: int,
    instants: Instants,
    counts: list[int] | None = None,
) -> Iterator[Call]:
    """Yield calls of at most `most` steps that end at outputs and at the instants of sampled blocks.

    `counts` are those of `with_instants`.
    """
    given = with_instants(times, instants, counts)
    start = next(given)[0]
    for end, is_output, due in given:
        count = steps_between(start, end, longest)
        step = (end - start) / count
        for made in range(0, count, most):
            steps = min(count - made, most)
            if made + steps == count:
                yield Call(start + made * step, step, steps, end, is_output, due)
            else:
                yield Call(
                    start + made * step, step, steps, start + (made + steps) * step, False, 0
                )
        start = end


def runs_in_python(scene: Scene) -> bool:
    """Return whether Python makes the steps of a scene."""
    plugin = find_integrator(scene.settings.integrator).plugin
    return plugin is not None or bool(scene.model.callback_numbers)


def _scheme_of(scene: Scene) -> Integrator:
    """Return the scheme that makes a scene's steps in Python."""
    name = scene.settings.integrator
    plugin = find_integrator(name).plugin
    if plugin is None:
        return builtin_in_python(name, str(scene.spec.path))
    return make(plugin, scene.settings.parameters)


def _advance_function(
    scene: Scene,
    scheme: Integrator,
    loop_q: Array,
    signals: SignalRun | None,
    external: ExternalForces | None,
) -> Callable[[Array, Array, Call], tuple[Array, Array, int]]:
    """Return the function that makes the steps of a call: the state at the end, and how many steps were good.

    The coordinates of joints that close loops are updated in place.
    """
    drive = scene.actuation
    _check_states(scene)
    system = ModelSystem(scene.model, drive, loop_q, signals, scene.contacts)

    def advance_call(q: Array, v: Array, call: Call) -> tuple[Array, Array, int]:
        driven = system
        if external is not None:
            driven = replace(system, actuation=external.before_call(drive, call.time, q, v))
        q, v, done = advance(scheme, driven, q, v, call.time, call.step, call.steps)
        if signals is not None and done == call.steps:
            signals.update(call.end, call.due, q, v, loop_q)
        return q, v, done

    return advance_call


def _check_states(scene: Scene) -> None:
    """Reject states of elements under a scheme that runs in Python, which does not carry them."""
    if scene.signals is None or not scene.signals.state_names:
        return
    name = scene.signals.state_names[0]
    problem = f"integrator {scene.settings.integrator!r} runs in Python, without states of elements such as {name!r}"
    raise SimulationError(
        str(scene.spec.path), f"{problem}; choose one of the engine's, such as rk4"
    )
