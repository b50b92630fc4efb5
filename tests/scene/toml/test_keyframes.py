"""Keyframes of scenes. The oracle is the scene whose joints have the start of the keyframe in their own tables."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.cli import main
from pysim.errors import SceneError
from pysim.scene.convert import convert

SCENE = """
[[body]]
name = "rod"
mass = 1.0
inertia = { xx = 1.0, yy = 1.0, zz = 1.0 }
[[body]]
name = "stone"
mass = 1.0
inertia = { xx = 1.0, yy = 1.0, zz = 1.0 }
[[body]]
name = "pointer"
mass = 1.0
inertia = { xx = 1.0, yy = 1.0, zz = 1.0 }
[[joint]]
name = "hinge"
type = "revolute"
child = "rod"
start = { q = 0.2, v = 0.3 }
[[joint]]
name = "flight"
type = "free"
child = "stone"
start = { v = [1, 0, 0, 0, 0, 0] }
[[joint]]
name = "follower"
type = "revolute"
child = "pointer"
mimic = { joint = "hinge" }
[[signal]]
name = "push"
type = "constant"
value = 1.0
[[actuator]]
name = "motor"
type = "force"
joint = "hinge"
command = "push"
[keyframes.up]
start = { hinge = "180 deg" }
[keyframes.thrown]
start = { flight = { xyz = [0, 0, 2], rpy = [0, 0, "90 deg"] } }
start_v = { hinge = 2.0, flight = [0, 0, 1, 0, 0, 3] }
commands = { push = 5.0 }
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(SCENE, "utf-8")


def start_of(scene: pysim.Scene) -> tuple[list[float], list[float]]:
    return scene.state.q.tolist(), scene.state.v.tolist()


def test_a_run_starts_at_the_keyframe_that_the_scene_names() -> None:
    q, v = start_of(pysim.load_scene("s.toml"))
    assert (q[0], v[0]) == (0.2, 0.3)
    for source in ({"keyframe": "up"}, None):
        if source is None:
            Path("s.toml").write_text('keyframe = "up"\n' + SCENE, "utf-8")
        up = pysim.load_scene("s.toml", source or {})
        assert start_of(up) == ([math.pi, *q[1:]], [0.0, *v[1:]])


def test_a_keyframe_has_poses_velocities_and_commands() -> None:
    q, v = start_of(pysim.load_scene("s.toml", {"keyframe": "thrown"}))
    half = math.sqrt(0.5)
    np.testing.assert_allclose(q, [0.2, 0, 0, 2, 0, 0, half, half], rtol=0, atol=1e-15)
    assert v == [2.0, 0, 0, 1, 0, 0, 3]
    thrown = pysim.load_scene("s.toml", {"keyframe": "thrown", "simulation.duration": 0.1})
    values = {"signal.push.value": 5.0, "joint.hinge.start.v": 2.0, "simulation.duration": 0.1}
    given = pysim.load_scene("s.toml", values)
    found, expected = (pysim.simulate(scene).q[:, 0] for scene in (thrown, given))
    np.testing.assert_array_equal(found, expected)


def test_an_attached_scene_starts_at_its_keyframe() -> None:
    model = '[[model]]\nfile = "s.toml"\nname = "a"\nkeyframe = "up"\nstart_v = { hinge = 1.0 }\n'
    Path("t.toml").write_text(model, "utf-8")
    q, v = start_of(pysim.load_scene("t.toml"))
    assert (q[0], v[0]) == (math.pi, 1.0)
    Path("t.toml").write_text(model.replace('"up"', '"upp"'), "utf-8")
    with pytest.raises(SceneError, match="the file has no keyframe 'upp'; did you mean 'up'"):
        pysim.load_scene("t.toml")


def test_keyframes_of_attached_files_are_those_of_the_scene() -> None:
    Path("t.toml").write_text('[[model]]\nfile = "s.toml"\nname = "a"\n', "utf-8")
    assert [own.name for own in pysim.load_scene("t.toml").model.spec.keyframes] == [
        "a/up",
        "a/thrown",
    ]
    changes: dict[str, object] = {"simulation.duration": 0.1}
    thrown = pysim.load_scene("t.toml", {**changes, "keyframe": "a/thrown"})
    expected = pysim.load_scene("s.toml", {**changes, "keyframe": "thrown"})
    np.testing.assert_array_equal(pysim.simulate(thrown).q, pysim.simulate(expected).q)
    own = '[[model]]\nfile = "s.toml"\n[keyframes.up]\nstart = { hinge = 1.5 }\n'
    Path("t.toml").write_text(own, "utf-8")
    assert start_of(pysim.load_scene("t.toml", {"keyframe": "up"}))[0][0] == 1.5
    assert start_of(pysim.load_scene("t.toml", {"keyframe": "thrown"}))[1][0] == 2.0


