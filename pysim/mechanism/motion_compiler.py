"""Compilation of prescribed motions: coordinates and frames that follow signals of time, as rows of the constraints.

    g = q − s(t)        ġ = q̇ − ṡ        g̈ = q̈ − s̈

The signal is traced with symbolic time and differentiated twice; the row's force is the reaction of the drive. A frame
is driven by a loop whose frame A moves, see frame_motions.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim import _engine
from pysim._engine import CouplingDescription, SignalSource
from pysim.elements.graph_types import GraphBlock
from pysim.errors import SceneError, did_you_mean
from pysim.joints import find_joint
from pysim.mechanism.constraint_compiler import Coordinates
from pysim.mechanism.frame_motions import (
    driven_loop,
    place_program,
    rotation_of,
    uniform_program,
)
from pysim.mechanism.model import State
from pysim.mechanism.signal_compiler import time_graph
from pysim.scene.spec import CouplingSpec
from pysim.scene.tree import WORLD
from pysim.tracing.derivative import Derivative
from pysim.tracing.evaluation import evaluate
from pysim.tracing.expression import Scalar
from pysim.tracing.program import emit
from pysim.tracing.tape import Tape
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pysim._engine import Program
    from pysim.elements.graph.builder import GraphBuilder
    from pysim.mechanism.model import Model
    from pysim.scene.spec import BlockSpec, JointSpec, LoopSpec, SceneSpec

_SAMPLES = 1024  # intervals of a run in which a signal is searched for jumps
_PARTS = 16  # of an interval that is searched further
_ROUNDS = 9
_SAME = 1e-9  # relative or absolute difference [m, rad, 1/s] of a start from its signal's


@dataclass(frozen=True)
class _Follower:
    """Joint or frame that follows signals, for messages."""

    kind: str  # "joint" or "motion"
    name: str
    where: str

    @property
    def text(self) -> str:
        return f"{self.kind} {self.name!r}"


@dataclass(frozen=True)
class _Course:
    """Number of a signal over time: nodes of its value, rate and acceleration on a tape whose input is the time."""

    follower: _Follower
    signal: str
    units: tuple[str, str]  # of value and rate
    tape: Tape
    nodes: tuple[int, int, int]

    @property
    def label(self) -> str:
        what = "motion" if self.follower.kind == "joint" else "signal"
        return f"{self.follower.text}: its {what} {self.signal!r}"

    @property
    def where(self) -> str:
        return self.follower.where

    def at(self, t: Array) -> Array:
        """Return s, ṡ and s̈ (3, n) at times (n,) [s]."""
        return np.asarray(evaluate(self.tape, t[np.newaxis], self.nodes))


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
    _refuse_jumps([*new_courses, *courses], spec.settings.duration)
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


def _with_driven_frames(model: Model, spec: SceneSpec) -> tuple[Model, list[_Course]]:
    """Return the model with the loops of its driven frames, and the numbers that these follow."""
    motions = model.spec.motions
    if not motions:
        return model, []
    courses: list[_Course] = []
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


def _driven_place(model: Model, spec: SceneSpec, motion: LoopSpec) -> tuple[Program, list[_Course]]:
    """Return the program of a driven frame, and the numbers of its signals.

    Raises:
        SceneError: they are not 3 numbers of a position, or 3 or 4 of a rotation.
    """
    follower = _Follower("motion", motion.name, motion.where)
    ends = {-1 if name == WORLD else model.frames[name][0] for name in (motion.a, motion.b)}
    if len(ends) == 1:
        problem = f"{follower.text} drives {motion.b!r} against {_itself(motion)}"
        raise SceneError(motion.where, f"{problem}; name a body that moves against it")
    signals = [*motion.position, *motion.rotation]
    graph = time_graph(model, spec, _read_by(spec.blocks, follower, signals))
    place = _nodes(graph, follower, motion.position, "m", "its position")
    if len(place) != 3:
        problem = f"{follower.text}: its position has {len(place)} numbers"
        remedy = "name a signal of 3, or 3 signals of one number"
        raise SceneError(motion.where, f"{problem}; {remedy}")
    rotation = _nodes(graph, follower, motion.rotation, "", "its rotation")
    if len(rotation) not in (0, 3, 4):
        problem = f"{follower.text}: its rotation has {len(rotation)} numbers"
        remedy = "name a signal of 3, a rotation vector, or of 4, a quaternion (x, y, z, w)"
        raise SceneError(motion.where, f"{problem}; {remedy}")
    unit = "rad" if len(rotation) == 3 else "1"
    _nodes(graph, follower, motion.rotation, unit, "its rotation")
    found = [*place, *rotation]
    along = Derivative(graph.tape, {0: graph.tape.const(1)})
    courses = []
    for k, (signal, node) in enumerate(found):
        rate = along.of(node)
        own = "m" if k < 3 else unit
        units = (own, "1/s" if own == "1" else f"{own}/s")
        courses.append(_Course(follower, signal, units, graph.tape, (node, rate, along.of(rate))))
    p = [Scalar(graph.tape, node) for _, node in place]
    R = rotation_of(graph.tape, [node for _, node in rotation])
    return place_program(graph.tape, 0, p, R), courses


def _itself(motion: LoopSpec) -> str:
    return "itself" if motion.a == motion.b else f"{motion.a!r}, with which it is one rigid body"


def _nodes(
    graph: GraphBuilder, follower: _Follower, signals: Sequence[str], unit: str, what: str
) -> list[tuple[str, int]]:
    """Return the numbers of signals, each with the signal's name; they depend on time alone.

    Raises:
        SceneError: they do not, or a signal has another unit.
    """
    block = GraphBlock(follower.kind, follower.name, None, where=follower.where)
    found = [
        (name, node) for name in signals for node in graph.signals.read(block, name, unit, what)
    ]
    others = graph.symbols.read_by([node for _, node in found]) - {(SignalSource.time, 0)}
    if others:
        raise _depends(follower, signals[0], "the state of the mechanism")
    return found


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
    if off.max() <= _SAME:
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


# ------------------------------------------------------------------------------------------ signals of time


def _course(model: Model, spec: SceneSpec, motion: _Motion) -> _Course:
    """Return the number that a coordinate follows."""
    follower = _Follower("joint", motion.joint.name, motion.joint.where)
    graph = time_graph(model, spec, _read_by(spec.blocks, follower, [motion.signal]))
    units = model.coordinate_units[motion.q], model.velocity_units[motion.v]
    nodes = _nodes(graph, follower, [motion.signal], units[0], "its motion")
    if len(nodes) != 1:
        problem = f"{follower.text}: its motion {motion.signal!r} has {len(nodes)} numbers"
        raise SceneError(
            motion.joint.where, f'{problem}; name one of them, as in "{motion.signal}[0]"'
        )
    s = nodes[0][1]
    along = Derivative(graph.tape, {0: graph.tape.const(1)})
    rate = along.of(s)
    return _Course(follower, motion.signal, units, graph.tape, (s, rate, along.of(rate)))


def _row(model: Model, motion: _Motion, course: _Course) -> CouplingDescription:
    """Return the row of a motion: its signal, rate and acceleration as a program of time."""
    program = emit(course.tape, list(course.nodes), [], 1)
    terms = [Coordinates(model.joints).term(motion.coordinate, 1.0, motion.joint.where)]
    return CouplingDescription(motion_name(motion.coordinate), terms, function=program)


def _read_by(
    blocks: Sequence[BlockSpec], follower: _Follower, signals: Sequence[str]
) -> list[BlockSpec]:
    """Return the blocks that signals depend on; those that depend on more than time are rejected."""
    known = {block.name: block for block in blocks if block.kind != "actuator"}
    readers: dict[str, BlockSpec] = {}
    for signal in signals:
        pending = [signal]
        while pending:
            name = pending.pop()
            block = _owner(known, name)
            if block is None:
                problem = f"{follower.text}: unknown signal {name!r}{did_you_mean(name, known)}"
                raise SceneError(follower.where, problem)
            if block.name in readers:
                continue
            _refuse_state(block, follower, signal)
            readers[block.name] = block
            pending += block.inputs
    return [block for block in blocks if block.name in readers]


def _owner(known: dict[str, BlockSpec], name: str) -> BlockSpec | None:
    base = re.sub(r"\[\d+\]$", "", name)
    while base and base not in known:
        base = base.rpartition(".")[0]
    return known.get(base)


def _refuse_state(block: BlockSpec, follower: _Follower, signal: str) -> None:
    label = f"{block.kind} {block.name!r}"
    if block.kind == "sensor":
        raise _depends(follower, signal, f"{label}, which measures the state")
    if block.period is not None:
        raise _depends(follower, signal, f"{label}, which is sampled and has no acceleration")
    if block.kind == "signal" and block.type == _INPUT:
        raise _depends(
            follower, signal, f"{label}, which is given from outside without its acceleration"
        )
    if block.kind == "controller" and _has_states(block):
        raise _depends(follower, signal, f"{label}, which has states")


_INPUT = "input"


def _has_states(block: BlockSpec) -> bool:
    from pysim.elements.block import find_block  # noqa: PLC0415, plugins load when first used

    plugin: Any = find_block(block.kind, block.type)
    return bool(getattr(plugin, "states", ()) or getattr(plugin, "memory", ()))


def _depends(follower: _Follower, signal: str, on: str) -> SceneError:
    what = "motion" if follower.kind == "joint" else "signal"
    problem = f"{follower.text}: its {what} {signal!r} depends on {on}; a prescribed motion is a function of time"
    remedy = "write a source such as spline, waypoints or sine, or follow it by an [[actuator]] such as position_servo"
    return SceneError(follower.where, f"{problem}: {remedy}")


# ------------------------------------------------------------------------------------------ start and smoothness


def _started(motions: Sequence[_Motion], courses: Sequence[_Course], state: State) -> State:
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
            if name in motion.joint.given_start and not np.isclose(given, wanted, _SAME, _SAME):
                what = "rate" if name == "v" else "value"
                problem = f"joint {motion.coordinate!r} starts with {name} = {given:.9g} [{unit}], and the {what} of "
                problem += f"its motion {motion.signal!r} is {wanted:.9g} [{unit}] at t = 0"
                raise SceneError(motion.joint.where, f"{problem}; remove {name} from its start")
        q[motion.q], v[motion.v] = s, rate
    return State(q, v, state.loop_q)


def _refuse_jumps(courses: Sequence[_Course], duration: float) -> None:
    """Reject motions that are not finite, or whose value or rate jumps within the run.

    A jump is what the integral of the derivative does not explain in an interval, however short it is.

    Raises:
        SceneError: the error gives the time of the jump.
    """
    times = np.linspace(0, duration, 2 * _SAMPLES + 1)
    for course in courses:
        values = course.at(times)
        if not np.isfinite(values).all():
            lost = times[~np.isfinite(values).all(axis=0)][0]
            problem = f"{course.label} or a derivative of it is NaN or infinite at t = {lost:g} s"
            raise SceneError(course.where, f"{problem}; give it a value in the whole run")
        for order in (0, 1):
            size = np.abs(values[order]).max()
            found = _jump(course, order, times, values[order : order + 2])
            if found is not None and abs(found[1]) > _SAME * size:
                raise _jumps(course, order, *found)


def _jump(course: _Course, order: int, times: Array, values: Array) -> tuple[float, float] | None:
    """Return the time and size of the largest jump of a motion's derivative of an order; None without one."""
    first = None
    for _ in range(_ROUNDS):
        left = _unexplained(times, *values)
        at = int(np.abs(left).argmax())
        first = abs(left[at]) if first is None else first
        if abs(left[at]) <= 0.5 * first or first == 0:
            return None
        begin, end = times[2 * at], times[2 * at + 2]
        if end - begin <= 1e-12 * max(1.0, abs(end)):
            break
        times = np.linspace(begin, end, 2 * _PARTS + 1)
        values = course.at(times)[order : order + 2]
    return float(end), float(left[at])


def _unexplained(times: Array, f: Array, rate: Array) -> Array:
    """Return Δf − ∫ḟ dt of intervals (n,), each with its middle among the times (2 n + 1,), by Simpson's rule."""
    h = times[2::2] - times[:-2:2]
    return f[2::2] - f[:-2:2] - h / 6 * (rate[:-2:2] + 4 * rate[1::2] + rate[2::2])


def _jumps(course: _Course, order: int, t: float, size: float) -> SceneError:
    unit = course.units[order]
    if order == 0:
        problem = (
            f"{course.label} jumps by {size:.4g} [{unit}] at t = {t:.6g} s, which no motion follows"
        )
        remedy = "use a signal without jumps, such as spline or waypoints"
    else:
        problem = f"{course.label} has a rate that jumps by {size:.4g} [{unit}] at t = {t:.6g} s, where its "
        problem += "acceleration does not exist"
        remedy = 'interpolate it smoothly: type = "spline", interpolation = "natural", or waypoints'
    return SceneError(course.where, f"{problem}; {remedy}")
