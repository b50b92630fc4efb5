"""Claims of the scenes with contacts, tested on one run of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import pysim
from pysim.typing import Array
from tests.scene_runs import G, Run

if TYPE_CHECKING:
    from collections.abc import Callable


def row_at(run: Run, time: float) -> int:
    """Row of a time [s]."""
    return int(np.abs(run.trajectory.t - time).argmin())


def bouncing_balls(run: Run) -> None:
    q = run.trajectory.q.reshape(-1, 3, 7)
    height, start = q[:, :, 2] - 0.1, 0.5
    rebounds = []
    for k in range(2):
        touches = int(np.argmax(height[:, k] < 0.002))
        rebounds.append(height[touches + 3 : touches + 200, k].max() / start)
    np.testing.assert_allclose(np.sqrt(rebounds), [0.9, 0.6], atol=0.03)
    assert height[row_at(run, 0.5) :, 2].max() < 0.01  # clay stays down
    assert np.abs(q[:, :, 1]).max() < 1e-12


def euler_disk(run: Run) -> None:
    x, y, z, w = run.trajectory.q[:, 3:].T
    axis = np.array([2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)])
    turned = np.unwrap(np.arctan2(axis[1], axis[0]))
    rate = abs(turned[-1] - turned[0]) / run.trajectory.t[-1]
    np.testing.assert_allclose(rate, 2 * np.sqrt(G / (0.0375 * np.sin(0.3))), rtol=0.02)
    energy = run.trajectory.energy
    np.testing.assert_allclose(energy, energy[0], rtol=5e-3)


def conveyor(run: Run) -> None:
    v = run.trajectory.v.reshape(-1, 2, 6)
    np.testing.assert_allclose(v[-1, :, 0], 0.5, atol=1e-6)
    assert run.trajectory.contacts.of_row(-1).stuck.all()
    assert not run.trajectory.contacts.of_row(row_at(run, 0.1)).stuck.all()


def gripper(run: Run) -> None:
    lift, box = run.trajectory.q[:, 0], run.trajectory.q[:, 4]
    assert box[-1] > 0.18
    held = row_at(run, 0.5)
    slip = (box - lift)[held:]
    assert np.ptp(slip[row_at(run, 0.5) :]) < 1e-4
    assert np.abs(run.trajectory.v[-1]).max() < 1e-6


def billiards(run: Run) -> None:
    v = run.trajectory.v.reshape(-1, 16, 6)[..., :3]
    speed = np.linalg.norm(v, axis=2)
    assert (speed[-1] > 0.1).sum() >= 10  # scattered
    assert np.count_nonzero(speed[5] > 1e-2) == 1  # at rest until the cue ball strikes
    energy = run.trajectory.energy
    assert (np.diff(energy) < 1e-3).all()
    height = run.trajectory.q.reshape(-1, 16, 7)[..., 2]
    assert height.max() < 0.0286 + 0.02


def newtons_cradle(run: Run) -> None:
    trajectory, events = run.trajectory, run.trajectory.events
    energy, q = trajectory.energy, trajectory.q
    np.testing.assert_allclose(energy, energy[0], rtol=1e-7)
    np.testing.assert_allclose([q[:, 0].max(), q[:, 4].min()], [0.7, -0.7], atol=1e-3)
    assert np.abs(q[:, 1:4]).max() < 1e-6  # the balls between stay
    row = [f"impact of ball_{k}, ball_{k + 1}" for k in range(1, 5)]
    assert list(events.names[:8]) == [*row, *reversed(row)]
    np.testing.assert_array_equal(events.t[:4], events.t[0])


def wrecking_ball(run: Run) -> None:
    trajectory = run.trajectory
    names = trajectory.names["contacts"]
    struck = [k for k, name in enumerate(names) if name.startswith("ball, ")]
    force = np.abs(trajectory.contact_forces[:, struck]).sum(axis=(1, 2))
    hit = int(np.argmax(force > 0))
    assert 0.5 < trajectory.t[hit] < 1.2
    assert np.abs(trajectory.v[hit - 2, 3:]).max() < 1e-3  # the wall stands
    top = trajectory.q[:, 4:].reshape(len(trajectory), -1, 7)[:, -3:, 2]
    assert top[-1].min() < 0.75 * top[0].min()  # boxes of the top row have fallen
    weight = (run.model.total_mass - run.model.parameters[0, 0]) * G
    wall = [k for k, name in enumerate(names) if name.startswith("world, box")]
    standing = trajectory.contact_forces[hit - 2, wall, 2].sum()
    np.testing.assert_allclose(standing, weight, rtol=1e-3)


def quadruped(run: Run) -> None:
    trajectory = run.trajectory
    h = np.array(pysim.centroidal_momentum(run.model, trajectory.q, trajectory.v))
    names = trajectory.names["contacts"]
    ground = [k for k, name in enumerate(names) if name.startswith("world")]
    pushed = np.abs(trajectory.contact_impulses[:, ground]).sum(axis=(1, 2))
    lands = int(np.argmax(pushed > 0))  # a foot may leave the floor before the output
    assert trajectory.t[lands] > 0.7
    flight: Array = h[:lands]
    assert np.abs(flight[:, [0, 1, 3, 4, 5]] - flight[0, [0, 1, 3, 4, 5]]).max() < 0.5
    fall = (flight[-1, 2] - flight[0, 2]) / trajectory.t[lands - 1] / run.model.total_mass
    np.testing.assert_allclose(fall, -G, rtol=0.01)
    assert trajectory.q[-1, 2] < 0.6


def anymal_pushed(run: Run) -> None:
    trajectory = run.trajectory
    assert np.abs(trajectory.q[: row_at(run, 0.5), 1]).max() > 0.01  # it sways
    assert np.abs(trajectory.v[-1]).max() < 5e-3
    weight = trajectory.contact_forces[-1, :, 2].sum() / run.model.total_mass / G
    np.testing.assert_allclose(weight, 1, rtol=1e-3)


def standing_up(run: Run) -> None:
    trajectory = run.trajectory
    height, lying = trajectory.q[:, 2], row_at(run, 1.0)
    assert height[lying] < 0.2
    assert np.abs(trajectory.v[lying]).max() < 1e-2  # it settled
    assert height[-1] > 0.4
    assert np.abs(trajectory.v[row_at(run, 4.5) :]).max() < 1e-4  # the sampled torques settle
    names = trajectory.names["contacts"]
    feet = [k for k, name in enumerate(names) if name.startswith("world") and "FOOT" in name]
    carried = trajectory.contact_forces[-1][:, 2]
    np.testing.assert_allclose(carried[feet].sum() / run.model.total_mass / G, 1, rtol=1e-4)
    assert (carried[feet] > 0.2 * run.model.total_mass * G).all()
    assert (
        np.abs(np.delete(trajectory.contact_forces[-1], feet, axis=0)).max() == 0.0
    )  # nothing else touches


def humanoid_fall(run: Run) -> None:
    trajectory = run.trajectory
    names = trajectory.names["contacts"]
    ground = [k for k, name in enumerate(names) if name.startswith("world")]
    weight = run.model.total_mass * G
    assert trajectory.q[row_at(run, 0.4), 2] < 0.8  # its knees give way
    assert trajectory.q[-1, 2] < 0.2  # it lies
    assert np.abs(trajectory.v[-1]).max() < 1e-2
    carried = trajectory.contact_forces[-1, ground, 2].sum()
    np.testing.assert_allclose(carried, weight, rtol=1e-4)
    late = trajectory.contacts.offsets[row_at(run, 2.0)]
    assert trajectory.contacts.penetration[late:].max() < 1e-3


def stairs(run: Run) -> None:
    trajectory = run.trajectory
    on_stairs = [k for k, name in enumerate(trajectory.names["contacts"]) if "stairs" in name]
    weight = run.model.total_mass * G
    carried = trajectory.contact_forces[-1, on_stairs, 2]
    np.testing.assert_allclose(carried.sum(), weight, rtol=1e-4)
    assert (np.abs(carried) > 0.05 * weight).all()  # each foot
    points = trajectory.contacts.of_row(-1)
    heights = np.sort(points.point[:, 2])
    np.testing.assert_allclose(heights, [0, 0, 0.12, 0.12], atol=1e-3)
    late = row_at(run, 2.5)
    assert np.abs(trajectory.v[late:]).max() < 1e-2
    stays = points.point - trajectory.contacts.of_row(late).point
    assert np.abs(stays).max() < 1e-4


CLAIMS: dict[str, Callable[[Run], None]] = {
    "anymal_pushed": anymal_pushed,
    "billiards": billiards,
    "bouncing_balls": bouncing_balls,
    "conveyor": conveyor,
    "euler_disk": euler_disk,
    "gripper": gripper,
    "humanoid_fall": humanoid_fall,
    "newtons_cradle": newtons_cradle,
    "quadruped": quadruped,
    "stairs": stairs,
    "standing_up": standing_up,
    "wrecking_ball": wrecking_ball,
}
