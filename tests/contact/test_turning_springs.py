"""Stiff springs of ball and free joints in convex steps.

Oracles: the same spring on a revolute joint, the balance of a weight by hand, and energy, which such steps only lose.
"""

from __future__ import annotations

import numpy as np
import pytest

import pysim

STEP = 1e-3  # [s]


def scene(kind, **keys):
    builder = pysim.SceneBuilder("sprung", gravity=[0, 0, -9.81])
    builder.body("body", mass=1.0, com=[0.5, 0, 0], inertia={"xx": 0.1, "yy": 0.1, "zz": 0.1})
    axis = {"axis": [0, 1, 0]} if kind == "revolute" else {}
    builder.joint("joint", kind, child="body", **axis, **keys)
    builder.simulation(duration=0.2, step=STEP, integrator="convex")
    return builder.build()


def test_a_ball_joint_is_as_stable_under_a_stiff_spring_as_a_revolute_joint():
    ball = pysim.simulate(scene("ball", stiffness=1e7))
    revolute = pysim.simulate(scene("revolute", stiffness=1e7))
    np.testing.assert_allclose(ball.v[:, 1], revolute.v[:, 0], rtol=1e-9, atol=1e-15)
    assert 2 * ball.q[-1, 1] == pytest.approx(9.81 * 0.5 / 1e7, rel=1e-3)


def test_a_soft_spring_of_a_ball_joint_is_that_of_a_revolute_joint_about_an_axis():
    start = {"rpy": [0, 0.4, 0]}
    ball = pysim.simulate(scene("ball", stiffness=30.0, start=start))
    revolute = pysim.simulate(scene("revolute", stiffness=30.0, start=0.4))
    angle = 2 * np.arctan2(ball.q[:, 1], ball.q[:, 3])
    np.testing.assert_allclose(angle, revolute.q[:, 0], atol=1e-10)


def test_a_stiff_spring_holds_a_free_body_in_place():
    run = pysim.simulate(scene("free", stiffness=1e8, start={"v": [1, -2, 3, 4, 5, -6]}))
    assert np.abs(run.v[-1]).max() < 1e-6
    assert run.q[-1, 2] == pytest.approx(-9.81 / 1e8, rel=1e-2)


@pytest.mark.parametrize("stiffness", [[1e7, 1e3, 1e5], [1e2, 1e6, 1e6], [1e6, 1e6, 1.0]])
@pytest.mark.parametrize("rpy", [[0.5, 0.8, 1.0], [2.0, -1.0, 0.3]])
def test_unequal_stiffnesses_far_from_rest_lose_energy(stiffness, rpy):
    start = {"rpy": rpy, "v": [3.0, 2.0, 1.0]}
    run = pysim.simulate(scene("ball", stiffness=stiffness, start=start))
    energy = run.energy
    assert np.isfinite(energy).all()
    assert energy[-1] < energy[0]
    assert energy.max() < energy[0] * (1 + 1e-6)
