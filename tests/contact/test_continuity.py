"""Steps with contacts have no jumps: neighbouring starts have neighbouring ends.

The oracle is the step itself: the end of a run as a function of one number of its start, whose largest change over
a sweep is bisected down to neighbouring floating-point numbers. A jump stays as it is, a steep slope vanishes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.typing import Array
from tests.contact.body_scenes import GROUND, free, world
from tests.contact.convex_worlds import ConvexWorlds
from tests.contact.scenes import anymal, lowest_foot

Start = Callable[[float], tuple[Array, Array]]

COUNT, PARTS, STEP = 400, 16, 1e-3
ROUNDING = 1e-10


def ends(scene: pysim.Scene, start: Start, numbers: Array, steps: int) -> Array:
    """Return (numbers, nq + nv) ends of runs."""
    starts = [start(x) for x in numbers]
    q, v = (np.array([s[k] for s in starts]) for k in range(2))
    worlds = ConvexWorlds(scene, q, v, STEP)
    worlds.step(steps)
    return np.hstack([worlds.q, worlds.v])


def largest_jump(
    scene: pysim.Scene, start: Start, low: float, high: float, steps: int, count: int = COUNT
) -> float:
    """Return the change of an end between neighbouring numbers, where a sweep changes most."""
    numbers = np.linspace(low, high, count)
    while True:
        changes = np.abs(np.diff(ends(scene, start, numbers, steps), axis=0)).max(axis=1)
        k = int(np.argmax(changes))
        if np.nextafter(numbers[k], np.inf) >= numbers[k + 1]:
            return float(changes[k])
        numbers = np.unique(np.linspace(numbers[k], numbers[k + 1], PARTS + 1))


def sliders(folder: Path, surface: str = "friction = 0.5") -> pysim.Scene:
    """A ball on a vertical slider on a carriage that slides along x; q are the carriage's way and the height."""
    text = f"""
[[body]]
name = "carriage"
mass = 0.5
inertia = {{ xx = 1e-3, yy = 1e-3, zz = 1e-3 }}
[[body]]
name = "ball"
shape = {{ sphere = {{ radius = 0.05 }} }}
mass = 0.5
collision = true
[[joint]]
name = "x"
type = "prismatic"
child = "carriage"
axis = [1, 0, 0]
[[joint]]
name = "z"
type = "prismatic"
parent = "carriage"
child = "ball"
at = {{ xyz = [0, 0, 0.05] }}
axis = [0, 0, 1]
{GROUND}
"""
    return world(folder, text, surface=surface)


@pytest.mark.parametrize("speed", [0.05, 0.1, 0.2])  # [m/s]
def test_a_ball_that_lands_sliding_has_no_jump_over_its_height(
    tmp_path: Path, speed: float
) -> None:
    """Where friction begins and ends to slide; a spring that jumped there moved the ball by 0.13 to 0.58 mm."""

    def start(height: float) -> tuple[Array, Array]:
        return np.array([0.0, height]), np.array([speed, -0.5])

    assert largest_jump(sliders(tmp_path), start, 1e-4, 3e-3, 60) <= 1e-12


def test_a_ball_that_lands_has_no_jump_over_its_speed(tmp_path: Path) -> None:
    def start(speed: float) -> tuple[Array, Array]:
        return np.array([0.0, 2e-3]), np.array([speed, -0.5])

    scene = sliders(tmp_path, "friction = 0.5\nrestitution = { value = 0.5, at = 1.0 }")
    assert largest_jump(scene, start, 0.01, 0.4, 90) <= 1e-12


def test_a_ball_that_lifts_off_forgets_its_deflection_without_a_jump(tmp_path: Path) -> None:
    """A deflection that lasts longer than its impulse was forgotten where that was zero: 3.5 mm and mm/s."""
    surface = "friction = 0.8\nstiffness = 2e4\ndissipation = 0.0\nrelaxation_time = 0.02"

    def start(depth: float) -> tuple[Array, Array]:
        return np.array([0.0, -depth]), np.array([0.05, 0.0])

    assert largest_jump(sliders(tmp_path, surface), start, 2e-4, 2e-3, 40, count=200) <= 1e-12


