"""Pairs of shapes that may touch, as columns of numbers: of many bodies there are many pairs, and few kinds of them.

A pair takes twenty bytes; its record is made where it is read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from pysim.contact.columns import Columns

Velocity = tuple[float, float, float]  # [m/s]
Value = TypeVar("Value")
AT_ONCE = 1 << 16  # pairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from pysim.contact.laws import PairLaw
    from pysim.contact.pairs import PlacedShape
    from pysim.scene.spec import GroundSpec
    from pysim.shapes import Shape
    from pysim.typing import Array


class ShapePair(NamedTuple):
    """A shape of a moving body, and the ground or the shape that it may touch, with the law between them."""

    pair: int  # among the pairs of links
    moving: PlacedShape
    opposite: PlacedShape | None  # None for a plane
    ground: GroundSpec | None  # None for a shape of a body
    law: PairLaw
    surface_velocity: Velocity  # of the opposite surface, in its body or the world [m/s]

    @property
    def body(self) -> int:
        """Body that moves."""
        return self.moving.body

    @property
    def shape(self) -> Shape:
        """Shape on that body."""
        return self.moving.shape

    @property
    def pose(self) -> Array:
        """Pose of the shape in the body (4, 4)."""
        return self.moving.pose

    @property
    def kinds(self) -> str:
        """Kinds of the shapes, one of a pair with a ground."""
        return (
            self.shape.kind
            if self.opposite is None
            else f"{self.opposite.shape.kind}, {self.shape.kind}"
        )


@dataclass(frozen=True, eq=False)
class ShapePairs(Columns[ShapePair]):
    """Pairs of shapes; `moving`, `opposite`, `surface` and `law` are indices of what pairs share."""

    columns: ClassVar = ("pair", "moving", "opposite", "surface", "law")
    placed: tuple[PlacedShape, ...]
    surfaces: tuple[tuple[GroundSpec | None, Velocity], ...]  # grounds, and velocities [m/s]
    laws: tuple[PairLaw, ...]
    pair: NDArray[np.int32]  # (n,) among the pairs of links
    moving: NDArray[np.int32]  # (n,) among the shapes
    opposite: NDArray[np.int32]  # (n,) likewise, −1 for a plane
    surface: NDArray[np.int32]  # (n,)
    law: NDArray[np.int32]  # (n,)

    @staticmethod
    def of(pairs: Iterable[ShapePair]) -> ShapePairs:
        """Return pairs as columns."""
        if isinstance(pairs, ShapePairs):
            return pairs
        shapes: Distinct[PlacedShape] = Distinct()
        surfaces: Distinct[tuple[GroundSpec | None, Velocity]] = Distinct()
        laws: Distinct[PairLaw] = Distinct()
        rows = [
            (
                p.pair,
                shapes.index(p.moving),
                -1 if p.opposite is None else shapes.index(p.opposite),
                surfaces.index((p.ground, p.surface_velocity), (id(p.ground), p.surface_velocity)),
                laws.index(p.law),
            )
            for p in pairs
        ]
        columns = np.array(rows, np.int32).reshape(-1, 5).T
        shared = tuple(shapes.values), tuple(surfaces.values), tuple(laws.values)
        return ShapePairs(*shared, *columns)

    def row(self, index: int) -> ShapePair:
        other = int(self.opposite[index])
        ground, velocity = self.surfaces[self.surface[index]]
        return ShapePair(
            int(self.pair[index]),
            self.placed[self.moving[index]],
            None if other < 0 else self.placed[other],
            ground,
            self.laws[self.law[index]],
            velocity,
        )

    def with_laws(self, laws: Sequence[PairLaw], law: NDArray[np.int32]) -> ShapePairs:
        """Return the pairs with other laws, `law` (n,) among them: equal ones are one, in the order of the pairs."""
        found: Distinct[PairLaw] = Distinct()
        same = np.array([found.index(own, own) for own in laws], np.int32)[law]
        first, which = first_places(same, len(found.values))
        order = np.argsort(first)
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order))
        distinct = tuple(found.values[k] for k in same[first[order]].tolist())
        return replace(self, laws=distinct, law=place[which])

    def of_pair(self, pair: int) -> Iterator[ShapePair]:
        """Yield the pairs of shapes of a pair of links."""
        return map(self.__getitem__, np.flatnonzero(self.pair == pair).tolist())


def first_places(keys: NDArray[Any], most: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where each of the distinct keys is first (m,), by ascending keys, and which of them every key is (n,).

    Args:
        keys: (n,), from 0 to most - 1.
        most: bound of the keys.
    """
    if most > 4 * len(keys):
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        return first, which
    place = np.full(most, len(keys))
    # the first one is set last
    for begin in range((len(keys) - 1) // AT_ONCE * AT_ONCE, -1, -AT_ONCE):
        part = keys[begin : begin + AT_ONCE]
        place[part[::-1]] = np.arange(begin + len(part) - 1, begin - 1, -1)
    used = np.flatnonzero(place < len(keys))
    number = np.zeros(most, np.int32)
    number[used] = np.arange(len(used))
    return place[used], number[keys]


class Distinct(Generic[Value]):
    """Values, each listed once, known by its identity or by a key."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self._places: dict[object, int] = {}

    def index(self, value: Value, key: object = None) -> int:
        """Return the place of a value, at the end if it is new."""
        own = id(value) if key is None else key
        place = self._places.setdefault(own, len(self.values))
        if place == len(self.values):
            self.values.append(value)
        return place
