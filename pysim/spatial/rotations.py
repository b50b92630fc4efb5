"""Rotations (…, 3, 3) from and to quaternions, roll-pitch-yaw, axis and angle; poses from and to the engine's record.

The order of a quaternion's components is always named: "xyzw", as in q, or "wxyz". Roll, pitch and yaw are rotations
about the fixed axes x, y, z in this order, as in URDF: R = Rz(yaw) Ry(pitch) Rx(roll).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import PysimError, did_you_mean
from pysim.spatial.arrays import (
    checked,
    checked_pose,
    checked_rotation,
    checked_unit,
    leading,
    map_rows,
)
from pysim.spatial.groups import pose

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike

    from pysim.spatial.arrays import Array

ORDERS = {"xyzw": [0, 1, 2, 3], "wxyz": [1, 2, 3, 0]}  # indices of x, y, z, w


def rotation_from_quaternion(quaternion: ArrayLike, order: str = "xyzw") -> Array:
    """Return the rotation (…, 3, 3) of a unit quaternion (…, 4)."""
    q = _xyzw(quaternion, "quaternion", order)
    return map_rows("rotation_from_quaternion", q, 1, (3, 3))


def quaternion_entries(quaternion: Iterable[Any]) -> list[list[Any]]:
    """Return the rows of the rotation of a unit quaternion (x, y, z, w), of arrays or symbolic numbers."""
    x, y, z, w = quaternion
    return [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]


def quaternion_from_rotation(R: ArrayLike, order: str = "xyzw") -> Array:
    """Return the unit quaternion (…, 4) of a rotation (…, 3, 3), the one with w ≥ 0."""
    places = _places(order)
    return _ordered(map_rows("quaternion_from_rotation", checked_rotation(R), 2, (4,)), places)


def reordered_quaternion(quaternion: ArrayLike, order: str, wanted: str) -> Array:
    """Return a unit quaternion (…, 4) with its components in another order; the sign is kept."""
    places = _places(wanted, "wanted")
    return _ordered(_xyzw(quaternion, "quaternion", order), places)


def quaternion_multiply(a: ArrayLike, b: ArrayLike, order: str = "xyzw") -> Array:
    """Return the unit quaternion (…, 4) of the rotation R(a) R(b): Hamilton's product a b."""
    places = _places(order)
    first, second = _xyzw(a, "a", order), _xyzw(b, "b", order)
    leading(first, 1, "a", second, 1, "b")
    u, s = first[..., :3], first[..., 3:]
    v, t = second[..., :3], second[..., 3:]
    vector = s * v + t * u + np.cross(u, v)
    scalar = s * t - (u * v).sum(-1, keepdims=True)
    return _ordered(np.concatenate([vector, scalar], axis=-1), places)


def slerp(a: ArrayLike, b: ArrayLike, fraction: ArrayLike) -> Array:
    """Return unit quaternions (…, 4) at fractions (…) of the shorter arc from a (…, 4) to b (…, 4), in their order.

        Q(s) = (sin((1 − s) φ) a + sin(s φ) b) / sin φ        cos φ = a·b, b of the sign that makes it positive

    Fractions beyond 0 and 1 continue the rotation [Shoemake 1985].

    >>> half = slerp([0, 0, 0, 1], [0, 0, 1, 0], 0.5)  # of half a turn about z
    >>> half.round(6).tolist()
    [0.0, 0.0, 0.707107, 0.707107]
    """
    first, last = (checked_unit(checked(x, name, (4,)), name) for x, name in ((a, "a"), (b, "b")))
    s = checked(fraction, "fraction", ())[..., None]
    return arc(first, last, s)


def arc(first: Array, last: Array, s: Array) -> Array:
    """Return unit quaternions (…, 4) at a fraction `s` (…, 1) of the shorter arc, without checks."""
    cosine = np.sum(first * last, axis=-1, keepdims=True)
    last = np.where(cosine < 0, -last, last)
    phi = np.arccos(np.clip(np.abs(cosine), 0.0, 1.0))
    near = phi < 1e-6  # there the chord and the circle agree to 1e-12
    sine = np.where(near, 1.0, np.sin(phi))
    start = np.where(near, 1 - s, np.sin((1 - s) * phi) / sine)
    end = np.where(near, s, np.sin(s * phi) / sine)
    mixed = start * first + end * last
    unit: Array = mixed / np.linalg.norm(mixed, axis=-1, keepdims=True)
    return unit


