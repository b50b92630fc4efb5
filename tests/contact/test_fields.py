"""Contacts with signed distances that are written in Python.

Oracle: tests/data/reference/contact (a pendulum of length R − r, complete elliptic integral), and closed forms of
statics: what a point of the field carries, where a body comes to rest, and at which slope it slides.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.scene.convert import convert
from tests.contact.scenes import (
    SHAPES,
    STIFF,
    G,
    cam_and_follower,
    case,
    free,
    in_bowl,
    ran,
    within,
    world,
)


def pendulum_angles(trajectory: pysim.Trajectory) -> np.ndarray:
    """Angle of the centre from the lowest point of a bowl about the origin, positive towards x."""
    x, z = trajectory.q[:, 0], trajectory.q[:, 2]
    return np.arctan2(x, -z)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bowl_rolling", "bowl_sliding"])
def test_ball_swings_in_a_bowl_as_a_pendulum(tmp_path: Path, name: str) -> None:
    setup, expect = case(name)
    R, r, start = setup["bowl_radius_m"], setup["ball_radius_m"], setup["start_angle_rad"]
    x, z = (R - r) * math.sin(start), -(R - r) * math.cos(start)
    period = expect["period"]["value"]
    scene = in_bowl(
        tmp_path,
        f"{{ sphere = {{ radius = {r} }} }}",
        f"{{ xyz = [{x!r}, 0, {z!r}] }}",
        radius=R,
        surface=f"friction = {setup['mu']}\n{STIFF}\nrestitution = {{ value = 0, at = 1 }}",
        duration=10.5 * period,
        step=setup["step_s"],
        every=setup["step_s"],
        run="accuracy = 1e-4",
    )
    trajectory = ran(scene)
    angle, t = pendulum_angles(trajectory), trajectory.t
    crossings = np.flatnonzero((angle[:-1] > 0) & (angle[1:] <= 0))
    passed = t[crossings] + (t[1] - t[0]) * angle[crossings] / (
        angle[crossings] - angle[crossings + 1]
    )
    assert within(expect["period"], passed[1] - passed[0])
    speed = np.linalg.norm(np.gradient(trajectory.q[:, :3], t, axis=0), axis=1)
    assert within(
        expect["speed of the centre at the lowest point"],
        speed[crossings[0] : crossings[0] + 2].max(),
    )
    late = angle[int(9.6 * period / setup["step_s"]) :]
    assert within(expect["turning angle after ten periods"], late.max())


def test_ball_at_rest_in_a_bowl_is_carried_with_its_weight(tmp_path: Path) -> None:
    scene = in_bowl(
        tmp_path,
        "{ sphere = { radius = 0.1 } }",
        "{ xyz = [0, 0, -0.9] }",
        mass=2.0,
        surface="friction = 0.5\nstiffness = 1e5",
    )
    trajectory = ran(scene)
    assert trajectory.contact_forces[-1, 0] == pytest.approx([0, 0, 2 * G], abs=1e-6)
    depth = -trajectory.q[-1, 2] - 0.9
    assert depth == pytest.approx(2 * G / 5e4, rel=1e-6)  # two springs of 1e5 N/m in series


def test_box_rests_in_a_bowl_on_its_four_lower_corners(tmp_path: Path) -> None:
    a, R = 0.1, 1.0
    height = -math.sqrt(R * R - 2 * a * a) + a
    scene = in_bowl(
        tmp_path,
        f"{{ box = [{2 * a}, {2 * a}, {2 * a}] }}",
        f"{{ xyz = [0, 0, {height!r}] }}",
        surface=f"friction = 0\n{STIFF}",
    )
    trajectory = ran(scene)
    points = trajectory.contacts.of_row(-1)
    assert len(points.force) == 4
    down = math.sqrt(R * R - 2 * a * a) / R  # cosine of the normals to the vertical
    assert points.normal[:, 2] == pytest.approx(down, abs=1e-5)
    assert np.linalg.norm(points.force, axis=1) == pytest.approx(G / 4 / down, rel=1e-4)
    assert trajectory.q[-1, 2] == pytest.approx(height, abs=1e-5)


def plugin_error(tmp_path: Path, distance: str, bounds: str = "(-1, -1, -1), (1, 1, 1)") -> str:
    """The error of a scene whose ground is a shape with these formulas, `distance` in the 9th line of its file."""
    file = tmp_path / "own.py"
    file.write_text(
        f"""import numpy as np

from pysim.shapes import SignedDistance, shape


@shape("{tmp_path.name}")
class Own(SignedDistance):
    def distance(self, p):
        return {distance}

    def bounds(self):
        return {bounds}