SERVO = """
[[body]]
name = "upper"
mass = 1.0
com = [0, 0, -0.2]
inertia = { xx = 0.02, yy = 0.02, zz = 0.01 }
[[body]]
name = "lower"
mass = 0.5
com = [0.02, 0, -0.15]
inertia = { xx = 0.01, yy = 0.012, zz = 0.004 }
[[joint]]
name = "shoulder"
type = "ball"
child = "upper"
[[joint]]
name = "elbow"
type = "revolute"
axis = [0, 1, 0]
parent = "upper"
child = "lower"
at = { xyz = [0, 0, -0.4] }
[[actuator]]
name = "servo"
type = "position_servo"
joint = "elbow"
command = "target"
kp = 300
kd = 5
force_range = [-6, 6]
[[signal]]
name = "target"
type = "constant"
value = 0.0
unit = "rad"
"""


@pytest.mark.parametrize(
    "force", [6.0, 5.88, -5.88, -6.0]
)  # at the bounds, and where they begin to count
def test_a_servo_has_no_jump_where_it_reaches_its_bound(tmp_path: Path, force: float) -> None:
    """Velocity terms follow from v*, which had seen a spring or a constant: 1e-4 to 3e-4 rad/s in a step.

    Starts are swept about the angle at which 300 q + 5 v is the force at the start.
    """
    elsewhere = free("ball", "{ sphere = { radius = 0.05 } }", 0.1, "{ xyz = [1, 0, 1] }")
    scene = world(tmp_path, SERVO + elsewhere + GROUND)
    speed = 4.0

    def start(angle: float) -> tuple[Array, Array]:
        q, v = np.array(scene.state.q), np.zeros(scene.model.nv)
        q[4], v[:4] = angle, [3.0, 1.0, 2.0, speed]
        return q, v

    at = -(force + 5 * speed) / 300
    assert largest_jump(scene, start, at - 1e-7, at + 1e-7, 10, count=101) <= 1e-12


def test_rolling_and_spinning_friction_have_no_jump(tmp_path: Path) -> None:
    text = free("ball", "{ sphere = { radius = 0.05 } }", 0.5, "{ xyz = [0, 0, 0.05] }")
    surface = "friction = 0.5\nrolling = 0.01\nspinning = 0.01\nrelaxation_time = 3e-3"
    scene = world(tmp_path, text + GROUND, surface=surface)

    def start(height: float) -> tuple[Array, Array]:
        q = np.array(scene.state.q)
        q[2] = 0.05 + height
        return q, np.array([0.4, 0.1, -0.4, 1.0, -3.0, 5.0])

    assert largest_jump(scene, start, 1e-4, 3e-3, 80) <= ROUNDING


def test_a_stop_has_no_jump_where_it_is_reached(tmp_path: Path) -> None:
    """Its damper, which began a step after the stop, changed the speed by 0.4 rad/s."""
    text = """
[[body]]
name = "pendulum"
mass = 1.0
com = [0.2, 0, 0]
inertia = { xx = 0.01, yy = 0.01, zz = 0.01 }
[[joint]]
name = "hinge"
type = "revolute"
axis = [0, 1, 0]
child = "pendulum"
limits = { lower = -1.0, upper = 0.5, stiffness = 2000, damping = 20 }
"""
    elsewhere = free("ball", "{ sphere = { radius = 0.05 } }", 0.1, "{ xyz = [1, 0, 1] }")
    scene = world(tmp_path, text + elsewhere + GROUND)

    def start(angle: float) -> tuple[Array, Array]:
        q, v = np.array(scene.state.q), np.zeros(scene.model.nv)
        q[0], v[0] = angle, 3.0
        return q, v

    assert largest_jump(scene, start, 0.0, 0.4, 150) <= ROUNDING


