"""Claims of the scenes with signals. Oracles: closed forms of their final states and of steady precession."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.interpolate import PchipInterpolator

import pysim
from tests.scene_runs import SCENES, G, Run, constant


def servo_pid(run: Run) -> None:
    t, q = run.trajectory.t, run.trajectory.q[:, 0]
    for end, angle, before in ((4.0, 1.5, 0.0), (8.0, -1.0, 1.5), (12.0, 0.5, -1.0)):
        rows = (t > end - 4.0) & (t < end - 1e-9)
        assert abs(q[rows][-1] - angle) < 0.03
        over = (q[rows] - angle) * np.sign(angle - before)
        assert over.max() < 0.2 * abs(angle - before)
    force = run.trajectory.signals["pid"]
    assert np.abs(force).max() == 6.0


def motor_run_up(run: Run) -> None:
    R, k, N, V, b, load = 1.2, 0.03, 50.0, 24.0, 0.01, -0.5
    speed = (N * k * V / R + load) / (b + (N * k) ** 2 / R)
    current = (V - k * N * speed) / R
    found = run.trajectory.signals["motor.current"]
    np.testing.assert_allclose(run.trajectory.v[-1, 0], speed, rtol=1e-3)
    np.testing.assert_allclose(found[-1], current, rtol=2e-2)
    assert found.max() > 5 * current


def tracking_arm(run: Run) -> None:
    error = run.trajectory.q - run.trajectory.signals["path"]
    assert np.abs(error).max() < 1e-6


def instrumented_top(run: Run) -> None:
    signals = run.trajectory.signals
    rate = np.linalg.norm(signals["imu.rate"], axis=1)
    np.testing.assert_allclose(rate, rate[0], rtol=1e-5)
    np.testing.assert_allclose(signals["imu.rate"][:, 2], 235.55165123780748, rtol=1e-6)
    assert np.linalg.norm(signals["imu.acceleration"], axis=1).min() > G
    constant(run.trajectory.energy, 1e-8)
    momenta = run.momenta  # about the tip, in the top's axes
    x, y, z, w = run.trajectory.q.T
    up = np.stack([2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)], axis=1)
    constant(momenta[:, 2], 1e-8)
    constant(np.einsum("ni,ni->n", up, momenta), 3e-8)


def rope_and_pulley(run: Run) -> None:
    t, q = run.trajectory.t, run.trajectory.q
    fall = 0.5 * G / 5 * t**2
    np.testing.assert_allclose(q, np.column_stack([-fall, fall]), atol=1e-9)
    constant(run.trajectory.energy, 1e-8)
    length = run.trajectory.signals["rope length.length"]
    np.testing.assert_allclose(length, 1.8 + 0.15 * np.pi, rtol=1e-12)


def catapult(run: Run) -> None:
    events, t = run.trajectory.events, run.trajectory.t
    assert events.names[0] == "release"
    flies = t > events.t[0]
    ball, since = run.trajectory.q[flies, 1:4], t[flies, None] - events.t[0]
    first = events.q[0, 1:4]
    path = (
        first
        + np.linalg.lstsq(since, ball - first + 0.5 * G * since**2 * [0, 0, 1], rcond=None)[0]
        * since
    )
    np.testing.assert_allclose(ball, path - 0.5 * G * since**2 * [0, 0, 1], atol=1e-8)
    assert ball[-1, 0] < -2.0 or ball[-1, 0] > 2.0
    np.testing.assert_allclose(run.trajectory.q[flies, 0][0], np.pi / 4, atol=0.2)


def anymal_in_the_air(run: Run) -> None:
    stance, signals = run.trajectory.signals["stance"], run.trajectory.signals
    late = run.trajectory.t > 4.5
    q, v = run.trajectory.q, run.trajectory.v
    assert np.abs(v[late]).max() < 1e-3
    gravity = pysim.generalized_gravity(run.model, q[late])
    order = [run.model.velocity_names.index(name) for name in LEGS]
    np.testing.assert_allclose(signals["pd"][late], gravity[:, order], atol=2e-3)
    np.testing.assert_allclose(
        stance[late] - q[late][:, order], gravity[:, order] / 85.0, atol=3e-5
    )


def cable_robot(run: Run) -> None:
    t, signals = run.trajectory.t, run.trajectory.signals
    poses = {0.0: [0.0, 0.0, 1.0], 8.0: [0.0, -0.3, 1.2]}
    for time, wanted in poses.items():
        row = int(np.argmin(np.abs(t - time)))
        np.testing.assert_allclose(run.trajectory.q[row, :3], wanted, atol=1e-4)
        np.testing.assert_allclose(run.trajectory.q[row, 3:6], 0, atol=1e-4)
    for time, wanted in {2.0: [0.5, 0.3, 1.3], 4.0: [-0.5, 0.2, 0.8]}.items():
        row = int(np.argmin(np.abs(t - time)))
        np.testing.assert_allclose(run.trajectory.q[row, :3], wanted, atol=2e-3)
    for k in range(8):
        assert (signals[f"rope {k + 1}.length"] > signals["lengths"][:, k]).all()


def cart_pole(run: Run) -> None:
    """Hold that the gain is the regulator's of the pole upright, and that the cart ends where it should."""
    open_loop = pysim.load_scene(
        SCENES / "cart_pole.toml", {"controller[0].gain": [[0.0, 0.0, 0.0, 0.0]]}
    )
    system = pysim.linearize(open_loop, ["push"], state=([0.0, 0.0], [0.0, 0.0]))
    K = pysim.lqr(system, [10, 20, 1, 1], 0.5).K
    blocks = pysim.load_scene(SCENES / "cart_pole.toml").spec.blocks
    used = next(block.parameters["gain"] for block in blocks if block.name == "balance")
    np.testing.assert_allclose(np.array(used), K, rtol=1e-8)
    assert np.abs(run.trajectory.q[-1]).max() < 1e-3
    assert np.abs(run.trajectory.q[:, 1]).max() < 0.21