""",
        "utf-8",
    )
    ground = f'[[ground]]\nfield = {{ type = "{tmp_path.name}" }}\n'
    ball = free("ball", "{ sphere = { radius = 0.1 } }", 1.0, "{ xyz = [0, 0, 0] }")
    with pytest.raises(pysim.SceneError) as error:
        world(tmp_path, ground + ball, plugins=(file,))
    assert "world.toml:" in str(error.value)
    assert f"{file}:8: Own.distance" in str(error.value)
    return str(error.value)


def test_formula_that_is_too_steep_is_refused_with_its_line(tmp_path: Path) -> None:
    assert "changes by 2 m per metre" in plugin_error(tmp_path, "2 * p[2]")


def test_formula_of_one_sign_is_refused_with_its_line(tmp_path: Path) -> None:
    text = plugin_error(tmp_path, "p[2] + 3")
    assert "is positive everywhere within the bounds, (-1, -1, -1) to (1, 1, 1)" in text
    assert "change its sign" in text


def test_formula_without_finite_value_is_refused_with_its_line(tmp_path: Path) -> None:
    assert "has the distance nan" in plugin_error(tmp_path, "p[2] + np.sqrt(p[0] - 9)")


def test_formula_that_does_not_depend_on_the_point_is_refused(tmp_path: Path) -> None:
    assert "must return a number that depends on p, got 1.0" in plugin_error(tmp_path, "1.0")


def test_field_table_names_the_plugin_and_its_keys(tmp_path: Path) -> None:
    ball = free("ball", "{ sphere = { radius = 0.1 } }", 1.0, "{ xyz = [0, 0, 0] }")
    for field, problem in {
        "{ radius = 1 }": "needs the type of a shape plugin",
        '{ type = "bowll", radius = 1 }': "unknown shape type 'bowll'; did you mean 'bowl'?",
        '{ type = "bowl" }': "Bowl needs the key radius",
        '{ type = "bowl", radius = "x" }': "ground[0].field.radius: must be float, got 'x'",
    }.items():
        with pytest.raises(pysim.SceneError, match=re.escape(problem)):
            world(tmp_path, f"[[ground]]\nfield = {field}\n{ball}", plugins=(SHAPES / "bowl.py",))


def test_scene_with_a_shape_of_its_own_is_written_as_it_was_read(tmp_path: Path) -> None:
    scene = in_bowl(tmp_path, "{ sphere = { radius = 0.1 } }", "{ xyz = [0.2, 0, -0.8] }")
    converted = tmp_path / "converted.toml"
    convert(tmp_path / "world.toml", converted, allow_code=True)
    again = pysim.load_scene(converted, allow_code=True)
    assert '[[ground]]\nfield = { type = "bowl", radius = 1.0, rim = 0.0 }' in converted.read_text(
        "utf-8"
    )
    assert (ran(again).q == ran(scene).q).all()


@pytest.mark.parametrize(
    "shape", ["cylinder = { radius = 0.02, length = 0.02 }", "sphere = { radius = 0.02 }"]
)
def test_roller_follows_the_pitch_curve_of_a_cam(tmp_path: Path, shape: str) -> None:
    R, e, r = 0.05, 0.02, 0.02
    scene = cam_and_follower(tmp_path, f"{{ {shape} }}", math.sqrt((R + r) ** 2 - e**2), R, e)
    angle, height = ran(scene).q.T
    along = e * np.sin(angle) + np.sqrt((R + r) ** 2 - (e * np.cos(angle)) ** 2)
    assert np.ptp(along) > 0.015
    assert np.abs(height - along).max() < 1e-5


def test_flat_follower_rests_on_the_side_of_a_cam_between_its_corners(tmp_path: Path) -> None:
    R, e, thickness = 0.05, 0.02, 0.02
    box = f"{{ box = [0.12, {thickness}, 0.02] }}"
    scene = cam_and_follower(tmp_path, box, R + thickness / 2, R, e)
    angle, height = ran(scene).q.T
    along = R + thickness / 2 + e * np.sin(angle)
    assert np.ptp(along) > 0.015
    assert np.abs(height - along).max() < 1e-5


def test_force_on_the_follower_is_that_of_its_pair(tmp_path: Path) -> None:
    scene = cam_and_follower(tmp_path, "{ sphere = { radius = 0.02 } }", 0.067082, 0.05, 0.02)
    trajectory = ran(scene)
    angle = trajectory.q[:, 0]
    center = 0.02 * np.column_stack([np.cos(angle), np.sin(angle)])
    normal = np.column_stack([-center[:, 0], trajectory.q[:, 1] - center[:, 1]])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    points = trajectory.contacts.of_row(-1)
    assert points.normal[0, :2] == pytest.approx(
        normal[-1], abs=1e-3
    )  # from the cam to the follower
    assert trajectory.contact_forces[-1, 0, 1] > 0  # on the follower, the second one


def test_ring_of_a_body_has_the_mass_of_a_torus_and_lies_on_a_plane(tmp_path: Path) -> None:
    R, r = 0.5, 0.1
    ring = f"""
