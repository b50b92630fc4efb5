"""Signal graph of a scene: its blocks are called with symbolic numbers, each after those that it reads.

    sources, sensors, continuous controllers → forces of actuators        evaluated with the dynamics
    sampled controllers                      → numbers held between their instants
    accelerations, wrenches, contacts        → sampled controllers and the recording alone

The result is a few programs of the engine, see cpp/elements/signals.hpp.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pysim._engine import Group, SignalProgram, SignalsDescription
from pysim.elements.block import CallbackController
from pysim.elements.bounded_forces import BoundedForce, BoundedForces
from pysim.elements.graph.acting_forces import ActingForces
from pysim.elements.graph.block_channels import (
    check_inputs,
    connected,
    output_method,
    states_of,
)
from pysim.elements.graph.block_methods import BlockMethods
from pysim.elements.graph.block_templates import BlockTemplates
from pysim.elements.graph.late_numbers import LateNumbers
from pysim.elements.graph.method_arguments import MethodArguments
from pysim.elements.graph.readings import Readings
from pysim.elements.graph.sampled_blocks import MOST_SAMPLED, SampledBlocks, together
from pysim.elements.graph.signal_references import SignalReferences
from pysim.elements.graph.signal_units import SignalUnits
from pysim.elements.graph.signal_values import Outputs, SignalValues
from pysim.elements.graph.state_places import StatePlaces
from pysim.elements.graph_types import (
    CompiledSignals,
    GraphBlock,
    NoiseKey,
    SceneInput,
    TouchedBody,
    WorkTerm,
)
from pysim.elements.powers import MeasuredElements, Powers
from pysim.elements.signal_derivatives import GROUP_SIZES, SignalDerivatives
from pysim.elements.signal_inputs import SignalInputs
from pysim.errors import JointError, PysimError, SceneError
from pysim.tracing.author_code import method_place
from pysim.tracing.expression import Scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pysim._engine import PortDescription
    from pysim.elements.channels import Channel
    from pysim.elements.graph.sampled_blocks import StoredNodes
    from pysim.elements.ground import Ground
    from pysim.tracing.open_numbers import OpenRows

# fields of compiled signals that follow from the programs of blocks
_OF_BLOCKS = ("begins", "measuring", "touching", "settled", "settled_outputs")


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
        ground: returns the surfaces whose heights a sensor reads.
        opened: numbers of the mechanism that may change after the programs are recorded.
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
        ground: Callable[[], Ground] | None = None,
        opened: OpenRows | None = None,
    ) -> None:
        self.blocks = {block.name: block for block in blocks}
        self.ports, self.driven, self.groups, self.seed = ports, driven, groups, seed
        measured = measured or MeasuredElements()
        self._ledger = dict(measured.ledger or {})
        self.symbols = SignalInputs(ports, nv)
        self.tape = self.symbols.tape
        self.references = SignalReferences(
            self.blocks, velocity_names, lambda name: self.signals.of(name).numbers
        )
        self.units = SignalUnits(self.references)
        self.places = StatePlaces(
            self.blocks, self.references, self.symbols, seed, len(self._ledger)
        )
        self.late = LateNumbers(self.symbols, self.places)
        self.signals = SignalValues(
            self.blocks, self.symbols, self.references, self.places, self._evaluated
        )
        self._arguments = MethodArguments(
            self.symbols,
            self.places,
            self.signals,
            sum(GROUP_SIZES[group] for group, _, _ in groups),
            gravity,
            ground,
            self._measured,
            opened,
        )
        self.methods = BlockMethods(
            self.symbols,
            self.places,
            self.units,
            self.signals,
            self._arguments,
            self.late,
            BlockTemplates(blocks if opened is None else (), self.symbols),
        )
        self.forces = ActingForces(self.blocks, self.symbols, self.places, self.units, self.methods)
        self.powers = Powers(
            self.blocks.values(), self.symbols, self.methods, self.forces, measured, opened
        )
        self._states = self.places.allot()
        self._coupled = self._states - len(self._ledger)

    def _measured(self, sensor: GraphBlock, what: str) -> Any:
        """Return the power or the energy of the element that a sensor measures, by forces that methods compute."""
        return self.powers.measured(sensor, what)

    def _evaluated(self, block: GraphBlock) -> Outputs:
        if block.plugin is None:  # an input of the scene
            places = self.places.of[block.name, "value"]
            return Outputs({"value": self.places.nodes(places)}, {"value": block.unit})
        check_inputs(block)
        if block.period is not None:
            return self._held_outputs(block)
        method = output_method(block)
        available = self.methods.arguments.of(block, method)
        try:
            outputs = self.methods.outputs(block, method, available)
        except PysimError as error:
            if type(error) is not PysimError:
                raise
            raise SceneError(
                error.where, f"{error.problem} ({block.where}: {block.label})"
            ) from error
        if block.scale == 1:
            return outputs
        scaled = {
            name: [(Scalar(self.symbols.tape, k) * block.scale).index for k in nodes]
            for name, nodes in outputs.numbers.items()
        }
        return Outputs(scaled, outputs.units)

    def _held_outputs(self, block: GraphBlock) -> Outputs:
        """Return the held numbers of a sampled block, whose sizes follow from a first call."""
        numbers = {}
        for channel in block.plugin.output_channels():
            key = block.name, channel.name
            if key not in self.places.of:
                self.places.of[key] = self.places.take(self._size_of_output(block, channel))
            numbers[channel.name] = self.places.held(*key)
        return Outputs(numbers, self.units.of(block))

    def _size_of_output(self, block: GraphBlock, channel: Channel) -> int:
        """Return the size of an output of a sampled block: its own, that of inputs, or what a call returns."""
        if isinstance(channel.size, int):
            return channel.size
        given = block.plugin.sizes().get(channel.size)
        if given is not None:
            return int(given)
        for declared, _ in connected(block):
            if declared.size == channel.size:
                return self.references.size_of_input(block, declared)
        if isinstance(block.plugin, CallbackController):
            problem = (
                f"the output {channel.name!r} has the size {channel.size!r}, which no input has"
            )
            raise JointError(method_place(block.plugin, "output"), f"{problem}; give a number")
        method = output_method(block)
        outputs = self.methods.outputs(block, method, self.methods.arguments.of(block, method))
        return len(outputs.numbers[channel.name])

    def compile(self, unmeasured: CompiledSignals | None = None) -> CompiledSignals:
        """Return the programs of the graph.

        Args:
            unmeasured: of the same graph, from which no work is integrated. Its slopes and initial values are used
                again if no held numbers, which lie behind the work, are read.

        Raises:
            SceneError: a loop, an unknown signal, a wrong unit or size.
            JointError: an author's method cannot be recorded; the error names its line.
        """
        for block in self.references.inputs_first():
            if block.kind not in ("actuator", "force"):
                self.signals.of(block.name)
        self.forces.add()
        sampled = SampledBlocks(
            self.blocks, self.symbols, self.references, self.places, self.signals, self.methods
        )
        readings_of = Readings(
            self.blocks, self.references, self.places, self.signals, self.forces, self.late
        )
        rates = self._rates()
        known = unmeasured if self._has_places_of(unmeasured) else None
        initial = [] if known is not None else sampled.initial_values()
        begins = [together(initial)] if initial else []  # one of the MOST_SAMPLED programs
        blocks = [*begins, *sampled.blocks(MOST_SAMPLED - len(begins))]
        forces = self.forces.on_coordinates()
        efforts = self.forces.on_ports(self.driven)
        readings_of.check_stages([*forces.values(), *efforts, *rates])
        readings, recorded = readings_of.recorded()
        exerted = readings_of.exerted(readings)
        work = self._work_terms(readings)
        powers = [node for _, node in work]
        description = self._description(known, blocks, readings, forces, efforts, rates, powers)
        order = [block for block, _, _ in blocks[len(begins) :]]
        start = [*self.places.start, *([0.0] * (2 * self._states))]
        compiled = CompiledSignals(
            description,
            recorded,
            tuple(start),
            tuple(float(block.period) for block in order if block.period is not None),
            tuple(block.name for block in order),
            len(begins),
            self._scene_inputs(),
            self.places.state_names(self._coupled),
            exerted,
            tuple(term for term, _ in work),
            None if self.places.key is None else NoiseKey(self.places.key, self.seed),
            sampled.callbacks([block.name for block, _, _ in blocks]),
            self._releases(),
            {name: tuple(places) for name, places in self.places.gates_of.items()},
            measuring=_bits(self.late.is_measured(nodes) for _, nodes, _ in blocks),
            touching=_bits(self.late.is_touching(nodes) for _, nodes, _ in blocks),
            contacts=self._contacts(),
            settled=sampled.settled(initial, blocks[len(begins) :]),
            settled_outputs=self._held_outputs_of([block for block, _, _ in initial]),
            reads=frozenset(self._arguments.reads | self.powers.reads),
        )
        if known is None:
            return compiled
        return replace(compiled, **{name: getattr(known, name) for name in _OF_BLOCKS})

    def _description(
        self,
        known: CompiledSignals | None,
        blocks: Sequence[StoredNodes],
        readings: Sequence[int],
        forces: Mapping[int, int],
        efforts: Sequence[int],
        rates: Sequence[int],
        powers: Sequence[int],
    ) -> SignalsDescription:
        """Return the engine's description of the graph, whose slopes and blocks are those of a known one if given."""
        coupled = [*forces.values(), *efforts, *rates]
        slopes = self._slopes(forces, efforts, coupled) if known is None else _slopes_of(known)
        return SignalsDescription(
            states=self._states,
            held_numbers=len(self.places.start) - self._states,
            forces=self._program_of_forces(coupled, powers),
            readings=self.symbols.program(readings, name="readings") if readings else None,
            coordinates=list(forces),
            ports=list(self.ports),
            driven=self.driven,
            blocks=self._block_programs(blocks) if known is None else known.description.blocks,
            integrals=len(powers),
            **slopes,
        )

    def _program_of_forces(
        self, coupled: Sequence[int], powers: Sequence[int]
    ) -> SignalProgram | None:
        """Return the program of forces, efforts and rates, and of powers, which change no bit of them."""
        rows = [*coupled, *powers]
        return self.symbols.program(rows, aside=len(powers), name="forces") if rows else None

    def _block_programs(self, blocks: Sequence[StoredNodes]) -> list[SignalProgram]:
        return [
            self.symbols.program(nodes, to, name=f"block {k}")
            for k, (_, nodes, to) in enumerate(blocks)
        ]

    def _scene_inputs(self) -> tuple[SceneInput, ...]:
        """Return the signals that are given from outside."""
        return tuple(
            SceneInput(block.name, tuple(self.places.of[block.name, "value"]))
            for block in self.blocks.values()
            if block.kind == "signal" and block.plugin is None
        )

    def _releases(self) -> tuple[tuple[int, ...], ...]:
        """Return the places of the gates that every event closes."""
        gates = self.places.gates
        return tuple(tuple(gates.get(k, ())) for k in range(max(gates, default=-1) + 1))

    def _contacts(self) -> tuple[tuple[TouchedBody, tuple[int, ...]], ...]:
        """Return the bodies whose contacts sensors measure, with their places in the state."""
        return tuple(
            (block.touched, tuple(self.places.contacts[block.name]))
            for block in self.blocks.values()
            if block.touched is not None
        )

    def _held_outputs_of(self, blocks: Sequence[GraphBlock]) -> tuple[int, ...]:
        """Return the places of the held outputs of those blocks that are sampled."""
        return tuple(
            place
            for block in blocks
            if block.period is not None
            for channel in block.plugin.output_channels()
            for place in self.places.of[block.name, channel.name]
        )

    def _has_places_of(self, signals: CompiledSignals | None) -> bool:
        """Return whether the states of a graph without held numbers have the same places here."""
        if signals is None or self.tape.recipes is not None:
            return False
        held = signals.description.held_numbers + len(self.places.start) - self._states
        return (
            not held
            and not signals.periods
            and signals.description.states == self._coupled
            and signals.description.driven == self.driven
            and list(signals.description.ports)
            == list(self.ports)[: len(signals.description.ports)]
        )

    def _slopes(
        self, forces: Mapping[int, int], efforts: Sequence[int], coupled: Sequence[int]
    ) -> dict[str, Any]:
        """Return the slopes of forces, efforts and rates, and what bounds forces, by fields of the description."""
        derivatives = SignalDerivatives(self.symbols, self.groups, self._coupled)
        slopes, places = derivatives.of(coupled)
        bounded = self._bounded_forces(list(forces.values()))
        bounds = [node for force in bounded.values() for node in force.nodes]
        bounded_slopes, bounded_places = derivatives.of([force.x for force in bounded.values()])
        nodes = [*efforts, *slopes, *bounds, *bounded_slopes]
        return {
            "slopes": self.symbols.program(nodes, name="slopes") if coupled else None,
            "slope_places": places,
            "bounded": list(bounded),
            "bounded_slope_places": bounded_places,
        }

    def _bounded_forces(self, forces: Sequence[int]) -> dict[int, BoundedForce]:
        """Return the forces on coordinates that an actuator bounds, by their number."""
        search = BoundedForces(self.symbols, self._coupled)
        found = {row: search.of(node) for row, node in enumerate(forces)}
        return {row: force for row, force in found.items() if force is not None}

    def _rates(self) -> list[int]:
        """Return the rate of every state of a continuous block."""
        rates = [0] * self._coupled
        for block in self.blocks.values():
            states = states_of(block.plugin)
            if block.period is not None or not states:
                continue
            nodes = self.methods.rates(block)
            for channel in states:
                for place, node in zip(
                    self.places.of[block.name, channel.name], nodes[channel.name], strict=True
                ):
                    rates[place] = node
        return rates

    def _work_terms(self, readings: list[int]) -> list[tuple[WorkTerm, int]]:
        """Return the places of the elements' work, and the nodes of their power; adds energies to the readings."""
        terms = []
        for place, (name, injects) in enumerate(self._ledger.items(), self._coupled):
            power, energy = self.powers.exchange(name)
            at = None
            if energy is not None:
                at = len(readings)
                readings.append(energy.index)
            terms.append((WorkTerm(name, place, at, injects=injects), power.index))
        return terms


def _slopes_of(compiled: CompiledSignals) -> dict[str, Any]:
    """Return the fields of a description that `GraphBuilder._slopes` computes."""
    names = ("slopes", "slope_places", "bounded", "bounded_slope_places")
    return {name: getattr(compiled.description, name) for name in names}


def _bits(flags: Iterable[bool]) -> int:
    """Return a number whose bit k is the k-th flag."""
    return sum(1 << k for k, flag in enumerate(flags) if flag)
