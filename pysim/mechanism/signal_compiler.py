"""Compilation of a scene's signals, sensors, controllers and actuators into programs of the engine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim._engine import Group, SignalSource
from pysim.elements.block import (
    CallbackController,
    find_block,
    signals_of,
)
from pysim.elements.force import depends_on_signals, find_force, is_driven
from pysim.elements.graph.builder import GraphBuilder
from pysim.elements.graph_types import (
    ContactWork,
    GraphBlock,
)
from pysim.elements.library.actuators import Prescribed
from pysim.elements.library.sources import Input
from pysim.errors import JointError, PysimError, SceneError
from pysim.joints import find_joint
from pysim.mechanism.element_places import ElementPlaces, acting_limits
from pysim.mechanism.ground_surfaces import ground_of
from pysim.mechanism.passive_elements import PassiveElements
from pysim.plugins.fields import build, check_numbers_given
from pysim.scene.spec import BlockSpec
from pysim.tracing.expression import Scalar
from pysim.tracing.open_numbers import NONE, opened
from pysim.tracing.tape import Tape

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pysim.elements.graph_types import CompiledSignals
    from pysim.mechanism.model import Model
    from pysim.scene.spec import ActuatorSpec, EventSpec, ForceSpec, SceneSpec
    from pysim.tracing.open_numbers import OpenRows


def compile_signals(
    model: Model,
    spec: SceneSpec,
    *,
    ledger: bool = False,
    contacts: Sequence[tuple[str, bool]] | None = None,
    impulses: bool = False,
    unmeasured: CompiledSignals | None = None,
    opened_rows: OpenRows | None = None,
) -> CompiledSignals | None:
    """Return the programs of a scene's signals, None if it has none.

    Forces that depend on time or signals are among them, and prescribed forces that limits bound. With a `ledger`, the
    work of every element that exchanges energy is integrated; `contacts` are pairs of links that may touch, each with
    whether a surface moves, and None if nothing can. With `impulses` the scheme computes stops and dry friction itself,
    and is implicit in forces that actuators bound.
    Slopes and initial values of `unmeasured`, the programs without a ledger, are used again where they are the same.
    Numbers of the mechanism that are in `opened_rows` may change after the programs are recorded.

    Raises:
        SceneError: a loop of signals, an unknown signal, a wrong unit or size.
        ModelError: a block measures or drives what is not there.
        JointError: an author's method cannot be recorded; the error names its line.
    """
    forces = [force for force in spec.model.forces if acts_in_scene(force)]
    limited = limited_actuators(spec)
    if not (spec.blocks or forces or limited or ledger or contacts):
        return None
    specs: list[BlockSpec | ForceSpec] = [*spec.blocks, *forces]
    places = ElementPlaces(model, spec)
    names = {x.name for x in specs} | {force.name for force in spec.model.forces}
    bounded = _bounded(limited, places, names)
    elements = PassiveElements(model, spec, limited, names, contacts, impulses=impulses)
    chosen = elements.chosen(ledger=ledger)
    if not (specs or limited or chosen or elements.contacts):
        return None
    ordered = sorted(specs, key=lambda x: not _drives_port(x))  # driven ports first
    ordered += [force for force in elements.forces if force.name in chosen]
    ports = [places.port(x) for x in ordered]
    numbers = {x.name: places.number(port) for x, port in zip(ordered, ports, strict=True)}
    driven = sum(map(_drives_port, specs))
    blocks = [_block(x, places, numbers[x.name]) for x in spec.blocks]
    blocks += [_force_block(force, places, numbers[force.name]) for force in forces]
    blocks = _released([*blocks, *bounded], spec.events)
    for block in blocks:
        _check_domain(block, spec.settings.duration)
    passive = [
        _force_block(x, places, numbers[x.name]) for x in elements.forces if x.name in chosen
    ]
    acting = {b.name: _injects(b) for b in blocks if b.kind in ("actuator", "force")}
    measured = elements.measured(chosen, passive, acting if ledger else None)
    graph = GraphBuilder(
        blocks,
        places.ports,
        driven,
        _groups(model),
        model.nv,
        model.gravity.tolist(),
        measured,
        spec.settings.seed,
        model.velocity_names,
        ground=lambda: ground_of(model),
        opened=opened_rows,
    )
    compiled = graph.compile(unmeasured)
    place_of = {term.name: term.place for term in compiled.work}
    motions = {row: place_of[name] for name, row in elements.motions.items() if name in place_of}
    compiled = replace(compiled, motion_work=motions)
    if contacts is None:
        return compiled
    pairs = tuple(place_of[name] for name in elements.contacts)
    return replace(compiled, contact_work=ContactWork(pairs, elements.joint_places(place_of)))


def time_graph(model: Model, spec: SceneSpec, blocks: Sequence[BlockSpec]) -> GraphBuilder:
    """Return the graph of blocks that depend on time alone, whose first input is the time.

    Raises:
        SceneError: a table does not cover the run.
    """
    places = ElementPlaces(model)
    graph_blocks = [_block(block, places, None) for block in blocks]
    for block in graph_blocks:
        _check_domain(block, spec.settings.duration)
    graph = GraphBuilder(graph_blocks, [], 0, _groups(model), model.nv, model.gravity.tolist())
    graph.symbols.number_of(SignalSource.time, 0)
    return graph


def compile_lengths(model: Model, forces: Sequence[ForceSpec]) -> CompiledSignals:
    """Return programs that read the lengths of the forces' paths and their rates, two readings for each force."""
    places = ElementPlaces(model)
    specs = [
        BlockSpec("sensor", f"path {k}", "distance", points=force.path, where=force.where)
        for k, force in enumerate(forces)
    ]
    ports = [places.port(own) for own in specs]
    numbers = [places.number(port) for port in ports]
    blocks = [_block(own, places, number) for own, number in zip(specs, numbers, strict=True)]
    gravity = model.gravity.tolist()
    return GraphBuilder(blocks, places.ports, 0, _groups(model), model.nv, gravity).compile()


