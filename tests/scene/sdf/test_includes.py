"""Included files of SDF. The oracle is the same model written in one file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import pysim
from pysim.errors import PysimError, PysimWarning
from pysim.scene import read_model
from pysim.scene.poses import from_rpy, pose

if TYPE_CHECKING:
    from pathlib import Path

INERTIAL = "<inertial><pose>0.1 0 0.2 0 0 0</pose><mass>2</mass></inertial>"
ARM = (
    '<link name="base">'
    + INERTIAL
    + '</link><link name="arm"><pose>0 0 0.5 0.2 0 0</pose>'
    + INERTIAL
    + "</link>"
    '<joint name="j" type="revolute"><parent>base</parent><child>arm</child><axis><xyz>0 1 0</xyz></axis></joint>'
)
STAND = '<link name="stand">' + INERTIAL + "</link>"


def written(path: Path, content: str, version: str = "1.9") -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'<sdf version="{version}">{content}</sdf>', "utf-8")
    return path


def include(uri: str, extra: str = "") -> str:
    return f"<include><uri>{uri}</uri>{extra}</include>"


def same(first: Path, second: Path) -> None:
    """Require equal names, poses, mass matrices and bias forces."""
    models = [pysim.load_model(path) for path in (first, second)]
    assert models[0].body_names == models[1].body_names
    assert models[0].joint_names == models[1].joint_names
    q = models[0].random_configuration(np.random.default_rng(0))
    v = np.ones(models[0].nv)
    first_model, second_model = models
    for function in (pysim.forward_kinematics, pysim.crba):
        assert np.array_equal(function(first_model, q), function(second_model, q))
    biases = [pysim.nonlinear_effects(model, q, v) for model in models]
    assert np.array_equal(biases[0], biases[1])


@pytest.mark.parametrize("uri", ["arm/model.sdf", "arm", "model://arm", "model://arm/model.sdf"])
def test_an_included_model_is_the_model(tmp_path: Path, uri: str) -> None:
    written(tmp_path / "arm" / "model.sdf", f'<model name="arm">{ARM}</model>')
    pose = "<pose>1 2 3 0.1 0.2 0.3</pose>"
    name = "<name>left</name>"
    stand = f'<model name="stand">{STAND}</model>'
    world = f'<world name="w">{stand}{include(uri, name + pose)}</world>'
    alone = f'<world name="w">{stand}<model name="left">{ARM}{pose}</model></world>'
    same(written(tmp_path / "w.sdf", world), written(tmp_path / "x.sdf", alone))


def test_an_included_model_is_nested(tmp_path: Path) -> None:
    """The joint of the outer model names a link of the included one; a file includes another one."""
    written(tmp_path / "arm" / "model.sdf", f'<model name="arm">{ARM}</model>')
    written(tmp_path / "mid" / "model.sdf", f'<model name="mid">{include("../arm")}</model>')
    joint = '<joint name="k" type="fixed"><parent>stand</parent><child>{}::base</child></joint>'
    outer = f'<model name="m">{STAND}{include("mid")}{joint.format("mid::arm")}</model>'
    nested = f'<model name="mid"><model name="arm">{ARM}</model></model>'
    alone = f'<model name="m">{STAND}{nested}{joint.format("mid::arm")}</model>'
    same(written(tmp_path / "w.sdf", outer), written(tmp_path / "x.sdf", alone))


def test_an_included_model_may_be_made_static(tmp_path: Path) -> None:
    written(tmp_path / "arm.sdf", f'<model name="arm">{ARM}</model>')
    stand = f'<model name="stand">{STAND}</model>'
    world = f'<world name="w">{stand}{include("arm.sdf", "<static>true</static>")}</world>'
    model = pysim.load_model(written(tmp_path / "w.sdf", world))
    assert model.joint_names == ("stand::stand/free",)


def test_the_version_is_that_of_the_included_file(tmp_path: Path) -> None:
    """In version 1.4, axes are in the frame of the model."""
    written(
        tmp_path / "arm.sdf", f'<model name="arm">{ARM.replace("0 1 0", "0 0 1")}</model>', "1.4"
    )
    world = f'<world name="w">{include("arm.sdf")}</world>'
    spec = read_model(written(tmp_path / "w.sdf", world))
    axis = next(joint.axis for joint in spec.joints if joint.name == "j")
    assert axis == pytest.approx((0, np.sin(0.2), np.cos(0.2)), abs=1e-15)


def test_a_missing_file_is_left_out_by_name(tmp_path: Path) -> None:
    path = written(tmp_path / "w.sdf", f'<model name="m">{STAND}{include("none.sdf")}</model>')
    with pytest.warns(PysimWarning, match=r"<include> 'none\.sdf' is left out: "):
        assert pysim.load_model(path).body_names == ("stand",)
    with pytest.raises(PysimError, match=r"<include> 'none\.sdf' is left out: "):
        pysim.load_model(path, strict=True)


MISTAKES = {
    "itself": (include("w.sdf"), "", "model 'm': 'w.sdf' includes itself; remove this <include>"),
    "two models": (
        include("b.sdf"),
        '<model name="a"/><model name="b"/>',
        "an included file needs one <model> in <sdf>, got 2; name another file",
    ),
    "no uri": ("<include/>", "", "model 'm': <include> needs a <uri>; add it"),
    "merge": (
        include("b.sdf").replace("<include>", '<include merge="true">'),
        '<model name="a"/>',
        "model 'm': merging of included models is not supported; remove merge",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_reported(tmp_path: Path, case: str) -> None:
    text, other, expected = MISTAKES[case]
    written(tmp_path / "b.sdf", other)
    path = written(tmp_path / "w.sdf", f'<model name="m">{STAND}{text}</model>')
    with pytest.raises(PysimError) as caught:
        pysim.load_model(path)
    assert caught.value.problem == expected


def test_a_file_outside_the_folders_that_may_be_read_is_rejected(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b" / "c" / "d"
    deep.mkdir(parents=True)
    written(tmp_path / "arm.sdf", f'<model name="arm">{ARM}</model>')
    text = f'<model name="m">{STAND}{include("../../../../arm.sdf")}</model>'
    with pytest.raises(PysimError, match="outside the folders"):
        pysim.load_model(written(deep / "w.sdf", text))


def test_an_included_model_is_placed_by_one_of_its_frames(tmp_path: Path) -> None:
    """The frame that `placement_frame` names lies at the pose of the include."""
    frame = '<frame name="grip" attached_to="base"><pose>0.3 0 0 0 0 0.4</pose></frame>'
    written(tmp_path / "arm" / "model.sdf", f'<model name="arm">{ARM}{frame}</model>')
    extra = "<pose>1 2 3 0.1 0.2 0.3</pose><placement_frame>grip</placement_frame>"
    world = f'<world name="w">{include("arm", extra)}</world>'
    model = pysim.load_model(written(tmp_path / "w.sdf", world))
    start = read_model(tmp_path / "w.sdf").joints[-1].start_q
    assert start.shape == (7,)
    at = pysim.frame_placement(model, np.r_[start, 0.0], "grip")
    assert np.abs(at - pose((1, 2, 3), from_rpy(0.1, 0.2, 0.3))).max() < 1e-14


def test_files_that_include_each_other_too_deep_are_rejected(tmp_path: Path) -> None:
    """Twenty-one files; each includes the next one."""
    for k in range(21):
        text = STAND + (include(f"m{k + 1}.sdf") if k < 20 else "")
        written(tmp_path / f"m{k}.sdf", f'<model name="m{k}">{text}</model>')
    with pytest.raises(PysimError) as caught:
        pysim.load_model(tmp_path / "m0.sdf")
    assert str(caught.value).startswith(f"{tmp_path}/m19.sdf:1:")
    assert caught.value.problem.endswith("more than 20 files include each other; flatten the model")
