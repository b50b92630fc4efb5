"""Closed mechanisms against numbers from elsewhere.

ADAMS: a bar held by a revolute or a ball joint, given to four or five digits. IFToMM A02: two four-bars, by a
Taylor series of high order on the reduced equation. Order of the scheme: Richardson's extrapolation of itself.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim import _engine
from pysim.inertia import theta_from_com
from pysim.loops import assemble, constraint_residual, loop_wrenches, project
from pysim.mechanism.compile import start_state
from pysim.scene.spec import BodySpec, LoopSpec, ModelSpec
from pysim.worlds.loading import compile_model
from tests.engine_steps import make_steps
from tests.loops.mechanisms import four_bar, many_four_bars, shifted
from tests.oracles.mechanisms import make_joint
from tests.oracles.spatial import pose, quaternion_rotation

SCENES = Path(__file__).parents[2] / "scenes"
TIMES = (0.5, 1.0, 2.0, 5.0)  # [s]
# centre of the bar [m], its velocity [m/s], force of the joint on the bar [N], at TIMES
HINGE = (
    [
        [2.82591, 2.57708, 2.42292],
        [1.0421, 3.4139, 1.5861],
        [-1.0, 2.00063, 2.99937],
        [1.20996, 3.4064, 1.5936],
    ],
    [
        [-1.35599, 2.1452, -2.1452],
        [-5.20028, 0.0774282, -0.0774282],
        [-4.85512e-05, -0.0774454, 0.0774454],
        [-5.15895, 0.385088, -0.385088],
    ],
    [
        [7.56095, -2.39407, -7.41259],
        [0.427164, 9.56081, -19.3673],
        [-0.00899056, -4.78385, -5.02305],
        [2.11895, 9.40977, -19.2164],
    ],
)
BALL = (
    [
        [2.66081, 2.0, 1.88568],
        [0.107619, 2.0, 1.21012],
        [-0.951117, 2.0, 2.56052],
        [-0.999684, 2.0, 2.96444],
    ],
    [
        [-2.57277, 0, -3.8345],
        [-5.23742, 0, 2.61123],
        [0.637222, 0, -2.82902],
        [-0.0146657, 0, 0.824742],
    ],
    [
        [13.2797, 0, -9.14925],
        [-11.4613, 0, -23.2273],
        [-6.15291, 0, -1.6251],
        [-0.510211, 0, -0.248253],
    ],
)
# IFToMM A02, N = 2: angle of the posts [rad] and its rate [rad/s] at 10 s
FOUR_BARS = (-30.17980086018323, -1.5066421808201262)


@pytest.mark.parametrize(("kind", "expected"), [("revolute", HINGE), ("ball", BALL)])
def test_a_free_bar_tied_by_a_loop_moves_and_pulls_as_in_adams(kind, expected):
    theta = theta_from_com(1.0, [0, 0, 0], np.diag([0.04, 0.1, 0.1]))
    at = pose(np.eye(3), np.array([1.0, 2.0, 3.0]))
    joint = make_joint("fly", "free", "world", "bar", start_q=np.array([3.0, 2, 3, 0, 0, 0, 1]))
    axis = (0, np.sqrt(0.5), np.sqrt(0.5)) if kind == "revolute" else (0.0, 0.0, 1.0)
    loop = LoopSpec("tie", kind, "world", "bar", at, shifted(-2.0), axis=axis)
    gravity = np.array([0, 0, -9.80665])
    spec = ModelSpec("adams", gravity, (BodySpec("bar", theta),), (joint,), loops=(loop,))
    model = compile_model(spec)
    q, v, now = start_state(model).q, np.zeros(6), 0.0
    drive = _engine.Actuation(*np.zeros((4, 6)))
    for t, centre, velocity, force in zip(TIMES, *expected, strict=True):
        steps = round((t - now) / 1e-3)
        q, v, done = make_steps(model, q, v, now, 1e-3, steps, "rk4", drive)
        now = t
        R = quaternion_rotation(q[3:])
        pull = R @ loop_wrenches(model, q, v, np.zeros(6))[0, :3]
        assert done == steps
        np.testing.assert_allclose(q[:3], centre, atol=3e-5)
        np.testing.assert_allclose(R @ v[:3], velocity, atol=3e-4)
        np.testing.assert_allclose(-pull, force, atol=3e-3)


def test_two_four_bars_with_adapted_steps_are_at_10_s_where_the_taylor_series_is():
    changes = {
        "simulation.integrator": "dopri5",
        "simulation.rtol": 1e-11,
        "simulation.atol": 1e-12,
    }
    scene = pysim.load_scene(SCENES / "four_bars.toml", overrides=changes)
    trajectory = pysim.simulate(scene)
    reached = trajectory.q[-1, 0], trajectory.v[-1, 0]
    np.testing.assert_allclose(reached, FOUR_BARS, rtol=0, atol=5e-9)
    assert np.abs(constraint_residual(scene.model, trajectory.q)).max() < 1e-10


def test_forty_four_bars_stay_on_the_parallelogram_through_singular_positions():
    """All posts turn as one; the energy is that of one post turning with its share."""
    spec = many_four_bars(40)
    model = compile_model(spec)
    state = start_state(model)
    drive = _engine.Actuation(*np.zeros((4, model.nv)))
    q, v, done = make_steps(model, state.q, state.v, 0.0, 2e-3, 500, "rk4", drive)
    assert done == 500
    posts = [model.joint_names.index(f"pivot{k}") for k in range(41)]
    np.testing.assert_allclose(q[posts], q[posts[0]], atol=1e-8)
    assert q[posts[0]] < 0.0  # past the horizontal
    start = pysim.kinetic_energy(model, state.q, state.v) + pysim.potential_energy(model, state.q)
    end = pysim.kinetic_energy(model, q, v) + pysim.potential_energy(model, q)
    assert end == pytest.approx(start, rel=1e-7)


@pytest.mark.parametrize(("scheme", "order"), [("semi_implicit", 1), ("rk2", 2), ("rk4", 4)])
def test_projection_leaves_a_scheme_its_order(scheme, order):
    model = compile_model(four_bar((1.0, 0.5, 1.2, 0.9)))
    start = project(model, start_state(model).q, np.array([2.0, 0, 0]))
    drive = _engine.Actuation(*np.zeros((4, 3)))

    def end(steps: int) -> np.ndarray:
        q, v, _ = make_steps(model, start.q, start.v, 0.0, 1 / steps, steps, scheme, drive)
        return np.concatenate([q, v])

    counts = {1: 3200, 2: 800, 4: 400}[order] * np.array([1, 2, 4, 8])
    ends = [end(n) for n in (*counts, 2 * counts[-1])]
    errors = [np.linalg.norm(b - a) for a, b in pairwise(ends)]
    slope = np.polyfit(np.log(1 / counts), np.log(errors), 1)[0]
    assert slope == pytest.approx(order, abs=0.15)


def test_projection_does_not_damp_a_long_run():
    """100 000 steps of a linkage that turns over: the energy stays within what the scheme itself leaves."""
    spec = replace(four_bar((1.0, 0.4, 1.1, 0.9)), gravity=np.zeros(3))
    model = compile_model(spec)
    start = assemble(model, start_state(model).q, np.array([3.0, 0, 0]), hold=["crank"])
    drive = _engine.Actuation(*np.zeros((4, 3)))
    q, v, done = make_steps(model, start.q, start.v, 0.0, 1e-3, 100_000, "rk4", drive)
    assert done == 100_000
    assert np.abs(constraint_residual(model, q)).max() < 1e-10
    before, after = (pysim.kinetic_energy(model, *s) for s in ((start.q, start.v), (q, v)))
    assert after == pytest.approx(before, rel=1e-8)
