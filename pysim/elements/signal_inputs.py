"""Symbolic inputs of a signal graph, and the programs that are emitted from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim._engine import SignalProgram
from pysim.errors import SceneError
from pysim.tracing.expression import Scalar
from pysim.tracing.program import emitted, recipes_of
from pysim.tracing.symbolic_array import symbolic_array
from pysim.tracing.tape import Tape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pysim._engine import PortDescription, SignalCallKind, SignalSource


class SignalInputs:
    """Inputs of a graph on one tape: numbers of the engine, and results of inverse dynamics.

    Args:
        ports: frames and paths that blocks measure or drive.
        nv: number of velocities of the user.
    """

    def __init__(self, ports: Sequence[PortDescription], nv: int) -> None:
        self.tape = Tape()
        self.ports, self.nv = ports, nv
        self.port_at = np.cumsum([0, *(2 if is_path(p) else 18 for p in ports)]).tolist()
        self.motion_at = np.cumsum([0, *(1 if is_path(p) else 6 for p in ports)]).tolist()
        self._registered: dict[tuple[SignalSource, int], int] = {}  # number of each input
        self._calls: list[tuple[SignalCallKind, list[int], int]] = []
        self._call_of_input: dict[int, int] = {}
        self._count = 0

    def number(self, source: SignalSource, index: int) -> Scalar:
        """Return the symbolic number of an input."""
        key = source, index
        if key not in self._registered:
            self._registered[key] = self._count
            self._count += 1
        return Scalar(self.tape, self.tape.input(self._registered[key]))

    def numbers(self, source: SignalSource, first: int, count: int) -> list[Scalar]:
        return [self.number(source, first + k) for k in range(count)]

    def shaped(self, nodes: Sequence[int]) -> Any:
        """Return a symbolic number for one node, an array for several."""
        numbers = [Scalar(self.tape, k) for k in nodes]
        return numbers[0] if len(numbers) == 1 else symbolic_array(numbers)

    def number_of(self, source: SignalSource, index: int) -> int:
        """Return the number of an input among those of the tape."""
        self.number(source, index)
        return self._registered[source, index]

    def read_by(self, nodes: Iterable[int]) -> set[tuple[SignalSource, int]]:
        """Return the inputs that nodes depend on."""
        origin = {number: key for key, number in self._registered.items()}
        numbers, pending, calls = set(), list(nodes), set()
        while pending:
            needed, pending = self.tape.needed(pending), []
            for k in needed:
                node = self.tape.nodes[k]
                if node.op == "input":
                    number = node.data[0]
                    call = self._call_of_input.get(number)
                    if call is None:
                        numbers.add(number)
                    elif call not in calls:
                        calls.add(call)
                        pending += self._calls[call][1]
        return {origin[number] for number in numbers}

    def program(
        self,
        nodes: Sequence[int],
        places: Sequence[int] = (),
        aside: int = 0,
        name: str | None = None,
    ) -> SignalProgram:
        """Return the program of some nodes; the last `aside` ones change no bit of the others.

        The recipes of its constants are noted by its `name` among the programs of signals.
        """
        used = self._calls_of(nodes)
        arguments = [k for call in used for k in self._calls[call][1]]
        for call in used:
            if self._calls_of(self._calls[call][1]):
                problem = (
                    "a number passed to dynamics.inverse depends on another result of dynamics"
                )
                raise SceneError("signals", f"{problem}; use only one of the two")
        found = emitted(self.tape, arguments, nodes, self._count, aside)
        if name is not None and self.tape.recipes is not None:
            recipes = recipes_of(self.tape, arguments, nodes)
            self.tape.recipes.note(f"constants of signals: {name}", recipes)
        argument_registers = found.early
        alone = not arguments and not used
        program = found.program(found.late, len(found.code) if alone else found.first)
        calls, at = [], 0
        for call in used:
            kind, own, first = self._calls[call]
            calls.append((kind, first, argument_registers[at : at + len(own)]))
            at += len(own)
        wanted = {
            self.tape.nodes[k].data[0]
            for k in self.tape.needed([*arguments, *nodes])
            if self.tape.nodes[k].op == "input"
        }
        inputs = [
            (source, index, number)
            for (source, index), number in self._registered.items()
            if number in wanted
        ]
        return SignalProgram(program, self._count, inputs, calls, list(places))

    def _calls_of(self, nodes: Iterable[int]) -> list[int]:
        if not self._calls:
            return []
        found = {
            self._call_of_input[self.tape.nodes[k].data[0]]
            for k in self.tape.needed(nodes)
            if self.tape.nodes[k].op == "input"
            and self.tape.nodes[k].data[0] in self._call_of_input
        }
        return sorted(found)

    def add_call(self, kind: SignalCallKind, arguments: list[int]) -> list[Scalar]:
        """Return the forces (nv) of inverse dynamics for a motion given by nodes."""
        for known, other, first in self._calls:
            if known is kind and other == arguments:
                return [Scalar(self.tape, self.tape.input(first + i)) for i in range(self.nv)]
        first, self._count = self._count, self._count + self.nv
        self._call_of_input |= dict.fromkeys(range(first, first + self.nv), len(self._calls))
        self._calls.append((kind, arguments, first))
        return [Scalar(self.tape, self.tape.input(first + i)) for i in range(self.nv)]


def is_path(port: PortDescription) -> bool:
    """Return whether a port is a path, and not a pair of frames."""
    return port.kind.name == "path"
