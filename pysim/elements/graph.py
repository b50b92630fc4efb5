"""Signal graph of a scene: its blocks are called with symbolic numbers, each after those that it reads.

    sources, sensors, continuous controllers → forces of actuators        evaluated with the dynamics
    sampled controllers                      → numbers held between their instants
    accelerations, wrenches, contacts        → sampled controllers and the recording alone

The result is a few programs of the engine, see cpp/elements/signals.hpp.
"""

from __future__ import annotations

import inspect
import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim._engine import (
    Group,
    SignalCallKind,
    SignalsDescription,
    SignalSource,
)
from pysim.elements.block import CallbackController
from pysim.elements.bounded_forces import BoundedForce, BoundedForces
from pysim.elements.channels import Channel, SignalField
from pysim.elements.force import method_of
from pysim.elements.graph_types import (
    CONTACT_NUMBERS,
    Callback,
    CompiledSignals,
    CoordinatePlace,
    ExertedForce,
    GraphBlock,
    NoiseKey,
    RecordedSignal,
    RigidPart,
    SceneInput,
    WorkTerm,
)
from pysim.elements.ground import Ground
from pysim.elements.library.noise import Noise
from pysim.elements.number_names import AXES_OF, place_of_name
from pysim.elements.powers import MeasuredElements, Powers
from pysim.elements.quantities import Acceleration, Contact, Twist, Wrench
from pysim.elements.signal_derivatives import SignalDerivatives
from pysim.elements.signal_inputs import SignalInputs, is_path
from pysim.elements.units import spelled_unit
from pysim.errors import JointError, PysimError, SceneError, did_you_mean
from pysim.joints.displacement import Pose
from pysim.joints.documentation import unit_of
from pysim.plugins.fields import field_type, fields_of
from pysim.tracing.author_code import author_error, definition_place, method_place
from pysim.tracing.derivative import Derivative
from pysim.tracing.expression import Scalar
from pysim.tracing.random_numbers import world_key
from pysim.tracing.repeated_call import recorded_call
from pysim.tracing.symbolic_array import symbolic_array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pysim._engine import PortDescription
    from pysim.elements.block import Block
    from pysim.elements.channels import Channels
    from pysim.elements.force import Method

    _Sampled = tuple["GraphBlock", list[int], list[int]]  # nodes that it stores, and where


@dataclass
class _Values:
    """Outputs of a block: numbers and unit of each channel, by name."""

    numbers: dict[str, list[int]]
    units: dict[str, str]


@dataclass
class _DrivenCoordinate:
    """Nodes of the forces on a coordinate: those of actuators, which limits bound, and others."""

    place: CoordinatePlace
    actuators: list[int] = field(default_factory=list)
    others: list[int] = field(default_factory=list)


