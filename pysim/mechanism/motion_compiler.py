"""Compilation of prescribed motions: coordinates that follow signals of time, as rows of the constraints.

    g = q − s(t)        ġ = q̇ − ṡ        g̈ = q̈ − s̈

The signal is traced with symbolic time and differentiated twice; the row's force is the reaction of the drive.
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
from pysim.mechanism.model import State
from pysim.mechanism.signal_compiler import time_graph
from pysim.scene.spec import CouplingSpec
from pysim.tracing.derivative import Derivative
from pysim.tracing.program import emit
from pysim.tracing.tape import Tape
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pysim._engine import Program
    from pysim.mechanism.model import Model
    from pysim.scene.spec import BlockSpec, JointSpec, SceneSpec

_SAMPLES = 1024  # intervals of a run in which a signal is searched for jumps
_PARTS = 16  # of an interval that is searched further
_ROUNDS = 9
_SAME = 1e-9  # relative or absolute difference [m, rad, 1/s] of a start from its signal's


@dataclass(frozen=True)
class _Motion:
    """Coordinate that follows a signal."""

    joint: JointSpec
    coordinate: str  # of the user, "crank" or "table.x"
    signal: str
    q: int
    v: int

    @property
    def label(self) -> str:
        return f"joint {self.joint.name!r}: its motion {self.signal!r}"


def motion_name(coordinate: str) -> str:
    """Return the name of the constraint that prescribes a coordinate."""
    return f"motion of {coordinate}"


def with_motions(model: Model, spec: SceneSpec, state: State) -> tuple[Model, State, list[str]]:
    """Return the model with its prescribed motions, the start that they give, and the names of their velocities.

    Raises:
        SceneError: a signal does not depend on time alone, has no acceleration, or contradicts the start of its joint.
    """
    motions = list(_motions(model))
    if not motions:
        return model, state, []
    rows = [_row(model, spec, motion) for motion in motions]
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
    _refuse_jumps(_Samples(model, motions), spec.settings.duration)
    held = [model.velocity_names[motion.v] for motion in motions]
    return model, _started(model, motions, state), held


def with_uniform_motions(model: Model, state: State) -> Model:
    """Return the model whose prescribed motions go on from a state at its rates, if they are not there at t = 0.

    A run is judged by what its states do within a step, wherever its motions are.
    """
    timed = [k for k, own in enumerate(model.spec.couplings) if own.signal is not None]
    if not timed:
        return model
    at = _engine.constraint_rows(model, state.q, state.v, state.loop_q)
    rows = [model.rows - len(model.spec.couplings) + k for k in timed]
    off = np.abs([at.residual[rows], (at.jacobian @ state.v + at.rates)[rows]])
    if off.max() <= _SAME:
        return model
    couplings = list(model.connections.couplings)
    for k in timed:
        own = couplings[k]
        line = _line(state.q[own.terms[0].q], state.v[own.terms[0].v])
        couplings[k] = own.replaced(function=line)
    return model.with_connections(replace(model.connections, couplings=couplings))


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


def _row(model: Model, spec: SceneSpec, motion: _Motion) -> CouplingDescription:
    """Return the row of a motion: its signal, rate and acceleration as a program of time."""
    graph = time_graph(model, spec, _read_by(spec.blocks, motion))
    time = graph.symbols.number_of(SignalSource.time, 0)
    joint = GraphBlock("joint", motion.joint.name, None, where=motion.joint.where)
    unit = model.coordinate_units[motion.q]
    nodes = graph.signal(joint, motion.signal, unit, "its motion")
    if len(nodes) != 1:
        problem = f"{motion.label} has {len(nodes)} numbers"
        raise SceneError(
            motion.joint.where, f'{problem}; name one of them, as in "{motion.signal}[0]"'
        )
    others = graph.symbols.read_by(nodes) - {(SignalSource.time, 0)}
    if others or time != 0:
        raise _depends(motion, "the state of the mechanism")
    s = nodes[0]
    along = Derivative(graph.tape, {time: graph.tape.const(1)})
    rate = along.of(s)
    program = emit(graph.tape, [s, rate, along.of(rate)], [], 1)
    terms = [Coordinates(model.joints).term(motion.coordinate, 1.0, motion.joint.where)]
    return CouplingDescription(motion_name(motion.coordinate), terms, function=program)


def _read_by(blocks: Sequence[BlockSpec], motion: _Motion) -> list[BlockSpec]:
    """Return the blocks that a motion's signal depends on; those that depend on more than time are rejected."""
    known = {block.name: block for block in blocks if block.kind != "actuator"}
    found: dict[str, BlockSpec] = {}
    pending = [motion.signal]
    while pending:
        name = pending.pop()
        block = _owner(known, name)
        if block is None:
            problem = (
                f"joint {motion.joint.name!r}: unknown signal {name!r}{did_you_mean(name, known)}"
            )
            raise SceneError(motion.joint.where, problem)
        if block.name in found:
            continue
        _refuse_state(block, motion)
        found[block.name] = block
        pending += block.inputs
    return [block for block in blocks if block.name in found]


def _owner(known: dict[str, BlockSpec], name: str) -> BlockSpec | None:
    base = re.sub(r"\[\d+\]$", "", name)
    while base and base not in known:
        base = base.rpartition(".")[0]
    return known.get(base)


