"""Calls of the methods of plugins with symbolic numbers, and checks of what they return."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim._engine import SignalSource
from pysim.elements.channels import SignalField
from pysim.elements.graph.block_channels import count_text, memory_of, states_of
from pysim.elements.graph.block_templates import LIBRARY
from pysim.elements.graph.signal_values import Outputs
from pysim.elements.library.noise import Noise
from pysim.elements.quantities import Twist
from pysim.elements.units import spelled_unit
from pysim.errors import JointError, PysimError, SceneError, did_you_mean
from pysim.joints.documentation import unit_of
from pysim.plugins.fields import field_type, fields_of
from pysim.tracing.author_code import author_error, definition_place, method_place
from pysim.tracing.expression import Scalar
from pysim.tracing.open_numbers import opened
from pysim.tracing.repeated_call import recorded_call

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pysim.elements.graph.block_templates import BlockTemplates
    from pysim.elements.graph.late_numbers import LateNumbers
    from pysim.elements.graph.method_arguments import MethodArguments
    from pysim.elements.graph.signal_units import SignalUnits
    from pysim.elements.graph.signal_values import SignalValues
    from pysim.elements.graph.state_places import StatePlaces
    from pysim.elements.graph_types import GraphBlock
    from pysim.elements.signal_inputs import SignalInputs

_REPEATABLE = "compute it from the arguments alone; keep numbers in states or memory, and draw random ones from noise"


class BlockMethods:
    """Methods of the blocks of a graph.

    Args:
        symbols: inputs of the programs.
        places: of states and held numbers.
        units: of the signals.
        signals: their values.
        arguments: of the methods.
        late: numbers that exist only after the dynamics.
        templates: of blocks that differ in numbers alone.
    """

    def __init__(
        self,
        symbols: SignalInputs,
        places: StatePlaces,
        units: SignalUnits,
        signals: SignalValues,
        arguments: MethodArguments,
        late: LateNumbers,
        templates: BlockTemplates,
    ) -> None:
        self._symbols, self._tape, self._places = symbols, symbols.tape, places
        self._templates = templates
        self._units, self._signals, self._late = units, signals, late
        self.arguments = arguments

    def call(self, block: GraphBlock, method: str, arguments: Mapping[str, Any]) -> Any:
        """Call an author's method; its fields of type Signal hold the signals.

        Raises:
            JointError: the method raises; the error names the author's line.
        """
        plugin = block.plugin
        signals = {}
        for name, signal in block.signals.items():
            nodes = self._signals.read(block, signal, _signal_unit(plugin, name), name)
            signals[name] = self._symbols.shaped(nodes)
        found = self._templates.call(block, method, arguments, signals)
        if found is not None:
            return found
        written = {name: getattr(plugin, name) for name in block.signals}
        for name, value in signals.items():
            object.__setattr__(plugin, name, value)
        function = getattr(plugin, method)
        try:
            with opened(plugin, self._tape):
                if type(plugin).__module__.startswith(LIBRARY):
                    return function(**arguments)
                return recorded_call(
                    self._tape,
                    lambda: method_place(plugin, method),
                    lambda: function(**{name: _afresh(value) for name, value in arguments.items()}),
                    _REPEATABLE,
                )
        except PysimError:
            raise
        except Exception as error:
            owner = f"{type(plugin).__qualname__}.{method}"
            raise author_error(error, function, owner) from error
        finally:
            for name, value in written.items():
                object.__setattr__(plugin, name, value)

    def outputs(self, block: GraphBlock, method: str, given: Mapping[str, Any]) -> Outputs:
        """Return what a method computes of the outputs of a block, for given arguments.

        Raises:
            JointError: it returns another number of them, or of their numbers.
        """
        result = self.call(block, method, given)
        channels = list(block.plugin.output_channels())
        parts = [result] if len(channels) == 1 else result
        place = method_place(block.plugin, method)
        if len(channels) > 1 and (
            not isinstance(parts, (tuple, list)) or len(parts) != len(channels)
        ):
            names = ", ".join(channel.name for channel in channels)
            raise JointError(place, f"must return {len(channels)} values: {names}; got {parts!r}")
        numbers = {}
        for channel, part in zip(channels, parts, strict=True):
            nodes = self.nodes(block, method, part)
            if isinstance(channel.size, int) and len(nodes) != channel.size:
                problem = (
                    f"must return {count_text(channel.size)} for {channel.name!r}, got {len(nodes)}"
                )
                raise JointError(place, f"{problem}; change it, or the size that it declares")
            numbers[channel.name] = nodes
        return Outputs(self._begun(block, numbers), self._units.of(block))

    def _begun(self, block: GraphBlock, numbers: dict[str, list[int]]) -> dict[str, list[int]]:
        """Return the outputs of a sensor with the values that its scene gives for t = 0.

        Raises:
            SceneError: a name or the number of values is wrong, or the output does not follow from forces.
        """
        begun = dict(numbers)
        tape = self._tape
        for name, values in block.first.items():
            problem = ""
            nodes = numbers.get(name)
            if nodes is None:
                problem = f"has no output {name!r}{did_you_mean(name, numbers)}"
            elif not self._late.is_late(nodes):
                problem = f"{name!r} is known at t = 0; remove its start"
            elif len(values) != len(nodes):
                problem = f"{name!r} has {count_text(len(nodes))}, and its start {len(values)}; give as many"
            if problem or nodes is None:
                raise SceneError(block.where, f"{block.label}: {problem}")
            time = self._symbols.number(SignalSource.time, 0).index
            begins = tape.node("less_equal", time, tape.const(0))
            begun[name] = [
                tape.node("select", begins, tape.const(value), node)
                for value, node in zip(values, nodes, strict=True)
            ]
        return begun

    def nodes(self, block: GraphBlock, method: str, value: Any) -> list[int]:
        """Return the nodes of a number, or of a list of numbers, that a method returns."""
        listed = isinstance(value, (list, tuple, np.ndarray))
        flat = np.array(value, object).ravel().tolist() if listed else [value]
        nodes = []
        for x in flat:
            if isinstance(x, Scalar):
                if x.tape is not self._tape:
                    problem = "returns a symbolic number from an earlier call; compute it from this call's arguments"
                    raise JointError(method_place(block.plugin, method), problem)
                nodes.append(x.index)
            elif isinstance(x, (int, float, np.integer, np.floating)):
                if not np.isfinite(x):
                    raise JointError(
                        method_place(block.plugin, method), f"returns {x}; return a finite number"
                    )
                nodes.append(self._tape.const(float(x)))
            else:
                kind = (
                    "None; end it with `return`"
                    if x is None
                    else f"a {type(x).__name__} instead of a number"
                )
                problem = f"returns {kind}"
                raise JointError(method_place(block.plugin, method), problem)
        return nodes

    def rates(self, block: GraphBlock, method: str = "state_rate") -> dict[str, list[int]]:
        """Return the nodes of what `state_rate`, `held_step` or `update` returns, by state or memory."""
        plugin = block.plugin
        channels = memory_of(plugin) if method == "update" else states_of(plugin)
        if not hasattr(plugin, method):
            names = ", ".join(channel.name for channel in channels)
            problem = (
                f"has {names}, but no {method}; write `def {method}(self, t, inputs, {names})`"
            )
            raise JointError(definition_place(type(plugin)), problem)
        result = self.call(block, method, self.arguments.of(block, method))
        parts = [result] if len(channels) == 1 else result
        place = method_place(plugin, method)
        if len(channels) > 1 and (
            not isinstance(parts, (list, tuple)) or len(parts) != len(channels)
        ):
            raise JointError(
                place,
                f"must return {len(channels)} values, one for each of {', '.join(c.name for c in channels)}",
            )
        rates = {}
        for channel, part in zip(channels, parts, strict=True):
            nodes = self.nodes(block, method, part)
            size = len(self._places.of[block.name, channel.name])
            if len(nodes) != size:
                raise JointError(
                    place,
                    f"must return {count_text(size)} for {channel.name!r}, got {len(nodes)}",
                )
            rates[channel.name] = nodes
        return rates


def _signal_unit(plugin: Any, name: str) -> str:
    """Return the unit of a field that holds a signal, "" if it has none or several."""
    kind = field_type(type(plugin), fields_of(type(plugin))[name])
    if isinstance(kind, SignalField):
        return kind.unit
    unit = unit_of(type(plugin), name)[0]
    return "" if " or " in unit or ", " in unit else spelled_unit(unit)


def _afresh(value: Any) -> Any:
    """Return an argument for another call of a method, which may change its arrays and draws its random numbers."""
    if isinstance(value, Noise):
        return value.afresh()
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, SimpleNamespace):
        return SimpleNamespace(**{name: _afresh(part) for name, part in vars(value).items()})
    if isinstance(value, Twist):
        twist: Any = value
        return Twist(twist.v.copy(), twist.w.copy())
    return value
