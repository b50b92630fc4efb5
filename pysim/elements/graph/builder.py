"""Signal graph of a scene: its blocks are called with symbolic numbers, each after those that it reads.

    sources, sensors, continuous controllers → forces of actuators        evaluated with the dynamics
    sampled controllers                      → numbers held between their instants
    accelerations, wrenches, contacts        → sampled controllers and the recording alone

The result is a few programs of the engine, see cpp/elements/signals.hpp.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from pysim._engine import Group, SignalsDescription, SignalSource
from pysim.elements.block import CallbackController
from pysim.elements.bounded_forces import BoundedForce, BoundedForces
from pysim.elements.channels import MOST_NUMBERS, MOST_OF_ALL
from pysim.elements.graph.acting_forces import ActingForces
from pysim.elements.graph.block_channels import (
    TIME_DERIVATIVES,
    check_count,
    check_inputs,
    connected,
    counted_numbers,
    kept_by,
    output_method,
    states_of,
)
from pysim.elements.graph.block_methods import BlockMethods, Outputs
from pysim.elements.graph.readings import Readings
from pysim.elements.graph.sampled_blocks import MOST_SAMPLED, SampledBlocks, together
from pysim.elements.graph.signal_references import SignalReferences
from pysim.elements.graph.signal_units import SignalUnits, per_time
from pysim.elements.graph.state_places import StatePlaces
from pysim.elements.graph_types import CompiledSignals, GraphBlock, NoiseKey, SceneInput, WorkTerm
from pysim.elements.powers import MeasuredElements, Powers
from pysim.elements.signal_derivatives import GROUP_SIZES, SignalDerivatives
from pysim.elements.signal_inputs import SignalInputs
from pysim.elements.units import connect_in
from pysim.errors import JointError, PysimError, SceneError
from pysim.tracing.author_code import method_place
from pysim.tracing.derivative import Derivative
from pysim.tracing.expression import Scalar
from pysim.tracing.symbolic_array import symbolic_array

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pysim._engine import PortDescription
    from pysim.elements.channels import Channel, Channels
    from pysim.elements.ground import Ground


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
        self.blocks = {block.name: block for block in blocks}
        self.ports, self.driven, self.groups, self.nv = ports, driven, groups, nv
        self.nq = sum(GROUP_SIZES[group] for group, _, _ in groups)
        self.gravity, self.seed = gravity, seed
        self._bounds = bounds
        self.symbols = SignalInputs(ports, nv)
        self.tape = self.symbols.tape
        self._values: dict[str, Outputs] = {}
        self._open: list[str] = []  # blocks being evaluated
        self._numbers = 0  # of all signals so far
        measured = measured or MeasuredElements()
        self._ledger = dict(measured.ledger or {})
        self.references = SignalReferences(
            self.blocks, velocity_names, lambda name: self.values(name).numbers
        )
        self.units = SignalUnits(self.references)
        self.places = StatePlaces(
            self.blocks, self.references, self.symbols, seed, len(self._ledger)
        )
        self.methods = BlockMethods(self, ground)
        self.forces = ActingForces(self)
        self.powers = Powers(self, measured)
        self._states = self.places.allot()
        self._coupled = self._states - len(self._ledger)

    def values(self, name: str) -> Outputs:
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
        self._numbers += sum(map(len, found.numbers.values()))
        check_count(block, "with those before has", self._numbers, MOST_OF_ALL)
        return found

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
            return self.methods.outputs(block, method, available)
        except PysimError as error:
            if type(error) is not PysimError:
                raise
            raise SceneError(
                error.where, f"{error.problem} ({block.where}: {block.label})"
            ) from error

    def _held_outputs(self, block: GraphBlock) -> Outputs:
        """Return the held numbers of a sampled block, whose sizes follow from a first call."""
        numbers = {}
        for channel in type(block.plugin).outputs:
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

    def signal(self, block: GraphBlock, name: str, unit: str, what: str) -> list[int]:
        """Return the nodes of a signal that a block reads; its unit must fit.

        Raises:
            SceneError: an unknown signal, or one in another unit.
        """
        other, channel = self.references.find(block, name)
        if channel in kept_by(other.plugin):
            return self._indexed(block, name, self.places.held(other.name, channel.name))
        values = self.values(other.name)
        if other.kind == "signal" and channel.name in TIME_DERIVATIVES:
            self._differentiate(values)
        given = values.units[channel.name]
        if unit and given and unit != given:
            problem = f"{block.label}: {what} is in [{unit}], but {name!r} is in [{given}]"
            raise SceneError(block.where, f"{problem}; {connect_in(unit, given)}")
        return self._indexed(block, name, values.numbers[channel.name])

    def _indexed(self, block: GraphBlock, name: str, numbers: list[int]) -> list[int]:
        """Return the number that an index in brackets after a name selects, all without one."""
        index = self.references.selected(name)[1]
        if index is None:
            return numbers
        if index >= len(numbers):
            last = len(numbers) - 1
            problem = (
                f"{block.label}: {name!r} does not exist; the last index of the signal is {last}"
            )
            raise SceneError(block.where, problem)
        return [numbers[index]]

    def _differentiate(self, values: Outputs) -> None:
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
            values.units[name] = per_time(unit, per)

    def inputs(self, block: GraphBlock) -> tuple[SimpleNamespace, dict[str, int]]:
        """Return the inputs of a block by name, and the sizes that letters stand for."""
        check_inputs(block)
        declared: Channels = type(block.plugin).inputs
        sizes: dict[str, int] = {}
        found = {}
        for channel in declared:
            names = [name for own, name in connected(block) if own is channel]
            nodes: list[int] = []
            for name in names:
                nodes += self.signal(block, name, channel.unit, f"the input {channel.name!r}")
                check_count(block, f"the input {channel.name!r} reads", len(nodes), MOST_NUMBERS)
            wanted = channel.size if isinstance(channel.size, int) else sizes.get(channel.size)
            if wanted is not None and len(nodes) != wanted:
                given = ", ".join(map(repr, names))
                problem = (
                    f"{block.label}: the input {channel.name!r} needs {counted_numbers(wanted)}"
                )
                problem = f"{problem}, but {given} has {len(nodes)}"
                raise SceneError(block.where, f"{problem}; connect a signal of that size")
            if isinstance(channel.size, str):
                sizes[channel.size] = len(nodes)
            found[channel.name] = self.shaped(nodes)
        return SimpleNamespace(**found), sizes

    def shaped(self, nodes: Sequence[int]) -> Any:
        numbers = [Scalar(self.tape, k) for k in nodes]
        return numbers[0] if len(numbers) == 1 else symbolic_array(numbers)

    def compile(self) -> CompiledSignals:
        """Return the programs of the graph.

        Raises:
            SceneError: a loop, an unknown signal, a wrong unit or size.
            JointError: an author's method cannot be recorded; the error names its line.
        """
        for block in self.references.inputs_first():
            if block.kind not in ("actuator", "force"):
                self.values(block.name)
        self.forces.add()
        sampled, readings_of = SampledBlocks(self), Readings(self)
        rates = self._rates()
        initial = sampled.initial_values()
        begins = [together(initial)] if initial else []  # one of the MOST_SAMPLED programs
        blocks = [*begins, *sampled.blocks(MOST_SAMPLED - len(begins))]
        forces = self.forces.on_coordinates()
        efforts = self.forces.on_ports(self.driven)
        coupled = [*forces.values(), *efforts, *rates]
        readings_of.check_stages(coupled)
        readings, recorded = readings_of.recorded()
        exerted = readings_of.exerted(readings)
        work = self._work_terms(readings)
        rows = [*coupled, *(node for _, node in work)]
        derivatives = SignalDerivatives(self.symbols, self.groups, self._coupled)
        slopes, places = derivatives.of(coupled)
        bounded = self._bounded_forces(list(forces.values()))
        bounds = [node for force in bounded.values() for node in force.nodes]
        bounded_slopes, bounded_places = derivatives.of([force.x for force in bounded.values()])
        description = SignalsDescription(
            states=self._states,
            held=len(self.places.start) - self._states,
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
        start = [*self.places.start, *([0.0] * (2 * self._states))]
        return CompiledSignals(
            description,
            recorded,
            tuple(start),
            tuple(float(block.period) for block in order if block.period is not None),
            tuple(block.name for block in order),
            len(begins),
            tuple(
                SceneInput(block.name, tuple(self.places.of[block.name, "value"]))
                for block in self.blocks.values()
                if block.kind == "signal" and block.plugin is None
            ),
            self.places.state_names(self._coupled),
            exerted,
            tuple(term for term, _ in work),
            None if self.places.key is None else NoiseKey(self.places.key, self.seed),
            sampled.callbacks([block.name for block, _, _ in blocks]),
            tuple(
                tuple(self.places.gates.get(k, ()))
                for k in range(max(self.places.gates, default=-1) + 1)
            ),
            {name: tuple(places) for name, places in self.places.gates_of.items()},
            sum(1 << k for k, (_, nodes, _) in enumerate(blocks) if readings_of.is_measured(nodes)),
            touching=sum(1 << k for k, own in enumerate(blocks) if readings_of.is_touching(own[1])),
            contacts=tuple(
                (block.touched, tuple(self.places.contacts[block.name]))
                for block in self.blocks.values()
                if block.touched is not None
            ),
            settled=sampled.settled(initial, blocks[len(begins) :]),
            settled_outputs=tuple(
                place
                for block, _, _ in initial
                if block.period is not None
                for channel in type(block.plugin).outputs
                for place in self.places.of[block.name, channel.name]
            ),
        )

    def _bounded_forces(self, forces: Sequence[int]) -> dict[int, BoundedForce]:
        """Return the forces on coordinates that an actuator bounds, by their number."""
        if not self._bounds:
            return {}
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


def _loop_error(members: Sequence[GraphBlock]) -> SceneError:
    names = " → ".join(block.name for block in (*members, members[0]))
    problem = f"algebraic loop {names}: each signal depends on itself at the same instant"
    remedy = "give a controller in it a period [s], or a state between input and output"
    return SceneError(members[0].where, f"{problem}; {remedy}")
