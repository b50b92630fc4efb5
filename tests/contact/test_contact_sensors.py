"""Contact sensors. Oracles: weights, statics on a slope, and the contact points of the trajectory."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.environments import Environment
from pysim.errors import SceneError, SimulationError
from tests.elements.blocks import scene_of, simulation, table

G = 9.81
SCHEMES = ["convex", "rk4"]


def box(name, mass, height, half=0.1, **start):
    """Return a free cube, and where it begins."""
    inertia = 2 / 3 * mass * half**2
    text = table("body", name=name, mass=mass, inertia=dict.fromkeys(("xx", "yy", "zz"), inertia))
    text += f"collision = {{ box = {{ x = {2 * half}, y = {2 * half}, z = {2 * half} }} }}\n"
    start = {"xyz": [0, 0, height]} | start
    return text + table("joint", name=f"{name}_free", type="free", child=name, start=start)


def ground(normal=(0.0, 0.0, 1.0)):
    return f"gravity = [0, 0, -{G}]\n" + table(
        "ground", plane={"normal": list(normal), "offset": 0}
    )


def sensor(name="touch", frame="box", **keys):
    return table("sensor", name=name, type="contact", frame=frame, **keys)


def readings(run, name="touch", row=-1):
    parts = ("touching", "normal", "force", "torque")
    return [run.signals[f"{name}.{part}"][row] for part in parts]


@pytest.mark.parametrize("integrator", SCHEMES)
def test_a_resting_box_reads_its_weight(tmp_path, integrator):
    text = ground() + box("box", 2.0, 0.0999) + sensor()
    text += sensor("held", period=0.01) + sensor("above", at=[0.3, 0.0, 0.0])
    scene = scene_of(tmp_path, text + simulation(integrator, step=1e-3, duration=0.5))
    names = [f"{n}.{p}" for n in ("touch", "held", "above") for p in ("normal", "force", "torque")]
    worlds = pysim.Worlds(scene, 3)
    worlds.step(steps=499)
    for run in (pysim.simulate(scene), pysim.rollout(scene, signals=[*names, "touch.touching"])):
        touching, normal, force, torque = readings(run)
        assert touching == 1.0
        np.testing.assert_allclose(normal, 2 * G, rtol=1e-3)
        np.testing.assert_allclose(force, [0, 0, 2 * G], rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(torque, 0, atol=1e-3)
        np.testing.assert_allclose(run.signals["held.normal"][-1], 2 * G, rtol=1e-3)
        np.testing.assert_allclose(run.signals["above.torque"][-1], [0, 0.6 * G, 0], atol=1e-2)
        np.testing.assert_allclose(
            run.signals["touch.normal"][-2], worlds.signals["touch.normal"], rtol=1e-2
        )
    assert run.signals["held.normal"][0] == 0.0  # nothing was touched before the start
    np.testing.assert_array_equal(worlds.signals["touch.touching"], 1.0)


@pytest.mark.parametrize("axes", ["frame", "base"])
@pytest.mark.parametrize("integrator", SCHEMES)
def test_a_box_that_sticks_to_a_slope_reads_friction(tmp_path, integrator, axes):
    """N = m g cos α, and friction m g sin α up the slope; together the weight, in the axes of the world."""
    slope, half = 0.3, 0.1
    normal = np.array([-np.sin(slope), 0, np.cos(slope)])
    start = {"xyz": (normal * (half - 1e-4)).tolist(), "rpy": [0, -slope, 0]}
    text = ground(normal) + box("box", 2.0, 0.0, half, **start) + sensor(axes=axes)
    run = pysim.simulate(scene_of(tmp_path, text + simulation(integrator, step=1e-3, duration=1.0)))
    _, pressed, force, _ = readings(run)
    np.testing.assert_allclose(pressed, 2 * G * np.cos(slope), rtol=5e-3)
    along = [2 * G * np.sin(slope), 0, 2 * G * np.cos(slope)]
    expected = along if axes == "frame" else [0, 0, 2 * G]
    np.testing.assert_allclose(force, expected, atol=0.15)


def test_a_sampled_sensor_holds_the_bits_that_are_read_after_its_step(tmp_path):
    """A box that tumbles; packs and single worlds."""
    start = {"xyz": [0, 0, 0.18], "rpy": [0.4, 0.3, 0.2], "v": [0.5, 0.1, -2.0, 1.0, 2.0, 0.3]}
    text = ground((0.1, 0.2, 1.0)) + box("box", 2.0, 0.0, **start)
    at = {"xyz": [0.02, 0.03, 0.01], "rpy": [0.3, 0.2, 0.1]}
    text += sensor(at=at) + sensor("held", at=at, period=1e-3)
    worlds = pysim.Worlds(scene_of(tmp_path, text + simulation("convex", step=1e-3)), 11)
    worlds.v[:, 3] += np.linspace(0, 1, 11)
    touched = 0
    for _ in range(60):
        worlds.step(steps=1)
        touched += np.count_nonzero(worlds.signals["touch.touching"])
        for part in ("normal", "force", "torque"):
            np.testing.assert_array_equal(
                worlds.signals[f"touch.{part}"], worlds.signals[f"held.{part}"]
            )
    assert touched > 100


def test_others_choose_the_bodies_whose_contacts_count(tmp_path):
    text = ground() + box("box", 2.0, 0.0999) + box("top", 1.0, 0.2497, 0.05)
    text += table("contact", between=["box", "top"])
    text += sensor() + sensor("floor", others=["world"]) + sensor("load", others=["top"])
    text += sensor("lid", frame="top")
    run = pysim.simulate(scene_of(tmp_path, text + simulation("convex", step=1e-3, duration=0.5)))
    expected = {
        "touch": (4 * G, 2 * G),
        "floor": (3 * G, 3 * G),
        "load": (G, -G),
        "lid": (G, G),
    }
    for name, (pressed, upwards) in expected.items():
        _, normal, force, _ = readings(run, name)
        np.testing.assert_allclose([normal, force[2]], [pressed, upwards], rtol=2e-3)


@pytest.mark.parametrize("integrator", SCHEMES)
def test_readings_are_sums_over_the_points_of_the_trajectory(tmp_path, integrator):
    rng = np.random.default_rng(3)
    start = {"xyz": [0, 0, 0.3], "rpy": rng.uniform(-1, 1, 3).tolist()}
    text = ground() + box("box", 2.0, 0.3, **(start | {"v": rng.normal(size=6).tolist()}))
    text += sensor(axes="base")
    scene = scene_of(
        tmp_path, text + simulation(integrator, step=2e-4, duration=0.8, interval=0.004)
    )
    run = pysim.simulate(scene)
    touched = 0
    for row in range(len(run.t)):
        points = run.contacts.of_row(row)
        touching, normal, force, torque = readings(run, row=row)
        assert touching == float(len(points.force) > 0)
        np.testing.assert_allclose(force, points.force.sum(axis=0), atol=1e-9)
        pressed = np.einsum("ni,ni->n", points.force, points.normal).sum()
        np.testing.assert_allclose(normal, pressed, atol=1e-9)
        arms = points.point - run.q[row, :3]
        np.testing.assert_allclose(torque, np.cross(arms, points.force).sum(axis=0), atol=1e-9)
        touched += len(points.force) > 0
    assert 10 < touched < len(run.t)


def test_a_site_of_a_body_names_the_body(tmp_path):
    text = (
        ground()
        + box("box", 2.0, 0.0999)
        + table("frame", name="foot", body="box", at={"xyz": [0, 0, -0.1]})
    )
    text += sensor(frame="foot")
    run = pysim.simulate(scene_of(tmp_path, text + simulation("convex", step=1e-3, duration=1.0)))
    np.testing.assert_allclose(readings(run)[1], 2 * G, rtol=1e-3)


def test_a_sampled_controller_acts_on_touch(tmp_path):
    """A motor is off while the box stands; a continuous controller may not depend on the contact."""
    text = ground() + box("box", 2.0, 0.0999) + sensor()
    text += table("body", name="wheel", mass=1.0, inertia=dict.fromkeys(("xx", "yy", "zz"), 0.1))
    text += table("joint", name="axle", type="revolute", child="wheel")
    keys = {"type": "gain", "inputs": ["touch.touching"], "gain": 0.5, "unit": "N·m"}
    motor = table("actuator", name="motor", type="force", joint="axle", command="switch")
    run = simulation("convex", step=1e-3, duration=0.5)
    own = text + table("controller", name="switch", period=0.1, **keys) + motor
    found = pysim.simulate(scene_of(tmp_path, own + run))
    np.testing.assert_allclose(found.v[-1, -1], 0.5 / 0.1 * 0.4, rtol=1e-6)  # from 0.1 s on
    own = text + table("controller", name="switch", **keys) + motor
    with pytest.raises(
        SceneError, match="depend on 'touch', which measures contacts, and these on"
    ):
        scene_of(tmp_path, own + run)


def test_worlds_read_the_contacts_of_a_step_that_ends_at_an_instant(tmp_path):
    """A sampled sensor runs after the last step of a call; the others read the same contacts then."""
    text = ground() + box("box", 2.0, 0.0999) + sensor() + sensor("held", period=0.01)
    worlds = pysim.Worlds(scene_of(tmp_path, text + simulation("convex", step=1e-3)), 2)
    worlds.step(seconds=0.5)
    for name in ("touch.normal", "held.normal"):
        np.testing.assert_allclose(worlds.signals[name], 2 * G, rtol=1e-3)


def test_an_environment_ends_and_rewards_with_a_contact(tmp_path):
    text = ground() + box("box", 2.0, 0.25) + sensor()
    text += table("signal", name="push", type="input", unit="N")
    text += table("actuator", type="force", name="a", coordinates=["box_free.vx"], command="push")
    text += """[environment]
