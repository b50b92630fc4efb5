"""Reader of the start states in a Semantic Robot Description Format (SRDF) file, which accompanies a URDF file.

A `<group_state>` becomes a keyframe: values of joints by name, of a virtual floating joint those of the joint
"root_joint" of a free base. `<disable_collisions>` excludes a pair of links from contact. Groups and end effectors are
listed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import did_you_mean
from pysim.scene.spec import KeyframeSpec
from pysim.scene.urdf.xml import parse_numbers, read_xml
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pysim.scene.import_omissions import Omissions
    from pysim.scene.spec import JointSpec, ModelSpec
    from pysim.scene.urdf.xml import Element

ROOT_FREE = "root_joint"
LENGTH_TOLERANCE = 1e-2  # of a quaternion in a file


def read_srdf(
    path: Path, spec: ModelSpec, omissions: Omissions
) -> tuple[tuple[KeyframeSpec, ...], tuple[tuple[str, str], ...]]:
    """Return the states of the groups in an SRDF file for the joints of a robot, and the pairs that do not touch.

    Raises:
        SceneError: the file cannot be read, or has values of a wrong kind.
    """
    robot = read_xml(path)
    if robot.tag != "robot":
        robot.fail(f"the root element of an SRDF file is <robot>, got <{robot.tag}>")
    for child in robot.children:
        if child.tag not in {"group_state", "virtual_joint", "disable_collisions"}:
            name = child.attributes.get("name") or child.attributes.get("link")
            item = f"<{child.tag}>" + (f" {name!r}" if name else "")
            omissions.note("extensions", item, child.where, "is not read")
    virtual = {element.text("name") for element in robot.all("virtual_joint")}
    joints = {joint.name: joint for joint in spec.joints}
    states = robot.all("group_state")
    keyframes = tuple(_keyframe(state, joints, virtual, omissions) for state in states)
    return keyframes, _excluded(robot, spec, omissions)


def _excluded(robot: Element, spec: ModelSpec, omissions: Omissions) -> tuple[tuple[str, str], ...]:
    """Return the pairs of links that do not touch each other; one with an unknown link is reported."""
    links = {body.name: body for body in spec.bodies}
    pairs = []
    for element in robot.all("disable_collisions"):
        first, second = element.text("link1"), element.text("link2")
        for name in (first, second):
            if name not in links:
                item = f"the excluded pair {first!r}, {second!r}"
                reason = f"is left out: the robot has no link {name!r}{did_you_mean(name, links)}"
                omissions.add("excluded pairs", item, element.where, reason)
                break
        else:
            pairs.append((first, second))
    return tuple(pairs)


def _keyframe(
    state: Element, joints: Mapping[str, JointSpec], virtual: set[str], omissions: Omissions
) -> KeyframeSpec:
    q: dict[str, Array] = {}
    for element in state.all("joint"):
        name = element.text("name")
        if name in virtual and name not in joints:
            name = ROOT_FREE
            if name not in joints:  # the root is fixed
                continue
        if name not in joints:
            item = f"{state.text('name')!r}: the value of joint {name!r}"
            reason = f"is left out: the robot has no such joint{did_you_mean(name, joints)}"
            omissions.add("start values", item, element.where, reason)
            continue
        joint = joints[name]
        if joint.mimic is None and joint.type != "fixed":
            q[name] = _values(element, joint)
    return KeyframeSpec(
        state.text("name"),
        q,
        {name: np.zeros(len(joints[name].start_v)) for name in q},
        where=state.where,
    )


def _values(element: Element, joint: JointSpec) -> Array:
    """Return the coordinates of a joint; quaternions are (x, y, z, w)."""
    given = element.text("value")
    found, count = parse_numbers(given), len(joint.start_q)
    if found is None or len(found) != count:
        kind = "a number" if count == 1 else f"{count} numbers"
        element.fail(f"the value of joint {joint.name!r} must be {kind}, got {given!r}")
    q = np.array(found)
    if joint.type in {"free", "ball"}:
        length = float(np.linalg.norm(q[-4:]))
        if abs(length - 1) > LENGTH_TOLERANCE:
            element.fail(
                f"the quaternion of joint {joint.name!r} must have length 1, got {length:g}"
            )
        q[-4:] /= length
    return q
