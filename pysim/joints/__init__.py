"""Joint types by name."""

from __future__ import annotations

from pysim.errors import JointError, did_you_mean
from pysim.joints.builtin import BUILTIN, JointType, Key

__all__ = ["BUILTIN", "JointType", "Key", "find_joint", "joint_types"]


def joint_types() -> dict[str, JointType]:
    """Return every joint type by name."""
    return dict(BUILTIN)


def find_joint(kind: str) -> JointType:
    """Return the joint type of a name.

    Raises:
        JointError: there is none; the text suggests one.
    """
    if kind not in BUILTIN:
        problem = f"unknown joint type {kind!r}{did_you_mean(kind, BUILTIN)}"
        raise JointError("joint", problem)
    return BUILTIN[kind]
