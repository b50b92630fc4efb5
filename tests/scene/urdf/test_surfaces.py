"""Friction and excluded pairs of URDF and SRDF files: the numbers written there, in the laws of a scene."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pytest

import pysim
from pysim.errors import PysimWarning
from pysim.scene import read_model

if TYPE_CHECKING:
    from pathlib import Path

    from pysim.scene.spec import ContactsSpec

LINK = """<link name="{}">
<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><sphere radius="0.1"/></geometry>{}</collision>{}</link>"""
JOINT = """<joint name="{1}_joint" type="revolute"><parent link="{0}"/><child link="{1}"/><axis xyz="0 1 0"/>
<origin xyz="0 0 0.5"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>"""
DRAKE = """<drake:proximity_properties><drake:mu_static value="0.9"/><drake:mu_dynamic value="0.7"/>
</drake:proximity_properties>"""
BULLET = '<contact><lateral_friction value="0.6"/></contact>'
GAZEBO = '<gazebo reference="{}"><mu1>{}</mu1><mu2>{}</mu2></gazebo>'
ROBOT = (
    '<robot name="r" xmlns:drake="https://drake.mit.edu">'
    + LINK.format("a", "", "")
    + LINK.format("b", "", BULLET)
    + LINK.format("c", DRAKE, BULLET)
    + LINK.format("d", "", "")
    + JOINT.format("a", "b")
    + JOINT.format("b", "c")
    + JOINT.format("c", "d")
    + "{}</robot>"
)
SRDF = """<robot name="r"><disable_collisions link1="a" link2="c" reason="Never"/>
<disable_collisions link1="b" link2="dd" reason="Never"/></robot>"""


def contacts_of(folder: Path, extra: str) -> tuple[ContactsSpec, dict[str, str], list[str]]:
    """Contacts of the robot, the material of each link, and the warnings."""
    path = folder / "r.urdf"
    path.write_text(ROBOT.format(extra), "utf-8")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        spec = read_model(path)
    assert spec.contacts is not None
    texts = [
        str(w.message).removeprefix(f"{folder}/") for w in caught if w.category is PysimWarning
    ]
    return spec.contacts, {body.name: body.collisions[0].material for body in spec.bodies}, texts


def test_friction_for_gazebo_bullet_and_drake_is_that_of_materials(tmp_path: Path) -> None:
    contacts, of_link, texts = contacts_of(tmp_path, GAZEBO.format("d", 0.4, 0.4))
    assert of_link == {
        "a": "default",
        "b": "r/surface",
        "c": "r/surface_2",
        "d": "r/surface_3",
    }
    numbers = {
        name: (s.static_friction, s.dynamic_friction) for name, s in contacts.materials.items()
    }
    assert numbers == {
        "r/surface": (0.6, 0.6),
        "r/surface_2": (0.9, 0.7),
        "r/surface_3": (0.4, 0.4),
    }
    assert texts == []


def test_a_friction_of_zero_for_bullet_is_none(tmp_path: Path) -> None:
    turning = '<rolling_friction value="0"/><spinning_friction value="0"/></contact>'
    path = tmp_path / "r.urdf"
    path.write_text(ROBOT.format("").replace("</contact>", turning, 1), "utf-8")
    contacts = read_model(path).contacts
    assert contacts is not None
    assert all(m.rolling is None and m.spinning is None for m in contacts.materials.values())


def test_rolling_and_spinning_friction_of_bullet_are_lengths(tmp_path: Path) -> None:
    turning = '<rolling_friction value="0.01"/><spinning_friction value="0.02"/></contact>'
    text = ROBOT.format("").replace(BULLET, BULLET.replace("</contact>", turning))
    assert turning in text
    (tmp_path / "r.urdf").write_text(text, "utf-8")
    contacts = read_model(tmp_path / "r.urdf").contacts
    assert contacts is not None
    found = contacts.materials["r/surface"]
    assert (found.static_friction, found.rolling, found.spinning) == (0.6, 0.01, 0.02)


def test_the_ground_of_a_scene_has_the_friction_of_the_links(tmp_path: Path) -> None:
    (tmp_path / "r.urdf").write_text(ROBOT.format(""), "utf-8")
    text = """[[model]]
