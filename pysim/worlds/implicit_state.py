"""State of schemes during a run, counters of implicit ones, and the error of a step without solution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.diagnosis.diagnosis import fastest
from pysim.errors import SimulationError
from pysim.integrators import find_integrator
from pysim.loops.redundant_rows import redundant_opening
from pysim.typing import Array
from pysim.worlds.python_stepping import runs_in_python, scheme_of

if TYPE_CHECKING:
    from pysim.mechanism.model import State
    from pysim.worlds.loading import Scene

LEAST_PARTS = 64  # smallest parts of a step that are tried (cpp/stepping/step_halving.hpp)


class SolverState:
    """State of a scheme: numbers of implicit ones (cpp/stepping/solver_state.hpp), an object of one in Python."""

    def __init__(self, scene: Scene) -> None:
        name = scene.settings.integrator
        kind, count = find_integrator(name), 0
        if kind.implicit:
            count = _engine.memory_numbers(scene.model, name)
        elif kind.contacts and scene.contacts is not None:
            count = scene.contacts.engine.memory_numbers
        self.numbers: Array = np.zeros(count)
        self.scheme = scheme_of(scene) if runs_in_python(scene) else None

    @property
    def iterations(self) -> int:
        """Number of Newton iterations so far."""
        return int(self.numbers[0]) if self.numbers.size else 0

    @property
    def rejected(self) -> int:
        """Number of steps so far that were repeated with shorter ones."""
        return int(self.numbers[1]) if self.numbers.size else 0

    @property
    def worst(self) -> int:
        """Index of the velocity whose equation converged worst."""
        return int(self.numbers[2])

    @property
    def lost(self) -> bool:
        """Whether the last step found no solution."""
        return bool(self.numbers.size and self.numbers[3])


def unsolved(scene: Scene, state: State, worst: int, last: float, step: float) -> SimulationError:
    """Return the error of a step without solution after the last good state, at `last` [s]."""
    model = scene.model
    shortest = step / LEAST_PARTS
    opening = redundant_opening(model, state.q, state.loop_q) if model.rows else None
    remedy = (
        f"{opening}"
        if opening is not None
        else "check this time for a stop or friction that is too stiff, a singular configuration or an unbounded force,"
        f" or reduce simulation.step, now {scene.settings.step:g} [s]"
    )
    problem = (
        f"at t = {last:.9g} s the equations of {scene.settings.integrator!r} have no solution that Newton's"
        f" method finds, even in steps of {shortest:.2g} s; {model.velocity_names[worst]!r} converges worst,"
        f" {fastest(model, state.v)}: {remedy}"
    )
    return SimulationError(str(scene.spec.path), problem)
