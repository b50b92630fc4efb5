"""Sensors of accelerations and wrenches on bodies that touch, under convex steps.

Oracle: statics (an accelerometer at rest reads +g, a wrist carries the weight on it); what is read at an instant is
what is recorded there, with the contact forces of the step.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim

G = 9.81
SCENE = """
[[ground]]
plane = { normal = [0, 0, 1], offset = 0 }
[[body]]
name = "box"
shape = { box = { x = 0.2, y = 0.2, z = 0.1 }, density = 700 }
collision = true
[[joint]]
name = "free"
type = "free"
child = "box"
start = { xyz = [0, 0, 0.05], rpy = [0, 0, 0.3] }
[[body]]
name = "lid"
mass = 0.5
inertia = { xx = 1e-3, yy = 1e-3, zz = 1e-3 }
[[joint]]
name = "mast"
type = "prismatic"
axis = [0, 0, 1]
parent = "box"
child = "lid"
at = { xyz = [0, 0, 0.1] }
stiffness = 500
damping = 20
[[sensor]]
name = "imu"
type = "imu"
frame = "box"
period = 0.004
[[sensor]]
name = "sampled"
type = "acceleration"
frame = "lid"
period = 0.004
[[sensor]]
name = "always"
type = "acceleration"
frame = "lid"
[[sensor]]
name = "wrist"
type = "force_torque"
joint = "mast"
period = 0.004
[simulation]
integrator = "convex"
duration = 0.4
step = 1e-3
[output]
every = 0.004
"""


@pytest.fixture
def scene(tmp_path: Path) -> pysim.Scene:
    path = tmp_path / "s.toml"
    path.write_text(SCENE, "utf-8")
    return pysim.load_scene(path)


def test_an_accelerometer_at_rest_on_the_ground_reads_g(scene: pysim.Scene) -> None:
    read = pysim.simulate(scene).signals["imu.acceleration"]
    np.testing.assert_allclose(read[-1], [0, 0, G], atol=1e-4)


def test_a_wrist_carries_the_weight_on_it(scene: pysim.Scene) -> None:
    signals = pysim.simulate(scene).signals
    read, a = signals["wrist.force"][1:], signals["always.linear"][1:]
    np.testing.assert_allclose(read, 0.5 * (a + np.array([0, 0, G])), atol=1e-9)
    np.testing.assert_allclose(read[-1], [0, 0, 0.5 * G], atol=2e-3)


def test_a_sampled_sensor_reads_what_is_recorded_at_its_instants(scene: pysim.Scene) -> None:
    signals = pysim.simulate(scene).signals
    always, sampled = signals["always.linear"][1:], signals["sampled.linear"][1:]
    assert np.abs(always).max() > 1  # the lid settles
    np.testing.assert_allclose(sampled, always, rtol=0, atol=1e-12)


def test_worlds_side_by_side_read_what_a_run_reads(scene: pysim.Scene) -> None:
    names = ["imu.acceleration", "always.linear", "wrist.force"]
    run = pysim.simulate(scene)
    rollout = pysim.rollout(
        scene,
        np.tile(scene.state.q, (3, 1)),
        np.tile(scene.state.v, (3, 1)),
        steps=400,
        every=4,
        signals=names,
    )
    for name in names:
        read = rollout.signals[name]
        assert read.shape == (3, 101, 3)
        np.testing.assert_allclose(read[1], run.signals[name], rtol=0, atol=1e-9)


def test_sensors_are_read_under_convex_where_nothing_can_touch(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    text = SCENE.replace("collision = true", "").split("[[body]]", 1)[1]
    path.write_text("gravity = [0, 0, 0]\n[[body]]" + text, "utf-8")
    scene = pysim.load_scene(path)
    run = pysim.simulate(scene)
    np.testing.assert_allclose(run.signals["imu.acceleration"], 0, atol=1e-12)
    rollout = pysim.rollout(
        scene,
        np.tile(scene.state.q, (2, 1)),
        np.tile(scene.state.v, (2, 1)),
        steps=40,
        every=4,
        signals=["imu.acceleration"],
    )
    assert not rollout.signals["imu.acceleration"].any()
