"""URDF files. The oracle is Pinocchio for real robots, and what the file says for small ones."""

from __future__ import annotations

import json
import re
import shutil
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import pysim
from pysim.errors import ModelError, PysimError, PysimWarning, SceneError
from pysim.inertia import center_of_mass, central_inertia
from pysim.scene.packages import robots_folder
from pysim.scene.stop_defaults import STOP_DAMPING_RATIO, STOP_FREQUENCY
from pysim.scene.urdf.names import check_spelling
from pysim.scene.urdf.reader import read_urdf
from pysim.scene.urdf.xml import read_xml
from pysim.spatial.rotations import rotation_from_rpy
from pysim.worlds.loading import compile_model
from tests.scene_runs import SCENES

if TYPE_CHECKING:
    from collections.abc import Callable

    from pysim.scene.spec import JointSpec, ModelSpec

    Write = Callable[..., Path]

MALFORMED = Path(__file__).parents[2] / "data" / "malformed"
INERTIA = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
BODY = f'<inertial><mass value="2"/>{INERTIA}</inertial>'
TWO_LINKS = f'<link name="base"/><link name="arm">{BODY}</link>'
HINGE = '<joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/>{}</joint>'


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a robot's text to a file."""

    def write(text: str, name: str = "r.urdf") -> Path:
        path = tmp_path / name
        path.write_text(f'<robot name="r">\n{text}\n</robot>', "utf-8")
        return path

    return write


def hinge(write: Write, content: str = "", kind: str = "revolute") -> JointSpec:
    text = HINGE.format(content).replace("revolute", kind)
    return next(j for j in read_urdf(write(TWO_LINKS + text)).joints if j.name == "hinge")


def refusal(path: Path) -> str:
    with pytest.raises(PysimError) as caught:
        compile_model(read_urdf(path))
    return str(caught.value).removeprefix(f"{path.parent}/")


REFUSALS = {
    "bad_type": "1:196: joint 'j': unknown joint type 'hinge'; did you mean 'revolute'?",
    "dup_joint": "1:485: joint 'j' is defined twice, first at {folder}/dup_joint.urdf:1:335; rename one",
    "hex": "1:103: link 'a': 'value' of <mass> must be a number, got '0x10'; write it as 0.5 or 5e-1",
    "inf_mass": "1:103: link 'a': 'value' of <mass> must be finite, got '1e400'; reduce it",
    "mesh_escape": "1:93: link 'a': mesh 'file:///etc/../../../../etc/shadow': '/etc/shadow' is outside "
    "the folders from which this file may name files; move it below the file that names it, or list its folder "
    "in --package-dir, in Python package_dirs",
    "nan_mass": "1:103: link 'a': 'value' of <mass> must be a number, got 'nan'; write it as 0.5 or 5e-1",
    "neg_mass": "1:103: link 'a': 'value' of <mass> must not be negative [kg], got -1.0; remove the sign",
    "quad_blowup": "1:13: <!DOCTYPE r> is rejected: it can define entities; remove it",
    "self": "1:196: joint 'j' joins body 'a' to itself; name another parent",
    "two_roots": "1:196: body 'b' is not connected to the world; give it a joint whose child is 'b', "
    "or remove it",
    "xyz2": "1:82: link 'a': 'xyz' of <origin> must be 3 numbers, got '0 0'; write them as '0.5 0 1e-3'",
    "zero_mass_leaf": "1:196: joint 'j' moves only massless bodies, 'a' and what it carries; a massless "
    "leaf makes M singular; give 'a' a mass, the joint an armature, or make the joint fixed",
}


@pytest.mark.parametrize("stem", REFUSALS)
def test_a_malformed_file_is_rejected_with_its_place_and_reason(stem: str) -> None:
    reason = REFUSALS[stem].format(folder=MALFORMED)
    assert refusal(MALFORMED / f"{stem}.urdf") == f"{stem}.urdf:{reason}"


def test_a_number_with_infinite_powers_is_rejected(write: Write) -> None:
    path = write(TWO_LINKS + HINGE.format('<axis xyz="0 1e200 0"/>'))
    problem = "joint 'hinge': 'xyz' of <axis> is beyond 1e+30, got 1e+200; take another unit"
    assert refusal(path).endswith(problem)


