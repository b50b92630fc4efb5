"""Repairs of scene files by `pysim check --fix`. The oracle is the corrected line, and the reader, which accepts it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pysim.cli import main
from pysim.errors import SceneError
from pysim.scene import read_scene
from pysim.scene.toml.repairs import repaired

SCENES = Path(__file__).parents[3] / "scenes"
BODY = """[[body]]
name = "rod"
mass = 1.0   # [kg]
com = [0, 0, 0.5]
inertia = { xx = 1.0, yy = 1.0, zz = 1.0 }
"""
HINGE = """[[joint]]
name = "hinge"
type = "revolute"
child = "rod"
"""
SCENE = BODY + HINGE
REPAIRS = {  # (text, its mistake, the correction)
    "a number without its first digit": (SCENE, "mass = 1.0", "mass = .5", "mass = 0.5"),
    "a number without its last digit": (SCENE, "mass = 1.0", "mass = 1.", "mass = 1.0"),
    "a list with such numbers": (SCENE, "com = [0, 0, 0.5]", "com = [0., -.5, 1]", "com = [0.0, -0.5, 1]"),
    "a quantity without quotes": (SCENE, "mass = 1.0", "mass = 1.5kg", 'mass = "1.5 kg"'),
    "a truth value with a capital": (
        SCENE + "[render]\nground = true\n", "ground = true", "ground = True", "ground = true",
    ),
    "a comma before a brace": (SCENE, "zz = 1.0 }", "zz = 1.0, }", "zz = 1.0 }"),
    "a comment of C": (SCENE, "# [kg]", "// [kg]", "# [kg]"),
    "text without quotes": (SCENE, 'name = "rod"', "name = rod", 'name = "rod"'),
    "a list of one table": (
        SCENE + "[simulation]\nstep = 1e-3\n", "[simulation]", "[[simulation]]", "[simulation]",
    ),
    "a table that is a list": (SCENE, "[[joint]]", "[joint]", "[[joint]]"),
    "a misspelt key": (SCENE + "damping = 0.1\n", "damping", "dampin", "damping"),
    "a misspelt key in a table of a line": (SCENE, "yy = 1.0, zz", "yyy = 1.0, zz", "yy = 1.0, zz"),
    "a misspelt table": (SCENE + "[simulation]\nstep = 1e-3\n", "[simulation]", "[simulatoin]", "[simulation]"),
    "a key of another program": (
        SCENE + "[simulation]\nstep = 1e-3\n", "step = 1e-3", "timestep = 1e-3", "step = 1e-3",
    ),
    "a torque": (
        SCENE + '[[actuator]]\njoint = "hinge"\noffset = 1.0\n', "offset = 1.0", "torque = 1.0", "offset = 1.0",
    ),
    "a joint type of another program": (SCENE, '"revolute"', '"continuous"', '"revolute"'),
    "a misspelt joint type": (SCENE, '"revolute"', '"revolut"', '"revolute"'),
    "an integrator of another program": (
        SCENE + '[simulation]\nintegrator = "dopri5"\n', '"dopri5"', '"ode45"', '"dopri5"',
    ),
    "a parent called the ground": (
        SCENE + 'parent = "world"\n', 'parent = "world"', 'parent = "ground"', 'parent = "world"',
    ),
    "a position in place of a pose": (
        SCENE + "at = { xyz = [0, 0, 1] }\n", "{ xyz = [0, 0, 1] }", "[0, 0, 1]", "{ xyz = [0, 0, 1] }",
    ),
    "limits in a list": (
        SCENE + "limits = { lower = -1, upper = 1 }\n", "{ lower = -1, upper = 1 }", "[-1, 1]",
        "{ lower = -1, upper = 1 }",
    ),
    "moments of inertia in a list": (
        SCENE, "{ xx = 1.0, yy = 1.0, zz = 1.0 }", "[1, 1, 1.5]", "{ xx = 1, yy = 1, zz = 1.5 }",
    ),
    "a quaternion of four digits": (
        SCENE + "at = { quat_wxyz = [0.7071067811865476, 0.0, 0.7071067811865476, 0.0] }\n",
        "[0.7071067811865476, 0.0, 0.7071067811865476, 0.0]", "[0.7071, 0, 0.7071, 0]",
        "[0.7071067811865476, 0.0, 0.7071067811865476, 0.0]",
    ),
    "an inconsistent inertia": (
        SCENE, "{ xx = 1.0, yy = 1.0, zz = 1.0 }", "{ xx = 1, yy = 1, zz = 3 }",
        "{ xx = 1.5, xy = 0, xz = 0, yy = 1.5, yz = 0, zz = 3 }",
    ),
    "an inconsistent inertia in a table of its own": (
        BODY.replace("inertia = { xx = 1.0, yy = 1.0, zz = 1.0 }", "[body.inertia]\nxx = 1.0\nyy = 1.0\nzz = 1.0")
        + HINGE, "xx = 1.0\nyy = 1.0\nzz = 1.0", "xx = 1\nyy = 1\nzz = 3", "xx = 1.5\nyy = 1.5\nzz = 3",
    ),
    "a mesh in another folder": (
        BODY + 'visual = { mesh = "meshes/box.obj" }\n' + HINGE, '"meshes/box.obj"', '"C:/cad/Box.obj"',
        '"meshes/box.obj"',
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("meshes").mkdir()
    Path("meshes/box.obj").write_bytes((SCENES / "meshes/box.obj").read_bytes())


@pytest.mark.parametrize("name", REPAIRS)
def test_a_mistake_with_one_remedy_is_corrected_and_nothing_else(name: str) -> None:
    whole, piece, mistake, correction = REPAIRS[name]
    assert whole.count(piece) == 1, "the example is ambiguous"
    wrong = whole.replace(piece, mistake)
    Path("s.toml").write_text(wrong, "utf-8")
    with pytest.raises(SceneError):
        read_scene("s.toml")
    new = repaired("s.toml", wrong)
    assert new == whole.replace(piece, correction)
    Path("s.toml").write_text(new, "utf-8")
    read_scene("s.toml")
    assert repaired("s.toml", new) == new


def test_many_mistakes_are_corrected_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = whole = SCENE
    for name in (
        "a number without its first digit",
        "a misspelt joint type",
        "a table that is a list",
    ):
        _, piece, mistake, correction = REPAIRS[name]
        wrong, whole = wrong.replace(piece, mistake), whole.replace(piece, correction)
    Path("s.toml").write_text(wrong, "utf-8")
    assert main(["check", "s.toml", "--fix", "t.toml"]) == 0
    printed = capsys.readouterr().out
    for row in (
        "--- s.toml",
        "+++ t.toml",
        "-[joint]",
        "+[[joint]]",
        '-type = "revolut"',
        '+type = "revolute"',
    ):
        assert f"{row}\n" in printed
    assert Path("t.toml").read_text("utf-8") == whole
    assert Path("s.toml").read_text("utf-8") == wrong


AMBIGUOUS = {
    "an angle that may be in degrees": SCENE + "start = 30\n",
    "a quaternion that is no rotation": SCENE + "at = { quat_wxyz = [1, 1, 0, 0] }\n",
    "a word that is like no key": SCENE + "colour = 3\n",
    "an unknown unit": SCENE.replace("mass = 1.0", "mass = 1.5stone"),
    "a parent in another file": SCENE + 'parent = "ground"\n[[model]]\nfile = "s.toml"\n',
    "two simulations": SCENE + "[[simulation]]\nstep = 1e-3\n[[simulation]]\nstep = 1e-2\n",
    "a file that is in no folder": BODY + 'visual = { mesh = "rod.obj" }\n' + HINGE,
    "a negative mass": SCENE.replace("mass = 1.0", "mass = -1.0"),
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_a_mistake_of_several_remedies_is_left(name: str) -> None:
    assert repaired("s.toml", AMBIGUOUS[name]) == AMBIGUOUS[name]


def test_errors_that_are_left_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.toml").write_text(SCENE.replace("mass = 1.0", "mas = -1.0"), "utf-8")
    assert main(["check", "s.toml", "--fix", "t.toml"]) == 2
    assert (
        capsys.readouterr().err
        == "error: t.toml:3:8: body[0].mass: must not be negative [kg], got -1.0\n"
    )
    assert Path("t.toml").exists()
    assert main(["check", "s.toml", "--fix", "meshes/t.toml"]) == 2
    expected = "error: meshes/t.toml: names files relative to .; write it beside s.toml\n"
    assert capsys.readouterr().err == expected


@pytest.mark.parametrize("path", sorted(SCENES.rglob("*.toml")), ids=lambda path: path.stem)
def test_sound_scenes_stay_as_they_are(path: Path) -> None:
    text = path.read_text("utf-8")
    assert repaired(str(path), text) == text
