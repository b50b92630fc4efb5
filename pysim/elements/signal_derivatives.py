"""Slopes of the forces of a signal graph along the motions of its inputs, for implicit schemes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pysim._engine import Group, SignalMotion, SignalSource
from pysim.elements.signal_inputs import is_path
from pysim.elements.tracing import body_motions
from pysim.tracing.derivative import Derivative
from pysim.tracing.expression import Scalar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.elements.signal_inputs import SignalInputs

GROUP_SIZES = {Group.real: 1, Group.rotation: 4, Group.pose: 7}  # numbers in q


@dataclass(frozen=True)
class SignalDerivatives:
    """Derivatives of rows of a graph's forces.

    Attributes:
        inputs: those of the graph.
        groups: groups of the user's coordinates, (group, first in q, first in v).
        states: number of states of elements.
    """

    inputs: SignalInputs
    groups: Sequence[tuple[Group, int, int]]
    states: int

    def of(self, rows: Sequence[int]) -> tuple[list[int], list[tuple[int, SignalMotion, int]]]:
        """Return the derivatives of rows along every motion of the inputs, and the row and motion of each."""
        nodes, places = [], []
        read = [self._numbers_of(node) for node in rows]
        for motion, index, moved in self._motions(rows):
            rates = self.inputs.through_instances(moved)
            derivative = Derivative(self.inputs.tape, rates, limits=True)
            for row, node in enumerate(rows):
                if read[row].isdisjoint(rates):
                    continue
                slope = derivative.of(node)
                if not self.inputs.tape.is_value(slope, 0):
                    nodes.append(slope)
                    places.append((row, motion, index))
        return nodes, places

    def _numbers_of(self, node: int) -> set[int]:
        """Return the numbers of the inputs of the tape that a node depends on."""
        tape = self.inputs.tape
        needed = (tape.nodes[k] for k in tape.needed([node]))
        return {own.data[0] for own in needed if own.op == "input"}

    def _motions(self, rows: Sequence[int]) -> list[tuple[SignalMotion, int, dict[int, int]]]:
        """Return the motions of the inputs of rows: (kind, index, rates of inputs)."""
        unit_rate = self.inputs.tape.const(1)
        motions: list[tuple[SignalMotion, int, dict[int, int]]] = []
        used = self.inputs.read_by(rows)
        for source, index in sorted(used, key=lambda key: (key[0].value, key[1])):
            number = self.inputs.number_of(source, index)
            if source is SignalSource.state and index < self.states:
                motions.append((SignalMotion.state, index, {number: unit_rate}))
            elif source is SignalSource.v:
                motions.append((SignalMotion.v, index, {number: unit_rate}))
        for group, q, v in self.groups:
            size = GROUP_SIZES[group]
            if not any((SignalSource.q, q + k) in used for k in range(size)):
                continue
            for k, rates in enumerate(self._coordinate_motions(group, q)):
                motions.append((SignalMotion.q, v + k, rates))
        for port, description in enumerate(self.inputs.ports):
            first, at = self.inputs.port_at[port], self.inputs.motion_at[port]
            count = 2 if is_path(description) else 18
            if not any((SignalSource.port, first + k) in used for k in range(count)):
                continue
            if is_path(description):
                moves = [{self.inputs.number_of(SignalSource.port, first): unit_rate}]
                speeds = [{self.inputs.number_of(SignalSource.port, first + 1): unit_rate}]
            else:
                numbers = [self.inputs.number_of(SignalSource.port, first + k) for k in range(18)]
                moves = body_motions(self.inputs.tape, numbers)
                speeds = [{numbers[12 + k]: unit_rate} for k in range(6)]
            motions += [(SignalMotion.port_position, at + k, r) for k, r in enumerate(moves)]
            motions += [(SignalMotion.port_rate, at + k, r) for k, r in enumerate(speeds)]
        return motions

    def _coordinate_motions(self, group: Group, q: int) -> list[dict[int, int]]:
        """Return the rates of the numbers of a group along each of its velocities."""
        numbers = [self.inputs.number_of(SignalSource.q, q + k) for k in range(GROUP_SIZES[group])]
        if group is Group.real:
            return [{numbers[0]: self.inputs.tape.const(1)}]
        turn = numbers[3:] if group is Group.pose else numbers
        x, y, z, w = (Scalar(self.inputs.tape, self.inputs.tape.input(k)) for k in turn)
        columns = [(w, z, -y, -x), (-z, w, x, -y), (y, -x, w, -z)]
        rates = [
            {number: (0.5 * entry).index for number, entry in zip(turn, column, strict=True)}
            for column in columns
        ]
        if group is Group.rotation:
            return rates
        R = [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
        moves = [{numbers[i]: R[i][k].index for i in range(3)} for k in range(3)]
        return [*moves, *rates]
