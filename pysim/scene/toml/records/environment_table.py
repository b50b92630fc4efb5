"""The `[environment]` table of a scene: what a learner sees, does and is rewarded for."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PlainValidator, WithJsonSchema, model_validator

from pysim.scene.toml.records.keys import (
    Name,
    NotNegative,
    Numbers,
    Positive,
    PositiveInteger,
    error_text,
    key,
)
from pysim.scene.toml.records.table import Table


def _interval(value: object) -> float | str:
    if isinstance(value, str):
        return value
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not (value > 0 and math.isfinite(value))
    ):
        raise error_text(f'must be positive, or a distribution "uniform(5, 10)", got {value!r}')
    return float(value)


Interval = Annotated[
    float | str,
    PlainValidator(_interval),
    WithJsonSchema({"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string"}]}),
]


def _drawn(value: object) -> object:
    if not isinstance(value, str):
        raise error_text(f'must be a distribution in quotes, "uniform(-1, 1)", got {value!r}')
    return value


def _drawn_numbers(value: object) -> object:
    return value if isinstance(value, list) else _drawn(value)


def _drawn_or_number(value: object) -> object:
    return value if isinstance(value, int | float) else _drawn(value)


Drawn = Annotated[str, BeforeValidator(_drawn)]
DrawnNumber = Annotated[str | float, BeforeValidator(_drawn_or_number)]
DrawnNumbers = Annotated[str | list[str | float], BeforeValidator(_drawn_numbers)]


class Action(Table):
    """Action of an environment: it sets an input to offset + scale · action."""

    input: Name = key(..., "", "the input of the scene that actions set")
    scale: Numbers = key([1.0], "", "of the actions, one or one for each number")
    offset: Name | Numbers = key(
        [0.0], "", "values at action 0, or a keyframe: its commands, else q"
    )
    range: Annotated[list[float], Field(min_length=2, max_length=2)] = key(
        [-1.0, 1.0], "", "of every number; an action beyond it is clipped to it"
    )

    @model_validator(mode="after")
    def _ascends(self) -> Action:
        if not self.range[0] < self.range[1]:
            raise error_text(f"range must ascend, got {self.range}")
        return self


class Kernel(Table):
    """A function of a signal x; one of its keys."""

    exponential: Positive | None = key(None, "", "exp(−|x|²/exponential)")
    norm: Literal[1, 2] | None = key(None, "", "1: the sum of magnitudes |x|₁; 2: the square |x|²")

    @model_validator(mode="after")
    def _has_one_key(self) -> Kernel:
        if (self.exponential is None) == (self.norm is None):
            raise error_text("must have one of exponential and norm")
        return self

    def entry(self) -> tuple[str, float]:
        """Return the name of the kernel in the engine (`reward_kernels`), and its width."""
        if self.exponential is not None:
            return "exponential", self.exponential
        return "absolute_sum" if self.norm == 1 else "square_sum", 0.0


class Reward(Table):
    """A term of the reward of a control step: weight · kernel(signal)."""

    name: Name = key(..., "", "of the term")
    signal: Name = key(..., "", "a signal, `last_action`, `action_rate`, or the name of an end")
    weight: float = key(1.0, "", "of the term; negative for a cost")
    kernel: Kernel | None = key(None, "", "of the signal; by default its only number itself")


class End(Table):
    """A condition that ends an episode for good."""

    name: Name = key(..., "", "of the end")
    signal: Name = key(..., "", "a signal of one number, or of several, one of them has to hold")
    below: float | None = key(None, "unit of the signal", "ends when the signal is below")
    above: float | None = key(None, "unit of the signal", "ends when the signal is above")

    @model_validator(mode="after")
    def _has_limit(self) -> End:
        if self.below is None and self.above is None:
            raise error_text("must have below or above")
        if self.below is not None and self.above is not None and self.below > self.above:
            problem = f"every number is below {self.below:g} or above {self.above:g}"
            raise error_text(f"{problem}; exchange them")
        return self


class Command(Table):
    """An input of the scene that is drawn anew, such as the velocity that a robot is to follow."""

    input: Name = key(..., "", "the input")
    values: list[str | float] = key(..., "", 'of its numbers: "uniform(-1, 1)", or a number')
    every: Interval | None = key(
        None, "s", "between draws, or their distribution; at the start of an episode alone"
    )


class EpisodeStart(Table):
    """Starts of episodes, drawn about the scene's start or keyframes."""

    keyframe: Name | Annotated[list[Name], Field(min_length=1)] | None = key(
        None, "", "the keyframe, or several: each start draws one; the scene's start by default"
    )
    displacement: dict[str, Drawn] = key(
        {}, "m or rad", "distributions by velocity name, such as hinge or base.wz; * matches any"
    )
    velocity: dict[str, Drawn] = key(
        {}, "m/s or rad/s", "distributions of what is added, by velocity name"
    )