def _injects(block: GraphBlock) -> bool:
    """Return whether the work of an actuator or force counts as injected, and not as dissipated."""
    if block.kind == "actuator" or block.released_by or block.signals:
        return True
    return is_driven(type(block.plugin))


def acts_in_scene(force: ForceSpec) -> bool:
    """Return whether a force acts in runs of its scene alone: it depends on time, signals or events."""
    return force.is_released or depends_on_signals(force.type, force.parameters)


def with_signals(model: Model, compiled: CompiledSignals | None) -> Model:
    """Return the model with the signals of its scene, which act in runs of the scene alone."""
    if compiled is None:
        return model
    connections = replace(model.connections, signals=compiled.description)
    work = compiled.motion_work
    if model.spec.has_motions:
        connections = replace(
            connections,
            couplings=[
                own if spec.signal is None else own.replaced(work=work.get(own.name, -1))
                for spec, own in zip(model.spec.couplings, connections.couplings, strict=True)
            ],
            loops=[
                own.replaced(work=work.get(own.name, -1)) if spec.position else own
                for spec, own in zip(model.spec.loops, connections.loops, strict=True)
            ],
        )
    return model.with_connections(connections)


def reflected_inertia(model: Model, specs: Sequence[BlockSpec]) -> Model:
    """Return the model with the inertia of actuators added to the armature of their joints."""
    drives = [spec for spec in specs if spec.kind == "actuator" and spec.coordinates]
    if not drives:
        return model
    tape, places = Tape(), ElementPlaces(model)
    armature = [Scalar(tape, tape.const(x)) for x in model.armature.tolist()]
    for spec in drives:
        plugin: Any = build(find_block("actuator", spec.type), spec.parameters, spec.where)
        try:
            with opened(plugin, tape):
                inertia = plugin.reflected_inertia()
        except TypeError:
            check_numbers_given(spec.parameters, type(plugin).__qualname__, spec.where)
            raise
        armature[places.coordinate(spec.coordinates[0], spec.where).v] += inertia
    nodes = [tape.nodes[x.index] for x in armature]
    if tape.recipes is not None:
        tape.recipes.note("armature", [node.data[0] if node.data else NONE for node in nodes])
    values = np.array([node.value for node in nodes])
    return model.with_armature(values) if (values != model.armature).any() else model


def limited_actuators(spec: SceneSpec) -> list[ActuatorSpec]:
    """Return the prescribed forces on joints whose limits bound them."""
    if not spec.actuators:
        return []
    joints = {joint.name: joint for joint in spec.model.joints}
    return [drive for drive in spec.actuators if any(acting_limits(joints.get(drive.joint)))]


def _prescribed(drive: ActuatorSpec, places: ElementPlaces, taken: Collection[str]) -> GraphBlock:
    """Return a prescribed force as a block, so that limits bound the sum of all forces on its joint."""
    name = drive.name
    while name in taken:
        name = f"{name} force"
    plugin = Prescribed(drive.offset, drive.amplitude, drive.frequency, drive.phase)
    place = places.coordinate(drive.joint, drive.where)
    return GraphBlock("actuator", name, plugin, coordinates=(place,), where=drive.where)


