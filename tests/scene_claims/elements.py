"""Claims of the scenes with muscles, tyres, magnets, friction, propellers and air.

Oracles: closed forms of their final states, the bicycle model, the period of Canudas de Wit et al. (1995), and the
equations of a muscle of constant length.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import pysim
from pysim.elements.library.muscles.millard_muscle import MillardMuscle
from tests.scene_runs import G, Run, constant


def quadrotor(run: Run) -> None:
    """Hold that it hovers in the end, at its last waypoint."""
    hover = np.sqrt(1.2 * G / (4 * 1.2e-5))
    np.testing.assert_allclose(run.trajectory.signals["pilot"][-1], hover, rtol=2e-3)
    np.testing.assert_allclose(run.trajectory.q[-1, :3], [0, 0, 2], atol=0.02)
    np.testing.assert_allclose(run.trajectory.v[-1], 0, atol=0.02)
    assert run.trajectory.q[:, 2].min() > 0.0  # above the floor


def stick_slip(run: Run) -> None:
    """Hold the period of the published curve, and that the block sticks before it slips."""
    t, v = run.trajectory.t, run.trajectory.v[:, 0]
    slips = t[1:][(v[1:] > 0.05) & (v[:-1] <= 0.05)]
    np.testing.assert_allclose(slips, 7.5404 + 6.36272 * np.arange(len(slips)), atol=0.011)
    assert len(slips) == 4
    assert np.abs(v[t < 7]).max() < 1e-4
    constant(run.trajectory.energy_balance, 1e-10)


def skid_pad(run: Run) -> None:
    """Hold the yaw rate of the bicycle model with the tyres' cornering stiffness."""
    mass, front, rear = 1200.0, 1.1, 1.4
    length = front + rear

    def stiffness(load: float) -> float:
        """Return that of an axle [N/rad]."""
        per_degree = 2 * 1100 * np.sin(2 * np.arctan(load / 2e3 / 10))
        return float(per_degree * 180 / np.pi)

    Cf, Cr = (stiffness(mass * G * arm / length) for arm in (rear, front))
    understeer = mass / length * (rear / Cf - front / Cr)
    speed = np.hypot(*run.trajectory.v[-1, :2])
    rate = speed * 0.055 / (length + understeer * speed**2)
    late = run.trajectory.t > 20
    np.testing.assert_allclose(run.trajectory.v[late, 2], rate, rtol=3e-3)
    assert abs(rate * length / 0.055 / speed - 1) > 0.01  # which tyres without slip would not have


def rough_road(run: Run) -> None:
    """Hold that it stands still on the flat, and that the bump meets the rear wheel 2.4 m after the front one."""
    t, strut = run.trajectory.t, run.trajectory.q[:, [3, 5]]
    np.testing.assert_allclose(strut[t < 0.25] - strut[0], 0, atol=1e-3)
    first, second = ((t > start) & (t < start + 0.15) for start in (0.3, 0.5))
    peaks = t[first][np.argmax(strut[first, 0])], t[second][np.argmax(strut[second, 1])]
    np.testing.assert_allclose(peaks[1] - peaks[0], 2.4 / 12.0, atol=0.01)
    assert strut[:, 0].max() - strut[0, 0] > 0.04


def magnetic_pendulum(run: Run) -> None:
    """Hold that it rests beside a magnet, where the sum of all energies has no slope."""
    constant(run.trajectory.energy_balance, 1e-8)
    q, v = run.trajectory.q, run.trajectory.v
    place = pysim.frame_placement(run.model, q, "rod")
    tip = place[:, :2, 3] - 0.46 * place[:, :2, 2]
    angles = 2 * np.pi / 3 * np.arange(3)
    magnets = 0.09 * np.column_stack([np.cos(angles), np.sin(angles)])
    apart = np.linalg.norm(tip[:, None] - magnets, axis=2)
    assert np.abs(v[-1]).max() < 0.03
    assert apart[-1].min() < 0.03
    assert (np.diff(apart.argmin(axis=1)) != 0).sum() > 10  # it has been nearest to each of them


