"""SDF models. The oracles are the poses of joints composed one by one, and URDF files of the same mechanisms."""

from __future__ import annotations

import math
import shutil
from typing import TYPE_CHECKING

import numpy as np
import pytest

import pysim
from pysim.scene import read_model
from pysim.scene.poses import from_axis_angle, from_rpy, pose
from tests.scene.readings import refusal, warnings_of
from tests.scene_runs import SCENES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Write = Callable[..., Path]

INERTIA = "<ixx>0.3</ixx><iyy>0.4</iyy><izz>0.5</izz><ixy>0.01</ixy><ixz>0.02</ixz><iyz>-0.03</iyz>"
INERTIAL = f"<inertial><pose>0.1 0.2 -0.1 0.3 0 0</pose><mass>2</mass><inertia>{INERTIA}</inertia></inertial>"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str, version: str = "1.9") -> Path:
        path = tmp_path / "m.sdf"
        path.write_text(f'<sdf version="{version}">{text}</sdf>', "utf-8")
        return path

    return write


def link(name: str, where: str = "", content: str = INERTIAL) -> str:
    return f'<link name="{name}">{where}{content}</link>'


def joint(name: str, kind: str, parent: str, child: str, content: str = "") -> str:
    ends = f"<parent>{parent}</parent><child>{child}</child>"
    return f'<joint name="{name}" type="{kind}">{ends}{content}</joint>'


def model(content: str, name: str = "m") -> str:
    return f'<model name="{name}">{content}</model>'


def X(numbers: str) -> np.ndarray:  # noqa: N802
    """Pose of the six numbers of a <pose>."""
    x, y, z, *rpy = map(float, numbers.split())
    return pose((x, y, z), from_rpy(*rpy))


def turned(axis: np.ndarray, angle: float) -> np.ndarray:
    return pose((0, 0, 0), from_axis_angle(axis[0], axis[1], axis[2], angle))


def slid(axis: np.ndarray, way: float) -> np.ndarray:
    return pose(way * axis / np.linalg.norm(axis), (0, 0, 0, 1))


MODEL, LINK_A, LINK_B = "1 2 3 0.1 0.2 0.3", "0.3 0 0.5 0.4 0 0.2", "0 0.2 0.7 0 0.3 -0.5"
FRAME, JOINT = "0.1 0 0.2 0.7 0 0", "0.05 0.1 -0.2 0.2 -0.3 0.4"
AXIS = np.array([0.3, -0.5, 0.8])
XYZ = "0.3 -0.5 0.8"
POSES = {
    "in the joint's frame": (f"<axis><xyz>{XYZ}</xyz></axis>", "1.9", X(JOINT)),
    "in a frame": (f'<axis><xyz expressed_in="f">{XYZ}</xyz></axis>', "1.9", None),
    "in the model's frame": (
        f"<axis><use_parent_model_frame>1</use_parent_model_frame><xyz>{XYZ}</xyz></axis>",
        "1.6",
        None,
    ),
    "of version 1.4": (f"<axis><xyz>{XYZ}</xyz></axis>", "1.4", None),
}


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
@pytest.mark.parametrize("where", POSES)
def test_a_joint_moves_its_child_about_the_axis_in_its_frame(
    write: Write, kind: str, where: str
) -> None:
    """Model, link, frame and joint poses are composed as the specification says."""
    axis, version, _ = POSES[where]
    text = model(
        f"<pose>{MODEL}</pose>"
        + link("a", f"<pose>{LINK_A}</pose>")
        + link("b", f'<pose relative_to="a">{LINK_B}</pose>')
        + f'<frame name="f" attached_to="a"><pose>{FRAME}</pose></frame>'
        + joint("fix", "fixed", "world", "a")
        + joint("j", kind, "a", "b", f"<pose>{JOINT}</pose>{axis}")
    )
    loaded = pysim.load_model(write(text, version))
    X_a = X(MODEL) @ X(LINK_A)
    X_b = X_a @ X(LINK_B)
    X_j = X_b @ X(JOINT)
    R_axis = {"in the joint's frame": X_j, "in a frame": X_a @ X(FRAME)}.get(where, X(MODEL))
    in_joint = X_j[:3, :3].T @ R_axis[:3, :3] @ AXIS
    for q in (0.0, 0.7, -1.3):
        motion = turned(in_joint, q) if kind == "revolute" else slid(in_joint, q)
        expected = X_j @ motion @ np.linalg.inv(X(JOINT))
        found = pysim.frame_placement(loaded, np.array([q]), "b")
        assert np.abs(found - expected).max() < 1e-14
    assert np.abs(pysim.frame_placement(loaded, np.zeros(1), "f") - X_a @ X(FRAME)).max() < 1e-14