class GraphBuilder:
    """Builder of the programs of a graph.

    Args:
        blocks: in the order of the scene.
        ports: frames and paths that blocks measure or drive; driven ones first.
        driven: number of the driven ports.
        groups: groups of the user's coordinates, (group, first in q, first in v).
        nv: number of velocities.
        gravity: of the world [m/s²].
        measured: elements outside the graph whose power is measured, or whose work is integrated.
        seed: of the random numbers.
        velocity_names: of the mechanism's velocities, by which numbers of a signal are selected.
        bounds: steps are implicit in forces on coordinates that an actuator bounds.
        ground: returns the surfaces whose heights a sensor reads.
    """

    def __init__(
        self,
        blocks: Sequence[GraphBlock],
        ports: Sequence[PortDescription],
        driven: int,
        groups: Sequence[tuple[Group, int, int]],
        nv: int,
        gravity: Sequence[float],
        measured: MeasuredElements | None = None,
        seed: int = 0,
        velocity_names: Sequence[str] = (),
        *,
        bounds: bool = False,
        ground: Callable[[], Ground] | None = None,
    ) -> None:
        self.velocity_names = tuple(velocity_names)
        self._bounds = bounds
        self._ground_of = ground
        self._ground: Ground | None = None
        self.blocks = {block.name: block for block in blocks}
        self.ports, self.driven, self.groups, self.nv = ports, driven, groups, nv
        self.gravity, self.seed = gravity, seed
        self.symbols = SignalInputs(ports, nv)
        self.tape = self.symbols.tape
        self._values: dict[str, _Values] = {}
        self._open: list[str] = []  # blocks being evaluated
        self._open_units: list[str] = []  # blocks whose units are being determined
        self._open_labels: list[str] = []  # blocks whose names of numbers are being determined
        self._state_places: dict[tuple[str, str], list[int]] = {}
        self._start: list[float] = []
        self._efforts: dict[int, list[int]] = {}  # of driven ports
        self._efforts_of: dict[str, list[int]] = {}  # of blocks, by name
        self._driven: dict[int, _DrivenCoordinate] = {}
        measured = measured or MeasuredElements()
        self._ledger = dict(measured.ledger or {})
        self._powers = Powers(self, measured)
        self._contact_places: dict[str, list[int]] = {}  # of contact sensors, by name
        self._gates_of: dict[str, list[int]] = {}  # places, by the name of the block
        self._gates: dict[
            int, list[int]
        ] = {}  # places, by the number of the event that closes them
        self._key: int | None = None  # place of the key of random numbers
        self._cut_units = False  # whether units being determined depend on a loop that is open
        self._sizes: dict[tuple[str, str], int] = {}
        self._open_sizes: list[tuple[str, str]] = []
        self._known_units: dict[str, dict[str, str]] = {}
        self._states = self._allot()
        self._coupled = self._states - len(self._ledger)

    # ------------------------------------------------------------------------------------------ places in the state

    def _allot(self) -> int:
        """Give every state, integral, then held number its place; return the number of states and integrals."""
        for block in self._inputs_first():
            if block.plugin is not None and block.kind in ("controller", "actuator", "sensor"):
                with suppress(PysimError):  # reported where it is read
                    self._size_of_inputs(block)
        for block in self.blocks.values():
            if block.kind in ("controller", "actuator", "force", "sensor") and block.period is None:
                self._allot_channels(block, _states_of(block.plugin))
        self._take(len(self._ledger))
        states = len(self._start)
        for block in self.blocks.values():
            if block.period is not None:
                self._allot_channels(block, [*_states_of(block.plugin), *_memory_of(block.plugin)])
            if block.kind == "signal" and block.plugin is None:  # given from outside
                places = self._state_places[block.name, "value"] = self._take(block.size)
                for place, value in zip(places, block.start or (0.0,) * block.size, strict=True):
                    self._start[place] = value
        for block in self.blocks.values():
            if block.touched is not None:
                self._contact_places[block.name] = self._take(CONTACT_NUMBERS)
        return states

    def _take(self, count: int) -> list[int]:
        first = len(self._start)
        self._start += [0.0] * count
        return list(range(first, first + count))

    def _allot_channels(self, block: GraphBlock, channels: Iterable[Channel]) -> None:
        start = dict(block.plugin.start()) if hasattr(block.plugin, "start") else {}
        for channel in channels:
            values = np.atleast_1d(np.asarray(start.get(channel.name, 0.0), float))
            is_fixed = isinstance(channel.size, int)
            size = channel.numbers(1 if is_fixed else self._size_of_inputs(block))
            if values.shape not in {(1,), (size,)}:
                where = method_place(block.plugin, "start")
                given = " × ".join(map(str, values.shape))
                raise JointError(where, f"must give {channel.name!r} {_numbers(size)}, got {given}")
            values = np.broadcast_to(values, (size,))
            places = self._take(size)
            for place, value in zip(places, values, strict=True):
                self._start[place] = float(value)
            self._state_places[block.name, channel.name] = places

    def _size_of_inputs(self, block: GraphBlock) -> int:
        """Return the size that a letter stands for in a block with states: that of its first input."""
        own = list(_connected(block))
        if not own:
            return max(1, len(block.coordinates))
        return self._size_of_input(block, own[0][0])

    def _size_of_input(self, block: GraphBlock, channel: Channel) -> int:
        """Return how many numbers the signals have that an input of a block reads."""
        return self._known_size(block, channel) or 1

    def _known_size(self, block: GraphBlock, channel: Channel) -> int | None:
        """Return the size of an input, or that of another one with its letter in a loop; None where none is known."""
        key = block.name, channel.name
        if key in self._sizes:
            return self._sizes[key]
        if key in self._open_sizes:
            return None
        self._open_sizes.append(key)
        try:
            alike = [
                own for own, _ in _connected(block) if own.size == channel.size and not own.many
            ]
            sizes = (self._read_size(block, own) for own in (channel, *alike))
            size = next((size for size in sizes if size is not None), None)
        finally:
            self._open_sizes.pop()
        if size is not None:
            self._sizes[key] = size
        return size

    def _read_size(self, block: GraphBlock, channel: Channel) -> int | None:
        """Return how many numbers an input reads; None if one of its signals depends on a size that is open."""
        sizes = [self._size_of_signal(block, k) for own, k in _connected(block) if own is channel]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    def _inputs_first(self) -> list[GraphBlock]:
        """Return the blocks, those that a block reads before it; loops are cut somewhere.

        Signals are evaluated in this order, so that a long chain of blocks needs no deep recursion.
        """
        order: list[GraphBlock] = []
        opened: set[str] = set()
        for first in self.blocks.values():
            pending = [(first, iter(first.inputs))] if first.name not in opened else []
            opened.add(first.name)
            while pending:
                block, names = pending[-1]
                name = next(names, None)
                if name is None:
                    order.append(block)
                    pending.pop()
                    continue
                read = self._owner(name)
                if read is not None and read.name not in opened:
                    opened.add(read.name)
                    pending.append((read, iter(read.inputs)))
        return order

    def _owner(self, name: str) -> GraphBlock | None:
        """Return the block whose signal a name is; None if there is none, which is reported where it is read."""
        base, _ = self._selected(name)
        return self.blocks.get(base) or self.blocks.get(_split(base)[0])

    def _size_of_signal(self, block: GraphBlock, name: str) -> int | None:
        name, index = self._selected(name)
        if index is not None:
            return 1
        other, channel = self._find(block, name)
        if isinstance(channel.size, int) and other.plugin is not None:
            return channel.size
        if other.plugin is None:
            return other.size
        given = other.plugin.sizes().get(channel.size)
        if given is not None:
            return int(given)
        if other.kind == "sensor" and other.coordinates:
            return len(other.coordinates)
        for declared, _ in _connected(other):
            if declared.size == channel.size:
                return self._known_size(other, declared)
        own = list(_connected(other))
        if own:
            return self._known_size(other, own[0][0])
        return len(
            self.values(other.name).numbers["value" if other.kind == "signal" else channel.name]
        )

    # ------------------------------------------------------------------------------------------ inputs

    def held(self, places: Sequence[int]) -> list[int]:
        """Return the nodes of numbers of the state."""
        return [self.symbols.number(SignalSource.state, place).index for place in places]

    def random_key(self) -> Scalar:
        """Return the key of the world's random numbers, which is a number of its state."""
        if self._key is None:
            self._key = self._take(1)[0]
            self._start[self._key] = float(world_key(self.seed, 0))
        return self.symbols.number(SignalSource.state, self._key)

    # ------------------------------------------------------------------------------------------ values of signals

    def values(self, name: str) -> _Values:
        """Return the outputs of a block, which it computes from those of others first.

        Raises:
            SceneError: a loop of continuous blocks.
        """
        if name in self._values:
            return self._values[name]
        block = self.blocks[name]
        if name in self._open:
            members = self._open[self._open.index(name) :]
            first = members.index(min(members, key=list(self.blocks).index))  # of the scene
            members = [*members[first:], *members[:first]]
            raise _loop_error([self.blocks[k] for k in members])
        self._open.append(name)
        try:
            found = self._evaluated(block)
        finally:
            self._open.pop()
        self._values[name] = found
        return found

    def _evaluated(self, block: GraphBlock) -> _Values:
        if block.plugin is None:  # an input of the scene
            places = self._state_places[block.name, "value"]
            return _Values({"value": self.held(places)}, {"value": block.unit})
        _check_inputs(block)
        if block.period is not None:
            return self._held_outputs(block)
        method = _output_method(block)
        available = self.arguments(block, method)
        try:
            return self._outputs(block, method, available)
        except PysimError as error:
            if type(error) is not PysimError:
                raise
            raise SceneError(
                error.where, f"{error.problem} ({block.where}: {block.label})"
            ) from error

    def _held_outputs(self, block: GraphBlock) -> _Values:
        """Return the held numbers of a sampled block, whose sizes follow from a first call."""
        numbers = {}
        for channel in type(block.plugin).outputs:
            key = block.name, channel.name
            if key not in self._state_places:
                self._state_places[key] = self._take(self._size_of_output(block, channel))
            numbers[channel.name] = self.held(self._state_places[key])
        return _Values(numbers, self._units(block))

    def _size_of_output(self, block: GraphBlock, channel: Channel) -> int:
        """Return the size of an output of a sampled block: its own, that of inputs, or what a call returns."""
        if isinstance(channel.size, int):
            return channel.size
        given = block.plugin.sizes().get(channel.size)
        if given is not None:
            return int(given)
        for declared, _ in _connected(block):
            if declared.size == channel.size:
                return self._size_of_input(block, declared)
        if isinstance(block.plugin, CallbackController):
            problem = (
                f"the output {channel.name!r} has the size {channel.size!r}, which no input has"
            )
            raise JointError(method_place(block.plugin, "output"), f"{problem}; give a number")
        method = _output_method(block)
        outputs = self._outputs(block, method, self.arguments(block, method))
        return len(outputs.numbers[channel.name])

    def _units(self, block: GraphBlock) -> dict[str, str]:
        try:
            return self._units_of_outputs(block)
        except PysimError as error:
            if type(error) is not PysimError:
                raise
            problem = f"{block.label}: the input {error.where!r} {error.problem}"
            raise SceneError(block.where, problem) from error

    def _units_of_outputs(self, block: GraphBlock) -> dict[str, str]:
        plugin, channels = block.plugin, list(type(block.plugin).outputs)
        own = {channel.name: channel.unit for channel in channels}
        if block.kind == "signal":
            return dict.fromkeys(own, block.unit)
        if block.name in self._known_units:
            return self._known_units[block.name]
        if block.name in self._open_units:  # a loop that a state breaks
            self._cut_units = True
            return own
        self._open_units.append(block.name)
        before, self._cut_units = self._cut_units, False
        try:
            given = self._units_of_inputs(block)
        finally:
            self._open_units.pop()
            is_cut, self._cut_units = self._cut_units, self._cut_units or before
        if block.coordinates:
            given = {
                "q": _common(c.q_unit for c in block.coordinates),
                "v": _common(c.v_unit for c in block.coordinates),
            } | given
        elif block.kind == "sensor":
            given = {"q": "", "v": ""} | given
        found = own | dict(plugin.units(given))
        if not is_cut:
            self._known_units[block.name] = found
        return found

    def _units_of_inputs(self, block: GraphBlock) -> dict[str, str]:
        _check_inputs(block)
        found: dict[str, list[str]] = {}
        for channel, name in _connected(block):
            found.setdefault(channel.name, []).append(self._unit_of(block, name))
        return {name: _common(units) for name, units in found.items()}

    def _unit_of(self, block: GraphBlock, name: str) -> str:
        other, channel = self._find(block, name)
        if other.plugin is None or other.kind == "signal":
            return _per(other.unit, {"rate": "/s", "acceleration": "/s²"}.get(channel.name, ""))
        if channel in _kept_by(other.plugin):
            return channel.unit
        return self._units(other)[channel.name]

    # ------------------------------------------------------------------------------------------ references

    def _find(self, block: GraphBlock, name: str) -> tuple[GraphBlock, Channel]:
        """Return the block and channel that a name, without an index, refers to.

        Raises:
            SceneError: there is none.
        """
        name, _ = self._selected(name)
        owner, channel = (name, "") if name in self.blocks else _split(name)
        other = self.blocks.get(owner)
        known = self._known_names()
        if other is not None:
            for part in _kept_by(other.plugin):
                if part.name == channel:
                    return other, part
        if other is None or other.kind in ("actuator", "force"):
            problem = f"{block.label}: unknown signal {name!r}{did_you_mean(name, known)}"
            raise SceneError(block.where, problem)
        is_given = other.plugin is None
        channels = [Channel("value", other.unit, other.size)]
        channels = channels if is_given else list(type(other.plugin).outputs)
        if other.kind == "signal" and channel in TIME_DERIVATIVES:
            if is_given:
                problem = f"{block.label}: {owner!r} is given from outside and has no {channel}"
                raise SceneError(block.where, f"{problem}; give its {channel} as another input")
            return other, Channel(channel, "", "n")
        if not channel and len(channels) == 1:
            return other, channels[0]
        for part in channels:
            if part.name == channel:
                return other, part
        has = ", ".join(f"{owner}.{part.name}" for part in channels)
        if not channel:
            problem = f"{block.label}: {name!r} has several outputs; write one of {has}"
        else:
            problem = f"{block.label}: {owner!r} has no output {channel!r}"
            numbers = self._labels(other, channels[0]) if len(channels) == 1 else ()
            guess = did_you_mean(channel, numbers) if numbers else ""
            problem += guess or f"; write one of {has}"
        raise SceneError(block.where, problem)

    def _selected(self, name: str) -> tuple[str, int | None]:
        """Return a signal's name without the index or the name of a number behind it, and the number's index.

        Numbers are named by coordinates and velocities, `arm.q.elbow`, or by axes, `imu.acceleration.z`.
        """
        base, index = _without_index(name)
        if index is not None or base in self.blocks:
            return base, index
        owners = [own for own in self.blocks if base.startswith(f"{own}.")]
        for owner in sorted(owners, key=len, reverse=True):
            block, rest = self.blocks[owner], base[len(owner) + 1 :]
            if block.plugin is None or rest in _readable_names(block):
                continue
            outputs = list(type(block.plugin).outputs)
            for channel in outputs:
                alone = len(outputs) == 1
                part = rest.removeprefix(f"{channel.name}.")
                if not alone and part == rest:
                    continue
                found = place_of_name(part, self._labels(block, channel), owner)
                if found is not None:
                    return (owner if alone else f"{owner}.{channel.name}"), found
        return base, None

    def _labels(self, block: GraphBlock, channel: Channel) -> tuple[str, ...]:
        """Return the names of the numbers of an output; none if they have no names."""
        if block.plugin is None or block.name in self._open_labels:
            return ()
        if isinstance(channel.size, int):
            return AXES_OF.get(channel.size, ()) if block.kind == "sensor" else ()
        if block.kind == "sensor" and block.coordinates:
            return tuple(place.name for place in block.coordinates)
        if block.kind == "controller" and "dynamics" in _argument_names(block.plugin, "output"):
            return self.velocity_names
        self._open_labels.append(block.name)
        try:
            return self._labels_of_inputs(block, channel)
        finally:
            self._open_labels.pop()

    def _labels_of_inputs(self, block: GraphBlock, channel: Channel) -> tuple[str, ...]:
        """Return the names of the numbers of the first input that has as many numbers as an output."""
        for declared, name in _connected(block):
            if declared.size != channel.size:
                continue
            if not declared.many:
                return self._labels_of_signal(block, name)
            names: list[str] = []
            for own, signal in _connected(block):
                if own is declared:
                    size = self._size_of_signal(block, signal)
                    alone = (signal,) if size == 1 else ("",) * (size or 0)
                    names += self._labels_of_signal(block, signal) or alone
            return tuple(names)
        return ()

    def _labels_of_signal(self, block: GraphBlock, name: str) -> tuple[str, ...]:
        base, index = self._selected(name)
        labels = self._labels(*self._find(block, base))
        return labels if index is None else labels[index : index + 1]

    def _known_names(self) -> list[str]:
        found = []
        for block in self.blocks.values():
            if block.kind in ("actuator", "force"):
                continue
            channels = [] if block.plugin is None else list(type(block.plugin).outputs)
            found += (
                [block.name]
                if len(channels) < 2
                else [f"{block.name}.{channel.name}" for channel in channels]
            )
        return found

    def signal(self, block: GraphBlock, name: str, unit: str, what: str) -> list[int]:
        """Return the nodes of a signal that a block reads; its unit must fit.

        Raises:
            SceneError: an unknown signal, or one in another unit.
        """
        other, channel = self._find(block, name)
        if channel in _kept_by(other.plugin):
            return self._indexed(
                block, name, self.held(self._state_places[other.name, channel.name])
            )
        values = self.values(other.name)
        if other.kind == "signal" and channel.name in TIME_DERIVATIVES:
            self._differentiate(values)
        given = values.units[channel.name]
        if unit and given and unit != given:
            problem = f"{block.label}: {what} is in [{unit}], but {name!r} is in [{given}]"
            raise SceneError(block.where, f"{problem}; connect a signal in [{unit}]")
        return self._indexed(block, name, values.numbers[channel.name])

    def _indexed(self, block: GraphBlock, name: str, numbers: list[int]) -> list[int]:
        """Return the number that an index in brackets after a name selects, all without one."""
        index = self._selected(name)[1]
        if index is None:
            return numbers
        if index >= len(numbers):
            last = len(numbers) - 1
            problem = (
                f"{block.label}: {name!r} does not exist; the last index of the signal is {last}"
            )
            raise SceneError(block.where, problem)
        return [numbers[index]]

    def _differentiate(self, values: _Values) -> None:
        """Add the rate and the acceleration of a source to its values."""
        if "rate" in values.numbers:
            return
        t = self.symbols.number_of(SignalSource.time, 0)
        derivative = Derivative(self.tape, {t: self.tape.const(1)})
        unit = values.units["value"]
        numbers = values.numbers["value"]
        for name, per in (("rate", "/s"), ("acceleration", "/s²")):
            numbers = [derivative.of(k) for k in numbers]
            values.numbers[name] = numbers
            values.units[name] = _per(unit, per)

    def _inputs(self, block: GraphBlock) -> tuple[SimpleNamespace, dict[str, int]]:
        """Return the inputs of a block by name, and the sizes that letters stand for."""
        _check_inputs(block)
        declared: Channels = type(block.plugin).inputs
        sizes: dict[str, int] = {}
        found = {}
        for channel in declared:
            names = [name for own, name in _connected(block) if own is channel]
            nodes: list[int] = []
            for name in names:
                nodes += self.signal(block, name, channel.unit, f"the input {channel.name!r}")
            wanted = channel.size if isinstance(channel.size, int) else sizes.get(channel.size)
            if wanted is not None and len(nodes) != wanted:
                given = ", ".join(map(repr, names))
                problem = f"{block.label}: the input {channel.name!r} needs {_numbers(wanted)}"
                problem = f"{problem}, but {given} has {len(nodes)}"
                raise SceneError(block.where, f"{problem}; connect a signal of that size")
            if isinstance(channel.size, str):
                sizes[channel.size] = len(nodes)
            found[channel.name] = self._shaped(nodes)
        return SimpleNamespace(**found), sizes

    def _shaped(self, nodes: Sequence[int]) -> Any:
        numbers = [Scalar(self.tape, k) for k in nodes]
        return numbers[0] if len(numbers) == 1 else symbolic_array(numbers)

    # ------------------------------------------------------------------------------------------ calls of methods

    def arguments(self, block: GraphBlock, method: str) -> dict[str, Any]:
        """Return what a method names, by name."""
        wanted = _argument_names(block.plugin, method)
        found: dict[str, Any] = {}
        offered = ["t", *_OFFERED[block.kind], *(("period",) if method == "held_step" else ())]
        for channel in (*_states_of(block.plugin), *_memory_of(block.plugin)):
            offered.append(channel.name)
            if (block.name, channel.name) in self._state_places:
                found[channel.name] = self._shaped(
                    self.held(self._state_places[block.name, channel.name])
                )
        kept = [channel.name for channel in _memory_of(block.plugin)]
        if kept and "memory" not in offered:
            offered.append("memory")
            if all(name in found for name in kept):
                found["memory"] = SimpleNamespace(**{name: found[name] for name in kept})
        for name in wanted:
            if name not in offered:
                problem = f"has the unknown argument {name!r}; choose among {', '.join(offered)}"
                raise JointError(method_place(block.plugin, method), problem)
            if name not in found and name in {*kept, "memory"}:
                owned = ", ".join(repr(own) for own in kept) if name == "memory" else repr(name)
                problem = f"{block.label}: has the memory {owned}, which changes at instants"
                raise SceneError(block.where, f"{problem}; give it a period [s]")
            if name not in found:
                found[name] = self._argument(block, name, method)
        return {name: found[name] for name in wanted}

    def _argument(self, block: GraphBlock, name: str, method: str) -> Any:
        if name == "t":
            return self.symbols.number(SignalSource.time, 0)
        if name == "period":
            return block.period
        if name == "inputs":
            return self._inputs(block)[0]
        if name == "command":
            return getattr(self._inputs(block)[0], name)
        if name == "dynamics":
            return Dynamics(self)
        if name == "noise":
            return Noise(block, method, self.symbols, self.random_key)
        if name == "gravity":
            return self._gravity(block)
        if name == "ground":
            return self._read_ground(block)
        if name in ("power", "energy"):
            return self._of_element(block, name)
        if name in ("q", "v", "a"):
            return self._coordinates(block, name, method)
        if name == "contact":
            if block.touched is None:
                raise _needs(block, "frame", name)
            x = [Scalar(self.tape, k) for k in self.held(self._contact_places[block.name])]
            return Contact(x[0], x[1], x[2:5], x[5:])
        if name == "wrench" and block.part is not None:
            return self._wrench_at_fixed_joint(block, block.part)
        if name == "wrench":
            if block.joint is None:
                raise _needs(block, "joint", name)
            n = self.symbols.numbers(SignalSource.reaction, 6 * block.joint, 6)
            return Wrench(n[:3], n[3:])
        if block.port is None:
            raise _needs(block, "path" if name in ("length", "rate") else "frame", name)
        first = self.symbols.port_at[block.port]
        if name == "length":
            return self.symbols.number(SignalSource.port, first)
        if name == "rate":
            return self.symbols.number(SignalSource.port, first + 1)
        if name == "pose":
            x = self.symbols.numbers(SignalSource.port, first, 12)
            return Pose([[x[3 * j + i] for j in range(3)] for i in range(3)], x[9:])
        x = self.symbols.numbers(SignalSource.port, first + 12, 6)
        twist = Twist(x[:3], x[3:])
        if name == "twist":
            return twist
        x = self.symbols.numbers(SignalSource.port_acceleration, 6 * block.port, 6)
        return Acceleration(Twist(x[:3], x[3:]), twist)

    def _wrench_at_fixed_joint(self, block: GraphBlock, part: RigidPart) -> Wrench:
        """Return the wrench of one side of a fixed joint, about the joint's origin in its axes."""
        m, first = part.theta[0], part.theta[1:4]
        xx, xy, yy, xz, yz, zz = part.theta[4:]
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        pose, w, linear, angular = self._motion_at(block, part)
        lifted = linear - pose.T @ np.array(self.gravity, float)
        force = m * lifted + np.cross(angular, first) + np.cross(w, np.cross(w, first))
        torque = inertia @ angular + np.cross(w, inertia @ w) + np.cross(first, lifted)
        force, torque = part.sign * force, part.sign * torque
        for sign, joint, port, X in part.wrenches:
            n = self.symbols.numbers(SignalSource.reaction, 6 * joint, 6)
            R, p = X[:3, :3], X[:3, 3]
            if port is not None:
                x = self.symbols.numbers(SignalSource.port, self.symbols.port_at[port], 12)
                R = np.array([[x[3 * j + i] for j in range(3)] for i in range(3)], object)
                p = np.array(x[9:], object)
            f = R @ np.array(n[:3], object)
            force = force + sign * f
            torque = torque + sign * (R @ np.array(n[3:], object) + np.cross(p, f))
        return Wrench(list(force), list(torque))

    def _motion_at(self, block: GraphBlock, part: RigidPart) -> tuple[Any, Any, Any, Any]:
        """Return the rotation, ω, the classical acceleration and ω′ of a fixed joint, in its axes but the first."""
        if part.is_still:
            return part.rotation, np.zeros(3), np.zeros(3), np.zeros(3)
        assert block.port is not None
        x = self.symbols.numbers(SignalSource.port, self.symbols.port_at[block.port], 18)
        pose = np.array([[x[3 * j + i] for j in range(3)] for i in range(3)], object)
        twist = Twist(x[12:15], x[15:])
        a = self.symbols.numbers(SignalSource.port_acceleration, 6 * block.port, 6)
        acceleration = Acceleration(Twist(a[:3], a[3:]), twist)
        return pose, np.array(twist.w), np.array(acceleration.linear), np.array(acceleration.w)

    def _gravity(self, block: GraphBlock) -> Any:
        """Return gravity (3,) [m/s²], for a sensor in the axes of the frame that it measures against.

        Raises:
            SceneError: that frame moves.
        """
        gravity = np.array(self.gravity, float)
        port = None if block.port is None else self.ports[block.port]
        if port is None or is_path(port):
            return gravity
        if port.a >= 0:
            problem = f"{block.label}: reads gravity, but is relative to a body that moves"
            raise SceneError(block.where, f"{problem}; leave out relative_to")
        return np.asarray(port.at_a, float)[:3, :3].T @ gravity

    def _read_ground(self, block: GraphBlock) -> Ground:
        """Return the ground, for a sensor whose frame is measured in the world.

        Raises:
            SceneError: there is none, or the frame is measured in another one.
        """
        port = None if block.port is None else self.ports[block.port]
        if port is not None and (port.a >= 0 or not np.array_equal(port.at_a, np.eye(4))):
            problem = f"{block.label}: reads the ground, but is relative to a frame"
            raise SceneError(block.where, f"{problem}; leave out relative_to")
        if self._ground is None:
            self._ground = Ground([]) if self._ground_of is None else self._ground_of()
        if not self._ground.surfaces:
            problem = f"{block.label}: reads the ground, and the scene has none"
            raise SceneError(block.where, f"{problem}; add a [[ground]]")
        return self._ground

    def _of_element(self, block: GraphBlock, name: str) -> Any:
        """Return the power or the energy of the element that a sensor measures."""
        if block.element is None:
            raise _needs(block, "element", name)
        self._powers.check(block.element, block)
        if name == "power":
            return self._powers.power(block.element, block)
        return self._powers.energy(block.element, block)

    def _coordinates(self, block: GraphBlock, name: str, method: str) -> Any:
        if not block.coordinates:
            raise _needs(block, "joint" if block.kind == "actuator" else "coordinates", name)
        numbers = []
        for place in block.coordinates:
            if name == "q" and place.q < 0:
                problem = f"{block.label}: {method} depends on q, but {place.name!r} is a velocity"
                problem = f"{problem} whose position is not a single number"
                raise SceneError(block.where, f"{problem}; name another coordinate")
            source = {"q": SignalSource.q, "v": SignalSource.v, "a": SignalSource.acceleration}[
                name
            ]
            numbers.append(self.symbols.number(source, place.q if name == "q" else place.v))
        if block.kind == "force":  # as forces without signals: a tuple
            return tuple(numbers)
        return numbers[0] if len(numbers) == 1 else symbolic_array(numbers)

    def call(self, block: GraphBlock, method: str, given: Mapping[str, Any]) -> Any:
        """Call an author's method; its fields of type Signal hold the signals.

        Raises:
            JointError: the method raises; the error names the author's line.
        """
        plugin = block.plugin
        written = {name: getattr(plugin, name) for name in block.signals}
        for name, signal in block.signals.items():
            unit = _signal_unit(plugin, name)
            nodes = self.signal(block, signal, unit, name)
            object.__setattr__(plugin, name, self._shaped(nodes))
        function = getattr(plugin, method)
        try:
            if type(plugin).__module__.startswith(LIBRARY):
                return function(**given)
            return recorded_call(
                self.tape,
                lambda: method_place(plugin, method),
                lambda: function(**{name: _afresh(value) for name, value in given.items()}),
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

    def _outputs(self, block: GraphBlock, method: str, given: Mapping[str, Any]) -> _Values:
        result = self.call(block, method, given)
        channels = list(type(block.plugin).outputs)
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
                    f"must return {_numbers(channel.size)} for {channel.name!r}, got {len(nodes)}"
                )
                raise JointError(place, f"{problem}; change it, or the size that it declares")
            numbers[channel.name] = nodes
        return _Values(numbers, self._units(block))

    def nodes(self, block: GraphBlock, method: str, value: Any) -> list[int]:
        """Return the nodes of a number, or of a list of numbers, that a method returns."""
        listed = isinstance(value, (list, tuple, np.ndarray))
        flat = np.array(value, object).ravel().tolist() if listed else [value]
        nodes = []
        for x in flat:
            if isinstance(x, Scalar):
                if x.tape is not self.tape:
                    problem = "returns a symbolic number from an earlier call; compute it from this call's arguments"
                    raise JointError(method_place(block.plugin, method), problem)
                nodes.append(x.index)
            elif isinstance(x, (int, float, np.integer, np.floating)):
                if not np.isfinite(x):
                    raise JointError(
                        method_place(block.plugin, method), f"returns {x}; return a finite number"
                    )
                nodes.append(self.tape.const(float(x)))
            else:
                kind = (
                    "None; end it with `return`"
                    if x is None
                    else f"a {type(x).__name__} instead of a number"
                )
                problem = f"returns {kind}"
                raise JointError(method_place(block.plugin, method), problem)
        return nodes

    # ------------------------------------------------------------------------------------------ forces

    def add_forces(self) -> None:
        """Call the actuators, and the forces that depend on time or signals."""
        for block in self.blocks.values():
            if block.kind not in ("actuator", "force"):
                continue
            nodes = self.efforts(block)
            if block.port is not None:
                self._push(block, nodes)
                continue
            is_limited = block.kind == "actuator"
            for coordinate, node in zip(block.coordinates, nodes, strict=True):
                self._pull(coordinate, node, is_limited=is_limited)

    def efforts(self, block: GraphBlock) -> list[int]:
        """Return the nodes of what an actuator or force exerts: a wrench, a tension, or forces on coordinates."""
        if block.name not in self._efforts_of:
            self._efforts_of[block.name] = self._exerted(block)
        return self._efforts_of[block.name]

    def _exerted(self, block: GraphBlock) -> list[int]:
        if block.kind == "force":
            method = method_of(type(block.plugin))
            nodes = self.efforts_of_force(block, method, self.arguments(block, method.name))
            return self._until_release(block, nodes)
        own = type(block.plugin)
        if block.inputs:
            self._units(block)  # rejects commands in a wrong one
        has_tension = block.is_path and own.tension is not _base_tension()
        name = "tension" if has_tension else "force"
        nodes = self.nodes(block, name, self.call(block, name, self.arguments(block, name)))
        self._check_count(block, name, nodes, 1 if block.is_path else len(block.coordinates))
        return self._until_release(block, nodes)

    def efforts_of_force(
        self, block: GraphBlock, method: Method, given: Mapping[str, Any]
    ) -> list[int]:
        """Return the nodes of what a force exerts for given arguments of its method."""
        result = self.call(block, method.name, given)
        if method.acts == "frames":
            if not isinstance(result, Wrench):
                where = method_place(block.plugin, method.name)
                raise JointError(where, f"must return a Wrench, got a {type(result).__name__}")
            result = [*result.force, *result.torque]
        nodes = self.nodes(block, method.name, result)
        count = {"frames": 6, "path": 1}.get(method.acts, len(block.coordinates))
        self._check_count(block, method.name, nodes, count)
        return nodes

    def limited_share(self, place: CoordinatePlace) -> Any:
        """Return the share of the actuators' forces on a coordinate that its limits leave."""
        if place.effort_limit is None and place.velocity_limit is None:
            return 1.0
        nodes = [
            node
            for block in self.blocks.values()
            if block.kind == "actuator" and block.port is None
            for own, node in zip(block.coordinates, self.efforts(block), strict=True)
            if own.v == place.v
        ]
        total = self._sum(nodes)
        acts = total != 0
        return np.where(acts, self._within_limits(place, total) / np.where(acts, total, 1.0), 1.0)

    def _until_release(self, block: GraphBlock, nodes: list[int]) -> list[int]:
        """Return the nodes times a number that is 1 until an event, and 0 from it on."""
        for event in block.released_by:
            place = self._take(1)[0]
            self._start[place] = 1.0
            self._gates.setdefault(event, []).append(place)
            self._gates_of.setdefault(block.name, []).append(place)
            gate = self.symbols.number(SignalSource.state, place).index
            nodes = [self.tape.node("mul", gate, node) for node in nodes]
        return nodes

    def _check_count(
        self, block: GraphBlock, method: str, nodes: Sequence[int], count: int
    ) -> None:
        if len(nodes) != count:
            problem = f"must return {_numbers(count)}, got {len(nodes)}"
            raise JointError(method_place(block.plugin, method), problem)

    def _push(self, block: GraphBlock, nodes: list[int]) -> None:
        assert block.port is not None
        self._efforts[block.port] = nodes  # each block has a port of its own

    def _pull(self, place: CoordinatePlace, node: int, *, is_limited: bool = True) -> None:
        own = self._driven.setdefault(place.v, _DrivenCoordinate(place))
        (own.actuators if is_limited else own.others).append(node)

    def _sum(self, nodes: Sequence[int]) -> Scalar:
        total = nodes[0]
        for node in nodes[1:]:
            total = self.tape.node("add", total, node)
        return Scalar(self.tape, total)

    def _forces(self) -> dict[int, int]:
        """Return the node of the force on each coordinate; the sum of the actuators' is within their limits."""
        found = {}
        for v, own in self._driven.items():
            parts = list(own.others)
            if own.actuators:
                parts.append(self._effort(own))
            found[v] = self._sum(parts).index
        return found

    def _effort(self, own: _DrivenCoordinate) -> int:
        """Return the sum of the actuators' forces on a coordinate, within its limits."""
        limited: Scalar = self._within_limits(own.place, self._sum(own.actuators))
        return limited.index

    def _within_limits(self, place: CoordinatePlace, total: Any) -> Any:
        if place.effort_limit is not None:
            total = np.clip(total, -place.effort_limit, place.effort_limit)
        if place.velocity_limit is not None:
            most = place.velocity_limit
            v = self.symbols.number(SignalSource.v, place.v)
            width = place.velocity_band * most
            forward: Any = np.clip((most - v) / width, 0.0, 1.0)
            backward: Any = np.clip((most + v) / width, 0.0, 1.0)
            total = np.where(total > 0, total * forward, total * backward)
        return total

    # ------------------------------------------------------------------------------------------ compilation

    def compile(self) -> CompiledSignals:
        """Return the programs of the graph.

        Raises:
            SceneError: a loop, an unknown signal, a wrong unit or size.
            JointError: an author's method cannot be recorded; the error names its line.
        """
        for block in self._inputs_first():
            if block.kind not in ("actuator", "force"):
                self.values(block.name)
        self.add_forces()
        rates = self._rates()
        initial = self._initial_values()
        begins = [_together(initial)] if initial else []  # one of the MOST_SAMPLED programs
        blocks = [*begins, *self._sampled_blocks(MOST_SAMPLED - len(begins))]
        forces = self._forces()
        efforts = [
            node
            for port in range(self.driven)
            for node in self._efforts.get(port, self._no_effort(port))
        ]
        coupled = [*forces.values(), *efforts, *rates]
        self._check_stages(coupled)
        readings, recorded = self._readings()
        exerted = self._exerted_forces(readings)
        work = self._work_terms(readings)
        rows = [*coupled, *(node for _, node in work)]
        derivatives = SignalDerivatives(self.symbols, self.groups, self._coupled)
        slopes, places = derivatives.of(coupled)
        bounded = self._bounded_forces(list(forces.values()))
        bounds = [node for force in bounded.values() for node in force.nodes]
        bounded_slopes, bounded_places = derivatives.of([force.x for force in bounded.values()])
        description = SignalsDescription(
            states=self._states,
            held=len(self._start) - self._states,
            forces=self.symbols.program(rows, aside=len(work)) if rows else None,
            slopes=self.symbols.program([*efforts, *slopes, *bounds, *bounded_slopes])
            if coupled
            else None,
            readings=self.symbols.program(readings) if readings else None,
            coordinates=list(forces),
            slope_places=places,
            ports=list(self.ports),
            driven=self.driven,
            blocks=[self.symbols.program(nodes, to) for _, nodes, to in blocks],
            integrals=len(work),
            bounded=list(bounded),
            bounded_slope_places=bounded_places,
        )
        order = [block for block, _, _ in blocks[len(begins) :]]
        start = [*self._start, *([0.0] * (2 * self._states))]
        return CompiledSignals(
            description,
            recorded,
            tuple(start),
            tuple(float(block.period) for block in order if block.period is not None),
            tuple(block.name for block in order),
            len(begins),
            tuple(
                SceneInput(block.name, tuple(self._state_places[block.name, "value"]))
                for block in self.blocks.values()
                if block.kind == "signal" and block.plugin is None
            ),
            self._state_names(),
            exerted,
            tuple(term for term, _ in work),
            None if self._key is None else NoiseKey(self._key, self.seed),
            self._callbacks([block.name for block, _, _ in blocks]),
            tuple(tuple(self._gates.get(k, ())) for k in range(max(self._gates, default=-1) + 1)),
            {name: tuple(places) for name, places in self._gates_of.items()},
            sum(1 << k for k, (_, nodes, _) in enumerate(blocks) if self._is_measured(nodes)),
            touching=sum(1 << k for k, own in enumerate(blocks) if self._is_touching(own[1])),
            contacts=tuple(
                (block.touched, tuple(self._contact_places[block.name]))
                for block in self.blocks.values()
                if block.touched is not None
            ),
            settled=self._settled(initial, blocks[len(begins) :]),
            settled_outputs=tuple(
                place
                for block, _, _ in initial
                if block.period is not None
                for channel in type(block.plugin).outputs
                for place in self._state_places[block.name, channel.name]
            ),
        )

    def _bounded_forces(self, forces: Sequence[int]) -> dict[int, BoundedForce]:
        """Return the forces on coordinates that an actuator bounds, by their number."""
        if not self._bounds:
            return {}
        search = BoundedForces(self.symbols, self._coupled)
        found = {row: search.of(node) for row, node in enumerate(forces)}
        return {row: force for row, force in found.items() if force is not None}

    def _settled(self, begins: Sequence[_Sampled], sampled: Sequence[_Sampled]) -> tuple[int, ...]:
        """Return the places of initial values that depend on others, through a loop, or on sampled blocks."""
        stored = {place for _, _, own in (*begins, *sampled) for place in own}
        found: list[int] = []
        for _, nodes, places in begins:
            read = self.symbols.read_by(nodes)
            if any(source is SignalSource.state and index in stored for source, index in read):
                found += places
        return tuple(sorted(found))

    def _callbacks(self, order: Sequence[str]) -> tuple[Callback, ...]:
        """Return the controllers that are called in Python; `order` names the sampled programs bit by bit."""
        last = {name: bit for bit, name in enumerate(order)}
        return tuple(
            Callback(
                name,
                self.blocks[name].plugin,
                bit,
                tuple(self._places_of(name, type(self.blocks[name].plugin).inputs, INPUT)),
                tuple(self._places_of(name, type(self.blocks[name].plugin).outputs, "")),
            )
            for name, bit in last.items()
            if isinstance(self.blocks[name].plugin, CallbackController)
        )

    def _places_of(
        self, block: str, channels: Channels, prefix: str
    ) -> Iterator[tuple[str, tuple[int, ...]]]:
        for channel in channels:
            yield channel.name, tuple(self._state_places[block, prefix + channel.name])

    def _gathered_inputs(self, block: GraphBlock) -> tuple[list[int], list[int]]:
        """Return the nodes of the inputs of a controller that is called in Python, and the places that hold them."""
        nodes: list[int] = []
        places: list[int] = []
        given = self._inputs(block)[0]
        for channel in type(block.plugin).inputs:
            values = self.nodes(block, "output", getattr(given, channel.name))
            key = block.name, INPUT + channel.name
            if key not in self._state_places:
                self._state_places[key] = self._take(len(values))
            nodes += values
            places += self._state_places[key]
        return nodes, places

    def _no_effort(self, port: int) -> list[int]:
        return [self.tape.const(0)] * (1 if is_path(self.ports[port]) else 6)

    def _state_names(self) -> tuple[str, ...]:
        names = [""] * self._coupled
        for (block, channel), places in self._state_places.items():
            for k, place in enumerate(places):
                if place < self._coupled:
                    many = f"[{k}]" if len(places) > 1 else ""
                    names[place] = f"{block}.{channel}{many}"
        return tuple(names)

    def _rates(self) -> list[int]:
        """Return the rate of every state of a continuous block."""
        rates = [0] * self._coupled
        for block in self.blocks.values():
            states = _states_of(block.plugin)
            if block.period is not None or not states:
                continue
            nodes = self._rate_nodes(block)
            for channel in states:
                for place, node in zip(
                    self._state_places[block.name, channel.name], nodes[channel.name], strict=True
                ):
                    rates[place] = node
        return rates

    def _work_terms(self, readings: list[int]) -> list[tuple[WorkTerm, int]]:
        """Return the places of the elements' work, and the nodes of their power; adds energies to the readings."""
        terms = []
        for place, (name, injects) in enumerate(self._ledger.items(), self._coupled):
            power, energy = self._powers.exchange(name)
            at = None
            if energy is not None:
                at = len(readings)
                readings.append(energy.index)
            terms.append((WorkTerm(name, place, at, injects=injects), power.index))
        return terms

    def _rate_nodes(self, block: GraphBlock, method: str = "state_rate") -> dict[str, list[int]]:
        """Return the nodes of what `state_rate`, `held_step` or `update` returns, by state or memory."""
        plugin = block.plugin
        channels = _memory_of(plugin) if method == "update" else _states_of(plugin)
        if not hasattr(plugin, method):
            names = ", ".join(channel.name for channel in channels)
            problem = (
                f"has {names}, but no {method}; write `def {method}(self, t, inputs, {names})`"
            )
            raise JointError(definition_place(type(plugin)), problem)
        result = self.call(block, method, self.arguments(block, method))
        parts = [result] if len(channels) == 1 else result
        place = method_place(plugin, method)
        if len(channels) > 1 and (
            not isinstance(parts, (list, tuple)) or len(parts) != len(channels)
        ):
            raise JointError(
                place,
                f"must return {len(channels)} values, one for each of {', '.join(c.name for c in channels)}",
            )
        found = {}
        for channel, part in zip(channels, parts, strict=True):
            nodes = self.nodes(block, method, part)
            size = len(self._state_places[block.name, channel.name])
            if len(nodes) != size:
                raise JointError(
                    place, f"must return {_numbers(size)} for {channel.name!r}, got {len(nodes)}"
                )
            found[channel.name] = nodes
        return found

    def _initial_values(self) -> list[_Sampled]:
        """Return what sets states and memory that `initial` computes from the inputs at the start.

        Initial values of blocks that a block reads are inserted for their states, but for those of a loop.
        """
        found = []
        known: dict[int, int] = {}  # nodes of the initial values, by place
        for block in self._inputs_first():
            plugin = block.plugin
            if plugin is None or not hasattr(plugin, "initial"):
                continue
            channels = [*_states_of(plugin), *_memory_of(plugin)]
            result = self.call(block, "initial", self.arguments(block, "initial"))
            parts = [result] if len(channels) == 1 else result
            nodes: list[int] = []
            places: list[int] = []
            for channel, part in zip(channels, parts, strict=True):
                own = self._state_places[block.name, channel.name]
                values = self.nodes(block, "initial", part)
                nodes += values * len(own) if len(values) == 1 else values
                places += own
            if len(nodes) != len(places):
                problem = f"must return {_numbers(len(places))}, got {len(nodes)}"
                raise JointError(method_place(plugin, "initial"), problem)
            nodes = self._inserted(nodes, known)
            known |= dict(zip(places, nodes, strict=True))
            found.append((block, nodes, places))
        return found

    def _inserted(self, nodes: Sequence[int], known: Mapping[int, int]) -> list[int]:
        """Return nodes with others in place of numbers of the state, by their places."""
        inputs = {self.held([place])[0]: node for place, node in known.items()}
        changed: dict[int, int] = {}
        for k in self.tape.needed(nodes):
            node = self.tape.nodes[k]
            args = tuple(changed[a] for a in node.args)
            if k in inputs:
                changed[k] = inputs[k]
            elif args == node.args:
                changed[k] = k
            else:
                changed[k] = self.tape.node(node.op, *args, value=node.value, data=node.data)
        return [changed[k] for k in nodes]

    def _sampled_blocks(self, most: int) -> list[_Sampled]:
        """Return the sampled blocks in the order in which they run, with the nodes that they store and where."""
        found = {}
        for block in self.blocks.values():
            if block.period is None:
                continue
            if isinstance(block.plugin, CallbackController):
                found[block.name] = (block, *self._gathered_inputs(block))
                continue
            method = _output_method(block)
            outputs = self._outputs(block, method, self.arguments(block, method))
            nodes: list[int] = []
            places: list[int] = []
            for name, values in outputs.numbers.items():
                own = self._state_places[block.name, name]
                if len(own) != len(values):
                    problem = f"must return {_numbers(len(own))} for {name!r}, got {len(values)}"
                    raise JointError(method_place(block.plugin, method), problem)
                nodes += values
                places += own
            for channel, values in self._stepped(block):
                nodes += values
                places += self._state_places[block.name, channel]
            found[block.name] = (block, nodes, places)
        if len(found) > most:
            block = list(found.values())[most][0]
            problem = f"{block.label}: too many sampled blocks, {len(found)}"
            raise SceneError(block.where, f"{problem}; use at most {most}")
        return self._in_order(found)

    def _stepped(self, block: GraphBlock) -> list[tuple[str, list[int]]]:
        """Return the next values of states and memory of a sampled block.

        States are those that its `held_step` computes, or those after a step of Euler's method.
        """
        stepped = []
        if _states_of(block.plugin) and hasattr(block.plugin, "held_step"):
            stepped += list(self._rate_nodes(block, "held_step").items())
        elif _states_of(block.plugin):
            assert block.period is not None
            for name, rates in self._rate_nodes(block).items():
                now = self.held(self._state_places[block.name, name])
                step = self.tape.const(block.period)
                stepped.append(
                    (
                        name,
                        [
                            self.tape.node("add", x, self.tape.node("mul", step, rate))
                            for x, rate in zip(now, rates, strict=True)
                        ],
                    )
                )
        if _memory_of(block.plugin):
            stepped += list(self._rate_nodes(block, "update").items())
        return stepped

    def _in_order(self, found: Mapping[str, _Sampled]) -> list[_Sampled]:
        """Sort sampled blocks: one that reads another runs after it; loops keep the order of the scene."""
        owner = {place: name for name, (_, _, places) in found.items() for place in places}
        called = [name for name in found if isinstance(found[name][0].plugin, CallbackController)]
        for name in called:
            for _, own in self._places_of(name, type(found[name][0].plugin).outputs, ""):
                owner |= dict.fromkeys(own, name)
        reads = {
            name: {
                owner[index]
                for source, index in self.symbols.read_by(nodes)
                if source is SignalSource.state and index in owner
            }
            - {name}
            for name, (_, nodes, _) in found.items()
        }
        order: list[str] = []
        visiting: set[str] = set()

        def visit(name: str) -> None:
            if name in order or name in visiting:
                return
            visiting.add(name)
            for other in found:
                if other in reads[name]:
                    visit(other)
            visiting.discard(name)
            order.append(name)

        for name in found:
            visit(name)
        later = set(called)  # what depends on Python runs after what does not
        for _ in found:
            later |= {name for name in found if reads[name] & later}
        order.sort(key=lambda name: name in later)
        return [found[name] for name in order]

    def _is_measured(self, nodes: Sequence[int]) -> bool:
        """Whether nodes depend on accelerations or wrenches, which exist after the dynamics only."""
        late = {SignalSource.acceleration, SignalSource.port_acceleration, SignalSource.reaction}
        return any(source in late for source, _ in self.symbols.read_by(nodes))

    def _is_touching(self, nodes: Sequence[int]) -> bool:
        """Whether nodes depend on numbers of contact sensors."""
        own = {place for places in self._contact_places.values() for place in places}
        return bool(own) and any(
            source is SignalSource.state and index in own
            for source, index in self.symbols.read_by(nodes)
        )

    def _is_late(self, nodes: Sequence[int]) -> bool:
        return self._is_measured(nodes) or self._is_touching(nodes)

    def _check_stages(self, rows: Sequence[int]) -> None:
        """Reject forces and rates that depend on accelerations, wrenches and contacts."""
        if not self._is_late(rows):
            return
        sensors = [
            block
            for block in self.blocks.values()
            if block.kind == "sensor"
            and self._is_late(
                [k for nodes in self.values(block.name).numbers.values() for k in nodes]
            )
        ]
        names = ", ".join(repr(block.name) for block in sensors)
        where = sensors[0].where if sensors else ""
        what = "accelerations or wrenches" if self._is_measured(rows) else "contacts"
        problem = f"the forces depend on {names}, which measures {what}, and these on the forces"
        raise SceneError(where, f"{problem}; give the controller between them a period [s]")

    def _readings(self) -> tuple[list[int], tuple[RecordedSignal, ...]]:
        nodes: list[int] = []
        recorded = []
        owners: dict[str, str] = {}
        for block in self.blocks.values():
            if block.kind in ("actuator", "force"):
                continue
            values = self.values(block.name)
            declared = {
                name: n
                for name, n in values.numbers.items()
                if name not in TIME_DERIVATIVES or block.kind != "signal"
            }
            for name, numbers in declared.items():
                full = block.name if len(declared) == 1 else f"{block.name}.{name}"
                channel = 1 if block.plugin is None else _channel(block.plugin, name).size
                single = len(numbers) == 1 and channel in (1, "n")
                _take_name(owners, full, block, "an output")
                recorded.append(
                    RecordedSignal(full, values.units[name], len(nodes), len(numbers), single)
                )
                nodes += numbers
        for block in self.blocks.values():
            for part in _kept_by(block.plugin):
                kept = self.held(self._state_places[block.name, part.name])
                single = len(kept) == 1
                full = f"{block.name}.{part.name}"
                _take_name(owners, full, block, "a state")
                recorded.append(RecordedSignal(full, "", len(nodes), len(kept), single))
                nodes += kept
        for own in self._driven.values():
            if own.actuators:
                unit = "N·m" if own.place.v_unit == "rad/s" else "N"
                name = f"{EFFORT}.{own.place.name}"
                recorded.append(RecordedSignal(name, unit, len(nodes), 1, is_single=True))
                nodes.append(self._effort(own))
        if not self._is_late(nodes):
            return nodes, tuple(recorded)
        parts = [nodes[own.first : own.first + own.size] for own in recorded]
        return nodes, tuple(
            replace(own, is_measured=self._is_measured(part), is_touching=self._is_touching(part))
            for own, part in zip(recorded, parts, strict=True)
        )

    def _exerted_forces(self, readings: list[int]) -> tuple[ExertedForce, ...]:
        """Add what forces and actuators on paths exert to the readings; return its places there."""
        found = []
        for block in sorted(self.blocks.values(), key=lambda own: own.kind == "actuator"):
            if block.kind == "force" or (block.kind == "actuator" and block.is_path):
                nodes = self.efforts(block)
                acts = "path" if block.is_path else "coordinates" if block.coordinates else "frames"
                own = block.coordinates if acts == "coordinates" else ()
                found.append(ExertedForce(block.name, acts, len(readings), len(nodes), own))
                readings += nodes
        return tuple(found)

    # ------------------------------------------------------------------------------------------ programs


