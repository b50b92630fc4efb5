"""`pysim check` as a doctor of models. The oracle is the sentence for each fault; sound models give none."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.cli import main
from pysim.scene import read_model
from pysim.scene.doctor import examine, examine_meshes, model_size

SCENES = Path(__file__).parents[2] / "scenes"
ROD = """[[body]]
name = "rod"
mass = 2.0
com = [0, 0, 0.5]
inertia = { xx = 0.2, yy = 0.2, zz = 0.001 }
visual = { cylinder = { radius = 0.03, length = 1.0 }, at = { xyz = [0, 0, 0.5] } }
[[joint]]
name = "hinge"
type = "revolute"
child = "rod"
axis = [0, 1, 0]
"""
EMPTY = """[[body]]
name = "x"
mass = 0
[[joint]]
name = "fx"
type = "fixed"
child = "x"
parent = "rod"
"""
FAR = EMPTY.replace("mass = 0", "mass = 1") + "at = { xyz = [0, 0, 3000] }\n"
DOUBTFUL = {
    "an inertia of 300 m": (
        ROD.replace("xx = 0.2, yy = 0.2, zz = 0.001", "xx = 2e5, yy = 2e5, zz = 1e3"),
        (
            "warning     s.toml:1:1: body[0]: the inertia of body 'rod' (2 kg) has a radius of gyration of 316 m, but "
            "its shapes and joints reach 0.501 m: it is 4e+05 times too large, or in g·mm² or kg·mm²; give it in kg·m²"
        ),
    ),
    "a minute inertia": (
        ROD.replace("xx = 0.2, yy = 0.2, zz = 0.001", "xx = 2e-9, yy = 2e-9, zz = 1e-10"),
        (
            "warning     s.toml:1:1: body[0]: the inertia of body 'rod' (2 kg) has a radius of gyration of 3.16e-05 m, "
            "but its shapes and joints reach 0.501 m; give the inertia in kg·m²"
        ),
    ),
    "a mass of air": (
        ROD.replace("mass = 2.0", "mass = 2e-3").replace("0.2, yy = 0.2, zz = 0.001", "2e-4, yy = 2e-4, zz = 1e-6"),
        "note        s.toml:1:1: body[0]: body 'rod' has 0.002 kg in 0.00283 m³, 0.707 kg/m³; check its mass",
    ),
    "a centre of mass in millimetres": (
        ROD.replace("com = [0, 0, 0.5]", "com = [0, 0, 500]"),
        (
            "warning     s.toml:1:1: body[0]: the centre of mass of body 'rod' is 500 m from its frame; give it in m"
        ),
    ),
    "lengths in millimetres": (
        ROD + FAR,
        (
            "warning     s.toml: the mechanism is 3e+03 m large; if lengths are in millimetres, divide them by 1000"
        ),
    ),
    "a joint far from a shape": (
        ROD + FAR,
        (
            "warning     s.toml:15:1: joint[1]: joint 'fx' is 3e+03 m from the frame of body 'rod', whose shapes reach "
            "1 m; give both in m"
        ),
    ),
    "a mechanism of a millimetre": (
        ROD.replace("length = 1.0", "length = 0.001").replace("radius = 0.03", "radius = 0.0001")
        .replace("[0, 0, 0.5]", "[0, 0, 0.0005]").replace("0.2, yy = 0.2, zz = 0.001", "1e-6, yy = 1e-6, zz = 1e-8"),
        "warning     s.toml: the mechanism is 0.00177 m large; lengths are in metres, multiply them if they are not",
    ),
    "gravity in millimetres": (
        "gravity = [0, 0, -9810]\n" + ROD,
        (
            "warning     s.toml: gravity is 9810 [m/s²], 1e+03 times that of the Earth; write [0, 0, -9.81]"
        ),
    ),
    "a body without purpose": (
        ROD + EMPTY,
        (
            "note        s.toml:12:1: body[1]: body 'x' has no mass and no shape, and carries nothing; remove it, or "
            "write a [[frame]]"
        ),
    ),
    "a material that nothing has": (
        '[materials.ice]\nfriction = 0.1\n[[ground]]\nplane = {}\n' + ROD.replace("visual", "collision = true\nshape"),
        "note        s.toml:2:1: materials.ice: material 'ice' is not used; remove it",
    ),
    "a parameter that no expression uses": (
        '[parameters]\nm = 2.0\nlong = 1.0\n' + ROD.replace("mass = 2.0", 'mass = "= m"'),
        "note        s.toml:3:1: parameters.long: is used by no expression; remove it",
    ),
    "an effort limit of 0": (
        ROD + "effort_limit = 0\n",
        (
            "note        s.toml:7:1: joint[0]: the effort limit of joint 'hinge' is 0 [N or N·m]; leave it out or "
            "give it"
        ),
    ),
    "massless bodies in a row": (
        ROD.replace('child = "rod"', 'child = "rod"\nparent = "b"') + "".join(
            f'[[body]]\nname = "{name}"\nmass = 0\n[[joint]]\nname = "j{name}"\ntype = "revolute"\nchild = "{name}"\n'
            f'parent = "{parent}"\naxis = {axis}\n'
            for name, parent, axis in (("a", "world", [1, 0, 0]), ("b", "a", [0, 0, 1]))
        ),
        (
            "note        s.toml:25:1: joint[2]: the bodies 'a' → 'b' are massless, one moved by the other; use one "
            "joint for all"
        ),
    ),
}  # fmt: skip


SOUND = (
    "bricard",
    "cam",
    "differential",
    "falling_box",
    "five_bar",
    "governor",
    "gyroscope",
    "knee",
    "robot_arm",
    "stewart_platform",
    "t_handle",
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", DOUBTFUL)
def test_a_number_that_looks_wrong_is_printed_with_its_remedy(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text, expected = DOUBTFUL[name]
    Path("s.toml").write_text(text, "utf-8")
    assert main(["check", "s.toml"]) == 0
    assert f"  {expected}\n" in capsys.readouterr().out


def test_a_sound_scene_has_no_findings(capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.toml").write_text(ROD, "utf-8")
    assert main(["check", "s.toml", "--strict"]) == 0
    printed = capsys.readouterr().out
    assert not [row for row in printed.split("\n") if row.startswith(("  warning", "  note"))]
    for name in SOUND:
        assert examine(read_model(SCENES / f"{name}.toml", allow_code=True)) == []


def test_strict_makes_a_warning_the_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.toml").write_text(DOUBTFUL["gravity in millimetres"][0], "utf-8")
    assert main(["check", "s.toml"]) == 0
    assert main(["check", "s.toml", "--strict"]) == 3
    Path("s.toml").write_text(DOUBTFUL["an effort limit of 0"][0], "utf-8")
    assert main(["check", "s.toml", "--strict"]) == 0  # a note
    Path("s.toml").write_text(ROD + "start = 30\n", "utf-8")
    assert main(["check", "s.toml", "--strict"]) == 3  # a warning of the reader
    Path("s.toml").write_text(ROD + "start = no\n", "utf-8")
    assert main(["check", "s.toml"]) == 2
    capsys.readouterr()


def test_the_tree_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.toml").write_text(
        ROD + EMPTY + EMPTY.replace("x", "y").replace("fiyed", "fixed"), "utf-8"
    )
    assert main(["check", "s.toml", "--tree"]) == 0
    assert (
        "  world\n"
        "  └─ rod  (hinge, revolute, 2 kg)\n"
        "     ├─ x  (fx, fixed)\n"
        "     └─ y  (fy, fixed)\n"
    ) in capsys.readouterr().out


def test_the_report_in_json_has_totals_and_findings(capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.toml").write_text(DOUBTFUL["gravity in millimetres"][0] + "start = 30\n", "utf-8")
    assert main(["check", "s.toml", "--json"]) == 0
    printed = capsys.readouterr()
    report = json.loads(printed.out)
    assert printed.err == ""
    assert report["totals"] == {
        "bodies": 1,
        "links": 1,
        "mass": 2.0,
        "nq": 1,
        "nv": 1,
        "mobility": None,
    }
    assert report["joints"] == [{"name": "hinge", "type": "revolute", "parent": "world", "child": "rod"}]  # fmt: skip
    run = {"duration": 10.0, "step": 0.001, "step_file": None, "integrator": "rk4"}
    assert report["simulation"] == run
    assert [(f["severity"], f["where"]) for f in report["findings"]][:2] == [
        ("warning", "s.toml:12:9"),
        ("warning", "s.toml"),
    ] or report["findings"][0]["text"].startswith("joint[0].start: 30 [rad]")
    assert main(["check", str(SCENES / "four_bar.toml"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["totals"]["mobility"].startswith("1 degree of freedom")
    assert report["loops"] == ["close"]


def test_a_stated_inertia_is_compared_with_that_of_the_mesh(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The box of the example scene: its own inertia is accepted, ten times as much is not."""
    box = SCENES / "meshes" / "box.obj"
    Path("box.obj").write_bytes(box.read_bytes())
    theta = pysim.load_scene(SCENES / "falling_box.toml").model.parameters[0]
    m, com = theta[0], theta[1:4] / theta[0]
    I_O = np.array([theta[[4, 5, 7]], theta[[5, 6, 8]], theta[[7, 8, 9]]])
    I_C = I_O - m * (com @ com * np.eye(3) - np.outer(com, com))
    for factor, count in ((1.0, 0), (10.0, 1)):
        xx, yy, zz = factor * np.diag(I_C)
        Path("s.toml").write_text(
            f'[[body]]\nname = "box"\nmass = {m}\ncom = {com.tolist()}\n'
            f"inertia = {{ xx = {xx}, yy = {yy}, zz = {zz} }}\n"
            'visual = { mesh = "box.obj" }\n[[joint]]\nname = "j"\ntype = "free"\nchild = "box"\n',
            "utf-8",
        )
        found = examine_meshes(read_model("s.toml"))
        assert len(found) == count
    assert "10 times" in found[0].text
    assert found[0].text.endswith(
        "of its meshes with the same mass; check its unit, or the scale of the mesh"
    )
    assert main(["check", "s.toml", "--meshes", "--strict"]) == 3
    assert "the largest moment of inertia of body 'box'" in capsys.readouterr().out


