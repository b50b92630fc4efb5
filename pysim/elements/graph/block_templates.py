"""Blocks of a graph that differ in numbers alone: their methods are recorded once for all of them.

They are forces and actuators along paths, such as muscles, of plugins of this library, whose arguments are numbers of
the engine. Where a method cannot be recorded with open numbers, each block records its own.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim._engine import SignalSource
from pysim.elements.block_template import BlockTemplate, Output, Shape, TemplateInstance
from pysim.tracing.expression import Scalar
from pysim.tracing.open_numbers import open_numbers_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pysim.elements.block_template import Role, Shapes
    from pysim.elements.graph_types import GraphBlock
    from pysim.elements.signal_inputs import SignalInputs

LIBRARY = "pysim.elements."  # whose methods return the same in every call
FEWEST_BLOCKS = 4  # blocks of a template
_SPECIAL = (-1.0, 0.0, 1.0)  # with which operations are simplified


class BlockTemplates:
    """Templates of the blocks of a graph.

    Args:
        blocks: of the graph.
        symbols: inputs of its programs.
    """

    def __init__(self, blocks: Iterable[GraphBlock], symbols: SignalInputs) -> None:
        self._symbols, self._tape = symbols, symbols.tape
        self._instances: dict[str, TemplateInstance] = {}
        groups: dict[Any, list[GraphBlock]] = {}
        for block in blocks:
            if any(open_numbers_in(value) for value in vars(block.plugin or object).values()):
                return  # the programs of this graph have open numbers of their own
            if _is_repeatable(block):
                groups.setdefault(_structure(block), []).append(block)
        for group in groups.values():
            if len(group) >= FEWEST_BLOCKS:
                self._add(group)

    def _add(self, group: Sequence[GraphBlock]) -> None:
        plugins = [block.plugin for block in group]
        varied = [name for name in _numbers(plugins[0]) if _differs(name, plugins)]
        template = BlockTemplate(plugins, varied)
        for row, block in enumerate(group):
            self._instances[block.name] = TemplateInstance(template, row)

    def call(
        self,
        block: GraphBlock,
        method: str,
        arguments: Mapping[str, Any],
        signals: Mapping[str, Any],
    ) -> Any:
        """Return what a method returns for its arguments and signals; None if the block has no template for it."""
        instance = self._instances.get(block.name)
        if instance is None:
            return None
        shapes = [self._shapes(values) for values in (arguments, signals)]
        if shapes[0] is None or shapes[1] is None:
            return None
        numbers, constants = self._read({**arguments, **signals})
        if not self._can_be_inputs(list(numbers.values()), method):
            return None
        template = instance.template
        for role, value in constants.items():
            template.set_constant(role, instance.row, value)
        result = template.result(method, shapes[0], shapes[1])
        if result is None:
            return None
        for role, number in numbers.items():
            place = template.inputs.get(role)
            if place is not None:
                instance.arguments[place] = number
                self._symbols.add_instance(instance, number)
        return self._of_instance(result, instance)

    def _read(self, values: Mapping[str, Any]) -> tuple[dict[Role, int], dict[Role, float]]:
        """Return the numbers of the inputs that arguments are, and the values of those that are constants."""
        numbers: dict[Role, int] = {}
        constants: dict[Role, float] = {}
        for name, value in values.items():
            for k, x in enumerate(_scalars(value)):
                node = self._tape.nodes[x.index]
                if node.op == "const":
                    constants[name, k] = node.value
                else:
                    numbers[name, k] = node.data[0]
        return numbers, constants

    def _shapes(self, values: Mapping[str, Any]) -> Shapes | None:
        """Return the shapes of inputs and constants by name; None if one is something else."""
        shapes: list[Shape] = []
        for name, value in values.items():
            scalars = _scalars(value)
            if not scalars or not all(isinstance(x, Scalar) for x in scalars):
                return None
            ops = [self._tape.nodes[x.index].op for x in scalars]
            if not set(ops) <= {"input", "const"}:
                return None
            size = None if isinstance(value, Scalar) else len(scalars)
            shapes.append(Shape(name, size, tuple(op == "const" for op in ops)))
        return tuple(shapes)

    def _can_be_inputs(self, numbers: Sequence[int], method: str) -> bool:
        """Return whether each is an input of the engine of its own, which no other block computes.

        Initial values of others are inserted for the states that `initial` reads, in the nodes of the block.
        """
        if not all(map(self._symbols.is_registered, numbers)):
            return False
        sources = {self._symbols.source_of(number) for number in numbers}
        if method == "initial" and SignalSource.state in sources:
            return False
        return len(set(numbers)) == len(numbers)

    def _of_instance(self, result: Any, instance: TemplateInstance) -> Any:
        if isinstance(result, Output):
            if result.number not in instance.returned:
                instance.returned.append(result.number)
            return self._symbols.output_of(instance, result.number)
        if isinstance(result, list):
            return [self._of_instance(part, instance) for part in result]
        return result


def _is_repeatable(block: GraphBlock) -> bool:
    plugin = block.plugin
    if block.kind not in ("actuator", "force") or block.port is None or not block.is_path:
        return False
    if not type(plugin).__module__.startswith(LIBRARY) or not is_dataclass(plugin):
        return False
    return set(vars(plugin)) <= {
        field.name for field in fields(plugin)
    }  # nothing follows from them


def _numbers(plugin: Any) -> list[str]:
    """Return the names of the fields that are numbers."""
    return [
        field.name for field in fields(plugin) if isinstance(getattr(plugin, field.name), float)
    ]


def _structure(block: GraphBlock) -> Any:
    """Return what blocks of one template have in common."""
    plugin, numbers = block.plugin, set(_numbers(block.plugin))
    common = [
        (name, value if name not in numbers or value in _SPECIAL else "number")
        for name, value in vars(plugin).items()
        if name not in block.signals
    ]
    return type(plugin), block.kind, repr(common)


def _differs(name: str, plugins: Sequence[Any]) -> bool:
    return len({getattr(plugin, name) for plugin in plugins}) > 1


def _scalars(value: Any) -> list[Any]:
    """Return the numbers of an argument that is a symbolic number or an array of them; none of another."""
    if isinstance(value, Scalar):
        return [value]
    return value.ravel().tolist() if isinstance(value, np.ndarray) else []
