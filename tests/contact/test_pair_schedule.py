"""Schedule of the pairs that a step tests: results do not depend on it.

Oracle: the same steps in calls of their own, where each tests all pairs, bit for bit.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from tests.contact.convex_worlds import ConvexWorlds
from tests.contact.scenes import GROUND, anymal, case, free, world

STEPS = 400


def advanced(
    scene: pysim.Scene, q: np.ndarray, v: np.ndarray, calls: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """q, v and the sum of impulses after equal steps, in as many records of worlds; each begins with all pairs."""
    everyone = np.arange(len(q), dtype=np.int32)
    worlds, pushed = ConvexWorlds(scene, q, v), 0.0
    for k in range(calls):
        if k > 0:
            saved = worlds.engine.save(everyone)
            worlds = ConvexWorlds(scene, q, v)
            worlds.engine.load(saved, everyone)
        worlds.step(STEPS // calls)
        pushed += worlds.impulses()
    return worlds.q, worlds.v, pushed


def spinning_bodies() -> str:
    """Rods and balls that meet at high speed and with a fast spin."""
    rod = "{ capsule = { radius = 0.02, length = 0.6 } }"
    return (
        free("rod", rod, 0.5, "{ xyz = [0, 0, 1.5], v = [0, 0, -3, 0, 60, 5] }")
        + free(
            "ball",
            "{ sphere = { radius = 0.1 } }",
            1.0,
            "{ xyz = [4, 0, 1.2], v = [-20, 0, 2, 9, 0, 0] }",
        )
        + free(
            "box",
            "{ box = [0.3, 0.2, 0.1] }",
            1.0,
            "{ xyz = [0, 0, 0.4], v = [0, 0, 0, 20, -9, 4] }",
        )
        + GROUND
    )


def swinging_links() -> str:
    """A cart, a ball joint and hinges whose links hit each other and the ground."""
    text = ""
    for k, (kind, parent, at) in enumerate(
        (
            ("prismatic", "world", 0.9),
            ("ball", "link 0", 0.0),
            ("revolute", "link 1", -0.5),
            ("universal", "link 2", -0.5),
        )
    ):
        axis = "axis = [1, 0, 0]" if kind == "prismatic" else ""
        axis = "axis = [0, 1, 0]" if kind == "revolute" else axis
        start = "start = { rpy = [0.3, 1.8, 0] }" if kind == "ball" else ""
        text += f"""
