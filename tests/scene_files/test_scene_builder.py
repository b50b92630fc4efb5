"""Scenes written in Python. The oracle is the file: the same tables, the same dynamics to 1e-13, the same errors."""

from __future__ import annotations

import tomllib
import warnings
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.errors import PysimWarning, SceneError
from tests.scene.test_convert import SCENES, assert_same_run, same_dynamics

TWENTY = (
    "andrews",
    "bricard",
    "by_hand",
    "cam",
    "constant_velocity",
    "differential",
    "double_pendulum",
    "drive_shaft",
    "ellipsoid_joint",
    "falling_box",
    "five_bar",
    "governor",
    "gyroscope",
    "inclined_rod",
    "knee",
    "lissajous",
    "robot_arm",
    "rolling_disk",
    "screw_spline",
    "stewart_platform",
    "t_handle",
    "timed_pendulum",
)


@pytest.mark.parametrize("name", TWENTY)
def test_a_scene_read_by_the_builder_is_saved_with_the_same_dynamics(
    tmp_path: Path, name: str
) -> None:
    source = SCENES / f"{name}.toml"
    builder = pysim.SceneBuilder.load(source)
    path = builder.save(tmp_path / "again.toml", allow_code=True, package_dirs=[SCENES])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        one = pysim.load_scene(source, allow_code=True)
        other = pysim.load_scene(path, allow_code=True, package_dirs=[SCENES])
        built = builder.build(allow_code=True)
    for scene in (other, built):
        same_dynamics(one.model, scene.model)
        assert_same_run(one, scene)


def pendulum() -> pysim.SceneBuilder:
    builder = pysim.SceneBuilder("pendulum", gravity=(0, 0, -9.81))
    builder.parameters(length=0.5, m="= 2 * length")
    inertia = {"xx": 0.1, "yy": 0.1, "zz": 0.01}
    rod = builder.body("rod", mass="= m", com=[0, 0, "= -length"], inertia=inertia)
    hinge = builder.joint("hinge", "revolute", child=rod, axis=np.array([0, 1, 0]), start="30 deg")
    builder.frame("tip", rod, {"xyz": np.array([0, 0, -1.0])})
    builder.actuator(hinge, offset=np.float64(0.5))
    builder.simulation(duration=0.5, step=1e-3)
    builder.simulation(integrator="rk4")
    builder.output(every=0.01)
    return builder


def test_a_scene_of_methods_equals_the_file_that_it_saves(tmp_path: Path) -> None:
    builder = pendulum()
    scene = builder.build()
    path = builder.save(tmp_path / "pendulum.toml")
    assert path.read_text("utf-8") == builder.text()
    loaded = pysim.load_scene(path)
    np.testing.assert_array_equal(pysim.simulate(scene).q, pysim.simulate(loaded).q)
    assert scene.state.q[0] == pytest.approx(np.radians(30), abs=1e-16)
    assert scene.model.total_mass == 1.0
    assert tomllib.loads(builder.text()) == builder.tables
    assert pysim.SceneBuilder.load(path).text() == builder.text()
    assert repr(builder) == "<pysim.SceneBuilder 'pendulum': 1 body, 1 joint, 1 frame, 1 actuator>"