def test_a_huge_bound_of_a_joint_is_accepted(write: Write) -> None:
    huge = '<limit lower="-1.7e308" upper="1.7e308" effort="1.7e308" velocity="1.7e308"/>'
    assert hinge(write, huge).effort_limit == 1.7e308


def test_an_impossible_inertia_is_accepted_with_a_warning() -> None:
    path = MALFORMED / "tri_ineq.urdf"
    with pytest.warns(PysimWarning) as caught:
        model = compile_model(read_urdf(path))
    assert [str(w.message) for w in caught] == [
        (
            f"{path}:1:72: link 'a': the inertia is not physically consistent: Ixx + Iyy < Izz by 60 %, against the "
            "triangle inequality of the principal moments 1, 1, 5 [kg·m²]; the nearest valid one is "
            '<inertia ixx="2.5" ixy="0" ixz="0" iyy="2.5" iyz="0" izz="5"/>; paste it, or load with inertia = "nearest"'
        )
    ]
    assert model.total_mass == 1


def test_every_malformed_file_has_its_verdict_held() -> None:
    verdicts = json.loads((MALFORMED / "expect.json").read_text("utf-8"))
    robots = {Path(name).stem: v["expect"] for name, v in verdicts.items() if name.endswith("urdf")}
    assert robots == {**dict.fromkeys(REFUSALS, "reject"), "tri_ineq": "warn"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<link/>", "r.urdf:2:1: <link> needs the attribute 'name'; add it"),
        ("", "r.urdf:1:1: <robot> needs a <link>; add one"),
        (
            TWO_LINKS + HINGE.replace('link="arm"', 'link="amr"').format(""),
            "r.urdf:2:{}: joint 'hinge' has an unknown child 'amr'; did you mean 'arm'?",
        ),
        (
            TWO_LINKS + HINGE.replace('<parent link="base"/>', "").format(""),
            "r.urdf:2:{}: joint 'hinge': <joint> needs a <parent>; add it",
        ),
        (
            TWO_LINKS + HINGE.replace("revolute", "revolut").format(""),
            "r.urdf:2:{}: joint 'hinge': unknown joint type 'revolut'; did you mean 'revolute'?",
        ),
        (
            TWO_LINKS + HINGE.format('\n<axis xyz="0 0 0"/>'),
            "r.urdf:3:1: joint 'hinge': the axis has no direction, got '0 0 0'; give one, as '0 0 1'",
        ),
        (
            TWO_LINKS + HINGE.format('\n<limit lower="1" upper="-1"/>'),
            "r.urdf:3:1: joint 'hinge': lower limit 1.0 exceeds upper limit -1.0 [rad]; swap them",
        ),
        (
            TWO_LINKS + HINGE.format('\n<dynamics damping="1_0"/>'),
            "r.urdf:3:1: joint 'hinge': 'damping' of <dynamics> must be a number, got '1_0'; write it as 0.5 or 5e-1",
        ),
        (
            TWO_LINKS + HINGE.format('\n<mimic joint="hing"/>'),
            "r.urdf:2:{}: joint 'hinge' follows an unknown joint 'hing'; did you mean 'hinge'?",
        ),
        (
            TWO_LINKS + HINGE.format('\n<mimic joint="hinge"/>'),
            "r.urdf:2:{}: joint 'hinge': joints follow each other in a cycle: hinge → hinge; remove one mimic",
        ),
        (
            TWO_LINKS + HINGE.replace("revolute", "floating").format('\n<mimic joint="hinge"/>'),
            (
                "r.urdf:3:1: joint 'hinge': a free joint cannot follow another; only joints of one coordinate can; "
                "remove its <mimic>"
            ),
        ),
        (
            TWO_LINKS + HINGE.format('\n<parent link="arm"/>'),
            "r.urdf:3:1: joint 'hinge': second <parent> in <joint>; keep one",
        ),
        (
            '<link name="a">\n<visual><geometry><bax/></geometry></visual></link>',
            "r.urdf:3:19: link 'a': unknown shape <bax>; did you mean 'box'?",
        ),
        (
            "<link name='a'>\n</lnk>",
            "r.urdf:3:3: not well-formed XML: mismatched tag; correct the file here",
        ),
        (
            "<link name='a'>&bomb;</link>",
            "r.urdf:2:16: not well-formed XML: undefined entity; correct the file here",
        ),
    ],
)
def test_invalid_elements_are_reported_with_their_place(
    write: Write, text: str, problem: str
) -> None:
    column = len(TWO_LINKS) + 1
    assert refusal(write(text)) == problem.format(column)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "<car/>",
            (
                "r.urdf:1:1: the root element of a URDF file is <robot>, got <car>; save another format with its own "
                "suffix"
            ),
        ),
        (
            '<?xml version="1.0" encoding="klingon"?><robot name="r"/>',
            "r.urdf: cannot be decoded: unknown encoding: klingon; save it as UTF-8",
        ),
    ],
)
def test_a_file_of_another_format_or_encoding_is_rejected(
    tmp_path: Path, text: str, problem: str
) -> None:
    (tmp_path / "r.urdf").write_text(text, "utf-8")
    assert refusal(tmp_path / "r.urdf") == problem


