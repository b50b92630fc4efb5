"""Starts that are far from closed, in a line, or at dead points.

Oracles: which angles a linkage reaches (Grashof's rule; the distance of two circles' centres; Bricard's linkage of
right angles, whose hinges swing ±120°), and scipy's SLSQP for the nearest closed configuration.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

import pysim
from pysim.algorithms import crba
from pysim.errors import ModelError
from pysim.loops import assemble, constraint_residual
from pysim.mechanism.compile import start_state
from pysim.worlds.loading import compile_model
from tests.loops.mechanisms import four_bar

SCENES = Path(__file__).parents[2] / "scenes"


@pytest.mark.parametrize(
    ("scene", "joint", "angles"),
    [
        ("four_bar", "drive", np.arange(0.0, 2 * np.pi, 0.1)),
        ("five_bar", "left motor", np.arange(0.0, 2 * np.pi, 0.1)),
        ("slider_crank", "crank", np.arange(0.0, 2 * np.pi, 0.3)),
        ("andrews", "beta", np.arange(0.0, 2 * np.pi, 0.3)),
        ("bricard", "hinge1", np.arange(-np.pi / 6 + 1e-3, np.pi, 0.3)),
    ],
)
def test_every_angle_that_the_linkage_reaches_is_closed(
    scene: str, joint: str, angles: np.ndarray
) -> None:
    given = pysim.load_scene(SCENES / f"{scene}.toml")
    model, start = given.model, start_state(given.model).q
    at = model.coordinate_names.index(joint)
    hold = given.spec.hold
    for angle in angles:
        q = start.copy()
        q[at] = angle
        closed = assemble(model, q, hold=hold)
        assert closed.q[at] == angle
        assert np.abs(constraint_residual(model, closed.q)).max() < 1e-10


@pytest.mark.parametrize("angle", [-np.pi / 6 - 1e-3, -1.0, -1.5])
def test_an_angle_that_bricards_linkage_does_not_reach_is_rejected(angle: float) -> None:
    changes = {"joint.hinge1.start.q": angle}
    with pytest.raises(ModelError, match=r"loop '\w+' \(\d.*\) cannot be closed \(residuals in"):
        pysim.load_scene(SCENES / "bricard.toml", changes)


@pytest.mark.parametrize("signs", [(1, 1, 1), (1, -1, 1), (1, 1, -1), (1, -1, -1)])
def test_links_started_in_one_line_leave_it(signs: tuple[int, int, int]) -> None:
    """Nothing pulls aside there: the residual is at a saddle, or largest."""
    model = compile_model(four_bar((1.0, 0.5, 1.2, 0.9)))
    q = np.where(np.array(signs) > 0, 0.0, np.pi)
    for hold in ([], ["crank"]):
        closed = assemble(model, q, hold=hold)
        assert closed.residual < 1e-12
        assert closed.moved > 0.1


def test_the_closed_state_is_as_near_as_that_of_slsqp() -> None:
    """Two coordinates of the four-bar may go where they like; its one freedom is what the nearest is chosen from."""
    model = compile_model(four_bar((1.0, 0.5, 1.2, 0.9)))
    closed, rng = start_state(model).q, np.random.default_rng(3)
    for _ in range(12):
        q = closed + rng.uniform(-0.5, 0.5, 3)
        nearest = assemble(model, q).q
        M = crba(model, q)

        def distance(x, q=q, M=M):
            return (x - q) @ M @ (x - q)

        best = minimize(
            distance,
            nearest,
            constraints={"type": "eq", "fun": lambda x: constraint_residual(model, x)},
            method="SLSQP",
            options={"ftol": 1e-14},
        )
        assert np.sqrt(distance(nearest)) < np.sqrt(best.fun) + 1e-3