period = 0.02
duration = 2.0
action = { input = "push", scale = 0.0 }
observations = ["touch.touching", "touch.normal"]
[[environment.reward]]
name = "load"
signal = "touch.normal"
weight = 0.1
[[environment.end]]
name = "landed"
signal = "touch.touching"
above = 0.5
"""
    (tmp_path / "scene.toml").write_text(
        text + simulation("convex", step=2e-3, duration=2.0), "utf-8"
    )
    environment = Environment(tmp_path / "scene.toml", 3)
    environment.reset(seed=1)
    fall = np.sqrt(2 * 0.15 / G)
    steps = 0
    while steps < 100:
        step, steps = environment.step(np.zeros((3, 1))), steps + 1
        if step.terminated.any():
            break
        np.testing.assert_array_equal(step.observations, 0.0)
        np.testing.assert_array_equal(step.reward, 0.0)
    assert abs(0.02 * steps - fall) < 0.021
    assert step.terminated.all()
    normal = step.observations[:, 1] if step.observations[:, 1].any() else step.reward / 0.1
    assert (normal > 0).all()


ERRORS = {
    "no shape": (
        ground()
        + box("box", 1.0, 0.2)
        + box("air", 1.0, 0.6).replace("collision =", "visual =")
        + sensor(frame="air"),
        "sensor 'touch': nothing in the scene can touch 'air'; give it and others collision shapes",
    ),
    "another body": (
        ground() + box("box", 1.0, 0.2) + box("far", 1.0, 0.2) + sensor(others=["fat"]),
        "unknown body or frame 'fat'",
    ),
    "bodies that cannot touch": (
        ground()
        + box("box", 1.0, 0.2)
        + table("body", name="post", mass=1)
        + table("joint", name="p", type="fixed", child="post")
        + sensor(others=["post"]),
        "sensor 'touch': 'box' and 'post' cannot touch; name some of 'world'",
    ),
    "no frame": (
        ground() + box("box", 1.0, 0.2) + table("sensor", name="touch", type="contact"),
        "sensor 'touch': has no frame, but its contact is read; give frame",
    ),
    "axes": (
        ground() + box("box", 1.0, 0.2) + sensor(axes="world"),
        "unknown 'world'",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_a_wrong_contact_sensor_is_reported(tmp_path, case):
    text, problem = ERRORS[case]
    with pytest.raises(SceneError) as caught:
        scene_of(tmp_path, text + simulation("convex", step=1e-3))
    assert problem in str(caught.value)


def test_a_contact_of_convex_steps_has_no_slope(tmp_path):
    text = ground() + box("box", 2.0, 0.0999) + sensor()
    text += table("signal", name="push", type="input", unit="N")
    text += table("actuator", type="force", name="a", coordinates=["box_free.vx"], command="push")
    scene = scene_of(tmp_path, text + simulation("convex", step=1e-3))
    with pytest.raises(SimulationError, match="reads accelerations or forces of contacts"):
        pysim.linearize(scene, inputs=["push"], outputs=["touch.normal"])