def test_doubtful_meshes_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    """An open mesh stands for its hull; a flat one is not compared; a centre far from the mesh is reported."""
    sheet = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3\nf 1 3 4\n"
    Path("flat.obj").write_text(sheet, "utf-8")
    Path("open.obj").write_text(sheet + "v 0.5 0.5 1\nf 1 2 5\nf 2 3 5\nf 3 4 5\n", "utf-8")
    body = (
        '[[body]]\nname = "b"\nmass = 1\ncom = [0.5, 0.5, {z}]\ninertia = {{ xx = 0.06, yy = 0.06, zz = 0.1 }}\n'
        'visual = {{ mesh = "{mesh}" }}\n[[joint]]\nname = "j"\ntype = "free"\nchild = "b"\n'
    )
    hull = "'open.obj' of body 'b' encloses no volume; its convex hull is compared"
    for z, mesh, expected in (
        (0.25, "open.obj", [hull]),
        (
            9.25,
            "open.obj",
            [
                hull,
                "the centre of mass of body 'b' is 9 m from that of its meshes; check com",
            ],
        ),
        (0.25, "flat.obj", []),
    ):
        Path("s.toml").write_text(body.format(z=z, mesh=mesh), "utf-8")
        assert [finding.text for finding in examine_meshes(read_model("s.toml"))] == expected


