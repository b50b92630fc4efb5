"""Cartesian impedance: the wrench by which a controlled frame yields about a target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements.force import Force, force
from pysim.elements.quantities import Twist, Wrench
from pysim.elements.rows import symmetric_rows
from pysim.spatial.rotations import quaternion_entries

if TYPE_CHECKING:
    from pysim.joints.displacement import Pose

Rows = tuple[tuple[float, ...], ...]
NONE: Rows = ((0.0,) * 3,) * 3


@force("impedance")
class Impedance(Force):
    """Impedance of frame b about a target in frame a, as ideal joint torques Jᵀ F realise it [Hogan 1985].

        f = K (p_d − p) − D v in the axes of a,   τ = −k e − d ω,  e = 2 sign(w) (x, y, z) of R_dᵀ R as a quaternion

    The target (p_d, R_d) is constant, or of signals, `position = { signal = "target" }`. With a = world it acts on the
    mechanism alone; gravity is compensated beside it. Limits of joints do not bound it.
    """

    position: tuple[float, float, float]  # [m], p_d
    stiffness: Rows  # [N/m], K, symmetric (3, 3)
    damping: Rows = NONE  # [N·s/m], D, symmetric (3, 3)
    orientation: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)  # of R_d, (x, y, z, w)
    turning_stiffness: float = 0.0  # [N·m/rad], k
    turning_damping: float = 0.0  # [N·m·s/rad], d
    not_negative = ("turning_stiffness",)
    resisting = ("turning_damping",)

    def __post_init__(self) -> None:
        for name in ("stiffness", "damping"):
            symmetric_rows(name, getattr(self, name), 3, "one for each axis")

    def _apart(self, pose: Pose) -> Any:
        return np.array(self.position) - np.array(pose.p, object)

    def _turned(self, pose: Pose) -> tuple[Any, Any]:
        """Return e (3,) in the axes of b, and |w|."""
        if self.turning_stiffness == 0:
            return np.zeros(3), 1.0
        E = np.array(quaternion_entries(self.orientation)).T @ np.array(pose.rotation, object)
        w = 0.5 * np.sqrt(np.maximum(1 + E[0, 0] + E[1, 1] + E[2, 2], 1e-12))
        twice = np.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]])
        return twice / (2 * w), w

    def wrench(self, pose: Pose, twist: Twist) -> Wrench:
        R = np.array(pose.rotation, object)
        pull = np.array(self.stiffness) @ self._apart(pose)
        pull = pull - np.array(self.damping) @ (R @ twist.v)
        e, _ = self._turned(pose)
        torque = -self.turning_stiffness * e - self.turning_damping * twist.w
        return Wrench(force=R.T @ pull, torque=torque)

    def energy(self, pose: Pose) -> Any:
        apart = self._apart(pose)
        _, w = self._turned(pose)
        turning = 4 * self.turning_stiffness * (1 - w)
        return 0.5 * (apart @ (np.array(self.stiffness) @ apart)) + turning
