"""Paths of ropes that are drawn. Oracles: the lengths that the engine's sensors measure; points on their obstacles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pysim
from pysim.render.fittings.rope_path import ARC, RopePoint, count_places, rope_places, rope_points
from pysim.render.options import render_options
from pysim.render.player import Player
from pysim.render.window import offscreen
from pysim.trajectory.interpolation import pose_matrices
from tests.scene_runs import SCENES

if TYPE_CHECKING:
    from pysim.trajectory import Trajectory

OBSTACLES = {
    "sphere": '{ body = "world", sphere = 0.3, at = { xyz = [0, 0, 0.1] } }',
    "sphere_below": '{ body = "world", sphere = 0.3, side = [0, 0, -1] }',
    "cylinder": '{ body = "world", cylinder = 0.3, at = { rpy = [1.2, 0.3, 0] } }',
    "cylinder_short": '{ body = "world", cylinder = 0.3, length = 0.2, at = { rpy = [1.2, 0.3, 0] } }',
    "cylinder_far": '{ body = "world", cylinder = 0.2, at = { rpy = [1.4, 0, 0] }, side = [0, -1, 0] }',
    "conditional": '{ body = "world", point = [0, 0, 0.5], when = { coordinate = "slide", above = 0.0 } }',
    "moving": (
        '{ body = "world", point = [0, 0, 0.5], moves = '
        '[{ coordinate = "slide", axis = [1, 2, 0], polynomial = [0.1, 0.4, -0.2] }] }'
    ),
    "moving_conditional": (
        '{ body = "world", when = { coordinate = "slide", above = 0.0 }, moves = '
        '[{ coordinate = "slide", axis = [0, 1, 0], spline = { x = [-1, 0, 0.4, 1], y = [0, 0.3, 0.2, 0.5] } }] }'
    ),
    "ring": '{ body = "world", cylinder = 0.1, at = { xyz = [0, 0, 0.4], rpy = [1.4, 0.2, 0] }, inside = true }',
    "hole": '{ body = "world", sphere = 0.1, at = { xyz = [0.1, 0.3, 0.3] }, inside = true }',
    "strands": (
        '{ body = "world", point = [0, 0, 0.5], multiplicity = 3 }, '
        '{ body = "world", point = [0.2, 0, 0], multiplicity = 0 }'
    ),
}
SCENE = """
name = "paths"
gravity = [0, 0, 0]

[[body]]
name = "ball"
shape = { sphere = { radius = 0.05 }, density = 1000 }

[[joint]]
name = "slide"
type = "prismatic"
axis = [0.3, 0.1, 1.0]
at = { xyz = [0.7, 0.1, 0.0] }
child = "ball"
start = { q = -1.0, v = 2.0 }

[simulation]
duration = 1.0
step = 0.01
"""
NOTHING = '[[signal]]\nname = "nothing"\ntype = "constant"\nvalue = 0.0\nunit = "N"\n'
PATH = """
[[sensor]]
name = "{name}"
type = "distance"
path = [{{ body = "world", point = [-0.8, 0.05, 0.02] }}, {part}, {{ body = "ball", point = [0, 0.02, 0] }}]

[[actuator]]
name = "{name} rope"
type = "winch"
path = [{{ body = "world", point = [-0.8, 0.05, 0.02] }}, {part}, {{ body = "ball", point = [0, 0.02, 0] }}]
command = "nothing"
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Trajectory:
    text = SCENE + NOTHING
    text += "".join(PATH.format(name=name, part=part) for name, part in OBSTACLES.items())
    path = tmp_path_factory.mktemp("paths") / "paths.toml"
    path.write_text(text, "utf-8")
    return pysim.simulate(pysim.load_scene(path))


def matrices_of(run: Trajectory) -> np.ndarray:
    world = np.tile(np.eye(4), (len(run), 1, 1, 1))
    return np.concatenate([pose_matrices(run.poses), world], axis=1)


def entry_of(run: Trajectory, name: str) -> dict[str, Any]:
    return next(dict(e) for e in run.header.connections if e["name"] == name)


@pytest.mark.parametrize("name", OBSTACLES)
def test_a_path_is_as_long_as_the_sensor_measures(run: Trajectory, name: str) -> None:
    points = rope_points(entry_of(run, f"{name} rope"))
    values = [{"q.slide": float(q)} for q in run.q[:, 0]]
    found = [rope_places(points, M, v)[1] for M, v in zip(matrices_of(run), values, strict=True)]
    measured = run.signals[f"{name}.length"]
    np.testing.assert_allclose(found, measured, rtol=0, atol=1e-12)
    straight = np.linalg.norm(run.poses[:, 0, :3] + [0, 0.02, 0] - [-0.8, 0.05, 0.02], axis=1)
    assert (measured > straight + 1e-3).any()


@pytest.mark.parametrize("name", ["sphere", "cylinder", "cylinder_far"])
def test_an_arc_lies_on_its_obstacle(run: Trajectory, name: str) -> None:
    points = rope_points(entry_of(run, f"{name} rope"))
    obstacle = points[1]
    touching = 0
    for matrices in matrices_of(run):
        places, length = rope_places(points, matrices, {})
        assert len(places) == count_places(points) == ARC + 3
        local = (places[1:-1] - obstacle.pose[:3, 3]) @ obstacle.pose[:3, :3]
        across = local[:, :2] if obstacle.kind == "cylinder" else local
        drawn = np.linalg.norm(np.diff(places, axis=0), axis=1).sum()
        assert drawn <= length + 1e-12
        if np.ptp(places[1:-1], axis=0).max() > 0:
            touching += 1
            radii = np.linalg.norm(across, axis=1)
            np.testing.assert_allclose(radii, obstacle.radius, rtol=1e-12)
    assert touching > 10


