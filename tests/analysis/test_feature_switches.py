"""Counts of steps in which two shapes are about to touch at other features.

Oracles: bisection of a jump of the engine's own steps, and their one-sided differences.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.typing import Array
from tests.analysis.test_gradients import BOX, scene_of
from tests.analysis.test_scheme_gradients import scene_of as scheme_scene_of

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")  # of starts and planes
CUBES = "[materials.default]\nfriction = 0.5\nstiffness = 2e4\n" + "".join(
    f"""
[[body]]
name = "{name}"
mass = 1.0
inertia = {{ xx = 0.01, yy = 0.01, zz = 0.01 }}
collision = [{{ box = [0.2, {width}, 0.2] }}]
[[joint]]
name = "{name}"
type = "free"
child = "{name}"
"""
    for name, width in (("low", 0.3), ("high", 0.2))
)

SLIDER = """
gravity = [0, 0, 0]
[[body]]
name = "slider"
mass = 1.0
[[joint]]
name = "slider"
type = "prismatic"
axis = [0, 0, 1]
child = "slider"
"""


def loss(q: Array, v: Array) -> tuple[Array, Array, Array]:
    return v.sum((1, 2)), np.zeros_like(q), np.ones_like(v)


def corner_on_corner(scene: pysim.Scene, z: Array) -> pysim.Worlds:
    """Return worlds in which a cube overlaps another by 1 mm along x, and is at a height."""
    worlds = pysim.Worlds(scene, len(z))
    worlds.q[:, 7:10] = [0.199, 0.01, 0.0]
    worlds.q[:, 9] = z
    return worlds


def after_a_step(scene: pysim.Scene, z: Array) -> Array:
    worlds = corner_on_corner(scene, z)
    worlds.step(steps=1)
    return np.array(worlds.v)


def heights_beside_the_jump(scene: pysim.Scene) -> tuple[float, float]:
    """Return heights of the cube between which its normal turns from along x to along z, by bisection."""
    low, high = 0.198, 0.2
    for _ in range(60):
        middle = (low + high) / 2
        v = after_a_step(scene, np.array([low, middle, high]))
        jumps = np.linalg.norm(np.diff(v, axis=0), axis=1)
        low, high = (low, middle) if jumps[0] > jumps[1] else (middle, high)
    v = after_a_step(scene, np.array([low, high]))
    assert high - low < 1e-15
    assert np.linalg.norm(v[1] - v[0]) > 1e-2
    return low, high


def test_a_normal_that_turns_between_two_faces_is_a_switch_of_features(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, CUBES)
    low, high = heights_beside_the_jump(scene)
    worlds = corner_on_corner(scene, np.array([low - 1e-6, low, high, high + 1e-6]))
    switches = pysim.gradient(worlds, steps=1, loss=loss).switches
    assert [kind for kind, _ in switches] == ["feature"]
    (counts,) = switches.values()
    np.testing.assert_array_equal(counts, [0, 1, 1, 0])


def test_four_corners_that_begin_to_touch_are_one_switch_of_a_step(tmp_path: Path) -> None:
    text = BOX[: BOX.index("at = {")] + BOX[BOX.index("[[ground]]") :]
    worlds = pysim.Worlds(scene_of(tmp_path, "gravity = [0, 0, 0]\n" + text), 2)
    worlds.q[:, 2] = [0.08, 0.081]
    switches = pysim.gradient(worlds, steps=3, loss=loss).switches
    assert {key: count.tolist() for key, count in switches.items()} == {
        ("touching", "world, box"): [3, 0]
    }


def test_a_box_that_tumbles_on_a_plane_meets_no_switch_of_features(tmp_path: Path) -> None:
    worlds = pysim.Worlds(scene_of(tmp_path, BOX), 4)
    worlds.v[:] = np.random.default_rng(1).normal(0, 1.0, (4, 6))
    worlds.step(steps=120)
    found = pysim.gradient(worlds, steps=100, loss=loss)
    assert np.any(worlds.contacts)
    assert not any(kind == "feature" for kind, _ in found.switches)


def test_the_stop_of_a_joint_that_mimics_another_is_a_switch_of_its_name(tmp_path: Path) -> None:
    joint = '[[joint]]\nname = "{0}"\ntype = "prismatic"\naxis = [{1}]\nchild = "{0}"\n{2}\n'
    body = '[[body]]\nname = "{0}"\nmass = 1.0\n'
    follow = 'mimic = {{ joint = "first", ratio = {0} }}\nlimits = {{ upper = {1} }}'
    text = "gravity = [0, 0, 0]\n" + "".join(
        body.format(name) + joint.format(name, axis, keys)
        for name, axis, keys in (
            ("free", "1, 0, 0", follow.format(2.0, 1.0)),
            ("first", "0, 1, 0", ""),
            ("held", "0, 0, 1", follow.format(-1.0, 0.0)),
        )
    )
    worlds = pysim.Worlds(scene_of(tmp_path, text), 1)
    switches = pysim.gradient(worlds, steps=1, loss=loss).switches
    assert list(switches) == [("stop", "held")]


@pytest.mark.parametrize("damping", [0.0, 50.0])
def test_the_damper_of_a_stop_begins_at_a_switch(damping: float, tmp_path: Path) -> None:
    """A step that begins at the limit and ends beyond has two slopes. Oracle: one-sided differences."""
    text = SLIDER + f"limits = {{ upper = 0.2, stiffness = 1e4, damping = {damping} }}\n"
    scene, d = scene_of(tmp_path, text), 1e-6
    worlds = pysim.Worlds(scene, 4)
    worlds.q[:, 0], worlds.v[:, 0] = [0.2 - d, 0.2, 0.2 + d, 0.2 + 2 * d], 1.0
    start = worlds.save()
    worlds.step()
    slopes = np.diff(worlds.v[:, 0]) / d
    assert slopes[1] == pytest.approx(slopes[2], abs=1e-3)
    assert (abs(slopes[0] - slopes[1]) > 0.1) == (damping > 0)
    worlds.load(start)
    switches = pysim.gradient(worlds, steps=1, loss=loss).switches
    expected = {("stop", "slider"): [0, 1, 0, 0]} if damping else {}
    assert {key: count.tolist() for key, count in switches.items()} == expected


@pytest.mark.parametrize("scheme", ["convex", "rk4"])
def test_an_edge_between_two_cells_of_a_height_field_is_a_switch_of_features(
    scheme: str, tmp_path: Path
) -> None:
    """The lowest corner of a box is on a ridge, where the normal turns while the point stays."""
    np.save(tmp_path / "heights.npy", np.array([[0.0, 0.3, 0.0]] * 3))
    text = CUBES[: CUBES.index('[[body]]\nname = "high"')]
    text += '[[ground]]\nheight_field = { file = "heights.npy", size = [2, 2] }\n'
    scene = scene_of(tmp_path, "gravity = [0, 0, 0]\n" + text)
    if scheme != "convex":
        scene = scheme_scene_of(tmp_path, "gravity = [0, 0, 0]\n" + text, scheme)
    worlds = pysim.Worlds(scene, 3)
    x, y, z = 0.1, 0.15, 0.1  # half lengths of the box, which is turned by a little about the ridge
    turn = np.array([np.sin(0.2), 0.0, 0.0, np.cos(0.2)])
    worlds.q[:, 3:] = turn
    R = np.array([[1, 0, 0], [0, np.cos(0.4), -np.sin(0.4)], [0, np.sin(0.4), np.cos(0.4)]])
    corner = R @ np.array([-x, -y, -z])
    worlds.q[:, :3] = np.array([0.0, 0.0, 0.3 - 1e-4]) - corner
    worlds.q[:, 0] += [-1e-4, 0.0, 1e-4]
    switches = pysim.gradient(worlds, steps=1, loss=loss).switches
    counts = {key: count.tolist() for key, count in switches.items() if key[0] == "feature"}
    assert counts == {("feature", "world, low"): [0, 1, 0]}


def test_rims_that_turn_fast_meet_no_switch_of_features(tmp_path: Path) -> None:
    """The lowest point of a rim runs around it while a cylinder nearly stands on its cap."""
    text = CUBES[: CUBES.index('[[body]]\nname = "high"')]
    text = text.replace("box = [0.2, 0.3, 0.2]", "cylinder = { radius = 0.08, length = 0.2 }")
    ground = "[[ground]]\nplane = { normal = [0, 0, 1], offset = -0.1 }\n"
    worlds = pysim.Worlds(scene_of(tmp_path, text + ground), 8)
    worlds.v[:] = np.random.default_rng(1).normal(0, 0.3, worlds.v.shape)
    worlds.step(steps=30)
    found = pysim.gradient(worlds, steps=100, loss=loss)
    assert np.any(worlds.contacts)
    assert not any(kind == "feature" for kind, _ in found.switches)
