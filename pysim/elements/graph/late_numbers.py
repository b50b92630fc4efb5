"""Numbers of a graph that exist only after the dynamics: accelerations, wrenches, and those of contact sensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim._engine import SignalSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.elements.graph.state_places import StatePlaces
    from pysim.elements.signal_inputs import SignalInputs


class LateNumbers:
    """Judgement of nodes by the inputs that they depend on.

    Args:
        symbols: inputs of the programs.
        places: of the numbers of contact sensors.
    """

    def __init__(self, symbols: SignalInputs, places: StatePlaces) -> None:
        self._symbols, self._places = symbols, places

    def is_measured(self, nodes: Sequence[int]) -> bool:
        """Whether nodes depend on accelerations or wrenches, which exist after the dynamics only."""
        late = {SignalSource.acceleration, SignalSource.port_acceleration, SignalSource.reaction}
        return any(source in late for source, _ in self._symbols.read_by(nodes))

    def is_touching(self, nodes: Sequence[int]) -> bool:
        """Whether nodes depend on numbers of contact sensors."""
        own = {place for places in self._places.contacts.values() for place in places}
        return bool(own) and any(
            source is SignalSource.state and index in own
            for source, index in self._symbols.read_by(nodes)
        )

    def is_late(self, nodes: Sequence[int]) -> bool:
        return self.is_measured(nodes) or self.is_touching(nodes)
