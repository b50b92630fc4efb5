"""Motion without contact in scenes of the convex step: energy and momentum of bodies and robots in flight.

Oracle: conservation of energy and angular momentum without gravity.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import pysim
from tests.contact.scenes import GROUND, free_body, ran, robots, world


def stick(tmp_path: Path, radius: float, spin: float, step: float, **changes) -> pysim.Scene:
    """A thin capsule far above the ground that spins about an axis oblique to its own."""
    v = spin * np.array([0.48, 0.64, 0.6])
    return free_body(
        tmp_path,
        shape=f"{{ capsule = {{ radius = {radius}, length = 0.5 }} }}",
        mass=1.0,
        start=f"{{ xyz = [0, 0, 9], v = [0.2, 0, 0, {v[0]}, {v[1]}, {v[2]}] }}",
        surface="friction = 0.5",
        gravity=(0, 0, 0),
        duration=1.0,
        every=0.05,
        step=step,
        **changes,
    )


@pytest.mark.parametrize("radius", [0.03, 0.02, 0.004, 0.002])  # inertia ratios 38 to 10⁴
@pytest.mark.parametrize("turn", [0.02, 0.1, 0.29])  # h |ω|
def test_a_thrown_stick_keeps_its_energy_and_angular_momentum(
    tmp_path: Path, radius: float, turn: float
) -> None:
    trajectory = ran(scene := stick(tmp_path, radius, 20.0, turn / 20.0))
    h = pysim.centroidal_momentum(scene.model, trajectory.q, trajectory.v)[:, 3:]
    assert np.abs(trajectory.kinetic / trajectory.kinetic[0] - 1).max() < 1e-9
    assert np.abs(h - h[0]).max() < 1e-11 * np.linalg.norm(h[0])


def test_a_stick_that_spins_faster_than_the_step_resolves_keeps_its_energy(tmp_path: Path) -> None:
    trajectory = ran(stick(tmp_path, 0.002, 20.0, 0.05))  # h |ω| = 1
    assert np.abs(trajectory.kinetic / trajectory.kinetic[0] - 1).max() < 1e-9


@pytest.mark.parametrize("accuracy", [1e-2, 1e-4])
def test_a_thrown_stick_gains_no_energy_under_error_control(
    tmp_path: Path, accuracy: float
) -> None:
    scene = stick(tmp_path, 0.002, 20.0, 0.01, run=f"accuracy = {accuracy}")
    trajectory = ran(scene)
    assert (trajectory.kinetic / trajectory.kinetic[0] - 1).max() < 1e-3


ROBOTS = {
    "g1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "talos": "talos_data/robots/talos_reduced.urdf",
    "anymal": "anymal_b_simple_description/robots/anymal.urdf",
}


def robot_in_flight(tmp_path: Path, name: str, step: float = 1e-3) -> pysim.Scene:
    """A robot far above the ground, without gravity, stops, damping and friction in its joints."""
    share = robots() / "example-robot-data/robots"
    text = (share / ROBOTS[name]).read_text("utf-8").replace('type="revolute"', 'type="continuous"')
    (tmp_path / "robot.urdf").write_text(re.sub(r"<dynamics[^>]*/>", "", text), "utf-8")
    scene = f"""