def car_over_bump(run: Run) -> None:
    """Hold the response of the linear equations of a quarter car."""
    t, m, n, k, d, tyre = run.trajectory.t, 300.0, 40.0, 20e3, 1500.0, 180e3
    road = PchipInterpolator([0, 0.5, 0.525, 0.55, 0.575, 0.6, 4], [0, 0, 0.04, 0.08, 0.04, 0, 0])

    def rate(time: float, x: NDArray[np.float64]) -> list[float]:
        body, wheel, body_rate, wheel_rate = x
        strut = k * (wheel - body) + d * (wheel_rate - body_rate)
        return [
            body_rate,
            wheel_rate,
            strut / m,
            (tyre * (float(road(time)) - wheel) - strut) / n,
        ]

    exact = solve_ivp(rate, (0, 3), [0.0] * 4, t_eval=t, rtol=1e-9, atol=1e-12, max_step=0.01).y
    wheel = run.trajectory.q[:, 0] - run.trajectory.q[0, 0]
    body = run.trajectory.q.sum(axis=1) - run.trajectory.q[0].sum()
    np.testing.assert_allclose(wheel, exact[1], atol=2e-6)
    np.testing.assert_allclose(body, exact[0], atol=2e-6)


LEGS = tuple(
    f"{leg}_{joint}" for leg in ("LF", "LH", "RF", "RH") for joint in ("HAA", "HFE", "KFE")
)

CLAIMS: dict[str, Callable[[Run], None]] = {
    "servo_pid": servo_pid,
    "cart_pole": cart_pole,
    "car_over_bump": car_over_bump,
    "motor_run_up": motor_run_up,
    "tracking_arm": tracking_arm,
    "instrumented_top": instrumented_top,
    "rope_and_pulley": rope_and_pulley,
    "catapult": catapult,
    "anymal_in_the_air": anymal_in_the_air,
    "cable_robot": cable_robot,
}
