"""Generalised forces on a run from outside its scene, as those of a mouse; constant during a call of the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass
class ExternalForces:
    """Forces computed before every call of the engine; a call makes at most `steps` fixed steps."""

    compute: Callable[[float, Array, Array], Array]  # t [s], q (nq,), v (nv,) → (nv,) [N or N·m]
    steps: int
    tau: Array  # (nv,) of the last call

    def before_call(
        self, drive: _engine.Actuation, t: float, q: Array, v: Array
    ) -> _engine.Actuation:
        """Compute the forces at a state, and return the actuators with them."""
        self.tau = np.array(self.compute(t, q, v), float)
        return _engine.Actuation(
            drive.offset + self.tau, drive.amplitude, drive.frequency, drive.phase
        )


def tau_of_rows(external: ExternalForces | None, rows: int) -> Array | None:
    """Return the forces (rows, nv) of the last call; None if there are none."""
    return None if external is None else np.tile(external.tau, (rows, 1))
