"""A part of a run, as those who make steps hand it to those who record it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class EventOccurrence:
    """An event: which of the scene's, when [s], in which state (nq,), (nv,)."""

    index: int
    t: float
    q: Array
    v: Array
    loop_q: Array  # (loop_nq,), near it


@dataclass(frozen=True)
class Segment:
    """The outputs reached (n,), (n, nq), (n, nv), and an event after them, if any."""

    t: Array
    q: Array
    v: Array
    loop_q: Array  # (n, loop_nq) at the outputs, or near them
    end: float  # how far the run has come [s]
    steps: int  # accepted
    event: EventOccurrence | None = None
