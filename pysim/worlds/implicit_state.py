"""State of schemes during a run, and counters of implicit ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.integrators import find_integrator
from pysim.typing import Array
from pysim.worlds.python_stepping import runs_in_python, scheme_of

if TYPE_CHECKING:
    from pysim.worlds.loading import Scene

WORST = 2  # place of the coordinate of v, or of the contact point, that converged worst


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