URDF = """<robot name="m"><link name="a"/><link name="b">
<inertial><origin xyz="0.1 0.2 -0.1" rpy="0.3 0 0"/><mass value="2"/>
<inertia ixx="0.3" iyy="0.4" izz="0.5" ixy="0.01" ixz="0.02" iyz="-0.03"/></inertial></link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0.3 0 0.5" rpy="0.4 0 0.2"/>
<axis xyz="0 1 0"/><limit lower="-1" upper="2" effort="7" velocity="3"/><dynamics damping="0.3" friction="0.2"/>
</joint></robot>"""


def test_the_dynamics_are_those_of_the_same_urdf(write: Write, tmp_path: Path) -> None:
    axis = (
        "<axis><xyz>0 1 0</xyz><limit><lower>-1</lower><upper>2</upper><effort>7</effort><velocity>3</velocity>"
        "</limit><dynamics><damping>0.3</damping><friction>0.2</friction></dynamics></axis>"
    )
    text = model(
        link("a", content="<inertial><mass>1</mass></inertial>")
        + link("b", f"<pose>{LINK_A}</pose>")
        + joint("fix", "fixed", "world", "a")
        + joint("j", "revolute", "a", "b", axis)
    )
    (tmp_path / "m.urdf").write_text(URDF, "utf-8")
    models = [pysim.load_model(write(text)), pysim.load_model(tmp_path / "m.urdf")]
    first, second = (m.spec.joints[-1] for m in models)
    for key in ("lower", "upper", "damping", "friction", "stop_stiffness", "effort_limit"):
        assert getattr(first, key) == pytest.approx(getattr(second, key), rel=1e-14), key
    rng = np.random.default_rng(0)
    for _ in range(10):
        q, v = rng.standard_normal((2, 1))
        M = [pysim.crba(m, q) for m in models]
        bias = [pysim.nonlinear_effects(m, q, v) for m in models]
        assert np.abs(M[0] - M[1]).max() < 1e-15
        assert np.abs(bias[0] - bias[1]).max() < 1e-14


def test_a_model_is_free_where_it_stands(write: Write, tmp_path: Path) -> None:
    path = write(model(f"<pose>{MODEL}</pose>" + link("a", f"<pose>{LINK_A}</pose>")))
    (root,) = read_model(path).joints
    assert (root.name, root.type) == ("a/free", "free")
    (tmp_path / "s.toml").write_text('[[model]]\nfile = "m.sdf"\n', "utf-8")
    scene = pysim.load_scene(tmp_path / "s.toml")
    found = pysim.frame_placement(scene.model, scene.state.q, "a")
    assert np.abs(found - X(MODEL) @ X(LINK_A)).max() < 1e-15


def test_a_static_model_is_fixed(write: Write) -> None:
    text = model(f"<static>true</static><pose>{MODEL}</pose>" + link("a", content="")) + model(
        link("a") + joint("fix", "fixed", "world", "a"), "other"
    )
    loaded = pysim.load_model(write(f'<world name="w"><gravity>0 0 -3</gravity>{text}</world>'))
    assert loaded.nv == 0
    assert np.array_equal(loaded.gravity, [0, 0, -3])
    found = pysim.frame_placement(loaded, np.zeros(0), "m::a")
    assert np.abs(found - X(MODEL)).max() < 1e-15


def test_nested_models_are_placed_and_joined(write: Write) -> None:
    inner = f'<model name="arm" placement_frame="tip"><pose relative_to="a">{LINK_B}</pose>'
    inner += link("l", f"<pose>{LINK_A}</pose>")
    inner += f'<frame name="tip" attached_to="l"><pose>{FRAME}</pose></frame></model>'
    hinge = joint("j", "revolute", "a", "arm::l", "<axis><xyz>0 0 1</xyz></axis>")
    base = link("a", f"<pose>{MODEL}</pose>") + joint("fix", "fixed", "world", "a")
    loaded = pysim.load_model(write(model(base + inner + hinge)))
    found = pysim.frame_placement(loaded, np.zeros(1), "arm::tip")
    assert np.abs(found - X(MODEL) @ X(LINK_B)).max() < 1e-14


