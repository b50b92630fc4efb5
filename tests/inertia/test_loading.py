"""Physically inconsistent inertias in robots and scenes: warnings, errors and replacement.

The oracle is what the texts promise: the line they print, pasted into the file, is accepted.
"""

from __future__ import annotations

import logging
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim import inertia
from pysim.errors import ModelError, PysimWarning, SceneError
from pysim.scene.packages import robots_folder

TRIANGLE = Path(__file__).parents[1] / "data" / "malformed" / "tri_ineq.urdf"
ROBOT = """<robot name="r"><link name="arm"><inertial><origin xyz="0 0 0.1" rpy="0.3 0 0"/><mass value="2"/>
  {}</inertial></link><link name="tip">{}</link>
<joint name="hinge" type="revolute"><axis xyz="1 0 0"/><parent link="base"/><child link="arm"/></joint>
<joint name="weld" type="fixed"><parent link="arm"/><child link="tip"/></joint><link name="base"/></robot>"""
NEGATIVE = '<inertia ixx="1" iyy="0.5" izz="-0.2" ixy="0" ixz="0" iyz="0"/>'
TRIANGULAR = '<inertia ixx="1" iyy="0.2" izz="0.3" ixy="0" ixz="0" iyz="0"/>'
NEAREST = re.compile(r"the nearest valid one is (.+?); paste it")
SCENE = """{}
[[body]]
name = "rod"
mass = 2.0
com = [0, 0, 0.1]
inertia = {{ xx = 1, yy = 0.2, zz = 0.3, xy = 0.05 }}
[[joint]]
name = "hinge"
type = "revolute"
child = "rod"
"""


@pytest.fixture
def robot(tmp_path: Path):
    def write(arm: str, tip: str = "") -> Path:
        path = tmp_path / "r.urdf"
        path.write_text(ROBOT.format(arm, tip), "utf-8")
        return path

    return write


def test_a_link_that_breaks_the_triangle_is_reported_with_the_nearest_values(robot) -> None:
    path = robot(TRIANGULAR)
    with pytest.warns(PysimWarning) as caught:
        pysim.load_model(path)
    text = str(caught[0].message)
    assert text == (
        f"{path}:1:34: link 'arm': the inertia is not physically consistent: Iyy + Izz < Ixx by 50 %, against the "
        "triangle inequality "
        'of the principal moments 0.2, 0.3, 1 [kg·m²]; the nearest valid one is <inertia ixx="1" ixy="0" ixz="0" '
        'iyy="0.45" iyz="0" izz="0.55"/>; paste it, or load with inertia = "nearest"'
    )
    pasted = NEAREST.search(text)
    assert pasted is not None
    model = pysim.load_model(robot(pasted[1]))  # no warning: warnings are errors here
    assert inertia.is_physical(model.parameters).all()


def test_a_negative_kinetic_energy_is_rejected_and_the_nearest_values_are_accepted(
    robot,
) -> None:
    path = robot(NEGATIVE)
    with pytest.warns(PysimWarning), pytest.raises(ModelError) as caught:
        pysim.load_model(path)
    text = str(caught.value)
    assert text.startswith(
        f"{path}:1:17: body 'arm' (with the bodies welded to it, such as 'arm') can have a negative kinetic energy: "
        'the principal moment -0.2 [kg·m²] is negative; the nearest valid one is <inertial><origin xyz="0 0 0.1"'
    )
    pasted = NEAREST.search(text)
    assert pasted is not None
    whole = path.read_text("utf-8")
    start, end = whole.index("<inertial>"), whole.index("</inertial>") + len("</inertial>")
    path.write_text(whole[:start] + pasted[1] + whole[end:], "utf-8")
    model = pysim.load_model(path)
    assert inertia.is_physical(model.parameters).all()


def test_an_impossible_link_welded_to_a_heavy_one_is_reported_only(robot) -> None:
    heavy = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    path = robot(heavy, f'<inertial><mass value="1e-3"/>{NEGATIVE}</inertial>')
    with pytest.warns(PysimWarning, match="link 'tip': the inertia is not physically consistent"):
        assert pysim.load_model(path).nv == 1


def test_nearest_takes_the_closest_body_and_logs_it(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "pysim"):
        model = pysim.load_model(TRIANGLE, inertia="nearest")
    expected = inertia.nearest_physical(inertia.theta_from_com(1, [0, 0, 0], np.diag([1, 1, 5])))
    np.testing.assert_allclose(model.parameters[0], expected, rtol=1e-12)
    assert [record.getMessage() for record in caplog.records] == [
        (
            f"{TRIANGLE}:1:72: link 'a': the inertia is not physically consistent: Ixx + Iyy < Izz by 60 %, "
            "against the triangle "
            "inequality of the principal moments 1, 1, 5 [kg·m²]; taken instead: "
            '<inertia ixx="2.5" ixy="0" ixz="0" iyy="2.5" iyz="0" izz="5"/>'
        )
    ]


