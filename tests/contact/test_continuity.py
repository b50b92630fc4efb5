"""Steps with contacts have no jumps: neighbouring starts have neighbouring ends.

The oracle is the step itself: the end of a run as a function of one number of its start. Where a sweep bends most it is
divided down to neighbouring floating-point numbers. A jump stays as it is, a steep slope vanishes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.typing import Array
from tests.contact.convex_worlds import ConvexWorlds
from tests.contact.scenes import GROUND, anymal, free, lowest_foot, world

Start = Callable[[float], tuple[Array, Array]]
Run = Callable[[Array], Array]  # numbers (n,) to ends (n, …)

COUNT, INTERVALS, PARTS, STEP = 400, 12, 16, 1e-3
ROUNDING = 1e-10


def worlds_of(scene: pysim.Scene, number: int) -> pysim.Worlds:
    """Worlds whose steps are solved to 1e-11: at the default tolerance of 1e-8, one iteration more changes as much."""
    parameters = {**scene.settings.parameters, "solver_tolerance": 1e-11}
    settings = replace(scene.settings, parameters=parameters)
    return pysim.Worlds(replace(scene, settings=settings), number)


def ends_of(worlds: pysim.Worlds, steps: int) -> Array:
    """Return q and v (n, nq + nv) after some steps; no world is lost."""
    worlds.step(steps=steps)
    assert not np.any(worlds.lost)
    return np.hstack([worlds.q, worlds.v])


def runs(scene: pysim.Scene, start: Start, steps: int) -> Run:
    """Return the ends of runs whose starts are functions of a number."""

    def ends(numbers: Array) -> Array:
        worlds = worlds_of(scene, len(numbers))
        for k, x in enumerate(numbers):
            worlds.q[k], worlds.v[k] = start(x)
        return ends_of(worlds, steps)

    return ends


def over_targets(scene: pysim.Scene, q: Array, v: Array, steps: int) -> Run:
    """Return the ends of runs from one start, whose inputs are all the same number."""

    def ends(numbers: Array) -> Array:
        worlds = worlds_of(scene, len(numbers))
        worlds.q[:], worlds.v[:], worlds.inputs.all[:] = q, v, numbers[:, None]
        return ends_of(worlds, steps)

    return ends


def largest_jump(
    ends: Run, low: float, high: float, count: int = COUNT, allowed: float = ROUNDING
) -> float:
    """Return the largest change of an end between neighbouring numbers, or where it is below the allowed one a bound.

    It is looked for in the intervals of a sweep where the end bends most on both sides: a jump is much smaller than the
    change of the whole sweep. Of their parts, one that differs most from the others is divided again, until no part
    changes by more than is allowed: none has a larger jump then.
    """
    numbers = np.linspace(low, high, count)
    bends = np.abs(np.diff(ends(numbers), n=2, axis=0)).max(axis=1)
    first = 1 + np.argsort(np.minimum(bends[:-1], bends[1:]))[-INTERVALS:]
    least, most = numbers[first], numbers[first + 1]
    largest = 0.0
    while len(least):
        parts = np.linspace(least, most, PARTS + 1, axis=1)
        changes = np.diff(ends(parts.ravel()).reshape(*parts.shape, -1), axis=1)
        k = np.abs(changes - np.median(changes, axis=1)[:, None]).max(axis=2).argmax(axis=1)
        change = np.abs(changes).max(axis=(1, 2))
        done = (change <= allowed) | (np.nextafter(least, np.inf) >= most)
        largest = max(largest, change[done].max(initial=0.0))
        each = np.flatnonzero(~done)
        least, most = parts[each, k[each]], parts[each, k[each] + 1]
    return float(largest)


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

    assert largest_jump(runs(sliders(tmp_path), start, 60), 1e-4, 3e-3, allowed=1e-12) <= 1e-12


def test_a_ball_that_lands_has_no_jump_over_its_speed(tmp_path: Path) -> None:
    def start(speed: float) -> tuple[Array, Array]:
        return np.array([0.0, 2e-3]), np.array([speed, -0.5])

    scene = sliders(tmp_path, "friction = 0.5\nrestitution = { value = 0.5, at = 1.0 }")
    assert largest_jump(runs(scene, start, 90), 0.01, 0.4, allowed=1e-12) <= 1e-12


def test_a_ball_that_lifts_off_forgets_its_deflection_without_a_jump(tmp_path: Path) -> None:
    """A deflection that lasts longer than its impulse was forgotten where that was zero: 3.5 mm and mm/s."""
    surface = "friction = 0.8\nstiffness = 2e4\ndissipation = 0.0\nrelaxation_time = 0.02"

    def start(depth: float) -> tuple[Array, Array]:
        return np.array([0.0, -depth]), np.array([0.05, 0.0])

    assert (
        largest_jump(
            runs(sliders(tmp_path, surface), start, 40), 2e-4, 2e-3, count=200, allowed=1e-12
        )
        <= 1e-12
    )


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
    assert (
        largest_jump(runs(scene, start, 10), at - 1e-7, at + 1e-7, count=101, allowed=1e-12)
        <= 1e-12
    )


def test_rolling_and_spinning_friction_have_no_jump(tmp_path: Path) -> None:
    text = free("ball", "{ sphere = { radius = 0.05 } }", 0.5, "{ xyz = [0, 0, 0.05] }")
    surface = "friction = 0.5\nrolling = 0.01\nspinning = 0.01\nrelaxation_time = 3e-3"
    scene = world(tmp_path, text + GROUND, surface=surface)

    def start(height: float) -> tuple[Array, Array]:
        q = np.array(scene.state.q)
        q[2] = 0.05 + height
        return q, np.array([0.4, 0.1, -0.4, 1.0, -3.0, 5.0])

    assert largest_jump(runs(scene, start, 80), 1e-4, 3e-3) <= ROUNDING


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

    assert largest_jump(runs(scene, start, 150), 0.0, 0.4) <= ROUNDING


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

    assert largest_jump(runs(scene, start, steps), 0.062, 0.08) <= ROUNDING


def test_a_robot_that_lands_has_no_jump_over_its_height(tmp_path: Path) -> None:
    setup = {"kp": 200, "kd": 5, "mu": 0.8}
    scene = anymal(tmp_path, setup, 0.6)
    touching = lowest_foot(scene)

    def start(height: float) -> tuple[Array, Array]:
        q, v = np.array(scene.state.q), np.array(scene.state.v)
        q[2], v[0], v[2] = touching + height, 0.3, -0.5
        return q, v

    assert largest_jump(runs(scene, start, 60), 1e-4, 3e-3, count=128) <= ROUNDING


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

    assert largest_jump(runs(scene, start, 5), 0.09, 0.11, allowed=1e-13) <= 1e-13
