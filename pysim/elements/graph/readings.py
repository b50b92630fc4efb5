"""Numbers of a graph that are recorded, and which of them exist only after the dynamics."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pysim._engine import SignalSource
from pysim.elements.graph.block_channels import TIME_DERIVATIVES, kept_by, output_of
from pysim.elements.graph_types import ExertedForce, RecordedSignal
from pysim.errors import SceneError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.elements.graph.builder import GraphBuilder
    from pysim.elements.graph_types import GraphBlock

EFFORT = "effort"  # prefix of the recorded sums of actuator forces


class Readings:
    """Recorded numbers of a graph."""

    def __init__(self, graph: GraphBuilder) -> None:
        self._graph = graph

    def is_measured(self, nodes: Sequence[int]) -> bool:
        """Whether nodes depend on accelerations or wrenches, which exist after the dynamics only."""
        late = {SignalSource.acceleration, SignalSource.port_acceleration, SignalSource.reaction}
        return any(source in late for source, _ in self._graph.symbols.read_by(nodes))

    def is_touching(self, nodes: Sequence[int]) -> bool:
        """Whether nodes depend on numbers of contact sensors."""
        own = {place for places in self._graph.places.contacts.values() for place in places}
        return bool(own) and any(
            source is SignalSource.state and index in own
            for source, index in self._graph.symbols.read_by(nodes)
        )

    def is_late(self, nodes: Sequence[int]) -> bool:
        return self.is_measured(nodes) or self.is_touching(nodes)

    def check_stages(self, rows: Sequence[int]) -> None:
        """Reject forces and rates that depend on accelerations, wrenches and contacts."""
        if not self.is_late(rows):
            return
        sensors = [
            block
            for block in self._graph.blocks.values()
            if block.kind == "sensor"
            and self.is_late(
                [k for nodes in self._graph.values(block.name).numbers.values() for k in nodes]
            )
        ]
        names = ", ".join(repr(block.name) for block in sensors)
        where = sensors[0].where if sensors else ""
        what = "accelerations or wrenches" if self.is_measured(rows) else "contacts"
        problem = f"the forces depend on {names}, which measures {what}, and these on the forces"
        raise SceneError(where, f"{problem}; give the controller between them a period [s]")

    def recorded(self) -> tuple[list[int], tuple[RecordedSignal, ...]]:
        nodes: list[int] = []
        recorded = []
        owners: dict[str, str] = {}
        for block in self._graph.blocks.values():
            if block.kind in ("actuator", "force"):
                continue
            values = self._graph.values(block.name)
            declared = {
                name: n
                for name, n in values.numbers.items()
                if name not in TIME_DERIVATIVES or block.kind != "signal"
            }
            for name, numbers in declared.items():
                full = block.name if len(declared) == 1 else f"{block.name}.{name}"
                channel = None if block.plugin is None else output_of(block.plugin, name)
                single = len(numbers) == 1 and (channel is None or channel.size in (1, "n"))
                labels = () if channel is None else self._graph.references.labels(block, channel)
                _take_name(owners, full, block, "an output")
                recorded.append(
                    RecordedSignal(
                        full, values.units[name], len(nodes), len(numbers), single, labels=labels
                    )
                )
                nodes += numbers
        for block in self._graph.blocks.values():
            for part in kept_by(block.plugin):
                kept = self._graph.places.held(block.name, part.name)
                single = len(kept) == 1
                full = f"{block.name}.{part.name}"
                _take_name(owners, full, block, "a state")
                recorded.append(RecordedSignal(full, "", len(nodes), len(kept), single))
                nodes += kept
        for own in self._graph.forces.driven.values():
            if own.actuators:
                unit = "N·m" if own.place.v_unit == "rad/s" else "N"
                name = f"{EFFORT}.{own.place.name}"
                recorded.append(RecordedSignal(name, unit, len(nodes), 1, is_single=True))
                nodes.append(self._graph.forces.limited_sum(own))
        if not self.is_late(nodes):
            return nodes, tuple(recorded)
        parts = [nodes[own.first : own.first + own.size] for own in recorded]
        return nodes, tuple(
            replace(own, is_measured=self.is_measured(part), is_touching=self.is_touching(part))
            for own, part in zip(recorded, parts, strict=True)
        )

    def exerted(self, readings: list[int]) -> tuple[ExertedForce, ...]:
        """Add what forces and actuators on paths exert to the readings; return its places there."""
        found = []
        for block in sorted(self._graph.blocks.values(), key=lambda own: own.kind == "actuator"):
            if block.kind == "force" or (block.kind == "actuator" and block.is_path):
                nodes = self._graph.forces.of(block)
                acts = "path" if block.is_path else "coordinates" if block.coordinates else "frames"
                own = block.coordinates if acts == "coordinates" else ()
                found.append(ExertedForce(block.name, acts, len(readings), len(nodes), own))
                readings += nodes
        return tuple(found)


def _take_name(owners: dict[str, str], name: str, block: GraphBlock, what: str) -> None:
    """Note whose recorded numbers have a name.

    Raises:
        SceneError: it is taken.
    """
    if name in owners:
        problem = f"{what} of {block.label} is recorded as {name!r}, as is {owners[name]}"
        raise SceneError(block.where, f"{problem}; rename one")
    owners[name] = f"{what} of {block.label}"
