"""Steps in Python of a model without a scene."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.typing import Array
from pysim.worlds.python_stepping import ModelSystem, make_step

if TYPE_CHECKING:
    from pysim.integrators import Integrator


def advance(
    scheme: Integrator,
    system: ModelSystem,
    q: Array,
    v: Array,
    time: float,
    step: float,
    steps: int,
) -> tuple[Array, Array]:
    """Return (q, v) after steps from a time [s]; all must be good."""
    for n in range(steps):
        found = make_step(scheme, system, time + n * step, step, q, v)
        assert found is not None
        q, v = found
    return q, v
