"""Compilation of a specification's loops, couplings and forces into the engine's records."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from pysim._engine import CouplingDescription, LoopDescription, LoopKind, Term
from pysim.elements.force import depends_on_signals
from pysim.errors import JointError, ModelError, did_you_mean
from pysim.joints import find_joint
from pysim.joints.loop_joints import ENGINE_KIND, find_loop_type, joint_of_loop_type
from pysim.joints.relation import find_relation, trace_relation, trace_relation_derivative
from pysim.mechanism.force_compiler import ForceCompiler
from pysim.mechanism.joint_description import describe_loop_motion
from pysim.mechanism.model import Connections
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pysim.mechanism.joint_description import TraceCache
    from pysim.scene.spec import CouplingSpec, JointSpec, LoopSpec, Mimic, ModelSpec


class CompositeBody(Protocol):
    """Moving body, or the world (index -1)."""

    @property
    def index(self) -> int: ...


def compile_connections(
    spec: ModelSpec,
    placed: Mapping[str, tuple[CompositeBody, Array]],
    joints: Sequence[JointSpec],
    cache: TraceCache,
) -> Connections:
    """Return the loops, couplings and forces between bodies and coordinates of the tree of `joints`.

    Raises:
        ModelError: a loop or force connects parts of one rigid body, or a name of a coordinate is unknown.
    """
    coordinates = Coordinates(joints)
    forces = ForceCompiler(placed, coordinates, cache)
    elements = [
        forces.element(force)
        for force in spec.forces
        if not (force.is_released or depends_on_signals(force.type, force.parameters))
    ]
    return Connections(
        [describe_loop(loop, placed, cache) for loop in spec.loops],
        [_coupling(coupling, coordinates) for coupling in spec.couplings],
        elements,
        forces.nonconservative,
        forces.unstored,
    )


def describe_loop(
    loop: LoopSpec, placed: Mapping[str, tuple[CompositeBody, Array]], cache: TraceCache
) -> LoopDescription:
    """Return the record of a loop: the joint that closes it, and its frames on the moving bodies."""
    (a, pose_a), (b, pose_b) = placed[loop.a], placed[loop.b]
    if a is b:
        problem = (
            f"loop {loop.name!r} joins {loop.a!r} and {loop.b!r}, which are one rigid body already; "
            "name bodies that move against each other, or remove the loop"
        )
        raise ModelError(loop.where, problem)
    joint = find_joint(joint_of_loop_type(find_loop_type(loop.type)))
    motion = describe_loop_motion(loop, cache)
    if motion.callback is not None:
        problem = (
            f"loop {loop.name!r} is closed by {loop.type!r}, whose motion is computed by Python; "
            "a loop needs a joint that can be traced"
        )
        raise ModelError(loop.where, problem)
    return LoopDescription(
        name=loop.name,
        kind=ENGINE_KIND.get(loop.type, LoopKind.joint),
        motion=motion.description,
        a=a.index,
        b=b.index,
        at_a=pose_a @ loop.at_a @ motion.at,
        at_b=pose_b @ loop.at_b,
        length=loop.radius if loop.type == "wheel_on_plane" else loop.length,
        independent=range(rows_of(loop)),
        start=joint.neutral if loop.start_q is None else loop.start_q,
    )


def rows_of(loop: LoopSpec) -> int:
    """Return the number of rows of a loop."""
    if loop.type in ENGINE_KIND:
        return {"point_on_line": 2, "wheel_on_plane": 3}.get(loop.type, 1)
    return 6 - find_joint(joint_of_loop_type(find_loop_type(loop.type))).nv


class Leader(NamedTuple):
    """Place of a coordinate in q and v, and the line of one whose joint follows that of the place."""

    place: tuple[int, int]
    mimic: Mimic | None = None


class Coordinates:
    """Offsets of real coordinates in q and v, by the user's names."""

    def __init__(self, joints: Sequence[JointSpec]) -> None:
        self.places: dict[str, tuple[int, int]] = {}
        self.not_coupled: dict[str, str] = {}
        self.velocities: dict[str, int] = {}  # in v, of rotations and poses
        self.groups: set[str] = set()  # joints with rotations or poses among their coordinates
        self._mimics = {joint.name: joint.mimic for joint in joints if joint.mimic is not None}
        q = v = 0
        for joint in joints:
            kind = find_joint(joint.type)
            if joint.mimic is not None:
                self.not_coupled[joint.name] = (
                    f"follows joint {joint.mimic.joint!r}; couple that joint"
                )
                continue
            if kind.is_real and kind.nv == 1:
                self.places[joint.name] = q, v
            elif kind.is_real:
                for i, name in enumerate(kind.q_names):
                    self.places[f"{joint.name}.{name}"] = q + i, v + i
                first = f"{joint.name}.{kind.q_names[0]}"
                self.not_coupled[joint.name] = (
                    f"has {kind.nv} coordinates; name one, as in {first!r}"
                )
            else:
                self.groups.add(joint.name)
                self.velocities |= {
                    f"{joint.name}.{name}": v + i for i, name in enumerate(kind.v_names)
                }
                self.not_coupled[joint.name] = (
                    f"is a {kind.name} joint; its coordinates cannot be coupled"
                )
            q, v = q + kind.nq, v + kind.nv

    def term(self, name: str, factor: float, where: str) -> Term:
        """Return the term of a coupling."""
        joint = name.rpartition(".")[0]
        if name not in self.not_coupled and joint in self.groups:
            raise ModelError(where, f"joint {joint!r} {self.not_coupled[joint]}")
        return Term(*self._real(name, where), factor)

    def place(self, name: str, where: str) -> tuple[int, int]:
        """Return the offsets of a coordinate in q and v; −1 for q if it is a velocity of a rotation or pose."""
        if name in self.velocities:
            return -1, self.velocities[name]
        if name in self.groups:
            example = next(v for v in self.velocities if v.startswith(f"{name}."))
            problem = (
                f"joint {name!r} has several velocities; name one of them, such as {example!r}"
            )
            raise ModelError(where, problem)
        return self._real(name, where)

    def leader(self, name: str, where: str) -> Leader:
        """Return the place of a coordinate, or of the one that its joint follows."""
        mimic = self._mimics.get(name)
        if mimic is None:
            return Leader(self.place(name, where))
        return Leader(self.place(mimic.joint, where), mimic)

    def _real(self, name: str, where: str) -> tuple[int, int]:
        if name in self.not_coupled:
            raise ModelError(where, f"joint {name!r} {self.not_coupled[name]}")
        if name not in self.places:
            problem = f"there is no coordinate {name!r}{did_you_mean(name, self.places)}"
            raise ModelError(where, problem)
        return self.places[name]


def _coupling(coupling: CouplingSpec, coordinates: Coordinates) -> CouplingDescription:
    terms = [coordinates.term(n, x, coupling.where) for n, x in coupling.terms.items()]
    if coupling.function is None:
        return CouplingDescription(coupling.name, terms, coupling.offset)
    inputs = [coordinates.term(n, 1.0, coupling.where) for n in coupling.inputs]
    try:
        function = find_relation(coupling.function)
        program, derivative = trace_relation(function), trace_relation_derivative(function)
    except JointError as error:
        problem = f"{error.problem} ({coupling.where}: coupling {coupling.name!r})"
        raise JointError(error.where, problem) from error
    return CouplingDescription(coupling.name, terms, coupling.offset, inputs, program, derivative)
