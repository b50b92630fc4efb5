"""Places of a graph's states, held numbers and inputs among the numbers that the engine keeps of a world."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from pysim._engine import SignalSource
from pysim.elements.channels import MOST_NUMBERS, MOST_OF_ALL
from pysim.elements.graph.block_channels import (
    check_count,
    count_text,
    memory_of,
    states_of,
)
from pysim.elements.graph_types import CONTACT_NUMBERS
from pysim.errors import JointError, PysimError
from pysim.tracing.author_code import method_place
from pysim.tracing.random_numbers import world_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pysim.elements.channels import Channel
    from pysim.elements.graph.signal_references import SignalReferences
    from pysim.elements.graph_types import GraphBlock
    from pysim.elements.signal_inputs import SignalInputs
    from pysim.tracing.expression import Scalar


class StatePlaces:
    """Places of the numbers that a graph keeps from instant to instant.

    Args:
        blocks: of the graph, by name.
        references: of its signals.
        symbols: inputs of its programs.
        seed: of the random numbers.
        works: number of elements whose work is integrated.
    """

    def __init__(
        self,
        blocks: Mapping[str, GraphBlock],
        references: SignalReferences,
        symbols: SignalInputs,
        seed: int,
        works: int,
    ) -> None:
        self._blocks, self._references, self._symbols = blocks, references, symbols
        self._seed, self._works = seed, works
        self.of: dict[tuple[str, str], list[int]] = {}  # by block and channel
        self.start: list[float] = []  # numbers at the start
        self.contacts: dict[str, list[int]] = {}  # of contact sensors, by name
        self.gates: dict[int, list[int]] = {}  # by the number of the event that closes them
        self.gates_of: dict[str, list[int]] = {}  # by the name of the block
        self.key: int | None = None  # of random numbers

    def allot(self) -> int:
        """Give every state, integral, then held number its place; return the number of states and integrals."""
        for block in self._references.inputs_first():
            if block.plugin is not None and block.kind in ("controller", "actuator", "sensor"):
                with suppress(PysimError):  # reported where it is read
                    self._references.size_of_inputs(block)
        for block in self._blocks.values():
            if block.kind in ("controller", "actuator", "force", "sensor") and block.period is None:
                self._allot_channels(block, states_of(block.plugin))
        self.take(self._works)
        states = len(self.start)
        for block in self._blocks.values():
            if block.period is not None:
                self._allot_channels(block, [*states_of(block.plugin), *memory_of(block.plugin)])
            if block.kind == "signal" and block.plugin is None:  # given from outside
                places = self.of[block.name, "value"] = self.take(block.size)
                for place, value in zip(places, block.start or (0.0,) * block.size, strict=True):
                    self.start[place] = value
        for block in self._blocks.values():
            if block.touched is not None:
                self.contacts[block.name] = self.take(CONTACT_NUMBERS)
        return states

    def take(self, count: int) -> list[int]:
        """Return new places of numbers that start at 0."""
        first = len(self.start)
        self.start += [0.0] * count
        return list(range(first, first + count))

    def _allot_channels(self, block: GraphBlock, channels: Iterable[Channel]) -> None:
        start = dict(block.plugin.start()) if hasattr(block.plugin, "start") else {}
        for channel in channels:
            values = np.atleast_1d(np.asarray(start.get(channel.name, 0.0), float))
            is_fixed = isinstance(channel.size, int)
            size = channel.numbers(1 if is_fixed else self._references.size_of_inputs(block))
            check_count(block, f"{channel.name!r} has", size, MOST_NUMBERS)
            check_count(block, "with those before keeps", len(self.start) + size, MOST_OF_ALL)
            if values.shape not in {(1,), (size,)}:
                where = method_place(block.plugin, "start")
                given = " × ".join(map(str, values.shape))
                raise JointError(
                    where, f"must give {channel.name!r} {count_text(size)}, got {given}"
                )
            values = np.broadcast_to(values, (size,))
            places = self.take(size)
            for place, value in zip(places, values, strict=True):
                self.start[place] = float(value)
            self.of[block.name, channel.name] = places

    def random_key(self) -> Scalar:
        """Return the key of the world's random numbers, which is a number of its state."""
        if self.key is None:
            self.key = self.take(1)[0]
            self.start[self.key] = float(world_key(self._seed, 0))
        return self._symbols.number(SignalSource.state, self.key)

    def state_names(self, coupled: int) -> tuple[str, ...]:
        """Return the names of the first `coupled` numbers, which are states."""
        names = [""] * coupled
        for (block, channel), places in self.of.items():
            for k, place in enumerate(places):
                if place < coupled:
                    many = f"[{k}]" if len(places) > 1 else ""
                    names[place] = f"{block}.{channel}{many}"
        return tuple(names)

    def nodes(self, places: Sequence[int]) -> list[int]:
        """Return the nodes of the numbers at places."""
        return [self._symbols.number(SignalSource.state, place).index for place in places]

    def held(self, block: str, channel: str) -> list[int]:
        """Return the nodes of a channel's numbers."""
        return self.nodes(self.of[block, channel])

    def gate(self, block: str, event: int) -> int:
        """Return the node of a number that is 1 until an event, and 0 from it on."""
        place = self.take(1)[0]
        self.start[place] = 1.0
        self.gates.setdefault(event, []).append(place)
        self.gates_of.setdefault(block, []).append(place)
        return self.nodes([place])[0]
