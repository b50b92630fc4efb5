"""Timing side by side.

Candidates take turns in one run, so that a noisy machine is unfair to all alike; time is the processor's, so that what
others run in between does not count, or the wall's for what runs on several threads.
"""

from __future__ import annotations

import time
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def seconds(
    work: Callable[[], object], calls: int, clock: Callable[[], float] = time.process_time
) -> float:
    """Mean time of one call [s]."""
    start = clock()
    for _ in range(calls):
        work()
    return (clock() - start) / calls


def calls_for(work: Callable[[], object], budget: float) -> int:
    """Return how many calls fill about `budget` [s]."""
    work()
    once = max(seconds(work, 1), 1e-7)
    return max(1, int(budget / once))


def take_turns(
    candidates: Mapping[str, Callable[[], object]],
    *,
    rounds: int = 11,
    budget: float = 0.02,
    clock: Callable[[], float] = time.process_time,
) -> dict[str, float]:
    """Median time of one call of each candidate [s], over rounds in which the candidates alternate."""
    calls = {name: calls_for(work, budget) for name, work in candidates.items()}
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, work in candidates.items():
            times[name].append(seconds(work, calls[name], clock))
    return {name: median(values) for name, values in times.items()}