file = "r.urdf"
free_base = true
start = { root_joint = { xyz = [0, 0, 1] } }
[materials.default]
friction = 0.5
sink = 1e-4
[[ground]]
plane = { normal = [0, 0, 1] }
"""
    (tmp_path / "s.toml").write_text(text, "utf-8")
    contacts = pysim.load_scene(tmp_path / "s.toml").contacts
    assert contacts is not None
    law = {
        contacts.pairs[s.pair].second: s.law.static_friction
        for s in contacts.shapes
        if s.ground is not None
    }
    assert law["b"] == pytest.approx((0.5 * 0.6) ** 0.5, rel=1e-15)
    assert law["c"] == pytest.approx((0.5 * 0.9) ** 0.5, rel=1e-15)


MISTAKES = {
    "directions": (
        GAZEBO.format("d", 0.4, 0.3),
        "link 'd': <mu1> 0.4 and <mu2> 0.3 differ, and friction has no direction: it is 0.3",
    ),
    "negative": (
        GAZEBO.format("d", -0.4, 0.3),
        "link 'd': <mu1> is left out: friction must be a number that is not negative, got '-0.4'",
    ),
    "text": (
        GAZEBO.format("d", "much", 0.3),
        "link 'd': <mu1> is left out: friction must be a number that is not negative, got 'much'",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_friction_that_cannot_be_represented_is_named(tmp_path: Path, case: str) -> None:
    extra, expected = MISTAKES[case]
    contacts, of_link, (text,) = contacts_of(tmp_path, extra)
    assert text.partition(": ")[2] == expected
    assert contacts.materials[of_link["d"]].static_friction == 0.3


def test_disabled_pairs_of_an_srdf_do_not_touch(tmp_path: Path) -> None:
    (tmp_path / "r.urdf").write_text(ROBOT.format(""), "utf-8")
    (tmp_path / "r.srdf").write_text(SRDF, "utf-8")
    text = """[[model]]
file = "r.urdf"
srdf = "r.srdf"
free_base = true
[[ground]]
plane = { offset = -1.0 }
"""
    (tmp_path / "s.toml").write_text(text, "utf-8")
    with pytest.warns(PysimWarning) as caught:
        scene = pysim.load_scene(tmp_path / "s.toml")
    assert [str(w.message).removeprefix(f"{tmp_path}/") for w in caught] == [
        "r.srdf:2:1: the excluded pair 'b', 'dd' is left out: the robot has no link 'dd'; did you mean 'd'?"
    ]
    assert scene.contacts is not None
    pairs = {(pair.first, pair.second) for pair in scene.contacts.pairs if pair.first != "world"}
    assert pairs == {("a", "d"), ("b", "d")}


@pytest.mark.parametrize("free", ["true", "false"])
def test_links_that_a_joint_connects_do_not_touch(tmp_path: Path, free: str) -> None:
    """Nor do they if the first one is fixed to the world."""
    (tmp_path / "r.urdf").write_text(ROBOT.format(""), "utf-8")
    text = (
        f'[[model]]\nfile = "r.urdf"\nfree_base = {free}\n[[ground]]\nplane = {{ offset = -1.0 }}\n'
    )
    (tmp_path / "s.toml").write_text(text, "utf-8")
    contacts = pysim.load_scene(tmp_path / "s.toml").contacts
    assert contacts is not None
    pairs = {pair.first + pair.second for pair in contacts.pairs if pair.first != "world"}
    assert pairs == {"ac", "ad", "bd"}


def test_a_robot_whose_inertials_are_all_ignored_is_a_drawing(tmp_path: Path) -> None:
    """Its joints are fixed, as those of a robot without masses."""
    light = '<link name="{}"><inertial><mass value="3"/></inertial></link>'
    robot = (
        f'<robot name="r">{light.format("a")}{light.format("b")}{JOINT.format("a", "b")}</robot>'
    )
    (tmp_path / "r.urdf").write_text(robot, "utf-8")
    ignored = pytest.warns(PysimWarning, match="it has no <inertia>")
    with ignored, pytest.warns(PysimWarning, match="moves only massless bodies"):
        model = pysim.load_model(tmp_path / "r.urdf")
    assert model.nv == 0


def test_an_inertial_without_inertia_is_ignored_with_a_warning(tmp_path: Path) -> None:
    """As Pinocchio does."""
    light = '<link name="e"><inertial><mass value="3"/></inertial></link>'
    fixed = '<joint name="e_joint" type="fixed"><parent link="d"/><child link="e"/></joint>'
    _, _, _texts = contacts_of(tmp_path, "")
    (tmp_path / "r.urdf").write_text(ROBOT.format(light + fixed), "utf-8")
    with pytest.warns(PysimWarning, match=r"is ignored: it has no <inertia>; give one \[kg·m²\]"):
        model = pysim.load_model(tmp_path / "r.urdf")
    assert model.total_mass == 3.0