def test_strict_rejects_inertias_that_check_reports() -> None:
    with pytest.raises(
        SceneError,
        match=r"link 'a': the inertia is not physically consistent: .*; the nearest valid one is <",
    ):
        pysim.load_model(TRIANGLE, inertia="strict")
    with pytest.raises(SceneError, match=r"^inertia 'nearset': unknown; did you mean 'nearest'\?$"):
        pysim.load_model(TRIANGLE, inertia="nearset")  # type: ignore[arg-type]


def test_an_inconsistent_scene_is_rejected_and_the_nearest_values_are_accepted(
    tmp_path: Path,
) -> None:
    path = tmp_path / "s.toml"
    path.write_text(SCENE.format(""), "utf-8")
    with pytest.raises(SceneError) as caught:
        pysim.load_scene(path)
    text = str(caught.value)
    assert text.startswith(
        f"{path}:6:11: body[0].inertia: the inertia of body 'rod' is not physically consistent: the principal moments"
    )
    pasted = NEAREST.search(text)
    assert pasted is not None
    lines = path.read_text("utf-8").splitlines()
    lines[5] = pasted[1]
    path.write_text("\n".join(lines), "utf-8")
    assert inertia.is_physical(pysim.load_scene(path).model.parameters).all()


def advised_inertia(folder: Path, mass: float, com: list[float], I_C: np.ndarray) -> np.ndarray:
    """The inertia that is advised in place of one that is refused."""
    entries = {
        f"{a}{b}": I_C["xyz".index(a), "xyz".index(b)]
        for a, b in ("xx", "xy", "xz", "yy", "yz", "zz")
    }
    reported = ", ".join(
        f"{key} = {value!r}"
        for key, value in zip(entries, map(float, entries.values()), strict=True)
    )
    path = folder / "s.toml"
    body = f'[[body]]\nname = "rod"\nmass = {mass}\ncom = {com}\ninertia = {{ {reported} }}\n'
    path.write_text(
        f'{body}[[joint]]\nname = "way"\ntype = "translation"\nchild = "rod"\n', "utf-8"
    )
    with pytest.raises(SceneError) as caught:
        pysim.load_scene(path)
    advised = NEAREST.search(str(caught.value))
    assert advised is not None
    path.write_text(
        path.read_text("utf-8").replace(f"inertia = {{ {reported} }}", advised[1]), "utf-8"
    )
    pysim.load_scene(path)
    xx, xy, xz, yy, yz, zz = (float(x) for x in re.findall(r"= (-?[0-9][0-9.e+-]*)", advised[1]))
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def test_an_advised_inertia_has_no_negative_moment_where_rounding_is_all_that_is_left(
    tmp_path: Path,
) -> None:
    crank = np.diag([1e-4, 1e-4, -1e-6])  # with its com this gave zz = -6.6e-24
    advised = advised_inertia(tmp_path, 0.04325, [0.00092, 0, 0], crank)
    np.testing.assert_array_equal(np.diag(advised), [1.005e-4, 1.005e-4, 0])


