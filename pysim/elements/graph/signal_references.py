"""Referents of the names of signals: a block, one of its channels, or a number of it, with the count of its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.elements.channels import MOST_NUMBERS, Channel
from pysim.elements.graph.block_channels import (
    TIME_DERIVATIVES,
    argument_names,
    check_count,
    connected,
    kept_by,
    readable_names,
)
from pysim.elements.number_names import AXES_OF, place_of_name, without_index
from pysim.errors import SceneError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pysim.elements.graph_types import GraphBlock


class SignalReferences:
    """Names of the signals of a graph.

    Args:
        blocks: of the graph, by name.
        velocity_names: of the mechanism's velocities, by which numbers of a signal are selected.
        outputs_of: returns the nodes of a block's outputs, where their number follows from them alone.
    """

    def __init__(
        self,
        blocks: Mapping[str, GraphBlock],
        velocity_names: Sequence[str],
        outputs_of: Callable[[str], Mapping[str, Sequence[int]]],
    ) -> None:
        self._blocks = blocks
        self._velocity_names = tuple(velocity_names)
        self._outputs_of = outputs_of
        self._open_labels: list[str] = []  # blocks whose names of numbers are being determined
        self._cut_labels = False  # whether names being determined depend on a loop that is open
        self._labels: dict[tuple[str, str], tuple[str, ...]] = {}
        self._labels_in_loop: dict[tuple[str, str], tuple[str, ...]] = {}  # while it is cut
        self._cut_at: set[str] = set()  # blocks whose names were asked for while they were open
        self._sizes: dict[tuple[str, str], int] = {}
        self._open_sizes: list[tuple[str, str]] = []
        self._sizes_in_loop: set[tuple[str, str]] = set()  # unknown while it is open

    def inputs_first(self) -> list[GraphBlock]:
        """Return the blocks, those that a block reads before it; loops are cut somewhere.

        Signals are evaluated in this order, so that a long chain of blocks needs no deep recursion.
        """
        order: list[GraphBlock] = []
        opened: set[str] = set()
        for first in self._blocks.values():
            pending = [(first, iter(first.inputs))] if first.name not in opened else []
            opened.add(first.name)
            while pending:
                block, names = pending[-1]
                name = next(names, None)
                if name is None:
                    order.append(block)
                    pending.pop()
                    continue
                read = self.block_of_signal(name)
                if read is not None and read.name not in opened:
                    opened.add(read.name)
                    pending.append((read, iter(read.inputs)))
        return order

    def block_of_signal(self, name: str) -> GraphBlock | None:
        """Return the block that computes a signal; None for an unknown name, which is reported where it is read."""
        base, _ = self.selected(name)
        return self._blocks.get(base) or self._blocks.get(_split(base)[0])

    def find(self, block: GraphBlock, name: str) -> tuple[GraphBlock, Channel]:
        """Return the block and channel that a name, without an index, refers to.

        Raises:
            SceneError: there is none.
        """
        name, _ = self.selected(name)
        block_of_signal, channel = (name, "") if name in self._blocks else _split(name)
        source = self._blocks.get(block_of_signal)
        if source is not None:
            for part in kept_by(source.plugin):
                if part.name == channel:
                    return source, part
        if source is None or source.kind in ("actuator", "force"):
            hint = did_you_mean(name, self.known_names())
            problem = f"{block.label}: unknown signal {name!r}{hint}"
            raise SceneError(block.where, problem)
        is_given = source.plugin is None
        channels = [Channel("value", source.unit, source.size)]
        channels = channels if is_given else list(source.plugin.output_channels())
        if source.kind == "signal" and channel in TIME_DERIVATIVES:
            if is_given:
                problem = (
                    f"{block.label}: {block_of_signal!r} is given from outside and has no {channel}"
                )
                raise SceneError(block.where, f"{problem}; give its {channel} as another input")
            return source, Channel(channel, "", "n")
        if not channel and len(channels) == 1:
            return source, channels[0]
        for part in channels:
            if part.name == channel:
                return source, part
        has = ", ".join(f"{block_of_signal}.{part.name}" for part in channels)
        if not channel:
            problem = f"{block.label}: {name!r} has several outputs; write one of {has}"
        else:
            problem = f"{block.label}: {block_of_signal!r} has no output {channel!r}"
            numbers = self.labels(source, channels[0]) if len(channels) == 1 else ()
            guess = did_you_mean(channel, numbers) if numbers else ""
            problem += guess or f"; write one of {has}"
        raise SceneError(block.where, problem)

    def selected(self, name: str) -> tuple[str, int | None]:
        """Return a signal's name without the index or the name of a number behind it, and the number's index.

        Numbers are named by coordinates and velocities, `arm.q.elbow`, or by axes, `imu.acceleration.z`.
        """
        base, index = without_index(name)
        if index is not None or base in self._blocks:
            return base, index
        ends = [k for k, letter in enumerate(base) if letter == "."]
        for block_of_signal in (base[:k] for k in reversed(ends) if base[:k] in self._blocks):
            block, rest = self._blocks[block_of_signal], base[len(block_of_signal) + 1 :]
            if block.plugin is None or rest in readable_names(block):
                continue
            outputs = list(block.plugin.output_channels())
            for channel in outputs:
                alone = len(outputs) == 1
                part = rest.removeprefix(f"{channel.name}.")
                if not alone and part == rest:
                    continue
                found = place_of_name(part, self.labels(block, channel), block_of_signal)
                if found is not None:
                    return (
                        block_of_signal if alone else f"{block_of_signal}.{channel.name}"
                    ), found
        return base, None

    def known_names(self) -> list[str]:
        names = []
        for block in self._blocks.values():
            if block.kind in ("actuator", "force"):
                continue
            channels = [] if block.plugin is None else list(block.plugin.output_channels())
            names += (
                [block.name]
                if len(channels) < 2
                else [f"{block.name}.{channel.name}" for channel in channels]
            )
        return names

    # ---------------------------------------------------------------------------------------- names of numbers

    def labels(self, block: GraphBlock, channel: Channel) -> tuple[str, ...]:
        """Return the names of the numbers of an output; none if they have no names."""
        if block.name in self._open_labels:  # a loop, which is cut here
            self._cut_labels = True
            self._cut_at.add(block.name)
            return ()
        if block.plugin is None:
            return ()
        if isinstance(channel.size, int):
            return AXES_OF.get(channel.size, ()) if block.kind == "sensor" else ()
        if block.kind == "sensor" and block.coordinates:
            return tuple(place.name for place in block.coordinates)
        if block.kind == "controller" and "dynamics" in argument_names(block.plugin, "output"):
            return self._velocity_names
        key = block.name, channel.name
        for known in (self._labels, self._labels_in_loop):
            if key in known:
                self._cut_labels |= known is self._labels_in_loop
                return known[key]
        self._open_labels.append(block.name)
        before, self._cut_labels = self._cut_labels, False
        try:
            labels = self._labels_of_inputs(block, channel)
        except RecursionError:
            problem = f"{block.label}: the names of its numbers come through too many blocks"
            raise SceneError(
                block.where, f"{problem}; read one by its index, as in NAME[0]"
            ) from None
        finally:
            self._open_labels.pop()
            is_cut, self._cut_labels = self._cut_labels, self._cut_labels or before
        (self._labels_in_loop if is_cut else self._labels)[key] = labels
        if block.name in self._cut_at:
            self._cut_at.remove(block.name)
            self._labels_in_loop.clear()
            if not self._cut_at:
                self._cut_labels = before
        return labels

    def _labels_of_inputs(self, block: GraphBlock, channel: Channel) -> tuple[str, ...]:
        """Return the names of the numbers of the first input that has as many numbers as an output."""
        for declared, name in connected(block):
            if declared.size != channel.size:
                continue
            if not declared.many:
                return self._labels_of_signal(block, name)
            names: list[str] = []
            for own, signal in connected(block):
                if own is declared:
                    size = self.size_of_signal(block, signal)
                    alone = (signal,) if size == 1 else ("",) * (size or 0)
                    names += self._labels_of_signal(block, signal) or alone
            return tuple(names)
        return ()

    def _labels_of_signal(self, block: GraphBlock, name: str) -> tuple[str, ...]:
        base, index = self.selected(name)
        labels = self.labels(*self.find(block, base))
        return labels if index is None else labels[index : index + 1]

    # ---------------------------------------------------------------------------------------- sizes

    def size_of_inputs(self, block: GraphBlock) -> int:
        """Return the size that a letter stands for in a block with states: that of its first input."""
        own = list(connected(block))
        if not own:
            return max(1, len(block.coordinates))
        return self.size_of_input(block, own[0][0])

    def size_of_input(self, block: GraphBlock, channel: Channel) -> int:
        """Return how many numbers the signals have that an input of a block reads."""
        return self._known_size(block, channel) or 1

    def _known_size(self, block: GraphBlock, channel: Channel) -> int | None:
        """Return the size of an input, or that of another one with its letter in a loop; None where none is known."""
        key = block.name, channel.name
        if key in self._sizes:
            return self._sizes[key]
        if key in self._open_sizes or key in self._sizes_in_loop:
            return None
        self._open_sizes.append(key)
        try:
            alike = [
                own for own, _ in connected(block) if own.size == channel.size and not own.many
            ]
            sizes = (self._read_size(block, own) for own in (channel, *alike))
            size = next((size for size in sizes if size is not None), None)
        finally:
            self._open_sizes.pop()
        if size is None and self._open_sizes:
            self._sizes_in_loop.add(key)
        else:  # what was unknown may follow from it
            self._sizes_in_loop.clear()
        if size is not None:
            check_count(block, f"the input {channel.name!r} reads", size, MOST_NUMBERS)
            self._sizes[key] = size
        return size

    def _read_size(self, block: GraphBlock, channel: Channel) -> int | None:
        """Return how many numbers an input reads; None if one of its signals depends on a size that is open."""
        sizes = [self.size_of_signal(block, k) for own, k in connected(block) if own is channel]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    def size_of_signal(self, block: GraphBlock, name: str) -> int | None:
        name, index = self.selected(name)
        if index is not None:
            return 1
        source, channel = self.find(block, name)
        if isinstance(channel.size, int) and source.plugin is not None:
            return channel.size
        if source.plugin is None:
            return source.size
        declared_size = source.plugin.sizes().get(channel.size)
        if declared_size is not None:
            return int(declared_size)
        if source.kind == "sensor" and source.coordinates:
            return len(source.coordinates)
        for declared, _ in connected(source):
            if declared.size == channel.size:
                return self._known_size(source, declared)
        connections = list(connected(source))
        if connections:
            return self._known_size(source, connections[0][0])
        return len(
            self._outputs_of(source.name)["value" if source.kind == "signal" else channel.name]
        )


def _split(name: str) -> tuple[str, str]:
    block_of_signal, _, channel = name.rpartition(".")
    return block_of_signal, channel
