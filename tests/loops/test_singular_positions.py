"""Parallelograms beside and through the flat position, where a row of their loop vanishes and they could fold.

Oracle: the reduced equation of all posts turning as one, I θ̈ = −K cos θ.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import pysim
from pysim import _engine
from pysim.loops import constrained_aba, project
from pysim.mechanism.compile import start_state
from pysim.simulation import Update
from pysim.worlds.loading import compile_model
from tests.engine_steps import make_steps
from tests.loops.mechanisms import four_bar, many_four_bars

SCENES = Path(__file__).parents[2] / "scenes"
G = 9.81
POSTS, COUPLERS = (1.7, 0.9, 2.8), (1.7, 1.3)  # masses that are not alike [kg]
SPEED = -3.0  # [rad/s]
START = [np.pi / 2, SPEED]


def swing(pull: float, until: float, start: list[float], **asked: object) -> Any:
    """The reduced equation θ̈ = −pull cos θ from (θ, θ̇)."""
    return solve_ivp(
        lambda _, y: [y[1], -pull * np.cos(y[0])],
        (0, until),
        start,
        method="DOP853",
        rtol=1e-12,
        atol=1e-13,
        **asked,
    )


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
        q, v, done = make_steps(model, start.q, start.v, 0.0, 3.0 / steps, steps, "rk4", rest)
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
    exact = swing(3.5 * G / 3, 1.5, [np.pi / 2, -1.0], t_eval=run.t)
    assert exact.y[0, -1] < -1.1 * np.pi  # past both flat positions
    np.testing.assert_allclose(run.q[:, posts], np.tile(exact.y[:1].T, 3), atol=60 * step**2)


def unequal_four_bars(integrator: str, short_of: float) -> tuple[pysim.Scene, float, float]:
    """Three bars of unlike masses whose 200th step ends `short_of` [rad] of the flat position, the step [s],
    and the exact angle of the first post after 600."""
    inertia = sum(POSTS) / 3 + sum(COUPLERS)
    pull = (sum(POSTS) / 2 + sum(COUPLERS)) * G
    falls = swing(pull / inertia, 1.0, START, events=lambda _, y: y[0])
    step = (falls.t_events[0][0] - short_of / abs(falls.y_events[0][0][1])) / 200
    changes: dict[str, object] = {
        "simulation.integrator": integrator,
        "simulation.step": step,
        "simulation.duration": 600 * step,
        "output.every": 600 * step,
    }
    changes |= {f"body.post{k}.mass": mass for k, mass in enumerate(POSTS)}
    changes |= {f"body.coupler{k}.mass": mass for k, mass in enumerate(COUPLERS)}
    changes |= {f"joint.pivot{k}.start.v": SPEED for k in range(3)}
    changes |= {f"joint.elbow{k}.start.v": -SPEED for k in range(2)}
    scene = pysim.load_scene(SCENES / "four_bars.toml", changes)
    return scene, step, swing(pull / inertia, 600 * step, START).y[0, -1]


@pytest.mark.parametrize("short_of", [1e-4, 1e-5, 3e-6, 1e-7, 0.0])
@pytest.mark.parametrize(
    ("integrator", "error"),
    [
        ("rk4", 2e-7),
        ("dopri5", 1e-10),
        ("implicit_midpoint", 2e-5),
        ("generalized_alpha", 2e-5),
        ("variational", 1e-4),
        ("variational4", 1e-6),
    ],
)
def test_steps_that_begin_on_it_lose_nothing(
    integrator: str, error: float, short_of: float
) -> None:
    """The row that has vanished constrains again within the step, where explicit schemes find that it depended;
    variational ones push with the rows of the start, many times too far if the end is taken for like it."""
    scene, _, exact = unequal_four_bars(integrator, short_of)
    run = pysim.simulate(scene)
    assert run.q[-1, 0] == pytest.approx(exact, abs=error)


@pytest.mark.filterwarnings("ignore:the start is a singular position:pysim.PysimWarning")
@pytest.mark.filterwarnings("ignore:simulation.step is:pysim.PysimWarning")
@pytest.mark.parametrize("at", [0.0, 1e-9, 1e-7])
@pytest.mark.parametrize(
    ("integrator", "error"),
    [
        ("semi_implicit", 4e-3),
        ("rk2", 1e-5),
        ("rk4", 1e-10),
        ("dopri5", 1e-9),
        ("implicit_midpoint", 4e-6),
        ("generalized_alpha", 4e-6),
        ("variational", 1e-5),
        ("variational4", 1e-10),
    ],
)
def test_runs_that_start_on_it_with_some_speed_go_on(
    integrator: str, error: float, at: float
) -> None:
    """Four rows hold nothing at first, and hold before the first step ends; I = 3/3 + 2, K = (3/2 + 2) g."""
    changes: dict[str, object] = {
        "simulation.integrator": integrator,
        "simulation.duration": 0.5,
        "output.every": 0.5,
    }
    changes |= {f"joint.pivot{k}.start.q": at for k in range(3)}
    changes |= {f"joint.elbow{k}.start.q": -at for k in range(2)}
    run = pysim.simulate(pysim.load_scene(SCENES / "four_bars.toml", changes))
    exact = swing(3.5 * G / 3, 0.5, [at, -1.0])
    assert run.q[-1, 0] == pytest.approx(exact.y[0, -1], abs=error)


@pytest.mark.parametrize("integrator", ["rk4", "variational"])
def test_worlds_of_a_batch_pass_it_as_each_alone(integrator: str) -> None:
    """Of eight worlds three begin a step where a row has vanished; no other is affected."""
    scene, step, _ = unequal_four_bars(integrator, 0.0)
    model, start = scene.model, scene.state
    rest = _engine.Actuation(*np.zeros((4, model.nv)))
    early = np.array([0.0, 1e-3, 0.0, 2e-2, -1e-3, 0.0, 0.1, 1e-6])
    moves = step * early[:, None] * start.v
    q = np.array([project(model, start.q + move, start.v).q for move in moves])
    v = np.tile(start.v, (len(early), 1))
    together = make_steps(model, q, v, 0.0, step, 230, integrator, rest)
    for k in range(len(early)):
        alone = make_steps(model, q[k], v[k], 0.0, step, 230, integrator, rest)
        np.testing.assert_array_equal(together[0][k], alone[0])
        np.testing.assert_array_equal(together[1][k], alone[1])
