"""Blocks of a signal graph, and what the graph compiles to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pysim._engine import SignalsDescription

GRAVITY = "gravity of signals"  # name of the gravity that programs of a graph read
CONTACT_NUMBERS = 8  # touching, normal force, force (3) and torque (3) of a contact sensor
SHARP_BAND = 1e-6  # share of a velocity limit over which the drive falls to 0, by default


def theta_of(sensor: str) -> str:
    """Return the name of the inertia of the part by which a sensor measures the wrench at a fixed joint."""
    return f"inertia of sensor {sensor!r}"


def forces_of(joint: str) -> str:
    """Return the name of the passive forces of a joint whose power or energy a sensor measures."""
    return f"forces of joint {joint!r}"


def names_of_numbers(name: str, size: int) -> list[str]:
    """Return a name for each number of a signal, an input or another row of some size."""
    return [name] if size == 1 else [f"{name}[{k}]" for k in range(size)]


@dataclass(frozen=True)
class CoordinatePlace:
    """A coordinate of the user: its index in q (-1 if it is no plain number) and in v, and its units."""

    name: str
    q: int
    v: int
    q_unit: str
    v_unit: str
    effort_limit: float | None = None  # [N or N·m]
    velocity_limit: float | None = None  # [m/s or rad/s]
    velocity_band: float = SHARP_BAND  # share of it, over which the actuators' force falls to 0


@dataclass(frozen=True)
class RigidPart:
    """Part of a body on one side of a fixed joint, from whose motion the wrench at the joint follows.

    Attributes:
        sign: 1 of the part beyond the joint, −1 of that before it.
        theta: mass, first moment and inertia (10,) about the joint's origin, in its axes.
        links: bodies whose sum it is, with their poses (4, 4) about the joint's origin, in its axes.
        is_still: whether the body is the world.
        rotation: of the joint's axes in the body (3, 3).
        wrenches: of moving joints, which are added: their sign, number, the port of their child's frame in the joint's,
            and their pose in it (4, 4) where no port has it.
    """

    sign: float
    theta: Any
    links: tuple[tuple[str, Any], ...]
    is_still: bool
    rotation: Any
    wrenches: tuple[tuple[float, int, int | None, Any], ...]


@dataclass(frozen=True)
class TouchedBody:
    """Body whose contacts a sensor measures, about the origin of a frame and in its axes.

    Attributes:
        name: of the sensor.
        link: name of the body.
        others: bodies whose contacts count; all without any.
        body: number of the engine's body that carries the frame, -1 for the world.
        at: the frame in that body (4, 4).
        base: the same two of another frame in whose axes the numbers are; None for those of the frame.
        where: place of the sensor in its file.
    """

    name: str
    link: str
    others: tuple[str, ...]
    body: int
    at: Any
    base: tuple[int, Any] | None
    where: str = ""

    def side(self, first: str, second: str) -> int:
        """Return 1 for the second link of a pair, −1 for the first, 0 if the pair does not count."""
        if second == self.link and (not self.others or first in self.others):
            return 1
        return -int(first == self.link and (not self.others or second in self.others))


@dataclass(frozen=True)
class RodSection:
    """Section of a rod between two hinges, whose readings are sums of theirs.

    Attributes:
        hinges: number of the joint, place of its coordinates in q, and its shares of the force, the moment and, [1/m],
            the rotation.
        axis: about which the rod bends if it does about one alone, 1 for y and 2 for z, else −1: a ball joint.
        sides: along y and z [m]; None if the section has no shape.
        is_round: whether it is a circle or tube.
    """

    hinges: tuple[tuple[int, int, float, float, float], ...]
    axis: int
    sides: tuple[float, float] | None
    is_round: bool


@dataclass(frozen=True)
class GraphBlock:
    """A block of a scene: its plugin with its keys, what it reads, and what it measures or drives."""

    kind: str  # the table: signal, sensor, controller, actuator or force
    name: str
    plugin: Any
    inputs: tuple[str, ...] = ()
    period: float | None = None  # [s]
    start: tuple[float, ...] | None = None  # values of an input of the scene
    # values at t = 0 of a sensor's outputs that follow from forces, 0 by default
    first: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    unit: str = ""  # of a signal
    scale: float = 1.0  # to that unit, of the numbers that the plugin of a signal returns
    size: int = 1  # of an input of the scene
    coordinates: tuple[CoordinatePlace, ...] = ()
    port: int | None = None
    is_path: bool = False
    joint: int | None = None  # whose wrench a sensor reads
    part: RigidPart | None = None  # by which a sensor reads the wrench at a fixed joint
    element: str | None = None  # whose power or energy a sensor reads
    section: RodSection | None = None  # of a rod, whose forces a sensor reads
    touched: TouchedBody | None = None  # whose contacts a sensor reads
    signals: Mapping[str, str] = field(default_factory=dict)  # fields of type Signal
    released_by: tuple[int, ...] = ()  # numbers of the events until which a force or actuator acts
    where: str = ""

    @property
    def label(self) -> str:
        return f"{self.kind} {self.name!r}"


@dataclass(frozen=True)
class RecordedSignal:
    """A signal of a scene: its columns among the readings, and its unit."""

    name: str
    unit: str
    first: int
    size: int
    is_single: bool  # a number, not a list of numbers
    is_measured: bool = False  # depends on accelerations or wrenches
    is_touching: bool = False  # depends on contacts
    labels: tuple[str, ...] = ()  # of its numbers, if they have names

    @property
    def is_late(self) -> bool:
        """Whether it exists after the dynamics only."""
        return self.is_measured or self.is_touching


@dataclass(frozen=True)
class ExertedForce:
    """Columns among the readings of the force of a plugin that depends on time or signals."""

    name: str
    acts: str  # frames, path or coordinates
    first: int
    count: int
    coordinates: tuple[CoordinatePlace, ...] = ()  # of a force on coordinates


@dataclass(frozen=True)
class WorkTerm:
    """Work of an element [J]: the integral at its place in the state, and a reading that adds to it."""

    name: str
    place: int
    energy: int | None
    injects: bool  # whether it depends on time or signals


@dataclass(frozen=True)
class ContactWork:
    """Places of integrals to which the engine adds the work of contacts."""

    pairs: tuple[int, ...]  # of links
    joints: Mapping[int, int]  # with stops or friction in convex steps, by number of the joint


@dataclass(frozen=True)
class NoiseKey:
    """Place of the key of a world's random numbers in the state, and the seed of the scene."""

    place: int
    seed: int


