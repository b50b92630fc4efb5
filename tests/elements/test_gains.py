"""Gains with a number for each coordinate. Oracle: blocks of one coordinate each."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.errors import PysimError
from tests.elements.blocks import constant, scene_of, simulation, table

PID = {"kp": [9.0, 4.0], "ki": [2.0, 0.5], "kd": [1.0, 3.0], "filter": [50.0, 80.0]}
PID |= {"limit": [2.0, 0.7], "back_calculation": [0.5, 0.25]}


def two_masses():
    text = "gravity = [0, 0, 0]\n"
    for k, name in enumerate("xy"):
        unit = [0.0, 0.0, 0.0]
        unit[k] = 1.0
        text += table("body", name=f"m{name}", mass=1.0 + k, inertia={"xx": 1, "yy": 1, "zz": 1})
        start = {"q": 0.3 - k, "v": 0.2}
        text += table(
            "joint", name=name, type="prismatic", axis=unit, child=f"m{name}", start=start
        )
        text += table("sensor", name=f"p{name}", type="coordinates", coordinates=[name])
    return text + table("sensor", name="p", type="coordinates", coordinates=["x", "y"])


def run_of(folder, text, integrator):
    return pysim.simulate(scene_of(folder, two_masses() + text + simulation(integrator)))


@pytest.mark.parametrize("integrator", ["rk4", "implicit_midpoint"])
def test_a_pid_of_two_coordinates_is_two_of_one(tmp_path, integrator):
    pair = constant("to", [1.0, -2.0])
    pair += table("controller", name="u", type="pid", inputs=["to", "p.q"], **PID)
    pair += table("actuator", name="push", type="force", coordinates=["x", "y"], command="u")
    alone = ""
    for k, name in enumerate("xy"):
        keys = {key: value[k] for key, value in PID.items()}
        alone += constant(f"to{name}", [1.0, -2.0][k])
        alone += table(
            "controller", name=f"u{name}", type="pid", inputs=[f"to{name}", f"p{name}.q"], **keys
        )
        alone += table("actuator", name=f"push{name}", type="force", joint=name, command=f"u{name}")
    first, second = run_of(tmp_path, pair, integrator), run_of(tmp_path, alone, integrator)
    np.testing.assert_allclose(first.q, second.q, atol=1e-12)
    assert np.abs(first.signals["u"]).max(axis=0) == pytest.approx([2.0, 0.7])


@pytest.mark.parametrize("integrator", ["rk4", "implicit_midpoint"])
def test_servos_have_a_gain_for_each_coordinate(tmp_path, integrator):
    tables = constant("to", [1.0, -2.0]) + table(
        "actuator", name="hold", type="position_servo", coordinates=["x", "y"], command="to",
        kp=[30.0, 8.0], kd=[4.0, 1.0],
    )  # fmt: skip
    tables += table(
        "actuator",
        name="slow",
        type="velocity_servo",
        coordinates=["x", "y"],
        command="to",
        kd=[0.5, 2.0],
    )
    tables += table(
        "actuator",
        name="lift",
        type="force",
        coordinates=["x", "y"],
        command="to",
        gear=[2.0, -1.0],
    )
    alone = ""
    for k, name in enumerate("xy"):
        keys = {"joint": name, "command": f"to{name}"}
        alone += constant(f"to{name}", [1.0, -2.0][k])
        alone += table(
            "actuator",
            name=f"hold{name}",
            type="position_servo",
            kp=[30.0, 8.0][k],
            kd=[4.0, 1.0][k],
            **keys,
        )
        alone += table(
            "actuator", name=f"slow{name}", type="velocity_servo", kd=[0.5, 2.0][k], **keys
        )
        alone += table("actuator", name=f"lift{name}", type="force", gear=[2.0, -1.0][k], **keys)
    first, second = run_of(tmp_path, tables, integrator), run_of(tmp_path, alone, integrator)
    np.testing.assert_allclose(first.q, second.q, atol=1e-12)


def test_gains_of_a_wrong_count_are_reported(tmp_path):
    text = constant("to", [1.0, -2.0]) + table(
        "actuator", name="hold", type="position_servo", coordinates=["x", "y"], command="to",
        kp=[30.0, 8.0, 1.0],
    )  # fmt: skip
    with pytest.raises(PysimError) as caught:
        run_of(tmp_path, text, "rk4")
    assert "kp: has 3 numbers for a signal of 2; write one number for all, or 2" in str(
        caught.value
    )


def test_up_is_the_direction_against_gravity_in_a_frame(tmp_path):
    """Oracle: the third row of the rotation of the body about x, and of the frame about y on it."""
    text = "gravity = [0, 0, -3.7]\n" + table(
        "body", name="top", mass=1.0, inertia={"xx": 1, "yy": 1, "zz": 1}
    )
    text += table(
        "joint",
        name="roll",
        type="revolute",
        axis=[1, 0, 0],
        child="top",
        start={"q": 0.2, "v": 1.5},
    )
    text += table("sensor", name="body", type="up", frame="top")
    text += table("sensor", name="foot", type="up", frame="top", at={"rpy": [0.0, 0.4, 0.0]})
    text += table("controller", name="lean", type="gain", inputs=["body.y"], gain=1.0)
    run = pysim.simulate(scene_of(tmp_path, text + simulation("rk4")))
    a, b = run.q[:, 0], 0.4
    up = np.stack([0 * a, np.sin(a), np.cos(a)], axis=1)
    np.testing.assert_allclose(run.signals["body"], up, atol=1e-13)
    turn = np.array([[np.cos(b), 0, np.sin(b)], [0, 1, 0], [-np.sin(b), 0, np.cos(b)]])
    np.testing.assert_allclose(run.signals["foot"], up @ turn, atol=1e-13)
    np.testing.assert_array_equal(run.signals["lean"], run.signals["body"][:, 1])


@pytest.mark.parametrize("kind", ["up", "imu"])
def test_sensors_of_gravity_reject_moving_bases_and_up_needs_gravity(tmp_path, kind):
    text = two_masses() + table("sensor", name="s", type=kind, frame="mx", relative_to="my")
    with pytest.raises(PysimError) as caught:
        scene_of(tmp_path, text + simulation("rk4"))
    problem = "reads gravity, but is relative to a body that moves; leave out relative_to"
    assert problem in str(caught.value)
    if kind == "up":
        text = two_masses() + table("sensor", name="s", type=kind, frame="mx")
        with pytest.raises(PysimError) as caught:
            scene_of(tmp_path, text + simulation("rk4"))
        assert "the scene has no gravity, and no direction is up" in str(caught.value)
