"""Recorded forces of springs and force plugins.

Oracle: the power of the passive forces that the engine computes; the recorded numbers give the same with the motion of
what they act on.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.algorithms import frame_velocity, passive_forces
from pysim.render.plots.recorded_quantities import select
from pysim.simulation.force_records import ForceRecords

SCENE = """
name = "elements"
gravity = [0, 0, -9.81]

[[body]]
name = "first"
mass = 2.0
inertia = { xx = 0.1, yy = 0.2, zz = 0.15 }

[[body]]
name = "second"
mass = 1.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.05 }

[[joint]]
name = "float"
type = "free"
parent = "world"
child = "first"
start = { q = [0, 0, 1, 0, 0, 0, 1], v = [0.1, 0.2, 0.3, 1.0, -0.5, 0.4] }

[[joint]]
name = "hinge"
type = "revolute"
parent = "first"
child = "second"
axis = [0, 1, 0]
at = { xyz = [0.4, 0, 0] }
start = { q = 0.3, v = 0.7 }

[[force]]
name = "strut"
type = "spring"
a = "world"
b = "second"
at_a = [0, 0, 2]
at_b = [0.3, 0, 0.1]
stiffness = 50.0
damping = 3.0
length = 0.8

[[force]]
name = "rope"
type = "path_spring"
path = [
  { body = "world", point = [1, 1, 0] },
  { body = "first", point = [0, 0.2, 0] },
  { body = "second", point = [0.1, 0, 0] },
]
stiffness = 40.0
rest_length = 0.5
damping = 2.0

[[force]]
name = "return"
type = "coordinate_spring"
coordinates = ["hinge"]
stiffness = 7.0
damping = 0.4
rest = 0.1

[simulation]
duration = 0.5
step = 1e-3

[output]
every = 0.01
"""


@pytest.fixture
def scene(tmp_path: Path) -> pysim.Scene:
    path = tmp_path / "elements.toml"
    path.write_text(SCENE, "utf-8")
    return pysim.load_scene(path)


def test_the_power_of_recorded_forces_is_that_of_the_engine(scene: pysim.Scene) -> None:
    model, rng = scene.model, np.random.default_rng(3)
    q = np.array([model.random_configuration(rng) for _ in range(5)])
    v = rng.normal(size=(5, model.nv))
    records = ForceRecords(model)
    names = [column.name for column in records.columns]
    assert names == ["strut.tension", "rope.tension", "return.hinge"]
    assert [column.unit for column in records.columns] == ["N", "N", "N·m"]
    strut, rope, back = records.values(q, v).T
    rates = []
    for points in (
        [("world", (0, 0, 2)), ("second", (0.3, 0, 0.1))],
        [("world", (1, 1, 0)), ("first", (0, 0.2, 0)), ("second", (0.1, 0, 0))],
    ):
        ahead, behind = (_length(model, model.integrate(q, h * v), points) for h in (1e-6, -1e-6))
        rates.append((ahead - behind) / 2e-6)
    expected = np.einsum("ni,ni->n", passive_forces(model, q, v), v)
    found = -strut * rates[0] - rope * rates[1] + back * v[:, -1]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def _length(
    model: pysim.Model, q: np.ndarray, points: Sequence[tuple[str, Sequence[float]]]
) -> np.ndarray:
    places = []
    for link, at in points:
        pose = np.eye(4) if link == "world" else pysim.frame_placement(model, q, link)
        places.append(pose[..., :3, :3] @ np.array(at) + pose[..., :3, 3])
    return np.asarray(sum(np.linalg.norm(b - a, axis=-1) for a, b in pairwise(places)))


def test_the_power_of_a_recorded_wrench_is_that_of_the_engine(tmp_path: Path) -> None:
    path = tmp_path / "bushing.toml"
    start = SCENE.index("[[force]]")
    bushing = """
[[force]]
name = "mount"
type = "bushing"
a = "first"
b = "second"
at_a = { xyz = [0.1, 0.2, 0.3], rpy = [0.2, 0.1, 0.4] }
at_b = { xyz = [0, 0.1, 0], rpy = [0, 0.5, 0] }
stiffness = DIAGONAL
damping = DAMPING

