"""The muscle of MuJoCo. The oracle is MuJoCo: its functions of gain, bias and activation, and its steps."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import pysim
from pysim.elements.library.muscles.mujoco_muscle import MujocoMuscle
from pysim.errors import SceneError
from tests.elements.blocks import constant, scene_of, simulation, table

LENGTHS = (0.2, 0.9)


def muscle(**keys):
    keys = {"peak_force": 30.0, "length_range": LENGTHS} | keys
    return MujocoMuscle(**keys)


def parameters(own):
    """Return the numbers of a muscle in the order of MuJoCo's gainprm."""
    numbers = [*own.fibre_range, own.peak_force, 200.0, own.shortest_fibre, own.longest_fibre]
    numbers += [own.max_contraction_velocity, own.passive_force, own.lengthening_force]
    return np.array(numbers)


OTHERS = {
    "fibre_range": (0.6, 1.3),
    "shortest_fibre": 0.3,
    "longest_fibre": 1.9,
    "max_contraction_velocity": 3.0,
    "passive_force": 0.7,
    "lengthening_force": 1.5,
}


@pytest.mark.parametrize("keys", [{}, OTHERS], ids=["defaults", "others"])
def test_gain_and_bias_are_those_of_mujoco(keys):
    own = muscle(**keys)
    rng = np.random.default_rng(4)
    for length, rate, activation in rng.uniform([-0.5, -4, 0], [1.8, 4, 1], (400, 3)):
        gain = mujoco.mju_muscleGain(length, rate, LENGTHS, 1.0, parameters(own))
        bias = mujoco.mju_muscleBias(length, LENGTHS, 1.0, parameters(own))
        found = -own.tension(activation, length, rate)
        assert found == pytest.approx(gain * activation + bias, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("smoothing", [0.0, 0.4])
def test_the_rate_of_activation_is_that_of_mujoco(smoothing):
    own = muscle(activation_time=0.012, deactivation_time=0.05, smoothing=smoothing)
    times = np.array([0.012, 0.05, smoothing])
    rng = np.random.default_rng(5)
    for command, activation in rng.uniform(-0.3, 1.3, (300, 2)):
        expected = mujoco.mju_muscleDynamics(command, activation, times)
        assert own.state_rate(command, activation) == pytest.approx(expected, rel=1e-12)


def test_a_muscle_and_its_gear_act_on_a_path_and_on_coordinates(tmp_path):
    """L = gear · length of the path = Σ gear_k q_k, here of the same joint: both exert the same force."""
    path = [{"body": "world"}, {"body": "load"}]
    text = table("body", name="load", mass=2.0, inertia=dict.fromkeys(("xx", "yy", "zz"), 1))
    text += table("joint", name="x", type="prismatic", child="load", start={"q": 0.3, "v": 0.2})
    text += constant("u", 0.6)
    keys = {
        "peak_force": 30.0,
        "length_range": [0.4, 1.8],
        "gear": [2.0],
        "initial_activation": 0.3,
    }
    ends = []
    for where in ({"path": path}, {"coordinates": ["x"]}):
        own = table("actuator", name="m", type="mujoco_muscle", command="u", **where, **keys)
        run = pysim.simulate(scene_of(tmp_path, text + own + simulation(duration=0.2, step=1e-3)))
        ends.append([run.q[-1, 0], run.v[-1, 0], run.signals["m.activation"][-1]])
    np.testing.assert_allclose(*ends, rtol=1e-12)
    assert ends[0][2] > 0.5


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"length_range": (0.9, 0.2)}, "must be the shortest and the longest, got [0.9, 0.2]"),
        ({"fibre_range": (1.0, 1.0)}, "must be the shortest and the longest, got [1.0, 1.0]"),
        ({"longest_fibre": 0.9}, "1, the optimal length, must be between shortest and longest"),
        ({"lengthening_force": 1.0}, "must be more than 1, got 1"),
        ({"peak_force": -1.0}, "peak_force"),
    ],
)
def test_wrong_numbers_of_a_muscle_are_reported(tmp_path, keys, problem):
    text = table("body", name="load", mass=2.0, inertia=dict.fromkeys(("xx", "yy", "zz"), 1))
    text += table("joint", name="x", type="prismatic", child="load") + constant("u", 0.6)
    keys = {"peak_force": 30.0, "length_range": LENGTHS} | keys
    text += table("actuator", name="m", type="mujoco_muscle", command="u", joint="x", **keys)
    with pytest.raises(SceneError) as caught:
        scene_of(tmp_path, text + simulation())
    assert problem in str(caught.value)
