"""Parameters of worlds by which losses are differentiated: the engine's numbers that follow from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim._engine import SignalSource
from pysim.errors import SimulationError
from pysim.mechanism.model_numbers import Table
from pysim.typing import Array
from pysim.worlds.argument_checks import checked_names
from pysim.worlds.parameters.number_slopes import NumberSlopes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pysim.elements.graph_types import CompiledSignals
    from pysim.simulation.worlds import Worlds

SUMS = ("theta", "laws")  # cotangents of numbers, which steps add to
_INERTIA = 12  # place of θ among the numbers of a body
_UNREAD = ("plane_bodies", "plane_loops", "plane_points")  # that follow from other numbers
# step of central differences of the numbers that follow from a parameter, relative to it
_PART = 1e-4


class Parameters:
    """Numbers of the engine that follow from parameters of worlds, and their slopes.

    Those of bodies and of laws have cotangents in all worlds; worlds may differ in the others from now on.

    Args:
        worlds: with the parameters.
        by: paths of the parameters.
        reads_signals: whether losses read signals.
    """

    def __init__(self, worlds: Worlds, by: Sequence[str], *, reads_signals: bool = False) -> None:
        by = checked_names(by, "by")
        if by and worlds._records.scenes is not None:  # noqa: SLF001
            problem = "worlds of a list of scenes have no derivatives by numbers"
            raise SimulationError(
                "by", f"{problem}; take worlds of one scene, and write their parameters"
            )
        self._chosen = dict(zip(by, worlds.parameters.open(by), strict=True))
        self._slopes = worlds.parameters.slopes(by, _PART)
        if not by:
            return
        numbers = worlds.parameters.numbers
        place = np.full(len(numbers.values), -1)  # of the cotangents, by number
        bodies = numbers.table("bodies")
        laws = numbers.tables.get("laws", [Table(0, 0, 0)])[0]  # of contacts that are solved
        law = laws.place + np.arange(laws.size * laws.records)
        theta = bodies.place + bodies.size * np.arange(bodies.records)[:, None] + _INERTIA
        place[law] = 10 * bodies.records + np.arange(law.size)
        place[(theta + np.arange(10)).ravel()] = np.arange(10 * bodies.records)
        unread = np.zeros(len(place), bool)
        for name in _UNREAD:
            for table in numbers.tables.get(name, []):
                unread[table.place : table.place + table.size * table.records] = True
        for path, (places, slopes) in self._slopes.items():
            used = (slopes != 0).any(axis=(0, 1)) & ~unread[places]
            self._slopes[path] = NumberSlopes(places[used], slopes[:, :, used])
        used = np.concatenate([places for places, _ in self._slopes.values()])
        read = place[used] < 0
        if _computes_dynamics(worlds._scene.signals, reads_signals=reads_signals):  # noqa: SLF001
            read |= np.isin(used, theta + np.arange(10))
        worlds.parameters.differ_in(used[read])
        varied = worlds._records.varied.places  # noqa: SLF001
        others, first = place[varied] < 0, 10 * bodies.records + law.size
        place[varied[others]] = first + np.flatnonzero(others)
        # cotangents of inertias, and of the same numbers in inverse dynamics of signals
        self._same = place[varied[~others]], first + np.flatnonzero(~others)
        self._slopes = {
            path: NumberSlopes(place[own.places], own.slopes) for path, own in self._slopes.items()
        }

    @property
    def sums(self) -> tuple[str, ...]:
        """Names of the cotangents of inertias and laws, if there are parameters."""
        return SUMS if self._chosen else ()

    def of_surfaces(self) -> list[str]:
        """Return the paths of numbers of materials and contacts."""
        return [path for path, own in self._chosen.items() if own.kind in ("materials", "contact")]

    def derivatives(self, bars: Mapping[str, Array]) -> dict[str, Array]:
        """Return derivatives by the parameters, from those by inertias, laws and other numbers (n, …)."""
        derivatives: dict[str, Any] = {}
        if not self._slopes:
            return derivatives
        bar = np.concatenate([bars[name] for name in (*SUMS, "numbers")], axis=1)
        bar[:, self._same[0]] += bar[:, self._same[1]]
        for path, (places, slopes) in self._slopes.items():
            # sums have one order for any number of worlds, and zeros of others change no bit
            sums = np.add.accumulate(slopes * bar[:, None, places], axis=2)
            own = sums[:, :, -1:].sum(axis=2)
            derivatives[path] = own if self._chosen[path].is_list else own[:, 0]
        return derivatives


def _computes_dynamics(signals: CompiledSignals | None, *, reads_signals: bool) -> bool:
    """Return whether programs of signals that act, or are read, compute inverse dynamics, or wrenches of joints."""
    if signals is None:
        return False
    own = signals.description
    programs = (own.forces, *own.blocks, *[own.readings] * reads_signals)
    return any(
        program is not None
        and (
            program.calls or any(source is SignalSource.reaction for source, _, _ in program.inputs)
        )
        for program in programs
    )
