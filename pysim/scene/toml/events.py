"""Reader of the `[[event]]` tables of a scene."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import PysimError
from pysim.events import make_event
from pysim.joints import find_joint
from pysim.scene.spec import EventSpec
from pysim.scene.toml.coordinates import place_of
from pysim.scene.toml.plugin_keys import PARAMETERS
from pysim.scene.tree import WORLD, order_from_world

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.scene.spec import BlockSpec, ForceSpec, JointSpec, ModelSpec
    from pysim.scene.toml.problems import Problems
    from pysim.scene.toml.records.event_table import Event
    from pysim.scene.toml.records.tables import Scene
    from pysim.scene.toml.source import Steps


def read_events(scene: Scene, model: ModelSpec, problems: Problems) -> tuple[EventSpec, ...]:
    """Return the events; errors are collected in `problems`."""
    seen: dict[str, str] = {}
    events = []
    for k, table in enumerate(scene.event):
        path: Steps = ("event", k)
        if table.name in seen:
            problem = f"{table.name!r} is taken by {seen[table.name]}; rename one"
            problems.add((*path, "name"), problem)
        seen.setdefault(table.name, problems.source.where((*path, "name")))
        events.append(_event(table, path, model, problems))
    return tuple(events)


def _event(table: Event, path: Steps, model: ModelSpec, problems: Problems) -> EventSpec:
    coordinate, offset = 0, 0.0
    normal = np.array([0.0, 0.0, 1.0])
    if table.joint is not None:
        coordinate, offset = _watched(table, path, model, problems)
    elif table.plane is not None:
        length = float(np.linalg.norm(table.plane.normal))
        if length < 1e-9:
            problems.add((*path, "plane", "normal"), "is zero; give it a direction")
        else:
            normal, offset = np.array(table.plane.normal) / length, table.plane.offset
        _check_body(table.body or "", path, model, problems)
    if table.type is None and table.parameters:  # written in the file itself
        problem = f"only an event with a type has keys of its own; remove {PARAMETERS}"
        problems.add((*path, PARAMETERS), problem, of_key=True)
    elif table.type is not None:
        try:
            make_event(table.type, table.parameters, "")
        except PysimError as error:
            name = error.where.removeprefix(".")
            key = name if name in table.parameters else "type"
            problems.add((*path, key), error.problem)
    place = {"coordinate": coordinate, "normal": tuple(normal.tolist()), "offset": float(offset)}
    where = problems.source.where(path)
    return EventSpec(**{**table.spec_fields(EventSpec), **place, "where": where})


def release_forces(
    model: ModelSpec, events: Sequence[EventSpec], blocks: Sequence[BlockSpec], problems: Problems
) -> ModelSpec:
    """Return the model with the forces marked that an event releases; unknown names are added to `problems`."""
    forces = {force.name for force in model.forces}
    known = [*forces, *(block.name for block in blocks if block.kind == "actuator")]
    for k, event in enumerate(events):
        for i, name in enumerate(event.release):
            if name not in known:
                path: Steps = ("event", k, "release", i)
                problems.add_unknown(path, "force or actuator", name, known)
    if not any(event.release for event in events):
        return model
    return replace(model, forces=mark_released(model.forces, events))


def mark_released(
    forces: Sequence[ForceSpec], events: Sequence[EventSpec]
) -> tuple[ForceSpec, ...]:
    """Return the forces with those marked that an event releases."""
    released = {name for event in events for name in event.release}
    return tuple(replace(force, is_released=force.name in released) for force in forces)


def _check_body(name: str, path: Steps, model: ModelSpec, problems: Problems) -> None:
    if name in _fixed(model):
        problem = f"{name!r} is a fixed point; name a body or frame that moves"
        problems.add((*path, "body"), problem)


def _fixed(model: ModelSpec) -> set[str]:
    """Return the world, and the bodies and frames that are welded to it."""
    hangs_on = {joint.child: joint for joint in model.joints}
    fixed = {WORLD}
    for name in order_from_world(model.joints):
        joint = hangs_on[name]
        if joint.parent in fixed and find_joint(joint.type).nv == 0:
            fixed.add(name)
    return fixed | {frame.name for frame in model.frames if frame.body in fixed}


def _watched(table: Event, path: Steps, model: ModelSpec, problems: Problems) -> tuple[int, float]:
    """Return the watched index of a joint's q, and the value [m or rad]."""
    joint = next(joint for joint in model.joints if joint.name == table.joint)
    kind = find_joint(joint.type)
    if joint.mimic is not None:
        problem = f"joint {joint.name!r} follows {joint.mimic.joint!r}; watch that joint"
        problems.add((*path, "joint"), problem)
        return 0, 0.0
    if kind.nq == 0:
        problems.add(
            (*path, "joint"),
            f"joint {joint.name!r} is fixed and has no coordinate; name another joint",
        )
        return 0, 0.0
    at = place_of(table.coordinate, kind.q_names, kind.name, path, problems)
    if at is None:
        return 0, 0.0
    if kind.q_units[at] == "1":
        problem = (
            f"{kind.q_names[at]!r} is a component of a quaternion, not an angle; watch a "
            "point of the body pass a plane, or write an event plugin"
        )
        problems.add((*path, "coordinate"), problem)
        return 0, 0.0
    if not isinstance(table.at, str):
        return at, float(table.at or 0.0)
    at_v = dict(zip(*kind.real_coordinates, strict=True)).get(at)
    return at, _limit(table, path, joint, at_v, problems)


def _limit(
    table: Event, path: Steps, joint: JointSpec, at_v: int | None, problems: Problems
) -> float:
    """Return the limit that `at` names for the coordinate of v at an index; None if there is none."""
    limits = joint.lower if table.at == "lower" else joint.upper
    if at_v is None or not np.isfinite(limits[at_v]):
        problem = f"joint {table.joint!r} has no {table.at} limit; give limits.{table.at}, or a number here"
        problems.add((*path, "at"), problem)
        return 0.0
    return float(limits[at_v])