def test_every_kind_of_table_has_a_method() -> None:
    builder = pysim.SceneBuilder("all", inertia="check")
    builder.material("ice", friction=0.1)
    builder.ground(material="ice")
    ball = builder.body(
        "ball", shape={"sphere": {"radius": 0.1}, "density": 1000}, collision=True, material="ice"
    )
    builder.joint("free", "free", child=ball, start={"xyz": [0, 0, 0.5]})
    builder.body("arm", mass=1, inertia=dict.fromkeys(("xx", "yy", "zz"), 1))
    builder.joint("hinge", "revolute", child="arm")
    builder.contact("world", ball, friction=0.2)
    builder.force("spring", "spring", a=ball, b="arm", stiffness=10, length=0.2)
    builder.simulation(duration=0.01)
    scene = builder.build()
    assert scene.settings.integrator == "convex"
    assert [s.name for s in scene.spec.model.forces] == ["spring"]
    builder = pysim.SceneBuilder("ties")
    for k in range(3):
        builder.body(f"b{k}", mass=1, inertia=dict.fromkeys(("xx", "yy", "zz"), 1))
        builder.joint(f"j{k}", "revolute", child=f"b{k}", axis=[0, 0, 1])
    builder.loop("tie", "point_on_plane", "b0", "b1")
    builder.coupling("gear", "j2", ratios={"j0": 2.0})
    builder.assembly(hold=["j0"])
    builder.event("passes", joint="j0", at=0.1)
    builder.simulation(duration=0.01, integrator="dopri5")
    builder.render(trails=["b1"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        scene = builder.build()
    assert scene.spec.hold == ("j0",)
    assert [event.name for event in scene.spec.events] == ["passes"]
    assert [x.name for x in scene.spec.model.loops] == ["tie"]
    assert [x.name for x in scene.spec.model.couplings] == ["gear"]


def test_models_and_includes_are_relative_to_the_folder(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    pendulum().save(tmp_path / "parts/pendulum.toml")
    builder = pysim.SceneBuilder("two", folder=tmp_path, include=["parts/pendulum.toml"])
    builder.model(Path("parts/pendulum.toml"), name="other", at={"xyz": [1, 0, 0]})
    assert builder.build().model.joint_names == ("hinge", "other/hinge")
    (tmp_path / "down").mkdir()
    path = builder.save(tmp_path / "down/two.toml")
    assert 'include = ["../parts/pendulum.toml"]' in path.read_text("utf-8")
    assert pysim.load_scene(path).model.joint_names == ("hinge", "other/hinge")


def test_mistakes_are_reported_together_with_their_keys() -> None:
    builder = pendulum()
    builder.body("bob", mas=1)
    builder.joint("pin", "hinge", child="bob", parent="rodd")
    with pytest.raises(SceneError) as caught:
        builder.build()
    assert str(caught.value).split("\n") == [
        "scene 'pendulum': body[1].mas: unknown key; did you mean 'mass'?",
        "scene 'pendulum': joint[1].type: unknown joint type 'hinge'; did you mean 'revolute'?",
    ]
    builder = pendulum()
    builder.joint("again", "revolute", child="rod", parent="rod")
    with pytest.raises(SceneError) as caught:
        builder.build()
    expected = (
        "scene 'pendulum': joint[1].child: body 'rod' is the child of joint 'hinge' already; "
    )
    assert str(caught.value).startswith(expected)


def test_an_incomplete_scene_is_not_saved(tmp_path: Path) -> None:
    builder = pendulum()
    path = tmp_path / "s.toml"
    builder.save(path)
    with pytest.raises(SceneError) as caught:
        builder.save(path)
    assert str(caught.value) == f"{path}: exists; name another file, or pass overwrite=True"
    builder.save(path, overwrite=True)
    builder.body("bob", mass=object())
    with pytest.raises(SceneError) as caught:
        builder.save(tmp_path / "t.toml")
    expected = "scene 'pendulum': TOML has no object; give a number, text, list or dict"
    assert str(caught.value) == expected
    assert not (tmp_path / "t.toml").exists()
    with pytest.raises(SceneError) as caught:
        pysim.SceneBuilder("empty").build()
    assert str(caught.value) == "scene 'empty': has no [[body]] and no [[model]]; add one"


def test_code_needs_consent(tmp_path: Path) -> None:
    builder = pysim.SceneBuilder.load(SCENES / "cam.toml")
    with pytest.raises(SceneError, match="would run the Python code"):
        builder.build()
    with pytest.raises(SceneError, match="would run the Python code"):
        builder.save(tmp_path / "cam.toml")


def test_an_actuator_has_a_name_as_all_other_tables() -> None:
    builder = pendulum()
    assert builder.actuator("hinge", offset=2.0) == "hinge"  # that of the joint
    assert builder.actuator("drive", joint="hinge", offset=1.0) == "drive"
    assert builder.actuator(joint="hinge", offset=0.5) == "hinge"
    *_, first, second, third = builder.tables["actuator"]
    assert [first, second, third] == [
        {"joint": "hinge", "offset": 2.0},
        {"name": "drive", "joint": "hinge", "offset": 1.0},
        {"joint": "hinge", "offset": 0.5},
    ]
    builder = pendulum()
    builder.signal("u", "constant", value=0.3, unit="N·m")
    builder.actuator("drive", joint="hinge", type="force", command="u")
    builder.actuator("wire", coordinates=["hinge"], type="force", command="u")
    scene = builder.build()
    assert [block.name for block in scene.spec.blocks if block.kind == "actuator"] == [
        "drive",
        "wire",
    ]