def test_a_mesh_without_a_size_is_left_out(tmp_path: Path) -> None:
    shutil.copy(SCENES / "meshes/box.obj", tmp_path)
    mesh = '<mesh filename="box.obj" scale="1 0 1"/>'
    (tmp_path / "r.urdf").write_text(
        f'<robot name="r"><link name="a">{BODY}<visual><geometry>{mesh}</geometry></visual></link></robot>',
        "utf-8",
    )
    with pytest.warns(PysimWarning) as caught:
        spec = read_urdf(tmp_path / "r.urdf")
    assert spec.bodies[0].geometries == ()
    assert str(caught[0].message).endswith(
        "link 'a': visual mesh 'box.obj' is left out: 'scale' of <mesh> must not be zero, got '1 0 1'; give 1 for the "
        "file's own size"
    )


ARM = f"""<robot name="r">
<material name="red"><color rgba="1 0 0 1"/></material>
<link name="base"/>
<link name="arm">
<inertial><origin xyz="0 0 1"/>
<mass value="2"/>
{INERTIA}</inertial>
<visual><origin rpy="0 0 1"/><geometry>
<box size="1 1 1"/></geometry>
<material name="red"/></visual>
<collision><geometry>
<cylinder radius="1" length="2"/></geometry></collision></link>
<link name="tip">{BODY}</link>
<joint name="j" type="revolute"><parent link="base"/>
<child link="arm"/><origin xyz="0 0 1"/>
<axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="2"/>
<dynamics damping="1" friction="2"/></joint>
<joint name="k" type="continuous"><parent link="arm"/><child link="tip"/>
<mimic joint="j" multiplier="2" offset="1"/></joint>
</robot>
"""