@pytest.mark.parametrize("kind", ["universal", "revolute2"])
def test_two_axes_are_two_hinges(write: Write, kind: str) -> None:
    axes = "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>"
    hinge = joint("j", kind, "world", "a", f"<pose>{JOINT}</pose>{axes}")
    loaded = pysim.load_model(write(model(link("a") + hinge)))
    assert loaded.joint_names == ("j/1", "j/2")
    q = np.array([0.4, -0.9])
    motion = turned(np.array([1.0, 0, 0]), q[0]) @ turned(np.array([0, 1.0, 0]), q[1])
    expected = X(JOINT) @ motion @ np.linalg.inv(X(JOINT))
    assert np.abs(pysim.frame_placement(loaded, q, "a") - expected).max() < 1e-14


@pytest.mark.parametrize(
    ("pitch", "travel"),
    [
        ("<screw_thread_pitch>0.5</screw_thread_pitch>", 0.5 / (2 * math.pi)),
        ("<thread_pitch>-4</thread_pitch>", 0.25),
    ],
)
def test_a_screw_advances_by_its_pitch(write: Write, pitch: str, travel: float) -> None:
    screw = joint("j", "screw", "world", "a", f"<axis><xyz>0 0 1</xyz></axis>{pitch}")
    loaded = pysim.load_model(write(model(link("a") + screw)))
    assert pysim.frame_placement(loaded, np.array([2.0]), "a")[2, 3] == pytest.approx(2 * travel)


def test_a_second_joint_of_a_link_closes_a_loop(write: Write) -> None:
    axis = "<axis><xyz>0 1 0</xyz></axis>"
    text = model(
        link("a")
        + link("b", "<pose>0 0 1 0 0 0</pose>")
        + link("c", "<pose>1 0 0 0 0 0</pose>")
        + joint("ja", "revolute", "world", "a", axis)
        + joint("jb", "revolute", "a", "b", axis)
        + joint("jc", "revolute", "world", "c", axis)
        + joint("close", "ball", "c", "b", "<pose>1 0 0 0 0 0</pose>")
    )
    loaded = pysim.load_model(write(text))
    assert (loaded.nv, loaded.loop_names) == (3, ("close",))
    assert np.abs(pysim.loops.constraint_residual(loaded, np.zeros(3))).max() < 1e-15
    assert pysim.loops.mobility(loaded, np.zeros(3)).degrees == 1


def test_a_mimic_joint_follows(write: Write) -> None:
    axis = "<axis><xyz>0 1 0</xyz>{}</axis>"
    mimic = '<mimic joint="ja"><multiplier>2</multiplier><reference>0.5</reference><offset>0.1</offset></mimic>'
    text = model(
        link("a")
        + link("b")
        + joint("ja", "revolute", "world", "a", axis.format(""))
        + joint("jb", "revolute", "a", "b", axis.format(mimic))
    )
    follower = read_model(write(text, "1.11")).joints[1].mimic
    assert follower is not None
    assert (follower.joint, follower.ratio) == ("ja", 2.0)
    assert follower.offset == pytest.approx(0.1 - 2 * 0.5)
    assert pysim.load_model(write(text, "1.11"), mimic=False).nv == 2


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ('<pose degrees="true">1 2 3 30 0 90</pose>', f"1 2 3 {math.pi / 6} 0 {math.pi / 2}"),
        (
            f'<pose rotation_format="quat_xyzw">1 2 3 {math.sin(0.2)} 0 0 {math.cos(0.2)}</pose>',
            "1 2 3 0.4 0 0",
        ),
    ],
)
def test_poses_have_several_notations(write: Write, given: str, expected: str) -> None:
    loaded = pysim.load_model(write(model(link("a", given) + joint("f", "fixed", "world", "a"))))
    found = pysim.frame_placement(loaded, np.zeros(0), "a")
    assert np.abs(found - X(expected)).max() < 1e-15


