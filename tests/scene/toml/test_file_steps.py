"""Time steps of attached files: MJCF's `timestep`, SDF's `max_step_size`. The oracle is the number in the file."""

from __future__ import annotations

import json

import pytest

import pysim
from pysim.cli.app import answer

MJCF = """<mujoco><option timestep="{step}"/><worldbody><body name="{name}">
<joint name="{name}_hinge" axis="0 1 0"/><geom type="sphere" size="0.1" pos="0.3 0 0"/>
</body></worldbody></mujoco>"""
SDF = """<sdf version="1.9"><world name="w">{physics}<model name="m"><joint name="j" type="revolute">
<parent>world</parent><child>arm</child><axis><xyz>0 1 0</xyz></axis></joint><link name="arm"><inertial><mass>1</mass>
<inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial></link></model></world></sdf>"""


@pytest.fixture
def scene(tmp_path):
    def load(text, *files):
        for name, content in files:
            (tmp_path / name).write_text(content, "utf-8")
        (tmp_path / "s.toml").write_text(text, "utf-8")
        return pysim.load_scene(tmp_path / "s.toml")

    return load


def attached(*names):
    return "".join(f'[[model]]\nfile = "{name}"\nname = "{name[0]}"\n' for name in names)


SLOW = ("slow.xml", MJCF.format(step=0.004, name="slow"))
FAST = ("fast.xml", MJCF.format(step=0.0007, name="fast"))


def test_a_scene_without_a_step_takes_that_of_its_file(scene):
    assert scene(attached("slow.xml"), SLOW).settings.step == 0.004


def test_a_scene_takes_the_shortest_step_of_its_files(scene):
    assert scene(attached("slow.xml", "fast.xml"), SLOW, FAST).settings.step == 0.0007


@pytest.mark.parametrize(
    ("keys", "step"),
    [
        ("step = 0.002", 0.002),
        ('integrator = "dopri5"', float("inf")),
        ('integrator = "convex"\naccuracy = 1e-4', 0.01),
    ],
)
def test_steps_of_the_scene_precede_those_of_the_file(scene, keys, step):
    settings = scene(f"{attached('slow.xml')}[simulation]\n{keys}\n", SLOW).settings
    assert (settings.step, settings.step_file) == (step, "")


def test_the_file_of_an_attached_scene_sets_the_step(scene):
    inner = ("inner.toml", attached("slow.xml"))
    assert scene(attached("inner.toml"), inner, SLOW).settings.step == 0.004


def test_copies_and_worlds_have_the_step_of_the_file(scene):
    made = scene('[[model]]\nfile = "slow.xml"\nname = "s"\ncount = 3\n', SLOW)
    assert made.settings.step == 0.004
    worlds = pysim.Worlds(made, 2)
    worlds.step(steps=1)
    assert worlds.t.tolist() == [0.004, 0.004]


PROFILES = """<physics name="coarse" type="ode"><max_step_size>0.01</max_step_size></physics>
<physics name="fine" default="true" type="ode"><max_step_size>0.003</max_step_size></physics>"""


@pytest.mark.parametrize(
    ("physics", "step"),
    [
        ('<physics type="ode"><max_step_size>0.005</max_step_size></physics>', 0.005),
        (PROFILES, 0.003),
        ('<physics type="ode"/>', 1e-3),
        ("", 1e-3),
    ],
)
def test_the_physics_of_an_sdf_world_sets_the_step(scene, tmp_path, physics, step):
    assert scene(attached("w.sdf"), ("w.sdf", SDF.format(physics=physics))).settings.step == step
    assert pysim.Worlds(tmp_path / "w.sdf").scene().settings.step == step


def test_a_step_of_an_sdf_world_that_is_not_positive_is_rejected(scene):
    physics = '<physics type="ode"><max_step_size>-0.005</max_step_size></physics>'
    with pytest.raises(
        pysim.SceneError, match=r"<max_step_size> must be positive \[s\], got -0.005"
    ):
        scene(attached("w.sdf"), ("w.sdf", SDF.format(physics=physics)))


def test_check_names_the_file_that_the_step_is_from(scene, tmp_path, capsys):
    scene(attached("slow.xml"), SLOW)
    path = str(tmp_path / "s.toml")
    assert answer(["check", path]) == 0
    assert ", rk4 0.004 s (of slow.xml), output" in capsys.readouterr().out
    assert answer(["check", path, "--json"]) == 0
    simulation = json.loads(capsys.readouterr().out)["simulation"]
    assert (simulation["step"], simulation["step_file"]) == (0.004, "slow.xml")
