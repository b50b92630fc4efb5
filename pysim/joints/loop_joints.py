"""Types of loops: every joint type, a weld, points in a plane, on a line or at a distance, and a rolling wheel."""

from __future__ import annotations

from pysim._engine import LoopKind
from pysim.joints.builtin import BUILTIN, JointType, Key
from pysim.joints.registry import find_joint, joint_types

_NORMAL = Key("axis", "", "normal of the plane, in frame A", "[0, 0, 1]", "[x, y, z]")
_DIRECTION = Key("axis", "", "direction of the line, in frame A", "[0, 0, 1]", "[x, y, z]")
_RADIUS = Key("radius", "m", "of the wheel, whose axis is z of frame B", "required")
_LENGTH = Key("length", "m", "distance between the origins of A and B", "required")

POINT_CONSTRAINTS: dict[str, JointType] = {
    kind.name: kind
    for kind in (
        JointType(
            "point_on_plane",
            "Keeps the origin of B in a plane through the origin of A.",
            "axis · p = 0",
            keys=(_NORMAL,),
        ),
        JointType(
            "point_on_line",
            "Keeps the origin of B on a line through the origin of A.",
            "axis × p = 0",
            keys=(_DIRECTION,),
        ),
        JointType(
            "distance",
            "Keeps the origins of A and B at a fixed distance, as a massless rod with ball joints at its ends.",
            "|p| = length",
            keys=(_LENGTH,),
        ),
        JointType(
            "wheel_on_plane",
            "Lets a disc about z of B roll on a plane through the origin of A, without slipping.",
            "height = 0; the point that touches rests",
            keys=(_NORMAL, _RADIUS),
        ),
    )
}
_WELD = JointType("weld", "Fixes frame B to frame A.", "X = 1")
LOOP_ONLY_TYPES = {_WELD.name: _WELD, **POINT_CONSTRAINTS}  # not available as joints of a tree

# Constraints of loops of these types; other types constrain to a joint's motion.
ENGINE_KIND = {
    "point_on_plane": LoopKind.plane,
    "point_on_line": LoopKind.line,
    "distance": LoopKind.distance,
    "wheel_on_plane": LoopKind.wheel,
}


def find_loop_type(name: str) -> JointType:
    """Return the type of a loop: a joint type, "weld", or one of `POINT_CONSTRAINTS`.

    Raises:
        JointError: there is no such type.
    """
    return LOOP_ONLY_TYPES[name] if name in LOOP_ONLY_TYPES else find_joint(name)


def joint_of_loop_type(kind: JointType) -> str:
    """Return the joint type whose motion a loop of this type allows; "fixed" if it is not a joint's."""
    return "fixed" if kind.name in LOOP_ONLY_TYPES else kind.name


def loop_types() -> list[str]:
    """Return every valid value of a loop's `type`."""
    names = [*LOOP_ONLY_TYPES, *(t for t in joint_types() if t not in {"fixed", "free"})]
    return sorted(names, key=lambda name: (name not in BUILTIN, name))