@pytest.mark.parametrize(
    ("written", "misspelt", "reported"),
    [
        (' name="r"', ' nme="r"', "1:1: unknown attribute 'nme' of <robot>; did you mean 'name'?"),
        (
            "color",
            "colour",
            "2:22: material 'red': unknown element <colour> in <material>; did you mean 'color'?",
        ),
        (
            "rgba",
            "rbga",
            "2:22: material 'red': unknown attribute 'rbga' of <color>; did you mean 'rgba'?",
        ),
        (
            '<link name="base"/>',
            '<lnk name="base"/>',
            "3:1: lnk 'base': unknown element <lnk> in <robot>; did you mean 'link'?",
        ),
        (
            '<link name="base"/>',
            '<Link name="base"/>',
            "3:1: Link 'base': unknown element <Link> in <robot>; did you mean 'link'?",
        ),
        (
            'name="base"',
            'nmae="base"',
            "3:1: unknown attribute 'nmae' of <link>; did you mean 'name'?",
        ),
        (
            "inertial",
            "inertal",
            "5:1: link 'arm': unknown element <inertal> in <link>; did you mean 'inertial'?",
        ),
        (
            "origin xyz",
            "orign xyz",
            "5:11: link 'arm': unknown element <orign> in <inertial>; did you mean 'origin'?",
        ),
        (
            'xyz="0 0 1"/>\n<mass',
            'xzy="0 0 1"/>\n<mass',
            "5:11: link 'arm': unknown attribute 'xzy' of <origin>; did you mean 'xyz'?",
        ),
        (
            "mass",
            "mas",
            "6:1: link 'arm': unknown element <mas> in <inertial>; did you mean 'mass'?",
        ),
        (
            "value",
            "valeu",
            "6:1: link 'arm': unknown attribute 'valeu' of <mass>; did you mean 'value'?",
        ),
        (
            "inertia ",
            "interia ",
            "7:1: link 'arm': unknown element <interia> in <inertial>; did you mean 'inertia'?",
        ),
        (
            "ixx",
            "ixxx",
            "7:1: link 'arm': unknown attribute 'ixxx' of <inertia>; did you mean 'ixx'?",
        ),
        (
            "visual",
            "visaul",
            "8:1: link 'arm': unknown element <visaul> in <link>; did you mean 'visual'?",
        ),
        (
            'rpy="0 0 1"/>',
            'rpz="0 0 1"/>',
            "8:9: link 'arm': unknown attribute 'rpz' of <origin>; did you mean 'rpy'?",
        ),
        ("rpy", "ryp", "8:9: link 'arm': unknown attribute 'ryp' of <origin>; did you mean 'rpy'?"),
        (
            "geometry",
            "geomerty",
            "8:30: link 'arm': unknown element <geomerty> in <visual>; did you mean 'geometry'?",
        ),
        (
            "box",
            "boxx",
            "9:1: link 'arm': unknown shape <boxx>; did you mean 'box'?",
        ),
        (
            "size",
            "sise",
            "9:1: link 'arm': unknown attribute 'sise' of <box>; did you mean 'size'?",
        ),
        (
            'material name="red"/>',
            'matrial name="red"/>',
            "10:1: link 'arm': unknown element <matrial> in <visual>; did you mean 'material'?",
        ),
        (
            "collision",
            "colission",
            "11:1: link 'arm': unknown element <colission> in <link>; did you mean 'collision'?",
        ),
        (
            "radius",
            "raduis",
            "12:1: link 'arm': unknown attribute 'raduis' of <cylinder>; did you mean 'radius'?",
        ),
        (
            "length",
            "lenght",
            "12:1: link 'arm': unknown attribute 'lenght' of <cylinder>; did you mean 'length'?",
        ),
        (
            'joint name="j"',
            'joint nam="j"',
            "14:1: unknown attribute 'nam' of <joint>; did you mean 'name'?",
        ),
        (
            " type",
            " tpye",
            "14:1: joint 'j': unknown attribute 'tpye' of <joint>; did you mean 'type'?",
        ),
        (
            "parent ",
            "Parent ",
            "14:33: joint 'j': unknown element <Parent> in <joint>; did you mean 'parent'?",
        ),
        (
            "parent link",
            "parent lnik",
            "14:33: joint 'j': unknown attribute 'lnik' of <parent>; did you mean 'link'?",
        ),
        (
            "child ",
            "chlid ",
            "15:1: joint 'j': unknown element <chlid> in <joint>; did you mean 'child'?",
        ),
        ("axis", "axs", "16:1: joint 'j': unknown element <axs> in <joint>; did you mean 'axis'?"),
        (
            "axis xyz",
            "axis xyw",
            "16:1: joint 'j': unknown attribute 'xyw' of <axis>; did you mean 'xyz'?",
        ),
        (
            "limit",
            "limits",
            "17:1: joint 'j': unknown element <limits> in <joint>; did you mean 'limit'?",
        ),
        (
            "lower",
            "lowr",
            "17:1: joint 'j': unknown attribute 'lowr' of <limit>; did you mean 'lower'?",
        ),
        (
            "effort",
            "efort",
            "17:1: joint 'j': unknown attribute 'efort' of <limit>; did you mean 'effort'?",
        ),
        (
            "velocity",
            "Velocity",
            "17:1: joint 'j': unknown attribute 'Velocity' of <limit>; did you mean 'velocity'?",
        ),
        (
            "dynamics",
            "dynamic",
            "18:1: joint 'j': unknown element <dynamic> in <joint>; did you mean 'dynamics'?",
        ),
        (
            "damping",
            "dampin",
            "18:1: joint 'j': unknown attribute 'dampin' of <dynamics>; did you mean 'damping'?",
        ),
        (
            "friction",
            "frction",
            "18:1: joint 'j': unknown attribute 'frction' of <dynamics>; did you mean 'friction'?",
        ),
        (
            "mimic",
            "mimc",
            "20:1: joint 'k': unknown element <mimc> in <joint>; did you mean 'mimic'?",
        ),
        (
            "multiplier",
            "multipler",
            "20:1: joint 'k': unknown attribute 'multipler' of <mimic>; did you mean 'multiplier'?",
        ),
        (
            "offset",
            "ofset",
            "20:1: joint 'k': unknown attribute 'ofset' of <mimic>; did you mean 'offset'?",
        ),
    ],
)
def test_a_name_of_urdf_that_is_misspelt_is_rejected(
    tmp_path: Path, written: str, misspelt: str, reported: str
) -> None:
    path = tmp_path / "r.urdf"
    path.write_text(ARM, "utf-8")
    read_urdf(path)
    path.write_text(ARM.replace(written, misspelt), "utf-8")
    assert refusal(path) == f"r.urdf:{reported}"


