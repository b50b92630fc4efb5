"""Parallelograms beside and through the flat position, where a row of their loop vanishes and they could fold.

Oracle: the reduced equation of all posts turning as one, I θ̈ = −K cos θ.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import pysim
from pysim import _engine
from pysim.compile import compile_model, start_state
from pysim.loops import constrained_aba, project
from pysim.simulation import Update
from tests.loops.mechanisms import four_bar, many_four_bars

SCENES = Path(__file__).parents[2] / "scenes"
G = 9.81


@pytest.mark.parametrize("angle", [0.3, 0.03, 3e-3, 1e-3])
def test_accelerations_are_exact_up_to_rounding_over_the_distance(angle: float) -> None:
    """Two posts and a coupler of m = 1, l = 1: I = 2/3 + 1, K = (2/2 + 1) g."""
    model = compile_model(four_bar())
    turn = np.array([1.0, -1.0, 1.0])
    at = project(model, angle * turn, -5.0 * turn)
    expected = -2 * G * np.cos(angle) / (5 / 3) * turn
    np.testing.assert_allclose(at.v, -5.0 * turn, rtol=1e-12)
    found = constrained_aba(model, at.q, at.v, np.zeros(3))
    np.testing.assert_allclose(found, expected, rtol=1e-11 / angle)


def test_steps_that_end_beside_it_keep_the_energy() -> None:
    """Of many lengths, some end within 1e-4 rad of the flat position, where the loop holds least."""
    model = compile_model(many_four_bars(2))
    start, rest = start_state(model), _engine.Actuation(*np.zeros((4, model.nv)))

    def energy(q, v):
        return pysim.kinetic_energy(model, q, v) + pysim.potential_energy(model, q)

    for step in np.geomspace(1e-4, 1.5e-2, 24):
        steps = int(3.0 / step)
        q, v, done = _engine.advance(model, start.q, start.v, 0.0, 3.0 / steps, steps, "rk4", rest)
        assert done == steps
        np.testing.assert_allclose(energy(q, v), energy(start.q, start.v), rtol=1e-6)


@pytest.mark.parametrize("step", [1e-3, 2e-3, 3e-3, 5e-3, 7e-3, 1e-2])
@pytest.mark.parametrize("integrator", ["implicit_midpoint", "generalized_alpha"])
def test_implicit_steps_of_any_length_pass_it(integrator: str, step: float) -> None:
    """Three posts and two couplers: I = 3/3 + 2, K = (3/2 + 2) g. No step has to be made again in shorter ones."""
    changes = {
        "simulation": {"duration": 1.5, "step": step, "integrator": integrator},
        "output.every": 0.1,
    }
    scene = pysim.load_scene(SCENES / "four_bars.toml", changes)
    updates: list[Update] = []
    run = pysim.simulate(scene, progress=updates.append)
    assert updates[-1].rejected == 0
    posts = [scene.model.joint_names.index(f"pivot{k}") for k in range(3)]
    exact = solve_ivp(
        lambda _, y: [y[1], -3.5 * G * np.cos(y[0]) / 3],
        (0, 1.5),
        [np.pi / 2, -1.0],
        t_eval=run.t,
        rtol=1e-11,
        atol=1e-12,
    )
    assert exact.y[0, -1] < -1.1 * np.pi  # past both flat positions
    np.testing.assert_allclose(run.q[:, posts], np.tile(exact.y[:1].T, 3), atol=60 * step**2)
