"""Tables of joints and keyframes from their specifications: the inverse of their readers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.joints import find_joint
from pysim.scene.toml.records.tables import Joint

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.joints import JointType
    from pysim.scene.spec import JointSpec, KeyframeSpec, ModelSpec

    Tables = dict[str, Any]


def joint_table(joint: JointSpec) -> Tables:
    """Return the table of a joint and of its start, without what has no effect."""
    kind = find_joint(joint.type)
    table = Joint.keys_of(joint)
    unused = {"start"}
    if "axis" not in {key.name for key in kind.keys} or tuple(joint.axis) == (0.0, 0.0, 1.0):
        unused.add("axis")
    if not joint.friction.any():
        unused.add("friction_width")
    if not joint.stiffness.any() or np.array_equal(joint.rest, kind.neutral):
        unused.add("rest")
    table = {key: value for key, value in table.items() if key not in unused}
    return table if joint.mimic is not None or not kind.nv else table | _start_table(joint)


def _configuration_table(kind: JointType, q: NDArray[np.float64]) -> Tables:
    """Return the keys of coordinates; half a turn about x names the order of its quaternion, which is doubted else."""
    if kind.plugin is None and len(kind.quaternions) == 1:
        at = kind.quaternions[0]
        turn = q[at : at + 4].tolist()
        if abs(turn[0]) == 1:
            return {"xyz": q[:3].tolist(), "quat_xyzw": turn} if at else {"quat_xyzw": turn}
    return {"q": q.tolist()}


def _start_table(joint: JointSpec) -> Tables:
    kind = find_joint(joint.type)
    start: Tables = {}
    if joint.motions and "q" not in joint.given_start:
        pass  # the signals give it
    elif kind.plugin is not None or not np.array_equal(joint.start_q, kind.neutral):
        start |= _configuration_table(kind, joint.start_q)
    if joint.start_v.any():
        start["v"] = joint.start_v.tolist()
    return {"start": start} if start else {}


def keyframe_table(keyframe: KeyframeSpec, model: ModelSpec) -> Tables:
    """Return the table of a keyframe, with the joints that have coordinates."""
    kinds = {joint.name: find_joint(joint.type) for joint in model.joints}
    start: Tables = {
        name: _configuration_table(kinds[name], q) for name, q in keyframe.q.items() if len(q)
    }
    for name in start:
        if keyframe.v[name].any():
            start[name]["v"] = keyframe.v[name].tolist()
    table = {"start": start, "commands": dict(keyframe.commands)}
    table["activations"] = dict(keyframe.activations)
    return {key: values for key, values in table.items() if values}
