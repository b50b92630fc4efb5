"""Worlds of lists of scenes that differ in numbers. Oracle: every scene run alone, bit for bit."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.errors import SimulationError
from pysim.rollouts.result import Rollout
from pysim.worlds.parameters.varied_numbers import alike

SCENES = Path(__file__).parents[2] / "scenes"
pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")

BALL = """
gravity = [0.0, 0.0, -9.81]
[simulation]
step = 2e-3
duration = 0.3
[output]
every = 0.02
[[body]]
name = "ball"
mass = 1.0
inertia = { xx = 0.01, yy = 0.01, zz = 0.01 }
[[body.collision]]
sphere = { radius = 0.1 }
[[joint]]
name = "base"
type = "free"
child = "ball"
start = { xyz = [0.0, 0.0, 0.12], v = [0.5, 0.0, 0.0, 0.0, 0.0, 0.0] }
[[ground]]
plane = { normal = [0, 0, 1], offset = 0.0 }
[materials.default]
friction = 0.5
"""
SERVO = """
[simulation]
step = 2e-3
duration = 0.3
[output]
every = 0.02
[[body]]
name = "arm"
mass = 1.0
com = [0.0, 0.0, -0.3]
inertia = { xx = 0.01, yy = 0.01, zz = 0.01 }
[[joint]]
name = "hinge"
type = "revolute"
axis = [0, 1, 0]
child = "arm"
start = 0.3
[[signal]]
name = "target"
type = "input"
unit = "rad"
value = 0.2
[[sensor]]
name = "angle"
type = "coordinates"
coordinates = ["hinge"]
period = 0.01
[[controller]]
name = "pd"
type = "pd"
inputs = ["target", "angle.q", "angle.v"]
kp = 20.0
kd = 1.0
[[actuator]]
name = "motor"
type = "force"
joint = "hinge"
command = "pd"
[[actuator]]
joint = "hinge"
name = "push"
amplitude = 0.5
frequency = 2.0
"""
MANY = 11  # more than a pack


def written(folder: Path, text: str) -> Path:
    path = folder / "scene.toml"
    path.write_text(text, "utf-8")
    return path


def assert_as_alone(scenes: Any, **arguments: Any) -> Rollout:
    together = pysim.rollout(scenes, threads=2, **arguments)
    for k, scene in enumerate(scenes):
        alone = pysim.simulate(scene)
        for found, wanted in ((together.q[k], alone.q), (together.v[k], alone.v)):
            assert found.tobytes() == wanted.tobytes(), k
    return together


def anymals(count: int) -> tuple[pysim.Scene, ...]:
    rng = np.random.default_rng(2)
    gravity = np.zeros((count, 3))
    gravity[:, 2] = rng.uniform(-10.5, -9.0, count)
    return pysim.load_scenes(
        SCENES / "anymal_pushed.toml",
        {
            "gravity": gravity,
            "materials.default.friction": rng.uniform(0.4, 0.9, count),
            "model[0].body.base.mass": rng.uniform(15, 25, count),
            "model[0].joint.LF_KFE.stiffness": rng.uniform(150, 250, count),
            "simulation.duration": 0.2,
        },
    )


def test_robots_in_contact_have_the_bits_of_each_alone_and_share_packs() -> None:
    scenes = anymals(MANY)
    assert len(alike(scenes)) == 1
    run = assert_as_alone(scenes, contacts=True)
    assert len({rows.tobytes() for rows in run.q[:, -1]}) == MANY
    assert run.contacts is not None
    alone = pysim.rollout(scenes[3], contacts=True)
    assert alone.contacts is not None
    np.testing.assert_array_equal(run.contacts.force[3], alone.contacts.force)


@pytest.mark.parametrize("integrator", ["rk4", "convex", "generalized_alpha", "variational"])
def test_gains_of_sampled_controllers_differ_in_packs(tmp_path: Path, integrator: str) -> None:
    x = np.linspace(0.8, 1.3, MANY)
    scenes = pysim.load_scenes(
        written(tmp_path, SERVO),
        {
            "controller.pd.kp": 20 * x,
            "controller.pd.kd": 1.1 * x[::-1],
            "signal.target.value": 0.2 * x,
            "body.arm.mass": x,
            "simulation.integrator": integrator,
        },
    )
    assert len(alike(scenes)) == 1
    run = assert_as_alone(scenes, signals=["pd"])
    for k in (0, 7):
        alone = pysim.simulate(scenes[k]).signals["pd"]
        np.testing.assert_array_equal(run.signals["pd"][k], alone)


def test_worlds_with_other_prescribed_forces_run_apart_in_the_same_call(tmp_path: Path) -> None:
    amplitudes = [0.5, 0.7, 0.5, 0.9, 0.7]
    scenes = pysim.load_scenes(
        written(tmp_path, SERVO),
        {"actuator.push.amplitude": amplitudes, "controller.pd.kp": [20.0, 21, 22, 23, 24]},
    )
    assert [group.tolist() for group, _ in alike(scenes)] == [[0, 2], [1, 4], [3]]
    assert_as_alone(scenes)


@pytest.mark.parametrize("integrator", ["convex", "rk4"])
def test_worlds_with_other_shapes_run_apart_in_the_same_call(
    tmp_path: Path, integrator: str
) -> None:
    scenes = pysim.load_scenes(
        written(tmp_path, BALL),
        {
            "body.ball.collision[0].sphere.radius": [0.1, 0.11, 0.1, 0.12],
            "materials.default.friction": [0.5, 0.5, 0.2, 0.4],
            "simulation.integrator": integrator,
        },
    )
    groups = [[0, 2], [1], [3]] if integrator == "convex" else [[0], [1], [2], [3]]
    assert [group.tolist() for group, _ in alike(scenes)] == groups
    assert_as_alone(scenes)


def test_worlds_of_a_list_of_shapes_are_refused_with_the_reason(tmp_path: Path) -> None:
    path = written(tmp_path, BALL)
    scenes = pysim.load_scenes(path, {"body.ball.collision[0].sphere.radius": [0.1, 0.11]})
    with pytest.raises(
        SimulationError, match=r"^scene\[1\]: differs from scene\[0\] in its shapes"
    ):
        pysim.Worlds(list(scenes))


def test_a_rollout_of_a_list_goes_on_from_its_state(tmp_path: Path) -> None:
    x = np.linspace(0.8, 1.3, 5)
    path = written(tmp_path, SERVO)
    keys = {"controller.pd.kp": 20 * x, "actuator.push.amplitude": [0.5, 0.7, 0.5, 0.9, 0.7]}
    scenes = pysim.load_scenes(path, keys)
    whole = pysim.rollout(scenes, steps=100, every=10)
    first = pysim.rollout(scenes, steps=40, every=10)
    last = first.q[:, -1], first.v[:, -1]
    rest = pysim.rollout(scenes, *last, steps=60, every=10, state=first.state)
    np.testing.assert_array_equal(np.concatenate([first.q, rest.q[:, 1:]], axis=1), whole.q)


def test_parameters_of_a_list_are_those_of_its_scenes_and_can_be_written(tmp_path: Path) -> None:
    path = written(tmp_path, BALL)
    mass, friction = [1.0, 2.0, 3.0], [0.2, 0.3, 0.4]
    keys = {"body.ball.mass": mass, "materials.default.friction": friction}
    scenes = list(pysim.load_scenes(path, keys))
    worlds = pysim.Worlds(scenes)
    np.testing.assert_array_equal(worlds.parameters["body.ball.mass"], mass)
    worlds.parameters["materials.default.friction"][1] = 0.6
    worlds.step(seconds=0.3)
    friction[1] = 0.6
    for k in range(3):
        own = {"body.ball.mass": mass[k], "materials.default.friction": friction[k]}
        alone = pysim.Worlds(pysim.load_scene(path, own))
        alone.step(seconds=0.3)
        np.testing.assert_array_equal(worlds.q[k], alone.q)
        assert worlds.scene(k).spec.model.contacts is not None
    copy = pickle.loads(pickle.dumps(worlds))
    for both in (worlds, copy):
        both.step(steps=20)
    np.testing.assert_array_equal(copy.q, worlds.q)
    saved = worlds.save([0])
    with pytest.raises(SimulationError, match="saved: is of other scenes of a list than world 2"):
        worlds.load(saved, [2])
    worlds.load(saved, [0])


def test_an_impulse_moves_each_world_by_the_mass_of_its_scene(tmp_path: Path) -> None:
    mass = [1.0, 2.0, 4.0]
    scenes = list(pysim.load_scenes(written(tmp_path, BALL), {"body.ball.mass": mass}))
    worlds = pysim.Worlds(scenes)
    worlds.v[:] = 0.0
    worlds.push("ball", [1.0, 0.0, 0.0])
    np.testing.assert_allclose(worlds.v[:, 0], 1 / np.array(mass), rtol=1e-14)
