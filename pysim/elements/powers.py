"""Power and stored energy of the elements of a scene, as numbers of its signal graph.

    P = F · V,  −T L̇,  Σ f v         power of a force between frames, along a path, on coordinates
    W = P + Ė                         power that is not taken from the stored energy E

A force that stores energy has F(x, 0) = −∂E/∂x, so W is the power of F(x, v) − F(x, 0). A force with corners, such as
a stop or a rope, which may let go before its stored energy is spent, has ∫ W dt = ∫ P dt + E instead: P is as smooth as
the motion. The velocities of work in a ledger are the means over a step where the scheme holds its forces, so that
the work of all forces is the change of the kinetic energy. That of joints is

    W = −Σ (d v + f tanh(v / w)) v + τ(q, v) · v

with damping d, friction f and the force τ of a plugin, and P and E of their stops. The engine's law of a coordinate
(`Passive.law`) records them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim._engine import Passive, PassiveLaw, SignalSource
from pysim.elements.force import Force, method_of
from pysim.elements.graph_types import forces_of
from pysim.elements.quantities import Twist
from pysim.elements.signal_inputs import is_path
from pysim.errors import SceneError, did_you_mean
from pysim.tracing.author_code import call, method_place
from pysim.tracing.expression import Scalar
from pysim.tracing.tape import PIECEWISE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pysim.elements.graph.acting_forces import ActingForces
    from pysim.elements.graph.block_methods import BlockMethods
    from pysim.elements.graph_types import GraphBlock
    from pysim.elements.signal_inputs import SignalInputs
    from pysim.joints.plugin import Joint
    from pysim.tracing.open_numbers import OpenRows


_LOSSES = ("damping", "friction", "friction_width")
_STOP = ("lower", "upper", "stop_stiffness", "stop_damping")


@dataclass(frozen=True)
class JointCoordinate:
    """Plain coordinate, or velocity of a rotation (q = −1), of a joint, with its passive force.

    A joint that follows another has the coordinate ratio · q + offset of its leader. Friction and stop may be impulses
    of convex steps, which integrate their work.
    """

    q: int
    v: int
    passive: Passive
    rest: float = 0.0
    ratio: float = 1.0
    offset: float = 0.0
    impulsive: bool = False
    place: int = 0  # among those of the joint
    rest_place: int = 0  # of its q among those of the joint

    @property
    def has_stop(self) -> bool:
        """Whether there is a limit."""
        return bool(np.isfinite(self.passive.lower) or np.isfinite(self.passive.upper))

    @property
    def brakes_at_stop(self) -> bool:
        """Whether a stop dissipates energy."""
        return self.has_stop and self.passive.stop_damping != 0

    def losses(self, *, without_impulses: bool) -> Passive:
        """Return the part of the force that exchanges energy which it does not store."""
        if without_impulses and self.impulsive:
            return self.part("damping")
        return self.part(*_LOSSES, *(_STOP if self.brakes_at_stop else ()))

    def part(self, *names: str) -> Passive:
        """Return the force with these numbers alone."""
        return Passive(**{name: getattr(self.passive, name) for name in names})


@dataclass(frozen=True)
class PassiveJoint:
    """Joint with a passive force."""

    name: str
    coordinates: tuple[JointCoordinate, ...]
    first_q: int  # in the user's q
    plugin: Joint | None = None  # whose force acts
    turns_on_spring: bool = False  # a spring acts on a rotation
    joint: str = ""  # its name in the mechanism
    # of each field of `Passive` those of all coordinates, then the rest
    numbers: tuple[float, ...] = ()


@dataclass(frozen=True)
class MeasuredElements:
    """Elements outside the signal graph whose power it computes.

    Attributes:
        forces: forces that depend on positions and velocities alone.
        drives: prescribed forces.
        joints: joints with passive forces.
        ledger: names of the elements whose work is integrated, and whether they inject it, or dissipate.
        names: names of all elements outside the graph, measured or not.
        integrated: names of contacts and prescribed motions in the ledger, whose work the engine integrates.
    """

    forces: tuple[GraphBlock, ...] = ()
    drives: tuple[GraphBlock, ...] = ()
    joints: tuple[PassiveJoint, ...] = ()
    ledger: Mapping[str, bool] | None = None
    names: tuple[str, ...] = ()
    integrated: tuple[str, ...] = ()


class Powers:
    """Powers of elements on the tape of a graph.

    Args:
        blocks: of the graph.
        symbols: inputs of its programs.
        methods: of its blocks.
        forces: that they exert.
        measured: elements outside the graph.
        opened: numbers of the mechanism that may change after the programs are recorded.

    Attributes:
        reads: names of the numbers of the mechanism that sensors of power and energy have as constants.
    """

    def __init__(
        self,
        blocks: Iterable[GraphBlock],
        symbols: SignalInputs,
        methods: BlockMethods,
        forces: ActingForces,
        measured: MeasuredElements,
        opened: OpenRows | None = None,
    ) -> None:
        self._opened = opened
        self._symbols, self._tape = symbols, symbols.tape
        self._methods, self._forces = methods, forces
        acting = {b.name: b for b in blocks if b.kind in ("actuator", "force")}
        outside = {block.name: block for block in (*measured.forces, *measured.drives)}
        self._blocks = acting | outside
        self._outside = outside
        self._joints = {joint.name: joint for joint in measured.joints}
        self._names = measured.names
        self._integrated = frozenset(measured.integrated)
        self.reads: set[str] = set()

    def measured(self, sensor: GraphBlock, what: str) -> Any:
        """Return the "power" or the "energy" of the element that a sensor measures.

        Raises:
            SceneError: there is no such element, or what is measured is not known of it.
        """
        assert sensor.element is not None
        self._check(sensor.element, sensor)
        if sensor.element in self._joints:
            self.reads.add(forces_of(self._joints[sensor.element].joint))
        measure = self._power if what == "power" else self._energy
        return measure(sensor.element, sensor)

    def _check(self, name: str, block: GraphBlock) -> None:
        """Reject the name of an element that does not exist.

        Raises:
            SceneError: there is none.
        """
        known = [*self._blocks, *self._joints, *self._names]
        if name not in known:
            problem = f"{block.label}: unknown element {name!r}{did_you_mean(name, known)}"
            raise SceneError(block.where, problem)

    def _power(self, name: str, sensor: GraphBlock) -> Any:
        """Return the power [W] of an element into the mechanism.

        Raises:
            SceneError: a spring on a rotation, which is not measured.
        """
        if name in self._blocks:
            block = self._blocks[name]
            return self._product(block, self._efforts(block))
        joint = self._joints[name]
        if joint.turns_on_spring:
            problem = f"{sensor.label}: the spring of joint {name!r} acts on a rotation"
            raise SceneError(sensor.where, f"{problem}; use a bushing, whose power is measured")
        return self._joint_power(joint, [own.passive for own in joint.coordinates])

    def _energy(self, name: str, sensor: GraphBlock) -> Any:
        """Return the stored energy [J] of an element.

        Raises:
            SceneError: it stores none.
        """
        if name in self._blocks:
            block = self._blocks[name]
            if name in self._outside and block.kind == "force" and _stores(block):
                return self._stored(block)
        elif not self._joints[name].turns_on_spring:
            return self._joint_energy(self._joints[name])
        problem = f"{sensor.label}: {name!r} stores no energy that a sensor can measure"
        raise SceneError(sensor.where, f"{problem}; measure its power")

    def exchange(self, name: str) -> tuple[Any, Any]:
        """Return a power [W] and an energy [J]: the work of an element is the integral of one plus the other.

        The work is that which is not taken from the stored energy of the element; the energy is None if it is 0.
        """
        if name in self._integrated:
            return Scalar(self._tape, self._tape.const(0)), None
        if name in self._joints:
            joint = self._joints[name]
            losses = [own.losses(without_impulses=True) for own in joint.coordinates]
            return self._joint_power(joint, losses, mean=True), self._stop_energy(joint)
        block = self._blocks[name]
        efforts = self._efforts(block)
        if not (block.kind == "force" and name in self._outside and _stores(block)):
            return self._product(block, efforts, mean=True), None
        if any(self._tape.nodes[k].op in PIECEWISE for k in self._tape.needed(efforts)):
            return self._product(block, efforts, mean=True), self._stored(block)
        still = self._of_force(block, still=True)
        parts = [self._tape.node("sub", a, b) for a, b in zip(efforts, still, strict=True)]
        return self._product(block, parts, mean=True), None

    # ------------------------------------------------------------------------------------------ forces

    def _stored(self, block: GraphBlock) -> Any:
        given = self._methods.arguments.of(block, "energy")
        nodes = self._methods.nodes(block, "energy", self._methods.call(block, "energy", given))
        return Scalar(self._tape, nodes[0])

    def _efforts(self, block: GraphBlock) -> list[int]:
        """Return the efforts of a block: a wrench, a tension, or forces on its coordinates within their limits."""
        if block.kind == "force" and block.name in self._outside:
            return self._of_force(block, still=False)
        nodes = self._forces.of(block)
        if block.name in self._outside or block.kind != "actuator" or block.port is not None:
            return nodes
        shares = (self._forces.limited_share(place) for place in block.coordinates)
        return [
            (Scalar(self._tape, k) * share).index for k, share in zip(nodes, shares, strict=True)
        ]

    def _of_force(self, block: GraphBlock, *, still: bool) -> list[int]:
        """Return the nodes of a force's efforts; with all velocities 0 if `still`."""
        method = method_of(type(block.plugin))
        given = self._methods.arguments.of(block, method.name)
        if still:
            zero = Scalar(self._tape, self._tape.const(0))
            at_rest = {
                "twist": Twist([zero] * 3, [zero] * 3),
                "rate": zero,
                "v": (zero,) * len(block.coordinates),
            }
            given |= {name: at_rest[name] for name in given if name in at_rest}
        return self._forces.of_force(block, method, given)

    def _product(self, block: GraphBlock, efforts: Sequence[int], *, mean: bool = False) -> Any:
        total: Any = Scalar(self._tape, self._tape.const(0))
        sign = 1.0
        if block.port is None:
            rates = [self._velocity(place.v, mean=mean) for place in block.coordinates]
        else:
            first = self._symbols.port_at[block.port]
            path = is_path(self._symbols.ports[block.port])
            sign = -1.0 if path else 1.0
            at = [first + 1] if path else range(first + 12, first + 18)
            source = SignalSource.mean_port if mean else SignalSource.port
            rates = [self._input_scalar(source, k) for k in at]
        for effort, rate in zip(efforts, rates, strict=True):
            total = total + Scalar(self._tape, effort) * rate
        return total if sign > 0 else -total

    # ------------------------------------------------------------------------------------------ joints

    def _input_scalar(self, source: SignalSource, index: int) -> Any:
        return self._symbols.number(source, index)

    def _velocity(self, index: int, *, mean: bool) -> Any:
        return self._input_scalar(SignalSource.mean_v if mean else SignalSource.v, index)

    def _position_and_velocity(self, own: JointCoordinate) -> tuple[Any, Any]:
        """Return position (None of a rotation) and velocity of a coordinate."""
        q = (
            None
            if own.q < 0
            else self._input_scalar(SignalSource.q, own.q) * own.ratio + own.offset
        )
        return q, self._input_scalar(SignalSource.v, own.v) * own.ratio

    def _law(self, joint: PassiveJoint, own: JointCoordinate, passive: Passive) -> PassiveLaw:
        q, v = self._position_and_velocity(own)
        numbers, rest = self._open_numbers(joint, own)
        return passive.law(0.0 if q is None else q, v, rest, numbers)

    def _open_numbers(
        self, joint: PassiveJoint, own: JointCoordinate
    ) -> tuple[dict[str, Any], Any]:
        """Return the numbers of a coordinate's forces that may change, by name, and the rest of its spring."""
        name = forces_of(joint.joint)
        row = self._opened and self._opened.symbolic(name, joint.numbers, self._tape)
        if not row:
            return {}, own.rest
        count = len(joint.coordinates)
        found = dict(zip(Passive.fields, row[own.place :: count], strict=False))
        rest = row[len(Passive.fields) * count :]
        # a scene without one of these has no such force in any world
        for field, present in (
            ("stiffness", own.q >= 0),
            ("friction", own.passive.friction != 0),
            ("friction_width", own.passive.friction != 0),
            ("lower", np.isfinite(own.passive.lower)),
            ("upper", np.isfinite(own.passive.upper)),
            ("stop_stiffness", own.has_stop),
            ("stop_damping", own.has_stop),
        ):
            if not present:
                del found[field]
        return found, rest[own.rest_place] if own.q >= 0 else own.rest

    def _joint_power(
        self, joint: PassiveJoint, parts: Sequence[Passive], *, mean: bool = False
    ) -> Any:
        """Return the power of these parts of the forces on the coordinates of a joint, and of its plugin."""
        total: Any = Scalar(self._tape, self._tape.const(0))
        rates = [self._velocity(own.v, mean=mean) * own.ratio for own in joint.coordinates]
        for own, passive, rate in zip(joint.coordinates, parts, rates, strict=True):
            total = total + self._law(joint, own, passive).force * rate
        if joint.plugin is not None:
            total = total + self._plugin_power(joint, rates)
        return total

    def _plugin_power(self, joint: PassiveJoint, rates: Sequence[Any]) -> Any:
        plugin = joint.plugin
        assert plugin is not None
        coordinates = plugin.coordinates
        first = joint.coordinates[0]
        if first.ratio == 1 and first.offset == 0:
            q = [
                self._input_scalar(SignalSource.q, joint.first_q + i) for i in range(coordinates.nq)
            ]
        else:  # a joint that follows another has one coordinate
            q = [self._position_and_velocity(first)[0]]
        v = [self._position_and_velocity(own)[1] for own in joint.coordinates]
        with self._tape.recording(lambda: method_place(plugin, "force")):
            given = call(plugin, "force", coordinates.named(q), coordinates.named_velocities(v))
        forces = list(given) if isinstance(given, (list, tuple, np.ndarray)) else [given]
        return sum((f * rate for f, rate in zip(forces, rates, strict=True)), 0.0 * rates[0])

    def _stop_energy(self, joint: PassiveJoint) -> Any:
        """Return the energy in the stops that dissipate energy or act as impulses, None without any."""
        total: Any = None
        for own in joint.coordinates:
            if own.brakes_at_stop or (own.has_stop and own.impulsive):
                total = Scalar(self._tape, self._tape.const(0)) if total is None else total
                total = total + self._law(joint, own, own.part(*_STOP)).energy
        return total

    def _joint_energy(self, joint: PassiveJoint) -> Any:
        total: Any = Scalar(self._tape, self._tape.const(0))
        for own in joint.coordinates:
            total = total + self._law(joint, own, own.part("stiffness", *_STOP)).energy
        return total


def _stores(block: GraphBlock) -> bool:
    """Return whether a force has a stored energy."""
    return isinstance(block.plugin, Force) and type(block.plugin).energy is not Force.energy
