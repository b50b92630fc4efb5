"""Blocks that run at instants: what they store, where, and in which order; and the values that blocks start with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim._engine import SignalSource
from pysim.elements.block import CallbackController
from pysim.elements.graph.block_channels import (
    count_text,
    memory_of,
    output_method,
    states_of,
)
from pysim.elements.graph_types import Callback
from pysim.errors import JointError, SceneError
from pysim.tracing.author_code import method_place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pysim.elements.channels import Channels
    from pysim.elements.graph.block_methods import BlockMethods
    from pysim.elements.graph.signal_references import SignalReferences
    from pysim.elements.graph.signal_values import SignalValues
    from pysim.elements.graph.state_places import StatePlaces
    from pysim.elements.graph_types import GraphBlock
    from pysim.elements.signal_inputs import SignalInputs

    StoredNodes = tuple["GraphBlock", list[int], list[int]]  # nodes that it stores, and where

MOST_SAMPLED = 64  # blocks; the engine has a bit for each
# prefix of the places that hold the inputs of controllers that are called in Python
INPUT = "input "


class SampledBlocks:
    """Blocks of a graph that run at instants.

    Args:
        blocks: of the graph, by name.
        symbols: inputs of its programs.
        references: of its signals.
        places: of its states and held numbers.
        signals: values of its signals.
        methods: of its blocks.
    """

    def __init__(
        self,
        blocks: Mapping[str, GraphBlock],
        symbols: SignalInputs,
        references: SignalReferences,
        places: StatePlaces,
        signals: SignalValues,
        methods: BlockMethods,
    ) -> None:
        self._blocks, self._symbols, self._tape = blocks, symbols, symbols.tape
        self._references, self._places = references, places
        self._signals, self._methods = signals, methods

    def initial_values(self) -> list[StoredNodes]:
        """Return what sets states and memory that `initial` computes from the inputs at the start.

        Initial values of blocks that a block reads are inserted for their states, but for those of a loop.
        """
        initial = []
        known: dict[int, int] = {}  # nodes of the initial values, by that of the state
        for block in self._references.inputs_first():
            plugin = block.plugin
            if plugin is None or not hasattr(plugin, "initial"):
                continue
            channels = [*states_of(plugin), *memory_of(plugin)]
            result = self._methods.call(
                block, "initial", self._methods.arguments.of(block, "initial")
            )
            parts = [result] if len(channels) == 1 else result
            nodes: list[int] = []
            places: list[int] = []
            for channel, part in zip(channels, parts, strict=True):
                own = self._places.of[block.name, channel.name]
                values = self._methods.nodes(block, "initial", part)
                nodes += values * len(own) if len(values) == 1 else values
                places += own
            if len(nodes) != len(places):
                problem = f"must return {count_text(len(places))}, got {len(nodes)}"
                raise JointError(method_place(plugin, "initial"), problem)
            nodes = self._inserted(nodes, known)
            known |= dict(zip(self._places.nodes(places), nodes, strict=True))
            initial.append((block, nodes, places))
        return initial

    def _inserted(self, nodes: Sequence[int], known: Mapping[int, int]) -> list[int]:
        """Return nodes with others in place of numbers of the state, by the nodes of these."""
        changed: dict[int, int] = {}
        for k in self._tape.needed(nodes):
            node = self._tape.nodes[k]
            args = tuple(changed[a] for a in node.args)
            if k in known:
                changed[k] = known[k]
            elif args == node.args:
                changed[k] = k
            else:
                changed[k] = self._tape.node(node.op, *args, value=node.value, data=node.data)
        return [changed[k] for k in nodes]

    def blocks(self, most: int) -> list[StoredNodes]:
        """Return the sampled blocks in the order in which they run, with the nodes that they store and where."""
        by_name = {}
        for block in self._blocks.values():
            if block.period is None:
                continue
            if isinstance(block.plugin, CallbackController):
                by_name[block.name] = (block, *self._gathered_inputs(block))
                continue
            method = output_method(block)
            outputs = self._methods.outputs(
                block, method, self._methods.arguments.of(block, method)
            )
            nodes: list[int] = []
            places: list[int] = []
            for name, values in outputs.numbers.items():
                own = self._places.of[block.name, name]
                if len(own) != len(values):
                    problem = f"must return {count_text(len(own))} for {name!r}, got {len(values)}"
                    raise JointError(method_place(block.plugin, method), problem)
                nodes += values
                places += own
            for channel, values in self._stepped(block):
                nodes += values
                places += self._places.of[block.name, channel]
            by_name[block.name] = (block, nodes, places)
        if len(by_name) > most:
            block = list(by_name.values())[most][0]
            problem = f"{block.label}: too many sampled blocks, {len(by_name)}"
            raise SceneError(block.where, f"{problem}; use at most {most}")
        return self._in_order(by_name)

    def _stepped(self, block: GraphBlock) -> list[tuple[str, list[int]]]:
        """Return the next values of states and memory of a sampled block.

        States are those that its `held_step` computes, or those after a step of Euler's method.
        """
        stepped = []
        if states_of(block.plugin) and hasattr(block.plugin, "held_step"):
            stepped += list(self._methods.rates(block, "held_step").items())
        elif states_of(block.plugin):
            assert block.period is not None
            for name, rates in self._methods.rates(block).items():
                now = self._places.held(block.name, name)
                step = self._tape.const(block.period)
                stepped.append(
                    (
                        name,
                        [
                            self._tape.node("add", x, self._tape.node("mul", step, rate))
                            for x, rate in zip(now, rates, strict=True)
                        ],
                    )
                )
        if memory_of(block.plugin):
            stepped += list(self._methods.rates(block, "update").items())
        return stepped

    def _in_order(self, blocks: Mapping[str, StoredNodes]) -> list[StoredNodes]:
        """Sort sampled blocks: one that reads another runs after it; loops keep the order of the scene."""
        owner = {place: name for name, (_, _, places) in blocks.items() for place in places}
        called = [name for name in blocks if isinstance(blocks[name][0].plugin, CallbackController)]
        for name in called:
            for _, own in self._places_of(name, blocks[name][0].plugin.output_channels(), ""):
                owner |= dict.fromkeys(own, name)
        reads = {
            name: {
                owner[index]
                for source, index in self._symbols.read_by(nodes)
                if source is SignalSource.state and index in owner
            }
            - {name}
            for name, (_, nodes, _) in blocks.items()
        }
        order: list[str] = []
        visiting: set[str] = set()

        def visit(name: str) -> None:
            if name in order or name in visiting:
                return
            visiting.add(name)
            for other in blocks:
                if other in reads[name]:
                    visit(other)
            visiting.discard(name)
            order.append(name)

        for name in blocks:
            visit(name)
        later = set(called)  # what depends on Python runs after what does not
        for _ in blocks:
            later |= {name for name in blocks if reads[name] & later}
        order.sort(key=lambda name: name in later)
        return [blocks[name] for name in order]

    def settled(
        self, begins: Sequence[StoredNodes], sampled: Sequence[StoredNodes]
    ) -> tuple[int, ...]:
        """Return the places of initial values that depend on others, through a loop, or on sampled blocks."""
        stored = {place for _, _, own in (*begins, *sampled) for place in own}
        found: list[int] = []
        for _, nodes, places in begins:
            read = self._symbols.read_by(nodes)
            if any(source is SignalSource.state and index in stored for source, index in read):
                found += places
        return tuple(sorted(found))

    def callbacks(self, order: Sequence[str]) -> tuple[Callback, ...]:
        """Return the controllers that are called in Python; `order` names the sampled programs bit by bit."""
        last = {name: bit for bit, name in enumerate(order)}
        return tuple(
            Callback(
                name,
                self._blocks[name].plugin,
                bit,
                tuple(self._places_of(name, self._blocks[name].plugin.input_channels(), INPUT)),
                tuple(self._places_of(name, self._blocks[name].plugin.output_channels(), "")),
            )
            for name, bit in last.items()
            if isinstance(self._blocks[name].plugin, CallbackController)
        )

    def _places_of(
        self, block: str, channels: Channels, prefix: str
    ) -> Iterator[tuple[str, tuple[int, ...]]]:
        for channel in channels:
            yield channel.name, tuple(self._places.of[block, prefix + channel.name])

    def _gathered_inputs(self, block: GraphBlock) -> tuple[list[int], list[int]]:
        """Return the nodes of the inputs of a controller that is called in Python, and the places that hold them."""
        nodes: list[int] = []
        places: list[int] = []
        given = self._signals.inputs_of(block)[0]
        for channel in block.plugin.input_channels():
            values = self._methods.nodes(block, "output", getattr(given, channel.name))
            key = block.name, INPUT + channel.name
            if key not in self._places.of:
                self._places.of[key] = self._places.take(len(values))
            nodes += values
            places += self._places.of[key]
        return nodes, places


def together(initial: Sequence[StoredNodes]) -> StoredNodes:
    """Return one program that sets the initial values of all blocks at once."""
    nodes = [node for _, own, _ in initial for node in own]
    places = [place for _, _, own in initial for place in own]
    return initial[0][0], nodes, places
