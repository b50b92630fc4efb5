"""Arguments of the methods of plugins: what each name among them stands for, as symbolic numbers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim._engine import SignalCallKind, SignalSource
from pysim.elements.graph.block_channels import argument_names, memory_of, states_of
from pysim.elements.graph_types import GRAVITY, theta_of
from pysim.elements.ground import Ground
from pysim.elements.library.noise import Noise
from pysim.elements.quantities import Acceleration, Contact, SectionForces, Twist, Wrench
from pysim.elements.signal_inputs import is_path
from pysim.errors import JointError, SceneError
from pysim.joints.displacement import Pose
from pysim.tracing.author_code import method_place
from pysim.tracing.expression import Scalar
from pysim.tracing.symbolic_array import symbolic_array

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pysim.elements.graph.signal_values import SignalValues
    from pysim.elements.graph.state_places import StatePlaces
    from pysim.elements.graph_types import GraphBlock, RigidPart, RodSection
    from pysim.elements.signal_inputs import SignalInputs
    from pysim.tracing.open_numbers import OpenRows

_OFFERED = {
    "signal": (),
    "sensor": (
        "inputs", "q", "v", "a", "pose", "twist", "acceleration", "length", "rate", "wrench", "gravity", "power",
        "energy", "noise", "ground", "contact", "section",
    ),
    "controller": ("inputs", "dynamics", "gravity", "noise"),
    "actuator": ("command", "inputs", "q", "v", "length", "rate"),
    "force": ("pose", "twist", "length", "rate", "q", "v", "inputs", "ground"),
}  # fmt: skip


_LEAST_SQUARE = 1e-32  # square of a sine whose square root has a slope


class Dynamics:
    """Inverse dynamics of the mechanism, without passive forces, for methods that name `dynamics`."""

    def __init__(self, symbols: SignalInputs, nq: int) -> None:
        self._symbols, self._nq = symbols, nq

    @property
    def gravity(self) -> Any:
        """Forces (nv,) [N or N·m] that hold the mechanism at rest against gravity."""
        return symbolic_array(self._symbols.add_call(SignalCallKind.gravity, []))

    def inverse(self, *motion: Sequence[Any]) -> Any:
        """Return the forces (nv,) [N or N·m] of a motion.

        Args:
            motion: accelerations (nv,) [m/s² or rad/s²] at the q and v of the mechanism; or q (nq,), v (nv,) and these,
                as of a reference. Quaternions of q have unit length.
        """
        symbols = self._symbols
        if len(motion) not in (1, 3):
            raise ValueError(
                f"dynamics.inverse needs a, or q, v and a, got {len(motion)} arguments"
            )
        parts = (
            ("accelerations", symbols.nv),
            ("velocities", symbols.nv),
            ("coordinates", self._nq),
        )
        nodes: list[int] = []
        for (what, count), given in zip(parts, reversed(motion), strict=False):
            numbers = np.atleast_1d(np.asarray(given, object)).ravel().tolist()
            if len(numbers) != count:
                raise ValueError(f"dynamics.inverse needs {count} {what}, got {len(numbers)}")
            nodes[:0] = [
                x.index if isinstance(x, Scalar) else symbols.tape.const(float(x)) for x in numbers
            ]
        kind = SignalCallKind.inverse if len(motion) == 1 else SignalCallKind.inverse_at
        return symbolic_array(symbols.add_call(kind, nodes))


class MethodArguments:
    """Arguments that methods of a graph's blocks name.

    Args:
        symbols: inputs of the programs.
        places: of states and held numbers.
        signals: values of the signals.
        nq: number of coordinates.
        gravity: of the world [m/s²].
        ground: returns the surfaces whose heights a sensor reads.
        measured: returns the power or the energy, by name, of the element that a sensor measures.
        opened: numbers of the mechanism that may change after the programs are recorded.

    Attributes:
        reads: names of the numbers of the mechanism that methods have named.
    """

    def __init__(
        self,
        symbols: SignalInputs,
        places: StatePlaces,
        signals: SignalValues,
        nq: int,
        gravity: Sequence[float],
        ground: Callable[[], Ground] | None,
        measured: Callable[[GraphBlock, str], Any],
        opened: OpenRows | None = None,
    ) -> None:
        self._symbols, self._places, self._signals = symbols, places, signals
        self._nq, self._gravity, self._ground_of, self._measured = nq, gravity, ground, measured
        self._ground: Ground | None = None
        self._opened = opened
        self.reads: set[str] = set()

    def of(self, block: GraphBlock, method: str) -> dict[str, Any]:
        """Return what a method names, by name."""
        wanted = argument_names(block.plugin, method)
        arguments: dict[str, Any] = {}
        offered = ["t", *_OFFERED[block.kind], *(("period",) if method == "held_step" else ())]
        for channel in (*states_of(block.plugin), *memory_of(block.plugin)):
            offered.append(channel.name)
            if (block.name, channel.name) in self._places.of:
                arguments[channel.name] = self._symbols.shaped(
                    self._places.held(block.name, channel.name)
                )
        memory_names = [channel.name for channel in memory_of(block.plugin)]
        if memory_names and "memory" not in offered:
            offered.append("memory")
            if all(name in arguments for name in memory_names):
                arguments["memory"] = SimpleNamespace(
                    **{name: arguments[name] for name in memory_names}
                )
        for name in wanted:
            if name not in offered:
                problem = f"has the unknown argument {name!r}; choose among {', '.join(offered)}"
                raise JointError(method_place(block.plugin, method), problem)
            if name not in arguments and name in {*memory_names, "memory"}:
                owned = (
                    ", ".join(repr(own) for own in memory_names) if name == "memory" else repr(name)
                )
                problem = f"{block.label}: has the memory {owned}, which changes at instants"
                raise SceneError(block.where, f"{problem}; give it a period [s]")
            if name not in arguments:
                arguments[name] = self._argument(block, name, method)
        return {name: arguments[name] for name in wanted}

    def _argument(self, block: GraphBlock, name: str, method: str) -> Any:
        if name == "t":
            return self._symbols.number(SignalSource.time, 0)
        if name == "period":
            return block.period
        if name == "inputs":
            return self._signals.inputs_of(block)[0]
        if name == "command":
            return getattr(self._signals.inputs_of(block)[0], name)
        if name == "dynamics":
            return Dynamics(self._symbols, self._nq)
        if name == "noise":
            return Noise(block, method, self._symbols, self._places.random_key)
        if name == "gravity":
            return self._gravity_for(block)
        if name == "ground":
            return self._read_ground(block)
        if name in ("power", "energy"):
            if block.element is None:
                raise _needs(block, "element", name)
            return self._measured(block, name)
        if name in ("q", "v", "a"):
            return self._coordinates(block, name, method)
        if name == "contact":
            if block.touched is None:
                raise _needs(block, "frame", name)
            x = [
                Scalar(self._symbols.tape, k)
                for k in self._places.nodes(self._places.contacts[block.name])
            ]
            return Contact(x[0], x[1], x[2:5], x[5:])
        if name == "section":
            if block.section is None:
                raise _needs(block, 'frame = { rod = "NAME", s = 0.4 }', name)
            return self._section_forces(block.section)
        if name == "wrench" and block.part is not None:
            return self._wrench_at_fixed_joint(block, block.part)
        if name == "wrench":
            if block.joint is None:
                raise _needs(block, "joint", name)
            n = self._symbols.numbers(SignalSource.reaction, 6 * block.joint, 6)
            return Wrench(n[:3], n[3:])
        if block.port is None:
            raise _needs(block, "path" if name in ("length", "rate") else "frame", name)
        first = self._symbols.port_at[block.port]
        if name == "length":
            return self._symbols.number(SignalSource.port, first)
        if name == "rate":
            return self._symbols.number(SignalSource.port, first + 1)
        if name == "pose":
            x = self._symbols.numbers(SignalSource.port, first, 12)
            return Pose([[x[3 * j + i] for j in range(3)] for i in range(3)], x[9:])
        x = self._symbols.numbers(SignalSource.port, first + 12, 6)
        twist = Twist(x[:3], x[3:])
        if name == "twist":
            return twist
        x = self._symbols.numbers(SignalSource.port_acceleration, 6 * block.port, 6)
        return Acceleration(Twist(x[:3], x[3:]), twist)

    def _section_forces(self, section: RodSection) -> SectionForces:
        """Return what acts within a rod, from the wrenches and rotations of its hinges."""
        force, moment, curvature = (np.zeros(3, object) for _ in range(3))
        for joint, first, of_force, of_moment, of_turn in section.hinges:
            n = np.array(self._symbols.numbers(SignalSource.reaction, 6 * joint, 6), object)
            force = force - of_force * n[:3]  # of the parent on the child
            moment = moment - of_moment * n[3:]
            if of_turn and section.axis >= 0:
                angle = self._symbols.number(SignalSource.q, first)
                curvature = curvature + of_turn * angle * np.eye(3)[section.axis]
            elif of_turn:
                quaternion = np.array(self._symbols.numbers(SignalSource.q, first, 4), object)
                curvature = curvature + of_turn * _rotation_vector(quaternion)
        return SectionForces(
            list(force), list(moment), list(curvature), section.sides, is_round=section.is_round
        )

    def _wrench_at_fixed_joint(self, block: GraphBlock, part: RigidPart) -> Wrench:
        """Return the wrench of one side of a fixed joint, about the joint's origin in its axes."""
        theta = self._of_mechanism(theta_of(block.name), part.theta)
        m, first = theta[0], theta[1:4]
        xx, xy, yy, xz, yz, zz = theta[4:]
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        pose, w, linear, angular = self._motion_at(block, part)
        lifted = linear - pose.T @ self._of_mechanism(GRAVITY, self._gravity)
        force = m * lifted + np.cross(angular, first) + np.cross(w, np.cross(w, first))
        torque = inertia @ angular + np.cross(w, inertia @ w) + np.cross(first, lifted)
        force, torque = part.sign * force, part.sign * torque
        for sign, joint, port, X in part.wrenches:
            n = self._symbols.numbers(SignalSource.reaction, 6 * joint, 6)
            R, p = X[:3, :3], X[:3, 3]
            if port is not None:
                x = self._symbols.numbers(SignalSource.port, self._symbols.port_at[port], 12)
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
        x = self._symbols.numbers(SignalSource.port, self._symbols.port_at[block.port], 18)
        pose = np.array([[x[3 * j + i] for j in range(3)] for i in range(3)], object)
        twist = Twist(x[12:15], x[15:])
        a = self._symbols.numbers(SignalSource.port_acceleration, 6 * block.port, 6)
        acceleration = Acceleration(Twist(a[:3], a[3:]), twist)
        return pose, np.array(twist.w), np.array(acceleration.linear), np.array(acceleration.w)

    def _of_mechanism(self, name: str, row: Sequence[float]) -> Any:
        """Return numbers of the mechanism, which are symbolic if they may change after the programs are recorded."""
        self.reads.add(name)
        own = None if self._opened is None else self._opened.symbolic(name, row, self._symbols.tape)
        return np.array(row, float) if own is None else symbolic_array(own)

    def _gravity_for(self, block: GraphBlock) -> Any:
        """Return gravity (3,) [m/s²], for a sensor in the axes of the frame that it measures against.

        Raises:
            SceneError: that frame moves.
        """
        gravity = self._of_mechanism(GRAVITY, self._gravity)
        port = None if block.port is None else self._symbols.ports[block.port]
        if port is None or is_path(port):
            return gravity
        if port.a >= 0:
            problem = f"{block.label}: reads gravity, but is relative to a body that moves"
            raise SceneError(block.where, f"{problem}; leave out relative_to")
        return np.asarray(port.at_a, float)[:3, :3].T @ gravity

    def _read_ground(self, block: GraphBlock) -> Ground | None:
        """Return the ground, for an element whose frame is measured in the world; None if it reads none.

        Raises:
            SceneError: there is none, or the frame is measured in another one.
        """
        if not getattr(block.plugin, "reads_ground", True):
            return None
        port = None if block.port is None else self._symbols.ports[block.port]
        if port is not None and (port.a >= 0 or not np.array_equal(port.at_a, np.eye(4))):
            problem = f"{block.label}: reads the ground, but is relative to a frame"
            key = "a and at_a" if block.kind == "force" else "relative_to"
            raise SceneError(block.where, f"{problem}; leave out {key}")
        if self._ground is None:
            self._ground = Ground([]) if self._ground_of is None else self._ground_of()
        if not self._ground.surfaces:
            problem = f"{block.label}: reads the ground, and the scene has none"
            raise SceneError(block.where, f"{problem}; add a [[ground]]")
        return self._ground

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
            numbers.append(self._symbols.number(source, place.q if name == "q" else place.v))
        if block.kind == "force":  # as forces without signals: a tuple
            return tuple(numbers)
        return numbers[0] if len(numbers) == 1 else symbolic_array(numbers)


def _rotation_vector(q: Any) -> Any:
    """Return the rotation vector (3,) of a quaternion (x, y, z, w), of an angle up to π."""
    sine = np.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + _LEAST_SQUARE)
    sign = np.where(q[3] < 0, -1.0, 1.0)
    return 2 * sign * np.arctan2(sine, sign * q[3]) / sine * q[:3]


def _needs(block: GraphBlock, key: str, name: str) -> SceneError:
    problem = f"{block.label}: has no {key}, but its {name} is read"
    return SceneError(block.where, f"{problem}; give {key}")
