"""URDF files with faults that do not change the motion. The oracles are Pinocchio and what the file says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pinocchio
import pytest

import pysim
from pysim.cli import main
from pysim.errors import PysimWarning, SceneError
from pysim.scene import read_model
from pysim.scene.urdf.xml import MOST_BYTES, MOST_LEVELS
from tests.scene.readings import refusal, warnings_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Write = Callable[[str], Path]

INERTIA = '<inertia ixx="1" iyy="2" izz="2.5" ixy="0" ixz="0" iyz="0"/>'
INERTIAL = f'<inertial><origin xyz="0.1 0 0"/><mass value="2"/>{INERTIA}</inertial>'
ARM = '<link name="base"/><link name="arm">{}</link>'
HINGE = '<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/>{3}</joint>'
ROBOT = ARM + HINGE.format("hinge", "base", "arm", "")


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str) -> Path:
        path = tmp_path / "r.urdf"
        path.write_text(f'<robot name="r">\n{text}\n</robot>', "utf-8")
        return path

    return write


LEFT_OUT = [
    (
        '<visual><geometry><sphere radius="0"/></geometry></visual>',
        (
            "r.urdf:2:55: link 'arm': visual shape is left out: 'radius' of <sphere> must be positive [m], "
            "got '0'; increase it"
        ),
    ),
    (
        "<collision><geometry><plane/></geometry></collision>",
        (
            "r.urdf:2:58: link 'arm': collision shape is left out: unknown shape <plane>; known: box, "
            "cylinder, sphere, capsule, mesh"
        ),
    ),
    (
        "<visual><geometry/></visual>",
        (
            "r.urdf:2:45: link 'arm': visual shape is left out: <geometry> needs one shape of box, cylinder, "
            "sphere, capsule, mesh; add or remove some"
        ),
    ),
    (
        '<visual><geometry><mesh filename="x.stl"/></geometry></visual>',
        (
            "r.urdf:2:55: link 'arm': visual mesh 'x.stl' is left out: there is no file '{folder}/x.stl'; "
            "check the path, or --package-dir, in Python package_dirs"
        ),
    ),
    (
        '<visual><geometry><mesh filename="package://legs/x.stl"/></geometry></visual>',
        (
            "r.urdf:2:55: link 'arm': visual mesh 'package://legs/x.stl' is left out: there is no package "
            "'legs'; list the folder that holds it in --package-dir, in Python package_dirs"
        ),
    ),
    (
        (
            '<visual><geometry><box size="1 1 1"/></geometry><material name="m"><color rgba="2 0 0 1"/>'
            "</material></visual>"
        ),
        (
            "r.urdf:2:104: link 'arm': visual shape is left out: 'rgba' of <color> must lie between 0 and 1, "
            "got '2 0 0 1'; divide bytes by 255"
        ),
    ),
]


@pytest.mark.parametrize(("shape", "text"), LEFT_OUT)
def test_a_broken_shape_is_left_out_with_a_warning(
    write: Write, tmp_path: Path, shape: str, text: str
) -> None:
    path = write(ROBOT.format(shape + INERTIAL))
    spec, texts = warnings_of(path)
    assert texts[-1] == text.format(folder=tmp_path)
    assert spec.bodies[1].geometries == ()
    assert spec.omitted[-1] == f"{tmp_path}/{texts[-1]}"
    assert refusal(path, strict=True) in texts


def test_missing_meshes_are_one_warning_that_names_each(write: Write) -> None:
    shape = '<visual><geometry><mesh filename="{}.stl"/></geometry></visual>'
    shapes = "\n".join(shape.format(name) for name in "abb")
    _, (text,) = warnings_of(write(ROBOT.format(shapes + INERTIAL)))
    assert text.startswith("r.urdf:2:55: link 'arm': visual mesh 'a.stl' is left out: there is no ")
    assert text.endswith("; 1 more shapes: link 'arm': visual mesh 'b.stl' (line 3)")


def test_a_mesh_outside_the_folders_that_may_be_read_is_rejected(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b" / "c" / "d"
    folder.mkdir(parents=True)
    (tmp_path / "x.stl").write_bytes(b"")
    shape = '<visual><geometry><mesh filename="../../../../x.stl"/></geometry></visual>'
    (folder / "r.urdf").write_text(
        f'<robot name="r"><link name="a">{shape}</link></robot>', "utf-8"
    )
    assert refusal(folder / "r.urdf") == (
        f"r.urdf:1:50: link 'a': mesh '../../../../x.stl': '{tmp_path}/x.stl' is outside the folders from "
        "which this file may name files; move it below the file that names it, or list its folder in "
        "--package-dir, in Python package_dirs"
    )


def test_a_second_inertial_is_ignored_with_a_warning(write: Write) -> None:
    other = INERTIAL.replace('"2"', '"3"')
    spec, texts = warnings_of(write(ROBOT.format(INERTIAL + other)))
    assert spec.bodies[1].theta[0] == 2
    assert texts == [
        "r.urdf:2:158: link 'arm': second <inertial> is ignored in favour of the one at 2:37; keep one"
    ]


def test_a_second_axis_is_ignored_with_a_warning(write: Write) -> None:
    axes = '<axis xyz="0 1 0"/><axis xyz="0 0 1"/>'
    robot = ARM.format(INERTIAL) + HINGE.format("hinge", "base", "arm", axes)
    spec, texts = warnings_of(write(robot))
    assert spec.joints[1].axis == (0.0, 1.0, 0.0)
    assert texts == [
        "r.urdf:2:260: joint 'hinge': second <axis> is ignored in favour of the one at 2:241; keep one"
    ]


def test_a_massless_leaf_is_a_frame(write: Write) -> None:
    """Its joint is fixed, at the limit nearest to 0, and what follows it as well."""
    robot = ROBOT.format(INERTIAL) + '<link name="tip"/><link name="nail"/>'
    robot += HINGE.format(
        "finger", "arm", "tip", '<limit lower="0.5" upper="1" effort="1" velocity="1"/>'
    )
    robot += HINGE.format("end", "tip", "nail", '<mimic joint="finger" multiplier="2"/>')
    limit = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'  # Pinocchio requires one
    for link in ("arm", "nail"):
        robot = robot.replace(f'<child link="{link}"/>', f'<child link="{link}"/>{limit}')
    path = write(robot)
    with pytest.warns(PysimWarning) as caught:
        model = pysim.load_model(path)
    assert [str(w.message).removeprefix(f"{path.parent}/") for w in caught] == [
        (
            "r.urdf:2:339: joint 'finger' moves only massless bodies, 'tip' and what it carries, and is fixed; "
            "give 'tip' a mass to let it move"
        )
    ]
    assert model.nv == 1
    reference = pinocchio.buildModelFromUrdf(str(path))
    data = reference.createData()
    pinocchio.framesForwardKinematics(reference, data, np.array([0.3, 0.5, 1.0]))
    expected = data.oMf[reference.getFrameId("nail")].homogeneous
    found = pysim.frame_placement(model, np.array([0.3]), "nail")
    assert np.allclose(found, expected, rtol=0, atol=1e-15)
    assert "joint 'finger' moves only massless bodies" in refusal(path, strict=True)


def test_a_robot_without_any_mass_is_a_drawing(write: Write) -> None:
    with pytest.warns(PysimWarning, match="joint 'hinge' moves only massless bodies, 'arm' and"):
        model = pysim.load_model(write(ROBOT.format("")))
    assert model.nv == 0


def test_an_inertial_without_mass_is_ignored_with_a_warning(write: Write) -> None:
    robot = ROBOT.format(f"<inertial>{INERTIA}</inertial>") + f'<link name="load">{INERTIAL}</link>'
    robot += HINGE.format("wrist", "arm", "load", "")
    spec, texts = warnings_of(write(robot))
    assert texts == [
        "r.urdf:2:37: link 'arm': <inertial> is ignored: it has no <mass>; give one [kg]"
    ]
    assert not spec.bodies[1].theta.any()


def test_a_scene_may_give_massless_links_a_mass(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(ROBOT.format(""))
    inertia = "{ xx = 1.0, yy = 1.0, zz = 1.0 }"
    text = f'[[model]]\nfile = "r.urdf"\nbody.arm = {{ mass = 1.0, inertia = {inertia} }}\n'
    (tmp_path / "s.toml").write_text(text, "utf-8")
    assert pysim.load_scene("s.toml").model.nv == 1


def test_blank_lines_before_the_declaration_and_zeros_at_the_end_are_accepted(
    tmp_path: Path,
) -> None:
    path = tmp_path / "r.urdf"
    declaration = '\n\n<?xml version="1.0"?>'
    path.write_text(f"{declaration}<robot name='r'><link name='a'/></robot>\n\0\0", "utf-8")
    assert read_model(path).bodies[0].where == f"{path}:3:38"


def test_extensions_are_listed(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    extensions = '<transmission name="t"/><gazebo reference="arm"/>'
    path = write(ROBOT.format(INERTIAL + "<contact/>") + extensions)
    assert main(["check", str(path)]) == 0
    shown = capsys.readouterr().out.replace(f"{path.parent}/", "")
    assert (
        "  left out    r.urdf:2:259: <transmission> 't' is not read: it names no joint\n"
        "  left out    r.urdf:2:158: link 'arm': <contact> is read for its friction alone: contact "
        "parameters of Bullet\n"
        "  left out    r.urdf:2:283: <gazebo> 'arm' is read for its friction alone: an extension for Gazebo\n"
    ) in shown


def test_check_is_strict_on_request(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    shape = '<visual><geometry><mesh filename="x.stl"/></geometry></visual>'
    path = write(ROBOT.format(shape + INERTIAL))
    assert main(["check", str(path)]) == 0
    assert "warning: " in capsys.readouterr().err
    assert main(["check", str(path), "--strict"]) == 2
    assert "error: " in capsys.readouterr().err


def test_elements_too_deep_are_rejected(write: Write) -> None:
    text = "<gazebo>" * MOST_LEVELS + "</gazebo>" * MOST_LEVELS
    assert refusal(write(text)) == (
        f"r.urdf:2:{8 * (MOST_LEVELS - 1) + 1}: <gazebo> lies within {MOST_LEVELS} other elements; remove some levels"
    )


def test_a_file_too_large_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "r.urdf"
    with path.open("wb") as file:
        file.write(b"<robot>")
        file.truncate(MOST_BYTES + 1)  # sparse
    assert refusal(path) == f"r.urdf: is larger than {MOST_BYTES >> 20} MiB; split it"


XACRO = """<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:property name="mass" value="${1 + 1}"/>
<xacro:include filename="$(find arms)/arm.xacro"/>
<link name="base"/><xacro:arm/>
</robot>"""
PART = f"""<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:macro name="arm">
{ROBOT.replace('<link name="base"/>', "").format(INERTIAL.replace('"2"', '"${mass}"', 1))}
</xacro:macro></robot>"""


@pytest.fixture
def robot_in_xacro(tmp_path: Path) -> Path:
    """A robot whose arm is a macro of another package."""
    (tmp_path / "arms").mkdir()
    (tmp_path / "arms" / "arm.xacro").write_text(PART, "utf-8")
    path = tmp_path / "r.urdf"
    path.write_text(XACRO, "utf-8")
    return path


def test_xacro_is_expanded_with_consent(robot_in_xacro: Path) -> None:
    model = pysim.load_model(robot_in_xacro, allow_code=True)
    assert model.nv == 1
    assert model.total_mass == 2


@pytest.mark.parametrize("name", ["r.urdf", "r.xacro"])
@pytest.mark.parametrize(
    "text",
    [
        '<link name="${a}"/>',
        '<link name="$(arg a)"/>',
        "<link name='b'><visual name='${a}'><geometry><sphere radius='1'/></geometry></visual></link>",
    ],
)
def test_a_robot_with_properties_alone_is_xacro(tmp_path: Path, name: str, text: str) -> None:
    """It has no element of xacro but definitions."""
    head = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    definitions = '<xacro:property name="a" value="b"/><xacro:arg name="a" default="b"/>'
    (tmp_path / name).write_text(f"{head}{definitions}{text}</robot>", "utf-8")
    assert "is written in xacro, whose expressions are Python code" in refusal(tmp_path / name)
    assert tuple(pysim.load_model(tmp_path / name, allow_code=True).frame_names) == ("b",)


def test_xacro_is_rejected_without_consent(robot_in_xacro: Path) -> None:
    assert refusal(robot_in_xacro) == (
        "r.urdf:1:1: is written in xacro, whose expressions are Python code; expand it with "
        "`xacro FILE > robot.urdf`, or allow it with --allow-code, or allow_code=True from Python"
    )


def test_without_the_package_the_error_names_it(
    robot_in_xacro: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "xacro", None)
    assert refusal(robot_in_xacro, allow_code=True) == (
        "r.urdf:1:1: is written in xacro; install the package with `pip install xacro`"
    )


def test_a_file_that_xacro_rejects_is_reported(robot_in_xacro: Path) -> None:
    robot_in_xacro.write_text(XACRO.replace("1 + 1", "1 +"), "utf-8")
    with pytest.raises(
        SceneError, match=r"r\.urdf: cannot be expanded by xacro: .*; fix the file$"
    ):
        pysim.load_model(robot_in_xacro, allow_code=True)


def test_a_file_of_macros_is_reported_as_such(write: Write) -> None:
    text = '<xacro:macro name="m"/>'
    path = write(text)
    space = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    path.write_text(path.read_text("utf-8").replace('<robot name="r">', space), "utf-8")
    assert refusal(path) == (
        "r.urdf:1:1: defines macros of xacro and no <link>; load the file that uses them"
    )
