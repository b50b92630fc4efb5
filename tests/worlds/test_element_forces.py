"""`element_forces`. Oracles: formulas of single elements, and accelerations of runs by inverse dynamics."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from tests.elements.blocks import disc, mass, scene_of, simulation, table
from tests.scene_runs import SCENES


def test_a_pd_with_an_input_and_a_spring_are_their_formulas(tmp_path):
    text = disc(damping=0.2) + table("signal", name="aim", type="input", unit="rad", value=0.5)
    inputs = ["aim", "angle.q", "angle.v"]
    text += table("controller", name="pd", type="pd", inputs=inputs, kp=3.0, kd=0.4)
    text += table("actuator", name="motor", type="force", joint="hinge", command="pd")
    text += table(
        "force", name="spring", type="coordinate_spring", coordinates=["hinge"], stiffness=2.0
    )
    scene = scene_of(tmp_path, text + simulation())
    rng = np.random.default_rng(1)
    q, v = rng.normal(size=(2, 3, 4, 1))
    found = pysim.element_forces(scene, 0.7, q, v)
    np.testing.assert_allclose(found, 3 * (0.5 - q) - 0.6 * v - 2 * q, rtol=1e-13)
    found = pysim.element_forces(scene, 0.0, q, v, signals={"aim": q[..., 0]})
    np.testing.assert_allclose(found, -0.6 * v - 2 * q, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(pysim.element_forces(scene), [1.5])


def test_states_of_elements_and_times_are_those_given(tmp_path):
    text = mass(1.0) + table(
        "actuator", name="wave", joint="x", amplitude=2.0, frequency=3.0, phase=0.1
    )
    friction = {"kinetic": 1.0, "static": 1.5, "stribeck_speed": 0.1, "bristle_stiffness": 30.0}
    text += table("force", name="f", type="lugre_friction", coordinates=["x"], **friction)
    scene = scene_of(tmp_path, text + simulation())
    t = np.linspace(0, 2, 5)
    wave = 2 * np.sin(3 * t + 0.1)
    np.testing.assert_allclose(pysim.element_forces(scene, t)[:, 0], wave, rtol=1e-13)
    bent = pysim.element_forces(scene, t, states={"f.bristle": 0.02 * t})
    np.testing.assert_allclose(bent[:, 0], wave - 0.6 * t, rtol=1e-13)


@pytest.mark.parametrize("name", ["elbow", "quadrotor", "balloon", "magnetic_pendulum"])
def test_the_forces_of_a_run_give_its_accelerations(name):
    scene = pysim.load_scene(SCENES / f"{name}.toml", {"simulation.duration": 0.2})
    run = pysim.simulate(scene)
    q, v, states = run.q, run.v, {}
    if scene.signals is not None:
        states = {key: run.signals[key] for key in scene.signals.state_names}
    rows = range(len(run.t)) if name != "quadrotor" else (0,)  # its pilot reads at instants
    for k in rows:
        own = {key: value[k] for key, value in states.items()}
        tau = pysim.element_forces(scene, float(run.t[k]), q[k], v[k], own)
        a = pysim.aba(scene.model, q[k], v[k], tau)
        np.testing.assert_allclose(a, run.a[k], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"q": [0.0, 1.0]}, r"q: must be finite numbers \(…, 1\), got an array of shape \(2,\)"),
        ({"v": [np.nan]}, "v: must be finite"),
        ({"states": {"f.bristel": 0.0}}, "no element has the state 'f.bristel'; did you mean"),
        ({"states": {"f.bristle": [0.0, 1.0]}}, "must be a number for each state"),
        ({"signals": {"push": 1.0}}, "the scene has no input 'push'"),
    ],
)
def test_arguments_that_do_not_fit_are_rejected(tmp_path, keys, message):
    friction = {"kinetic": 1.0, "static": 1.5, "stribeck_speed": 0.1, "bristle_stiffness": 30.0}
    text = mass(1.0) + table(
        "force", name="f", type="lugre_friction", coordinates=["x"], **friction
    )
    scene = scene_of(tmp_path, text + simulation())
    with pytest.raises(pysim.SimulationError, match=message):
        pysim.element_forces(scene, **keys)
