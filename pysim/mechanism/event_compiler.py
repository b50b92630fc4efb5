"""Compilation of a scene's events into the engine's records: coordinates, planes and traced programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim._engine import Direction, EventDescription
from pysim.errors import JointError
from pysim.events import make_event, record_event
from pysim.joints import find_joint
from pysim.tracing.program import emit
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.mechanism.model import Model
    from pysim.scene.spec import EventSpec
    from pysim.tracing.tape import Tape


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
        return EventDescription.coordinate(
            watched_coordinate(model, event), event.offset, direction
        )
    if event.body is not None:
        return EventDescription.plane(
            *watched_point(model, event), event.normal, event.offset, direction
        )
    tape, value = recorded_value(model, event)
    return EventDescription.program(emit(tape, [value], [], model.nq + model.nv), direction)


def watched_coordinate(model: Model, event: EventSpec) -> int:
    """Return the place in q of the coordinate that an event watches."""
    index = [joint.name for joint in model.joints].index(event.joint or "")
    return model.q_offsets[index] + event.coordinate


def watched_point(model: Model, event: EventSpec) -> tuple[int, Array]:
    """Return the body of the watched point, and the point on it."""
    name = event.body or ""
    body, pose = model.frames.get(name) or (model.body_names.index(name), np.eye(4))
    return body, np.asarray(pose[:3, :3] @ np.array(event.point) + pose[:3, 3])


def recorded_value(model: Model, event: EventSpec) -> tuple[Tape, int]:
    """Return a tape with the inputs (q, v), and its node that is the value of an event plugin."""
    places = zip(model.joints, model.q_offsets, model.v_offsets, strict=True)
    joints = {j.name: (find_joint(j.type), q, v) for j, q, v in places if q >= 0}
    try:
        plugin = make_event(event.type, event.parameters, event.where)
        return record_event(plugin, joints, model.nq, model.nv)
    except JointError as error:
        if error.where.startswith(event.where):
            raise
        problem = f"{error.problem} (event {event.name!r} of {event.where})"
        raise JointError(error.where, problem) from error
