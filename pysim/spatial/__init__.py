"""Rotations and rigid displacements on arrays: SO(3) and SE(3), their exponentials, Jacobians and actions.

| quantity | shape |
|---|---|
| rotation vector, rotation | (…, 3) [rad], (…, 3, 3) |
| twist [v; ω], displacement X_AB from B coordinates to A | (…, 6) [m, rad], (…, 4, 4) |

`exp`, `log`, `compose`, `inverse`, the Jacobians, `Ad`, `Ad_star`, `ad` and `ad_star` serve both groups; the shape of
the last axes selects the group, and leading axes are batches. float64, or float32 where every argument is float32.
Wrong arguments raise PysimError, which is a ValueError, naming the argument.
"""

from __future__ import annotations

from pysim.spatial.groups import (
    Ad,
    Ad_star,
    act_on_point,
    act_on_twist,
    act_on_wrench,
    ad,
    ad_star,
    compose,
    cross_twist,
    cross_wrench,
    exp,
    hat,
    inverse,
    left_jacobian,
    left_jacobian_inverse,
    log,
    pose,
    power,
    right_jacobian,
    right_jacobian_inverse,
    skew,
    vee,
)
from pysim.spatial.rotations import (
    axis_angle_from_rotation,
    pose_from_record,
    quaternion_from_rotation,
    quaternion_multiply,
    record_from_pose,
    reordered_quaternion,
    rotation_from_axis_angle,
    rotation_from_quaternion,
    rotation_from_rpy,
    rpy_from_rotation,
    slerp,
)

__all__ = [
    "Ad",
    "Ad_star",
    "act_on_point",
    "act_on_twist",
    "act_on_wrench",
    "ad",
    "ad_star",
    "axis_angle_from_rotation",
    "compose",
    "cross_twist",
    "cross_wrench",
    "exp",
    "hat",
    "inverse",
    "left_jacobian",
    "left_jacobian_inverse",
    "log",
    "pose",
    "pose_from_record",
    "power",
    "quaternion_from_rotation",
    "quaternion_multiply",
    "record_from_pose",
    "reordered_quaternion",
    "right_jacobian",
    "right_jacobian_inverse",
    "rotation_from_axis_angle",
    "rotation_from_quaternion",
    "rotation_from_rpy",
    "rpy_from_rotation",
    "skew",
    "slerp",
    "vee",
]
