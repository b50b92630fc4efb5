"""Links of one imported robot: which touch each other by the rules of its format, and which are left out.

Oracles: the formats' own rules, written out; rest positions of two sliders that press against each other.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.contact.self_contact import overlaps_of_links
from pysim.errors import PysimError, PysimWarning
from tests.commands import check_scene

RADIUS = 0.05
INERTIAL = '<inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
CYLINDER = f'<cylinder radius="{RADIUS}" length="0.2"/>'
SPHERE = f'<sphere radius="{RADIUS}"/>'


def urdf(folder: Path, shape: str = CYLINDER, apart: float = 0.3) -> None:
    """Write two sliders along x on both sides of a base, this far from it."""
    links, joints = "", ""
    for name, sign in (("left", -1), ("right", 1)):
        links += f'<link name="{name}">{INERTIAL}<collision><geometry>{shape}</geometry></collision></link>'
        joints += (
            f'<joint name="{name} slides" type="prismatic"><parent link="base"/><child link="{name}"/>'
            f'<origin xyz="{sign * apart} 0 1"/><axis xyz="1 0 0"/>'
            '<limit lower="-9" upper="9" effort="99" velocity="99"/></joint>'
        )
    base = (
        f'<link name="base">{INERTIAL}<collision><geometry>{SPHERE}</geometry></collision></link>'
    )
    (folder / "r.urdf").write_text(f'<robot name="r">{base}{links}{joints}</robot>', "utf-8")


def srdf(folder: Path, *disabled: str) -> None:
    pairs = "".join(f'<disable_collisions link1="left" link2="{name}"/>' for name in disabled)
    (folder / "r.srdf").write_text(f'<robot name="r">{pairs}</robot>', "utf-8")


def scene(folder: Path, model: str = "", file: str = "r.urdf", tables: str = "") -> pysim.Scene:
    """Load the robot of a file over a ground, pressed together if it has sliders; a URDF's base moves freely."""
    push = "".join(
        f'[[actuator]]\njoint = "{name} slides"\noffset = {force}\n'
        for name, force in (("left", 10.0), ("right", -10.0))
    )
    text = f"""
gravity = [0, 0, 0]
[[model]]
file = "{file}"
{"free_base = true" if file == "r.urdf" else ""}
{model}
[[ground]]
plane = {{ normal = [0, 0, 1], offset = -9 }}
[materials.default]
friction = 0
stiffness = 1e6
{push if file == "r.urdf" else ""}{tables}
[simulation]
duration = 2
"""
    (folder / "s.toml").write_text(text, "utf-8")
    return pysim.load_scene(folder / "s.toml")


def touching(found: pysim.Scene) -> set[frozenset[str]]:
    """Pairs of links, without those with the ground."""
    assert found.contacts is not None
    pairs = (frozenset((pair.first, pair.second)) for pair in found.contacts.pairs)
    return {pair for pair in pairs if "world" not in pair}


BOTH = frozenset(("left", "right"))


@pytest.mark.parametrize(
    ("shape", "model", "expected"),
    [
        (CYLINDER, "", False),
        (SPHERE, "", True),
        (CYLINDER, 'srdf = "r.srdf"', True),
        (CYLINDER, "self_collision = true", True),
        (SPHERE, "self_collision = false", False),
        (SPHERE, 'srdf = "r.srdf"\nself_collision = false', False),
    ],
)
def test_links_of_a_urdf_file_touch_as_its_srdf_file_or_the_scene_says(
    tmp_path: Path, shape: str, model: str, expected: bool
) -> None:
    urdf(tmp_path, shape)
    srdf(tmp_path, "base")
    assert (BOTH in touching(scene(tmp_path, model))) == expected


def test_an_srdf_file_excludes_a_pair_also_where_the_scene_lets_all_touch(tmp_path: Path) -> None:
    urdf(tmp_path)
    srdf(tmp_path, "right")
    for more in ("", "self_collision = true"):
        assert touching(scene(tmp_path, f'srdf = "r.srdf"\n{more}')) == set()


def test_a_contact_lets_two_links_touch_in_any_case(tmp_path: Path) -> None:
    urdf(tmp_path)
    table = '[[contact]]\nbetween = ["left", "right"]\nfriction = 0\n'
    srdf(tmp_path, "right")
    for model in ("", "self_collision = false", 'srdf = "r.srdf"'):
        assert touching(scene(tmp_path, model, tables=table)) == {BOTH}


