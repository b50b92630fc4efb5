"""Numbers in which the overrides of a world differ from the first world's, by their place in the tables."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.scene.toml.number_texts import TABLE as EXPRESSIONS
from pysim.scene.toml.plausibility import is_plausible
from pysim.scene.toml.plugin_keys import PARAMETERS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from pysim.scene.toml.number_texts import Expressions
    from pysim.scene.toml.reader import ReadScene
    from pysim.scene.toml.source import Steps

    Number = float | int
    Numbers = Number | list[Any]

GRAVITY = "gravity"
_LARGEST_INTEGER = 2**63  # beyond the integers that TOML allows


class UnlikeWorldError(Exception):
    """A world differs from the first one in more than numbers, and has to be read in full."""


class WorldNumbers:
    """Numbers of the first world, with which those of others are compared.

    Args:
        read: the first world.
        tables: names of the lists of tables whose numbers may differ.
        expressions: returns the expressions of the file.
    """

    def __init__(
        self, read: ReadScene, tables: Collection[str], expressions: Callable[[], Expressions]
    ) -> None:
        self._read, self._tables, self._make_expressions = read, tables, expressions
        self._places: dict[Steps, tuple[Steps, object]] = {}

    def changed(self, overrides: Mapping[str, object]) -> dict[Steps, Numbers]:
        """Return the numbers that differ, by their place in the tables.

        Raises:
            UnlikeWorldError: the world may differ in more than these.
            ExpressionError: an expression has no finite value.
        """
        first = self._read.spec.overrides
        if overrides.keys() != first.keys():
            raise UnlikeWorldError
        changes: dict[Steps, Numbers] = {}
        parameters: dict[str, Number] = {}
        for key, value in overrides.items():
            if value is first[key]:
                continue
            numbers = _numbers_of(value)
            if isinstance(first[key], str) or key not in self._paths:
                raise UnlikeWorldError
            path = self._paths[key]
            if path[0] == EXPRESSIONS and len(path) == 2 and not isinstance(numbers, list):
                parameters[str(path[1])] = numbers
            else:
                changes[self._table_path(path, numbers)] = numbers
        if parameters:
            changes |= self._evaluated(parameters)
        return changes

    @cached_property
    def _paths(self) -> dict[str, Steps]:
        """Path of every override of a single value."""
        return {
            option.removeprefix("--set "): steps
            for steps, option in self._read.source.overridden.items()
        }

    @cached_property
    def _expressions(self) -> Expressions:
        return self._make_expressions()

    def _evaluated(self, parameters: Mapping[str, Number]) -> dict[Steps, Numbers]:
        """Return the numbers that depend on expressions, with some of the `[parameters]` changed."""
        found: dict[Steps, Numbers] = {}
        for path, number in self._expressions.evaluate(parameters).items():
            if path[0] == EXPRESSIONS:
                if not is_plausible(path, number):
                    raise UnlikeWorldError
            elif path[0] == GRAVITY or path[0] in self._tables:
                found[self._table_path(path, number)] = number
            elif repr(value_at(self._read.values, path)) != repr(number):
                raise UnlikeWorldError
        return found

    def _table_path(self, path: Steps, numbers: Numbers) -> Steps:
        """Return the path in the tables of a key of the file; those of plugins have tables of their own."""
        if path not in self._places:
            self._places[path] = self._first_at(path)
        place, first = self._places[path]
        if not _is_alike(first, numbers):
            raise UnlikeWorldError
        return place

    def _first_at(self, path: Steps) -> tuple[Steps, object]:
        """Return the place of a path of the file in the tables, and what the first world has there."""
        nested = (*path[:2], PARAMETERS, *path[2:])
        found = [
            (place, value)
            for place in (path, nested)
            if place[0] == GRAVITY or (place[0] in self._tables and len(place) > 2)
            if (value := value_at(self._read.values, place)) is not None
        ]
        if len(found) != 1:
            raise UnlikeWorldError
        return found[0]


def value_at(values: Any, steps: Steps) -> Any:  # noqa: ANN401, whatever TOML can hold
    """Return what is at a path, None if there is nothing."""
    for step in steps:
        if isinstance(values, dict):
            values = values.get(step)
        elif isinstance(values, list) and isinstance(step, int) and step < len(values):
            values = values[step]
        else:
            return None
    return values


def _numbers_of(value: object) -> Numbers:
    """Return a finite number, or a list of them, as Python's."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if type(value) is float and math.isfinite(value):
        return value
    if type(value) is int and abs(value) < _LARGEST_INTEGER:
        return value
    if isinstance(value, (list, tuple)):
        return [_numbers_of(item) for item in value]
    raise UnlikeWorldError


def _is_alike(value: object, other: object) -> bool:
    """Return whether two values are numbers, or lists of as many numbers."""
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(_is_alike, value, other))
    return type(value) in (float, int) and type(other) in (float, int)