FOREIGN = [
    (
        "<link name",
        '<transmission name="t"><type>x</type><joint nam="j"/></transmission><link name',
    ),
    ("<link name", '<gazebo reference="arm"><lnk/></gazebo><ros2_control/><link name'),
    ("<link name", "<sensor/><loop_joint/><plugin/><frame/><x:link/><link name"),
    ("<robot ", '<robot version="1" xmlns:xacro="http://www.ros.org/wiki/xacro" '),
    ("<link ", '<link type="rigid" id="3" '),
    ("<collision>", '<collision name="c"><verbose value="1"/><material/><collision_checking/>'),
    ("<visual>", '<self_filter/><contact/><kinematic/><visual name="v">'),
    ('<material name="red"/>', '<material name="red" id="1"><texture filename="x"/></material>'),
    ("<axis ", '<safety_controller k_velocity="1"/><calibration rising="0"/><property/><axis '),
    ("<limit ", '<limit command_effort="1" gear_velocity="2" max_velocity="3" jerk="1" '),
    ("<dynamics ", '<dynamics D="1" K="0" mu_coulomb="1" mu_viscous="1" frictionloss="1" '),
    (' damping="1"', ' mu_viscous="1" coulomb_damping="1"'),
    ("<joint ", '<joint dont_collapse="true" drake:pose="0" '),
    ("<axis ", "<limits/><axs/><axis "),  # both are there: nothing is lost
]


@pytest.mark.parametrize(("text", "with_more"), FOREIGN)
def test_elements_for_other_programs_are_left_out(
    tmp_path: Path, text: str, with_more: str
) -> None:
    path = tmp_path / "r.urdf"
    path.write_text(ARM, "utf-8")
    plain = read_urdf(path)
    path.write_text(ARM.replace(text, with_more), "utf-8")
    more = read_urdf(path)
    assert [body.name for body in more.bodies] == [body.name for body in plain.bodies]
    assert joints_of(more) == joints_of(plain)


def test_no_real_robot_is_rejected_for_its_spelling() -> None:
    folder = robots_folder()
    if folder is None:
        pytest.skip("needs example-robot-data")
    for path in sorted((folder / "robots").rglob("*.urdf")):
        check_spelling(read_xml(path))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none.urdf"
    with pytest.raises(SceneError, match=r"none\.urdf: cannot be read: no such file"):
        read_urdf(path)


def test_inertia_is_turned_by_its_origin(write: Write) -> None:
    inertial = (
        '<inertial><origin xyz="1 2 3" rpy="0.1 -0.2 0.3"/><mass value="2"/>'
        '<inertia ixx="3" iyy="4" izz="5" ixy="0.1" ixz="0.2" iyz="0.3"/></inertial>'
    )
    body = read_urdf(write(f'<link name="a">{inertial}</link>')).bodies[0]
    R = rotation_from_rpy([0.1, -0.2, 0.3])
    given = np.array([[3, 0.1, 0.2], [0.1, 4, 0.3], [0.2, 0.3, 5]])
    np.testing.assert_allclose(center_of_mass(body.theta), [1, 2, 3], rtol=1e-15)
    np.testing.assert_allclose(central_inertia(body.theta), R @ given @ R.T, atol=1e-13)


