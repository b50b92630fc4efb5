"""Claims of the scenes with signed distances, for tests/test_scenes.py.

Oracles: the ratio of teeth and the line of action of involute gears, the pitch of a thread, the pitch curve of a cam,
and the signed distance of the gyroid in NumPy.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tests.scene_runs import G, Run

if TYPE_CHECKING:
    from collections.abc import Callable


def cam_and_roller(run: Run) -> None:
    angle, height = run.trajectory.q.T
    along = 0.02 * np.sin(angle) + np.sqrt(0.07**2 - (0.02 * np.cos(angle)) ** 2)
    assert np.ptp(along) > 0.035
    np.testing.assert_allclose(height, along, atol=1e-5)


def gears(run: Run) -> None:
    """Hold the ratio tooth by tooth and at each instant, and the line of action."""
    trajectory = run.trajectory
    first = int(np.searchsorted(trajectory.t, 0.1))  # the flanks touch
    turned = trajectory.q - trajectory.q[first]
    tooth = 2 * np.pi / 20
    teeth = np.arange(1, int(turned[-1, 0] / tooth) + 1)
    assert len(teeth) >= 10
    at = np.interp(teeth * tooth, turned[:, 0], turned[:, 1])
    np.testing.assert_allclose(at, -teeth * tooth * 20 / 30, atol=1e-4)
    speed = trajectory.v[first:]
    np.testing.assert_allclose(speed[:, 1] / speed[:, 0], -20 / 30, rtol=0.03)
    np.testing.assert_allclose(speed[:, 1].mean() / speed[:, 0].mean(), -20 / 30, rtol=1e-3)
    points = trajectory.contacts
    late = points.offsets[first]
    force = np.linalg.norm(points.force[late:], axis=1)
    loaded = np.flatnonzero(force > 0.05 * force.max()) + late
    normal, place = points.normal[loaded, :2], points.point[loaded, :2]
    # both base circles touch the line through the pitch point (0.1, 0) along which the pinion pushes
    line = np.array([math.sin(math.radians(20)), math.cos(math.radians(20))])
    assert (normal @ line > math.cos(0.07)).all()
    across = (place - [0.1, 0]) @ [line[1], -line[0]]
    assert np.abs(across).max() < 1.3e-3  # points are 1.8 mm apart


def jack(run: Run) -> None:
    turns, height = run.trajectory.q[:, 0] / (2 * np.pi), run.trajectory.q[:, 1]
    settled = run.trajectory.t > 0.2
    assert np.ptp(turns[settled]) > 3.5
    assert np.ptp((height + 0.012 * turns)[settled]) < 1e-5


def gyroid(run: Run) -> None:
    k, energy = 2 * np.pi / 0.12, run.trajectory.energy
    for ball in run.trajectory.q.reshape(-1, 3, 7).transpose(1, 2, 0)[:, :3]:
        (x, y, z), inside = k * ball, np.abs(ball).max(axis=0) < 0.11
        g = np.sin(x) * np.cos(y) + np.sin(y) * np.cos(z) + np.sin(z) * np.cos(x)
        gap = (np.abs(g) / (math.sqrt(3) * k) - 0.006)[inside]  # from the middle of a ball
        assert inside.any()
        assert gap.min() > 0
    assert (np.diff(energy) < 5e-3 * np.ptp(energy)).all()  # contacts that unload
    assert energy[0] - energy[-1] > run.model.total_mass * G * 0.1


CLAIMS: dict[str, Callable[[Run], None]] = {
    "cam_and_roller": cam_and_roller,
    "gears": gears,
    "gyroid": gyroid,
    "jack": jack,
}
