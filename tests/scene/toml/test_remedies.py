"""Mistakes of one remedy: the error names it. The oracle is the remedy, and the reader, which accepts it if pasted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pysim.errors import SceneError
from pysim.scene import read_scene

SCENE = """[[body]]
name = "rod"
mass = 1.0   # [kg]
com = [0, 0, 0.5]
inertia = { xx = 1.0, yy = 1.0, zz = 1.0 }
[[joint]]
name = "hinge"
type = "revolute"
child = "rod"
parent = "world"
at = { xyz = [0, 0, 1] }
limits = { lower = -1, upper = 1 }
damping = 0.1
[[actuator]]
joint = "hinge"
offset = 1.0
[simulation]
step = 1e-3
integrator = "dopri5"
[render]
ground = true
"""
REMEDIES = {  # mistake: (text, the mistake in its place, remedy)
    "a number without its first digit": ("mass = 1.0", "mass = .5", "digits on both sides of the point, as in 0.5"),
    "a number without its last digit": ("mass = 1.0", "mass = 1.", "digits on both sides of the point, as in 1.0"),
    "a list with such numbers": ("[0, 0, 0.5]", "[0., -.5, 1]", "digits on both sides of the point"),
    "a quantity without quotes": ("mass = 1.0", "mass = 1.5kg", "put a number with its unit in quotes"),
    "a truth value with a capital": ("ground = true", "ground = True", "write true or false"),
    "a comma before a brace": ("zz = 1.0 }", "zz = 1.0, }", "leave out the last comma in { … }"),
    "text without quotes": ('name = "rod"', "name = rod", "put text in quotes"),
    "a list of one table": ("[simulation]", "[[simulation]]", "write [simulation]"),
    "a table that is a list": ("[[joint]]", "[joint]", "write [[joint]]"),
    "a misspelt key": ("damping", "dampin", "did you mean 'damping'?"),
    "a misspelt key in a table of a line": ("yy = 1.0, zz", "yyy = 1.0, zz", "did you mean 'yy'?"),
    "a misspelt table": ("[simulation]", "[simulatoin]", "did you mean 'simulation'?"),
    "a key of another program": ("step = 1e-3", "timestep = 1e-3", "did you mean 'step'?"),
    "a torque": ("offset = 1.0", "torque = 1.0", "did you mean 'offset'?"),
    "a joint type of another program": ('"revolute"', '"continuous"', "did you mean 'revolute'?"),
    "a misspelt joint type": ('"revolute"', '"revolut"', "did you mean 'revolute'?"),
    "an integrator of another program": ('"dopri5"', '"ode45"', "did you mean 'dopri5'?"),
    "a parent called the ground": ('"world"', '"ground"', "did you mean 'world'?"),
    "a position in place of a pose": ("{ xyz = [0, 0, 1] }", "[0, 0, 1]", "write at = { xyz = [0, 0, 1] }"),
    "limits in a list": (
        "{ lower = -1, upper = 1 }", "[-1, 1]", "write limits = { lower = -1, upper = 1 }",
    ),
    "moments of inertia in a list": (
        "{ xx = 1.0, yy = 1.0, zz = 1.0 }", "[1, 1, 1.5]", "write inertia = { xx = 1, yy = 1, zz = 1.5 }",
    ),
    "a quaternion of four digits": (
        "{ xyz = [0, 0, 1] }", "{ quat_wxyz = [0.7071, 0, 0.7071, 0] }", "divide it by its norm",
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def error_of(piece: str, mistake: str) -> str:
    """Return the error of the scene with a mistake in place of a piece of its text."""
    assert SCENE.count(piece) == 1, "the example is ambiguous"
    Path("s.toml").write_text(SCENE.replace(piece, mistake), "utf-8")
    with pytest.raises(SceneError) as caught:
        read_scene("s.toml")
    return str(caught.value)


def test_the_scene_without_mistakes_is_read() -> None:
    Path("s.toml").write_text(SCENE, "utf-8")
    assert read_scene("s.toml").model.bodies[0].name == "rod"


@pytest.mark.parametrize("name", REMEDIES)
def test_the_error_of_a_mistake_names_its_remedy(name: str) -> None:
    piece, mistake, remedy = REMEDIES[name]
    assert remedy in error_of(piece, mistake)


def test_the_inertia_that_an_error_names_is_accepted_as_pasted() -> None:
    piece = "inertia = { xx = 1.0, yy = 1.0, zz = 1.0 }"
    error = error_of(piece, "inertia = { xx = 1, yy = 1, zz = 3 }")
    (remedy,) = re.findall(r"inertia = \{.*?\}", error)
    assert remedy == "inertia = { xx = 1.5, xy = 0, xz = 0, yy = 1.5, yz = 0, zz = 3 }"
    Path("s.toml").write_text(SCENE.replace(piece, remedy), "utf-8")
    read_scene("s.toml")
