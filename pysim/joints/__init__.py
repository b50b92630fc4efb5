"""Joint types, and the interface for authors of joint plugins: `from pysim.joints import Joint, Pose, joint, real`."""

from __future__ import annotations

from pysim.joints.builtin import BUILTIN, JointType, Key
from pysim.joints.callback import CallbackJoint
from pysim.joints.coordinates import pose, real, rotation
from pysim.joints.directional import DirectionalDerivatives, directional_derivatives
from pysim.joints.displacement import Pose
from pysim.joints.plugin import Joint
from pysim.joints.registry import find_joint, joint, joint_types
from pysim.joints.relation import relation
from pysim.joints.verification import Report, check
from pysim.tracing.spline import spline

__all__ = [
    "BUILTIN",
    "CallbackJoint",
    "DirectionalDerivatives",
    "Joint",
    "JointType",
    "Key",
    "Pose",
    "Report",
    "check",
    "directional_derivatives",
    "find_joint",
    "joint",
    "joint_types",
    "pose",
    "real",
    "relation",
    "rotation",
    "spline",
]