@dataclass(frozen=True)
class SceneInput:
    """A signal that is given from outside, and its places in the state."""

    name: str
    places: tuple[int, ...]


@dataclass(frozen=True)
class Callback:
    """A controller that is called in Python: its bit among the due blocks, and places of its numbers in the state."""

    name: str
    plugin: Any
    bit: int
    inputs: tuple[tuple[str, tuple[int, ...]], ...]  # by name
    outputs: tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True)
class CompiledSignals:
    """Programs of a signal graph, and what is known of them."""

    description: SignalsDescription
    recorded: tuple[RecordedSignal, ...]
    start: tuple[float, ...]  # numbers of the state before t = 0
    periods: tuple[float, ...]  # [s] of the sampled blocks, in their order
    sampled: tuple[str, ...]  # names of the sampled blocks
    begins: int  # blocks before these, which run at the start alone
    inputs: tuple[SceneInput, ...]  # signals given from outside
    state_names: tuple[str, ...]  # of the states of elements
    exerted: tuple[ExertedForce, ...] = ()
    work: tuple[WorkTerm, ...] = ()
    noise: NoiseKey | None = None  # without one, nothing is random
    callbacks: tuple[Callback, ...] = ()  # in the order of their bits
    releases: tuple[tuple[int, ...], ...] = ()  # of every event: places of the gates that it closes
    # by elements that events release
    gates: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    measuring: int = 0  # bit k: the sampled block k reads accelerations or wrenches
    touching: int = 0  # bit k: the sampled block k reads contacts
    contacts: tuple[tuple[TouchedBody, tuple[int, ...]], ...] = ()  # with places in the state
    contact_work: ContactWork | None = None  # of contacts, with a ledger
    # places of the work of prescribed motions, by the name of their row, with a ledger
    motion_work: Mapping[str, int] = field(default_factory=dict)
    # places whose initial values depend on one another, see SignalRun.begin
    settled: tuple[int, ...] = ()
    # places of held outputs of sampled blocks with initial values
    settled_outputs: tuple[int, ...] = ()
    # names of the numbers of the mechanism that its programs have as constants, see GRAVITY, `theta_of`, `forces_of`
    reads: frozenset[str] = frozenset()

    @property
    def held_states(self) -> dict[int, str]:
        """Names of the held numbers by their places, without inputs and the key of random numbers."""
        left_out = {place for own in self.inputs for place in own.places}
        if self.noise is not None:
            left_out.add(self.noise.place)
        first, count = self.description.states, self.description.held_numbers
        held = {first + k: f"held[{k}]" for k in range(count)}
        return {place: name for place, name in held.items() if place not in left_out}