MOST_SAMPLED = 64  # blocks; the engine has a bit for each
TIME_DERIVATIVES = ("rate", "acceleration")  # outputs of every source besides its value
INPUT = (
    "input "  # prefix of the places that hold the inputs of controllers that are called in Python
)
EFFORT = "effort"  # prefix of the recorded sums of actuator forces


class Dynamics:
    """Inverse dynamics of the mechanism at its q and v, without passive forces, for methods that name `dynamics`."""

    def __init__(self, graph: GraphBuilder) -> None:
        self._graph = graph

    @property
    def gravity(self) -> Any:
        """Forces (nv,) [N or N·m] that hold the mechanism at rest against gravity."""
        return symbolic_array(self._graph.symbols.add_call(SignalCallKind.gravity, []))

    def inverse(self, a: Sequence[Any]) -> Any:
        """Return the forces (nv,) [N or N·m] for the accelerations a (nv,) [m/s² or rad/s²]."""
        graph = self._graph
        numbers = np.atleast_1d(np.asarray(a, object)).ravel().tolist()
        if len(numbers) != graph.nv:
            raise ValueError(f"dynamics.inverse needs {graph.nv} accelerations, got {len(numbers)}")
        nodes = [x.index if isinstance(x, Scalar) else graph.tape.const(float(x)) for x in numbers]
        return symbolic_array(graph.symbols.add_call(SignalCallKind.inverse, nodes))


