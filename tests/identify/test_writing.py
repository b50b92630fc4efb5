"""Files with the numbers that were found. The oracle is the file read again, and its text line by line."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim import inertia
from pysim.errors import IdentificationError
from pysim.identify import Unknowns, write_found
from pysim.identify.identified_model import found_model
from tests.identify.recordings import mistaken
from tests.robots import robot_path

URDF = """<?xml version="1.0"?>
<!-- a comment before -->
<robot name="r">  <!-- kept -->
  <link name="arm">
    <!-- a comment within -->
    <inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><box size='1 1 1'/></geometry></visual>
  </link>
  <link name="tip">
    <inertial><mass value="0.5"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="hull"/>
  <link name="ballast">
    <inertial><mass value="3"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="base"/>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
    <dynamics damping="0.1" friction="0.2" springs="3"/></joint>
  <joint name="other" type="continuous"><parent link="base"/><child link="hull"/><axis xyz="0 0 1"/></joint>
  <joint name="w" type="fixed"><parent link="arm"/><child link="tip"/><origin xyz="0.3 0 0"/></joint>
  <joint name="u" type="fixed"><parent link="hull"/><child link="ballast"/><origin xyz="0.3 0 0"/></joint>
</robot>
"""
SCENE = """# A scene with a comment.
[[body]]
name = "rod"                       # the rod
shape = { capsule = { radius = 0.02, length = 1.0 }, density = 2700 }
[[body]]
name = "bob"
mass = 1.0
com = [0, 0, 0.2]
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "hinge"
type = "revolute"
child = "rod"
axis = [0, 1, 0]
damping = 0.3                      # measured
[[joint]]
name = "ball"
type = "ball"
parent = "rod"
child = "bob"
[[model]]
file = "r.urdf"
name = "robot"
joint = { hinge = { damping = 0.4 } }
[simulation]
duration = 3.0                     # [s]
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "r.urdf").write_text(URDF, "utf-8")
    (tmp_path / "s.toml").write_text(SCENE, "utf-8")
    return tmp_path


def resisting(model: pysim.Model) -> pysim.Model:
    """The model as identified with other resistances: joints change, the file they came from does not."""
    unknowns = Unknowns(model, (), ("damping", "friction", "armature"))
    return found_model(unknowns, np.linspace(0.1, 0.9, unknowns.size))


def test_a_robot_written_and_read_again_has_the_parameters_found(files: Path) -> None:
    model = mistaken(pysim.load_model(files / "r.urdf"), seed=1)
    assert write_found(model, files / "r.urdf", files / "new.urdf") == [
        "hull takes the mass of ballast, which are welded to it"
    ]
    again = pysim.load_model(files / "new.urdf")
    np.testing.assert_allclose(again.parameters, model.parameters, rtol=1e-7, atol=1e-9)


def test_all_that_did_not_change_is_kept_byte_by_byte(files: Path) -> None:
    model = pysim.load_model(files / "r.urdf")
    theta = model.parameters
    theta[0] *= 1.1
    write_found(model.with_parameters(theta), files / "r.urdf", files / "new.urdf")
    new = (files / "new.urdf").read_text("utf-8")
    changed = [line for line in difflib.ndiff(URDF.split("\n"), new.split("\n")) if line[0] in "+-"]
    assert len(changed) == 2
    assert changed[0] == "-     " + URDF.split("\n")[5].strip()
    assert changed[1].startswith('+     <inertial><origin xyz="')


def test_an_unchanged_model_gives_the_same_file(files: Path) -> None:
    for name in ("r.urdf", "s.toml"):
        end = files / f"new.{name[-4:].strip('.')}"
        write_found(pysim.load_model(files / name), files / name, end)
        assert end.read_bytes() == (files / name).read_bytes()


def test_panda_is_written_with_its_parameters_and_nothing_else_changed(tmp_path: Path) -> None:
    path = robot_path("panda")
    model = mistaken(pysim.load_model(path), seed=2)
    write_found(model, path, tmp_path / "panda.urdf")
    again = pysim.load_model(tmp_path / "panda.urdf")
    np.testing.assert_allclose(again.parameters, model.parameters, rtol=1e-6, atol=1e-9)
    assert inertia.is_physical(again.parameters).all()
    old, new = path.read_text("utf-8"), (tmp_path / "panda.urdf").read_text("utf-8")
    inertial = re.compile(r"<inertial>.*?</inertial>", re.DOTALL)
    assert inertial.sub("", old) == inertial.sub("", new)


def test_a_scene_written_and_read_again_has_the_parameters_found(files: Path) -> None:
    model = mistaken(pysim.load_model(files / "s.toml"), seed=1)
    write_found(model, files / "s.toml", files / "new.toml")
    again = pysim.load_model(files / "new.toml")
    np.testing.assert_allclose(again.parameters, model.parameters, rtol=1e-7, atol=1e-9)
    new = (files / "new.toml").read_text("utf-8")
    for kept in (
        "# A scene with a comment.",
        "# the rod",
        "# measured",
        "duration = 3.0                     # [s]",
    ):
        assert kept in new


def test_an_output_that_exists_or_is_of_another_kind_is_rejected(files: Path) -> None:
    model = pysim.load_model(files / "r.urdf")
    with pytest.raises(
        IdentificationError, match=r"s.toml: must end in .urdf like .*r.urdf; other kinds are not"
    ):
        write_found(model, files / "r.urdf", files / "s.toml")
    with pytest.raises(
        IdentificationError, match=r"r.urdf: exists; name another file, or overwrite it$"
    ):
        write_found(model, files / "r.urdf", files / "r.urdf")


def test_resistances_are_written_beside_what_else_the_file_says_of_the_joint(files: Path) -> None:
    model = resisting(pysim.load_model(files / "r.urdf"))
    notes = write_found(model, files / "r.urdf", files / "new.urdf")
    again = pysim.load_model(files / "new.urdf")
    for joint, new in zip(model.joints, again.joints, strict=True):
        np.testing.assert_allclose([new.damping, new.friction], [joint.damping, joint.friction])
    assert 'springs="3"' in (files / "new.urdf").read_text("utf-8")
    assert [note.split(",")[0] for note in notes] == [
        f"URDF cannot hold the armature of {name}" for name in ("hinge", "other")
    ]


def test_resistances_are_written_into_a_scene_and_its_models(files: Path) -> None:
    model = resisting(pysim.load_model(files / "s.toml"))
    assert write_found(model, files / "s.toml", files / "new.toml") == []
    again = pysim.load_model(files / "new.toml")
    for key in ("damping", "friction", "armature"):
        for joint, new in zip(model.joints, again.joints, strict=True):
            np.testing.assert_allclose(getattr(new, key), getattr(joint, key), rtol=1e-8)


def test_a_body_of_an_included_file_is_not_written(files: Path) -> None:
    (files / "all.toml").write_text('include = ["s.toml"]\n', "utf-8")
    model = pysim.load_scene(files / "all.toml").model
    changed = model.with_parameters(1.5 * model.parameters)
    with pytest.raises(IdentificationError) as caught:
        write_found(changed, files / "all.toml", files / "found.toml")
    assert str(caught.value) == (
        f"{files / 's.toml'}:2:1: body[0]: body 'rod' is defined in another file or in a copy of one, which is "
        "not rewritten; identify a scene that defines it itself"
    )
