"""Posing of a mechanism by sliders, without a window; the oracle is forward kinematics at the chosen coordinates."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.algorithms import forward_kinematics
from pysim.render.options import render_options
from pysim.render.window import capture, offscreen
from pysim.render.windows.posing import EDGE_WIDTH, PANEL, ROW, Poser, coordinates_of
from pysim.trajectory.record import Trajectory

pytestmark = pytest.mark.render
SCENES = Path(__file__).parents[2] / "scenes"
LIMITED = """
name = "arm"
[[body]]
name = "upper"
shape = { box = [0.4, 0.1, 0.1], at = { xyz = [0.2, 0, 0] }, density = 1000 }
[[body]]
name = "lower"
shape = { box = [0.4, 0.1, 0.1], at = { xyz = [0.2, 0, 0] }, density = 1000 }
[[joint]]
name = "shoulder"
type = "revolute"
child = "upper"
axis = [0, 1, 0]
limits = { lower = -0.5, upper = 1.5 }
start = { q = 0.25 }
[[joint]]
name = "wrist"
type = "ball"
parent = "upper"
child = "lower"
at = { xyz = [0.4, 0, 0] }
"""


def poser_of(path: Path) -> Iterator[Poser]:
    scene = pysim.load_scene(path)
    trajectory = Trajectory.of(scene.model, [0.0], scene.state.q[None])
    options = render_options(trajectory, size=(640, 360), supersample=1)
    with offscreen(options) as plotter:
        yield Poser(plotter, scene.model, options, scene.state)


@pytest.fixture
def arm(tmp_path: Path) -> Iterator[Poser]:
    (tmp_path / "arm.toml").write_text(LIMITED, "utf-8")
    yield from poser_of(tmp_path / "arm.toml")


@pytest.fixture
def linkage() -> Iterator[Poser]:
    yield from poser_of(SCENES / "four_bar.toml")


def test_every_coordinate_has_a_slider_over_its_limits(arm: Poser) -> None:
    found = coordinates_of(arm.model, arm.start.q)
    assert [c.name for c in found] == ["shoulder", "wrist.wx", "wrist.wy", "wrist.wz"]
    assert (found[0].ends, found[0].start, found[0].limited) == ((-0.5, 1.5), 0.25, True)
    assert (found[1].ends, found[1].start, found[1].limited) == ((-np.pi, np.pi), 0.0, False)


def test_the_keys_are_shown_and_hidden(arm: Poser) -> None:
    letters = arm._help._letters.actor
    assert letters.GetInput() == ""
    arm.key("h")
    assert letters.GetInput() == Poser.help
    arm.key("h")
    assert letters.GetInput() == ""


def test_a_drag_of_a_slider_poses_the_joint(arm: Poser) -> None:
    left, y = 640 - PANEL, 360 - EDGE_WIDTH - ROW + 5
    begin, end = left + EDGE_WIDTH + 44, 640 - EDGE_WIDTH - 44
    before = capture(arm.plotter, arm.player.options)
    arm.press("Left", begin + 0.5 * (end - begin), y)
    assert arm.q[0] == pytest.approx(0.5, abs=0.02)
    arm.move(end + 100, 0.0)
    arm.release()
    assert arm.q[0] == pytest.approx(1.5)
    matrix = arm.player.actors[0][0].user_matrix
    np.testing.assert_allclose(matrix, forward_kinematics(arm.model, arm.q)[0], atol=1e-12)
    assert (capture(arm.plotter, arm.player.options) != before).any()


def test_a_ball_turns_about_the_axes_of_its_sliders(arm: Poser) -> None:
    arm.set("wrist.wz", 0.7)
    np.testing.assert_allclose(arm.q[1:], [0, 0, np.sin(0.35), np.cos(0.35)], atol=1e-12)
    arm.key("0")
    np.testing.assert_array_equal(arm.q, arm.start.q)


def test_a_loop_stays_closed_while_a_joint_is_dragged(linkage: Poser) -> None:
    linkage.set("drive", 1.2)
    assert linkage.q[0] == pytest.approx(1.2, abs=1e-9)
    closed = pysim.loops.assemble(linkage.model, linkage.q)
    np.testing.assert_allclose(closed.q, linkage.q, atol=1e-8)
    shown = [row.slider.value for row in linkage.rows]
    np.testing.assert_allclose(shown, linkage.q, atol=1e-6)


def test_a_pose_that_does_not_close_is_not_taken(linkage: Poser) -> None:
    before = linkage.q.copy()
    linkage.set("swing", 3.3)  # crank and coupler are too long to reach it
    np.testing.assert_array_equal(linkage.q, before)


def test_more_sliders_than_fit_are_scrolled(arm: Poser) -> None:
    arm.plotter.window_size = [640, int(2 * EDGE_WIDTH + 2 * ROW + 2)]
    arm.resize()
    first = arm.controls[0]
    y = arm.plotter.window_size[1] - EDGE_WIDTH - ROW + 5
    assert first.contains(640 - PANEL / 2, y)
    arm.move(600.0, y)
    arm.wheel(-1)
    assert not first.contains(640 - PANEL / 2, y)
    assert arm.controls[1].contains(640 - PANEL / 2, y)
