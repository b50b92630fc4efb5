"""Derivatives of the engine's numbers by parameters of worlds: differences of fourth order.

f′ = (8 (f(½) − f(−½)) − (f(1) − f(−1))) / 6 h        f(s) at p + s h
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pysim.worlds.parameters.parameter import Parameter
    from pysim.worlds.parameters.varied_scene import VariedScene

_MOVES = ((1.0,), (-1.0,), (0.5,), (-0.5,))
_MOST_ROWS = 1 << 14  # of values that are moved at once


class NumberSlopes(NamedTuple):
    """Derivatives of the engine's numbers at some places; others do not follow from the parameter."""

    places: NDArray[np.intp]
    slopes: Array  # (n, size, places), n of 1 for all worlds


def number_slopes(
    scene: VariedScene,
    known: Mapping[str, Parameter],
    values: Mapping[str, Array],
    parameters: Sequence[Parameter],
    part: float,
) -> list[NumberSlopes]:
    """Return the derivatives of the engine's numbers by parameters.

    Args:
        scene: of the worlds.
        known: parameters that worlds have, by name.
        values: of these, (n, size) or (1, size) where worlds do not differ.
        parameters: by which derivatives are taken, which are known.
        part: step of the differences, relative to a parameter.
    """
    count = max((len(own) for own in values.values()), default=1)
    values = {name: np.broadcast_to(own, (count, own.shape[1])) for name, own in values.items()}
    # the numbers of scenes that are compiled for other values follow from no others of the scene
    compiled = {
        name
        for name, x in values.items()
        if scene.is_compiled(known[name]) and (x != known[name].start).any()
    }
    largest = max((len(own.start) for own in parameters), default=1)
    most = 1 if compiled else max(1, _MOST_ROWS // (len(_MOVES) * count * largest))
    alone = [own for own in parameters if scene.is_compiled(own)]
    others = [own for own in parameters if not scene.is_compiled(own)]
    groups = [[own] for own in alone]
    groups += [others[k : k + most] for k in range(0, len(others), most)]
    found: dict[str, NumberSlopes] = {}
    for group in groups:
        slopes = _slopes(scene, known, values, group, compiled, part)
        found.update(zip((own.name for own in group), slopes, strict=True))
    return [found[own.name] for own in parameters]


def _slopes(
    scene: VariedScene,
    known: Mapping[str, Parameter],
    values: Mapping[str, Array],
    parameters: Sequence[Parameter],
    compiled: set[str],
    part: float,
) -> list[NumberSlopes]:
    """Return derivatives by parameters whose numbers are moved one after the other, beside values (n, size) of all."""
    ends = np.cumsum([len(own.start) for own in parameters])
    count, total, moves = len(next(iter(values.values()))), int(ends[-1]), len(_MOVES)
    middle = np.concatenate([values[own.name] for own in parameters], axis=1)
    has_size = np.isfinite(middle) & (middle != 0)  # limits that a joint does not have are infinite
    steps = part * np.where(has_size, np.abs(middle), 1.0)
    along = np.tile(np.eye(total), (count, 1)) * np.repeat(steps, total, axis=0)
    moved = {name: np.tile(np.repeat(x, total, axis=0), (moves, 1)) for name, x in values.items()}
    by_parameter = np.split(np.kron(_MOVES, along), ends[:-1], axis=1)
    for own, change in zip(parameters, by_parameter, strict=True):
        moved[own.name] += change
    written = {own.name for own in parameters} | compiled
    changed = scene.changed(known, moved, written, moves * count * total)
    # none follow from materials where nothing can touch
    rows = np.concatenate([np.zeros((len(along) * moves, 0)), *(x.values for x in changed)], axis=1)
    up, down, half_up, half_down = rows.reshape(moves, count, total, rows.shape[1])
    slopes = (8 * _difference(half_up, half_down) - _difference(up, down)) / (6 * steps[:, :, None])
    places = np.concatenate([np.zeros(0, int), *(x.places for x in changed)])
    return [NumberSlopes(places, own) for own in np.split(slopes, ends[:-1], axis=1)]


def _difference(x: Array, y: Array) -> Array:
    """Return x − y, and 0 where both are the same infinite number, such as a bound that a force does not have."""
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    return np.subtract(x, y, out=np.zeros_like(x), where=~same)