def balloon(run: Run) -> None:
    lift = 4.18879 * 1.2 * 9.81 - 3 * G
    drag = 0.5 * 1.2 * 0.47 * 3.14159 * 4**2
    x, _, z = run.trajectory.q[-1, :3]
    np.testing.assert_allclose(np.arctan2(x, z), np.arctan2(drag, lift), atol=2e-3)
    length = 8.0 + np.hypot(lift, drag) / 4000 + 1.05
    np.testing.assert_allclose(np.hypot(x, z), length, rtol=1e-4)


def elbow(run: Run) -> None:
    """Hold an isometric contraction up to the release, and a balance of moments in the end."""
    t, signals = run.trajectory.t, run.trajectory.signals
    muscle = MillardMuscle(
        excitation="u",
        max_isometric_force=1100.0,
        optimal_fibre_length=0.13,
        tendon_slack_length=0.155,
    )
    fibre, length = signals["biceps.fibre_length"], path_lengths(run)

    def rate(time: float, x: NDArray[np.float64]) -> list[float]:
        u = 0.5 if time >= 0.1 else 0.02
        a = max(x[0], 0.01)
        scale = 0.5 + 1.5 * a
        slow = 0.01 * scale if u > x[0] else 0.04 / scale
        pull = muscle.tension(length[0], x[1]) / 1100
        velocity = muscle.fibre_velocity(a, x[1] / 0.13, 1.0, pull)
        return [(u - x[0]) / slow, 0.13 * float(velocity)]

    held = t < 0.6
    exact = solve_ivp(
        rate, (0, 0.6), [0.05, fibre[0]], t_eval=t[held], rtol=1e-7, atol=1e-9, max_step=0.01
    ).y
    np.testing.assert_allclose(signals["biceps.activation"][held], exact[0], atol=2e-3)
    np.testing.assert_allclose(fibre[held], exact[1], atol=2e-4)
    assert run.trajectory.v[(t > 0.61) & (t < 0.7), 0].min() > 0.3  # the quick release
    tension = [muscle.tension(length[k], float(fibre[k])) for k in (59, 80, -1)]
    assert tension[1] < 0.7 * tension[0]
    assert np.abs(run.trajectory.a[-1]).max() < 0.05  # rest: all moments are in balance


def leg_swinging(run: Run) -> None:
    """Hold the motion that OpenSim 4.6 computes of the model with the same excitations, with an accuracy of 1e-8."""
    times = np.arange(6) / 5
    hip = [-0.2, -0.090407689, 0.2132976, 0.236259601, -0.482181553, -1.031356]
    knee = [-0.3, -0.152673141, 0.0187324783, 0.0895534507, 0.0306326347, 0.000958122747]
    ankle = [0.1, 0.301849184, -0.0128197804, -0.139317418, -0.346137064, -0.475432242]
    rows = np.searchsorted(run.trajectory.t, times - 1e-9)
    np.testing.assert_allclose(
        run.trajectory.q[rows], np.column_stack([hip, knee, ankle]), atol=1e-5
    )


def path_lengths(run: Run) -> NDArray[np.float64]:
    """Return the lengths of the biceps."""
    bend = run.trajectory.q[:, 0]
    first, second, end = (0.045, 0.28), (0.05, 0.14), (0.015, -0.045)
    x = np.cos(bend) * end[0] - np.sin(bend) * end[1]
    z = np.sin(bend) * end[0] + np.cos(bend) * end[1]
    straight = np.hypot(second[0] - first[0], second[1] - first[1])
    return np.asarray(straight + np.hypot(x - second[0], z - second[1]), float)


CLAIMS: dict[str, Callable[[Run], None]] = {
    "quadrotor": quadrotor,
    "stick_slip": stick_slip,
    "skid_pad": skid_pad,
    "rough_road": rough_road,
    "magnetic_pendulum": magnetic_pendulum,
    "balloon": balloon,
    "elbow": elbow,
    "leg_swinging": leg_swinging,
}
