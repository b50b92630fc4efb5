"""Runs of bodies that land, roll and are gripped have no jumps over height, slope and speed.

The oracle is the run itself, as in test_continuity.py: the largest change of a sweep is bisected.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.typing import Array
from tests.contact.body_scenes import GROUND, free, world
from tests.contact.test_continuity import ROUNDING, largest_jump

BOX = "{ box = [0.2, 0.15, 0.1] }"
DISC = "{ cylinder = { radius = 0.1, length = 0.05 } }"
FAST = [0.3, 0.1, -0.8, 0.0, 1.0, 0.0]
BODIES = {  # shape, turn, velocity, number of q that is swept, its range
    "box over height": (BOX, [0.3, 0.2, 0.5], FAST, 2, (0.13, 0.15)),
    "disc over height": (DISC, [0.5, 0, 0], [0.3, 0, -0.3, 0.1, 2.0, 1.0], 2, (0.075, 0.09)),
    "box over slope": (BOX, [0.0, 0.02, 0.3], [0.2, 0, -0.3, 0, 0, 0], 3, (-0.01, 0.01)),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_body_that_lands_has_no_jump(tmp_path: Path, name: str) -> None:
    shape, turn, velocity, number, (low, high) = BODIES[name]
    text = free("body", shape, 1.0, f"{{ xyz = [0, 0, 0.3], rpy = {turn} }}")
    scene = world(tmp_path, text + GROUND, surface="friction = 0.6")

    def start(x: float) -> tuple[Array, Array]:
        q = np.array(scene.state.q)
        q[2], q[number] = 0.056, x
        q[3:] /= np.linalg.norm(q[3:])
        return q, np.array(velocity, float)

    assert largest_jump(scene, start, low, high, 60, count=160) <= ROUNDING


def test_a_rim_that_lands_on_a_box_has_no_jump(tmp_path: Path) -> None:
    """Its normal was known to 1e-7, and the speed jumped by 8e-8."""
    box = free("box", "{ box = [0.3, 0.3, 0.1] }", 1.0, "{ xyz = [0, 0, 0.05] }")
    can = "{ cylinder = { radius = 0.05, length = 0.1 } }"
    text = box + free("can", can, 0.5, "{ xyz = [0.02, 0.03, 0.17], rpy = [0.4, 0.2, 0] }")
    scene = world(tmp_path, text + GROUND, surface="friction = 0.6")

    def start(height: float) -> tuple[Array, Array]:
        q, v = np.array(scene.state.q), np.zeros(12)
        q[9], v[6], v[8] = height, 0.2, -0.5
        return q, v

    assert largest_jump(scene, start, 0.164, 0.18, 60, count=160) <= ROUNDING


def test_a_gripper_has_no_jump_over_its_speed() -> None:
    scene = pysim.load_scene(Path(__file__).parents[2] / "scenes" / "gripper.toml")

    def start(speed: float) -> tuple[Array, Array]:
        v = np.array(scene.state.v)
        v[-4] += speed
        return np.array(scene.state.q), v

    assert largest_jump(scene, start, -0.2, 0.2, 60, count=160) <= ROUNDING
