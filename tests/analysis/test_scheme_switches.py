"""Counts of steps at switches under schemes that solve no contacts.

Oracle: one-sided differences of the engine's own steps, which differ at a switch alone; bisection of a jump.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.typing import Array
from tests.analysis.test_feature_switches import (
    CUBES,
    SLIDER,
    corner_on_corner,
    heights_beside_the_jump,
    loss,
)
from tests.analysis.test_scheme_gradients import SCHEMES, scene_of

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")  # of starts and planes
STEP = 2e-3
STOP = "limits = { upper = 0.2, stiffness = 1e4, damping = 50.0 }\n"
SERVO = """
[[signal]]
name = "target"
type = "input"
[[actuator]]
name = "motor"
type = "position_servo"
joint = "slider"
command = "target"
kp = 1e4
force_range = [-50.0, 50.0]
"""
BALL = """
[materials.default]
stiffness = 1e4
friction = 0.5
[[ground]]
plane = { normal = [0, 0, 1] }
"""
WITH_BALL = SLIDER.replace("mass = 1.0", "mass = 1.0\ncollision = [{ sphere = { radius = 0.1 } }]")
SCENES = {"stop": SLIDER + STOP, "bound": SLIDER + SERVO, "touching": WITH_BALL + BALL}
NAMES = {"stop": "slider", "bound": "slider", "touching": "world, slider"}
#: position at which each begins
CORNERS = {"stop": 0.2, "bound": 5e-3, "touching": 0.1}


def at(scene: pysim.Scene, q: Array, v: float = 0.0) -> pysim.Worlds:
    worlds = pysim.Worlds(scene, len(q))
    worlds.q[:, 0], worlds.v[:, 0] = q, v
    return worlds


def one_sided_slopes(scene: pysim.Scene, q: float, v: float) -> tuple[float, float]:
    """Return differences of the velocity after a step by the position, to the left and to the right."""
    d = 1e-7
    worlds = at(scene, np.array([q - d, q, q + d]), v)
    worlds.step()
    left, right = np.diff(worlds.v[:, 0]) / d
    return float(left), float(right)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kind", SCENES)
def test_a_force_at_its_corner_is_a_switch(kind: str, scheme: str, tmp_path: Path) -> None:
    """A step counts once, also if all its evaluations are at the corner, and one beside it does not."""
    scene, corner = scene_of(tmp_path, SCENES[kind], scheme), CORNERS[kind]
    v = 0.0
    if kind == "bound" and scheme == "implicit_midpoint":
        v = 0.5 * STEP * 50.0  # the servo stops the slider where the step has its only evaluation
    left, right = one_sided_slopes(scene, corner, v)
    assert abs(left - right) > 1.0
    left, right = one_sided_slopes(scene, corner + 1e-5, v)
    assert abs(left - right) < 1e-4
    worlds = at(scene, np.array([corner, corner + 1e-5, corner - 1e-5]), v)
    switches = pysim.gradient(worlds, steps=1, loss=loss).switches
    assert {key: count.tolist() for key, count in switches.items()} == {
        (kind, NAMES[kind]): [1, 0, 0]
    }


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_slider_that_rests_at_its_stop_counts_in_every_step(scheme: str, tmp_path: Path) -> None:
    worlds = at(scene_of(tmp_path, SCENES["stop"], scheme), np.array([0.2, 0.1]))
    switches = pysim.gradient(worlds, steps=5, loss=loss).switches
    assert {key: count.tolist() for key, count in switches.items()} == {("stop", "slider"): [5, 0]}


def test_the_damper_of_a_stop_lets_go_at_a_switch(tmp_path: Path) -> None:
    """Beyond the limit, k x = −c v."""
    scene = scene_of(tmp_path, SCENES["stop"], "semi_implicit")
    v = -1e4 * 0.01 / 50.0
    left, right = one_sided_slopes(scene, 0.21, v)
    assert abs(left - right) > 1.0
    worlds = at(scene, np.array([0.21, 0.2101, 0.2099]), v)
    switches = pysim.gradient(worlds, steps=1, loss=loss).switches
    assert {key: count.tolist() for key, count in switches.items()} == {
        ("stop", "slider"): [1, 0, 0]
    }
    lower = SLIDER + STOP.replace("upper = 0.2", "lower = -0.2")
    worlds = at(scene_of(tmp_path, lower, "rk4"), np.array([-0.21, -0.2101, -0.2]), -v)
    switches = pysim.gradient(worlds, steps=1, loss=loss).switches
    assert {key: count.tolist() for key, count in switches.items()} == {
        ("stop", "slider"): [1, 0, 1]
    }


def test_hertz_contact_begins_without_a_switch_and_lets_go_at_one(tmp_path: Path) -> None:
    """The force K x^1.5 (1 − d v) begins with no slope; as v = 1/d it is zero at any penetration."""
    law = "stiffness = { young = 1e6, poisson = 0.3 }\ndissipation = 0.5"
    text = SCENES["touching"].replace("stiffness = 1e4", law)
    scene = scene_of(tmp_path, text, "semi_implicit")
    left, right = one_sided_slopes(scene, 0.1, 0.0)
    assert abs(left - right) < 1.0  # 20 under the linear law
    assert not pysim.gradient(at(scene, np.array([0.1])), steps=1, loss=loss).switches
    worlds = pysim.Worlds(scene, 3)
    worlds.q[:, 0], worlds.v[:, 0] = 0.098, [2.0, 2.001, 1.999]
    switches = pysim.gradient(worlds, steps=1, loss=loss).switches
    assert {key: count.tolist() for key, count in switches.items()} == {
        ("touching", "world, slider"): [1, 0, 0]
    }


@pytest.mark.parametrize("scheme", ["semi_implicit", "rk4"])
def test_a_normal_that_turns_between_two_faces_is_a_switch_of_features(
    scheme: str, tmp_path: Path
) -> None:
    """A cube overlaps another by 1 mm along x; as it rises, the least overlap is along z."""
    scene = scene_of(tmp_path, "gravity = [0, 0, 0]\n" + CUBES, scheme)
    low, high = heights_beside_the_jump(scene)
    worlds = corner_on_corner(scene, np.array([low - 1e-6, low, high, high + 1e-6]))
    switches = pysim.gradient(worlds, steps=1, loss=loss).switches
    assert {key: count.tolist() for key, count in switches.items()} == {
        ("feature", "low, high"): [0, 1, 1, 0]
    }


def test_the_stop_of_a_joint_that_mimics_another_is_a_switch_of_its_name(tmp_path: Path) -> None:
    follower = SLIDER.replace("gravity = [0, 0, 0]\n", "").replace("slider", "follower")
    follower += 'mimic = { joint = "slider", ratio = -2.0 }\n'
    follower += STOP.replace("upper = 0.2", "lower = -0.2")
    worlds = at(scene_of(tmp_path, SLIDER + follower, "rk4"), np.array([0.1, 0.11]))
    switches = pysim.gradient(worlds, steps=1, loss=loss).switches
    assert {key: count.tolist() for key, count in switches.items()} == {
        ("stop", "follower"): [1, 0]
    }


@pytest.mark.parametrize("scheme", ["rk4", "generalized_alpha"])
def test_switches_are_those_of_a_world_alone_and_with_parameters_of_its_own(
    scheme: str, tmp_path: Path
) -> None:
    """Seven worlds at the stop or beside it, whose masses are parameters."""
    scene = scene_of(tmp_path, SCENES["stop"], scheme)
    q = np.array([0.1, 0.2, 0.15, 0.2, 0.25, 0.2, 0.05])
    expected = (q == 0.2).astype(int)
    key = ("stop", "slider")
    many = pysim.gradient(at(scene, q), steps=3, loss=loss, by=["body.slider.mass"])
    assert np.array_equal(many.switches[key], 3 * expected)
    for place, count in zip(q, 3 * expected, strict=True):
        one = pysim.gradient(at(scene, np.array([place])), steps=3, loss=loss).switches
        assert one.get(key, np.zeros(1)).tolist() == [count]


def test_a_bound_on_one_side_is_no_switch_elsewhere(tmp_path: Path) -> None:
    """An infinite bound is never met, in convex steps either."""
    text = SCENES["bound"].replace("[-50.0, 50.0]", "[-inf, 50.0]")
    for scheme in ("convex", *SCHEMES):
        worlds = at(scene_of(tmp_path, text, scheme), np.array([1e-3, 2e-3]))
        assert not pysim.gradient(worlds, steps=2, loss=loss).switches


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_world_that_goes_on_counts_beside_one_that_begins_what_it_counts_alone(
    scheme: str, tmp_path: Path
) -> None:
    """The evaluations of a world that begins are none of the others' steps."""
    scene = scene_of(tmp_path, SCENES["stop"], scheme)
    counts = []
    for count in (1, 2):
        worlds = at(scene, np.array([0.2 - STEP, 0.1])[:count], 1.0)
        worlds.step()
        assert worlds.q[0, 0] == 0.2
        if count == 2:
            worlds.reset(where=[1])
        switches = pysim.gradient(worlds, steps=1, loss=loss).switches
        counts.append({key: n[0] for key, n in switches.items() if n[0]})
    assert counts[0] == counts[1]


def test_a_prediction_on_which_the_step_does_not_depend_is_no_switch(tmp_path: Path) -> None:
    """The implicit midpoint rule begins with the acceleration at the start, where a stop is."""
    scene = scene_of(tmp_path, SCENES["stop"], "implicit_midpoint")
    left, right = one_sided_slopes(scene, 0.2, 1.0)
    assert left == pytest.approx(right, rel=1e-5)
    assert not pysim.gradient(at(scene, np.array([0.2]), 1.0), steps=1, loss=loss).switches
    through = pysim.gradient(at(scene, np.array([0.2 - STEP / 2]), 1.0), steps=1, loss=loss)
    assert through.switches.keys() == {("stop", "slider")}
