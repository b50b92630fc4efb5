"""Values of the signals of a graph: its blocks are evaluated when they are read, each after those that it reads."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING

from pysim._engine import SignalSource
from pysim.elements.channels import MOST_NUMBERS, MOST_OF_ALL
from pysim.elements.graph.block_channels import (
    TIME_DERIVATIVES,
    check_count,
    check_inputs,
    connected,
    count_text,
    kept_by,
)
from pysim.elements.graph.signal_units import per_time
from pysim.elements.units import connect_in
from pysim.errors import SceneError
from pysim.tracing.derivative import Derivative

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pysim.elements.channels import Channels
    from pysim.elements.graph.signal_references import SignalReferences
    from pysim.elements.graph.state_places import StatePlaces
    from pysim.elements.graph_types import GraphBlock
    from pysim.elements.signal_inputs import SignalInputs


@dataclass
class Outputs:
    """Outputs of a block: numbers and unit of each channel, by name."""

    numbers: dict[str, list[int]]
    units: dict[str, str]


class SignalValues:
    """Nodes of the signals of a graph.

    Args:
        blocks: of the graph, by name.
        symbols: inputs of its programs.
        references: of its signals.
        places: of its states and held numbers.
        evaluate: returns the outputs of a block, for which it reads the inputs.
    """

    def __init__(
        self,
        blocks: Mapping[str, GraphBlock],
        symbols: SignalInputs,
        references: SignalReferences,
        places: StatePlaces,
        evaluate: Callable[[GraphBlock], Outputs],
    ) -> None:
        self._blocks, self._symbols, self._references = blocks, symbols, references
        self._places, self._evaluate = places, evaluate
        self._values: dict[str, Outputs] = {}
        self._open: list[str] = []  # blocks being evaluated
        self._numbers = 0  # of all signals so far

    def of(self, name: str) -> Outputs:
        """Return the outputs of a block, which it computes from those of others first.

        Raises:
            SceneError: a loop of continuous blocks.
        """
        if name in self._values:
            return self._values[name]
        block = self._blocks[name]
        if name in self._open:
            members = self._open[self._open.index(name) :]
            first = members.index(min(members, key=list(self._blocks).index))  # of the scene
            members = [*members[first:], *members[:first]]
            raise _loop_error([self._blocks[k] for k in members])
        self._open.append(name)
        try:
            found = self._evaluate(block)
        finally:
            self._open.pop()
        self._values[name] = found
        self._numbers += sum(map(len, found.numbers.values()))
        check_count(block, "with those before has", self._numbers, MOST_OF_ALL)
        return found

    def read(self, block: GraphBlock, name: str, unit: str, what: str) -> list[int]:
        """Return the nodes of a signal that a block reads; its unit must fit.

        Raises:
            SceneError: an unknown signal, or one in another unit.
        """
        other, channel = self._references.find(block, name)
        if channel in kept_by(other.plugin):
            return self._indexed(block, name, self._places.held(other.name, channel.name))
        values = self.of(other.name)
        if other.kind == "signal" and channel.name in TIME_DERIVATIVES:
            self._differentiate(values)
        given = values.units[channel.name]
        if unit and given and unit != given:
            problem = f"{block.label}: {what} is in [{unit}], but {name!r} is in [{given}]"
            raise SceneError(block.where, f"{problem}; {connect_in(unit, given)}")
        return self._indexed(block, name, values.numbers[channel.name])

    def _indexed(self, block: GraphBlock, name: str, numbers: list[int]) -> list[int]:
        """Return the number that an index in brackets after a name selects, all without one."""
        index = self._references.selected(name)[1]
        if index is None:
            return numbers
        if index >= len(numbers):
            last = len(numbers) - 1
            problem = (
                f"{block.label}: {name!r} does not exist; the last index of the signal is {last}"
            )
            raise SceneError(block.where, problem)
        return [numbers[index]]

    def _differentiate(self, values: Outputs) -> None:
        """Add the rate and the acceleration of a source to its values."""
        if "rate" in values.numbers:
            return
        t = self._symbols.number_of(SignalSource.time, 0)
        derivative = Derivative(self._symbols.tape, {t: self._symbols.tape.const(1)})
        unit = values.units["value"]
        numbers = values.numbers["value"]
        for name, per in (("rate", "/s"), ("acceleration", "/s²")):
            numbers = [derivative.of(k) for k in numbers]
            values.numbers[name] = numbers
            values.units[name] = per_time(unit, per)

    def inputs_of(self, block: GraphBlock) -> tuple[SimpleNamespace, dict[str, int]]:
        """Return the inputs of a block by name, and the sizes that letters stand for."""
        check_inputs(block)
        declared: Channels = block.plugin.input_channels()
        sizes: dict[str, int] = {}
        inputs = {}
        for channel in declared:
            names = [name for own, name in connected(block) if own is channel]
            nodes: list[int] = []
            for name in names:
                nodes += self.read(block, name, channel.unit, f"the input {channel.name!r}")
                check_count(block, f"the input {channel.name!r} reads", len(nodes), MOST_NUMBERS)
            wanted = channel.size if isinstance(channel.size, int) else sizes.get(channel.size)
            if wanted is not None and len(nodes) != wanted:
                given = ", ".join(map(repr, names))
                problem = f"{block.label}: the input {channel.name!r} needs {count_text(wanted)}"
                problem = f"{problem}, but {given} has {len(nodes)}"
                raise SceneError(block.where, f"{problem}; connect a signal of that size")
            if isinstance(channel.size, str):
                sizes[channel.size] = len(nodes)
            inputs[channel.name] = self._symbols.shaped(nodes)
        return SimpleNamespace(**inputs), sizes


def _loop_error(members: Sequence[GraphBlock]) -> SceneError:
    names = " → ".join(block.name for block in (*members, members[0]))
    problem = f"algebraic loop {names}: each signal depends on itself at the same instant"
    remedy = "give one controller in it a period [s] or a state"
    return SceneError(members[0].where, f"{problem}; {remedy}")