def rotation_from_rpy(rpy: ArrayLike) -> Array:
    """Return Rz(yaw) Ry(pitch) Rx(roll) of (roll, pitch, yaw) (…, 3) [rad]."""
    angles = checked(rpy, "rpy", (3,), unit="rad")
    (sr, sp, sy), (cr, cp, cy) = (np.moveaxis(f(angles), -1, 0) for f in (np.sin, np.cos))
    R = np.empty((*angles.shape, 3), angles.dtype)
    R[..., 0, :] = np.stack([cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr], axis=-1)
    R[..., 1, :] = np.stack([sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr], axis=-1)
    R[..., 2, :] = np.stack([-sp, cp * sr, cp * cr], axis=-1)
    return R


def rpy_from_rotation(R: ArrayLike) -> Array:
    """Return (roll, pitch, yaw) (…, 3) [rad] of a rotation, |pitch| ≤ π/2.

    At a pitch of ±π/2 only roll ∓ yaw is determined; the returned angles still give R.
    """
    m = checked_rotation(R)
    yaw = np.arctan2(m[..., 1, 0], m[..., 0, 0])
    s, c = np.sin(yaw), np.cos(yaw)
    # Rz(−yaw) R = Ry(pitch) Rx(roll)
    pitch = np.arctan2(-m[..., 2, 0], c * m[..., 0, 0] + s * m[..., 1, 0])
    sin_roll = s * m[..., 0, 2] - c * m[..., 1, 2]
    cos_roll = c * m[..., 1, 1] - s * m[..., 0, 1]
    return np.stack([np.arctan2(sin_roll, cos_roll), pitch, yaw], axis=-1)


def rotation_from_axis_angle(axis: ArrayLike, angle: ArrayLike) -> Array:
    """Return the rotation by angle (…) [rad] about a unit axis (…, 3)."""
    a = checked_unit(checked(axis, "axis", (3,)), "axis")
    turn = checked(angle, "angle", (), unit="rad")
    leading(a, 1, "axis", turn, 0, "angle")
    return map_rows("so3_exp", a * turn[..., None], 1, (3, 3))


def axis_angle_from_rotation(R: ArrayLike) -> tuple[Array, Array]:
    """Return the unit axis (…, 3) and the angle (…) [rad] in [0, π]; the axis is z if the angle is 0."""
    phi = map_rows("so3_log", checked_rotation(R), 2, (3,))
    angle = np.sqrt((phi * phi).sum(-1))
    turns = (angle > 0)[..., None]
    rest = np.array([0, 0, 1], phi.dtype)
    axis = np.where(turns, phi / np.where(turns, angle[..., None], 1), rest)
    return axis, angle


def record_from_pose(X: ArrayLike) -> Array:
    """Return the engine's record (…, 12) of a displacement: rotation column-major, then position [m]."""
    x = checked_pose(X)
    return np.swapaxes(x[..., :3, :], -1, -2).reshape(*x.shape[:-2], 12)


def pose_from_record(record: ArrayLike) -> Array:
    """Return the displacement (…, 4, 4) of the engine's record (…, 12)."""
    r = checked(record, "record", (12,))
    R = np.swapaxes(r[..., :9].reshape(*r.shape[:-1], 3, 3), -1, -2)
    return pose(R, r[..., 9:])


def _places(order: str, name: str = "order") -> list[int]:
    if order not in ORDERS:
        raise PysimError(name, f"unknown order {order!r}{did_you_mean(order, ORDERS)}")
    return ORDERS[order]


def _xyzw(quaternion: ArrayLike, name: str, order: str) -> Array:
    """Return a checked unit quaternion as (x, y, z, w)."""
    places = _places(order)
    q = checked(quaternion, name, (4,))[..., places]
    return checked_unit(q, name, f"({', '.join(order)}) ")


def _ordered(q: Array, places: list[int]) -> Array:
    """Return (x, y, z, w) in the named order."""
    ordered = np.empty_like(q)
    ordered[..., places] = q
    return ordered
