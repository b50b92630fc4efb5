"""Reader of the start states in a Semantic Robot Description Format (SRDF) file, which accompanies a URDF or SDF file.

A `<group_state>` becomes a keyframe: values of joints by name, of a virtual floating joint and of "root_joint" those of
the free joint of the base; joints that close loops follow from the others. `<disable_collisions>` excludes a pair of
links from contact. Groups and end effectors are listed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import did_you_mean
from pysim.scene.spec import KeyframeSpec
from pysim.scene.urdf.xml import parse_numbers, read_xml
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from pysim.scene.import_omissions import Omissions
    from pysim.scene.spec import JointSpec, ModelSpec
    from pysim.scene.urdf.xml import Element

ROOT_FREE = "root_joint"
LENGTH_TOLERANCE = 1e-2  # of a quaternion in a file


class Srdf:
    """States of groups, and pairs of links that do not touch; what names unknown links and joints is reported."""

    def __init__(self, path: Path, omissions: Omissions) -> None:
        """Read a file.

        Raises:
            SceneError: the file cannot be read, or is none of this format.
        """
        self._omissions = omissions
        self._robot = read_xml(path)
        if self._robot.tag != "robot":
            self._robot.fail(
                f"the root element of an SRDF file is <robot>, got <{self._robot.tag}>"
            )
        for child in self._robot.children:
            if child.tag not in {"group_state", "virtual_joint", "disable_collisions"}:
                name = child.attributes.get("name") or child.attributes.get("link")
                item = f"<{child.tag}>" + (f" {name!r}" if name else "")
                omissions.note("extensions", item, child.where, "is not read")

    def excluded(self, bodies: Iterable[str]) -> tuple[tuple[str, str], ...]:
        """Return the pairs among the names of bodies that do not touch each other."""
        links = tuple(bodies)
        pairs = []
        for element in self._robot.all("disable_collisions"):
            first, second = element.text("link1"), element.text("link2")
            for name in (first, second):
                if name not in links:
                    item = f"the excluded pair {first!r}, {second!r}"
                    reason = (
                        f"is left out: the robot has no link {name!r}{did_you_mean(name, links)}"
                    )
                    self._omissions.add("excluded pairs", item, element.where, reason)
                    break
            else:
                pairs.append((first, second))
        return tuple(pairs)

    def keyframes(self, spec: ModelSpec) -> tuple[KeyframeSpec, ...]:
        """Return the states of groups, for the joints of a robot.

        Raises:
            SceneError: a value is none of its joint.
        """
        joints = {joint.name: joint for joint in spec.joints}
        closing = {loop.name for loop in spec.loops}  # whose coordinates follow from the others
        virtual = {element.text("name") for element in self._robot.all("virtual_joint")}
        roots = [joint for joint in spec.joints if joint.type == "free" and joint.parent == "world"]
        for name in {ROOT_FREE, *virtual} - joints.keys():
            if len(roots) == 1:
                joints[name] = roots[0]
            elif name in virtual:  # the root is fixed
                closing.add(name)
        states = self._robot.all("group_state")
        return tuple(self._keyframe(state, joints, closing) for state in states)

    def _keyframe(
        self, state: Element, joints: Mapping[str, JointSpec], without: Collection[str]
    ) -> KeyframeSpec:
        """Return a state; joints in `without` have no coordinates."""
        q: dict[str, Array] = {}
        v: dict[str, Array] = {}
        for element in state.all("joint"):
            name = element.text("name")
            if name in without:
                continue
            if name not in joints:
                item = f"{state.text('name')!r}: the value of joint {name!r}"
                reason = f"is left out: the robot has no such joint{did_you_mean(name, joints)}"
                self._omissions.add("start values", item, element.where, reason)
                continue
            joint = joints[name]
            if joint.mimic is None and joint.type != "fixed":
                q[joint.name] = _values(element, joint)
                v[joint.name] = np.zeros(len(joint.start_v))
        return KeyframeSpec(state.text("name"), q, v, where=state.where)


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
