"""Wheels that roll without slipping, against closed forms.

Down a slope: a = g sin β / (1 + I/(m r²)). In a circle, the steady motion of a leaning disk, from Newton and Euler in
the frame that turns with it: (I₃ + m r²) ω₃ Ω sin α + m g r cos α = I₁ Ω² sin α cos α, α between axis and vertical;
the centre goes round a circle of radius r |ω₃/Ω|. Energy is kept by every scheme that may roll.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.inertia import theta_from_com
from pysim.loops import actuation_map, constraints, mobility, project
from pysim.scene.spec import BodySpec, LoopSpec, ModelSpec
from pysim.worlds.loading import compile_model
from tests.oracles.mechanisms import make_joint
from tests.oracles.spatial import pose, quaternion_rotation, rotation

SCENE = Path(__file__).parents[2] / "scenes" / "rolling_disk.toml"
M, R, G = 15.0, 1.0, 9.81  # [kg], [m], [m/s²]
ROUND, ACROSS = M * R**2 / 2, M * R**2 / 4  # [kg·m²] about the axis, about a diameter


def disk(slope: float = 0.0) -> pysim.Model:
    """A disk on a plane that falls along x."""
    theta = theta_from_com(M, [0, 0, 0], np.diag([ACROSS, ACROSS, ROUND]))
    joint = make_joint("fly", "free", "world", "disk")
    plane = pose(rotation([0, 1, 0], slope), np.zeros(3))
    wheel = LoopSpec("wheel", "wheel_on_plane", "world", "disk", plane, np.eye(4), radius=R)
    gravity = np.array([0, 0, -G])
    bodies = (BodySpec("disk", theta),)
    return compile_model(ModelSpec("disk", gravity, bodies, (joint,), loops=(wheel,)))


def leaning(alpha: float) -> np.ndarray:
    """A configuration whose axis is `alpha` [rad] off the vertical, in the plane of y and z."""
    return np.array([0, 0, R * np.sin(alpha), np.sin(-alpha / 2), 0, 0, np.cos(alpha / 2)])


def test_a_disk_rolls_down_a_slope_at_two_thirds_of_its_pull() -> None:
    slope, time = 0.3, 2.0
    model = disk(slope)
    turned = rotation([0, 1, 0], slope) @ rotation([1, 0, 0], -np.pi / 2)
    upright = pysim.spatial.quaternion_from_rotation(turned)
    q0 = np.concatenate([rotation([0, 1, 0], slope) @ [0, 0, R], upright])
    q, v = pysim.rollout(model, q0, np.zeros(6), None, 1e-3, steps=2000)
    travel = 2 / 3 * G * np.sin(slope) * time**2 / 2
    down = rotation([0, 1, 0], slope)[:, 0]
    assert (q[-1, :3] - q0[:3]) @ down == pytest.approx(travel, rel=1e-11)
    assert v[-1, 5] == pytest.approx(2 / 3 * G * np.sin(slope) * time / R, rel=1e-12)


@pytest.mark.parametrize(
    "integrator", ["rk4", "rk2", "semi_implicit", "implicit_midpoint", "generalized_alpha"]
)
def test_a_leaning_disk_goes_round_in_the_circle_of_theory(integrator: str) -> None:
    alpha, turn = 1.2, 2.5  # [rad], [rad/s]
    pull = ACROSS * turn**2 * np.sin(alpha) * np.cos(alpha) - M * G * R * np.cos(alpha)
    spin = pull / ((ROUND + M * R**2) * turn * np.sin(alpha))
    model, q0 = disk(), leaning(alpha)
    w = np.array([0, -turn * np.sin(alpha), spin])  # y of the disk points down along it
    v0 = np.concatenate([-np.cross(w, [0, R, 0]), w])  # what touches rests
    assert np.abs(constraints(model, q0, v0).jacobian @ v0).max() < 1e-14
    rows, radius = 41, R * abs(spin / turn)
    q, _ = pysim.rollout(model, q0, v0, None, 1e-4, integrator, steps=100 * (rows - 1), every=100)
    axes = quaternion_rotation(q[:, 3:].T)[:, 2]
    t = np.linspace(0, 0.4, rows)
    error = {"rk4": 1e-12, "semi_implicit": 5e-4}.get(integrator, 1e-6)
    np.testing.assert_allclose(axes[2], np.cos(alpha), atol=error)
    np.testing.assert_allclose(np.arctan2(axes[0], axes[1]), -turn * t, atol=error)
    chord = np.linalg.norm(q[:, :2] - q[0, :2], axis=1)
    np.testing.assert_allclose(chord, 2 * radius * np.sin(turn * t / 2), atol=error)


def test_a_wobbling_disk_keeps_its_energy_and_never_slips() -> None:
    scene = pysim.load_scene(SCENE)
    trajectory = pysim.simulate(scene)
    scale = trajectory.kinetic.max()
    assert np.abs(trajectory.energy - trajectory.energy[0]).max() < 1e-9 * scale
    at = constraints(scene.model, trajectory.q, trajectory.v)
    assert np.abs(at.residual).max() < 1e-13
    assert np.abs(np.einsum("nij,nj->ni", at.jacobian, trajectory.v)).max() < 1e-12


def test_a_cart_on_four_wheels_rolls_down_a_slope_and_not_aside() -> None:
    """All its mass falls, the wheels turn as well: a = g sin β (m + 4 μ) / (m + 4 μ + 4 I/r²)."""
    slope, m, mu, r, steps = 0.2, 10.0, 1.0, 0.3, 500
    turn = mu * r**2 / 2
    wheel = theta_from_com(mu, [0, 0, 0], np.diag([turn / 2, turn / 2, turn]))
    bodies = [BodySpec("cart", theta_from_com(m, [0, 0, 0], np.diag([1.0, 2.0, 2.0])))]
    joints = [make_joint("fly", "free", "world", "cart")]
    plane, loops = pose(rotation([0, 1, 0], slope), np.zeros(3)), []
    for k, (x, y) in enumerate([(1, 0.5), (1, -0.5), (-1, 0.5), (-1, -0.5)]):
        at = pose(rotation([1, 0, 0], -np.pi / 2), np.array([x, y, 0]))
        bodies.append(BodySpec(f"wheel{k}", wheel))
        joints.append(make_joint(f"axle{k}", "revolute", "cart", f"wheel{k}", at))
        kind = ("wheel_on_plane", "world", f"wheel{k}", plane, np.eye(4))
        loops.append(LoopSpec(f"tyre{k}", *kind, radius=r))
    gravity = np.array([0, 0, -G])
    spec = ModelSpec("cart", gravity, tuple(bodies), tuple(joints), loops=tuple(loops))
    model = compile_model(spec)
    R = rotation([0, 1, 0], slope)
    q0 = np.concatenate([R @ [0, 0, r], pysim.spatial.quaternion_from_rotation(R), np.zeros(4)])
    q, v = pysim.rollout(model, q0, np.zeros(model.nv), None, 1e-3, steps=steps)
    weight = m + 4 * mu
    speed = G * np.sin(slope) * weight / (weight + 4 * turn / r**2) * steps * 1e-3
    np.testing.assert_allclose(v[-1, :6], [speed, 0, 0, 0, 0, 0], atol=1e-10)
    np.testing.assert_allclose(v[-1, 6:], speed / r, atol=1e-9)
    np.testing.assert_allclose(R.T @ q[-1, :3], [speed * steps * 5e-4, 0, r], atol=1e-10)


def test_a_wheel_leaves_three_velocities() -> None:
    model = disk()
    assert mobility(model, leaning(1.0)).degrees == 3


def test_a_start_is_set_on_the_ground_and_its_slip_taken_away() -> None:
    model = disk()
    q = leaning(1.0)
    q[2] += 0.2
    state = project(model, q, np.array([0.3, 0.1, -0.2, 0.5, 1.0, 2.0]))
    at = constraints(model, state.q, state.v)
    assert np.abs(at.residual).max() < 1e-13
    assert np.abs(at.jacobian @ state.v).max() < 1e-13


@pytest.mark.parametrize("integrator", ["variational", "variational4"])
def test_a_scheme_that_lets_wheels_slip_is_rejected(integrator: str) -> None:
    problem = f"'{integrator}' lets the wheel 'wheel' slip; choose one of semi_implicit, rk2, rk4"
    with pytest.raises(pysim.PysimError, match=problem):
        pysim.rollout(disk(), leaning(1.0), np.zeros(6), None, 1e-3, integrator, steps=2)
    with pytest.raises(pysim.SceneError, match=r"simulation\.integrator: .*lets the wheel"):
        pysim.load_scene(SCENE, {"simulation.integrator": integrator})


def test_torque_derivatives_of_a_rolling_wheel_are_rejected() -> None:
    model = disk()
    at = actuation_map(model, leaning(1.0), ["fly.wx", "fly.wy", "fly.wz"])
    with pytest.raises(
        pysim.PysimError, match="the position of the wheel 'wheel' depends on its path"
    ):
        at.torque_derivatives(np.zeros(3), np.zeros(3))


def test_a_wheel_needs_a_radius(tmp_path: Path) -> None:
    text = SCENE.read_text("utf-8")
    path = tmp_path / "s.toml"
    path.write_text("\n".join(x for x in text.splitlines() if not x.startswith("radius")), "utf-8")
    with pytest.raises(
        pysim.SceneError, match=r"loop\[0\]\.radius: is missing; add it: of the wheel"
    ):
        pysim.load_scene(path)


@pytest.mark.parametrize("step", [1e-3, 3e-3])
def test_a_disk_that_whirls_nearly_flat_does_not_slip_in_coarse_steps(step: float) -> None:
    """The state before projection is far off: 2e-4 m and 4e-2 m/s, and nine times as much."""
    changes = {
        "joint.free.start": {"rpy": [-0.15, 0, 0], "v": [0, 0, 0, -8.4, 7.9, 1.8]},
        "simulation": {"integrator": "semi_implicit", "step": step, "duration": 0.09},
        "output.every": step,
    }
    scene = pysim.load_scene(SCENE, changes)
    run = pysim.simulate(scene)
    slip = np.einsum("nij,nj->ni", constraints(scene.model, run.q).jacobian, run.v)
    np.testing.assert_allclose(slip, 0, atol=1e-12)


def test_a_wheel_that_lies_flat_is_rejected_at_the_start() -> None:
    flat = {"joint.free.start": {"xyz": [0, 0, 0], "rpy": [0, 0, 0.3], "v": [0, 0, 0, 0, 0, 1]}}
    with pytest.raises(
        pysim.ModelError, match=r"wheel of loop 'floor' lies flat on its plane; tilt its axis"
    ):
        pysim.load_scene(SCENE, flat)
