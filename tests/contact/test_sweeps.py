"""Runs of bodies and robots that land, roll, spin, walk and grip have no jumps over height, slope, speed and target.

The oracle is the run itself, as in test_continuity.py: intervals of a sweep are divided to neighbouring numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.typing import Array
from tests.contact.scenes import GROUND, anymal, finger, free, lowest_foot, world
from tests.contact.test_continuity import ROUNDING, largest_jump, over_targets, runs
from tests.elements.blocks import table
from tests.nightly import every_other_at_night

SHAPES: dict[
    str, tuple[str, Callable[[Array], Any]]
] = {  # and how far each reaches down along n, on its axes
    "sphere": ("{ sphere = { radius = 0.06 } }", lambda n: 0.06 * np.linalg.norm(n)),
    "box": ("{ box = [0.2, 0.15, 0.1] }", lambda n: abs(n) @ [0.1, 0.075, 0.05]),
    "capsule": (
        "{ capsule = { radius = 0.04, length = 0.16 } }",
        lambda n: 0.04 + 0.08 * abs(n[2]),
    ),
    "disc": (
        "{ cylinder = { radius = 0.1, length = 0.05 } }",
        lambda n: 0.1 * np.hypot(n[0], n[1]) + 0.025 * abs(n[2]),
    ),
    "can": (
        "{ cylinder = { radius = 0.05, length = 0.12 } }",
        lambda n: 0.05 * np.hypot(n[0], n[1]) + 0.06 * abs(n[2]),
    ),
    "cone": (
        "{ cone = { radius = 0.08, length = 0.12 } }",
        lambda n: max(0.08 * np.hypot(n[0], n[1]) - 0.06 * n[2], 0.06 * n[2]),
    ),
    "ellipsoid": (
        "{ ellipsoid = [0.05, 0.07, 0.04] }",
        lambda n: np.linalg.norm(n * [0.05, 0.07, 0.04]),
    ),
}
TUMBLING, UPRIGHT = [0.3, 0.2, 0.5], [0.0, 0.0, 0.0]  # [rad]
# turn, by how much a number turns it, v, what a number adds to v, its range
LANDINGS: dict[
    str,
    tuple[Sequence[float], Sequence[float], Sequence[float], Sequence[float], tuple[float, float]],
] = {
    "height": (TUMBLING, [0, 0, 0], [0.3, 0.1, -0.5, 0.2, 1.0, 0.5], [0] * 6, (1e-4, 0.01)),
    "height of one that is upright": (UPRIGHT, [0, 0, 0], [0.3, 0.1, -0.5, 0, 0, 0.5], [0] * 6, (1e-4, 0.01)),
    "speed": (TUMBLING, [0, 0, 0], [0, 0.1, -0.5, 0.2, 1.0, 0.5], [1, 0, 0, 0, 0, 0], (-0.3, 0.3)),
    "speed of one that is upright": (UPRIGHT, [0, 0, 0], [0, 0.1, -0.5, 0, 0, 0.5], [1, 0, 0, 0, 0, 0], (-0.3, 0.3)),
    "spin": (UPRIGHT, [0, 0, 0], [0.3, 0.1, -0.5, 0, 0, 0], [0, 0, 0, 0, 0, 1], (0.0, 8.0)),
    "slope": (UPRIGHT, [1, 0.6, 0], [0.2, 0.1, -0.2, 0, 0, 6.0], [0] * 6, (-0.02, 0.02)),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "sweep"), every_other_at_night(SHAPES, LANDINGS))
def test_a_body_that_lands_has_no_jump(tmp_path: Path, kind: str, sweep: str) -> None:
    """Rims that lean by zero turned their points at 1e-6 rad, which moved cans and cones by up to 0.09 m/s in a step.

    Radii of friction that were renewed where normal impulses changed by 1e-3 differed with the number of iterations,
    by 3e-6 m/s in a step of a can.
    """
    from scipy.spatial.transform import Rotation

    shape, reach = SHAPES[kind]
    turn, turns, velocity, adds, (low, high) = LANDINGS[sweep]
    text = free("body", shape, 1.0, "{ xyz = [0, 0, 0.3] }")
    scene = world(tmp_path, text + GROUND, surface="friction = 0.6")

    def start(x: float) -> tuple[Array, Array]:
        R = Rotation.from_euler("xyz", turn) * Rotation.from_rotvec(x * np.array(turns, float))
        above = x if sweep.startswith("height") else 1e-3
        down = R.as_matrix().T @ [0, 0, -1]
        q = np.array([0, 0, reach(down) + above, *R.as_quat()])
        return q, np.array(velocity, float) + x * np.array(adds, float)

    assert largest_jump(runs(scene, start, 60), low, high) <= ROUNDING


def test_a_can_that_lies_keeps_its_friction_where_its_axis_passes_the_horizontal(
    tmp_path: Path,
) -> None:
    """The points of its two rims changed places there, and with them the friction that they remember."""
    can = free("can", "{ cylinder = { radius = 0.05, length = 0.12 } }", 1.0, "{ xyz = [0, 0, 1] }")
    scene = world(tmp_path, can + GROUND, surface="friction = 0.6\nrelaxation_time = 0.02")

    def start(tilt: float) -> tuple[Array, Array]:
        half = 0.25 * np.pi + 0.5 * tilt
        q = np.array([0, 0, 0.05, 0, np.sin(half), 0, np.cos(half)])
        return q, np.array([0.0, 0.1, -0.05, 0.3, 0, 0])

    assert largest_jump(runs(scene, start, 40), -1e-3, 1e-3) <= ROUNDING


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

    assert largest_jump(runs(scene, start, 60), 0.164, 0.18, count=160) <= ROUNDING


def test_a_gripper_has_no_jump_over_its_speed() -> None:
    scene = pysim.load_scene(Path(__file__).parents[2] / "scenes" / "gripper.toml")

    def start(speed: float) -> tuple[Array, Array]:
        v = np.array(scene.state.v)
        v[-4] += speed
        return np.array(scene.state.q), v

    assert largest_jump(runs(scene, start, 60), -0.2, 0.2, count=160) <= ROUNDING


def servo(joint: str, kp: float, kd: float, bound: float) -> str:
    """A servo whose target is the input of the same name."""
    return table("signal", name=f"{joint} target", type="input") + table(
        "actuator",
        name=f"{joint} servo",
        type="position_servo",
        joint=joint,
        command=f"{joint} target",
        kp=kp,
        kd=kd,
        force_range=[-bound, bound],
    )


def test_a_gripper_has_no_jump_over_the_target_of_its_pads(tmp_path: Path) -> None:
    """Where the pads reach the box, where they begin to hold it, and where their servos saturate."""
    text = free("box", "{ box = [0.05, 0.05, 0.05] }", 0.3, "{ xyz = [0, 0, 0.0] }")
    text += finger("left", -1, "") + finger("right", 1, "")
    text += servo("left slides", 2000, 40, 20)
    text += table("actuator", joint="right slides", offset=-15.0)
    scene = world(tmp_path, text, surface="friction = 0.6", gravity=(0, 0, -9.81))
    q, v = np.array(scene.state.q), np.array(scene.state.v)
    assert largest_jump(over_targets(scene, q, v, 50), -0.01, 0.03, count=160) <= ROUNDING


HOPPER = f"""
{free("trunk", "{ box = [0.1, 0.1, 0.1] }", 2.0, "{ xyz = [0, 0, 0.6] }")}
[[body]]
name = "thigh"
shape = {{ capsule = {{ radius = 0.02, length = 0.2 }}, at = {{ xyz = [0, 0, -0.1] }} }}
mass = 0.3
[[body]]
name = "shank"
shape = {{ capsule = {{ radius = 0.02, length = 0.2 }}, at = {{ xyz = [0, 0, -0.1] }} }}
mass = 0.2
collision = true
[[joint]]
name = "hip"
type = "revolute"
axis = [0, 1, 0]
parent = "trunk"
child = "thigh"
at = {{ xyz = [0, 0, -0.05] }}
friction = 0.1
[[joint]]
name = "knee"
type = "revolute"
axis = [0, 1, 0]
parent = "thigh"
child = "shank"
at = {{ xyz = [0, 0, -0.2] }}
start = {{ q = -0.6 }}
limits = {{ lower = -2.0, upper = -0.6, stiffness = 500, damping = 2 }}
"""


def hopper(folder: Path) -> tuple[pysim.Scene, Array]:
    """A leg with servos and a knee that rests on its stop, and coordinates of it above the ground."""
    text = HOPPER + servo("hip", 60, 2, 15) + servo("knee", 60, 2, 15) + GROUND
    scene = world(folder, text, surface="friction = 0.7")
    q = np.array(scene.state.q)
    q[2], q[7:] = 0.43, [0.3, -0.6]
    return scene, q


def test_a_hopper_has_no_jump_over_its_height(tmp_path: Path) -> None:
    """It lands sliding, its knee reaches the stop, and it lifts off again."""
    scene, at = hopper(tmp_path)

    def start(height: float) -> tuple[Array, Array]:
        q = at.copy()
        q[2] = height
        return q, np.array([0.4, 0.1, -0.8, 0, 0.5, 0, 0, 0])

    assert largest_jump(runs(scene, start, 90), 0.42, 0.44) <= ROUNDING


def test_a_hopper_has_no_jump_over_its_targets(tmp_path: Path) -> None:
    scene, q = hopper(tmp_path)
    v = np.array([0.4, 0, -0.8, 0, 0, 0, 0, 0], float)
    assert largest_jump(over_targets(scene, q, v, 90), -0.5, 0.5) <= ROUNDING


@pytest.mark.parametrize("number", [0, 1], ids=["forwards", "sideways"])
def test_a_robot_that_lands_has_no_jump_over_its_speed(tmp_path: Path, number: int) -> None:
    scene = anymal(tmp_path, {"kp": 200, "kd": 5, "mu": 0.8}, 0.6)
    height = lowest_foot(scene) + 1e-3

    def start(speed: float) -> tuple[Array, Array]:
        q, v = np.array(scene.state.q), np.array(scene.state.v)
        q[2], v[number], v[2] = height, speed, -0.5
        return q, v

    assert largest_jump(runs(scene, start, 40), -0.5, 0.5, count=128) <= ROUNDING
