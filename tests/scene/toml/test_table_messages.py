"""Mistakes in tables of a scene, and the messages about them, word for word. Oracle: the texts, read by a person."""

from __future__ import annotations

from pathlib import Path

import pytest

import pysim
from pysim.errors import PysimError

ROD = """
[[body]]
name = "rod"
mass = 1.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }

[[joint]]
name = "hinge"
type = "revolute"
child = "rod"

[[body]]
name = "ball"
mass = 1.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }

[[joint]]
name = "socket"
type = "ball"
child = "ball"
"""
ROPE = """
[[force]]
name = "rope"
type = "path_spring"
stiffness = 10.0
rest_length = 1.0
path = [{ body = "world", point = [1, 0, 0] }, PART, { body = "rod", point = [0, 0, 1] }]
"""
MOTOR = """
[[signal]]
name = "target"
type = "sine"
amplitude = 1.0
frequency = 1.0
unit = ""

[[actuator]]
name = "motor"
type = "affine"
coordinates = ["hinge"]
command = "target"
"""
FLOOR = """
[materials.rubber]
friction = 0.5

[[ground]]
plane = { normal = [0, 0, 1], offset = -5.0 }
material = "rubber"

[simulation]
integrator = "convex"
"""


def part(text: str) -> str:
    return ROD + ROPE.replace("PART", text)


def colliding(mesh: str) -> str:
    return ROD.replace("mass", f'collision = {{ mesh = "{mesh}" }}\nmass', 1) + FLOOR


SCENES = {
    "s.toml:27:71: force[0].path[1].when: above = 1.0 is not less than below = 0.5; swap them": part(
        '{ body = "rod", when = { coordinate = "hinge", above = 1.0, below = 0.5 } }'
    ),
    "s.toml:27:48: force[0].path[1]: has when, which belongs to a point; remove it": part(
        '{ body = "rod", sphere = 0.1, when = { coordinate = "hinge", above = 1.0 } }'
    ),
    "s.toml:27:48: force[0].path[1]: has moves, which belongs to a point; remove it": part(
        '{ body = "rod", sphere = 0.1, moves = [{ coordinate = "hinge", axis = [1, 0, 0], constant = 1 }] }'
    ),
    "s.toml:27:73: force[0].path[1].moves[0]: has the axis [0, 0, 0]; give a direction": part(
        '{ body = "rod", moves = [{ coordinate = "hinge", axis = [0, 0, 0], constant = 1 }] }'
    ),
    "s.toml:27:73: force[0].path[1].moves[0]: needs one of constant, polynomial, spline, natural_spline, polyline, "
    "got none": part('{ body = "rod", moves = [{ coordinate = "hinge", axis = [1, 0, 0] }] }'),
    "s.toml:27:73: force[0].path[1].moves[0]: spline.x must increase; sort the points and remove repeated ones": part(
        '{ body = "rod", moves = [{ coordinate = "hinge", axis = [1, 0, 0], '
        "spline = { x = [0, 0], y = [0, 1] } }] }"
    ),
    "s.toml:22:1: force[0]: there is no coordinate 'hing'; did you mean 'hinge'?": part(
        '{ body = "rod", moves = [{ coordinate = "hing", axis = [1, 0, 0], constant = 1 }] }'
    ),
    "s.toml:22:1: force[0]: 'socket.wy' is a velocity, whose position is no single number; "
    "name another coordinate for the point": part(
        '{ body = "rod", moves = [{ coordinate = "socket.wy", axis = [1, 0, 0], constant = 1 }] }'
    ),
    "s.toml:22:1: force[0]: 'socket.wx' is a velocity, whose position is no single number; "
    "name another coordinate for the point": part(
        '{ body = "rod", when = { coordinate = "socket.wx", above = 1.0 } }'
    ),
    "s.toml:4:10: body[0].visual: scale must have 1 or 3 numbers, got 2": ROD.replace(
        "mass", 'visual = { mesh = "a.obj", scale = [1, 2] }\nmass', 1
    ),
    "s.toml:34:17: actuator[0].command_range: must be the lowest and the highest value, got [1.0, 0.0]": ROD
    + MOTOR
    + "command_range = [1, 0]",
    "s.toml:34:8: actuator[0].gain: has 3 numbers at most, got 4": ROD
    + MOTOR
    + "gain = [1, 2, 3, 4]",
    "s.toml:4:1: materials.rubber: is taken by an attached scene, floor.toml:24:1: materials.rubber; "
    "give its model a name": '[[model]]\nfile = "floor.toml"\n' + FLOOR.lstrip(),
    "s.toml:3:21: model[0].command.motor: actuator 'motor' follows the signal 'target', which is no constant; "
    "name a signal": '[[model]]\nfile = "motor.toml"\ncommand = { motor = 1 }',
    "s.toml:3:1: model[0].overrides: is for scene files; change a robot by the keys joint and body": (
        '[[model]]\nfile = "link.urdf"\noverrides = { "joint.x.damping" = 1 }'
    ),
    "s.toml:1:1487: include[99]: more than 100 files are included; join some of them": (
        f"include = {[f'part{k}.toml' for k in range(101)]}"
    ),
    "s.toml:4:13: body[0].collision: mesh 'flat.obj' is flat, and has no inside; give the shape a thickness": (
        colliding("flat.obj")
    ),
    "s.toml:4:13: body[0].collision: mesh 'dent.obj' is not convex, it fills 50 % of its hull; "
    "let it collide as convex parts with decompose = true, or as its hull with convex = true, or give simpler "
    "shapes": colliding("dent.obj"),
}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other files that the scenes name."""
    import trimesh

    monkeypatch.chdir(tmp_path)
    for k in range(101):
        Path(f"part{k}.toml").touch()
    Path("floor.toml").write_text(colliding("box.obj"), "utf-8")
    Path("motor.toml").write_text(ROD + MOTOR.replace("affine", "force"), "utf-8")
    Path("link.urdf").write_text('<robot name="r"><link name="l"/></robot>', "utf-8")
    trimesh.creation.box((1, 1, 1)).export("box.obj")
    Path("flat.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "utf-8")
    # an octahedron whose top is pushed in
    corners = "v 1 0 0\nv 0 1 0\nv -1 0 0\nv 0 -1 0\nv 0 0 -1\nv 0 0 -0.5\n"
    faces = "f 2 1 5\nf 3 2 5\nf 4 3 5\nf 1 4 5\nf 1 2 6\nf 2 3 6\nf 3 4 6\nf 4 1 6\n"
    Path("dent.obj").write_text(corners + faces, "utf-8")


@pytest.mark.parametrize("text", SCENES)
def test_a_mistake_is_reported_where_it_is(text: str, files: None) -> None:
    Path("s.toml").write_text(SCENES[text], "utf-8")
    with pytest.raises(PysimError) as caught:
        pysim.load_scene("s.toml")
    assert str(caught.value) == text
