"""Values in the text of SDF elements: numbers, vectors, truth values and poses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pysim.scene.poses import rotation
from pysim.scene.urdf.xml import parse_numbers
from pysim.spatial.rotations import rotation_from_rpy
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.scene.urdf.xml import Element


def numbers(element: Element, count: int) -> tuple[float, ...]:
    """Return the finite numbers in an element's text."""
    found = parse_numbers(element.content)
    if found is None or len(found) != count:
        kind = "a number" if count == 1 else f"{count} numbers"
        element.fail(f"<{element.tag}> must be {kind}, got {element.content.strip()!r}")
    element.refuse_huge(element.tag, f"<{element.tag}>", found)
    return found


def number(parent: Element, tag: str, default: float) -> float:
    """Return the number in a child, or a default if there is no such child."""
    element = parent.child(tag)
    return default if element is None else numbers(element, 1)[0]


def non_negative(parent: Element, tag: str, unit: str, default: float) -> float:
    """Return the number in a child, which must not be negative."""
    value = number(parent, tag, default)
    if value < 0:
        parent.required(tag).fail(f"<{tag}> must not be negative [{unit}], got {value}")
    return value


def lengths(parent: Element, tag: str, count: int = 1) -> tuple[float, ...]:
    """Return the lengths [m] in a child, which must be positive."""
    element = parent.required(tag)
    values = numbers(element, count)
    if min(values) <= 0:
        element.fail(f"<{tag}> must be positive [m], got {element.content.strip()!r}")
    return values


def text(parent: Element, tag: str) -> str:
    """Return the text of a child, which must not be missing or empty."""
    element = parent.required(tag)
    value = element.content.strip()
    if not value:
        element.fail(f"<{tag}> is empty; write a name")
    return value


def truth(parent: Element, tag: str) -> bool:
    """Return the truth value in a child, false if there is no such child."""
    element = parent.child(tag)
    if element is None:
        return False
    value = element.content.strip().lower()
    if value not in {"0", "1", "true", "false"}:
        element.fail(f"<{tag}> must be true or false, got {element.content.strip()!r}")
    return value in {"1", "true"}


def raw_pose(parent: Element) -> Array:
    """Return the pose (4, 4) in the child <pose>, relative to the frame that it names; identity without one."""
    X = np.eye(4)
    element = parent.child("pose")
    if element is None or not element.content.strip():
        return X
    if element.attributes.get("rotation_format", "euler_rpy") == "quat_xyzw":
        *xyz, x, y, z, w = numbers(element, 7)
        if not math.isclose(math.hypot(x, y, z, w), 1, rel_tol=1e-3):
            element.fail(f"the quaternion of <pose> must have length 1, got {x} {y} {z} {w}")
        X[:3, :3], X[:3, 3] = rotation((x, y, z, w)), xyz
        return X
    values = numbers(element, 6)
    angles = values[3:]
    if element.attributes.get("degrees", "false") in {"true", "1"}:
        angles = tuple(map(math.radians, angles))
    X[:3, :3], X[:3, 3] = rotation_from_rpy(angles), values[:3]
    return X


def pose_reference(parent: Element) -> str:
    """Return the name of the frame to which the child <pose> is relative, "" for the default."""
    element = parent.child("pose")
    if element is None:
        return ""
    return element.attributes.get("relative_to") or element.attributes.get("frame") or ""