"""
    for key, scale in (("DIAGONAL", 50.0), ("DAMPING", 2.0)):
        rows = np.diag(scale * np.arange(1, 7)).tolist()
        bushing = bushing.replace(key, str(rows))
    text = SCENE[:start] + bushing + SCENE[SCENE.index("[simulation]") :]
    path.write_text(text, "utf-8")
    model, rng = pysim.load_scene(path).model, np.random.default_rng(5)
    q = np.array([model.integrate(model.neutral(), 0.3 * rng.normal(size=7)) for _ in range(5)])
    v = rng.normal(size=(5, model.nv))
    records = ForceRecords(model)
    assert [c.name for c in records.columns] == [
        f"mount.{k}" for k in ("fx", "fy", "fz", "tx", "ty", "tz")
    ]
    wrench = records.values(q, v)
    X_B = model.frames["second"][1] @ _pose((0, 0.1, 0), 0.5)
    power = np.zeros(5)
    V_A, V_B = (frame_velocity(model, q, v, name, "aligned") for name in ("first", "second"))
    pose_A, pose_B = (pysim.frame_placement(model, q, name) for name in ("first", "second"))
    frame_B = pose_B @ X_B
    force, torque = (
        np.einsum("nij,nj->ni", frame_B[:, :3, :3], wrench[:, k : k + 3]) for k in (0, 3)
    )
    for V, pose, sign in ((V_B, pose_B, 1), (V_A, pose_A, -1)):
        arm = frame_B[:, :3, 3] - pose[:, :3, 3]
        linear = V[:, :3] + np.cross(V[:, 3:], arm)
        power += sign * (np.sum(force * linear, axis=1) + np.sum(torque * V[:, 3:], axis=1))
    expected = np.einsum("ni,ni->n", passive_forces(model, q, v), v)
    np.testing.assert_allclose(power, expected, rtol=1e-9)


def _pose(xyz: tuple[float, ...], pitch: float) -> np.ndarray:
    pose = np.eye(4)
    c, s = np.cos(pitch), np.sin(pitch)
    pose[:3, :3] = [[c, 0, s], [0, 1, 0], [-s, 0, c]]
    pose[:3, 3] = xyz
    return pose


def test_a_run_and_its_file_have_the_forces(scene: pysim.Scene, tmp_path: Path) -> None:
    run = pysim.simulate(scene, tmp_path / "run.h5")
    again = pysim.load_trajectory(tmp_path / "run.h5")
    expected = ForceRecords(scene.model).values(run.q, run.v)
    for trajectory in (run, again):
        np.testing.assert_allclose(trajectory.element_forces, expected, rtol=1e-12)
        assert trajectory.names["forces"] == ("strut.tension", "rope.tension", "return.hinge")
        assert trajectory.units["forces"] == ("N", "N", "N·m")
    for pattern in ("forces.strut", "strut.*"):
        (quantity,) = select(again, [pattern])
        assert (quantity.name, quantity.unit) == ("forces.strut.tension", "N")
        np.testing.assert_array_equal(quantity.values(), again.element_forces[:, 0])


CATAPULT = """
gravity = [0, 0, 0]

[[body]]
name = "mass"
mass = 2.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }

[[joint]]
name = "slide"
type = "prismatic"
axis = [1, 0, 0]
child = "mass"
start = { q = 1.0 }

