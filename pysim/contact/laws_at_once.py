"""Laws of many pairs of surfaces at once: pairs whose laws have the same formula, with numbers of their own."""

from __future__ import annotations

from dataclasses import fields, replace
from operator import is_
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.contact.laws import Load, PairLaw, pair_law
from pysim.scene.spec import SurfaceSpec

if TYPE_CHECKING:
    from collections.abc import Sequence


Surfaces = tuple[SurfaceSpec, SurfaceSpec, SurfaceSpec | None]  # as `pair_law` takes them

_Stack = tuple[tuple[SurfaceSpec | None, ...], SurfaceSpec | None]  # surfaces, and those as one

_FIELDS = tuple(field.name for field in fields(SurfaceSpec) if field.name != "where")
_PLAIN = ("young", "poisson", "restitution", "dissipation")  # numbers that choose the formula


def law_kind(surfaces: Surfaces, load: Load) -> object:
    """Return what is equal for pairs whose laws have the same formula, so that one evaluation gives them all."""
    hertz = any(own is not None and own.young is not None for own in surfaces)
    kinds = tuple(None if own is None else _surface_kind(own) for own in surfaces)
    return kinds, load.radius if hertz else None, load.default_sink


class LawGroup:
    """Pairs of one kind, whose laws are computed at once.

    Args:
        rows: their numbers.
        loads: of each pair, whose masses and gravity are left aside.
    """

    def __init__(self, rows: Sequence[int], loads: Sequence[Load]) -> None:
        self.rows = list(rows)
        self._load = replace(loads[0], points=_stacked([own.points for own in loads]))
        self._stacks: list[_Stack] = [((), None)] * 3  # of the last call

    def law(
        self,
        surfaces: Sequence[Surfaces],
        masses: Sequence[Any],
        gravity: Any,  # noqa: ANN401, numbers or arrays
    ) -> PairLaw:
        """Return the law of the pairs, whose numbers are numbers, (k,) or (pairs, k), those of worlds.

        Args:
            surfaces: of each pair; their numbers may be arrays (k,), one number for each world.
            masses: of each pair, numbers or (k,) [kg].
            gravity: (k,) [m/s²].
        """
        for i, own in enumerate(zip(*surfaces, strict=True)):
            before = self._stacks[i][0]
            if len(before) != len(own) or not all(map(is_, own, before)):
                self._stacks[i] = own, _stacked_surface(own)
        first, second, changes = (stack for _, stack in self._stacks)
        assert first is not None
        assert second is not None
        # replace takes longer
        load = Load(
            _stacked(masses), gravity, self._load.points, self._load.radius, self._load.size
        )
        return pair_law(first, second, changes, load)


def _surface_kind(surface: SurfaceSpec) -> tuple[object, ...]:
    values = vars(surface)
    plain = tuple(_plain(values[name]) for name in _PLAIN)
    return (*(values[name] is None for name in _FIELDS), *plain)


def _plain(value: Any) -> object:  # noqa: ANN401, a number, an array, a pair of them, or None
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    return "array" if isinstance(value, np.ndarray) else value


def _stacked_surface(surfaces: Sequence[SurfaceSpec | None]) -> SurfaceSpec | None:
    """Return surfaces of one kind as one, whose numbers are numbers, (k,) or (pairs, k)."""
    first = surfaces[0]
    if first is None or all(own is first for own in surfaces):
        return first
    each = {name: [getattr(own, name) for own in surfaces] for name in _FIELDS}
    found: dict[str, Any] = {
        name: _stacked(own) for name, own in each.items() if name != "restitution"
    }
    found["restitution"] = first.restitution
    if first.restitution is not None:
        value = _stacked([own[0] for own in each["restitution"]])
        found["restitution"] = value, first.restitution[1]
    return SurfaceSpec(**found)


def _stacked(numbers: Sequence[Any]) -> Any:  # noqa: ANN401, numbers or arrays (k,), or None
    """Return a number, (k,) or (pairs, k); None if there are none."""
    first = numbers[0]
    if all(own is first for own in numbers):
        return first
    if not any(isinstance(own, np.ndarray) for own in numbers):
        same = all(own == first for own in numbers)
        return first if same else np.array(numbers, float)[:, None]
    return np.stack(np.broadcast_arrays(*numbers, subok=True))
