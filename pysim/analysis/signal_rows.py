"""Rows of named signals after the steps of worlds, and their cotangents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import SimulationError
from pysim.typing import Array
from pysim.worlds.argument_checks import checked_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.simulation.worlds import Worlds

__all__ = ["SignalRows"]


class SignalRows:
    """Signals of losses, and places of their numbers among the readings of worlds.

    Args:
        worlds: of a scene with the signals.
        names: of the signals, or of single numbers such as `up.z`.

    Raises:
        SimulationError: there is no such signal.
    """

    def __init__(self, worlds: Worlds, names: Sequence[str]) -> None:
        self.signals = {name: worlds.signals.find(name) for name in checked_names(names, "signals")}
        #: whether some of them follow from accelerations, wrenches or contacts
        self.are_late = any(signal.is_late for signal in self.signals.values())
        parts = [np.arange(own.first, own.first + own.size) for own in self.signals.values()]
        #: (numbers,) places among the readings
        self.columns = np.concatenate([np.zeros(0, int), *parts])

    def __bool__(self) -> bool:
        return bool(self.signals)

    def check_single(self, name: str) -> None:
        """Check that a signal is one number.

        Raises:
            SimulationError: it is a list.
        """
        own = self.signals[name]
        if own.is_single:
            return
        number = f"{name}.{own.labels[0]}" if own.labels else f"{name}[0]"
        problem = f"signal {name!r} has {own.size} numbers"
        raise SimulationError("loss", f"{problem}; give the name of one, such as {number!r}")

    def shape(self, name: str, steps: int) -> tuple[int, ...]:
        """Return the shape of the rows of a signal in one world, (steps,) or (steps, size)."""
        own = self.signals[name]
        return (steps,) if own.is_single else (steps, own.size)

    def by_name(self, rows: Array) -> dict[str, Array]:
        """Return the rows of signals (…, steps) or (…, steps, size) by name, given the numbers of all (…, numbers)."""
        return {
            name: np.array(
                rows[..., first] if own.is_single else rows[..., first : first + own.size]
            )
            for (name, own), first in zip(self.signals.items(), self._firsts(), strict=True)
        }

    def side_by_side(self, by_name: object, shape: tuple[int, ...]) -> Array:
        """Return the numbers of all signals side by side (*shape, numbers), given the rows of each by name.

        Raises:
            SimulationError: a signal is missing, or a shape is wrong.
        """
        if not isinstance(by_name, Mapping) or by_name.keys() != self.signals.keys():
            names = ", ".join(map(repr, self.signals))
            problem = f"by signals must be a dictionary of {names}"
            raise SimulationError("loss", f"{problem}; give 0 * rows for one without influence")
        rows = np.empty((*shape, len(self.columns)))
        for (name, own), first in zip(self.signals.items(), self._firsts(), strict=True):
            of_name: Any = np.asarray(by_name[name], float)
            wanted = shape if own.is_single else (*shape, own.size)
            if of_name.shape != wanted:
                problem = f"by {name!r} must have shape {wanted}, got {of_name.shape}"
                raise SimulationError("loss", problem)
            rows[..., first : first + own.size] = of_name.reshape(*shape, own.size)
        return rows

    def _firsts(self) -> list[int]:
        sizes = [own.size for own in self.signals.values()]
        return [sum(sizes[:k]) for k in range(len(sizes))]