def _refuse_state(block: BlockSpec, motion: _Motion) -> None:
    label = f"{block.kind} {block.name!r}"
    if block.kind == "sensor":
        raise _depends(motion, f"{label}, which measures the state")
    if block.period is not None:
        raise _depends(motion, f"{label}, which is sampled and has no acceleration")
    if block.kind == "signal" and block.type == _INPUT:
        raise _depends(motion, f"{label}, which is given from outside without its acceleration")
    if block.kind == "controller" and _has_states(block):
        raise _depends(motion, f"{label}, which has states")


_INPUT = "input"


def _has_states(block: BlockSpec) -> bool:
    from pysim.elements.block import find_block  # noqa: PLC0415, plugins load when first used

    plugin: Any = find_block(block.kind, block.type)
    return bool(getattr(plugin, "states", ()) or getattr(plugin, "memory", ()))


def _depends(motion: _Motion, on: str) -> SceneError:
    problem = f"{motion.label} depends on {on}; a prescribed motion is a function of time"
    remedy = "write a source such as spline, waypoints or sine, or follow it by an [[actuator]] such as position_servo"
    return SceneError(motion.joint.where, f"{problem}: {remedy}")


# ------------------------------------------------------------------------------------------ start and smoothness


@dataclass(frozen=True)
class _Samples:
    """Values, rates and accelerations of prescribed motions, read from the engine's rows."""

    model: Model
    motions: Sequence[_Motion]

    def at(self, t: Array) -> Array:
        """Return s, ṡ and s̈ (3, n, motions) at times (n,) [s]."""
        q = np.tile(self.model.neutral(), (len(t), 1))
        rows = _engine.constraint_rows(self.model, q, None, None, t=t)
        own = slice(self.model.rows - len(self.motions), None)
        return 0.0 - np.array([rows.residual[:, own], rows.rates[:, own], rows.bias[:, own]])


def _started(model: Model, motions: Sequence[_Motion], state: State) -> State:
    """Return the start with the values and rates of the motions at t = 0.

    Raises:
        SceneError: the scene gives a joint another start.
    """
    q, v = state.q.copy(), state.v.copy()
    s, rate, _ = _Samples(model, motions).at(np.zeros(1))[:, 0]
    for k, motion in enumerate(motions):
        for name, given, wanted, unit in (
            ("q", q[motion.q], s[k], model.coordinate_units[motion.q]),
            ("v", v[motion.v], rate[k], model.velocity_units[motion.v]),
        ):
            if name in motion.joint.given_start and not np.isclose(given, wanted, _SAME, _SAME):
                what = "rate" if name == "v" else "value"
                problem = f"joint {motion.coordinate!r} starts with {name} = {given:.9g} [{unit}], and the {what} of "
                problem += f"its motion {motion.signal!r} is {wanted:.9g} [{unit}] at t = 0"
                raise SceneError(motion.joint.where, f"{problem}; remove {name} from its start")
        q[motion.q], v[motion.v] = s[k], rate[k]
    return State(q, v, state.loop_q)


def _refuse_jumps(samples: _Samples, duration: float) -> None:
    """Reject motions that are not finite, or whose value or rate jumps within the run.

    A jump is what the integral of the derivative does not explain in an interval, however short it is.

    Raises:
        SceneError: the error gives the time of the jump.
    """
    times = np.linspace(0, duration, 2 * _SAMPLES + 1)
    values = samples.at(times)
    for k, motion in enumerate(samples.motions):
        if not np.isfinite(values[:, :, k]).all():
            lost = times[~np.isfinite(values[:, :, k]).all(axis=0)][0]
            problem = f"{motion.label} or a derivative of it is NaN or infinite at t = {lost:g} s"
            raise SceneError(motion.joint.where, f"{problem}; give it a value in the whole run")
        for order in (0, 1):
            size = np.abs(values[order, :, k]).max()
            found = _jump(samples, k, order, times, values[order : order + 2, :, k])
            if found is not None and abs(found[1]) > _SAME * size:
                raise _jumps(samples.model, motion, order, *found)


def _jump(
    samples: _Samples, k: int, order: int, times: Array, values: Array
) -> tuple[float, float] | None:
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
        values = samples.at(times)[order : order + 2, :, k]
    return float(end), float(left[at])


def _unexplained(times: Array, f: Array, rate: Array) -> Array:
    """Return Δf − ∫ḟ dt of intervals (n,), each with its middle among the times (2 n + 1,), by Simpson's rule."""
    h = times[2::2] - times[:-2:2]
    return f[2::2] - f[:-2:2] - h / 6 * (rate[:-2:2] + 4 * rate[1::2] + rate[2::2])


def _jumps(model: Model, motion: _Motion, order: int, t: float, size: float) -> SceneError:
    unit = (model.coordinate_units[motion.q], model.velocity_units[motion.v])[order]
    if order == 0:
        problem = (
            f"{motion.label} jumps by {size:.4g} [{unit}] at t = {t:.6g} s, which no motion follows"
        )
        remedy = "use a signal without jumps, such as spline or waypoints"
    else:
        problem = f"{motion.label} has a rate that jumps by {size:.4g} [{unit}] at t = {t:.6g} s, where its "
        problem += "acceleration does not exist"
        remedy = 'interpolate it smoothly: type = "spline", interpolation = "natural", or waypoints'
    return SceneError(motion.joint.where, f"{problem}; {remedy}")