LIBRARY = "pysim.elements."  # whose methods return the same in every call
_REPEATABLE = "compute it from the arguments alone; keep numbers in states or memory, and draw random ones from noise"
_OFFERED = {
    "signal": (),
    "sensor": (
        "inputs", "q", "v", "a", "pose", "twist", "acceleration", "length", "rate", "wrench", "gravity", "power",
        "energy", "noise", "ground", "contact",
    ),
    "controller": ("inputs", "dynamics", "gravity", "noise"),
    "actuator": ("command", "inputs", "q", "v", "length", "rate"),
    "force": ("pose", "twist", "length", "rate", "q", "v", "inputs"),
}  # fmt: skip


def _output_method(block: GraphBlock) -> str:
    """Return the method that computes the outputs of a block."""
    return "measure" if block.kind == "sensor" else "output"


def _states_of(plugin: Any) -> list[Channel]:
    return list(getattr(plugin, "states", ()) or ())


def _memory_of(plugin: Any) -> list[Channel]:
    return list(getattr(plugin, "memory", ()) or ())


def _kept_by(plugin: Any) -> list[Channel]:
    """Return the states and the memory of a plugin."""
    return [*_states_of(plugin), *_memory_of(plugin)]


def _channel(plugin: Block, name: str) -> Channel:
    return next(channel for channel in type(plugin).outputs if channel.name == name)