class Push(Table):
    """A change of velocities that comes again and again."""

    velocity: dict[str, Drawn] = key(
        ..., "m/s or rad/s", "distributions of what is added, by velocity name", min_length=1
    )
    every: Interval = key(..., "s", 'between pushes, or their distribution, "uniform(5, 10)"')


class Randomise(Table):
    """Numbers of the scene in which worlds differ; one of scale, add and value."""

    path: Name = key(..., "", "of a number, such as body.trunk.mass; * and ? match any")
    scale: DrawnNumbers | None = key(
        None, "", 'a distribution of factors, "uniform(0.9, 1.1)", or one for each number'
    )
    add: DrawnNumbers | None = key(
        None, "unit of the number", "distributions of what is added, one for each number"
    )
    value: DrawnNumbers | None = key(
        None, "unit of the number", "distributions of values, one for each number"
    )
    at: Literal["reset", "start"] = key("reset", "", "drawn at every reset, or once")
    every: Interval | None = key(
        None, "s", "drawn anew so often in an episode, too; may be a distribution"
    )

    @model_validator(mode="after")
    def _has_one_key(self) -> Randomise:
        given = [word for word in (self.scale, self.add, self.value) if word is not None]
        if len(given) != 1:
            raise error_text("must have one of scale, add and value")
        if self.at == "start" and self.every is not None:
            raise error_text('must have at = "start" or every, not both')
        return self


class Level(Table):
    """A level of a curriculum: where its episodes start, and numbers of the scene in them."""

    displacement: dict[str, DrawnNumber] = key(
        {}, "m or rad", "from the start, by velocity name: numbers or distributions"
    )
    values: Annotated[dict[str, DrawnNumber | list[str | float]], Field(max_length=64)] = key(
        {}, "unit of the number", "by path, as in randomise: numbers or distributions"
    )


class Curriculum(Table):
    """Levels of difficulty: a world's level rises and falls with the reward of its episodes."""

    reward: Name = key(..., "", "the term by whose mean over the control steps of an episode")
    rise: float = key(..., "", "mean above which the next episode is a level higher")
    fall: float = key(..., "", "mean below which it is a level lower")
    first: Annotated[int, Field(ge=0)] = key(
        0, "", "worlds begin at levels that are drawn from 0 to this"
    )
    level: list[Level] = key(
        ..., "", "the levels, the easiest first", min_length=2, max_length=1000
    )

    @model_validator(mode="after")
    def _is_ordered(self) -> Curriculum:
        if not self.fall < self.rise:
            raise error_text(f"fall must be below rise, {self.rise:g}, got {self.fall:g}")
        if self.first >= len(self.level):
            raise error_text(f"first must be below the number of levels, {len(self.level)}")
        return self


class Mirror(Table):
    """A plane about which the mechanism is its own mirror image: a learner learns from the image of samples, too."""

    normal: Literal["x", "y", "z"] = key(..., "", "the world's axis that is normal to the plane")
    signs: dict[str, list[Literal[-1, 1]]] = key(
        {}, "", "by input other than that of the action: of its numbers in the mirror; 1 by default"
    )


class Environment(Table):
    """An environment for learners; signals are those of the scene."""

    period: Positive = key(..., "s", "between two actions, a whole number of steps")
    duration: Positive = key(..., "s", "of an episode, which is truncated then")
    action: Action = key(..., "", "what actions do")
    observations: list[Name] = key(
        ..., "", "signals, `last_action` and `action_rate`", min_length=1
    )
    scales: dict[str, Numbers] = key({}, "", "by observation: factors of its numbers")
    noise: dict[str, NotNegative] = key(
        {}, "unit of the signal", "by observation: uniform noise within ± this, before its scale"
    )
    limit: Positive = key(100.0, "", "of the numbers of observations, which are clipped to ± this")
    history: PositiveInteger = key(1, "", "observations in a row, the oldest first", le=1000)
    critic: list[Name] = key([], "", "what a critic sees besides, without noise")
    groups: dict[str, list[Name]] = key(
        {}, "", "by name: signals of further observations, without noise, such as of a teacher"
    )
    reward: list[Reward] = key([], "", "terms of the reward")
    discount: Annotated[float, Field(ge=0, lt=1)] | None = key(
        None, "", "of a reward a control step later; by default the learner's"
    )
    end: list[End] = key([], "", "conditions that end an episode")
    command: list[Command] = key([], "", "inputs that are drawn")
    start: EpisodeStart = key(EpisodeStart(), "", "starts of episodes")
    push: list[Push] = key([], "", "pushes")
    randomise: list[Randomise] = key([], "", "numbers that differ from world to world")
    curriculum: Curriculum | None = key(None, "", "levels of difficulty; by default none")
    mirror: Mirror | None = key(None, "", "of the mechanism's left and right; by default none")