[[ground]]
plane = {{}}
[[body]]
name = "ring"
shape = {{ field = {{ type = "torus", radius = {R}, tube = {r} }}, density = 1000 }}
collision = true
[[joint]]
name = "flies"
type = "free"
child = "ring"
start = {{ xyz = [0, 0, {r}] }}
"""
    scene = world(tmp_path, ring, plugins=(SHAPES / "torus.py",), every=0.1)
    mass = 1000 * 2 * math.pi**2 * R * r**2
    theta = scene.model.bodies[0].theta
    assert theta[0] == pytest.approx(mass, rel=5e-3)  # of a surface of triangles
    trajectory = ran(scene)
    assert trajectory.q[-1, 2] == pytest.approx(r, abs=1e-3)
    assert trajectory.contact_forces[-1, 0, 2] == pytest.approx(theta[0] * G, rel=1e-3)


def test_ball_lies_on_the_fillet_of_a_rounded_union_where_the_formula_is_zero(
    tmp_path: Path,
) -> None:
    ground = '[[ground]]\nfield = { type = "dumb-bell", length = 1.0, ball = 0.3, rod = 0.1, fillet = 0.1 }\n'
    ball = free("ball", "{ sphere = { radius = 0.05 } }", 1.0, "{ xyz = [0, 0, 0.15] }")
    scene = world(
        tmp_path,
        ground + ball,
        plugins=(SHAPES / "rounded_union.py",),
        surface=f"friction = 0.5\n{STIFF}",
        every=0.1,
    )
    trajectory = ran(scene)
    assert trajectory.q[-1, :3] == pytest.approx([0, 0, 0.15], abs=1e-5)  # on the rod
    contacts: Any = scene.spec.model.contacts
    field = contacts.grounds[0].field.shape.field
    middle = field(np.array([[0.5 - 0.3 / math.sqrt(2), 0.0, 0.3 / math.sqrt(2)]]))[0, 0]
    assert middle == pytest.approx(0, abs=1e-12)  # far from the fillet: the ball's surface
    valley = field(np.array([[0.5 - math.sqrt(0.3**2 - 0.1**2), 0.0, 0.1]]))[0, 0]
    assert valley == pytest.approx(-0.1 / 4, abs=1e-12)  # where both surfaces meet


@pytest.mark.parametrize("integrator", ["rk4", "semi_implicit", "implicit_midpoint", "dopri5"])
def test_smooth_schemes_carry_a_ball_in_a_bowl(tmp_path: Path, integrator: str) -> None:
    scene = in_bowl(
        tmp_path,
        "{ sphere = { radius = 0.1 } }",
        f"{{ xyz = [{0.9 * math.sin(0.4)}, 0, {-0.9 * math.cos(0.4)}] }}",
        surface="friction = 0\nstiffness = 1e5\nrestitution = { value = 0, at = 1 }",
        step=2e-4,
        every=0.01,
        run=f'integrator = "{integrator}"',
    )
    trajectory = ran(scene)
    energy = 0.5 * (trajectory.v[:, :3] ** 2).sum(axis=1) + G * trajectory.q[:, 2]
    assert np.ptp(energy[10:]) < 1e-3  # after the ball has pressed itself in
    distance = np.linalg.norm(trajectory.q[:, :3], axis=1)
    assert np.abs(distance - 0.9).max() < 5e-4


def test_worlds_of_a_rollout_are_those_of_runs(tmp_path: Path) -> None:
    scene = in_bowl(
        tmp_path,
        "{ box = [0.2, 0.2, 0.2] }",
        "{ xyz = [0.3, 0.1, -0.7], rpy = [0.2, 0.1, 0] }",
        surface="friction = 0.4",
        duration=0.5,
        every=0.1,
    )
    alone = ran(scene)
    q = np.tile(alone.q[0], (9, 1))
    q[1:, 0] += np.linspace(0.01, 0.08, 8)
    together = pysim.rollout(scene, q, np.zeros((9, scene.model.nv)))
    assert (together.q[0, -1] == alone.q[-1]).all()
    for k in (4, 8):
        single = pysim.rollout(scene, q[k], np.zeros(scene.model.nv))
        assert (together.q[k, -1] == single.q[-1]).all()
