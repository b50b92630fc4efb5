"""Inverse kinematics of 1000 reachable poses of a robot arm, beside Python loops over Pinocchio.

The first peer is pysim's algorithm step by step: limits, restarts, and the same tolerance. The second is the loop of
Pinocchio's documentation, without limits and to 1e-4, with the same restarts.
"""

from __future__ import annotations

from time import process_time
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

import pysim
from pysim.typing import Array
from tests.benchmarks.report import heading, print_line, row
from tests.robots import robot_path

if TYPE_CHECKING:
    from collections.abc import Callable


TARGETS, RESTARTS, TOLERANCE = 1000, 60, 1e-8
FINGERS = ("panda_finger_joint1", "panda_finger_joint2")


class Peer:
    """The arm in Pinocchio, with its fingers fixed."""

    def __init__(self) -> None:
        whole = pin.buildModelFromUrdf(str(robot_path("panda")))
        fixed = [whole.getJointId(name) for name in FINGERS]
        self.model = pin.buildReducedModel(whole, fixed, np.zeros(9))
        self.data = self.model.createData()
        self.hand = self.model.getFrameId("panda_hand")
        self.lower, self.upper = self.model.lowerPositionLimit, self.model.upperPositionLimit
        rng = np.random.default_rng(0)
        others = [rng.uniform(self.lower, self.upper) for _ in range(RESTARTS)]
        self.starts = [np.clip(np.zeros(7), self.lower, self.upper), *others]

    def levenberg_marquardt(self, goal: pin.SE3, start: Array) -> bool:
        """Return whether pysim's steps converge from a start."""
        q, before, away, at = start.copy(), np.inf, goal.inverse(), np.arange(7)
        for k in range(41):
            pin.framesForwardKinematics(self.model, self.data, q)
            X = away * self.data.oMf[self.hand]
            e = pin.log6(X).vector
            if max(np.linalg.norm(e[:3]), np.linalg.norm(e[3:])) < TOLERANCE:
                return True
            E = 0.5 * e @ e
            if k % 6 == 0:
                if 0.3 * before < E:
                    return False
                before = E
            local = pin.computeFrameJacobian(self.model, self.data, q, self.hand, pin.LOCAL)
            J = pin.Jlog6(X) @ local
            slope = J.T @ e
            held = ((q <= self.lower) & (slope > 0)) | ((q >= self.upper) & (slope < 0))
            J[:, held], slope[held] = 0, 0
            H = J.T @ J
            H[at, at] += 0.1 * E + 1e-12
            step = -np.linalg.solve(H, slope)
            q = np.clip(q + step / max(1.0, np.abs(step).max()), self.lower, self.upper)
        return False

    def documented(self, goal: pin.SE3, start: Array) -> bool:
        """Return whether the loop of Pinocchio's documentation converges from a start."""
        q = start.copy()
        for _ in range(1000):
            pin.forwardKinematics(self.model, self.data, q)
            X = pin.updateFramePlacement(self.model, self.data, self.hand).actInv(goal)
            e = pin.log6(X).vector
            if np.linalg.norm(e) < 1e-4:
                return True
            J = -pin.Jlog6(X.inverse()) @ pin.computeFrameJacobian(
                self.model, self.data, q, self.hand
            )
            v = -J.T @ np.linalg.solve(J @ J.T + 1e-12 * np.eye(6), e)
            q = pin.integrate(self.model, q, 0.1 * v)
        return False

    def found(self, search: Callable[[pin.SE3, Array], bool], goals: list[pin.SE3]) -> int:
        """Return how many goals a search finds from one of the starts."""
        return sum(any(search(goal, start) for start in self.starts) for goal in goals)


def main() -> None:
    """Print the time of each, ms for 1000 targets, and how many it finds."""
    model, rng, peer = pysim.load_model(robot_path("panda")), np.random.default_rng(1), Peer()
    q = np.array([model.random_configuration(rng) for _ in range(TARGETS)])
    X = pysim.frame_placement(model, q, "panda_hand")
    goals, times = [pin.SE3(x) for x in X], []
    for _ in range(11):
        begin = process_time()
        found = pysim.inverse_kinematics(
            model, {"panda_hand": X}, model.neutral(), restarts=RESTARTS, tolerance=TOLERANCE
        )
        times.append(1e3 * (process_time() - begin))
    mine = float(np.median(times))
    heading(f"inverse kinematics of {TARGETS} poses", "ms")
    print_line(f"pysim finds {found.converged.sum()}")
    for name, search, few in (
        ("same algorithm", peer.levenberg_marquardt, TARGETS),
        ("its documentation's loop, to 1e-4, no limits", peer.documented, TARGETS // 10),
    ):
        begin = process_time()
        count = peer.found(search, goals[:few])
        took = 1e3 * (process_time() - begin) * TARGETS / few
        row("panda", "1000 poses", mine, took, f"Pinocchio, {name}: {count} of {few}")


if __name__ == "__main__":
    main()
