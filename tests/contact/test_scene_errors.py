"""Errors and warnings of scenes with contacts, word for word."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import pysim

SCENE = """
[materials.rubber]
friction = 0.9
stiffness = 2e5
[[body]]
name = "ball"
shape = { sphere = { radius = 0.1 } }
mass = 1.0
collision = true
[[joint]]
name = "free"
type = "free"
child = "ball"
start = { xyz = [0, 0, 0.2] }
[[ground]]
plane = { normal = [0, 0, 1], offset = 0.0 }
[simulation]
duration = 0.1
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "s.toml"
    path.write_text(text, "utf-8")
    return path


def error_of(tmp_path: Path, text: str) -> str:
    with pytest.raises(pysim.PysimError) as error:
        pysim.load_scene(write(tmp_path, text))
    return str(error.value).replace(str(tmp_path) + "/", "")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "collision = true",
            'collision = true\nmaterial = "ruber"',
            "s.toml:10:12: body[0].material: unknown material 'ruber'; did you mean 'rubber'?",
        ),
        (
            "collision = true",
            'material = "rubber"',
            "s.toml:9:12: body[0].material: acts on shapes that collide; add collision = true, or remove it",
        ),
        (
            "friction = 0.9",
            "friction = -0.1",
            (
                "s.toml:3:12: materials.rubber.friction.dynamic: must not be negative, got -0.1\n"
                "s.toml:3:12: materials.rubber.friction.static: must not be negative, got -0.1"
            ),
        ),
        (
            "friction = 0.9",
            "friction = { static = 0.2, dynamic = 0.4 }",
            "s.toml:3:12: materials.rubber.friction: dynamic 0.4 is larger than static 0.2; swap them",
        ),
        (
            "stiffness = 2e5",
            "stiffness = 2e5\nsink = 1e-4",
            "s.toml:3:1: materials.rubber: stiffness and sink are alternatives; give one of them",
        ),
        (
            "stiffness = 2e5",
            "stiffness = { young = 1e6 }",
            "s.toml:4:13: materials.rubber.stiffness: needs young [Pa] and poisson, or a number [N/m]",
        ),
        (
            "normal = [0, 0, 1]",
            "normal = [0, 0, 0]",
            "s.toml:16:9: ground[0].plane: normal must not be zero; [0, 0, 1] points up",
        ),
        (
            "[[ground]]\nplane = { normal = [0, 0, 1], offset = 0.0 }",
            "",
            "s.toml:9:13: body[0].collision: there is nothing to touch; add a [[ground]], or remove it",
        ),
        (
            "duration = 0.1",
            "duration = 0.1\nslip_speed = 0.1",
            "s.toml:19:1: simulation.slip_speed: 'convex' regularises no friction of contacts; remove slip_speed",
        ),
        (
            "duration = 0.1",
            "duration = 0.1\nleast_step = 1e-6",
            (
                "s.toml:19:1: simulation.least_step: bounds steps under error control; add accuracy [m or rad], or "
                "remove it"
            ),
        ),
        (
            "duration = 0.1",
            "duration = 0.1\nstep = 1e-3\naccuracy = 1e-4\nleast_step = 2e-3",
            (
                "s.toml:21:14: simulation.least_step: 0.002 [s] is longer than the longest step, 0.001 [s]; take a "
                "shorter one"
            ),
        ),
        (
            "duration = 0.1",
            'duration = 0.1\nintegrator = "rk4"\naccuracy = 1e-4',
            (
                "s.toml:20:1: simulation.accuracy: 'rk4' has none; remove accuracy or take integrator = \"convex\""
            ),
        ),
        (
            "duration = 0.1",
            'duration = 0.1\nintegrator = "variational"',
            (
                "s.toml:19:14: simulation.integrator: 'variational' computes no contacts, and the scene has a ground; "
                'take "convex", or remove the ground'
            ),
        ),
        (
            "[simulation]",
            '[[contact]]\nbetween = ["world", "bal"]\nfriction = 0.1\n[simulation]',
            "s.toml:18:21: contact[0].between[1]: unknown body or rod 'bal'; did you mean 'ball'?",
        ),
        (
            "[simulation]",
            '[[exclude]]\nbetween = ["ball"]\n[simulation]',
            "s.toml:18:11: exclude[0].between: must have 2 names, got 1",
        ),
        (
            "[simulation]",
            '[[exclude]]\nbetween = ["ball", "ball"]\n[simulation]',
            "s.toml:18:11: exclude[0].between: 'ball' cannot touch itself; name two links",
        ),
        (
            "[simulation]",
            '[[contact]]\nbetween = ["ball", "world"]\nsurface_velocity = [1, 0, 0]\n[simulation]',
            (
                "s.toml:19:20: contact[0].surface_velocity: is that of 'ball', the first body of between, and only the "
                "world's surface can move against a body that touches the world; write between = "
                '["world", "ball"]'
            ),
        ),
    ],
)
def test_bad_input_is_reported(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in SCENE
    assert error_of(tmp_path, SCENE.replace(old, new, 1)) == message


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (
            "restitution = { value = 1.2, at = 1.0 }",
            "25: materials.rubber.restitution.value: must be at most 1, got 1.2",
        ),
        (
            "restitution = { value = -0.2, at = 1.0 }",
            "25: materials.rubber.restitution.value: must not be negative, got -0.2",
        ),
        (
            "restitution = { value = 0.5 }",
            (
                "15: materials.rubber.restitution.at: is missing; add it: speed of the impact for which value holds "
                "[m/s]"
            ),
        ),
        (
            "restitution = { value = 0.5, at = 0 }",
            "35: materials.rubber.restitution.at: must be positive [m/s], got 0",
        ),
        (
            "restitution = 0.5",
            "15: materials.rubber.restitution: must be a table, { value = …, at = … }, got 0.5",
        ),
        ("sink = 0.0", "8: materials.rubber.sink: must be positive [m], got 0.0"),
        ("rolling = -0.1", "11: materials.rubber.rolling: must not be negative [m], got -0.1"),
        (
            "stiffness = { young = 1e6, poisson = 0.7 }",
            "38: materials.rubber.stiffness.poisson: must be below 0.5, got 0.7",
        ),
    ],
)
def test_bad_numbers_of_a_material_are_reported(tmp_path: Path, key: str, message: str) -> None:
    bad = SCENE.replace("stiffness = 2e5", key)
    assert error_of(tmp_path, bad) == f"s.toml:4:{message}"


