"""Claims of the scenes of closed mechanisms.

Oracles: closed forms, published numbers, balances of energy and momentum.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import pysim
from pysim.loops import actuation_map, constraints, mobility
from pysim.trajectory.interpolation import pose_matrices
from pysim.typing import Array
from tests.scene_runs import constant

SCENES = Path(__file__).parents[2] / "scenes"
Run = Any  # tests.test_scenes.Run, which uses this module

# IFToMM A03 at t = 0.03 s (Hairer and Wanner 1996, section VII.7)
ANDREWS = {
    "beta": 15.81077119629904,
    "theta": -15.75637105984298,
    "gamma": 0.04082224013273101,
    "phi": -0.5347301163226948,
    "delta": 0.5244099658805304,
    "omega": 0.5347301163226948,
    "epsilon": 1.048080741042263,
}
# IFToMM A02, two four-bars at 10 s: angle of the posts [rad], and their speed [rad/s]
FOUR_BARS = (-30.17980086018323, -1.5066421808201262)


def stays_closed(run: Run, degrees: int) -> None:
    """Hold the residuals of every output and the freedoms at the start."""
    state, trajectory = run.scene.state, run.trajectory
    at = constraints(run.model, trajectory.q, trajectory.v, t=trajectory.t)
    slip = np.einsum("nij,nj->ni", at.jacobian, trajectory.v) + at.rates
    assert np.abs(at.residual).max() < 1e-10
    assert np.abs(slip).max() < 1e-10
    assert mobility(run.model, state.q, state.loop_q).degrees == degrees


def q_of(run: Run, joint: str) -> Array:
    index = run.model.joint_names.index(joint)
    q: Array = run.trajectory.q[:, run.model.q_offsets[index]]
    return q


def work_of(run: Run, force: Array, joint: str) -> float:
    """∫ τ dq by the trapezoidal rule [J]."""
    q = q_of(run, joint)
    return float(np.sum((force[1:] + force[:-1]) / 2 * np.diff(q)))


def rolling_disk(run: Run) -> None:
    """It leans over and rises again, time after time, and goes round."""
    stays_closed(run, 3)
    height = run.trajectory.q[:, 2]
    rising = np.diff(np.sign(np.diff(height)))
    assert np.count_nonzero(rising) >= 6
    assert height.min() > 0.3
    x, y = (run.trajectory.q[:, k] for k in (0, 1))
    heading = np.unwrap(np.arctan2(np.gradient(y), np.gradient(x)))
    assert abs(heading[-1] - heading[0]) > 2 * np.pi


def four_bar(run: Run) -> None:
    stays_closed(run, 1)
    assert np.ptp(q_of(run, "drive")) > 10  # the crank turns over
    assert np.ptp(q_of(run, "swing")) < np.pi  # the rocker does not


def four_bars(run: Run) -> None:
    stays_closed(run, 1)
    q, v = run.trajectory.q, run.trajectory.v
    posts = [run.model.joint_names.index(f"pivot{k}") for k in range(3)]
    np.testing.assert_allclose(q[:, posts[1:]], q[:, :1].repeat(2, 1), atol=1e-9)
    np.testing.assert_allclose([q[-1, 0], v[-1, 0]], FOUR_BARS, atol=1e-8)


def driven_linkage(run: Run) -> None:
    """The drive's torque is that of inverse dynamics of the linkage without it."""
    stays_closed(run, 0)
    trajectory = run.trajectory
    assert np.ptp(q_of(run, "swing")) < np.pi
    np.testing.assert_allclose(q_of(run, "drive")[[0, 100, 150, -1]], [0.4, 3.5, 3.5, 16.1])
    free = pysim.load_model(SCENES / "four_bar.toml")
    for k in range(0, len(trajectory), 40):
        q, v, a = trajectory.q[k], trajectory.v[k], trajectory.a[k]
        torque = actuation_map(free, q, "drive").equivalent_torque(v, a)[0]
        assert abs(trajectory.coupling_forces[k, 0] - torque) < 1e-6
    balance = trajectory.energy_balance
    np.testing.assert_allclose(balance, balance[0], rtol=0, atol=1e-6)
    assert np.abs(trajectory.work["drive"]).max() > 1


def shaken_rod(run: Run) -> None:
    """The rod swings about the upright as slowly as Kapitza's averaged equation says, 12.3 rad/s for small angles."""
    stays_closed(run, 3)
    trajectory = run.trajectory
    t, q = trajectory.t, trajectory.q
    np.testing.assert_allclose(q[:, :2], 0, atol=1e-12)
    np.testing.assert_allclose(q[:, 2], 0.02 * np.sin(200 * t), rtol=0, atol=1e-12)
    tilt = 2 * np.arctan2(q[:, 4], q[:, 6])
    assert np.abs(tilt).max() < 0.5
    passes = np.flatnonzero(np.diff(np.sign(tilt)))
    slow = np.pi * (len(passes) - 1) / (t[passes[-1]] - t[passes[0]])
    assert 11 < slow < 13.5
    balance = trajectory.energy_balance
    np.testing.assert_allclose(balance, balance[0], rtol=0, atol=1e-6)


def slider_crank(run: Run) -> None:
    stays_closed(run, 1)
    start = run.scene.state
    twist = start.v[1:4] + 6.0 * rotation(start.q[1:5])[0]  # the crank turns about x
    np.testing.assert_allclose(rotation(start.q[1:5]) @ twist, [1.92, -0.96, 0.48], atol=1e-12)
    np.testing.assert_allclose(start.v[4], 0.24, atol=1e-12)


