"""Units of signals, which blocks derive from those of their inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.elements.graph.block_channels import check_inputs, connected, kept_by
from pysim.elements.units import spelled_unit
from pysim.errors import PysimError, SceneError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pysim.elements.graph.signal_references import SignalReferences
    from pysim.elements.graph_types import GraphBlock


class SignalUnits:
    """Units of the outputs of a graph's blocks."""

    def __init__(self, references: SignalReferences) -> None:
        self._references = references
        self._known_units: dict[str, dict[str, str]] = {}
        self._units_in_loop: dict[str, dict[str, str]] = {}  # while it is cut
        self._cut_at: set[str] = set()  # blocks whose units were asked for while they were open
        self._open_units: list[str] = []  # blocks whose units are being determined
        self._cut_units = False  # whether units being determined depend on a loop that is open

    def of(self, block: GraphBlock) -> dict[str, str]:
        """Return the units of the outputs of a block.

        Raises:
            SceneError: its inputs are in units that do not suit it.
        """
        try:
            return self._units_of_outputs(block)
        except PysimError as error:
            if type(error) is not PysimError:
                raise
            problem = f"{block.label}: the input {error.where!r} {error.problem}"
            raise SceneError(block.where, problem) from error

    def _units_of_outputs(self, block: GraphBlock) -> dict[str, str]:
        plugin, channels = block.plugin, list(block.plugin.output_channels())
        units = {channel.name: channel.unit for channel in channels}
        if block.kind == "signal":
            return dict.fromkeys(units, block.unit)
        for known in (self._known_units, self._units_in_loop):
            if block.name in known:
                self._cut_units |= known is self._units_in_loop
                return known[block.name]
        if block.name in self._open_units:  # a loop that a state breaks
            self._cut_units = True
            self._cut_at.add(block.name)
            return units
        self._open_units.append(block.name)
        before, self._cut_units = self._cut_units, False
        try:
            input_units = self._units_of_inputs(block)
        finally:
            self._open_units.pop()
            is_cut, self._cut_units = self._cut_units, self._cut_units or before
        if block.coordinates:
            input_units = {
                "q": _common(c.q_unit for c in block.coordinates),
                "v": _common(c.v_unit for c in block.coordinates),
            } | input_units
        elif block.kind == "sensor":
            input_units = {"q": "", "v": ""} | input_units
        written = {name: spelled_unit(unit) for name, unit in plugin.units(input_units).items()}
        found = units | written
        (self._units_in_loop if is_cut else self._known_units)[block.name] = found
        if block.name in self._cut_at:
            self._cut_at.remove(block.name)
            self._units_in_loop.clear()
            if not self._cut_at:
                self._cut_units = before
        return found

    def _units_of_inputs(self, block: GraphBlock) -> dict[str, str]:
        check_inputs(block)
        found: dict[str, list[str]] = {}
        for channel, name in connected(block):
            found.setdefault(channel.name, []).append(self._unit_of(block, name))
        return {name: _common(units) for name, units in found.items()}

    def _unit_of(self, block: GraphBlock, name: str) -> str:
        other, channel = self._references.find(block, name)
        if other.plugin is None or other.kind == "signal":
            return per_time(other.unit, {"rate": "/s", "acceleration": "/s²"}.get(channel.name, ""))
        if channel in kept_by(other.plugin):
            return channel.unit
        return self.of(other)[channel.name]


def per_time(unit: str, per: str) -> str:
    """Return the unit of a derivative."""
    if not unit or not per:
        return unit
    return f"1{per}" if unit == "1" else unit + per


def _common(units: Iterable[str]) -> str:
    """Return the unit that all have, "" if they differ."""
    different = set(units)
    return different.pop() if len(different) == 1 else ""
