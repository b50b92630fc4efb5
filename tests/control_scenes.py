"""Claims of the scenes with signals. Oracles: closed forms of their final states and of steady precession."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.scene_runs import G, Run


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


CLAIMS: dict[str, Callable[[Run], None]] = {
    "servo_pid": servo_pid,
    "motor_run_up": motor_run_up,
    "tracking_arm": tracking_arm,
    "instrumented_top": instrumented_top,
}
