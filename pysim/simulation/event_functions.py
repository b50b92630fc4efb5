"""Values of a scene's events at many states: coordinates, distances from planes, and values of plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import forward_kinematics
from pysim.mechanism.event_compiler import recorded_value, watched_coordinate, watched_point
from pysim.tracing.evaluation import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pysim.mechanism.model import Model
    from pysim.scene.spec import EventSpec

    Array = NDArray[np.float64]


def event_function(model: Model, event: EventSpec) -> Callable[[Array, Array], Array]:
    """Return the function of q (n, nq) and v (n, nv) whose values (n,) are 0 at an event.

    Raises:
        JointError: the value of a plugin cannot be recorded.
    """
    if event.joint is not None:
        at = watched_coordinate(model, event)
        return lambda q, v: q[:, at] - event.offset  # noqa: ARG005, one signature for all
    if event.body is not None:
        body, point = watched_point(model, event)

        def distance(q: Array, v: Array) -> Array:  # noqa: ARG001, one signature for all
            pose = np.asarray(forward_kinematics(model, q))[:, body]
            place = pose[:, :3, :3] @ point + pose[:, :3, 3]
            return np.asarray(place @ np.array(event.normal) - event.offset)

        return distance
    tape, value = recorded_value(model, event)
    return lambda q, v: np.asarray(evaluate(tape, np.concatenate([q, v], axis=1).T, [value])[0])