def _base_tension() -> Any:
    from pysim.elements.block import Actuator  # noqa: PLC0415

    return Actuator.tension


def _without_index(name: str) -> tuple[str, int | None]:
    """Return a name and the index that follows it in brackets, None without one."""
    found = re.fullmatch(r"(.*)\[(\d+)\]", name)
    return (name, None) if found is None else (found[1], int(found[2]))


def _per(unit: str, per: str) -> str:
    """Return the unit of a derivative."""
    if not unit or not per:
        return unit
    return f"1{per}" if unit == "1" else unit + per


def _split(name: str) -> tuple[str, str]:
    owner, _, channel = name.rpartition(".")
    return owner, channel


def _common(units: Iterable[str]) -> str:
    """Return the unit that all have, "" if they differ."""
    different = set(units)
    return different.pop() if len(different) == 1 else ""


def _argument_names(plugin: Any, method: str) -> list[str]:
    return [
        name
        for name, parameter in inspect.signature(getattr(plugin, method)).parameters.items()
        if parameter.default is inspect.Parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]


def _signal_unit(plugin: Any, name: str) -> str:
    """Return the unit of a field that holds a signal, "" if it has none or several."""
    kind = field_type(type(plugin), fields_of(type(plugin))[name])
    if isinstance(kind, SignalField):
        return kind.unit
    unit = unit_of(type(plugin), name)[0]
    return "" if " or " in unit or ", " in unit else spelled_unit(unit)


