"""Symbolic inputs of a signal graph, and the programs that are emitted from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim._engine import SignalProgram
from pysim.elements.block_template import instance_codes, instructions
from pysim.errors import SceneError
from pysim.tracing.expression import Scalar
from pysim.tracing.program import emitted, recipes_of
from pysim.tracing.symbolic_array import symbolic_array
from pysim.tracing.tape import Tape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pysim._engine import PortDescription, SignalCallKind, SignalSource
    from pysim.elements.block_template import TemplateInstance
    from pysim.tracing.program import Emitted


FIRST_OUTPUT = 1 << 30  # number of the first output of an instance


class SignalInputs:
    """Inputs of a graph on one tape: numbers of the engine, results of inverse dynamics, outputs of instances.

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
        # and its output, by numbers from FIRST_OUTPUT on
        self._instance_of: dict[int, tuple[TemplateInstance, int]] = {}
        self._reading: dict[int, list[TemplateInstance]] = {}
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
                        numbers |= self._numbers_behind(number)
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
        emission, input_registers = self._emitted(arguments, nodes, aside)
        if name is not None and self.tape.recipes is not None:
            recipes = recipes_of(self.tape, arguments, nodes)
            self.tape.recipes.note(f"constants of signals: {name}", recipes)
        argument_registers = emission.early
        alone = not arguments and not used
        program = emission.program(emission.late, len(emission.code) if alone else emission.first)
        calls, at = [], 0
        for call in used:
            kind, own, first = self._calls[call]
            calls.append((kind, first, argument_registers[at : at + len(own)]))
            at += len(own)
        wanted = {
            number
            for place in self._numbers_of([*arguments, *nodes])
            for number in self._numbers_behind(place)
        }
        inputs = [
            (source, index, number)
            for (source, index), number in self._registered.items()
            if number in wanted
        ]
        return SignalProgram(program, input_registers, inputs, calls, list(places))

    def _numbers_of(self, nodes: Iterable[int]) -> set[int]:
        """Return the numbers of the inputs of the tape that nodes depend on."""
        needed = (self.tape.nodes[k] for k in self.tape.needed(nodes))
        return {node.data[0] for node in needed if node.op == "input"}

    def _calls_of(self, nodes: Iterable[int]) -> list[int]:
        if not self._calls:
            return []
        numbers = self._numbers_of(nodes)
        return sorted({self._call_of_input[k] for k in numbers if k in self._call_of_input})

    def add_call(self, kind: SignalCallKind, arguments: list[int]) -> list[Scalar]:
        """Return the forces (nv) of inverse dynamics for a motion given by nodes."""
        for known, other, first in self._calls:
            if known is kind and other == arguments:
                return [Scalar(self.tape, self.tape.input(first + i)) for i in range(self.nv)]
        first, self._count = self._count, self._count + self.nv
        self._call_of_input |= dict.fromkeys(range(first, first + self.nv), len(self._calls))
        self._calls.append((kind, arguments, first))
        return [Scalar(self.tape, self.tape.input(first + i)) for i in range(self.nv)]

    # ------------------------------------------------------------------------------ instances of templates

    def is_registered(self, number: int) -> bool:
        """Return whether an input of the tape is a number of the engine."""
        return number not in self._instance_of and number not in self._call_of_input

    def source_of(self, number: int) -> SignalSource:
        """Return the source of a number of the engine."""
        return next(key[0] for key, place in self._registered.items() if place == number)

    def add_instance(self, instance: TemplateInstance, number: int) -> None:
        """Note that an instance reads an input."""
        readers = self._reading.setdefault(number, [])
        if all(reader is not instance for reader in readers):
            readers.append(instance)

    def output_of(self, instance: TemplateInstance, output: int) -> Scalar:
        """Return the symbolic number of an output of an instance."""
        if output not in instance.outputs:
            number = FIRST_OUTPUT + len(self._instance_of)
            instance.outputs[output] = number
            self._instance_of[number] = instance, output
        return Scalar(self.tape, self.tape.input(instance.outputs[output]))

    def through_instances(self, rates: Mapping[int, int]) -> dict[int, int]:
        """Return rates of inputs with those of the outputs of instances that read them."""
        moved = dict(rates)
        for number, rate in rates.items():
            for instance in self._reading.get(number, ()):
                places = [place for place, at in instance.arguments.items() if at == number]
                for output in instance.returned:
                    for place in places:
                        self._add_slope(moved, instance, output, place, rate)
        return moved

    def _add_slope(
        self, rates: dict[int, int], instance: TemplateInstance, output: int, place: int, rate: int
    ) -> None:
        """Add the derivative of an output by an input to the rate of the output."""
        slope = instance.template.slope(output, place)
        if slope is None:
            return
        node = self.tape.node("mul", self.output_of(instance, slope).index, rate)
        number = self.output_of(instance, output).index
        place = self.tape.nodes[number].data[0]
        rates[place] = self.tape.node("add", rates[place], node) if place in rates else node

    def _numbers_behind(self, number: int) -> set[int]:
        """Return the numbers of the inputs on which an output of an instance depends; of others their own."""
        if number not in self._instance_of:
            return {number}
        instance, output = self._instance_of[number]
        return {instance.arguments[k] for k in instance.template.read_by(output)}

    def _emitted(
        self, early: Sequence[int], late: Sequence[int], aside: int
    ) -> tuple[Emitted, int]:
        """Return the instructions of nodes, after those of the instances that they read, and the input registers."""
        main = self._numbers_of([*early, *late[: len(late) - aside]])
        beside = self._numbers_of(late[len(late) - aside :]) - main if aside else set[int]()
        codes = instance_codes(self._outputs_among(main), self._outputs_among(beside))
        if not codes:
            return emitted(self.tape, early, late, self._count, aside), self._count
        # their registers follow those of the numbers of the engine
        read = sorted(number for number in main | beside if number in self._instance_of)
        outputs = {number: self._count + k for k, number in enumerate(read)}
        first = self._count + len(outputs)
        numbers = [code.constants.ravel() for code in codes]
        values, begin, where = np.unique(
            np.concatenate(numbers), return_index=True, return_inverse=True
        )
        ordered = np.argsort(begin)  # the constants of an instance lie together
        nodes = np.zeros(len(values), int)
        nodes[ordered] = [self.tape.const(x) for x in values[ordered].tolist()]
        program = emitted(self.tape, early, late, first, aside, nodes.tolist(), outputs)
        place = {node: first + k for k, node in enumerate(program.constant_nodes)}
        registers = np.array([place[node] for node in nodes.tolist()], int)[where]
        parts = np.split(registers, np.cumsum([part.size for part in numbers[:-1]]))
        results = first + len(place)
        prefix: list[Any] = []
        for instances, part in zip(codes, parts, strict=True):
            tables = self.tape.table(instances.template.tape.tables)
            prefix += instructions(instances, part, outputs, results, tables)
        most = max(instances.code.registers - instances.code.first for instances in codes)
        joined = program._replace(
            code=[*prefix, *program.code],
            first=len(prefix) + program.first,
            registers=max(program.registers, results + most),
        )
        return joined, first

    def _outputs_among(self, numbers: Iterable[int]) -> list[tuple[TemplateInstance, int]]:
        """Return the outputs of instances among inputs, in their order."""
        return [self._instance_of[k] for k in sorted(numbers) if k in self._instance_of]


def is_path(port: PortDescription) -> bool:
    """Return whether a port is a path, and not a pair of frames."""
    return port.kind.name == "path"
