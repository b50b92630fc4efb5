"""Failed step of a world: why the engine left it, and the last good state; `diagnosis` writes its error."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pysim.mechanism.model import State
    from pysim.typing import Array
    from pysim.worlds.loading import Scene


class Status(IntEnum):
    """State of a world's life (cpp/stepping/world_record.hpp)."""

    RUNNING = 0
    UNSOLVED = 1
    DIVERGED = 2
    WRITTEN = 3
    UNDERFLOW = 4
    BLURRED = 5
    ENDED = 6  # by an event


@dataclass(frozen=True)
class Failure:
    """Failed step of a world."""

    scene: Scene  # of the world, with its parameters
    t: float  # [s] of the last good state
    state: State  # the last good one, or one that was written and cannot be
    numbers: Array | None  # of the signals then (signal_numbers,)
    step: float  # [s] that failed
    why: Status
    worst: int  # coordinate of v, or contact point of convex steps, that converged worst or had the largest error
    error: Exception | None = None  # that a scheme in Python raised
