"""Start states of SRDF files. The oracle is Pinocchio."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio
import pytest

import pysim
from pysim.errors import PysimWarning
from pysim.scene.packages import robots_folder

ROBOTS = {  # URDF, SRDF and state
    "talos": ("talos_data/robots/talos_full_v2.urdf", "talos_data/srdf/talos.srdf", "half_sitting"),
    "a1": ("a1_description/urdf/a1.urdf", "a1_description/srdf/a1.srdf", "standing"),
    "kinova": (
        "kinova_description/robots/kinova.urdf",
        "kinova_description/srdf/kinova.srdf",
        "arm_up",
    ),
}
URDF = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>"""
SRDF = """<robot name="r"><virtual_joint name="base" type="floating" parent_frame="w" child_link="a"/>
<group_state name="up" group="all"><joint name="{}" value="{}"/></group_state>
<disable_collisions link1="a" link2="b" reason="Adjacent"/></robot>"""


@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
@pytest.mark.parametrize("robot", ROBOTS)
def test_the_states_are_those_of_pinocchio(robot: str, tmp_path: Path) -> None:
    folder = robots_folder()
    assert folder is not None
    urdf, srdf, name = ROBOTS[robot]
    package = "package://example-robot-data/robots"
    text = f'[[model]]\nfile = "{package}/{urdf}"\nsrdf = "{package}/{srdf}"\nkeyframe = "{name}"\n'
    (tmp_path / "s.toml").write_text(text + "free_base = true\nmimic = false\n", "utf-8")
    scene = pysim.load_scene(tmp_path / "s.toml")
    path = str(folder / "robots" / urdf)
    reference = pinocchio.buildModelFromUrdf(path, pinocchio.JointModelFreeFlyer())
    pinocchio.loadReferenceConfigurations(reference, str(folder / "robots" / srdf), False)
    expected = reference.referenceConfigurations[name]
    model = scene.model
    for joint, at in zip(model.joint_names, model.q_offsets, strict=True):
        part = reference.joints[reference.getJointId(joint)]
        own = expected[part.idx_q : part.idx_q + part.nq]
        own = np.array([np.arctan2(own[1], own[0])]) if part.nq == 2 else own
        assert scene.state.q[at : at + len(own)] == pytest.approx(own, abs=1e-6), joint


@pytest.fixture
def robot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.urdf").write_text(URDF, "utf-8")
    text = '[[model]]\nfile = "r.urdf"\nsrdf = "r.srdf"\nkeyframe = "up"\n'
    (tmp_path / "s.toml").write_text(text, "utf-8")
    return tmp_path / "r.srdf"


def test_a_state_is_a_keyframe(robot: Path) -> None:
    robot.write_text(SRDF.format("j", "0.5"), "utf-8")
    assert pysim.load_scene("s.toml").state.q.tolist() == [0.5]


def test_the_state_of_a_fixed_base_is_ignored(robot: Path) -> None:
    robot.write_text(SRDF.format("base", "0 0 1 0 0 0 1"), "utf-8")
    assert pysim.load_scene("s.toml").state.q.tolist() == [0.0]


def test_the_state_of_a_free_base_is_its_pose(robot: Path) -> None:
    robot.write_text(SRDF.format("base", "0 0 1 0 0 0 1.0001"), "utf-8")
    body = URDF.partition("<inertial>")[2].partition("</inertial>")[0]
    massive = f'<link name="a"><inertial>{body}</inertial></link>'
    (robot.parent / "r.urdf").write_text(URDF.replace('<link name="a"/>', massive), "utf-8")
    scene = Path("s.toml")
    scene.write_text(scene.read_text("utf-8") + "free_base = true\n", "utf-8")
    np.testing.assert_allclose(
        pysim.load_scene(scene).state.q, [0, 0, 1, 0, 0, 0, 1, 0], rtol=1e-15
    )
    robot.write_text(SRDF.format("base", "0 0 1 0 0 0 2"), "utf-8")
    with pytest.raises(pysim.SceneError) as caught:
        pysim.load_scene(scene)
    problem = "the quaternion of joint 'root_joint' must have length 1, got 2"
    assert str(caught.value).endswith(problem)


def test_the_state_of_a_follower_is_that_of_its_leader(robot: Path) -> None:
    third = """<link name="c"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="k" type="continuous"><parent link="a"/><child link="c"/><mimic joint="j" multiplier="2"/></joint>
</robot>"""
    (robot.parent / "r.urdf").write_text(URDF.replace("</robot>", third), "utf-8")
    both = SRDF.format("j", "0.5").replace(
        "</group_state>", '<joint name="k" value="9"/></group_state>'
    )
    robot.write_text(both, "utf-8")
    assert pysim.load_scene("s.toml").state.q.tolist() == [0.5]