def meshes(folder: Path) -> None:
    """An open box, a ring and a sheet."""
    import trimesh

    box = trimesh.creation.box((0.2, 0.2, 0.2))
    box.update_faces(np.arange(len(box.faces)) != 0)
    box.export(folder / "open.stl")
    trimesh.creation.annulus(0.1, 0.2, 0.1).export(folder / "ring.stl")
    corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]
    trimesh.Trimesh(corners, [[0, 1, 2], [1, 3, 2]]).export(folder / "sheet.stl")


@pytest.mark.parametrize(
    ("mesh", "problem"),
    [
        (
            "open",
            (
                "cannot collide: is not watertight: 3 edges are without a triangle on each side; close it, or give the "
                "body's mass, com and inertia as numbers; or let it collide as its hull with convex = true"
            ),
        ),
        (
            "ring",
            (
                "is not convex, it fills 75 % of its hull; let it collide as convex parts with decompose = true, or as "
                "its hull with convex = true, or give simpler shapes"
            ),
        ),
        ("sheet", "is flat, and has no inside; give the shape a thickness"),
    ],
)
def test_mesh_that_cannot_collide_is_reported(tmp_path: Path, mesh: str, problem: str) -> None:
    meshes(tmp_path)
    shape = f'shape = {{ mesh = "{mesh}.stl" }}\ninertia = {{ xx = 1, yy = 1, zz = 1 }}'
    text = SCENE.replace("shape = { sphere = { radius = 0.1 } }", shape)
    assert error_of(tmp_path, text) == f"s.toml:7:9: body[0].shape: mesh '{mesh}.stl' {problem}"


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (
            "box = [0.1, 0.0, 0.1]",
            "s.toml:7:17: body[0].shape.box.y: must be positive [m], got 0.0",
        ),
        (
            "sphere = { radius = 0 }",
            "s.toml:7:31: body[0].shape.sphere.radius: must be positive [m], got 0",
        ),
    ],
)
def test_shape_without_thickness_is_reported(tmp_path: Path, shape: str, message: str) -> None:
    assert error_of(tmp_path, SCENE.replace("sphere = { radius = 0.1 }", shape)) == message