def test_the_default_inertia_of_sdf_is_named(write: Write) -> None:
    spec, texts = warnings_of(write(model(link("a", content=""))))
    assert spec.bodies[0].theta[0] == 1
    assert texts == [
        "m.sdf:1:36: link 'a' has no <inertial>: it has 1 kg and 1 kg·m², the defaults of SDF"
    ]


def test_inertia_of_shapes_is_computed_on_request(write: Write) -> None:
    content = '<inertial auto="true"><density>10</density></inertial>'
    content += '<collision name="c"><geometry><box><size>1 2 3</size></box></geometry></collision>'
    body = read_model(write(model(link("a", content=content)))).bodies[0]
    expected = pysim.inertia.primitives.box(1.0, 2.0, 3.0, density=10.0)
    assert np.abs(body.theta - expected).max() < 1e-13


def test_parts_that_are_left_out_are_named(write: Write) -> None:
    shapes = '<visual name="v"><geometry><plane/></geometry></visual>'
    text = '<light name="sun"/><include><uri>model://ground_plane</uri></include>'
    text += model(link("a", content=INERTIAL + shapes) + '<plugin name="p"/>')
    spec, texts = warnings_of(write(f'<world name="w">{text}</world>'))
    assert "<include> 'model://ground_plane' is left out: " in texts[0]
    assert texts[1].endswith(
        "link 'a': visual 'v' is left out: <plane> is not a shape that pysim supports"
    )
    assert any(line.endswith("<light> 'sun' is not read") for line in spec.omitted)
    assert any(line.endswith("<plugin> 'p' is not read") for line in spec.omitted)


UPRIGHT = "<axis><xyz>0 0 1</xyz></axis>"
HINGE = joint("j", "revolute", "world", "a", "{}")
REFUSED = {
    "": "m.sdf:1:1: needs a <model>",
    model(""): "m.sdf:1:1: needs a <link> in a <model>",
    model(link("a") + HINGE.format("")): "m.sdf:1:{}: joint 'j': a revolute joint needs an <axis>",
    model(link("a") + HINGE.format("<axis><xyz>0 0 0</xyz></axis>")): (
        "m.sdf:1:{}: joint 'j': the axis has no direction; write <xyz>"
    ),
    model(link("a") + HINGE.replace("revolute", "hinge")): (
        "m.sdf:1:{}: joint 'j': unknown joint type 'hinge'; did you mean 'revolute'?"
    ),
    model(link("a") + HINGE.replace(">a<", ">b<")): (
        "m.sdf:1:{}: joint 'j': there is no link, frame or joint 'b'; known: a, j"
    ),
    model(
        link("a") + link("a")
    ): "m.sdf:1:{}: link 'a': second element 'a' in the model; rename one",
    model(
        link("a", '<pose relative_to="f"/>') + '<frame name="f"><pose relative_to="a"/></frame>'
    ): (
        "m.sdf:1:{}: model 'm': the poses of frames are relative to each other in a cycle: a → f → a"
    ),
    model(link("a", "<pose>1 2 3</pose>")): (
        "m.sdf:1:{}: link 'a': <pose> must be 6 numbers, got '1 2 3'"
    ),
    model(link("a", content="<inertial><mass>-1</mass></inertial>")): (
        "m.sdf:1:{}: link 'a': <mass> must not be negative [kg], got -1.0"
    ),
    model(link("a")) + model(link("a")): "m.sdf:1:{}: model 'm': second model 'm'; rename one",
    model(
        link("a")
        + HINGE.format(
            "<axis><xyz>0 0 1</xyz><limit><lower>1</lower><upper>0</upper></limit></axis>"
        )
    ): "m.sdf:1:{}: joint 'j': lower limit 1 exceeds upper limit 0; swap them",
    model(link("a") + joint("j", "fixed", "a", "world")): (
        "m.sdf:1:{}: joint 'j': has the world as its child; swap parent and child"
    ),
    model(link("a") + joint("j", "fixed", "a", "a")): (
        "m.sdf:1:{}: joint 'j': joins link 'a' to itself; name another parent"
    ),
    model(
        link("a") + joint("j", "screw", "world", "a", f"{UPRIGHT}<thread_pitch>0</thread_pitch>")
    ): "m.sdf:1:{}: joint 'j': <thread_pitch> must not be 0 [rad/m]; write <screw_thread_pitch>",
    model(link("a") + joint("j", "fixed", "n::x", "a")): (
        "m.sdf:1:{}: joint 'j': there is no nested model 'n'"
    ),
    model(link("a") + '<frame name="f" attached_to="f"/>' + joint("j", "fixed", "f", "a")): (
        "m.sdf:1:{}: joint 'j': frame 'f' is attached to itself; name a link"
    ),
    model(link("a") + model("", "n") + joint("j", "fixed", "n", "a")): (
        "m.sdf:1:{}: joint 'j': model 'n' has no link to attach to; name a link"
    ),
    model(
        link("a")
        + joint("f", "fixed", "world", "a")
        + joint("u", "universal", "world", "a", f"{UPRIGHT}<axis2><xyz>1 0 0</xyz></axis2>")
    ): (
        "m.sdf:1:{}: joint 'u': a universal joint cannot close a loop; let another joint of the loop close it"
    ),
    f'<world name="a">{model(link("a"))}</world><world name="b"/>': (
        "m.sdf:1:{}: world 'b': second <world>; keep one"
    ),
    model(link("a", '<pose rotation_format="quat_xyzw">1 2 3 0 0 0.6 0.6</pose>')): (
        "m.sdf:1:{}: link 'a': the quaternion of <pose> must have length 1, got 0.0 0.0 0.6 0.6"
    ),
    model("<static>yes</static>" + link("a")): (
        "m.sdf:1:{}: model 'm': <static> must be true or false, got 'yes'"
    ),
    model(link("a") + joint("j", "fixed", " ", "a")): (
        "m.sdf:1:{}: joint 'j': <parent> is empty; write a name"
    ),
    model(link("a") + joint("j", "revolute", "world", "a", "<axis><xyz>0 0 1e200</xyz></axis>")): (
        "m.sdf:1:{}: joint 'j': <xyz> is beyond 1e+30, got 1e+200; take another unit"
    ),
}