def test_cylinders_that_press_against_each_other_rest_at_their_radii(tmp_path: Path) -> None:
    """At 10 N, 1e6/2 N/m and two points of a pair of parallel cylinders, to the sink of 20 µm at most."""
    urdf(tmp_path)
    trajectory = pysim.simulate(scene(tmp_path, "self_collision = true"))
    left, right = -0.3 + trajectory.q[-1, 7], 0.3 + trajectory.q[-1, 8]
    assert right - left == pytest.approx(2 * RADIUS, abs=2.1e-5)
    assert np.abs(trajectory.v[-1]).max() < 1e-6


def test_links_that_overlap_at_the_start_are_left_out_with_a_warning(tmp_path: Path) -> None:
    urdf(tmp_path, apart=0.04)
    with pytest.warns(PysimWarning) as caught:
        found = scene(tmp_path, "self_collision = true")
    assert touching(found) == set()
    assert found.contacts is not None
    assert overlaps_of_links(found.contacts) == {"left, right": pytest.approx(0.02, abs=1e-6)}
    (warning,) = caught
    assert str(warning.message) == (
        "1 pair of links of one robot overlap at the start [m] and do not touch each other: left, right by 0.02; start "
        "them apart, or let them touch by a [[contact]] that names both"
    )


def test_links_of_a_fixed_robot_that_overlap_are_left_out(tmp_path: Path) -> None:
    """Its arms are mechanisms of their own, and a link that is fixed to the world is one of it."""
    urdf(tmp_path, apart=0.04)
    text = (tmp_path / "r.urdf").read_text("utf-8").replace('name="base"', 'name="root"', 1)
    text = text.replace('link="base"', 'link="root"')
    table = (
        f'<link name="table"><collision><geometry>{SPHERE}</geometry></collision></link>'
        '<joint name="bolt" type="fixed"><parent link="root"/><child link="table"/><origin xyz="0 0 1.01"/></joint>'
        "</robot>"
    )
    (tmp_path / "f.urdf").write_text(text.replace("</robot>", table), "utf-8")
    with pytest.warns(PysimWarning, match="^3 pairs of links of one robot overlap at the start"):
        found = scene(tmp_path, file="f.urdf")
    assert touching(found) == set()


def test_links_that_start_apart_by_the_scene_touch(tmp_path: Path) -> None:
    """The start is that of the scene, not the file's."""
    urdf(tmp_path, apart=0.04)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PysimWarning)
        found = scene(tmp_path, 'self_collision = true\nstart = { "left slides" = -0.2 }')
    assert touching(found) == {BOTH}


def test_a_contact_of_links_that_overlap_warns_of_the_throw(tmp_path: Path) -> None:
    urdf(tmp_path, apart=0.04)
    table = '[[contact]]\nbetween = ["left", "right"]\nfriction = 0\n'
    with pytest.warns(PysimWarning, match="so they will be thrown apart"):
        found = scene(tmp_path, "self_collision = true", tables=table)
    assert touching(found) == {BOTH}


@pytest.mark.filterwarnings("ignore::pysim.errors.PysimWarning")
def test_check_prints_a_line_for_each_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def lines(model: str, apart: float) -> list[str]:
        urdf(tmp_path, apart=apart)
        srdf(tmp_path, "base")
        scene(tmp_path, model)
        check_scene(tmp_path / "s.toml")
        shown = capsys.readouterr().out.splitlines()
        return [line for line in shown if line.startswith("  left out")]

    unstated = "1 pair of shapes of one robot, whose URDF file does not say whether they touch"
    kinds = "such as cylinder and cylinder of 'left' and 'right'"
    remedy = "an srdf, self_collision = true or a [[contact]] that names both lets them touch"
    assert lines("", 0.3) == [f"  left out    {unstated}, {kinds}; {remedy}"]
    off = f"  left out    1 pair of shapes by self_collision = false, {kinds}"
    assert lines("self_collision = false", 0.3) == [off]
    overlap = "1 pair of links of one robot that overlaps at the start: left, right by 0.02 m"
    assert lines('srdf = "r.srdf"', 0.04) == [
        f"  left out    {overlap}; a [[contact]] that names both lets them touch",
        "  left out    1 pair of links by the file of a robot or an [[exclude]]",
    ]


SDF = """<sdf version="1.9"><model name="m">{own}
{links}
<joint name="ab" type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint>
<joint name="cd" type="universal"><parent>c</parent><child>d</child><axis><xyz>1 0 0</xyz></axis>
<axis2><xyz>0 1 0</xyz></axis2></joint>
</model></sdf>"""
SDF_LINK = """<link name="{name}"><pose>{x} 0 1 0 0 0</pose>{own}<inertial><mass>1</mass><inertia><ixx>0.01</ixx>
<iyy>0.01</iyy><izz>0.01</izz></inertia></inertial>
<collision name="k"><geometry><cylinder><radius>0.1</radius><length>0.2</length></cylinder></geometry></collision>
</link>"""
TRUE, FALSE = "<self_collide>true</self_collide>", "<self_collide>false</self_collide>"
SIBLINGS = {"ac", "ad", "bc", "bd"}  # of the four links, without those that a joint connects