[[body]]
name = "link {k}"
shape = {{ capsule = {{ radius = 0.04, length = 0.4 }}, at = {{ xyz = [0, 0, -0.25] }} }}
mass = 1.0
collision = true
[[joint]]
name = "joint {k}"
type = "{kind}"
parent = "{parent}"
child = "link {k}"
at = {{ xyz = [0, 0, {at}] }}
{axis}
{start}
"""
    return text + GROUND


def piled_boxes() -> str:
    """Six columns of three boxes a millimetre apart, and a ball that hits one of them from above."""
    box = "{ box = [0.1, 0.1, 0.1] }"
    return (
        "".join(
            free(
                f"box {i}{j}{k}",
                box,
                1.0,
                f"{{ xyz = [{0.101 * i}, {0.101 * j}, {0.0505 + 0.101 * k}] }}",
            )
            for i in range(3)
            for j in range(2)
            for k in range(3)
        )
        + free(
            "ball",
            "{ sphere = { radius = 0.06 } }",
            2.0,
            "{ xyz = [0.12, 0.06, 0.8], v = [0, 0, -4, 0, 0, 0] }",
        )
        + GROUND
    )


def struck_balls() -> str:
    """Two balls at rest a millimetre apart, and a heavy one that drives the first into the second in a step."""
    ball = "{ sphere = { radius = 0.1 } }"
    return (
        free("first", ball, 1.0, "{ xyz = [0, 0, 1] }")
        + free("second", ball, 1.0, "{ xyz = [0.201, 0, 1] }")
        + free("heavy", ball, 100.0, "{ xyz = [-0.2495, 0, 1], v = [3, 0, 0, 0, 0, 0] }")
        + '[[contact]]\nbetween = ["first", "heavy"]\nstiffness = 1e8\n'
    )


def test_a_pair_that_an_impact_closes_within_a_step_is_not_left_out(tmp_path: Path) -> None:
    scene = world(tmp_path, struck_balls(), surface="friction = 0.4", gravity=(0, 0, 0))
    q, v = np.tile(scene.state.q, (5, 1)), np.tile(scene.state.v, (5, 1))
    q[:, -7] -= np.linspace(0, 0.01, 5)  # the heavy ball strikes in other steps
    whole, apart = advanced(scene, q, v, 1), advanced(scene, q, v, STEPS)
    assert apart[2] > 1
    np.testing.assert_array_equal(whole[0], apart[0])
    np.testing.assert_array_equal(whole[1], apart[1])


@pytest.mark.parametrize("bodies", [spinning_bodies, swinging_links, piled_boxes])
def test_steps_do_not_depend_on_the_pairs_that_are_left_out(
    tmp_path: Path, rng: np.random.Generator, bodies
) -> None:
    scene = world(
        tmp_path, bodies(), surface="friction = 0.4\nrestitution = { value = 0.5, at = 1 }"
    )
    q, v = np.tile(scene.state.q, (5, 1)), np.tile(scene.state.v, (5, 1))
    v += (0.01 if bodies is piled_boxes else 1.0) * rng.normal(size=v.shape)
    whole, apart = advanced(scene, q, v, 1), advanced(scene, q, v, STEPS)
    assert apart[2] > 1
    np.testing.assert_array_equal(whole[0], apart[0])
    np.testing.assert_array_equal(whole[1], apart[1])


def test_a_robots_own_links_are_tested_in_time(tmp_path: Path, rng: np.random.Generator) -> None:
    setup, _ = case("anymal_stand")
    scene = anymal(tmp_path, setup | {"kp": 0.0, "kd": 0.0}, 0.8)
    q, v = np.tile(scene.state.q, (9, 1)), np.tile(scene.state.v, (9, 1))
    v[:, 3:] += 8 * rng.normal(size=(9, v.shape[1] - 3))
    whole, apart = advanced(scene, q, v, 1), advanced(scene, q, v, STEPS)
    assert apart[2] > 10
    np.testing.assert_array_equal(whole[0], apart[0])
    np.testing.assert_array_equal(whole[1], apart[1])


def moving_anymals(folder: Path, rng: np.random.Generator) -> tuple[pysim.Scene, pysim.Worlds]:
    """Eleven worlds, a pack and worlds alone, whose links meet each other and the ground."""
    setup, _ = case("anymal_stand")
    scene = anymal(folder, setup | {"kp": 0.0, "kd": 0.0}, 0.8)
    worlds = pysim.Worlds(scene, 11)
    worlds.v[:, 3:] += 8 * rng.normal(size=worlds.v[:, 3:].shape)
    return scene, worlds


def without_schedules(scene: pysim.Scene, worlds: pysim.Worlds) -> pysim.Worlds:
    """Other worlds in the same states."""
    other = pysim.Worlds(scene, len(worlds))
    other.load(worlds.save())
    return other


def test_a_schedule_kept_between_calls_changes_no_bit(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    scene, worlds = moving_anymals(tmp_path, rng)
    whole = without_schedules(scene, worlds)
    for _ in range(80):
        worlds.step(steps=5)
    whole.step(steps=400)
    np.testing.assert_array_equal(worlds.q, whole.q)
    np.testing.assert_array_equal(worlds.v, whole.v)


def test_a_schedule_is_not_taken_by_another_state(tmp_path: Path, rng: np.random.Generator) -> None:
    """States are written, reset and copied from other worlds, and some worlds are stepped alone."""
    scene, worlds = moving_anymals(tmp_path, rng)
    for k in range(40):
        worlds.step(steps=5, where=np.arange(11) != 4 if k % 7 == 3 else None)
        if k % 3 == 0:
            worlds.q[k % 11, 2] += 0.02 * rng.normal()
        if k % 4 == 1:
            worlds.reset(k % 11)
        if k % 5 == 2:
            worlds.v[:, 6:] *= -1.0
        if k % 6 == 4:
            worlds.copy(k % 11, [(k + 3) % 11])
        other = without_schedules(scene, worlds)
        for own in (worlds, other):
            own.step(steps=3)
        np.testing.assert_array_equal(worlds.q, other.q)
        np.testing.assert_array_equal(worlds.v, other.v)
