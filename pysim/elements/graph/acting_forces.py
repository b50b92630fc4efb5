"""Forces of actuators and of elements that depend on signals: on coordinates, along paths and between frames."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim._engine import SignalSource
from pysim.elements.force import method_of
from pysim.elements.graph.block_channels import count_text
from pysim.elements.quantities import Wrench
from pysim.elements.signal_inputs import is_path
from pysim.errors import JointError
from pysim.tracing.author_code import method_place
from pysim.tracing.expression import Scalar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pysim.elements.force import Method
    from pysim.elements.graph.block_methods import BlockMethods
    from pysim.elements.graph.signal_units import SignalUnits
    from pysim.elements.graph.state_places import StatePlaces
    from pysim.elements.graph_types import CoordinatePlace, GraphBlock
    from pysim.elements.signal_inputs import SignalInputs


@dataclass
class DrivenCoordinate:
    """Nodes of the forces on a coordinate: those of actuators, which limits bound, and others."""

    place: CoordinatePlace
    actuators: list[int] = field(default_factory=list)
    unlimited: list[int] = field(default_factory=list)


class ActingForces:
    """Forces and powers of the actuators and forces of a graph.

    Args:
        blocks: of the graph, by name.
        symbols: inputs of its programs.
        places: of its states and held numbers.
        units: of its signals.
        methods: of its blocks.
    """

    def __init__(
        self,
        blocks: Mapping[str, GraphBlock],
        symbols: SignalInputs,
        places: StatePlaces,
        units: SignalUnits,
        methods: BlockMethods,
    ) -> None:
        self._blocks, self._symbols, self._tape = blocks, symbols, symbols.tape
        self._places, self._units, self._methods = places, units, methods
        self._of_ports: dict[int, list[int]] = {}  # of driven ports
        self._of_blocks: dict[str, list[int]] = {}  # by name
        self.driven: dict[int, DrivenCoordinate] = {}  # by velocity

    def add(self) -> None:
        """Call the actuators, and the forces that depend on time or signals."""
        for block in self._blocks.values():
            if block.kind not in ("actuator", "force"):
                continue
            nodes = self.of(block)
            if block.port is not None:
                self._push(block, nodes)
                continue
            is_limited = block.kind == "actuator"
            for coordinate, node in zip(block.coordinates, nodes, strict=True):
                self._pull(coordinate, node, is_limited=is_limited)

    def of(self, block: GraphBlock) -> list[int]:
        """Return the nodes of what an actuator or force exerts: a wrench, a tension, or forces on coordinates."""
        if block.name not in self._of_blocks:
            self._of_blocks[block.name] = self._exerted(block)
        return self._of_blocks[block.name]

    def _exerted(self, block: GraphBlock) -> list[int]:
        if block.kind == "force":
            method = method_of(type(block.plugin))
            nodes = self.of_force(block, method, self._methods.arguments.of(block, method.name))
            return self._until_release(block, nodes)
        own = type(block.plugin)
        if block.inputs:
            self._units.of(block)  # rejects commands in a wrong one
        has_tension = block.is_path and own.tension is not _base_tension()
        name = "tension" if has_tension else "force"
        nodes = self._methods.nodes(
            block, name, self._methods.call(block, name, self._methods.arguments.of(block, name))
        )
        self._check_count(block, name, nodes, 1 if block.is_path else len(block.coordinates))
        return self._until_release(block, nodes)

    def of_force(self, block: GraphBlock, method: Method, given: Mapping[str, Any]) -> list[int]:
        """Return the nodes of what a force exerts for given arguments of its method."""
        result = self._methods.call(block, method.name, given)
        if method.acts == "frames":
            if not isinstance(result, Wrench):
                where = method_place(block.plugin, method.name)
                raise JointError(where, f"must return a Wrench, got a {type(result).__name__}")
            result = [*result.force, *result.torque]
        nodes = self._methods.nodes(block, method.name, result)
        count = {"frames": 6, "path": 1}.get(method.acts, len(block.coordinates))
        self._check_count(block, method.name, nodes, count)
        return nodes

    def limited_share(self, place: CoordinatePlace) -> Any:
        """Return the share of the actuators' forces on a coordinate that its limits leave."""
        if place.effort_limit is None and place.velocity_limit is None:
            return 1.0
        nodes = [
            node
            for block in self._blocks.values()
            if block.kind == "actuator" and block.port is None
            for own, node in zip(block.coordinates, self.of(block), strict=True)
            if own.v == place.v
        ]
        total = self._sum(nodes)
        acts = total != 0
        return np.where(acts, self._within_limits(place, total) / np.where(acts, total, 1.0), 1.0)

    def _until_release(self, block: GraphBlock, nodes: list[int]) -> list[int]:
        """Return the nodes times a number that is 1 until an event, and 0 from it on."""
        for event in block.released_by:
            gate = self._places.gate(block.name, event)
            nodes = [self._tape.node("mul", gate, node) for node in nodes]
        return nodes

    def _check_count(
        self, block: GraphBlock, method: str, nodes: Sequence[int], count: int
    ) -> None:
        if len(nodes) != count:
            problem = f"must return {count_text(count)}, got {len(nodes)}"
            raise JointError(method_place(block.plugin, method), problem)

    def _push(self, block: GraphBlock, nodes: list[int]) -> None:
        assert block.port is not None
        self._of_ports[block.port] = nodes  # each block has a port of its own

    def _pull(self, place: CoordinatePlace, node: int, *, is_limited: bool = True) -> None:
        own = self.driven.setdefault(place.v, DrivenCoordinate(place))
        (own.actuators if is_limited else own.unlimited).append(node)

    def _sum(self, nodes: Sequence[int]) -> Scalar:
        total = nodes[0]
        for node in nodes[1:]:
            total = self._tape.node("add", total, node)
        return Scalar(self._tape, total)

    def on_coordinates(self) -> dict[int, int]:
        """Return the node of the force on each coordinate; the sum of the actuators' is within their limits."""
        found = {}
        for v, own in self.driven.items():
            parts = list(own.unlimited)
            if own.actuators:
                parts.append(self.limited_sum(own))
            found[v] = self._sum(parts).index
        return found

    def limited_sum(self, own: DrivenCoordinate) -> int:
        """Return the sum of the actuators' forces on a coordinate, within its limits."""
        limited: Scalar = self._within_limits(own.place, self._sum(own.actuators))
        return limited.index

    def _within_limits(self, place: CoordinatePlace, total: Any) -> Any:
        if place.effort_limit is not None:
            total = np.clip(total, -place.effort_limit, place.effort_limit)
        if place.velocity_limit is not None:
            most = place.velocity_limit
            v = self._symbols.number(SignalSource.v, place.v)
            room: Any = np.where(total > 0, most - v, most + v)
            total = total * np.clip(room / (place.velocity_band * most), 0.0, 1.0)
        return total

    def on_ports(self, count: int) -> list[int]:
        """Return the nodes of what acts on the first ports, one after the other."""
        return [
            node
            for port in range(count)
            for node in self._of_ports.get(port, self._no_effort(port))
        ]

    def _no_effort(self, port: int) -> list[int]:
        return [self._tape.const(0)] * (1 if is_path(self._symbols.ports[port]) else 6)


def _base_tension() -> Any:
    from pysim.elements.block import Actuator  # noqa: PLC0415

    return Actuator.tension