@pytest.mark.parametrize("text", REFUSED)
def test_invalid_elements_are_reported_with_their_place(write: Write, text: str) -> None:
    found = refusal(write(text))
    before, brace, after = REFUSED[text].partition("{}")
    assert found.startswith(before)
    assert found.endswith(after)
    assert not brace or found.removeprefix(before).removesuffix(after).isdigit()


def test_another_root_element_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "m.sdf"
    path.write_text(model(link("a")), "utf-8")
    text = "m.sdf:1:1: the root element of an SDF file is <sdf>, got <model>"
    assert refusal(path) == text


def test_followers_that_lead_each_other_are_rejected(write: Write) -> None:
    def follower(name: str, leader: str, child: str) -> str:
        mimic = f'<mimic joint="{leader}"><multiplier>1</multiplier></mimic>'
        return joint(name, "revolute", "world", child, f"<axis><xyz>0 0 1</xyz>{mimic}</axis>")

    path = write(model(link("a") + link("b") + follower("i", "j", "a") + follower("j", "i", "b")))
    found = refusal(path)
    assert found.startswith("m.sdf:1:")
    assert found.endswith(
        ": joint 'i': joints follow each other in a cycle: i → j → i; remove one mimic"
    )


def test_a_newer_version_is_rejected(write: Write) -> None:
    text = "m.sdf:1:1: version 2.0 of SDF is newer than 1.12; convert it with `gz sdf`"
    assert refusal(write(model(link("a")), "2.0")) == text


def test_a_version_that_is_not_a_number_is_rejected(write: Write) -> None:
    text = "m.sdf:1:1: 'version' of <sdf> must be a number such as 1.9, got 'new'"
    assert refusal(write(model(link("a")), "new")) == text


MESH = "<geometry><mesh><uri>box.obj</uri>{}</mesh></geometry>"