def _bounded(
    drives: Sequence[ActuatorSpec], places: ElementPlaces, names: set[str]
) -> list[GraphBlock]:
    """Return the prescribed forces that limits bound as blocks, whose names are added to those that are taken."""
    blocks = []
    for drive in drives:
        blocks.append(_prescribed(drive, places, names))
        names.add(blocks[-1].name)
    return blocks


def _released(blocks: Sequence[GraphBlock], events: Sequence[EventSpec]) -> list[GraphBlock]:
    """Return blocks with the events that release them."""
    event_of = {name: k for k, event in enumerate(events) for name in event.release}
    return [
        replace(block, released_by=(event_of[block.name],)) if block.name in event_of else block
        for block in blocks
    ]


def _drives_port(spec: BlockSpec | ForceSpec) -> bool:
    if not isinstance(spec, BlockSpec):
        return not spec.coordinates
    return spec.kind == "actuator" and bool(spec.points)


def _force_block(force: ForceSpec, places: ElementPlaces, port: int | None) -> GraphBlock:
    """Return a force that depends on time or signals as a block."""
    plugin: Any = find_force(force.type)
    try:
        built = build(plugin, force.parameters, force.where)
    except PysimError as error:
        problem = f"{error.problem} ({force.where}: force {force.name!r})"
        raise JointError(error.where, problem) from error
    return GraphBlock(
        "force",
        force.name,
        built,
        coordinates=tuple(places.coordinate(name, force.where) for name in force.coordinates),
        port=port,
        is_path=bool(force.path),
        signals=signals_of(built),
        where=force.where,
    )


def _block(spec: BlockSpec, places: ElementPlaces, port: int | None) -> GraphBlock:
    kind: Any = find_block(spec.kind, spec.type)
    try:
        plugin: Any = build(kind, spec.parameters, spec.where)
    except PysimError as error:
        problem = f"{error.problem} ({spec.where}: {spec.kind} {spec.name!r})"
        raise JointError(error.where, problem) from error
    signals = signals_of(plugin)
    if isinstance(plugin, CallbackController) and spec.period is None:
        problem = f"{spec.kind} {spec.name!r}: is called in Python, which is possible at instants"
        raise SceneError(spec.where, f"{problem}; give it a period [s]")
    start = None
    if isinstance(plugin, Input):
        plugin, start = None, plugin.values
    return GraphBlock(
        spec.kind,
        spec.name,
        plugin,
        spec.inputs,
        spec.period,
        start=start,
        first=spec.first,
        unit=spec.unit,
        scale=spec.scale,
        size=1 if start is None else len(start),
        coordinates=tuple(places.coordinate(name, spec.where) for name in spec.coordinates),
        port=port,
        is_path=bool(spec.points),
        joint=places.joint(spec),
        part=places.part(spec),
        element=spec.element,
        section=places.section(spec),
        touched=places.touched(spec, plugin),
        signals=signals,
        where=spec.where,
    )


def _check_domain(block: GraphBlock, duration: float) -> None:
    """Reject a table that does not cover the run."""
    if not hasattr(block.plugin, "domain"):
        return
    try:
        first, last = block.plugin.domain()
    except PysimError as error:
        raise SceneError(error.where, f"{error.problem} ({block.where}: {block.label})") from error
    if first > 0 or last < duration * (1 - 1e-12):
        problem = f"{block.label} is given from t = {first:g} to {last:g} s, the run is from 0 to {duration:g} s"
        remedy = 'add points, or write outside = "hold" or "periodic"'
        raise SceneError(block.where, f"{problem}; {remedy}")


def _groups(model: Model) -> list[tuple[Group, int, int]]:
    """Return the groups of the user's coordinates: (group, first in q, first in v)."""
    groups = []
    for joint, q, v in zip(model.joints, model.q_offsets, model.v_offsets, strict=True):
        if q < 0:
            continue
        kind = find_joint(joint.type)
        groups += [(Group.real, q + i, v + k) for i, k in zip(*kind.real_coordinates, strict=True)]
        for at, (own_v, count) in zip(kind.quaternions, kind.turning, strict=True):
            is_pose = count == 6
            group = Group.pose if is_pose else Group.rotation
            groups.append((group, q + at - 3 * is_pose, v + own_v))
    return groups
