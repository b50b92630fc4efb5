"""Compilation of a scene's events into the engine's records: coordinates, planes and traced programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim._engine import Direction, EventDescription
from pysim.errors import JointError
from pysim.events import make_event, trace_event
from pysim.joints import find_joint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim._engine import Program
    from pysim.mechanism.model import Model
    from pysim.scene.spec import EventSpec


def compile_events(model: Model, events: Sequence[EventSpec]) -> _engine.Events | None:
    """Return the events that the engine detects, None if the scene has none.

    Raises:
        JointError: the value of a plugin cannot be recorded.
    """
    return _engine.Events(model, event_descriptions(model, events)) if events else None


def event_descriptions(model: Model, events: Sequence[EventSpec]) -> list[EventDescription]:
    """Return the engine's descriptions of events.

    Raises:
        JointError: the value of a plugin cannot be recorded.
    """
    return [_description(model, event) for event in events]


def _description(model: Model, event: EventSpec) -> EventDescription:
    direction = Direction[event.direction]
    if event.joint is not None:
        index = [joint.name for joint in model.joints].index(event.joint)
        at = model.q_offsets[index] + event.coordinate
        return EventDescription.coordinate(at, event.offset, direction)
    if event.body is not None:
        body, pose = model.frames.get(event.body) or (model.body_names.index(event.body), np.eye(4))
        point = pose[:3, :3] @ np.array(event.point) + pose[:3, 3]
        return EventDescription.plane(body, point, event.normal, event.offset, direction)
    return EventDescription.program(_program(model, event), direction)


def _program(model: Model, event: EventSpec) -> Program:
    places = zip(model.joints, model.q_offsets, model.v_offsets, strict=True)
    joints = {j.name: (find_joint(j.type), q, v) for j, q, v in places if q >= 0}
    try:
        plugin = make_event(event.type, event.parameters, event.where)
        return trace_event(plugin, joints, model.nq, model.nv)
    except JointError as error:
        if error.where.startswith(event.where):
            raise
        problem = f"{error.problem} (event {event.name!r} of {event.where})"
        raise JointError(error.where, problem) from error
