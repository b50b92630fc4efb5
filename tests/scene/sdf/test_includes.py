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
    "merge of no link": (
        include("b.sdf").replace("<include>", '<include merge="true">'),
        '<model name="a"/>',
        "model 'a': has no link to merge; add one, or leave the <include> out",
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


PARTS = (
    ARM
    + '<frame name="tip" attached_to="arm"><pose>0 0 0.4 0.5 0 0</pose></frame>'
    + '<frame name="mark"><pose>0.2 0 0 0 0 1</pose></frame>'
    + '<link name="hand"><pose relative_to="tip">0 0 0.1 0 0 0.3</pose>'
    + INERTIAL
    + "</link>"
    + '<joint name="h" type="revolute"><parent>arm</parent><child>hand</child>'
    + '<axis><xyz expressed_in="__model__">1 0 0</xyz></axis></joint>'
    + '<model name="sub"><pose>0 0.6 0 0 0 1.0</pose><link name="s">'
    + INERTIAL
    + '</link></model><joint name="k" type="fixed"><parent>hand</parent><child>sub::s</child></joint>'
)
MERGED = '<include merge="true"><uri>arm.sdf</uri><name>part</name>{}</include>'


@pytest.mark.parametrize(
    ("place", "frame"),
    [
        ("", "<pose>0 0 0 0 0 0</pose>"),
        ("<pose>1 2 3 0.1 0.2 0.3</pose>", "<pose>1 2 3 0.1 0.2 0.3</pose>"),
        (
            '<pose relative_to="mount" degrees="true">0 2 0 20 0 90</pose>',
            '<pose relative_to="mount" degrees="true">0 2 0 20 0 90</pose>',
        ),
    ],
)
def test_a_merged_model_has_the_names_of_the_model_around_it(
    tmp_path: Path, place: str, frame: str
) -> None:
    """Oracle: the included model nested, whose bodies are at the same places under longer names."""
    written(tmp_path / "arm.sdf", f'<model name="arm">{PARTS}</model>')
    mount = '<frame name="mount" attached_to="stand"><pose>1 0 0 0 0 0.9</pose></frame>'
    joint = '<joint name="j2" type="revolute"><parent>stand</parent><child>{}base</child><axis/></joint>'
    merged = f'<model name="m">{STAND}{mount}{MERGED.format(place)}{joint.format("")}</model>'
    nested = include("arm.sdf", "<name>part</name>" + frame)
    apart = f'<model name="m">{STAND}{mount}{nested}{joint.format("part::")}</model>'
    merged_model = pysim.load_model(written(tmp_path / "w.sdf", merged))
    two = pysim.load_model(written(tmp_path / "x.sdf", apart))
    assert merged_model.body_names == tuple(name.removeprefix("part::") for name in two.body_names)
    assert merged_model.joint_names == tuple(
        name.removeprefix("part::") for name in two.joint_names
    )
    q = merged_model.random_configuration(np.random.default_rng(0))
    np.testing.assert_allclose(
        pysim.forward_kinematics(merged_model, q), pysim.forward_kinematics(two, q), atol=1e-14
    )
    np.testing.assert_allclose(pysim.crba(merged_model, q), pysim.crba(two, q), atol=1e-12)
    for name in ("tip", "mark"):
        np.testing.assert_allclose(
            pysim.frame_placement(merged_model, q, name),
            pysim.frame_placement(two, q, f"part::{name}"),
            atol=1e-14,
        )


@pytest.mark.parametrize("placed", ["base", "tip", "mark", "sub", "sub::s", "hand"])
def test_a_merged_model_is_placed_by_one_of_its_frames(tmp_path: Path, placed: str) -> None:
    written(tmp_path / "arm.sdf", f'<model name="arm">{PARTS}</model>')
    place = f"<placement_frame>{placed}</placement_frame><pose>1 2 3 0.1 0.2 0.3</pose>"
    stand = f"<static>true</static>{STAND}"  # so that every body is where the file says
    nested = include("arm.sdf", f"<name>part</name>{place}")
    texts = [f'<model name="m">{stand}{own}</model>' for own in (MERGED.format(place), nested)]
    poses = []
    for name, text in zip("wx", texts, strict=True):
        model = pysim.load_model(written(tmp_path / f"{name}.sdf", text))
        frames = [*model.frame_names]
        poses.append([pysim.frame_placement(model, model.neutral(), own) for own in frames])
    moved = dict(zip(frames, poses[1], strict=True))
    model = pysim.load_model(tmp_path / "w.sdf")
    found = dict(zip(model.frame_names, poses[0], strict=True))
    for name in ("base", "arm", "tip", "mark", "hand", "sub::s"):
        np.testing.assert_allclose(found[name], moved[f"part::{name}"], atol=1e-12)


def test_axes_of_an_old_merged_model_are_in_its_own_frame(tmp_path: Path) -> None:
    """In version 1.4, axes are in the frame of the model; the model around is of version 1.9."""
    arm = ARM.replace("0 1 0", "0 0 1")
    written(tmp_path / "arm.sdf", f'<model name="arm">{arm}</model>', "1.4")
    text = f'<model name="m">{STAND}{MERGED.format("<pose>0 0 0 0.7 0 0</pose>")}</model>'
    spec = read_model(written(tmp_path / "w.sdf", text))
    axis = next(joint.axis for joint in spec.joints if joint.name == "j")
    assert axis == pytest.approx((0, np.sin(0.2), np.cos(0.2)), abs=1e-15)


def test_a_model_is_not_merged_into_a_world(tmp_path: Path) -> None:
    written(tmp_path / "arm.sdf", f'<model name="arm">{ARM}</model>')
    path = written(tmp_path / "w.sdf", f'<world name="w">{MERGED.format("")}</world>')
    with pytest.raises(PysimError, match="is merged into a model, not into a world; remove merge"):
        pysim.load_model(path)
