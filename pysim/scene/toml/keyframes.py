"""Reader of keyframes: named states of a scene; a run may start at one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import did_you_mean
from pysim.joints import find_joint
from pysim.scene.actuator_commands import at_keyframe
from pysim.scene.spec import KeyframeSpec
from pysim.scene.toml.joints import JointReader
from pysim.scene.toml.plausibility import check_start

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pysim.scene.attachment import Parts
    from pysim.scene.spec import BlockSpec, JointSpec, ModelSpec
    from pysim.scene.toml.problems import Problems
    from pysim.scene.toml.records.tables import Keyframe, Scene
    from pysim.scene.toml.source import Steps


def read_keyframes(
    scene: Scene, model: ModelSpec, parts: Parts, problems: Problems
) -> tuple[KeyframeSpec, ...]:
    """Return the keyframes of a scene's tables, and those of the files of its models that have other names."""
    joints = {joint.name: joint for joint in model.joints}
    reader = JointReader(problems)
    own = tuple(
        _keyframe(name, table, joints, reader, ("keyframes", name))
        for name, table in scene.keyframes.items()
    )
    blocks = {block.name for block in parts.blocks}  # commands that the scene replaces are gone
    others = {keyframe.name: keyframe for keyframe in reversed(parts.keyframes)}
    return own + tuple(
        replace(
            keyframe,
            commands=_of(keyframe.commands, blocks),
            activations=_of(keyframe.activations, blocks),
        )
        for name, keyframe in reversed(others.items())
        if name not in scene.keyframes
    )


def _of(values: Mapping[str, float], names: Collection[str]) -> dict[str, float]:
    """Return the values of some names."""
    return {name: value for name, value in values.items() if name in names}


def _keyframe(
    name: str, table: Keyframe, joints: Mapping[str, JointSpec], reader: JointReader, path: Steps
) -> KeyframeSpec:
    joints_of_frame: dict[str, JointSpec] = {}
    for joint, start in table.start.items():
        at = (*path, "start", joint)
        if _starts(joint, joints, reader.problems, at):
            spec = joints[joint]
            check_start(start.q, spec.type, at, reader.problems)
            spec = replace(spec, start_v=np.zeros_like(spec.start_v))
            spec = replace(spec, start_q=reader.q(start, find_joint(spec.type), at))
            joints_of_frame[joint] = reader.with_v(spec, start.v, (*at, "v"))
    for joint, v in table.start_v.items():
        at = (*path, "start_v", joint)
        if _starts(joint, joints, reader.problems, at):
            joints_of_frame[joint] = reader.with_v(joints_of_frame.get(joint, joints[joint]), v, at)
    q = {joint: spec.start_q for joint, spec in joints_of_frame.items()}
    v_of = {joint: spec.start_v for joint, spec in joints_of_frame.items()}
    where = reader.problems.source.where(path)
    return KeyframeSpec(name, q, v_of, table.commands, table.activations, where)


def _starts(name: str, joints: Mapping[str, JointSpec], problems: Problems, at: Steps) -> bool:
    """Return whether a joint has a start of its own."""
    joint = joints[name]
    if joint.mimic is not None:
        problem = f"follows joint {joint.mimic.joint!r}; give the start to that joint"
        problems.add(at, problem, of_key=True)
    elif not find_joint(joint.type).nv:
        problems.add(at, f"a {joint.type} joint has no start; remove it", of_key=True)
    else:
        return True
    return False


def started(
    model: ModelSpec, blocks: tuple[BlockSpec, ...], name: str, problems: Problems
) -> tuple[ModelSpec, tuple[BlockSpec, ...]]:
    """Return a mechanism and the blocks of its signals, which start at a keyframe."""
    known = {keyframe.name: keyframe for keyframe in model.keyframes}
    if name not in known:
        remedy = did_you_mean(name, known) or "; write [keyframes.NAME], or remove the key"
        problems.add(("keyframe",), f"unknown keyframe {name!r}{remedy}")
        return model, blocks
    keyframe = known[name]
    joints = tuple(
        replace(joint, start_q=keyframe.q[joint.name], start_v=keyframe.v[joint.name])
        if joint.name in keyframe.q
        else joint
        for joint in model.joints
    )
    return replace(model, joints=joints), at_keyframe(blocks, keyframe)
