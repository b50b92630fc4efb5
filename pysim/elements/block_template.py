"""Templates of blocks: methods of blocks that differ in numbers alone are recorded and compiled once for all of them.

    template      one tape; the fields that differ are open numbers, and its constants follow from them by recipes
    instance      one block: its numbers, the inputs that it reads, and the inputs of the graph that its outputs are

A program of the graph begins with the instructions of its instances. They are those of the template with other
registers, and write the outputs to the registers of inputs:

    inputs | outputs of instances | constants | results, the same registers for every instance and for the rest
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pysim.errors import PysimError
from pysim.tracing.derivative import Derivative
from pysim.tracing.expression import Scalar
from pysim.tracing.open_numbers import OpenNumber, Recipes, opened
from pysim.tracing.program import OPS, READS_TABLE, Emitted, emitted, register_operands
from pysim.tracing.symbolic_array import symbolic_array
from pysim.tracing.tape import Tape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pysim._engine import Op
    from pysim.typing import Array

Role = tuple[str, int]  # name of an argument or of a field that holds a signal, and place in it


class Shape(NamedTuple):
    """Shape of an argument, or of a signal that a field holds.

    Attributes:
        size: number of its numbers; None of one that is no array.
        constant: whether each is a constant.
    """

    name: str
    size: int | None
    constant: tuple[bool, ...]


Shapes = tuple[Shape, ...]


@dataclass(frozen=True)
class Output:
    """Output of a template in what a method returns."""

    number: int


@dataclass(frozen=True)
class TemplateCode:
    """Instructions of a template for some of its outputs.

    Attributes:
        ops: (instructions).
        operands: (instructions, 4): out, a, b, c.
        is_register: of the operands.
        reads_table: of the instructions.
        constants: nodes of the template's tape, in the order of their registers.
        first: number of the register of the first result; before it those of the constants, and of the inputs.
        registers: their number.
        renamed: registers of outputs that the register of the output replaces, by output.
        copied: registers of outputs that are copied there.
    """

    ops: list[Op]
    operands: Array
    is_register: Array
    reads_table: Array
    constants: list[int]
    first: int
    registers: int
    renamed: dict[int, int]
    copied: dict[int, int]


class BlockTemplate:
    """Methods of plugins of one type whose fields are equal but for some numbers.

    Args:
        plugins: at least one.
        varied: names of the fields that differ.
    """

    def __init__(self, plugins: Sequence[Any], varied: Sequence[str]) -> None:
        self.tape, self.recipes = Tape(), Recipes()
        self._count = len(plugins)
        self._numbers = [np.array([getattr(plugin, name) for plugin in plugins]) for name in varied]
        self._constant_roles: dict[Role, int] = {}
        first = plugins[0]
        self._plugin = type(first)(
            **{field.name: getattr(first, field.name) for field in fields(first)}
        )
        for k, name in enumerate(varied):
            number = OpenNumber(getattr(first, name), self.recipes, k)
            object.__setattr__(self._plugin, name, number)
        self.inputs: dict[Role, int] = {}
        self.outputs: list[int] = []  # nodes
        self._results: dict[tuple[str, Shapes, Shapes], Any] = {}
        self._slopes: dict[tuple[int, int], int | None] = {}
        self._along: dict[int, Derivative] = {}
        self._reads: dict[int, frozenset[int]] = {}
        self._code: dict[tuple[tuple[int, ...], int], TemplateCode] = {}
        self._constants: dict[int, Array] = {}

    def result(self, method: str, arguments: Shapes, signals: Shapes) -> Any:
        """Return what a method returns, an `Output` for each of its numbers; None if it cannot be recorded so."""
        key = method, arguments, signals
        if key not in self._results:
            try:
                self._results[key] = self._recorded(method, arguments, signals)
            # it depends on what its numbers are; a call of the block reports other errors
            except (PysimError, TypeError, ValueError, ArithmeticError):
                self._results[key] = None
        return self._results[key]

    def _recorded(self, method: str, arguments: Shapes, signals: Shapes) -> Any:
        for name, value in self._symbolic(signals).items():
            object.__setattr__(self._plugin, name, value)
        with opened(self._plugin, self.tape):
            return self._outputs_of(getattr(self._plugin, method)(**self._symbolic(arguments)))

    def _symbolic(self, shapes: Shapes) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, size, constant in shapes:
            numbers = [
                self._constant_input(name, k) if is_constant else self._input(name, k)
                for k, is_constant in enumerate(constant)
            ]
            values[name] = numbers[0] if size is None else symbolic_array(numbers)
        return values

    def _input(self, name: str, place: int) -> Scalar:
        number = self.inputs.setdefault((name, place), len(self.inputs))
        return Scalar(self.tape, self.tape.input(number))

    def _constant_input(self, name: str, place: int) -> Scalar:
        number = self._number_of((name, place))
        value = np.nanmin(self._numbers[number])
        return Scalar(self.tape, self.tape.open_number(value, self.recipes, number))

    def _number_of(self, role: Role) -> int:
        """Return the open number that a constant argument is."""
        if role not in self._constant_roles:
            self._constant_roles[role] = len(self._numbers)
            self._numbers.append(np.full(self._count, np.nan))
        return self._constant_roles[role]

    def set_constant(self, role: Role, row: int, value: float) -> None:
        """Set a constant argument of a block."""
        self._numbers[self._number_of(role)][row] = value

    def _outputs_of(self, result: Any) -> Any:
        """Return what a method returned with outputs in place of symbolic numbers."""
        if isinstance(result, Scalar):
            self.outputs.append(result.index)
            return Output(len(self.outputs) - 1)
        if isinstance(result, (tuple, list, np.ndarray)):
            return [self._outputs_of(part) for part in result]
        if isinstance(result, (int, float, np.integer, np.floating)) and np.isfinite(result):
            return float(result)
        raise TypeError(type(result).__name__)

    def slope(self, output: int, number: int) -> int | None:
        """Return the output that is the derivative of another one by an input; None if it is 0."""
        key = output, number
        if key not in self._slopes:
            if number not in self._along:
                rates = {number: self.tape.const(1)}
                self._along[number] = Derivative(self.tape, rates, limits=True)
            node = self._along[number].of(self.outputs[output])
            self._slopes[key] = None
            if not self.tape.is_value(node, 0):
                self.outputs.append(node)
                self._slopes[key] = len(self.outputs) - 1
        return self._slopes[key]

    def read_by(self, output: int) -> frozenset[int]:
        """Return the numbers of the inputs on which an output depends."""
        if output not in self._reads:
            nodes = (self.tape.nodes[k] for k in self.tape.needed([self.outputs[output]]))
            self._reads[output] = frozenset(read.data[0] for read in nodes if read.op == "input")
        return self._reads[output]

    def constant(self, node: int) -> Array:
        """Return the values (instances) of a constant of the tape."""
        if node not in self._constants:
            constant = self.tape.nodes[node]
            if constant.data:
                values = self.recipes.values(constant.data, np.stack(self._numbers, axis=1))[:, 0]
            else:
                values = np.full(self._count, constant.value)
            self._constants[node] = values
        return self._constants[node]

    def code(self, outputs: tuple[int, ...], aside: int) -> TemplateCode:
        """Return the instructions for outputs; the last `aside` ones change no bit of the others."""
        key = outputs, aside
        if key not in self._code:
            nodes = [self.outputs[k] for k in outputs]
            program = emitted(self.tape, [], nodes, len(self.inputs), aside)
            self._code[key] = _template_code(program, outputs, len(self.inputs))
        return self._code[key]


@dataclass(frozen=True)
class TemplateInstance:
    """A block of a template.

    Attributes:
        row: of its numbers.
        arguments: numbers of the inputs of the graph, by those of the template.
        outputs: numbers of the inputs of the graph that its outputs are.
        returned: outputs that methods return; the others are slopes.
    """

    template: BlockTemplate
    row: int
    arguments: dict[int, int] = field(default_factory=dict)
    outputs: dict[int, int] = field(default_factory=dict)
    returned: list[int] = field(default_factory=list)


class InstanceCode(NamedTuple):
    """Instructions of some outputs of instances of one template.

    Attributes:
        code: of the template.
        instances: in their order.
        constants: values (instances, constants).
    """

    template: BlockTemplate
    code: TemplateCode
    instances: list[TemplateInstance]
    constants: Array


def instance_codes(
    wanted: Iterable[tuple[TemplateInstance, int]], beside: Iterable[tuple[TemplateInstance, int]]
) -> list[InstanceCode]:
    """Return the instructions for outputs of instances; those `beside` change no bit of the others."""
    outputs_of: dict[int, tuple[TemplateInstance, set[int], set[int]]] = {}
    for k, outputs in enumerate((wanted, beside)):
        for instance, output in outputs:
            _, *sets = outputs_of.setdefault(id(instance), (instance, set(), set()))
            sets[k].add(output)
    groups: dict[Any, list[TemplateInstance]] = {}
    for instance, main, other in outputs_of.values():
        key = id(instance.template), (*sorted(main), *sorted(other - main)), len(other - main)
        groups.setdefault(key, []).append(instance)
    codes = []
    for (_, outputs, aside), instances in groups.items():
        template = instances[0].template
        code = template.code(outputs, aside)
        rows = [instance.row for instance in instances]
        columns = [template.constant(node)[rows] for node in code.constants]
        constants = np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0))
        codes.append(InstanceCode(template, code, instances, constants))
    return codes


def instructions(
    instances: InstanceCode,
    registers: Array,
    outputs: Mapping[int, int],
    results: int,
    tables: int,
) -> list[tuple[Op, int, int, int, int]]:
    """Return the instructions of instances in a program.

    Args:
        instances: the instances.
        registers: of the constants.
        outputs: registers of outputs, by the number of the input of the graph.
        results: first register of results.
        tables: place of the template's tables among those of the program.
    """
    code, count = instances.code, len(instances.instances)
    places = np.zeros((count, code.registers), int)
    inputs = len(instances.template.inputs)
    for row, instance in enumerate(instances.instances):
        for number, at in instance.arguments.items():
            places[row, number] = at
        for output, register in code.renamed.items():
            places[row, register] = outputs[instance.outputs[output]]
    places[:, inputs : code.first] = registers.reshape(instances.constants.shape)
    kept = set(code.renamed.values())
    for register in range(code.first, code.registers):
        if register not in kept:
            places[:, register] = results + register - code.first
    mapped = places[:, np.where(code.is_register, code.operands, 0)]
    mapped = np.where(code.is_register, mapped, code.operands)
    mapped[:, code.reads_table, 2] += tables
    rows: list[Any] = []
    for row, (instance, operands) in enumerate(
        zip(instances.instances, mapped.tolist(), strict=True)
    ):
        rows += [(op, *rest) for op, rest in zip(code.ops, operands, strict=True)]
        rows += [
            (OPS["copy"], outputs[instance.outputs[output]], int(places[row, register]), 0, 0)
            for output, register in code.copied.items()
        ]
    return rows


def _template_code(program: Emitted, outputs: Sequence[int], inputs: int) -> TemplateCode:
    ops = [row[0] for row in program.code]
    operands = np.array([row[1:] for row in program.code], int).reshape(-1, 4)
    are_registers = np.array([register_operands(op) for op in ops], bool).reshape(-1, 4)
    reads_table = np.array([op in READS_TABLE for op in ops], bool)
    constants = program.constant_nodes
    first = inputs + len(constants)
    bound = _neighbouring(program)
    renamed: dict[int, int] = {}
    copied: dict[int, int] = {}
    for output, register in zip(outputs, program.late, strict=True):
        is_free = register >= first and register not in bound
        if is_free and register not in renamed.values():
            renamed[output] = register
        else:
            copied[output] = register
    return TemplateCode(
        ops,
        operands,
        are_registers,
        reads_table,
        constants,
        first,
        program.registers,
        renamed,
        copied,
    )


def _neighbouring(program: Emitted) -> set[int]:
    """Return the registers that instructions read or write beside others."""
    bound: set[int] = set()
    for op, out, a, b, c in program.code:
        if op == OPS["sincos"]:
            bound |= {out, out + 1}
        elif op == OPS["dot"]:
            bound |= set(range(a, a + c))
        elif op == OPS["solve"]:
            bound |= {a, a + 1, a + 2, b, b + 1}
    return bound