def test_worlds_of_a_scene_have_the_keyframes_of_its_files() -> None:
    text = 'gravity = [0, 0, -9.81]\n[[model]]\nfile = "s.toml"\n'
    Path("t.toml").write_text(text, "utf-8")
    worlds: dict[str, object] = {"gravity[2]": [-9.0, -8.0]}
    for scene, g in zip(pysim.load_scenes("t.toml", worlds), (-9.0, -8.0), strict=True):
        assert scene.model.spec.gravity[2] == g
        assert [own.name for own in scene.model.spec.keyframes] == ["up", "thrown"]
    thrown = pysim.load_scenes("t.toml", {**worlds, "keyframe": "thrown"})
    assert [start_of(own)[1][0] for own in thrown] == [2.0, 2.0]


def test_a_keyframe_has_no_commands_of_actuators_that_follow_the_scene() -> None:
    commanded = 'keyframe = "thrown"\n[[model]]\nfile = "s.toml"\nactuators = false\n'
    Path("t.toml").write_text(commanded, "utf-8")
    scene = pysim.load_scene("t.toml")
    assert [dict(own.commands) for own in scene.model.spec.keyframes] == [{}, {}]
    assert start_of(scene)[1][0] == 2.0


ERRORS = {
    'keyframe = "upp"\n': "s.toml:1:12: keyframe: unknown keyframe 'upp'; did you mean 'up'?",
    '[keyframes.x]\nstart = { hing = 1 }\n': (
        "s.toml:2:11: keyframes.x.start.hing: unknown joint 'hing'; did you mean 'hinge'?"
    ),
    '[keyframes.x]\nstart = { follower = 1 }\n': (
        "s.toml:2:11: keyframes.x.start.follower: follows joint 'hinge'; give the start to that joint"
    ),
    '[keyframes.x]\nstart = { hinge = [1, 2] }\n': (
        "s.toml:2:19: keyframes.x.start.hinge.q: must have 1 number for a revolute joint: angle [rad]; got 2"
    ),
    '[keyframes.x]\nstart_v = { flight = 1 }\n': (
        "s.toml:2:22: keyframes.x.start_v.flight: must have 6 numbers for a free joint: vx [m/s], vy [m/s], "
        "vz [m/s], wx [rad/s], wy [rad/s], wz [rad/s]; got 1"
    ),
    '[keyframes.x]\nstart_v = { follower = 1 }\n': (
        "s.toml:2:13: keyframes.x.start_v.follower: follows joint 'hinge'; give the start to that joint"
    ),
    '[keyframes.x]\nstrt = { hinge = 1 }\n': (
        "s.toml:2:1: keyframes.x.strt: unknown key; did you mean 'start'?"
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", ERRORS)
def test_mistakes_in_keyframes_are_reported_at_their_place(text: str) -> None:
    Path("s.toml").write_text(text + SCENE, "utf-8")
    with pytest.raises(SceneError) as caught:
        pysim.load_scene("s.toml")
    assert str(caught.value) == ERRORS[text]


def test_keyframes_survive_conversion_and_a_builder(capsys: pytest.CaptureFixture[str]) -> None:
    convert("s.toml", "t.toml", keyframe="up")
    builder = pysim.SceneBuilder.load("s.toml")
    builder.keyframe("low", start={"hinge": -1.0})
    builder.save("b.toml")
    for name in ("up", "thrown"):
        expected = start_of(pysim.load_scene("s.toml", {"keyframe": name}))
        for file in ("t.toml", "b.toml"):
            found = start_of(pysim.load_scene(file, {"keyframe": name}))
            assert found == expected
    assert start_of(pysim.load_scene("b.toml", {"keyframe": "low"}))[0][0] == -1.0
    assert start_of(pysim.load_scene("t.toml"))[0][0] == math.pi
    assert main(["convert", "s.toml", "r.urdf", "--partial"]) == 0
    assert "keyframe 'up' has no place in a URDF file, and is left out" in capsys.readouterr().err


def test_worlds_of_a_sweep_start_at_the_keyframe() -> None:
    """Reading many worlds at once gives what reading each gives."""
    Path("s.toml").write_text('keyframe = "up"\n' + SCENE, "utf-8")
    changes = {"joint.hinge.start.q": [0.0, 0.1, 0.2], "body.rod.mass": [1.0, 2.0, 3.0]}
    scenes = pysim.load_scenes("s.toml", changes)
    for k, scene in enumerate(scenes):
        alone = pysim.load_scene("s.toml", {key: values[k] for key, values in changes.items()})
        assert start_of(scene) == start_of(alone)
        assert start_of(scene)[0][0] == math.pi