def test_meshes_of_no_size_and_no_mass_are_reported(write: Write, tmp_path: Path) -> None:
    shutil.copy(SCENES / "meshes" / "box.obj", tmp_path)
    flat = f'<visual name="v">{MESH.format("<scale>1 0 1</scale>")}</visual>'
    _, texts = warnings_of(write(model(link("a", content=INERTIAL + flat))))
    assert [text.split(": ", 1)[1] for text in texts] == [
        "link 'a': visual 'v' is left out: <scale> of <mesh> must not be zero; remove it for the file's own size"
    ]
    collision = f'<collision name="c">{MESH.format("")}</collision>'
    path = write(model(link("a", content=f'<inertial auto="true"/>{collision}')))
    assert refusal(path).endswith(
        ": link 'a': inertia of a mesh is not computed; give <mass> and <inertia>"
    )


SIZE = "<geometry><box><size>{}</size></box>{}</geometry>"


@pytest.mark.parametrize(
    ("geometry", "reason"),
    [
        (SIZE.format("1 0 1", ""), "<size> must be positive [m], got '1 0 1'"),
        (
            SIZE.format("1 1 1", "<sphere><radius>1</radius></sphere>"),
            "<geometry> needs one shape",
        ),
    ],
)
def test_a_shape_without_a_size_of_its_own_is_left_out(
    write: Write, geometry: str, reason: str
) -> None:
    visual = f'<visual name="v">{geometry}</visual>'
    _, texts = warnings_of(write(model(link("a", content=INERTIAL + visual))))
    assert [text.split(": ", 1)[1] for text in texts] == [
        f"link 'a': visual 'v' is left out: {reason}"
    ]


def test_a_gripper_is_left_out_with_a_warning(write: Write) -> None:
    _, texts = warnings_of(write(model(link("a") + '<gripper name="g"/>')))
    assert [text.split(": ", 1)[1] for text in texts] == ["<gripper> 'g' is left out"]


def test_frames_are_attached_to_models_joints_and_the_world(write: Write) -> None:
    """A model stands for its first link, a joint for its child; poses are relative to what they name."""
    inner = model(f"<pose>{JOINT}</pose>" + link("in", f"<pose>{LINK_B}</pose>"), "inner")
    hinge = joint("j", "revolute", "a", "inner", UPRIGHT)
    frames = {"inner": FRAME, "j": LINK_A, "world": LINK_B}
    text = link("a") + inner + joint("fix", "fixed", "world", "a") + hinge
    for name, where in frames.items():
        text += f'<frame name="f_{name}" attached_to="{name}"><pose>{where}</pose></frame>'
    text += link("c", f'<pose relative_to="inner">{LINK_A}</pose>')
    loaded = pysim.load_model(write(model(text + joint("w", "fixed", "world", "c"))))
    q = np.array([0.7])
    moved = X(JOINT) @ pose((0, 0, 0), from_axis_angle(0, 0, 1, 0.7))
    for frame, expected in (
        ("f_inner", moved @ X(FRAME)),
        ("f_j", moved @ X(LINK_A)),
        ("f_world", X(LINK_B)),
        ("c", X(JOINT) @ X(LINK_A)),
    ):
        assert np.abs(pysim.frame_placement(loaded, q, frame) - expected).max() < 1e-14


def test_a_joint_from_a_link_back_to_its_base_closes_a_loop(write: Write) -> None:
    hinges = joint("i", "revolute", "a", "b", UPRIGHT) + joint("j", "revolute", "b", "a", UPRIGHT)
    spec = read_model(write(model(link("a") + link("b") + hinges)))
    assert [(loop.name, loop.type, loop.a, loop.b) for loop in spec.loops] == [
        ("j", "revolute", "b", "a")
    ]
    assert [j.name for j in spec.joints if j.type == "revolute"] == ["i"]


def test_a_continuous_joint_has_no_range_and_keeps_its_effort(write: Write) -> None:
    limit = "<limit><lower>-1</lower><upper>1</upper><effort>5</effort></limit>"
    axis = f"<axis><xyz>0 0 1</xyz>{limit}</axis>"
    (hinge,) = read_model(
        write(model(link("a") + joint("j", "continuous", "world", "a", axis)))
    ).joints
    assert (hinge.lower[0], hinge.upper[0], hinge.effort_limit) == (-np.inf, np.inf, 5.0)


def test_a_free_base_is_a_matter_of_the_file(write: Write) -> None:
    text = "m.sdf: free_base is for URDF; a model of SDF is free unless a joint holds it"
    assert refusal(write(model(link("a"))), free_base=True) == text
