"""Built-in joint types: coordinates, keys and descriptions. Their motion is computed in cpp/tree/joint.hpp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pysim.joints.plugin import Joint


@dataclass(frozen=True)
class Key:
    """A scene key of one joint type."""

    name: str
    unit: str
    doc: str
    default: str
    type: str = "float"


@dataclass(frozen=True)
class JointType:
    """Description of a joint type: names and units of its coordinates, and its scene keys."""

    name: str
    doc: str
    motion: str
    q_names: tuple[str, ...] = ()
    q_units: tuple[str, ...] = ()
    v_names: tuple[str, ...] = ()
    v_units: tuple[str, ...] = ()
    keys: tuple[Key, ...] = ()
    plugin: type[Joint] | None = None  # class that is traced; None for a built-in shape
    has_force: bool = False  # whether a plugin defines a passive force

    @property
    def nq(self) -> int:
        """Numbers in q."""
        return len(self.q_names)

    @property
    def nv(self) -> int:
        """Numbers in v."""
        return len(self.v_names)

    @property
    def is_real(self) -> bool:
        """Whether v is dq/dt, because no coordinate is a quaternion."""
        return self.nq == self.nv

    @property
    def quaternions(self) -> tuple[int, ...]:
        """Offsets of quaternions (x, y, z, w) in q."""
        if self.plugin is not None:
            parts = self.plugin.coordinates.offsets()
            return tuple(at + part.nq - 4 for part, at, _ in parts if part.group != "real")
        return () if self.is_real else (self.nq - 4,)

    @property
    def real_coordinates(self) -> tuple[list[int], list[int]]:
        """Offsets in q and in v of the real coordinates, which may have limits."""
        if self.plugin is not None:
            parts = self.plugin.coordinates.offsets()
            at = [(at_q, at_v) for part, at_q, at_v in parts if part.group == "real"]
        else:
            at = [(i, i) for i in range(self.nq if self.is_real else 0)]
        return [at_q for at_q, _ in at], [at_v for _, at_v in at]

    @property
    def turning(self) -> tuple[tuple[int, int], ...]:
        """(Offset, count) in v of each rotation (3) and displacement (6)."""
        if self.plugin is not None:
            parts = self.plugin.coordinates.offsets()
            return tuple((at, part.nv) for part, _, at in parts if part.group != "real")
        return () if self.is_real else ((0, self.nv),)

    @property
    def neutral(self) -> tuple[float, ...]:
        """Return zeros and identity rotations (nq,)."""
        ones = {at + 3 for at in self.quaternions}
        return tuple(float(i in ones) for i in range(self.nq))

    @property
    def has_axis(self) -> bool:
        """Whether the joint has a key `axis`."""
        return any(key.name == "axis" for key in self.keys)


_AXIS = Key(
    "axis", "", "direction in the joint frame, any length but zero", "[0, 0, 1]", "[x, y, z]"
)
_PITCH = Key("pitch", "m/rad", "travel along the axis per radian of rotation", "required")
_XYZ = ("x", "y", "z")
_QUATERNION = ("quat_x", "quat_y", "quat_z", "quat_w")
_TURN = ("wx", "wy", "wz")
_M3, _RAD_S3, _M_S3 = ("m",) * 3, ("rad/s",) * 3, ("m/s",) * 3
_ONE4 = ("1",) * 4

BUILTIN: dict[str, JointType] = {
    kind.name: kind
    for kind in (
        JointType("fixed", "Welds the child to its parent; the two become one body.", "X = 1"),
        JointType(
            "revolute",
            "A hinge about an axis.",
            "X = R(axis, q)",
            ("angle",),
            ("rad",),
            ("angle",),
            ("rad/s",),
            (_AXIS,),
        ),
        JointType(
            "prismatic",
            "A slide along an axis.",
            "X = translate(q axis)",
            ("slide",),
            ("m",),
            ("slide",),
            ("m/s",),
            (_AXIS,),
        ),
        JointType(
            "helical",
            "A screw: turns about an axis and advances along it.",
            "X = translate(pitch q axis) R(axis, q)",
            ("angle",),
            ("rad",),
            ("angle",),
            ("rad/s",),
            (_AXIS, _PITCH),
        ),
        JointType(
            "cylindrical",
            "Slides along an axis and turns about it, independently.",
            "X = translate(slide axis) R(axis, angle)",
            ("slide", "angle"),
            ("m", "rad"),
            ("slide", "angle"),
            ("m/s", "rad/s"),
            (_AXIS,),
        ),
        JointType(
            "universal",
            "Two crossed hinges, as in a drive shaft.",
            "X = Rx(first) Ry(second)",
            ("first", "second"),
            ("rad", "rad"),
            ("first", "second"),
            ("rad/s", "rad/s"),
        ),
        JointType(
            "ball",
            "Rotates about a point in all directions; v is the angular velocity in the child frame.",
            "X = R(quaternion)",
            _QUATERNION,
            _ONE4,
            _TURN,
            _RAD_S3,
        ),
        JointType(
            "planar",
            "Slides on the plane z = 0 and turns about z; v is dq/dt.",
            "X = translate(x, y, 0) Rz(angle)",
            ("x", "y", "angle"),
            ("m", "m", "rad"),
            ("x", "y", "angle"),
            ("m/s", "m/s", "rad/s"),
        ),
        JointType(
            "translation",
            "Translates in all directions without rotating.",
            "X = translate(x, y, z)",
            _XYZ,
            _M3,
            _XYZ,
            _M_S3,
        ),
        JointType(
            "free",
            "Moves freely; q is the position in the parent and a quaternion, v the twist in the child frame.",
            "X = translate(x, y, z) R(quaternion)",
            _XYZ + _QUATERNION,
            _M3 + _ONE4,
            ("vx", "vy", "vz", *_TURN),
            _M_S3 + _RAD_S3,
        ),
    )
}