def test_advised_rods_in_any_direction_have_no_negative_moment_as_they_are_read(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(4)
    for _ in range(25):
        turned = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        moments = np.diag([*np.full(2, 10 ** rng.uniform(-6, 2)), 0.0])
        moments[2, 2] = -rng.uniform(0.01, 0.5) * moments[0, 0]
        I_C = turned @ moments @ turned.T
        com = rng.normal(size=3).round(3).tolist()
        advised = advised_inertia(tmp_path, 1.5, com, (I_C + I_C.T) / 2)
        assert np.linalg.eigvalsh(advised)[0] >= 0
        kept = moments[0, 0] - moments[2, 2] / 2
        nearest = turned @ np.diag([kept, kept, 0]) @ turned.T
        np.testing.assert_allclose(advised, nearest, rtol=0, atol=1e-6 * moments[0, 0])


@pytest.mark.parametrize("zz", [-1e-15, -6.6e-24])
def test_a_negative_moment_is_rejected_but_for_the_dust_of_a_point(
    zz: float, tmp_path: Path
) -> None:
    """Of 1 kg, −6.6e-24 kg·m² is a length of 3e-12 m: a point, whose hinge then moves no inertia; −1e-15 is none."""
    path = tmp_path / "s.toml"
    path.write_text(
        SCENE.format("").replace("xx = 1, yy = 0.2, zz = 0.3, xy = 0.05", f"xx = 0, yy = 0, zz = {zz}")
        .replace("com = [0, 0, 0.1]", "").replace("mass = 2.0", "mass = 1.0"), "utf-8"
    )  # fmt: skip
    reported = "moment -1e-15 .* is negative" if zz == -1e-15 else "'hinge' moves no inertia"
    with pytest.raises(pysim.PysimError, match=reported):
        pysim.load_scene(path)


@pytest.mark.parametrize("how", ["key", "keyword", "override"])
def test_a_scene_takes_the_nearest_where_it_is_reported_to(
    how: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "s.toml"
    path.write_text(SCENE.format('inertia = "nearest"' if how == "key" else ""), "utf-8")
    with caplog.at_level(logging.INFO, "pysim"):
        if how == "keyword":
            model = pysim.load_model(path, inertia="nearest")
        else:
            overrides = {"inertia": "nearest"} if how == "override" else {}
            model = pysim.load_scene(path, overrides).model
    assert inertia.is_physical(model.parameters).all()
    assert [record.getMessage().split(": ")[1] for record in caplog.records] == ["body[0].inertia"]


def test_a_model_table_selects_the_nearest_inertia(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "r.urdf").write_bytes(TRIANGLE.read_bytes())
    path = tmp_path / "s.toml"
    path.write_text('[[model]]\nfile = "r.urdf"\ninertia = "nearest"\n', "utf-8")
    with caplog.at_level(logging.INFO, "pysim"):
        model = pysim.load_scene(path).model
    assert inertia.is_physical(model.parameters).all()
    assert len(caplog.records) == 1


RANK_ONE = {  # links with one principal moment, none, or a little below zero
    "anymal": "anymal_b_simple_description/robots/anymal.urdf",
    "talos": "talos_data/robots/talos_reduced.urdf",
    "icub": "icub_description/robots/icub.urdf",
    "tiago": "tiago_description/robots/tiago.urdf",
    "bolt": "bolt_description/robots/bolt.urdf",
}


@pytest.mark.parametrize("name", RANK_ONE)
def test_real_robots_with_degenerate_links_have_a_positive_mass_matrix(
    name: str, rng: np.random.Generator
) -> None:
    folder = robots_folder()
    if folder is None:
        pytest.skip("needs example-robot-data")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        model = pysim.load_model(folder / "robots" / RANK_ONE[name], free_base=True)
    M = pysim.crba(model, np.array([model.random_configuration(rng) for _ in range(5)]))
    size = np.sqrt(np.einsum("kii->ki", M))
    assert np.linalg.eigvalsh(M / (size[:, :, None] * size[:, None, :])).min() > 1e-9


def test_points_with_dust_for_inertia_are_not_reported() -> None:
    """iCub's links are points whose inertia, moved to the centre of mass, is ±1e-20 kg·m²."""
    folder = robots_folder()
    if folder is None:
        pytest.skip("needs example-robot-data")
    pysim.load_model(folder / "robots" / RANK_ONE["icub"])


LINE = '<inertia ixx="0" iyy="0" izz="3e-6" ixy="0" ixz="0" iyz="0"/>'  # ANYmal's base, a moment about z alone
LINKS = """<robot name="r"><link name="base"/><link name="line"><inertial><mass value="1e-6"/>{}</inertial></link>
<joint name="hinge" type="continuous"><axis xyz="{}"/><parent link="base"/><child link="line"/></joint>{}</robot>"""
CARRIED = """<link name="tool"><inertial><origin xyz="0 0 0.1"/><mass value="1"/><inertia ixx="1" iyy="1" izz="1"
ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="wrist" type="{}"><axis xyz="0 0 1"/>
<parent link="line"/><child link="tool"/></joint>"""


@pytest.mark.parametrize(
    ("axis", "carried"), [("0 0 1", ""), ("1 0 0", "fixed"), ("1 0 0", "continuous")]
)
def test_a_link_of_rank_one_is_allowed_where_its_subtree_has_inertia_along_the_joint(
    axis: str, carried: str, tmp_path: Path
) -> None:
    path = tmp_path / "r.urdf"
    path.write_text(LINKS.format(LINE, axis, CARRIED.format(carried) if carried else ""), "utf-8")
    with pytest.warns(PysimWarning, match=r"link 'line': .* by 100 %"):
        model = pysim.load_model(path)
    assert np.linalg.eigvalsh(pysim.crba(model, model.neutral()))[0] > 0


def test_a_link_of_rank_one_is_named_where_nothing_resists_its_joint(tmp_path: Path) -> None:
    path = tmp_path / "r.urdf"
    other = LINKS.format(LINE, "1 0 0", "").replace(
        "base", "arm"
    )  # beside a joint that has inertia
    whole = other.replace(
        '<link name="arm"/>',
        f'<link name="base"/><link name="arm"><inertial><mass value="2"/>'
        f"{TRIANGULAR.replace('0.2', '1').replace('0.3', '1')}</inertial></link>"
        '<joint name="yaw" type="continuous"><axis xyz="0 0 1"/><parent link="base"/>'
        '<child link="arm"/></joint>',
    )
    path.write_text(whole, "utf-8")
    text = (
        "joint 'hinge' moves no inertia, .* without a moment of inertia about .*, and the mass matrix is singular; "
        "give body 'line' the moment that it has about "
    )
    with pytest.warns(PysimWarning), pytest.raises(ModelError, match=text):
        pysim.load_model(path)


@pytest.mark.parametrize(
    ("inertia", "axis"),
    [
        ("xx = 0.1, yy = 0.1, zz = 0", "(0, 0, 1)"),
        ("xx = 0, yy = 0.2, zz = 0.2", "(1, 0, 0)"),
        ("xx = 0.1, yy = 0.1, zz = 0.2, xy = 0.1", "(0.707, -0.707, 0)"),
    ],
)
def test_a_thin_rod_that_is_free_lacks_a_moment_and_no_mass(
    tmp_path: Path, inertia: str, axis: str
) -> None:
    """It has a mass of 10 g; what is missing is the moment of inertia about its own axis."""
    path = tmp_path / "rod.toml"
    path.write_text(
        f'[[body]]\nname = "rod"\nmass = 0.01\ninertia = {{ {inertia} }}\n'
        '[[joint]]\nname = "j"\ntype = "free"\nchild = "rod"\n',
        "utf-8",
    )
    with pytest.raises(ModelError) as caught:
        pysim.load_scene(path)
    other = axis.replace("0.707, -0.707", "-0.707, 0.707")
    assert any(
        f"give body 'rod' the moment that it has about {own} of" in caught.value.problem
        for own in (axis, other)
    )
    assert "a mass," not in caught.value.problem


def test_a_small_gear_on_a_larger_body_has_inertia(tmp_path: Path) -> None:
    """Its √I is 6e-8 of √m in SI units, which says nothing; it is 6e-5 of the cube's."""
    path = tmp_path / "micro.toml"
    path.write_text(
        '[[body]]\nname = "cube"\nshape = { box = [1e-3, 1e-3, 1e-3], density = 2700 }\n'
        '[[joint]]\nname = "free"\ntype = "free"\nchild = "cube"\n'
        '[[body]]\nname = "gear"\n'
        "shape = { cylinder = { radius = 20e-6, length = 5e-6 }, density = 2700 }\n"
        '[[joint]]\nname = "axle"\ntype = "revolute"\nparent = "cube"\nchild = "gear"\n',
        "utf-8",
    )
    M = pysim.crba(pysim.load_scene(path).model, np.array([0, 0, 0, 0, 0, 0, 1, 0.3]))
    mass = 2700 * np.pi * 20e-6**2 * 5e-6
    np.testing.assert_allclose(M[6, 6], mass * 20e-6**2 / 2, rtol=1e-12)


@pytest.mark.parametrize("axis", [[0, 0, 1], [1, 2, 3], [3, -1, 2]])
def test_a_point_on_the_axis_of_a_hinge_is_nothing_to_turn_however_the_axis_lies(
    axis: list[float], tmp_path: Path
) -> None:
    """What rounding leaves of its moment, 6e-18, is held against m r² = 0.14, not against itself."""
    path = tmp_path / "point.toml"
    path.write_text(
        '[[body]]\nname = "slide"\nmass = 1\ninertia = { xx = 1, yy = 1, zz = 1 }\n'
        '[[joint]]\nname = "rail"\ntype = "prismatic"\nchild = "slide"\naxis = [1, 0, 0]\n'
        f'[[body]]\nname = "point"\nmass = 1\ncom = {[0.1 * x for x in axis]}\n'
        "inertia = { xx = 0, yy = 0, zz = 0 }\n"
        f'[[joint]]\nname = "hinge"\ntype = "revolute"\nparent = "slide"\nchild = "point"\naxis = {axis}\n',
        "utf-8",
    )
    with pytest.raises(pysim.ModelError, match="joint 'hinge' moves no inertia"):
        pysim.load_scene(path)
