"""Statistics of Newton's method in convex steps.

Oracle: the cost of tests/oracles/contact_step.py at its minimum; a quadratic cost falls by half the squared norm of its
gradient in a full step.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import pysim
from tests.contact.convex_worlds import ITERATIONS, ConvexWorlds
from tests.contact.random_scenes import FAMILIES, Family
from tests.contact.scenes import GROUND, free, world
from tests.oracles.contact_step import ContactStep, Memory

BALL = "{ sphere = { radius = 0.1 } }"
PUSHED = "{ xyz = [0, 0, 0.0995], v = [0.5, 0, -1, 0, 0, 0] }"


def ball(tmp_path: Path, run: str = "", surface: str = "friction = 0.5") -> pysim.Scene:
    return world(tmp_path, GROUND + free("ball", BALL, 1.0, PUSHED), surface=surface, run=run)


@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")  # of starts beyond limits, and long steps
@pytest.mark.parametrize("family", [f for f in FAMILIES if f.__name__ != "servo_arms"])
def test_the_last_cost_is_that_of_the_minimum(tmp_path: Path, family: Family) -> None:
    for number in range(6):
        drawn = family(tmp_path, np.random.default_rng([50, number]), 1)
        scene = drawn.scene
        step = ContactStep(scene, scene.state.q, scene.state.v, scene.settings.step, Memory())
        expected = step.cost(step.solve())
        iterations = pysim.Worlds(scene).newton_iterations()
        if not iterations:  # nothing touches
            assert expected == 0
            continue
        scale = max(abs(i.cost) for i in iterations) + 1e-12
        assert abs(iterations[-1].cost - expected) < 1e-11 * scale
        assert iterations[-1].converged
        assert iterations[-1].residual <= 1e-6


@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")  # of the overlap at the start
def test_the_cost_falls_by_half_the_squared_gradient_where_it_is_quadratic(tmp_path: Path) -> None:
    """A box without friction and dissipation: only the set of its corners that push changes."""
    start = "{ xyz = [0, 0, 0.0502], rpy = [0.004, 0.003, 0], v = [0, 0, -1, 3, -4, 0] }"
    box = GROUND + free("box", "{ box = [0.4, 0.3, 0.1] }", 1.0, start)
    scene = world(tmp_path, box, surface="friction = 0\nstiffness = 1e6\ndissipation = 0")
    iterations = pysim.Worlds(scene).newton_iterations()
    assert len(iterations) > 1
    for before, last in pairwise(iterations):
        assert last.cost <= before.cost
        assert last.length == scene.settings.step
    before, last = iterations[-2:]
    assert (last.touching, last.step_length) == (before.touching, 1.0)
    assert before.cost - last.cost == pytest.approx(last.gradient**2 / 2, rel=1e-6)


def test_iterations_are_those_that_the_step_counts(tmp_path: Path) -> None:
    """A ball that slides: radii of friction are renewed once."""
    scene = ball(tmp_path, surface="friction = 0.01")
    iterations = pysim.Worlds(scene).newton_iterations()
    worlds = ConvexWorlds(scene, scene.state.q, scene.state.v)
    worlds.step(1)
    assert len(iterations) == worlds.memory[0, ITERATIONS]
    assert [i.renews for i in iterations].count(True) == 1
    assert [i.converged for i in iterations] == [False] * (len(iterations) - 1) + [True]
    assert np.isnan(iterations[0].gradient)
    assert (iterations[-1].touching, iterations[-1].sticking) == (1, 0)


def test_worlds_stay_where_they_are(tmp_path: Path) -> None:
    worlds = pysim.Worlds(ball(tmp_path), 3)
    worlds.v[1, 0] = 0.0
    worlds.step(steps=3)
    saved, forces = worlds.save(), worlds.contacts.copy()
    found = [worlds.newton_iterations(k) for k in range(3)]
    assert worlds.save() == saved
    np.testing.assert_array_equal(worlds.contacts, forces)
    assert [i.cost for i in found[0]] == [i.cost for i in found[2]]
    assert found[1][-1].cost != found[0][-1].cost


def test_stages_of_controlled_steps_have_their_length(tmp_path: Path) -> None:
    scene = ball(tmp_path, "accuracy = 1e-4")
    iterations = pysim.Worlds(scene).newton_iterations()
    assert sum(i.converged for i in iterations) >= 2
    longest = scene.settings.step * (1 - np.sqrt(0.5))
    assert 0 < max(i.length for i in iterations) <= longest * (1 + 1e-12)


def test_other_schemes_have_none(tmp_path: Path) -> None:
    scene = ball(tmp_path, 'integrator = "rk4"')
    with pytest.raises(pysim.SimulationError, match="'rk4' computes none"):
        pysim.Worlds(scene).newton_iterations()


def test_a_step_at_rest_takes_one_iteration(tmp_path: Path) -> None:
    scene = ball(tmp_path)
    rest = replace(scene.state, v=np.zeros(6))
    worlds = pysim.Worlds(replace(scene, state=rest))
    worlds.step(seconds=2.0)
    (only,) = worlds.newton_iterations()
    assert only.converged
    assert (only.touching, only.sticking) == (1, 1)
