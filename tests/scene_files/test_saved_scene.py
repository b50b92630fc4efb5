"""Scenes that are saved to files. Oracle: the scene that was saved, number by number."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.errors import SceneError
from pysim.mechanism.model import State

SCENES = Path(__file__).parents[2] / "scenes"


def assert_same(one: pysim.Scene, other: pysim.Scene) -> None:
    assert one.settings == other.settings
    for key in ("q", "v"):
        np.testing.assert_array_equal(getattr(one.state, key), getattr(other.state, key))
    np.testing.assert_array_equal(one.model.parameters, other.model.parameters)
    np.testing.assert_array_equal(one.model.placements, other.model.placements)
    assert [block.name for block in one.spec.blocks] == [block.name for block in other.spec.blocks]


@pytest.mark.parametrize("name", ["four_bar", "robot_arm", "servo_pid", "gears", "stairs"])
def test_a_saved_scene_is_the_scene(name: str, tmp_path: Path) -> None:
    scene = pysim.load_scene(SCENES / f"{name}.toml", allow_code=True)
    file = scene.save(tmp_path / "saved.toml")
    assert_same(pysim.load_scene(file, allow_code=True, package_dirs=[SCENES]), scene)


def test_overrides_and_included_files_are_in_the_saved_file(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/rod.toml").write_text(
        '[parameters]\nm = 2.0\n[[body]]\nname = "rod"\nmass = "= m"\n'
        "inertia = { xx = 1, yy = 1, zz = 1 }\n"
    )
    (tmp_path / "in/scene.toml").write_text(
        'name = "x"\ninclude = ["rod.toml"]\n[[joint]]\nname = "j"\ntype = "revolute"\nchild = "rod"\n'
    )
    changes = {"parameters.m": 3.5, "simulation.duration": 0.7}
    scene = pysim.load_scene(tmp_path / "in/scene.toml", changes)
    file = scene.save(tmp_path / "alone.toml")
    (tmp_path / "in/rod.toml").unlink()
    again = pysim.load_scene(file)
    assert_same(again, scene)
    assert again.model.total_mass == 3.5
    assert "= m" in file.read_text("utf-8")


def test_a_scene_of_another_program_is_saved_with_its_file(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    (tmp_path / "m.xml").write_text(
        '<mujoco><option timestep="0.004"/><worldbody><body name="b"><joint name="j" type="hinge"/>'
        '<geom size="0.1" mass="1" contype="0" conaffinity="0"/></body></worldbody></mujoco>'
    )
    scene = pysim.Worlds(tmp_path / "m.xml").scene()
    again = pysim.load_scene(scene.save(tmp_path / "m.toml"))
    assert again.settings.step == 0.004
    np.testing.assert_array_equal(again.model.parameters, scene.model.parameters)


def test_a_scene_built_in_python_is_saved(tmp_path: Path) -> None:
    builder = pysim.SceneBuilder("built")
    builder.body("b", mass=1.0, inertia={"xx": 0.1, "yy": 0.1, "zz": 0.1})
    builder.joint("j", "revolute", child="b", start={"q": 0.3})
    scene = builder.build()
    assert_same(pysim.load_scene(scene.save(tmp_path / "b.toml")), scene)


def test_a_scene_that_was_changed_later_is_an_error(tmp_path: Path) -> None:
    scene = pysim.load_scene(SCENES / "pendulum.toml")
    moved = replace(scene, state=State(scene.state.q + 0.1, scene.state.v))
    with pytest.raises(
        SceneError, match="its state was changed after it was read; pass the change"
    ):
        moved.save(tmp_path / "x.toml")
    assert not (tmp_path / "x.toml").exists()
    scene.save(tmp_path / "x.toml")
    with pytest.raises(SceneError, match="exists; name another file, or pass overwrite=True"):
        scene.save(tmp_path / "x.toml")
    scene.save(tmp_path / "x.toml", overwrite=True)