def test_roll_pitch_and_yaw_turn_about_fixed_axes(rng: np.random.Generator) -> None:
    rotation = pytest.importorskip("scipy.spatial.transform").Rotation
    for angles in rng.uniform(-4, 4, (20, 3)):
        expected = rotation.from_euler("xyz", angles).as_matrix()
        np.testing.assert_allclose(rotation_from_rpy(angles), expected, atol=1e-15)


def test_shapes_and_colours_are_read(write: Write) -> None:
    text = """<material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>
      <link name="a">
        <visual><origin xyz="0 0 1"/><geometry><box size="1 2 3"/></geometry><material name="grey"/></visual>
        <visual><geometry><cylinder radius="1" length="2"/></geometry>
          <material name="red"><color rgba="1 0 0 1"/></material></visual>
        <visual><geometry><sphere radius="1"/></geometry><material name="red"/></visual>
        <collision><geometry><capsule radius="1" length="2"/></geometry></collision>
        <collision><geometry><mesh filename="a.stl" scale="1 -1 1"/></geometry></collision>
      </link>"""
    path = write(text)
    mesh = path.with_name("a.stl")
    mesh.touch()
    found = read_urdf(path).bodies[0].geometries
    assert [(g.shape.kind, g.shape.size, g.color, g.role) for g in found] == [
        ("box", (1, 2, 3), (0.5, 0.5, 0.5, 1), "visual"),
        ("cylinder", (1, 2), (1, 0, 0, 1), "visual"),
        ("sphere", (1,), (1, 0, 0, 1), "visual"),
        ("capsule", (1, 2), None, "collision"),
        ("mesh", (), None, "collision"),
    ]
    assert found[0].pose[2, 3] == 1
    assert (found[4].shape.mesh, found[4].shape.scale) == (mesh, (1, -1, 1))


def test_the_axis_is_x_unless_given_and_of_unit_length(write: Write) -> None:
    assert hinge(write).axis == (1, 0, 0)
    assert hinge(write, '<axis xyz="0 0.6 0.8"/>').axis == (0, 0.6, 0.8)
    assert hinge(write, '<axis xyz="0.577 0.577 0.577"/>').axis == pytest.approx((3**-0.5,) * 3)


@pytest.mark.parametrize(("axis", "length"), [("0 3 4", "5"), ("0 0 1e-3", "0.001")])
def test_an_axis_that_is_far_from_a_unit_vector_is_warned_of(
    write: Write, axis: str, length: str
) -> None:
    expected = (
        f"<axis> '{axis}' has length {length} and is used as a direction; divide it by {length}"
    )
    with pytest.warns(PysimWarning, match=f"joint 'hinge': {re.escape(expected)}$"):
        assert hinge(write, f'<axis xyz="{axis}"/>').axis[0] == 0


def test_a_name_of_megabytes_is_rejected_briefly(write: Write) -> None:
    problem = refusal(write(f'<link name="{"n" * 5_000_000}"/>'))
    assert (
        problem == "r.urdf:2:1: 'name' of <link> has 5000000 characters; shorten it to 4096 or less"
    )


def test_every_refusal_names_a_remedy() -> None:
    assert [reason for reason in REFUSALS.values() if "; " not in reason] == []


@pytest.mark.parametrize(
    "limit", ["", '<limit effort="1" velocity="2"/>', '<limit lower="0" upper="0"/>']
)
def test_a_revolute_joint_without_a_range_turns_freely(write: Write, limit: str) -> None:
    joint = hinge(write, limit)
    assert (joint.lower[0], joint.upper[0], joint.stop_stiffness[0]) == (-np.inf, np.inf, 0)