@pytest.mark.parametrize(
    ("model", "links", "expected"),
    [
        ("", {}, set()),
        (FALSE, {}, set()),
        (TRUE, {}, SIBLINGS),
        ("", {"a": TRUE}, {"ac", "ad"}),
        (TRUE, {"a": FALSE, "c": FALSE}, SIBLINGS - {"ac"}),
    ],
)
def test_links_of_an_sdf_model_touch_by_self_collide(
    tmp_path: Path, model: str, links: dict[str, str], expected: set[str]
) -> None:
    """Of a model, or of either link, or as the scene says; those that a joint connects never do."""
    text = "\n".join(
        SDF_LINK.format(name=name, x=k, own=links.get(name, "")) for k, name in enumerate("abcd")
    )
    (tmp_path / "m.sdf").write_text(SDF.format(own=model, links=text), "utf-8")
    found = touching(scene(tmp_path, file="m.sdf"))
    assert {"".join(sorted(pair)) for pair in found} == expected
    for stated, wanted in (("true", SIBLINGS), ("false", set())):
        found = touching(scene(tmp_path, f"self_collision = {stated}", file="m.sdf"))
        assert {"".join(sorted(pair)) for pair in found} == wanted


MJCF = """<mujoco><option gravity="0 0 0"/><asset><mesh name="wedge" file="wedge.stl"/></asset>
<worldbody><geom type="plane" size="9 9 1" pos="0 0 -5"/>
<body name="base" pos="0 0 1"><freejoint/><geom type="box" size=".1 .1 .1"/>
{bodies}</body></worldbody>
<contact><exclude body1="b2" body2="b5"/></contact></mujoco>"""
GEOMS = [
    'type="cylinder" size=".1 .2"',
    'type="cylinder" size=".1 .2" contype="2" conaffinity="0"',
    'type="mesh" mesh="wedge"',
    'type="ellipsoid" size=".1 .2 .1" contype="0" conaffinity="2"',
    'type="mesh" mesh="wedge" contype="4" conaffinity="4"',
    'type="capsule" size=".1 .2"',
]


def test_geoms_of_an_mjcf_file_touch_by_their_masks(tmp_path: Path) -> None:
    """Oracle: the pairs whose distance MuJoCo's collision functions report, of all geoms moved onto one place."""
    import trimesh

    mujoco = pytest.importorskip("mujoco")
    trimesh.creation.icosahedron().apply_scale(0.1).export(tmp_path / "wedge.stl")
    bodies = "".join(
        f'<body name="b{k}" pos="{k + 1} 0 0"><joint type="hinge" axis="0 0 1" pos="{-k - 1} 0 0"/>'
        f'<geom {geom} mass="1"/></body>'
        for k, geom in enumerate(GEOMS)
    )
    (tmp_path / "m.xml").write_text(MJCF.format(bodies=bodies), "utf-8")
    pairs = touching(scene(tmp_path, file="m.xml"))
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    model.body_pos[2:] = 0.001 * np.arange(6)[:, None]  # all in one place
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    names = [model.body(k).name for k in range(model.nbody)]
    expected = {
        frozenset(names[model.geom_bodyid[g]] for g in contact.geom) for contact in data.contact
    }
    assert pairs == expected
    assert frozenset(("b1", "b3")) in pairs


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ('collision = "none"\nself_collision = true', "no link of the file collides; remove it"),
        ('self_collision = "all"', "self_collision"),
    ],
)
def test_a_self_collision_without_effect_is_an_error(
    tmp_path: Path, model: str, expected: str
) -> None:
    urdf(tmp_path)
    with pytest.raises(PysimError, match=re.escape(expected)):
        scene(tmp_path, model)


def test_self_collision_of_a_scene_file_is_an_error(tmp_path: Path) -> None:
    urdf(tmp_path)
    scene(tmp_path)
    (tmp_path / "t.toml").write_text(
        '[[model]]\nfile = "s.toml"\nname = "inner"\nself_collision = true\n', "utf-8"
    )
    with pytest.raises(PysimError, match="self_collision: is for files of other programs"):
        pysim.load_scene(tmp_path / "t.toml")