def test_a_point_in_the_middle_of_nothing_is_passed_straight() -> None:
    ends = [np.eye(4), np.eye(4)]
    ends[1][0, 3] = 1.0
    up = np.eye(4)
    up[2, 3] = 1.0
    points = [
        RopePoint(-1, ends[0]),
        RopePoint(-1, up, "conditional", coordinate="knee", ends=(0.5, np.inf)),
        RopePoint(-1, ends[1]),
    ]
    world = np.eye(4)[None]
    assert rope_places(points, world, {"q.knee": 0.4})[1] == 1.0
    assert rope_places(points, world, {"q.knee": 0.6})[1] == pytest.approx(1 + np.sqrt(2))
    assert rope_places(points, world, {})[1] == pytest.approx(1 + np.sqrt(2))


def test_ropes_of_winches_and_their_pulleys_are_drawn(run: Trajectory, tmp_path: Path) -> None:
    run.save(tmp_path / "run.h5")
    options = render_options(pysim.load_trajectory(tmp_path / "run.h5"), size=(64, 48))
    with offscreen(options) as plotter:
        player = Player(plotter, pysim.load_trajectory(tmp_path / "run.h5"), options)
        kinds = [line.kind for line in player._plan.lines]
        fixed = [part.kind for part in player._plan.fixed]
        player.show(0.2)
        early = player.values
        player.show(0.9)
    assert kinds == ["rope"] * len(OBSTACLES)
    assert (fixed.count("ball"), fixed.count("pulley")) == (3, 4)
    assert early["q.slide"] < 0 < player.values["q.slide"]


@pytest.mark.parametrize(("scene", "ropes"), [("rope_and_pulley", 1), ("cable_robot", 8)])
def test_the_ropes_of_a_scene_are_in_its_trajectory(scene: str, ropes: int) -> None:
    changes = {"simulation.duration": 0.02}
    run = pysim.simulate(pysim.load_scene(SCENES / f"{scene}.toml", overrides=changes))
    entries = [e for e in run.header.connections if e["role"] in {"force", "actuator"}]
    assert len(entries) == ropes
    for entry in entries:
        assert rope_places(rope_points(entry), matrices_of(run)[0], {})[1] > 1.0


def over(radius: float, a: Any, b: Any, side: tuple[float, float, float] = (0, 0, 0)) -> Any:
    """The places and the length of a path from a to b over a sphere about the origin."""
    points = [RopePoint(-1, pose_at(a)), RopePoint(-1, np.eye(4), "sphere", radius, side)]
    points.append(RopePoint(-1, pose_at(b)))
    return rope_places(points, np.eye(4)[None], {})


def pose_at(point: Any) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, 3] = point
    return pose


@pytest.mark.parametrize("side", [(0.0, 0.0, 0.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0)])
def test_a_path_through_the_centre_of_a_sphere_takes_any_plane_or_that_of_its_side(
    side: tuple[float, float, float],
) -> None:
    """Length 2 √(d² − r²) + r (π − 2 arccos(r / d)) from d = 1 to d = 1 on the other side."""
    places, length = over(0.5, (-1, 0, 0), (1, 0, 0), side)
    expected = 2 * np.sqrt(0.75) + 0.5 * (np.pi - 2 * np.arccos(0.5))
    assert length == pytest.approx(expected, rel=1e-12)
    middle = np.asarray(places)[1:-1]
    np.testing.assert_allclose(np.linalg.norm(middle, axis=1), 0.5, rtol=1e-12)
    if side[1]:
        assert middle[:, 1].max() > 0.4


def test_a_path_from_inside_a_sphere_is_straight() -> None:
    """The engine wraps over what lies between the ends only."""
    _, length = over(0.5, (0.1, 0, 0), (2, 0, 0))
    assert length == pytest.approx(1.9, rel=1e-14)


def test_a_path_over_an_ellipsoid_is_drawn_outside_it_and_about_as_short(tmp_path: Path) -> None:
    part = '{ body = "world", ellipsoid = [0.4, 0.3, 0.25], at = { xyz = [0, 0, 0.1] } }'
    file = tmp_path / "s.toml"
    file.write_text(SCENE + NOTHING + PATH.format(name="over", part=part), "utf-8")
    run = pysim.simulate(pysim.load_scene(file))
    points, wrapped = rope_points(entry_of(run, "over rope")), 0
    for matrices, measured in zip(matrices_of(run), run.signals["over.length"], strict=True):
        places, length = rope_places(points, matrices, {})
        off = np.linalg.norm((places - [0, 0, 0.1]) / [0.4, 0.3, 0.25], axis=1)
        assert off.min() > 1 - 1e-9
        assert length == pytest.approx(float(measured), rel=3e-3)
        wrapped += off.min() < 1 + 1e-9
    assert wrapped > 10
