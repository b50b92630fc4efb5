"""Transmissions of a URDF file: the inertia of rotors as armature of their joints, and a list of their reductions.

Commands of ROS and Drake act at the joint, so that a reduction changes no motion: a motor with the reduction n exerts
1/n of the force at the joint. Its rotor, in the keys of Drake, adds gear_ratio² · rotor_inertia to the joint.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import did_you_mean
from pysim.scene.urdf.xml import parse_numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pysim.scene.import_omissions import Omissions
    from pysim.scene.spec import JointSpec
    from pysim.scene.urdf.xml import Element

REDUCTION, ROTOR, RATIO = "mechanicalReduction", "drake:rotor_inertia", "drake:gear_ratio"


def read_transmissions(
    robot: Element, joints: list[JointSpec], omissions: Omissions
) -> list[JointSpec]:
    """Return the joints with the inertia of their rotors, and list what the transmissions contain besides."""
    by_name = {joint.name: joint for joint in joints}
    for element in robot.all("transmission"):
        name = element.attributes.get("name")
        item = f"<transmission> {name!r}" if name else "<transmission>"
        driven = [name for e in _within(element, "joint") if (name := e.attributes.get("name"))]
        inertia = _rotor_inertia(element)
        unknown = next((other for other in driven if other not in by_name), None)
        if unknown is not None:
            reason = f"the robot has no joint {unknown!r}{did_you_mean(unknown, by_name)}"
            report = omissions.add if inertia else omissions.note
            report("transmissions", item, element.where, f"is left out: {reason}")
            continue
        if inertia and len(driven) == 1 and len(by_name[driven[0]].start_v) == 1:
            joint = by_name[driven[0]]
            by_name[joint.name] = replace(joint, armature=joint.armature + inertia)
        elif inertia:
            reason = "has a rotor, which is left out: it does not drive one joint of one coordinate"
            omissions.add("transmissions", item, element.where, reason)
        omissions.note("extensions", item, element.where, _reason(element, driven))
    return list(by_name.values())


def _within(element: Element, tag: str) -> Iterator[Element]:
    """Yield the elements of a tag within another one, at any depth."""
    for child in element.children:
        if child.tag == tag:
            yield child
        yield from _within(child, tag)


def _read_numbers(element: Element, tag: str) -> list[float]:
    """Return the numbers in the elements of a tag, as text or as an attribute `value`; others are skipped."""
    found = []
    for child in _within(element, tag):
        numbers = parse_numbers(child.attributes.get("value", child.content))
        if numbers is not None and len(numbers) == 1 and np.isfinite(numbers[0]):
            found.append(numbers[0])
    return found


def _rotor_inertia(element: Element) -> float:
    """Return the inertia of a rotor at the joint [kg·m²], 0 without one."""
    rotor, ratio = _read_numbers(element, ROTOR), _read_numbers(element, RATIO)
    return (ratio[0] if ratio else 1.0) ** 2 * rotor[0] if rotor else 0.0


def _reason(element: Element, driven: list[str]) -> str:
    """Return how a transmission acts."""
    if not driven:
        return "is not read: it names no joint"
    if len(driven) > 1:
        joints = " and ".join(map(repr, driven))
        return f"is not read: it couples the motors of {joints}, whose forces act at the joints"
    reductions = [value for value in _read_numbers(element, REDUCTION) if value not in (0.0, 1.0)]
    if not reductions:
        return f"is not read: forces act at joint {driven[0]!r} itself"
    ratio = f"{reductions[0]:g}"
    force = f"forces act at joint {driven[0]!r}, those of the motor are 1/{ratio} of them"
    return f"is not read: {force} (<{REDUCTION}> {ratio})"