def _take_name(owners: dict[str, str], name: str, block: GraphBlock, what: str) -> None:
    """Note whose recorded numbers have a name.

    Raises:
        SceneError: it is taken.
    """
    if name in owners:
        problem = f"{what} of {block.label} is recorded as {name!r}, as is {owners[name]}"
        raise SceneError(block.where, f"{problem}; rename one")
    owners[name] = f"{what} of {block.label}"


def _together(initial: Sequence[_Sampled]) -> _Sampled:
    """Return one program that sets the initial values of all blocks at once."""
    nodes = [node for _, own, _ in initial for node in own]
    places = [place for _, _, own in initial for place in own]
    return initial[0][0], nodes, places


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


def _needs(block: GraphBlock, key: str, name: str) -> SceneError:
    problem = f"{block.label}: has no {key}, but its {name} is read"
    return SceneError(block.where, f"{problem}; give {key}")


def _numbers(count: int) -> str:
    return "1 number" if count == 1 else f"{count} numbers"


def _connected(block: GraphBlock) -> Iterator[tuple[Channel, str]]:
    """Yield the inputs of a block with the signals that they read; the last may read many."""
    declared = list(type(block.plugin).inputs)
    for k, name in enumerate(block.inputs):
        if k < len(declared) or (declared and declared[-1].many):
            yield declared[min(k, len(declared) - 1)], name