CONTACT = '[[contact]]\nbetween = ["world", "ball"]\nfriction = 0.1\n'


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (
            CONTACT + '[[contact]]\nbetween = ["ball", "world"]\nfriction = 0.2\n',
            (
                "s.toml:21:11: contact[1].between: 'ball' and 'world' have a table already, s.toml:17:1: contact[0]; "
                "remove one of them"
            ),
        ),
        (
            CONTACT + '[[exclude]]\nbetween = ["ball", "world"]\n',
            (
                "s.toml:18:11: contact[0].between: 'world' and 'ball' have a table already, s.toml:20:1: exclude[0]; "
                "remove one of them"
            ),
        ),
    ],
)
def test_pair_with_two_tables_is_reported(tmp_path: Path, tables: str, message: str) -> None:
    assert error_of(tmp_path, SCENE.replace("[simulation]", tables + "[simulation]")) == message


def test_flat_surfaces_with_elastic_constants_are_reported(tmp_path: Path) -> None:
    text = SCENE.replace("stiffness = 2e5", "stiffness = { young = 1e6, poisson = 0.3 }")
    text = text.replace("sphere = { radius = 0.1 }", "box = [0.1, 0.1, 0.1]")
    for line in ("[[ground]]", "collision = true"):
        text = text.replace(line, f'{line}\nmaterial = "rubber"')
    assert error_of(tmp_path, text) == (
        "s.toml:3:1: materials.rubber: both surfaces have young, and Hertz's law needs a sphere or a capsule; give one "
        "a stiffness [N/m]"
    )


@pytest.mark.parametrize("key", ["passes = 3", "solver_tolerance = 1e-9"])
def test_keys_of_the_solver_belong_to_convex(tmp_path: Path, key: str) -> None:
    text = SCENE[: SCENE.index("[[ground]]")].replace("collision = true", "")
    text += f'[simulation]\nintegrator = "rk4"\n{key}\n'
    name = key.partition(" ")[0]
    assert error_of(tmp_path, text) == (
        f"s.toml:17:1: simulation.{name}: 'rk4' has none; remove {name} or take integrator = \"convex\""
    )


@pytest.mark.parametrize("value", ["0.0", "-1e-9", "0.1", "nan"])
def test_solver_tolerance_is_a_small_positive_number(tmp_path: Path, value: str) -> None:
    text = SCENE + f"solver_tolerance = {value}\n"
    assert "simulation.solver_tolerance: " in error_of(tmp_path, text)


def test_slip_speed_needs_contacts(tmp_path: Path) -> None:
    text = SCENE[: SCENE.index("[[ground]]")].replace("collision = true", "")
    text += '[simulation]\nintegrator = "rk4"\nslip_speed = 0.1\n'
    assert error_of(tmp_path, text) == (
        "s.toml:17:1: simulation.slip_speed: nothing in the scene touches; remove slip_speed"
    )


def test_a_ground_with_which_no_body_collides_is_reported(tmp_path: Path) -> None:
    with pytest.warns(pysim.PysimWarning) as caught:
        pysim.load_scene(write(tmp_path, SCENE.replace("collision = true\n", "")))
    assert [str(warning.message).replace(str(tmp_path) + "/", "") for warning in caught] == [
        "s.toml:14:1: ground[0]: no body collides with it; write collision = true in a [[body]], or remove it"
    ]


def test_an_overlap_at_the_start_is_reported_by_name(tmp_path: Path) -> None:
    text = SCENE.replace("xyz = [0, 0, 0.2]", "xyz = [0, 0, 0.06]")
    with pytest.warns(pysim.PysimWarning) as caught:
        pysim.load_scene(write(tmp_path, text))
    assert str(caught[0].message) == (
        "contact world, ball: the surfaces overlap by 0.04 [m] at the start and by 0.0002 [m] at rest, so they will be "
        "thrown apart; start it higher"
    )