def test_a_continuous_joint_ignores_a_range(write: Write) -> None:
    joint = hinge(write, '<limit lower="-1" upper="1"/>', "continuous")
    assert (joint.type, joint.lower[0]) == ("revolute", -np.inf)


def test_limits_get_stops_scaled_to_what_the_joint_carries(write: Write) -> None:
    joint = hinge(write, '<limit lower="-1" upper="2" effort="3" velocity="4"/>')
    assert (joint.lower[0], joint.upper[0]) == (-1, 2)
    assert (joint.effort_limit, joint.velocity_limit) == (3, 4)
    inertia = 1.0  # the arm's [kg·m²]
    assert joint.stop_stiffness[0] == STOP_FREQUENCY**2 * inertia
    assert joint.stop_damping[0] == 2 * STOP_DAMPING_RATIO * STOP_FREQUENCY * inertia
    slide = hinge(write, '<limit lower="-1" upper="2"/>', "prismatic")
    assert slide.stop_stiffness[0] == STOP_FREQUENCY**2 * 2


def test_damping_and_friction_are_read(write: Write) -> None:
    joint = hinge(write, '<dynamics damping="0.5" friction="0.25"/>')
    assert (joint.damping[0], joint.friction[0]) == (0.5, 0.25)


@pytest.mark.parametrize(
    ("kind", "type_name", "nq"),
    [("floating", "free", 7), ("spherical", "ball", 4), ("prismatic", "prismatic", 1)],
)
def test_joint_types_have_their_own_names(write: Write, kind: str, type_name: str, nq: int) -> None:
    joint = hinge(write, kind=kind)
    assert (joint.type, len(joint.start_q)) == (type_name, nq)


def test_a_planar_joint_is_read_if_its_normal_is_z(write: Write) -> None:
    assert hinge(write, '<axis xyz="0 0 1"/>', "planar").type == "planar"
    with pytest.raises(SceneError, match="the normal of a planar joint must be 0 0 1"):
        hinge(write, '<axis xyz="0 1 0"/>', "planar")


def chain(write: Write, *contents: str) -> Path:
    links = "".join(f'<link name="l{k}">{BODY}</link>' for k in range(len(contents) + 1))
    joints = "".join(
        f'<joint name="j{k}" type="revolute"><parent link="l{k}"/><child link="l{k + 1}"/>{c}</joint>'
        for k, c in enumerate(contents)
    )
    return write(links + joints)


def test_a_joint_that_follows_a_follower_follows_the_leader(write: Write) -> None:
    path = chain(
        write,
        "",
        '<mimic joint="j0" multiplier="2" offset="3"/>',
        '<mimic joint="j1" multiplier="5" offset="7"/>',
    )
    mimic = read_urdf(path).joints[-1].mimic
    assert mimic is not None
    assert (mimic.joint, mimic.ratio, mimic.offset) == ("j0", 10, 22)
    assert compile_model(read_urdf(path)).nv == 1
    plain = read_urdf(path, mimic=False)
    assert [joint.mimic for joint in plain.joints] == [None] * 4
    assert compile_model(plain).nv == 3


def joints_of(spec: ModelSpec) -> list[tuple[str, str, str, str]]:
    return [(j.name, j.type, j.parent, j.child) for j in spec.joints]


def test_the_root_link_is_welded_to_the_world_or_floats(write: Write) -> None:
    path = write(TWO_LINKS + HINGE.format(""))
    rest = ("hinge", "revolute", "base", "arm")
    fixed, free = read_urdf(path), read_urdf(path, free_base=True)
    assert joints_of(fixed) == [("root_fixed", "fixed", "world", "base"), rest]
    assert joints_of(free) == [("root_joint", "free", "world", "base"), rest]
    assert compile_model(fixed).nv == 1
    massless = "joint '(root_joint|hinge)' moves no inertia.* the mass matrix is singular"
    with pytest.raises(ModelError, match=massless):  # the empty base can spin about the hinge alone
        compile_model(free)


def test_an_empty_root_link_called_world_is_the_world(write: Write) -> None:
    path = write((TWO_LINKS + HINGE.format("")).replace("base", "world"))
    assert joints_of(read_urdf(path)) == [("hinge", "revolute", "world", "arm")]
    assert joints_of(read_urdf(path, free_base=True)) == [
        ("root_joint", "free", "world", "world_link"),
        ("hinge", "revolute", "world_link", "arm"),
    ]


