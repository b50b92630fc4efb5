"""Stops that rebound. Oracle: the coefficient of restitution of Hunt and Crossley's law, in closed form."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from tests.elements.blocks import mass, scene_of, simulation, table


def wall(limits, start=1.0, joint="x"):
    """Return a mass that slides towards a limit 0.1 m away."""
    return mass(2.0, v=start).replace(f'name = "{joint}"', f'name = "{joint}"\nlimits = {limits}')


@pytest.mark.parametrize(
    ("integrator", "keys", "tolerance"),
    [
        ("dopri5", {}, 1e-8),
        ("rk4", {"step": 1e-4}, 1e-5),
        ("implicit_midpoint", {"step": 2e-4}, 1e-4),
        ("convex", {"step": 1e-4}, 2e-4),
    ],
)
@pytest.mark.parametrize("speed", [-0.5, 2.0])
def test_an_impact_has_the_restitution_that_is_given(tmp_path, integrator, keys, tolerance, speed):
    bound = "upper = 0.1" if speed > 0 else "lower = -0.1"
    limits = f"{{ {bound}, stiffness = 1e4, restitution = {{ value = 0.6, at = {abs(speed)} }} }}"
    run = simulation(integrator, duration=0.5, interval=0.5, **keys)
    run = pysim.simulate(scene_of(tmp_path, wall(limits, speed) + run))
    assert run.v[-1, 0] == pytest.approx(-0.6 * speed, rel=tolerance)


def test_the_restitution_does_not_depend_on_stiffness_and_falls_with_speed(tmp_path):
    restitution = {}
    for stiffness in (None, 5e3):
        for speed in (0.5, 2.0):
            own = "" if stiffness is None else f"stiffness = {stiffness}, "
            text = wall(f"{{ upper = 0.1, {own}dissipation = 0.4 }}", speed)
            run = simulation(duration=1.0, interval=1.0)
            restitution[stiffness, speed] = (
                -pysim.simulate(scene_of(tmp_path, text + run)).v[-1, 0] / speed
            )
    for (_, speed), e in restitution.items():
        assert e == pytest.approx(pysim.contact.restitution_of(0.4, speed), rel=1e-7)
    assert restitution[None, 2.0] < restitution[None, 0.5] - 0.1


def test_the_ledger_of_a_rebound_closes(tmp_path):
    text = wall("{ upper = 0.1, stiffness = 1e4, dissipation = 0.4 }")
    run = pysim.simulate(scene_of(tmp_path, text + simulation(duration=0.4, interval=0.01)))
    np.testing.assert_allclose(run.energy_balance, run.energy_balance[0], rtol=1e-9)
    lost = 1 - pysim.contact.restitution_of(0.4, 1.0) ** 2
    assert run.work["x stop"][-1] == pytest.approx(-lost, rel=1e-6)


def test_each_coordinate_of_a_joint_has_its_stop(tmp_path):
    text = "gravity = [0, 0, 0]\n"
    text += table("body", name="nut", mass=1, inertia=dict.fromkeys(("xx", "yy", "zz"), 0.2))
    limits = {"lower": [-0.1, -0.2], "upper": [0.1, 0.2], "dissipation": [0.3, 0.5]}
    text += table("joint", name="rod", type="cylindrical", child="nut", limits=limits)
    model = scene_of(tmp_path, text + simulation()).model
    assert [force.name for force in model.spec.forces] == ["rod.slide stop", "rod.angle stop"]
    q = np.array([[0.13, -0.25]]) if model.coordinate_units[0] == "m" else np.array([[-0.25, 0.13]])
    tau = pysim.passive_forces(model, q, 0 * q)[0]
    assert sorted(np.sign(tau)) == [-1, 1]


def test_worlds_that_differ_in_a_rebound_are_read_in_full(tmp_path):
    file = tmp_path / "scene.toml"
    limits = "{ upper = 0.1, stiffness = 1e4, dissipation = 0.4 }"
    file.write_text(wall(limits) + simulation("rk4", duration=0.5, interval=0.5), "utf-8")
    scenes = pysim.load_scenes(file, {"joint[0].limits.dissipation": [0.1, 0.4, 0.8]})
    keys = [scene.model.spec.forces[0].parameters["dissipation"] for scene in scenes]
    assert keys == [0.1, 0.4, 0.8]


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ("{ upper = 0.1, damping = 1, dissipation = 1 }", "has damping and dissipation; give one"),
        (
            "{ upper = 0.1, dissipation = 1, restitution = { value = 0.5, at = 1 } }",
            "has dissipation and restitution; give one",
        ),
        ("{ upper = 0.1, restitution = { value = 0, at = 1 } }", "value 0 is that of a damper"),
        ("{ upper = 0.1, restitution = { value = 1.5, at = 1 } }", "restitution.value"),
        ("{ upper = 0.1, dissipation = -1 }", "dissipation"),
    ],
)
def test_limits_that_contradict_themselves_are_rejected(tmp_path, limits, message):
    with pytest.raises(pysim.SceneError, match=message):
        scene_of(tmp_path, wall(limits) + simulation())