def with_another(shape: str, start: str) -> str:
    """The scene with a second body beside the ball."""
    other = SCENE[SCENE.index("[[body]]") : SCENE.index("[[ground]]")]
    other = other.replace('"ball"', '"other"').replace('"free"\ntype', '"flies"\ntype')
    other = other.replace("sphere = { radius = 0.1 }", shape).replace("[0, 0, 0.2]", start)
    return SCENE.replace("[[ground]]", other + "[[ground]]")


def test_bodies_that_overlap_at_the_start_are_reported(tmp_path: Path) -> None:
    text = with_another("sphere = { radius = 0.1 }", "[0.1, 0, 0.2]")
    with pytest.warns(pysim.PysimWarning) as caught:
        pysim.load_scene(write(tmp_path, text))
    assert str(caught[0].message) == (
        "contact ball, other: the surfaces overlap by 0.1 [m] at the start and by 0.0002 [m] at rest, so they will be "
        "thrown apart; move one of them, or add an [[exclude]]"
    )


def test_bodies_that_collide_need_no_ground(tmp_path: Path) -> None:
    text = with_another("sphere = { radius = 0.1 }", "[0.5, 0, 0.2]")
    text = text.replace("[[ground]]\nplane = { normal = [0, 0, 1], offset = 0.0 }", "")
    scene = pysim.load_scene(write(tmp_path, text))
    assert scene.settings.integrator == "convex"
    assert error_of(tmp_path, text + 'integrator = "variational"\n').endswith(
        "simulation.integrator: 'variational' computes no contacts, and bodies of the scene collide; take "
        '"convex", or remove collision from the bodies'
    )


def test_a_contact_that_sinks_is_reported_with_the_stiffness_it_needs(tmp_path: Path) -> None:
    text = SCENE.replace("stiffness = 2e5", "stiffness = 2e5\n[materials.default]\nstiffness = 200")
    scene = pysim.load_scene(write(tmp_path, text.replace("duration = 0.1", "duration = 2.0")))
    with pytest.warns(pysim.PysimWarning) as caught:
        pysim.simulate(scene)
    assert str(caught[0].message) == (
        "contact world, ball: sinks by 0.108 [m], first at t = 0.178 s; a stiffness of 5.4e+03 [N/m] would carry the "
        "27.2 [N]"
    )


def test_a_scene_at_rest_warns_of_nothing(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pysim.simulate(pysim.load_scene(write(tmp_path, SCENE)))


def test_check_prints_the_law_of_every_pair(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from pysim.cli.checks.command import check_scene

    check_scene(write(tmp_path, SCENE))
    shown = capsys.readouterr().out
    assert "world, ball" in shown
    assert "N/m" in shown
    assert "convex" in shown


FOLLOWER = """
[[body]]
name = "arm"
mass = 1.0
inertia = { xx = 0.01, yy = 0.02, zz = 0.02 }
[[joint]]
name = "hinge"
type = "revolute"
axis = [0, 1, 0]
child = "arm"
[[body]]
name = "slider"
mass = 0.0
[[joint]]
name = "slide"
type = "prismatic"
axis = [1, 0, 0]
parent = "arm"
child = "slider"
mimic = { joint = "hinge", ratio = 0.1 }
[simulation]
duration = 0.01
step = 1e-3
integrator = "convex"
"""


def test_a_massless_follower_is_refused_by_convex_steps(tmp_path: Path) -> None:
    assert error_of(tmp_path, FOLLOWER) == (
        "s.toml:14:1: joint[1]: joint 'slide' follows 'hinge' and moves only massless bodies, "
        'which integrator = "convex" cannot step; '
        "give 'slider' a mass, the joint an armature, or take integrator = \"rk4\""
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ratio = 0.1 }", "ratio = 0.1 }\narmature = 1e-3"),
        ("mass = 0.0", "mass = 0.1\ninertia = { xx = 1e-4, yy = 1e-4, zz = 1e-4 }"),
        ('"convex"', '"rk4"'),
    ],
)
def test_remedies_of_a_massless_follower_let_it_step(tmp_path: Path, old: str, new: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pysim.PysimWarning)
        trajectory = pysim.simulate(
            pysim.load_scene(write(tmp_path, FOLLOWER.replace(old, new, 1)))
        )
    assert np.isfinite(trajectory.q).all()