gravity = [0, 0, 0]
[[ground]]
plane = {{ offset = -50.0 }}
[[model]]
file = "robot.urdf"
free_base = true
collision = "none"
[simulation]
integrator = "convex"
duration = 0.5
step = {step}
[output]
every = 0.01
"""
    (tmp_path / "scene.toml").write_text(scene, "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pysim.PysimWarning)  # about parts of the files
        return pysim.load_scene(tmp_path / "scene.toml", package_dirs=[robots(), share])


def flown(scene: pysim.Scene, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, v and the energy over its value at the start, at five outputs in half a second."""
    steps = round(0.5 / scene.settings.step)
    run = pysim.rollout(scene, scene.state.q[None], v[None], steps=steps, every=steps // 5)
    q, v = run.q.reshape(-1, scene.model.nq), run.v.reshape(-1, scene.model.nv)
    kinetic = np.asarray(pysim.kinetic_energy(scene.model, q, v))
    return q, v, kinetic / kinetic[0]


@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_in_flight_keeps_its_energy_and_momentum(
    tmp_path: Path, rng: np.random.Generator, name: str
) -> None:
    scene = robot_in_flight(tmp_path, name)
    for signs in (np.ones(scene.model.nv - 6), np.sign(rng.normal(size=scene.model.nv - 6))):
        v = np.concatenate([[0.5, 0, 0.2, 0, 0, 0], 5.0 * signs])  # joints at 5 rad/s
        q, v, energy = flown(scene, v)
        h = pysim.centroidal_momentum(scene.model, q, v)
        assert np.abs(energy - 1).max() < 1e-3
        assert np.abs(h - h[0]).max() < 2e-2 * np.abs(h[0]).max()


def test_the_energy_of_a_robot_in_flight_has_order_two(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    errors = []
    for step in (4e-3, 2e-3):
        scene = robot_in_flight(tmp_path, "anymal", step)
        v = np.concatenate([np.zeros(6), 5.0 * np.ones(12)])
        errors.append(np.abs(flown(scene, v)[2] - 1).max())
    assert errors[1] < errors[0] / 3


def test_the_motion_of_a_robot_in_flight_does_not_depend_on_the_other_worlds(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    scene = robot_in_flight(tmp_path, "anymal")
    v = rng.normal(size=(11, 18)) * 10.0 ** rng.uniform(-3, 1.5, (11, 1))
    v[4] = 0
    q = np.tile(scene.state.q, (11, 1))
    together = pysim.rollout(scene, q, v, steps=50, every=50)
    for k in range(11):
        alone = pysim.rollout(scene, q[k : k + 1], v[k : k + 1], steps=50, every=50)
        np.testing.assert_array_equal(together.q[k], alone.q[0])
        np.testing.assert_array_equal(together.v[k], alone.v[0])


def thin_sticks(root: str, axis: list[float], start: str, *, collision: bool = False) -> str:
    shape = "shape = { capsule = { radius = 0.002, length = 0.5 } }\nmass = 1.0"
    shape += "\ncollision = true" * collision
    return f"""
[[body]]
name = "a"
{shape}
[[body]]
name = "b"
{shape}
[[joint]]
name = "root"
type = "free"
child = "a"
{root}
[[joint]]
name = "hinge"
type = "revolute"
parent = "a"
child = "b"
at = {{ xyz = [0, 0, 0.25] }}
axis = {axis}
start = {start}
"""


@pytest.mark.parametrize("axis", [[1, 0, 0], [0, 1, 0]])
@pytest.mark.parametrize("spin", [5.0, 20.0])
def test_two_thin_sticks_on_a_hinge_keep_their_energy(
    tmp_path: Path, axis: list[float], spin: float
) -> None:
    bodies = thin_sticks("", axis, start="0.5")
    scene = world(tmp_path, bodies, gravity=(0, 0, 0), duration=0.5, run='integrator = "convex"')
    v = np.concatenate([[0.2, 0, 0], spin * np.array([0.48, 0.64, 0.6]), [5.0]])
    assert np.abs(flown(scene, v)[2] - 1).max() < 1e-3


def test_a_run_whose_free_motion_gains_energy_is_warned_of(tmp_path: Path) -> None:
    root = "start = { xyz = [0, 0, 9], v = [0.2, 0, 0, 2.4, 3.2, 3] }"
    bodies = thin_sticks(root, [1, 0, 0.1], start="{ q = 0.5, v = 5.0 }", collision=True)
    bodies += '[[exclude]]\nbetween = ["a", "b"]\n'
    scene = world(tmp_path, bodies + GROUND, gravity=(0, 0, 0), duration=1.0, every=0.01)
    with pytest.warns(pysim.PysimWarning, match="the run gained .* J .* without work"):
        trajectory = pysim.simulate(scene)
    assert trajectory.energy[-1] > 1.05 * trajectory.energy[0]
