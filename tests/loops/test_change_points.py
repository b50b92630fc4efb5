"""Passing change points: near-parallelograms whose motion turns within a distance far below the step.

Oracle: conservation of energy; constraints and gravity alone act on `scenes/four_bars.toml`. A bar too long by ε moves
the change point off by about √ε rad: the mechanism turns there instead of passing straight on.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import pysim
from pysim.errors import SimulationError
from pysim.loops import constraint_residual
from pysim.loops.mobility import allowed_motions
from pysim.worlds.loading import compile_model
from tests.loops.mechanisms import four_bar
from tests.nightly import at_night

ALLOWED = {"rk4": 1e-3, "dopri5": 1e-2, "variational4": 1e-3}  # [J] of 70


def run(integrator, excess, **overrides):
    values = {
        "loop.hinge1.at_b.xyz": [1 + excess, 0, 0],
        "simulation.integrator": integrator,
        "simulation.duration": 5.0,
        **overrides,
    }
    if integrator == "dopri5":
        values |= {"simulation.rtol": 1e-8, "simulation.atol": 1e-8}
    scene = pysim.load_scene("scenes/four_bars.toml", overrides=values)
    return scene.model, pysim.simulate(scene)


def energy(model, trajectory):
    q, v = trajectory.q, trajectory.v
    return pysim.kinetic_energy(model, q, v) + pysim.potential_energy(model, q)


@pytest.mark.filterwarnings("ignore::pysim.errors.PysimWarning")
@pytest.mark.parametrize("excess", [0.0, 1e-11, 1e-8, 1e-4, *at_night(1e-12, 1e-10, 1e-6, 1e-5)])
@pytest.mark.parametrize("integrator", ["rk4", "dopri5", "variational4"])
def test_a_near_parallelogram_keeps_its_energy(integrator, excess):
    model, trajectory = run(integrator, excess)
    assert trajectory.t[-1] == pytest.approx(5.0)
    E = energy(model, trajectory)
    assert np.abs(E - E[0]).max() < ALLOWED[integrator]
    assert np.abs(constraint_residual(model, trajectory.q)).max() < 1e-10


@pytest.mark.filterwarnings("ignore::pysim.errors.PysimWarning")
@pytest.mark.parametrize("excess", [1e-10, 4e-5, *at_night(1e-7, 1e-6)])
@pytest.mark.parametrize("integrator", ["generalized_alpha", "implicit_midpoint", "variational"])
def test_implicit_schemes_pass_within_their_order(integrator, excess):
    """Their errors beside a parallelogram are 1e-4 J."""
    model, trajectory = run(integrator, excess)
    E = energy(model, trajectory)
    assert np.abs(E - E[0]).max() < 0.1


@pytest.mark.parametrize("excess", [2.8e-5, 1e-4, 1e-3, *at_night(4.3e-5, 3e-4)])
@pytest.mark.parametrize(
    ("integrator", "allowed"),
    [
        ("rk4", 1e-3),
        ("variational4", 1e-3),
        ("implicit_midpoint", 1e-3),
        ("rk2", 0.03),
        ("variational", 0.03),
        ("generalized_alpha", 0.03),
        ("semi_implicit", 0.5),
    ],
)
def test_turns_of_some_steps_are_resolved(integrator, allowed, excess):
    """One loop turns beside the change point while the other leaves it: the smallest pivot of both stays the same."""
    model, trajectory = run(integrator, excess)
    assert trajectory.t[-1] == pytest.approx(5.0)
    E = energy(model, trajectory)
    assert np.abs(E - E[0]).max() < allowed


@pytest.mark.filterwarnings("ignore::pysim.errors.PysimWarning")
@pytest.mark.parametrize("excess", [7e-14, 1e-13, 1.7e-13])
def test_dopri5_passes_or_names_the_position_where_rounding_hides_the_turn(excess):
    try:
        model, trajectory = run("dopri5", excess)
    except SimulationError as error:
        text = str(error)
    else:
        E = energy(model, trajectory)
        assert np.abs(E - E[0]).max() < ALLOWED["dopri5"]
        return
    assert re.search(r"at t = .* rad of a singular configuration; change a length", text)


@pytest.mark.filterwarnings("ignore::pysim.errors.PysimWarning")
@pytest.mark.parametrize("excess", [1e-10, 1e-8])
@pytest.mark.parametrize("integrator", ["semi_implicit", "rk2"])
def test_other_schemes_lose_no_more_than_beside_a_parallelogram(integrator, excess):
    """No step loses more than a hundredth of the energy at once; the schemes' own errors stay."""
    model, trajectory = run(integrator, excess)
    E = energy(model, trajectory)
    assert np.abs(np.diff(E)).max() < 0.5


@pytest.mark.filterwarnings("ignore::pysim.errors.PysimWarning")
def test_a_rollout_passes_as_a_run_does():
    model, trajectory = run("rk4", 1e-8, **{"simulation.duration": 1.0})
    q, v = pysim.rollout(
        model,
        np.tile(trajectory.q[0], (9, 1)),
        np.tile(trajectory.v[0], (9, 1)),
        np.zeros((9, 1000, model.nv)),
        1e-3,
        integrator="rk4",
    )
    assert np.isfinite(q).all()
    flat_q, flat_v = q.reshape(-1, model.nq), v.reshape(-1, model.nv)
    E = pysim.kinetic_energy(model, flat_q, flat_v) + pysim.potential_energy(model, flat_q)
    assert np.abs(E - E[0]).max() < ALLOWED["rk4"]
    np.testing.assert_array_equal(q[3], q[8])  # alike, whatever the lane


@pytest.mark.parametrize("excess", [1e-8, *at_night(1e-11, 1e-6)])
@pytest.mark.parametrize(
    ("integrator", "allowed"),
    [("rk4", 1e-4), ("implicit_midpoint", 0.03), ("generalized_alpha", 0.03)],
)
@pytest.mark.parametrize("bars", [(2.0, 1.0, 2.0, 1.0), (1.0, 1.0, 2.0, 2.0)])
def test_parallelograms_and_kites_of_other_lengths_pass(bars, integrator, allowed, excess):
    """Energies are some 120 J; the errors are those of the schemes in a linkage without change points."""
    ground, crank, coupler, rocker = bars
    is_kite = ground == crank
    lengths = (ground, crank + excess * is_kite, coupler + excess * (not is_kite), rocker)
    spec = four_bar(lengths)
    model = compile_model(spec)
    q = np.array([float(joint.start_q[0]) for joint in spec.joints])
    N = allowed_motions(model, q)[:, 0]
    q, v = pysim.rollout(model, q, 9.0 * N / N[0], None, 1e-3, integrator=integrator, steps=3000)
    E = pysim.kinetic_energy(model, q, v) + pysim.potential_energy(model, q)
    assert np.abs(E - E[0]).max() < allowed