[[force]]
name = "cord"
type = "path_spring"
path = [
  { body = "mass" },
  { body = "world", cylinder = 0.2, at = { xyz = [0, 0, 0], rpy = [1.5707963267948966, 0, 0] }, side = [0, 1, 0] },
  { body = "world", point = [-0.2, 0, -1.0] },
]
stiffness = 30.0
rest_length = 1.0
damping = 0.2
RELEASE
[simulation]
duration = 0.5
step = 1e-3
[output]
every = 0.01
"""
RELEASED = """
[[event]]
name = "let go"
joint = "slide"
at = 0.8
direction = "falling"
release = ["cord"]
"""


def cord_length(x: np.ndarray) -> np.ndarray:
    """Length of the cord from (x, 0), over a circle of the radius 0.2 about 0, to (−0.2, −1)."""
    tangent = np.sqrt(x * x - 0.04)
    return tangent + 0.2 * (np.pi - np.arccos(0.2 / x)) + 1.0


def test_the_tension_of_a_path_over_an_obstacle_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "cord.toml"
    text = CATAPULT.replace("RELEASE", "").replace("duration = 0.5", "duration = 0.2")
    path.write_text(text, "utf-8")
    run = pysim.simulate(pysim.load_scene(path))
    assert run.names["forces"] == ("cord.tension",)
    x, v = run.q[:, 0], run.v[:, 0]
    tangent = np.sqrt(x * x - 0.04)
    expected = 30.0 * (cord_length(x) - 1.0) + 0.2 * tangent / x * v
    np.testing.assert_allclose(run.element_forces[:, 0], expected, rtol=1e-9)
    np.testing.assert_allclose(run.a[:, 0], -expected * tangent / x / 2.0, rtol=1e-9)


@pytest.mark.parametrize("integrator", ["rk4", "dopri5"])
def test_a_force_is_recorded_until_an_event_releases_it(tmp_path: Path, integrator: str) -> None:
    path = tmp_path / "cord.toml"
    text = CATAPULT.replace("RELEASE", RELEASED)
    path.write_text(text.replace("step =", f'integrator = "{integrator}"\nstep ='), "utf-8")
    run = pysim.simulate(pysim.load_scene(path))
    tension, time = run.element_forces[:, 0], run.events.t[0]
    held = run.t < time - 1e-9
    assert held.any()
    assert (~held).sum() > 5
    x = run.q[held, 0]
    tangent = np.sqrt(x * x - 0.04)
    np.testing.assert_allclose(tension[held] * tangent / x, -2.0 * run.a[held, 0], rtol=1e-9)
    np.testing.assert_array_equal(tension[run.t > time + 1e-9], 0)


DRIVEN = """
gravity = [0, 0, 0]

[[body]]
name = "mass"
mass = 2.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }

[[joint]]
name = "slide"
type = "prismatic"
axis = [1, 0, 0]
child = "mass"

[[signal]]
name = "ramp"
type = "table"
t = [0.0, 1.0]
values = [0.0, 8.0]

[[force]]
name = "jet"
type = "thruster"
b = "mass"
at_b = { xyz = [0, 0.1, 0], rpy = [0, 1.5707963267948966, 0] }
command = "ramp"
torque_axis = [0, 0, 0.5]

[[actuator]]
name = "winch"
type = "motor"
path = [{ body = "mass" }, { body = "world", point = [3, 0, 0] }]
command = "ramp"
gain = 0.25
RELEASE
[simulation]
duration = 0.5
step = 1e-3
[output]
every = 0.05
"""
OFF = """
[[event]]
name = "off"
joint = "slide"
at = 0.02
direction = "rising"
release = ["jet"]
"""


@pytest.mark.parametrize("integrator", ["rk4", "semi_implicit"])
def test_thrusts_and_tensions_that_signals_drive_are_recorded(
    tmp_path: Path, integrator: str
) -> None:
    """Oracle: the thrust 8 t along x, which is z of its frame, and the tension of a motor with gain 1/4, −2 t."""
    path = tmp_path / "driven.toml"
    text = DRIVEN.replace("RELEASE", "").replace("step =", f'integrator = "{integrator}"\nstep =')
    path.write_text(text, "utf-8")
    run = pysim.simulate(pysim.load_scene(path), tmp_path / "driven.h5")
    wrench = [f"jet.{key}" for key in ("fx", "fy", "fz", "tx", "ty", "tz")]
    assert run.names["forces"] == (*wrench, "winch.tension")
    t, zero = run.t, 0 * run.t
    expected = np.stack([zero, zero, 8 * t, zero, zero, 4 * t, -2 * t], axis=1)
    again = pysim.load_trajectory(tmp_path / "driven.h5")
    np.testing.assert_allclose(run.element_forces, expected, atol=1e-12)
    np.testing.assert_array_equal(again.element_forces, run.element_forces)
    np.testing.assert_allclose(2 * run.a[:, 0], 8 * t - (-2 * t) * -1 + 0 * t, atol=1e-12)


def test_a_thrust_is_recorded_until_an_event_releases_it(tmp_path: Path) -> None:
    path = tmp_path / "driven.toml"
    path.write_text(DRIVEN.replace("RELEASE", OFF), "utf-8")
    run = pysim.simulate(pysim.load_scene(path))
    thrust, time = run.element_forces[:, 2], run.events.t[0]
    before = run.t < time
    np.testing.assert_allclose(thrust[before], 8 * run.t[before], atol=1e-12)
    np.testing.assert_array_equal(thrust[~before], 0)
    assert 2 < before.sum() < len(run.t) - 2
