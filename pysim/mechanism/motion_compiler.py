"""Compilation of prescribed motions: coordinates and frames that follow signals of time, as rows of the constraints.

    g = q − s(t)        ġ = q̇ − ṡ        g̈ = q̈ − s̈

The signal is traced with symbolic time and differentiated twice, see motion_courses.py; the row's force is the reaction
of the drive. A frame is driven by a loop whose frame A moves, see frame_motions.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim._engine import CouplingDescription
from pysim.errors import SceneError
from pysim.joints import find_joint
from pysim.mechanism.constraint_compiler import Coordinates
from pysim.mechanism.frame_motions import (
    driven_loop,
    place_program,
    rotation_of,
    uniform_program,
)
from pysim.mechanism.model import State
from pysim.mechanism.motion_courses import Course, Follower, blocks_of_time, numbers_of_time
from pysim.mechanism.motion_jumps import refuse_jumps
from pysim.mechanism.signal_compiler import time_graph
from pysim.scene.spec import CouplingSpec
from pysim.scene.tree import WORLD
from pysim.tracing.derivative import Derivative
from pysim.tracing.expression import Scalar
from pysim.tracing.program import emit
from pysim.tracing.tape import Tape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pysim._engine import Program
    from pysim.mechanism.model import Model
    from pysim.scene.spec import JointSpec, LoopSpec, SceneSpec

# relative or absolute difference [m, rad, 1/s] of a start from its signal's
_START_TOLERANCE = 1e-9


@dataclass(frozen=True)
class _Motion:
    """Coordinate that follows a signal."""

    joint: JointSpec
    coordinate: str  # of the user, "crank" or "table.x"
    signal: str
    q: int
    v: int


def motion_name(coordinate: str) -> str:
    """Return the name of the constraint that prescribes a coordinate."""
    return f"motion of {coordinate}"


def with_motions(model: Model, spec: SceneSpec, state: State) -> tuple[Model, State, list[str]]:
    """Return the model with its prescribed motions, the start that they give, and the names of their velocities.

    Raises:
        SceneError: a signal does not depend on time alone, has no acceleration, or contradicts the start of its joint.
    """
    model, courses = _with_driven_frames(model, spec)
    motions = list(_motions(model))
    if not (motions or courses):
        return model, state, []
    new_courses = [_course(model, spec, motion) for motion in motions]
    refuse_jumps([*new_courses, *courses], spec.settings.duration)
    if not motions:
        return model, state, []
    rows = [
        _row(model, motion, course) for motion, course in zip(motions, new_courses, strict=True)
    ]
    specs = [
        CouplingSpec(
            motion_name(m.coordinate), {m.coordinate: 1.0}, signal=m.signal, where=m.joint.where
        )
        for m in motions
    ]
    _refuse_taken_names(model, specs)
    connections = model.connections
    model = model.replaced(
        spec=replace(model.spec, couplings=(*model.spec.couplings, *specs)),
        connections=replace(connections, couplings=[*connections.couplings, *rows]),
    )
    held = [model.velocity_names[motion.v] for motion in motions]
    return model, _started(motions, new_courses, state), held


def _with_driven_frames(model: Model, spec: SceneSpec) -> tuple[Model, list[Course]]:
    """Return the model with the loops of its driven frames, and the numbers that these follow."""
    motions = model.spec.motions
    if not motions:
        return model, []
    courses: list[Course] = []
    loops = []
    for motion in motions:
        program, own = _driven_place(model, spec, motion)
        loops.append(driven_loop(model, motion, program))
        courses += own
    connections = model.connections
    return model.replaced(
        spec=replace(model.spec, loops=(*model.spec.loops, *motions)),
        connections=replace(connections, loops=[*connections.loops, *loops]),
    ), courses


def _driven_place(model: Model, spec: SceneSpec, motion: LoopSpec) -> tuple[Program, list[Course]]:
    """Return the program of a driven frame, and the numbers of its signals.

    Raises:
        SceneError: they are not 3 numbers of a position, or 3 or 4 of a rotation.
    """
    follower = Follower("motion", motion.name, motion.where)
    ends = {-1 if name == WORLD else model.frames[name][0] for name in (motion.a, motion.b)}
    if len(ends) == 1:
        problem = f"{follower.text} drives {motion.b!r} against {_itself(motion)}"
        raise SceneError(motion.where, f"{problem}; name a body that moves against it")
    signals = [*motion.position, *motion.rotation]
    graph = time_graph(model, spec, blocks_of_time(spec.blocks, follower, signals))
    place = numbers_of_time(graph, follower, motion.position, "m", "its position")
    if len(place) != 3:
        problem = f"{follower.text}: its position has {len(place)} numbers"
        remedy = "name a signal of 3, or 3 signals of one number"
        raise SceneError(motion.where, f"{problem}; {remedy}")
    rotation = numbers_of_time(graph, follower, motion.rotation, "", "its rotation")
    if len(rotation) not in (0, 3, 4):
        problem = f"{follower.text}: its rotation has {len(rotation)} numbers"
        remedy = "name a signal of 3, a rotation vector, or of 4, a quaternion (x, y, z, w)"
        raise SceneError(motion.where, f"{problem}; {remedy}")
    unit = "rad" if len(rotation) == 3 else "1"
    numbers_of_time(graph, follower, motion.rotation, unit, "its rotation")
    found = [*place, *rotation]
    along = Derivative(graph.tape, {0: graph.tape.const(1)})
    courses = []
    for k, (signal, node) in enumerate(found):
        rate = along.of(node)
        own = "m" if k < 3 else unit
        units = (own, "1/s" if own == "1" else f"{own}/s")
        courses.append(Course(follower, signal, units, graph.tape, (node, rate, along.of(rate))))
    p = [Scalar(graph.tape, node) for _, node in place]
    R = rotation_of(graph.tape, [node for _, node in rotation])
    return place_program(graph.tape, 0, p, R), courses


def _itself(motion: LoopSpec) -> str:
    return "itself" if motion.a == motion.b else f"{motion.a!r}, with which it is one rigid body"


def with_uniform_motions(model: Model, state: State) -> Model:
    """Return the model whose prescribed motions go on from a state at its rates, if they are not there at t = 0.

    A run is judged by what its states do within a step, wherever its motions are.
    """
    timed = [k for k, coupling in enumerate(model.spec.couplings) if coupling.signal is not None]
    driven = {loop.name for loop in model.spec.loops if loop.position}
    if not (timed or driven):
        return model
    at = _engine.constraint_rows(model, state.q, state.v, state.loop_q)
    rows = [model.rows - len(model.spec.couplings) + k for k in timed]
    rows += [k for k, name in enumerate(model.row_names) if name in driven]
    off = np.abs([at.residual[rows], (at.jacobian @ state.v + at.rates)[rows]])
    if off.max() <= _START_TOLERANCE:
        return model
    couplings = list(model.connections.couplings)
    for k in timed:
        coupling = couplings[k]
        line = _line(state.q[coupling.terms[0].q], state.v[coupling.terms[0].v])
        couplings[k] = coupling.replaced(function=line)
    loops = [
        closed.replaced(function=uniform_program(model, loop, state.q, state.v))
        if loop.position
        else closed
        for loop, closed in zip(model.spec.loops, model.connections.loops, strict=True)
    ]
    return model.with_connections(replace(model.connections, loops=loops, couplings=couplings))


def _line(value: float, rate: float) -> Program:
    """Return the program of a motion that goes on from a value at a rate."""
    tape = Tape()
    slope = tape.const(float(rate))
    s = tape.node("add", tape.const(float(value)), tape.node("mul", slope, tape.input(0)))
    return emit(tape, [s, slope, tape.const(0)], [], 1)


def _motions(model: Model) -> Iterator[_Motion]:
    """Yield the prescribed motions of a model's joints.

    Raises:
        SceneError: a joint that follows another has one.
    """
    coordinates = Coordinates(model.joints)
    for joint in model.joints:
        kind = find_joint(joint.type)
        for motion in joint.motions:
            if joint.mimic is not None:
                problem = f"joint {joint.name!r} follows {joint.mimic.joint!r} and has a motion"
                raise SceneError(joint.where, f"{problem}; prescribe that of {joint.mimic.joint!r}")
            name = joint.name if kind.nq == 1 else f"{joint.name}.{motion.coordinate}"
            term = coordinates.term(name, 1.0, joint.where)
            yield _Motion(joint, name, motion.signal, term.q, term.v)


def _refuse_taken_names(model: Model, specs: Sequence[CouplingSpec]) -> None:
    taken = {*model.row_names, *model.coupling_names}
    for own in specs:
        if own.name in taken:
            problem = f"the name {own.name!r} is that of a prescribed motion"
            raise SceneError(own.where, f"{problem}; rename the loop or coupling")


def _course(model: Model, spec: SceneSpec, motion: _Motion) -> Course:
    """Return the number that a coordinate follows."""
    follower = Follower("joint", motion.joint.name, motion.joint.where)
    graph = time_graph(model, spec, blocks_of_time(spec.blocks, follower, [motion.signal]))
    units = model.coordinate_units[motion.q], model.velocity_units[motion.v]
    nodes = numbers_of_time(graph, follower, [motion.signal], units[0], "its motion")
    if len(nodes) != 1:
        problem = f"{follower.text}: its motion {motion.signal!r} has {len(nodes)} numbers"
        raise SceneError(
            motion.joint.where, f'{problem}; name one of them, as in "{motion.signal}[0]"'
        )
    s = nodes[0][1]
    along = Derivative(graph.tape, {0: graph.tape.const(1)})
    rate = along.of(s)
    return Course(follower, motion.signal, units, graph.tape, (s, rate, along.of(rate)))


def _row(model: Model, motion: _Motion, course: Course) -> CouplingDescription:
    """Return the row of a motion: its signal, rate and acceleration as a program of time."""
    program = emit(course.tape, list(course.nodes), [], 1)
    terms = [Coordinates(model.joints).term(motion.coordinate, 1.0, motion.joint.where)]
    return CouplingDescription(motion_name(motion.coordinate), terms, function=program)


def _started(motions: Sequence[_Motion], courses: Sequence[Course], state: State) -> State:
    """Return the start with the values and rates of the motions at t = 0.

    Raises:
        SceneError: the scene gives a joint another start.
    """
    q, v = state.q.copy(), state.v.copy()
    for motion, course in zip(motions, courses, strict=True):
        s, rate, _ = course.at(np.zeros(1))[:, 0].tolist()
        for name, given, wanted, unit in (
            ("q", q[motion.q], s, course.units[0]),
            ("v", v[motion.v], rate, course.units[1]),
        ):
            if name in motion.joint.given_start and not np.isclose(
                given, wanted, _START_TOLERANCE, _START_TOLERANCE
            ):
                what = "rate" if name == "v" else "value"
                problem = f"joint {motion.coordinate!r} starts with {name} = {given:.9g} [{unit}], and the {what} of "
                problem += f"its motion {motion.signal!r} is {wanted:.9g} [{unit}] at t = 0"
                raise SceneError(motion.joint.where, f"{problem}; remove {name} from its start")
        q[motion.q], v[motion.v] = s, rate
    return State(q, v, state.loop_q)
