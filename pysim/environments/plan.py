"""Plan of an environment: its `[environment]` tables, checked against the scene, with the places of all numbers.

The engine reads each field of these records under its name (cpp/bindings/bind_environment.cpp).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pysim.environments.randomised import Randomised
    from pysim.sweeps.parameters import Distribution
    from pysim.typing import Array


@dataclass(frozen=True)
class NumberRange:
    """Numbers of a world that follow one another: of its signals, its last action, and the change of that."""

    first: int
    count: int


class EndPlan(NamedTuple):
    """A condition that ends an episode: some number is below or above a bound, infinite for none."""

    name: str
    signal: str
    x: NumberRange
    below: float
    above: float


class RewardPlan(NamedTuple):
    """A term of the reward: weight times the kernel of numbers, or 1 where an end holds."""

    name: str
    signal: str
    x: NumberRange
    kernel: str  # of `reward_kernels` in cpp/engine/environment_tables.cpp
    end: int  # that is rewarded, -1 for none
    weight: float
    width: float


class ObservationPlan(NamedTuple):
    """A signal that is observed."""

    signal: str
    x: NumberRange


class DrawPlan(NamedTuple):
    """Numbers that are drawn together, their places, and the use of their random numbers."""

    distributions: list[Distribution]
    places: list[int]
    use: int


class SchedulePlan(NamedTuple):
    """When something recurs: every so many control steps, 0 for never; or -1, after times that are drawn [s]."""

    every: int
    time: Distribution
    use: int


class ChangePlan(NamedTuple):
    """Random numbers that are drawn anew on a schedule: added to velocities, or set as inputs."""

    pushes: bool
    drawn: DrawPlan
    schedule: int  # number of it


class LevelPlan(NamedTuple):
    """A level of a curriculum: a displacement of starts, and numbers of the scene."""

    displacement: DrawPlan
    randomised: tuple[Randomised, ...]


class CurriculumPlan(NamedTuple):
    """Levels that rise and fall with the mean of a term of the reward."""

    reward: int  # number of the term
    rise: float
    fall: float
    first: int  # highest level of first episodes
    levels: tuple[LevelPlan, ...]


@dataclass(frozen=True)
class Plan:
    """Everything that an environment does, in the numbers of its worlds."""

    # actions
    input: str  # that actions set
    first_input: int  # place of the first of its numbers
    scale: Array
    offset: Array
    lowest: float
    highest: float
    # control steps
    signals: int  # numbers of all signals of a world
    every: int  # steps of the scene in a control period
    period: float  # [s]
    length: int  # control steps of an episode
    # ends, rewards and observations
    ends: tuple[EndPlan, ...]
    rewards: tuple[RewardPlan, ...]
    observed: tuple[ObservationPlan, ...]
    names: tuple[str, ...]  # of the numbers of an observation
    factors: Array  # of the numbers of an observation
    deviations: Array
    limit: float
    history: int
    critic: tuple[ObservationPlan, ...]
    groups: Mapping[str, tuple[ObservationPlan, ...]]
    # what is drawn
    keyframes: tuple[str | None, ...]  # of starts; None for the scene's start
    displacement: DrawPlan
    velocity: DrawPlan
    changes: tuple[ChangePlan, ...]
    schedules: tuple[SchedulePlan, ...]
    randomised: tuple[Randomised, ...]
    curriculum: CurriculumPlan | None

    def drawn_times(self) -> list[int]:
        """Return the numbers of the schedules whose times are drawn."""
        return [k for k, schedule in enumerate(self.schedules) if schedule.every < 0]

    def recurring(self) -> tuple[Randomised, ...]:
        """Return the numbers of the scene that are drawn anew within an episode."""
        return tuple(own for own in self.randomised if self.schedules[own.schedule].every)

    def columns(self, k: int) -> NDArray[np.intp]:
        """Return the columns of an observation that the k-th observed signal fills, with its history."""
        first = sum(own.x.count for own in self.observed[:k])
        frame = np.arange(first, first + self.observed[k].x.count)
        return np.asarray((np.arange(self.history)[:, None] * len(self.factors) + frame).ravel())