def test_an_unknown_joint_is_named(robot: Path) -> None:
    robot.write_text(SRDF.format("jj", "0.5"), "utf-8")
    text = "r.srdf:2:36: 'up': the value of joint 'jj' is left out: the robot has no such joint; did you mean 'j'?"
    with pytest.warns(PysimWarning) as caught:
        pysim.load_scene("s.toml")
    assert [str(w.message).removeprefix(f"{robot.parent}/") for w in caught] == [text]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (SRDF.format("j", "up"), "the value of joint 'j' must be a number, got 'up'"),
        (SRDF.format("j", "1 0"), "the value of joint 'j' must be a number, got '1 0'"),
        ("<sdf/>", "the root element of an SRDF file is <robot>, got <sdf>"),
    ],
)
def test_invalid_group_states_are_reported(robot: Path, text: str, problem: str) -> None:
    robot.write_text(text, "utf-8")
    with pytest.raises(pysim.SceneError) as caught:
        pysim.load_scene("s.toml")
    assert str(caught.value).endswith(problem)


def test_a_missing_file_is_reported(robot: Path) -> None:
    with pytest.raises(
        pysim.SceneError, match=r"^s\.toml:3:8: model\[0\]\.srdf: there is no file "
    ):
        pysim.load_scene("s.toml")


SDF = """<sdf version="1.9"><model name="r">
<link name="a"><inertial><mass>1</mass></inertial>
<collision name="c"><geometry><sphere><radius>0.1</radius></sphere></geometry></collision></link>
<link name="b"><inertial><mass>1</mass></inertial></link>
<link name="d"><pose>0 0 1 0 0 0</pose><inertial><mass>1</mass></inertial></link>
<link name="e"><pose>0 0 2 0 0 0</pose><inertial><mass>1</mass></inertial>
<collision name="c"><geometry><sphere><radius>0.1</radius></sphere></geometry></collision></link>
<joint name="j" type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint>
<joint name="k" type="revolute"><parent>b</parent><child>d</child><axis><xyz>0 0 1</xyz></axis></joint>
<joint name="l" type="revolute"><parent>d</parent><child>e</child><axis><xyz>0 0 1</xyz></axis></joint>
<joint name="close" type="ball"><parent>a</parent><child>d</child></joint>
<self_collide>true</self_collide></model></sdf>"""
STATE = """<robot name="r"><virtual_joint name="base" type="floating" parent_frame="w" child_link="a"/>
<group_state name="up" group="all"><joint name="{}" value="0 0 3 0 0 0 1"/><joint name="j" value="0.5"/>
<joint name="close" value="0 0 0 1"/></group_state>{}</robot>"""


@pytest.mark.parametrize("root", ["base", "root_joint"])
def test_states_of_a_model_of_sdf_are_keyframes(robot: Path, root: str) -> None:
    """Its base is free; the ball joint closes a loop, whose coordinates follow."""
    (robot.parent / "r.sdf").write_text(SDF, "utf-8")
    robot.write_text(STATE.format(root, ""), "utf-8")
    text = '[[model]]\nfile = "r.sdf"\nsrdf = "r.srdf"\nkeyframe = "up"\n[assembly]\nhold = ["j"]\n'
    Path("s.toml").write_text(text, "utf-8")
    scene = pysim.load_scene("s.toml")
    of_name = dict(zip(scene.model.coordinate_names, scene.state.q, strict=True))
    assert of_name["j"] == 0.5
    assert of_name["a/free.z"] == pytest.approx(3)


def test_pairs_that_a_state_file_disables_do_not_touch_in_sdf(robot: Path) -> None:
    (robot.parent / "r.sdf").write_text(SDF, "utf-8")
    pair = '<disable_collisions link1="a" link2="e" reason="Never"/>'
    touching = []
    for disabled in ("", pair):
        robot.write_text(STATE.format("base", disabled), "utf-8")
        text = '[[model]]\nfile = "r.sdf"\nsrdf = "r.srdf"\n[[ground]]\nplane = { normal = [0, 0, 1], offset = -1 }\n'
        Path("s.toml").write_text(text, "utf-8")
        contacts = pysim.load_scene("s.toml").contacts
        assert contacts is not None
        touching.append([pair.name for pair in contacts.pairs])
    of_links = set(touching[0]) - set(touching[1])
    assert len(touching[0]) == 3
    assert [sorted(name.split(", ")) for name in of_links] == [["a", "e"]]


def test_a_format_with_keyframes_of_its_own_takes_no_state_file(robot: Path) -> None:
    (robot.parent / "r.xml").write_text("<mujoco/>", "utf-8")
    robot.write_text(SRDF.format("j", "0.5"), "utf-8")
    Path("s.toml").write_text('[[model]]\nfile = "r.xml"\nsrdf = "r.srdf"\n', "utf-8")
    with pytest.raises(
        pysim.SceneError,
        match=r"^s\.toml:3:8: model\[0\]\.srdf: is for URDF and SDF; remove the key$",
    ):
        pysim.load_scene("s.toml")
