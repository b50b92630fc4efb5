"""Trajectories between their rows. Oracles: closed forms of uniform motion, and the rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim import spatial
from pysim.errors import TrajectoryError
from pysim.worlds.loading import compile_model
from tests.oracles.mechanisms import random_tree

SCENES = Path(__file__).parents[2] / "scenes"


def test_uniform_motion_of_every_kind_of_joint_is_exact(rng: np.random.Generator) -> None:
    model = compile_model(random_tree(rng, ["revolute", "ball", "free", "prismatic"]))
    start, v = model.random_configuration(rng), rng.normal(size=model.nv)
    for joint, at in zip(model.joints, model.v_offsets, strict=True):
        if joint.type == "free":  # a screw is no straight line
            v[at : at + 3] = 0.0
    t = np.linspace(0.0, 1.0, 9)
    q = np.array([model.integrate(start, x * v) for x in t])
    run = pysim.Trajectory.of(model, t, q, np.tile(v, (9, 1)))
    times = np.array([0.0, 0.03, 0.31, 0.77, 1.0])
    found = run.at(times)
    exact = np.array([model.integrate(start, x * v) for x in times])
    assert np.abs(model.difference(found.q, exact)).max() < 1e-12
    np.testing.assert_allclose(found.v, np.tile(v, (5, 1)), rtol=1e-14)
    np.testing.assert_array_equal(found.poses, run.poses_at(times))
    one = run.at(0.31)
    assert (one.q.shape, one.poses.shape) == ((model.nq,), (model.nbodies, 7))
    np.testing.assert_array_equal(one.q, found.q[2])


def test_rows_and_signals_are_those_of_the_run_at_its_times() -> None:
    run = pysim.simulate(pysim.load_scene(SCENES / "servo_pid.toml", {"simulation.duration": 0.1}))
    found = run.at(run.t)
    for key in ("q", "v", "a", "energy"):
        np.testing.assert_allclose(getattr(found, key), getattr(run, key), rtol=1e-14, atol=1e-15)
    middle = run.at((run.t[3] + run.t[4]) / 2)
    for name, values in run.signals.items():
        np.testing.assert_allclose(middle.signals[name], (values[3] + values[4]) / 2, rtol=1e-9)
    with pytest.raises(pysim.UnknownNameError):
        middle.signals["nothing"]


def test_quaternions_take_the_shorter_arc(rng: np.random.Generator) -> None:
    model = compile_model(random_tree(rng, ["ball"]))
    a = spatial.quaternion_from_rotation(spatial.exp([0.3, 0.0, 0.0]))
    b = spatial.quaternion_from_rotation(spatial.exp([0.9, 0.0, 0.0]))
    run = pysim.Trajectory.of(model, [0.0, 1.0], [a, -b])
    expected = spatial.quaternion_from_rotation(spatial.exp([0.6, 0.0, 0.0]))
    assert abs(run.at(0.5).q @ expected) == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("times", [-0.1, 0.21, [0.1, np.nan], [[0.1]]])
def test_times_outside_the_run_are_errors(times) -> None:
    run = pysim.simulate(pysim.load_scene(SCENES / "pendulum.toml", {"simulation.duration": 0.2}))
    with pytest.raises(TrajectoryError, match="times: "):
        run.at(times)