def rotation(quaternion: Array) -> Array:
    X = pose_matrices(np.concatenate([np.zeros(3), quaternion]))
    R: Array = X[:3, :3]
    return R


def bricard(run: Run) -> None:
    stays_closed(run, 1)
    found = mobility(run.model, run.scene.state.q)
    assert (found.rows, found.rank, found.redundant) == (5, 4, {"hinge6": 1})
    point = pysim.frame_placement(run.model, run.trajectory.q, "P3")[:, :3, 3]
    np.testing.assert_allclose(point[0], [1, -1, 1], atol=1e-12)
    assert np.ptp(point, axis=0).min() > 0.5


def andrews(run: Run) -> None:
    stays_closed(run, 1)
    for joint, expected in ANDREWS.items():
        assert abs(q_of(run, joint)[-1] - expected) < 1e-8
    gained = run.trajectory.energy - run.trajectory.energy[0]
    turned = q_of(run, "beta") - q_of(run, "beta")[0]
    np.testing.assert_allclose(gained, 0.033 * turned, atol=1e-8)


def five_bar(run: Run) -> None:
    stays_closed(run, 2)
    pen = pysim.frame_placement(run.model, run.trajectory.q, "pen")[:, :3, 3]
    late = run.trajectory.t >= 3
    np.testing.assert_allclose(pen[late][200:], pen[late][:-200], atol=2e-3)  # a second later
    assert np.ptp(pen[late], axis=0)[[0, 2]].min() > 0.05


def governor(run: Run) -> None:
    momentum = run.momenta[:, 0]
    np.testing.assert_allclose(momentum, momentum[0], rtol=1e-9)
    assert run.trajectory.energy[-1] < run.trajectory.energy[0]
    assert np.ptp(q_of(run, "slide")) > 0.01


def stewart_platform(run: Run) -> None:
    stays_closed(run, 6)
    platform = run.model.frames["platform"][0]
    assert np.ptp(run.trajectory.poses[:, platform, :3], axis=0).min() > 0.01


def differential(run: Run) -> None:
    stays_closed(run, 2)
    left, right = q_of(run, "left"), q_of(run, "right")
    np.testing.assert_allclose(q_of(run, "carrier"), (left + right) / 2, atol=1e-10)
    np.testing.assert_allclose(q_of(run, "planet"), 0.8 * (left - right), atol=1e-10)
    assert right[-1] > 5 * left[-1]


def planetary_gear(run: Run) -> None:
    """The carrier turns at 24/(24 + 60) of the sun, and the torque of the motor becomes 84/24 as large on it."""
    stays_closed(run, 1)
    np.testing.assert_allclose(q_of(run, "carrier"), q_of(run, "sun") * 24 / 84, atol=1e-12)
    names = run.trajectory.names["velocities"]
    brake = 0.05 * run.trajectory.v[-1, names.index("carrier")]
    np.testing.assert_allclose(brake, 0.4 * 84 / 24, rtol=1e-3)


def geneva(run: Run) -> None:
    """The wheel stands while the pin is outside, makes a quarter turn a turn, and follows the slot in between."""
    stays_closed(run, 1)
    crank, wheel = q_of(run, "crank"), q_of(run, "wheel")
    turns = np.floor((crank + np.pi) / (2 * np.pi))
    angle = crank - 2 * np.pi * turns
    stands = np.abs(angle) > np.pi / 4
    resting = -np.pi / 2 * turns - np.sign(angle) * np.pi / 4
    np.testing.assert_allclose(wheel[stands], resting[stands], atol=1e-10)
    pin = np.exp(1j * angle[~stands]) * 0.1 * np.sin(np.pi / 4)  # [m]; the wheel is at 0.1
    slot = np.angle(0.1 - pin)
    np.testing.assert_allclose(wheel[~stands], slot - np.pi / 2 * turns[~stands], atol=1e-10)
    assert turns.max() == 3
    constant(run.trajectory.energy, 1e-6)


def cam_by_law(run: Run) -> None:
    """A cycloidal rise and a 3-4-5 return [Norton 2009, sections 2.4 and 2.5], between dwells."""
    stays_closed(run, 1)
    turn, place = np.degrees(q_of(run, "shaft")) % 360, q_of(run, "guide")
    u = turn[turn < 120] / 120
    rise = u - np.sin(2 * np.pi * u) / (2 * np.pi)
    np.testing.assert_allclose(place[turn < 120], 0.05 + 0.025 * rise, atol=1e-10)
    np.testing.assert_allclose(place[(turn > 120) & (turn < 180)], 0.075, atol=1e-10)
    np.testing.assert_allclose(place[turn > 280], 0.05, atol=1e-10)
    constant(run.trajectory.energy, 1e-7)


CLAIMS = {
    "andrews": andrews,
    "bricard": bricard,
    "differential": differential,
    "planetary_gear": planetary_gear,
    "geneva": geneva,
    "cam_by_law": cam_by_law,
    "driven_linkage": driven_linkage,
    "five_bar": five_bar,
    "four_bar": four_bar,
    "four_bars": four_bars,
    "governor": governor,
    "rolling_disk": rolling_disk,
    "shaken_rod": shaken_rod,
    "slider_crank": slider_crank,
    "stewart_platform": stewart_platform,
}
