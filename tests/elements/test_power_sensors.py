"""Sensors of power and energy. Oracles: products of recorded forces and velocities, energies of the algorithms."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.joints import Joint, Pose, joint, real
from tests.elements.blocks import constant, disc, mass, motor, scene_of, simulation, table

SPRING = table(
    "force",
    name="spring",
    type="coordinate_spring",
    coordinates=["x"],
    stiffness=50.0,
    damping=2.0,
    rest=0.1,
)


def sensor(kind, element, name=None):
    return table("sensor", name=name or kind, type=kind, element=element)


def run_of(tmp_path, text):
    return pysim.simulate(scene_of(tmp_path, text + simulation("rk4", interval=0.05)))


def test_power_and_energy_of_a_force(tmp_path):
    text = mass(1.0, 0.3, -0.5) + SPRING + sensor("power", "spring") + sensor("energy", "spring")
    run = run_of(tmp_path, text)
    x, v = run.q[:, 0] - 0.1, run.v[:, 0]
    np.testing.assert_allclose(run.signals["power"], -(50 * x + 2 * v) * v, atol=1e-14)
    np.testing.assert_allclose(run.signals["energy"], run.elastic, atol=1e-15)
    assert run.header.signal_units[-2:] == ("W", "J")


def test_power_of_forces_between_frames_and_along_paths(tmp_path):
    """The sum of the powers is the rate of the mechanical energy."""
    body = {"mass": 1.0, "com": [0.1, 0, 0.2], "inertia": {"xx": 0.2, "yy": 0.3, "zz": 0.25}}
    path = [{"body": "world", "point": [0, 0, 1]}, {"body": "a", "point": [0, 0, 0.1]}]
    text = table("body", name="a", **body)
    text += table("joint", name="free", type="free", child="a", start={"v": [0.2, 0, 3, 0, 1, 0]})
    text += table(
        "force",
        name="air",
        type="quadratic_drag",
        b="a",
        density=1.2,
        drag_coefficient=1.0,
        area=0.5,
    )
    text += table(
        "force",
        name="strut",
        type="path_spring",
        path=path,
        stiffness=20.0,
        rest_length=0.8,
        damping=2.0,
    )
    for name in ("air", "strut"):
        text += sensor("power", name, f"power of {name}")
    text += sensor("energy", "strut")
    run = run_of(tmp_path, text)
    model = scene_of(tmp_path, text + simulation("rk4")).model
    tau = pysim.passive_forces(model, run.q, run.v)
    total = run.signals["power of air"] + run.signals["power of strut"]
    np.testing.assert_allclose(total, np.einsum("ni,ni->n", tau, run.v), atol=1e-12)
    np.testing.assert_allclose(run.signals["energy"], run.elastic, atol=1e-13)


@pytest.mark.parametrize(
    "limits",
    ["lower = -0.3, upper = 0.4", "lower = -0.3", "upper = 0.4", "upper = 0.4, damping = 0"],
)
def test_power_and_energy_of_a_joint(tmp_path, limits):
    joint = f'child = "disc"\nstiffness = 3.0\nfriction = 0.2\nlimits = {{ {limits} }}'
    text = disc(damping=0.1, q=0.2, v=3.0).replace('child = "disc"', joint)
    run = run_of(tmp_path, text + sensor("power", "hinge") + sensor("energy", "hinge"))
    model = scene_of(tmp_path, text + simulation("rk4")).model
    force = pysim.passive_forces(model, run.q, run.v)[:, 0]
    assert run.q.max() > 0.4
    assert run.q.min() < -0.05
    np.testing.assert_allclose(run.signals["power"], force * run.v[:, 0], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(run.signals["energy"], run.elastic, rtol=1e-13, atol=1e-15)


SPUN = "gravity = [0, 0, 0]\n" + table(
    "body", name="top", mass=1, inertia={"xx": 0.2, "yy": 0.3, "zz": 0.4}
)


def test_power_of_a_damped_ball_joint(tmp_path):
    """P = −d |ω|²; a rotation without a spring stores nothing."""
    ball = table(
        "joint", name="ball", type="ball", child="top", damping=0.3, start={"v": [1.0, -2.0, 3.0]}
    )
    run = run_of(tmp_path, SPUN + ball + sensor("power", "ball") + sensor("energy", "ball"))
    np.testing.assert_allclose(run.signals["power"], -0.3 * (run.v**2).sum(axis=1), rtol=1e-13)
    np.testing.assert_array_equal(run.signals["energy"], np.zeros(len(run.t)))


def test_the_energy_of_a_spring_on_a_rotation_is_not_measured(tmp_path):
    ball = table("joint", name="ball", type="ball", child="top", stiffness=2.0)
    with pytest.raises(pysim.PysimError) as caught:
        scene_of(tmp_path, SPUN + ball + sensor("energy", "ball") + simulation("rk4"))
    assert str(caught.value).endswith(
        "sensor 'energy': 'ball' stores no energy that a sensor can measure; measure its power"
    )


@joint("hinge_with_a_brake")
class HingeWithABrake(Joint):
    """A hinge with a damper of its own."""

    coordinates = real("angle")

    def placement(self, q):
        return Pose.rotate_z(q.angle)

    def force(self, q, v):
        return -0.5 * v.angle


def test_power_of_a_plugin_joint_that_follows(tmp_path):
    """The follower turns −2 times as fast as its leader, and brakes by itself: P = −½ (2 ω)²."""
    text = disc(v=3.0) + table(
        "body", name="other", mass=1, inertia={"xx": 0.1, "yy": 0.1, "zz": 0.1}
    )
    text += table(
        "joint",
        name="follower",
        type="hinge_with_a_brake",
        child="other",
        mimic={"joint": "hinge", "ratio": -2.0, "offset": 0.3},
    )
    run = run_of(tmp_path, text + sensor("power", "follower"))
    np.testing.assert_allclose(run.signals["power"], -0.5 * (2 * run.v[:, 0]) ** 2, rtol=1e-13)


def test_power_of_actuators(tmp_path):
    text = disc(damping=0.1, v=3.0) + constant("torque", 2.0, "N·m") + motor("torque")
    text += table("actuator", name="wave", joint="hinge", amplitude=3.0, frequency=2.0)
    for name in ("motor", "wave"):
        text += sensor("power", name, f"power of {name}")
    run = run_of(tmp_path, text)
    np.testing.assert_allclose(run.signals["power of motor"], 2 * run.v[:, 0], rtol=1e-14)
    wave = 3 * np.sin(2 * run.t) * run.v[:, 0]
    np.testing.assert_allclose(run.signals["power of wave"], wave, rtol=1e-12, atol=1e-14)


def test_power_is_a_signal_that_sampled_controllers_read(tmp_path):
    text = disc(damping=0.1, v=3.0) + constant("torque", 2.0, "N·m") + motor("torque")
    text += sensor("power", "motor") + constant("zero", 0.0, "")
    inputs = ["power", "zero", "zero"]
    text += table("controller", name="held", type="pd", inputs=inputs, kp=1.0, period=0.1)
    run = run_of(tmp_path, text)
    np.testing.assert_allclose(run.signals["held"][::2], run.signals["power"][::2], rtol=1e-14)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            sensor("power", "sprong"),
            "sensor 'power': unknown element 'sprong'; did you mean 'spring'?",
        ),
        (
            table("sensor", name="power", type="power"),
            "sensor 'power': has no element, but its power is read; give element",
        ),
        (
            table("sensor", name="wrench", type="force_torque"),
            "sensor 'wrench': has no joint, but its wrench is read; give joint",
        ),
        (
            table("sensor", name="x", type="weighted_sum", weights=[1.0]),
            "sensor 'x': has no coordinates, but its q is read; give coordinates",
        ),
        (
            table("actuator", name="push", joint="x", offset=1.0) + sensor("energy", "push"),
            "sensor 'energy': 'push' stores no energy that a sensor can measure; measure its power",
        ),
    ],
)
def test_wrong_elements_are_reported(tmp_path, text, message):
    with pytest.raises(pysim.PysimError) as caught:
        scene_of(tmp_path, mass(1.0) + SPRING + text + simulation("rk4"))
    assert str(caught.value).endswith(message)
