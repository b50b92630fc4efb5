"""Numbers of a signal that are read with their names. Oracle: the same numbers read by index."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.errors import SceneError
from tests.elements.blocks import arm, scene_of, simulation, table

SETUP = {
    "gravity_m_s2": [0, 0, -9.81],
    "inertia_com_about_axis_kg_m2": [0.1, 0.05],
    "mass_kg": [2.0, 1.0],
    "com_distance_m": [0.5, 0.3],
    "length_m": [1.0, 0.6],
}
ARM = arm(SETUP, [0.3, -0.5], [1.0, 2.0])
HOLD = table("controller", name="g", type="gravity_compensation")


def probe(name, signal):
    return table("controller", name=name, type="gain", inputs=[signal], gain=1.0)


@pytest.mark.parametrize(
    ("named", "indexed"),
    [
        ("g.q1", "g[0]"),
        ("g.q2", "g[1]"),
        ("arm.q.q2", "arm.q[1]"),
        ("arm.v.q1", "arm.v[0]"),
        ("half.q2", "half[1]"),
        ("slow.q2", "slow[1]"),
        ("servo.q1", "servo[0]"),
        ("tip.position.z", "tip.position[2]"),
        ("tip.orientation.w", "tip.orientation[3]"),
        ("both.q2", "both[1]"),
        ("g.force.q2", "g[1]"),
    ],
)
def test_a_number_is_read_with_its_name(tmp_path, named, indexed):
    text = ARM + HOLD
    text += table("sensor", name="tip", type="pose", frame="link2")
    text += table("controller", name="half", type="gain", inputs=["g"], gain=0.5)
    text += table("controller", name="slow", type="low_pass", inputs=["arm.q"], time_constant=0.1)
    text += table(
        "controller", name="servo", type="pd", inputs=["arm.q", "arm.q", "arm.v"], kp=1.0, kd=1.0
    )
    text += table("controller", name="both", type="join", inputs=["g.q1", "g[1]"])
    text += probe("named", named) + probe("indexed", indexed)
    run = pysim.simulate(scene_of(tmp_path, text + simulation("rk4", duration=0.2, interval=0.05)))
    np.testing.assert_array_equal(run.signals["named"], run.signals["indexed"])
    assert np.ptp(run.signals["named"]) > 1e-6
    assert run.signals["named"].ndim == 1


def test_motors_that_read_named_numbers_hold_an_arm(tmp_path):
    text = arm(SETUP, [0.3, -0.5], [0.0, 0.0]) + HOLD
    for name in ("q1", "q2"):
        text += table("actuator", name=f"m{name}", type="force", joint=name, command=f"g.{name}")
    run = pysim.simulate(scene_of(tmp_path, text + simulation("rk4", duration=0.5)))
    np.testing.assert_allclose(run.q, np.tile(run.q[0], (len(run), 1)), atol=1e-9)


def test_an_attached_scene_reads_numbers_by_names_of_its_own(tmp_path):
    text = ARM + HOLD + probe("first", "g.q1")
    (tmp_path / "part.toml").write_text(text, "utf-8")
    whole = '[[model]]\nname = "left"\nfile = "part.toml"\n'
    run = pysim.simulate(scene_of(tmp_path, whole + simulation("rk4", duration=0.1)))
    np.testing.assert_array_equal(run.signals["left/first"], run.signals["left/g"][:, 0])


@pytest.mark.parametrize(
    ("signal", "text"),
    [
        ("g.q3", "'g' has no output 'q3'; known: q1, q2"),
        ("g.qq.q1", "unknown signal 'g.qq.q1'"),
        ("arm.w.q1", "unknown signal 'arm.w.q1'"),
    ],
)
def test_an_unknown_name_is_reported(tmp_path, signal, text):
    with pytest.raises(SceneError) as caught:
        scene_of(tmp_path, ARM + HOLD + probe("x", signal) + simulation())
    assert text in str(caught.value)
