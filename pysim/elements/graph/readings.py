"""Numbers of a graph that are recorded, and which of them exist only after the dynamics."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pysim.elements.graph.block_channels import TIME_DERIVATIVES, kept_by, output_of
from pysim.elements.graph_types import ExertedForce, RecordedSignal
from pysim.errors import SceneError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pysim.elements.graph.acting_forces import ActingForces
    from pysim.elements.graph.late_numbers import LateNumbers
    from pysim.elements.graph.signal_references import SignalReferences
    from pysim.elements.graph.signal_values import SignalValues
    from pysim.elements.graph.state_places import StatePlaces
    from pysim.elements.graph_types import GraphBlock

EFFORT = "effort"  # prefix of the recorded sums of actuator forces


class Readings:
    """Recorded numbers of a graph.

    Args:
        blocks: of the graph, by name.
        references: of its signals.
        places: of its states and held numbers.
        signals: their values.
        forces: of its actuators.
        late: numbers that exist only after the dynamics.
    """

    def __init__(
        self,
        blocks: Mapping[str, GraphBlock],
        references: SignalReferences,
        places: StatePlaces,
        signals: SignalValues,
        forces: ActingForces,
        late: LateNumbers,
    ) -> None:
        self._blocks, self._references, self._places = blocks, references, places
        self._signals, self._forces, self._late = signals, forces, late

    def check_stages(self, rows: Sequence[int]) -> None:
        """Reject forces and rates that depend on accelerations, wrenches and contacts."""
        if not self._late.is_late(rows):
            return
        sensors = [
            block
            for block in self._blocks.values()
            if block.kind == "sensor"
            and self._late.is_late(
                [k for nodes in self._signals.of(block.name).numbers.values() for k in nodes]
            )
        ]
        names = ", ".join(repr(block.name) for block in sensors)
        where = sensors[0].where if sensors else ""
        what = "accelerations or wrenches" if self._late.is_measured(rows) else "contacts"
        problem = f"the forces depend on {names}, which measures {what}, and these on the forces"
        raise SceneError(where, f"{problem}; give the controller between them a period [s]")

    def recorded(self) -> tuple[list[int], tuple[RecordedSignal, ...]]:
        nodes: list[int] = []
        recorded = []
        owners: dict[str, str] = {}
        for block in self._blocks.values():
            if block.kind in ("actuator", "force"):
                continue
            values = self._signals.of(block.name)
            declared = {
                name: n
                for name, n in values.numbers.items()
                if name not in TIME_DERIVATIVES or block.kind != "signal"
            }
            for name, numbers in declared.items():
                full = block.name if len(declared) == 1 else f"{block.name}.{name}"
                channel = None if block.plugin is None else output_of(block.plugin, name)
                single = len(numbers) == 1 and (channel is None or channel.size in (1, "n"))
                labels = () if channel is None else self._references.labels(block, channel)
                _take_name(owners, full, block, "an output")
                recorded.append(
                    RecordedSignal(
                        full, values.units[name], len(nodes), len(numbers), single, labels=labels
                    )
                )
                nodes += numbers
        for block in self._blocks.values():
            for part in kept_by(block.plugin):
                kept = self._places.held(block.name, part.name)
                single = len(kept) == 1
                full = f"{block.name}.{part.name}"
                _take_name(owners, full, block, "a state")
                recorded.append(RecordedSignal(full, "", len(nodes), len(kept), single))
                nodes += kept
        for drive in self._forces.driven.values():
            if drive.actuators:
                unit = "N·m" if drive.place.v_unit == "rad/s" else "N"
                name = f"{EFFORT}.{drive.place.name}"
                recorded.append(RecordedSignal(name, unit, len(nodes), 1, is_single=True))
                nodes.append(self._forces.limited_sum(drive))
        if not self._late.is_late(nodes):
            return nodes, tuple(recorded)
        parts = [nodes[signal.first : signal.first + signal.size] for signal in recorded]
        return nodes, tuple(
            replace(
                signal,
                is_measured=self._late.is_measured(part),
                is_touching=self._late.is_touching(part),
            )
            for signal, part in zip(recorded, parts, strict=True)
        )

    def exerted(self, readings: list[int]) -> tuple[ExertedForce, ...]:
        """Add what forces and actuators on paths exert to the readings; return its places there."""
        found = []
        for block in sorted(self._blocks.values(), key=lambda own: own.kind == "actuator"):
            if block.kind == "force" or (block.kind == "actuator" and block.is_path):
                nodes = self._forces.of(block)
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