def _readable_names(block: GraphBlock) -> set[str]:
    """Return what is read of a block under a name of its own: outputs, states, derivatives of sources."""
    names = {channel.name for channel in (*type(block.plugin).outputs, *_kept_by(block.plugin))}
    return names | set(TIME_DERIVATIVES if block.kind == "signal" else ())


def _check_inputs(block: GraphBlock) -> None:
    """Reject a block that does not name one signal for each of its inputs."""
    declared = list(type(block.plugin).inputs)
    names, count = [channel.name for channel in declared], len(block.inputs)
    takes_many = bool(declared) and declared[-1].many
    if count == len(names) or (takes_many and count > len(names)):
        return
    given = "1 signal" if count == 1 else f"{count} signals"
    if not names:
        raise SceneError(block.where, f"{block.label}: has no inputs, got {given}; remove inputs")
    problem = f"{block.label}: has the inputs {', '.join(names)}, got {given}"
    remedy = "name one signal or more" if takes_many else "name one signal for each"
    raise SceneError(block.where, f"{problem}; {remedy}")


def _loop_error(members: Sequence[GraphBlock]) -> SceneError:
    names = " → ".join(block.name for block in (*members, members[0]))
    problem = f"algebraic loop {names}: each signal depends on itself at the same instant"
    remedy = "give a controller in it a period [s], or a state between input and output"
    return SceneError(members[0].where, f"{problem}; {remedy}")