def test_a_robot_without_joints_has_no_size_and_an_inertia_needs_a_mass() -> None:
    """URDF files are read with such inertias, so that all of them are found at once."""
    inertial = '<inertial><mass value="{}"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="{}"/></inertial>'
    for mass, izz, text in (
        (
            0,
            1,
            "the mass is zero but the inertia is not; give it a mass [kg], or remove the inertia",
        ),
        (1, 9, '; the nearest valid one is <inertia ixx="'),
    ):
        link = f'<link name="a">{inertial.format(mass, izz)}</link>'
        Path("r.urdf").write_text(f'<robot name="r">{link}</robot>', "utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pysim.PysimWarning)
            spec = read_model("r.urdf")
        assert model_size(spec) == 0
        (finding,) = examine(spec)
        assert text in finding.text, finding.text


def test_waypoints_that_end_before_the_run_and_gravity_along_z_are_notes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both may be meant: the signal holds its last value, and z may point downwards."""
    text = """
gravity = [0, 0, 9.81]
[[body]]
name = "arm"
mass = 1.0
com = [0.2, 0, 0]
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "hinge"
type = "revolute"
child = "arm"
motion = { signal = "path" }
[[signal]]
name = "path"
type = "waypoints"
t = [0, END]
values = [0, 1]
unit = "rad"
[simulation]
duration = 2.0
"""
    file = tmp_path / "scene.toml"
    file.write_text(text.replace("END", "1"), "utf-8")
    assert main(["check", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "signal[0]: signal 'path' ends at 1 s and holds its last value until 2 s\n" in printed
    assert "gravity [0, 0, 9.81] [m/s²] acts along +z; write gravity = [0, 0, -9.81] if" in printed
    file.write_text(text.replace("END", "2").replace("9.81", "-9.81"), "utf-8")
    assert main(["check", str(file)]) == 0
    assert " note " not in capsys.readouterr().out