def test_a_chain_of_thousands_is_read_in_order(write: Write) -> None:
    spec = read_urdf(chain(write, *["<origin/>"] * 3000))
    assert len(spec.bodies) == 3001


ROBOTS = {
    "panda": "panda_description/urdf/panda.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "anymal": "anymal_b_simple_description/robots/anymal.urdf",
    "talos": "talos_data/robots/talos_reduced.urdf",
    "tiago": "tiago_description/robots/tiago.urdf",
    "icub": "icub_description/robots/icub.urdf",
}


def robot(name: str) -> Path:
    folder = robots_folder()
    if folder is None:
        pytest.skip("needs example-robot-data")
    return folder / "robots" / ROBOTS[name]


def read_robot(name: str, *, free_base: bool = False, mimic: bool = True) -> ModelSpec:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", PysimWarning
        )  # some inertias violate the triangle inequality
        return read_urdf(robot(name), free_base=free_base, mimic=mimic)


@pytest.mark.parametrize("free_base", [False, True])
@pytest.mark.parametrize("name", ROBOTS)
def test_real_robots_agree_with_pinocchio(
    name: str, free_base: bool, rng: np.random.Generator
) -> None:
    pin = pytest.importorskip("pinocchio")
    model = compile_model(read_robot(name, free_base=free_base, mimic=False))
    path = str(robot(name))
    peer = (
        pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer())
        if free_base
        else pin.buildModelFromUrdf(path)
    )
    assert set(model.joint_names) == set(peer.names[1:])
    assert model.nv == peer.nv
    assert model.total_mass == pytest.approx(sum(I.mass for I in peer.inertias[1:]), rel=1e-12)
    q, v, a = model.random_configuration(rng), *rng.standard_normal((2, model.nv))
    other_q, order = np.zeros(peer.nq), np.zeros(model.nv, int)
    for joint, at_q, nq, at_v, nv in zip(
        model.joints, model.q_offsets, model.joint_nq, model.v_offsets, model.joint_nv, strict=True
    ):
        theirs = peer.joints[peer.getJointId(joint.name)]
        angle_on_circle = theirs.nq == 2 and nq == 1
        own = [np.cos(q[at_q]), np.sin(q[at_q])] if angle_on_circle else q[at_q : at_q + nq]
        other_q[theirs.idx_q : theirs.idx_q + theirs.nq] = own
        order[theirs.idx_v : theirs.idx_v + nv] = range(at_v, at_v + nv)
    data = peer.createData()
    expected = pin.rnea(peer, data, other_q, v[order], a[order])
    scale = abs(expected).max()
    np.testing.assert_allclose(pysim.rnea(model, q, v, a)[order], expected, atol=1e-12 * scale)
    pin.framesForwardKinematics(peer, data, other_q)
    for frame, pose in zip(peer.frames, data.oMf, strict=True):
        if frame.type == pin.FrameType.BODY and frame.name in model.frames:
            found = pysim.frame_placement(model, q, frame.name)
            np.testing.assert_allclose(found, pose.homogeneous, atol=1e-12)


def test_a_leader_may_carry_a_massless_finger_if_a_follower_has_mass(write: Write) -> None:
    links = f'<link name="a"/><link name="b"/><link name="c">{BODY}</link>'
    joint = '<joint name="{0}" type="revolute"><parent link="a"/><child link="{0}"/>{1}</joint>'
    path = write(links + joint.format("b", "") + joint.format("c", '<mimic joint="b"/>'))
    assert compile_model(read_urdf(path)).nv == 1


def test_a_cycle_is_named(write: Write) -> None:
    joint = '<joint name="{}" type="fixed"><parent link="{}"/><child link="{}"/></joint>'
    links = '<link name="a"/><link name="b"/>'
    path = write(links + joint.format("p", "a", "b") + joint.format("q", "b", "a"))
    with pytest.raises(ModelError, match="the joints make a cycle, 'a' → 'b' → 'a'; "):
        read_urdf(path)
