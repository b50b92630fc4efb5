"""Stiff springs of ball and free joints in convex steps.

Oracles: the same spring on a revolute joint, the balance of a weight by hand, energy, which such steps only lose, and
generalised α, whose Newton's method has all derivatives.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

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


def chain(integrator, step, stiffness, phi, *, bodies, tail=0, kind="ball"):
    """Bodies on ball joints, and behind them a tail of light ones."""
    builder = pysim.SceneBuilder("chain", gravity=[0, 0, -9.81])
    rpy = Rotation.from_rotvec(phi).as_euler("xyz").tolist()
    for k in range(bodies + tail):
        if k < bodies:
            body = {"mass": 2.0, "com": [0, 0, 0.3], "inertia": {"xx": 0.3, "yy": 0.25, "zz": 0.1}}
            spring = {"stiffness": stiffness, "start": {"rpy": rpy}}
        else:
            inertia = {"xx": 1e-3, "yy": 1e-3, "zz": 1e-3}
            body = {"mass": 0.1, "com": [0, 0, 0.05], "inertia": inertia}
            spring = {"stiffness": 5.0, "damping": 0.01}
        builder.body(f"body{k}", **body)
        builder.joint(
            f"joint{k}", kind if k == 0 else "ball", child=f"body{k}",
            parent=f"body{k - 1}" if k else "world", at={"xyz": [0, 0, 0.3 if k else 0.0]}, **spring,
        )  # fmt: skip
    builder.simulation(duration=0.2, step=step, integrator=integrator)
    builder.output(every=0.2)
    return builder.build()


ANISOTROPIC = [
    ([1e7, 10, 10], [0, 0.9, 0.8]),
    ([10, 1e7, 30], [1, 0, 1.1]),
    ([300, 20, 5], [0.3, 0.9, 0.8]),
]


@pytest.mark.parametrize(("stiffness", "phi"), ANISOTROPIC)
@pytest.mark.parametrize(("bodies", "tail"), [(1, 0), (2, 0), (2, 13)], ids=["one", "two", "deep"])
def test_a_stiff_axis_leaves_the_soft_ones_free_at_any_angle(stiffness, phi, bodies, tail):
    """An error of the order of the step; a diagonal that bounds the block would hold the soft axes as well."""
    keys = {"bodies": bodies, "tail": tail}
    exact = pysim.simulate(chain("generalized_alpha", 2.5e-4, stiffness, phi, **keys)).q[-1]
    errors = [
        np.abs(pysim.simulate(chain("convex", h, stiffness, phi, **keys)).q[-1] - exact).max()
        for h in (1e-3, 2.5e-4)
    ]
    assert errors[0] < 0.04
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.35)


@pytest.mark.parametrize(("stiffness", "phi"), ANISOTROPIC)
def test_springs_of_a_free_joint_couple_its_axes(stiffness, phi):
    spring = [2e3, 5e2, 1e3, *stiffness]
    exact = pysim.simulate(chain("generalized_alpha", 2.5e-4, spring, phi, bodies=1, kind="free"))
    coarse, fine = (
        np.abs(pysim.simulate(chain("convex", h, spring, phi, bodies=1, kind="free")).q[-1] - exact.q[-1]).max()
        for h in (1e-3, 2.5e-4)
    )  # fmt: skip
    assert coarse < 0.05
    assert coarse / fine == pytest.approx(4, rel=0.5)


def test_one_step_solves_with_the_whole_block():
    """A (v₁ − v₀) = h τ − h² B v₀ at rest, with M and B by hand."""
    stiffness, phi = np.array([1e7, 10, 300]), np.array([0.4, -0.7, 1.1])
    scene = chain("convex", 1e-3, stiffness.tolist(), phi, bodies=1)
    worlds = pysim.Worlds(scene, 1)
    tau = pysim.passive_forces(scene.model, worlds.q[0], worlds.v[0])
    tau = tau - pysim.generalized_gravity(scene.model, worlds.q[0])
    inverse = np.linalg.inv(right_jacobian(phi))
    block = inverse.T @ np.diag(stiffness) @ inverse
    A = pysim.crba(scene.model, worlds.q[0]) + 1e-6 * block
    worlds.step(steps=1)
    np.testing.assert_allclose(worlds.v[0], 1e-3 * np.linalg.solve(A, tau), rtol=1e-6, atol=1e-9)


def right_jacobian(phi):
    angle = np.linalg.norm(phi)
    x, y, z = phi
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    a, b = (1 - np.cos(angle)) / angle**2, (angle - np.sin(angle)) / angle**3
    return np.eye(3) - a * cross + b * cross @ cross
