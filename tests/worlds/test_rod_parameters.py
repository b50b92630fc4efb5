"""Numbers of rods in which worlds differ. Oracle: scenes that are loaded with these numbers, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.errors import SimulationError

VALUES = {"EI": [3.0, 4.0], "GJ": 2.5, "damping": 5e-3}


def scene(planar=None, integrator="generalized_alpha", EI=(1.0, 2.0), GJ=1.5, damping=1e-3):
    builder = pysim.SceneBuilder("hose", gravity=[0, 0, -9.81])
    section = {"EI": EI if np.ndim(EI) > 1 else list(EI), "GJ": GJ, "mass_per_length": 0.2}
    keys = {} if planar is None else {"planar": planar}
    builder.rod("hose", length=1.0, section=section, bars=4, damping=damping, **keys)
    builder.simulation(duration=0.1, step=1e-3, integrator=integrator)
    return builder.build()


@pytest.mark.parametrize("integrator", ["generalized_alpha", "convex", "implicit_midpoint"])
@pytest.mark.parametrize("planar", ["y", "z", None])
@pytest.mark.parametrize("written", [["EI"], ["GJ"], ["damping"], ["EI", "GJ", "damping"]])
def test_worlds_differ_in_stiffness_and_damping(integrator, planar, written):
    worlds = pysim.Worlds(scene(planar, integrator), 2)
    for key in written:
        worlds.parameters[f"rod.hose.{key}"][1] = VALUES[key]
    alone = pysim.Worlds(scene(planar, integrator, **{key: VALUES[key] for key in written}), 1)
    first = pysim.Worlds(scene(planar, integrator), 1)
    for each in (worlds, alone, first):
        each.step(steps=20)
    np.testing.assert_array_equal(worlds.q[1], alone.q[0])
    np.testing.assert_array_equal(worlds.q[0], first.q[0])
    spec = worlds.scene(1).spec.model
    np.testing.assert_array_equal(
        spec.joints[2].stiffness, alone.scene(0).spec.model.joints[2].stiffness
    )
    assert spec.rods[0].damping == alone.scene(0).spec.model.rods[0].damping


def test_numbers_of_rods_are_listed_and_checked():
    worlds = pysim.Worlds(scene(), 2)
    assert {"rod.hose.EI", "rod.hose.GJ", "rod.hose.damping"} <= set(worlds.parameters)
    with pytest.raises(SimulationError, match="those of a rod are EI, GJ, damping, length"):
        worlds.parameters["rod.hose.bars"]
    worlds.parameters["rod.hose.EI"][1] = -1.0
    with pytest.raises(SimulationError, match="give 0 or more"):
        worlds.step(steps=1)


def test_a_number_that_varies_along_a_rod_is_none_of_a_world():
    worlds = pysim.Worlds(scene(EI=[[0, 1.0, 1.0], [1, 2.0, 2.0]]), 2)
    with pytest.raises(SimulationError, match="varies along the rod, and is not one number"):
        worlds.parameters["rod.hose.EI"]
    worlds.parameters["rod.hose.damping"][1] = 0.01
    alone = pysim.Worlds(scene(EI=[[0, 1.0, 1.0], [1, 2.0, 2.0]], damping=0.01), 1)
    worlds.step(steps=10)
    alone.step(steps=10)
    np.testing.assert_array_equal(worlds.q[1], alone.q[0])


def hose(length=1.0, integrator="generalized_alpha", *, sensor=None, **keys):
    builder = pysim.SceneBuilder("hose", gravity=[0, 0, -9.81])
    builder.rod(
        "hose", length=length, section={"circle": 0.01}, material={"young": 2e8, "density": 1200},
        bars=6, damping=1e-3, **keys,
    )  # fmt: skip
    if sensor is not None:
        builder.sensor("station", "pose", frame={"rod": "hose", "s": sensor})
    builder.simulation(duration=0.1, step=1e-3, integrator=integrator)
    return builder.build()


HELD = {"b": "world", "at_b": {"xyz": [0.8, 0, 0]}, "start": "equilibrium"}


@pytest.mark.parametrize("integrator", ["generalized_alpha", "convex", "implicit_midpoint"])
@pytest.mark.parametrize(
    "keys",
    [{}, {"planar": "y"}, {"sensor": 0.42}, HELD, {**HELD, "ends": ["ball", "ball"]}],
    ids=["clamped", "planar", "sensor", "held", "ball"],
)
def test_worlds_differ_in_length(integrator, keys):
    worlds = pysim.Worlds(hose(1.0, integrator, **keys), 3)
    alone = [pysim.Worlds(hose(length, integrator, **keys), 1) for length in (1.0, 1.1, 0.95)]
    worlds.parameters["rod.hose.length"][1:] = [1.1, 0.95]
    for k, own in enumerate(alone):
        worlds.q[k] = own.q[0]
    for each in (worlds, *alone):
        each.step(steps=20)
    for k, own in enumerate(alone):
        np.testing.assert_array_equal(worlds.q[k], own.q[0])
        if "sensor" in keys:
            place = worlds.signals["station.position"]
            np.testing.assert_allclose(place[k], own.signals["station.position"][0], rtol=1e-14)
    assert np.abs(worlds.q[1] - worlds.q[0]).max() > 1e-4
    np.testing.assert_array_equal(worlds.scene(1).model.parameters, alone[1].scene(0).model.parameters)  # fmt: skip


def test_a_length_is_taken_back_and_goes_with_other_numbers():
    worlds = pysim.Worlds(hose(), 2)
    for key, value in {"length": 1.2, "damping": 2e-3, "EI": [0.2, 0.2]}.items():
        worlds.parameters[f"rod.hose.{key}"][1] = value
    worlds.parameters["body.hose/2.mass"][1] = 0.5
    numbers = worlds.scene(1).spec.model
    assert numbers.rods[0].length == 1.2
    assert numbers.joints[2].at[0, 3] == pytest.approx(0.2)
    assert numbers.bodies[2].theta[0] == 0.5
    assert numbers.joints[0].stiffness[1] == pytest.approx(0.2 / (0.2 / 3))
    worlds.step(steps=3)
    for path in ("rod.hose.length", "rod.hose.damping", "rod.hose.EI", "body.hose/2.mass"):
        worlds.parameters[path][1] = worlds.parameters[path][0]
    worlds.reset()
    alone = pysim.Worlds(hose(), 1)
    for each in (worlds, alone):
        each.step(steps=10)
    np.testing.assert_array_equal(worlds.q[1], alone.q[0])


def test_lengths_that_worlds_cannot_have_are_rejected():
    worlds = pysim.Worlds(hose(1.0, "convex", collision=True), 2)
    worlds.parameters["rod.hose.length"][1] = 1.1
    with pytest.raises(SimulationError, match="world 1 change what worlds share"):
        worlds.step()
    worlds.step()
    worlds.parameters["rod.hose.length"][1] = 0.0
    with pytest.raises(SimulationError, match="give a positive number"):
        worlds.step()
    path = pysim.SceneBuilder("arc", gravity=[0, 0, 0])
    section = {"EI": 1.0, "GJ": 1.0, "mass_per_length": 0.2}
    path.rod("arc", path=[[0, 0, 0], [0.3, 0.1, 0], [0.5, 0.4, 0]], section=section, bars=4)
    path.simulation(duration=0.1, step=1e-3, integrator="generalized_alpha")
    arcs = pysim.Worlds(path.build(), 2)
    assert "rod.arc.length" not in list(arcs.parameters)
    with pytest.raises(SimulationError, match="follows from the points of the rod's path"):
        arcs.parameters["rod.arc.length"]
    held = pysim.Worlds(hose(**HELD), 2)
    held.parameters["rod.hose.length"][1] = 0.7
    with pytest.raises(SimulationError, match=r"holds an end 0.8 \[m\] from the other .* world 1"):
        held.step()
    held.parameters["rod.hose.length"][1] = 1.1
    with pytest.warns(pysim.PysimWarning, match="'hose' is open by"):
        held.step()
    np.testing.assert_array_equal(held.lost, [False, True])


def test_a_length_of_a_scene_that_was_changed_is_rejected():
    scene = hose()
    theta = scene.spec.model.bodies[0].theta.copy()
    changed = pysim.Worlds(scene, 2)
    assert changed.parameters["rod.hose.length"][0] == 1.0
    model = pysim.Worlds(scene, 1)
    model.parameters["body.hose/0.mass"][:] = 2 * theta[0]
    other = pysim.Worlds(model.scene(0), 2)
    other.parameters["rod.hose.length"][1] = 1.1
    with pytest.raises(SimulationError, match="the scene was changed after it was read"):
        other.step()


def test_a_length_that_moves_a_sensor_to_another_body_is_rejected():
    """The middle of the rod is between two of its bodies, and belongs to another one if the rod is longer."""
    worlds = pysim.Worlds(hose(sensor=0.5), 2)
    worlds.parameters["rod.hose.length"][1] = 1.1
    with pytest.raises(
        SimulationError, match=r"world 1 change what .*other .*sensors.*load_scenes"
    ):
        worlds.step()
    assert worlds.parameters["rod.hose.length"][1] == 1.0
    worlds.step()
