"""How a joint of a specification moves, in the engine's words: a built-in shape or a traced program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.joints import find_joint
from pysim.joints.callback import CallbackJoint
from pysim.joints.lower import lower
from pysim.joints.plugin import build
from pysim.joints.trace import trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pysim.joints.plugin import Joint
    from pysim.joints.program import Program
    from pysim.joints.trace import Traced
    from pysim.scene.spec import JointSpec, LoopSpec

STORED = 6  # Column::stored in cpp/tree/model_view.hpp; 0 to 5 are the unit twists


@dataclass(frozen=True)
class Motion:
    """Keys of the engine's joint description, behind a fixed displacement `at` (4, 4)."""

    description: dict[str, Any]
    at: NDArray[np.float64]


def motion_of(joint: JointSpec | LoopSpec) -> Motion:
    """What the engine needs to know of a joint's motion.

    Raises:
        JointError: a plugin's keys or placement are wrong.
    """
    plugin = find_joint(joint.type).plugin
    if plugin is None:
        return _shape(joint.type, joint.axis, float(joint.parameters.get("pitch", 0.0)), np.eye(4))
    return traced_motion(build(plugin, joint.parameters, joint.where))


def traced_motion(joint: Joint) -> Motion:
    """A plugin's motion: the built-in shape it is in disguise, else its program."""
    if isinstance(joint, CallbackJoint):
        return _callback(joint)
    traced = trace(joint)
    lowered = lower(traced)
    if lowered is None:
        motion = _shape("program", (0, 0, 1), 0.0, np.eye(4))
        motion.description["program"] = _program(traced)
    else:
        pitch = lowered.parameters.get("pitch", 0.0)
        motion = _shape(lowered.shape, lowered.axis, pitch, lowered.at)
    force = traced.force_program()
    if force is not None:
        motion.description["force"] = words(force)
    return motion


def _callback(joint: CallbackJoint) -> Motion:
    motion = _shape("callback", (0, 0, 1), 0.0, np.eye(4))
    motion.description["program"] = {
        "blocks": joint.coordinates.blocks(),
        "columns": [STORED] * joint.coordinates.nv,
        "biased": True,
    }
    motion.description["callback"] = joint
    return motion


def _shape(shape: str, axis: Sequence[float], pitch: float, at: NDArray[np.float64]) -> Motion:
    return Motion({"shape": shape, "axis": list(axis), "pitch": pitch}, at)


def _program(traced: Traced) -> dict[str, Any]:
    return words(traced.program()) | {
        "blocks": traced.coordinates.blocks(),
        "columns": [_column(traced, k) for k in range(traced.coordinates.nv)],
        "biased": any(not traced.tape.is_value(n, 0) for n in traced.bias),
    }


def words(program: Program) -> dict[str, Any]:
    """A program as the engine takes it."""
    return {
        "code": [list(instruction) for instruction in program.code],
        "pose_end": program.pose_end,
        "registers": program.registers,
        "constants": program.constants,
        "tables": program.tables,
        "outputs": program.outputs,
    }


def _column(traced: Traced, k: int) -> int:
    """The unit twist that column k of S is, or `stored`."""
    nodes = traced.subspace[6 * k : 6 * k + 6]
    for axis in range(6):
        if all(traced.tape.is_value(n, float(i == axis)) for i, n in enumerate(nodes)):
            return axis
    return STORED
