"""Generalised forces of a scene's actuators: τ(t) = offset + amplitude · sin(frequency t + phase)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.errors import ModelError
from pysim.mechanism.signal_compiler import limited_actuators

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pysim.mechanism.model import Model
    from pysim.scene.spec import SceneSpec


def actuator_forces(actuation: _engine.Actuation, t: ArrayLike) -> NDArray[np.float64]:
    """Return the generalised forces (…, nv) [N or N·m] at the times t (…) [s]."""
    angle = actuation.frequency * np.asarray(t)[..., None] + actuation.phase
    return np.asarray(actuation.offset + actuation.amplitude * np.sin(angle))


def compile_actuation(model: Model, spec: SceneSpec) -> _engine.Actuation:
    """Return the actuators of a scene as the engine's record.

    Raises:
        ModelError: an actuator drives a joint that follows another, or two drive one coordinate.
    """
    arrays = np.zeros((4, model.nv))
    index = {joint.name: k for k, joint in enumerate(model.joints)}
    bounded = limited_actuators(spec)  # these act as signals
    for actuator in spec.actuators:
        k = index[actuator.joint]
        if model.v_offsets[k] < 0:
            problem = f"joint {actuator.joint!r} follows another; drive the leading joint"
            raise ModelError(actuator.where, problem)
        at = model.v_offsets[k] + actuator.coordinate
        if arrays[:2, at].any():
            problem = f"joint {actuator.joint!r} has two actuators on one coordinate; keep one"
            raise ModelError(actuator.where, problem)
        if actuator in bounded:
            continue
        arrays[:, at] = actuator.offset, actuator.amplitude, actuator.frequency, actuator.phase
    return _engine.Actuation(*arrays)
