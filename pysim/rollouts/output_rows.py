"""Rows of a rollout of scenes: the times at which its states are returned."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.simulation.run import output_times
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.rollouts.request import Request
    from pysim.scene.spec import Settings


@dataclass(frozen=True)
class RowBlock:
    """Equidistant rows from `start` [s]: each is `length` [s] after the one before."""

    start: float
    length: float
    rows: int
    # [s], of the last row, where rounding would miss the duration by a bit
    end: float | None = None

    @property
    def times(self) -> Array:
        """Times of the rows [s]."""
        times = np.asarray(self.start + self.length * np.arange(1, self.rows + 1))
        if self.end is not None:
            times[-1] = self.end
        return times


def row_blocks(settings: Settings, start: float, request: Request) -> list[RowBlock]:
    """Return the rows after `start` [s]: as requested, or at multiples of the output interval and the end."""
    if request.steps is not None:
        every = 1 if request.every is None else request.every
        if request.steps < 0 or every < 1 or request.steps % every:
            problem = f"every must divide the number of steps, {request.steps}, got {every}"
            raise ValueError(problem)
        return [RowBlock(start, settings.step * every, request.steps // every)]
    if request.every is not None:
        raise ValueError("every is a number of steps; give steps as well, or leave it out")
    intervals = len(list(output_times(settings.duration, settings.every))) - 1
    even = abs(intervals * settings.every - settings.duration) <= 1e-9 * settings.every
    first = intervals if even else intervals - 1
    blocks = []
    for begin, length, rows in (
        (0.0, settings.every, first),
        (first * settings.every, settings.duration - first * settings.every, intervals - first),
    ):
        if rows:
            blocks.append(RowBlock(start + begin, length, rows))
    if blocks and start == 0.0:
        blocks[-1] = replace(blocks[-1], end=settings.duration)
    return blocks
