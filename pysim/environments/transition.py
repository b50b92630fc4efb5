"""Outcome of a control step of an environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pysim.typing import Array


class Transition(NamedTuple):
    """Observations (n, size), rewards, ends and truncations (n,) of a control step."""

    observations: NDArray[Any]
    reward: Array
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