def test_the_damper_of_a_stop_acts_over_the_part_of_a_step_beyond_it(tmp_path: Path) -> None:
    """Of a slider without a spring at its stop: m (v₁ − v₀) = −c (x₀ + h v₁), from x₀ before the stop."""
    text = """
[[body]]
name = "slider"
mass = 2.0
inertia = { xx = 0.01, yy = 0.01, zz = 0.01 }
[[joint]]
name = "slides"
type = "prismatic"
axis = [1, 0, 0]
child = "slider"
limits = { lower = -1.0, upper = 0.1, stiffness = 0, damping = 300 }
"""
    elsewhere = free("ball", "{ sphere = { radius = 0.05 } }", 0.1, "{ xyz = [1, 0, 1] }")
    scene = world(tmp_path, text + elsewhere + GROUND)
    ahead, v_0, c, m = np.array([-3e-4, -1e-9, 0.0, 1e-4]), 0.5, 300.0, 2.0
    q = np.tile(scene.state.q, (4, 1))
    v = np.zeros((4, scene.model.nv))
    q[:, 0], v[:, 0] = 0.1 + ahead, v_0

    worlds = ConvexWorlds(scene, q, v, STEP)
    worlds.step(1)

    before = np.minimum(ahead, 0.0)  # a slider beyond is damped over the whole step
    np.testing.assert_allclose(worlds.v[:, 0], (m * v_0 - c * before) / (m + c * STEP), rtol=1e-12)


@pytest.mark.parametrize("steps", [40, 80, 150])  # before, at and after the second touch
def test_a_body_with_a_swinging_link_has_no_jump_where_it_lands_and_lifts_off(
    tmp_path: Path, steps: int
) -> None:
    """Positions see the middle of the step whether contacts act or not: rounding decided by 4e-2 m/s."""
    text = f"""
{free("foot", "{ sphere = { radius = 0.06 } }", 1.0, "{ xyz = [0, 0, 0.07] }")}
[[body]]
name = "link"
shape = {{ capsule = {{ radius = 0.03, length = 0.3 }} }}
mass = 0.5
collision = true
[[joint]]
name = "hinge"
type = "revolute"
parent = "foot"
child = "link"
at = {{ xyz = [0, 0, 0.25] }}
axis = [0, 1, 0]
limits = {{ lower = -1.5, upper = 1.5, stiffness = 300, damping = 1 }}
"""
    scene = world(tmp_path, text + GROUND, surface="friction = 0.6")

    def start(height: float) -> tuple[Array, Array]:
        q, v = np.array(scene.state.q), np.array([0.5, 0.2, -0.5, 0.5, 1.0, 2.0, 6.0])
        q[2], q[-1] = height, 0.3
        return q, v

    assert largest_jump(scene, start, 0.062, 0.08, steps) <= ROUNDING


def test_a_robot_that_lands_has_no_jump_over_its_height(tmp_path: Path) -> None:
    setup = {"kp": 200, "kd": 5, "mu": 0.8}
    scene = anymal(tmp_path, setup, 0.6)
    touching = lowest_foot(scene)

    def start(height: float) -> tuple[Array, Array]:
        q, v = np.array(scene.state.q), np.array(scene.state.v)
        q[2], v[0], v[2] = touching + height, 0.3, -0.5
        return q, v

    assert largest_jump(scene, start, 1e-4, 3e-3, 60, count=128) <= ROUNDING


def test_velocity_terms_begin_to_count_without_a_jump(tmp_path: Path) -> None:
    """Those at the middle of the step begin where a body turns by 1e-4 in it, at 0.1 rad/s."""
    text = f"""
{free("base", "{ sphere = { radius = 0.06 } }", 1.0, "{ xyz = [0, 0, 1] }")}
[[body]]
name = "link"
mass = 0.5
com = [0, 0, 0.2]
inertia = {{ xx = 1e-3, yy = 2e-3, zz = 3e-3 }}
[[joint]]
name = "hinge"
type = "revolute"
parent = "base"
child = "link"
axis = [0, 1, 0]
"""
    scene = world(tmp_path, text + GROUND)

    def start(speed: float) -> tuple[Array, Array]:
        q, v = np.array(scene.state.q), np.array([3.0, 0.2, 0.0, 0.01, 0.02, speed, -0.01])
        return q, v

    assert largest_jump(scene, start, 0.09, 0.11, 5) <= 1e-13
