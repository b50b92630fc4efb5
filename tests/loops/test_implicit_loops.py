"""Implicit and variational schemes on closed loops.

Oracles: the residuals of the loops and their rates; numbers of the IFToMM library; order by halving; the balance of
energy.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim import _engine
from pysim.errors import SimulationError
from pysim.loops import constraints
from pysim.simulation.record_runs import RecordRun
from tests.oracles.single_rollouts import assert_same, rolled_alone
from tests.scene_claims.closed import ANDREWS, FOUR_BARS

SCENES = Path(__file__).parents[2] / "scenes"
IMPLICIT = ("implicit_midpoint", "generalized_alpha")
POINT_CONSTRAINTS = (
    "four_bar",
    "four_bars",
    "slider_crank",
    "five_bar",
    "stewart_platform",
    "differential",
)


def run(name, scheme, **keys):
    overrides = {"simulation.integrator": scheme}
    overrides |= {f"simulation.{key}": value for key, value in keys.items()}
    overrides["output.every"] = keys["duration"] / 50
    scene = pysim.load_scene(SCENES / f"{name}.toml", overrides=overrides)
    return scene, pysim.simulate(scene)


@pytest.mark.parametrize("scheme", [*IMPLICIT, "variational"])
@pytest.mark.parametrize("name", POINT_CONSTRAINTS)
def test_loops_and_their_rates_stay_within_1e_10(name, scheme):
    step = 5e-3 if name == "stewart_platform" else 1e-3
    scene, trajectory = run(name, scheme, duration=1.0, step=step)
    at = constraints(scene.model, trajectory.q, trajectory.v)
    assert np.abs(at.residual).max() < 1e-10
    assert np.abs(np.einsum("nij,nj->ni", at.jacobian, trajectory.v)).max() < 1e-10


@pytest.mark.parametrize(
    ("name", "scheme", "most"),
    [("stewart_platform", "generalized_alpha", 3), ("slider_crank", "implicit_midpoint", 30)],
)
def test_newtons_method_includes_derivatives_of_loop_rows_and_forces(name, scheme, most):
    """At 10 ms: with the tree's derivatives alone, restricted to the loops, 5.4 and 46 iterations a step."""
    overrides = {
        "simulation": {"duration": 1.0, "step": 0.01, "integrator": scheme},
        "output.every": 0.5,
    }
    updates = []
    scene = pysim.load_scene(SCENES / f"{name}.toml", overrides)
    pysim.simulate(scene, progress=updates.append)
    assert updates[-1].iterations < most * updates[-1].steps
    assert updates[-1].rejected == 0


def angles(trajectory, model, names):
    return [trajectory.q[-1, model.q_offsets[model.joint_names.index(n)]] for n in names]


@pytest.mark.parametrize("scheme", [*IMPLICIT, "variational"])
def test_andrews_converges_to_its_published_angles_with_order_2(scheme):
    errors = []
    for step in (4e-5, 2e-5, 1e-5):
        scene, trajectory = run("andrews", scheme, duration=0.03, step=step)
        reached = np.array(angles(trajectory, scene.model, ANDREWS))
        errors.append(np.abs(reached - list(ANDREWS.values())).max())
    assert errors[-1] < 5e-4
    ratios = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(ratios, 2, rtol=0, atol=0.3)


@pytest.mark.parametrize("scheme", IMPLICIT)
def test_two_four_bars_pass_their_singular_position_to_the_published_angle(scheme):
    """They lie flat in one line twice a turn; 1e-4 at 10 s with a step of 1 ms."""
    scene, trajectory = run("four_bars", scheme, duration=10.0, step=1e-3)
    at = constraints(scene.model, trajectory.q, trajectory.v)
    assert np.abs(at.residual).max() < 1e-10
    angle, speed = trajectory.q[-1, 0], trajectory.v[-1, 0]
    assert abs(abs(angle) - abs(FOUR_BARS[0])) < 1e-4 or abs(angle - FOUR_BARS[0]) < 1e-4
    assert abs(speed - FOUR_BARS[1]) < 1e-4


@cache
def reference():
    scene = pysim.load_scene(
        SCENES / "four_bar.toml",
        overrides={"simulation.integrator": "dopri5", "simulation.duration": 0.5,
                   "simulation.rtol": 1e-12, "simulation.atol": 1e-13, "output.every": 0.5},
    )  # fmt: skip
    return pysim.simulate(scene).q[-1]


@pytest.mark.parametrize("scheme", [*IMPLICIT, "variational"])
def test_a_four_bar_converges_with_order_2(scheme):
    ends = [
        run("four_bar", scheme, duration=0.5, step=h)[1].q[-1] for h in (2e-3, 1e-3, 5e-4, 2.5e-4)
    ]
    errors = np.array([np.abs(q - reference()).max() for q in ends])
    np.testing.assert_allclose(np.log2(errors[:-1] / errors[1:]), 2, rtol=0, atol=0.15)


def energy_errors(scheme, speed):
    """Of ten parts of 20 s of the four-bar, over the largest kinetic energy; 1 ms a step."""
    scene = pysim.load_scene(SCENES / "four_bar.toml")
    start = scene.state.q, speed * scene.state.v
    q, v = pysim.rollout(scene.model, *start, None, 1e-3, scheme, steps=20_000, every=10)
    kinetic = pysim.kinetic_energy(scene.model, q, v)
    energy = kinetic + pysim.potential_energy(scene.model, q)
    return (energy[1:].reshape(10, -1) - energy[0]) / kinetic.max()


def test_the_variational_scheme_keeps_the_energy_of_a_turning_four_bar():
    error = energy_errors("variational", 1.0)
    assert np.abs(error).max() < 2e-3
    assert np.ptp(error.mean(axis=1)) < 2e-5


def test_the_midpoint_rule_keeps_the_energy_of_a_swinging_four_bar():
    """It is symmetric on the loop, so what swings back and forth gains and loses alike."""
    error = energy_errors("implicit_midpoint", 0.0)
    assert np.abs(error).max() < 1e-4
    assert np.ptp(error.mean(axis=1)) < 2e-6


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scheme", _engine.integrators())
def test_a_loop_gets_the_same_bits_alone_and_in_any_batch(scheme, dtype):
    scene = pysim.load_scene(SCENES / "four_bar.toml")
    speeds = np.linspace(0.5, 2.0, 19)
    q0 = np.tile(scene.state.q, (19, 1)).astype(dtype)
    v0 = (speeds[:, None] * scene.state.v).astype(dtype)
    q, v = pysim.rollout(scene.model, q0, v0, None, 1e-3, scheme, steps=20)
    residual = constraints(scene.model, q[:, -1].astype(float), v[:, -1].astype(float)).residual
    assert np.abs(residual).max() < (1e-10 if dtype is np.float64 else 1e-5)
    for k in (0, 9, 18):
        alone = pysim.rollout(scene.model, q0[k], v0[k], None, 1e-3, scheme, steps=20)
        np.testing.assert_array_equal(alone[0], q[k])
        np.testing.assert_array_equal(alone[1], v[k])


@pytest.mark.parametrize("scheme", [*IMPLICIT, "variational"])
def test_worlds_that_iterate_longer_change_no_bit_of_those_that_are_through(scheme):
    scene = pysim.load_scene(SCENES / "slider_crank.toml")
    q0 = np.tile(scene.state.q, (9, 1))
    v0 = np.linspace(1.0, 1.8, 9)[:, None] * scene.state.v
    models, options = [scene.model] * 9, (None, 1e-3, scheme)
    together = pysim.rollout(scene.model, q0, v0, *options, steps=300)
    assert_same(together, rolled_alone(models, q0, v0, *options, steps=300))


def coupler_point(scene, q):
    return pysim.frame_placement(scene.model, q, "coupler point")[:3, 3]


def sprung(tmp_path, scheme, stiffness):
    """The four-bar from rest, a spring and damper from its coupler to the world, 1 mm from its natural length."""
    base = pysim.load_scene(SCENES / "four_bar.toml")
    length = np.linalg.norm(coupler_point(base, base.state.q)) + 1e-3
    text = (SCENES / "four_bar.toml").read_text("utf-8").replace("v = 14.0", "v = 0.0")
    force = (
        '[[force]]\nname = "stay"\ntype = "spring"\na = "coupler point"\nb = "world"\n'
        f"stiffness = {stiffness}\ndamping = {1e-4 * stiffness}\nlength = {length}\n\n"
    )
    path = tmp_path / "sprung.toml"
    path.write_text(text.replace("[simulation]", force + "[simulation]"), "utf-8")
    overrides = {
        "simulation.integrator": scheme,
        "simulation.step": 1e-3,
        "simulation.duration": 0.5,
        "output.every": 0.01,
    }
    return pysim.load_scene(path, overrides=overrides), length


@pytest.mark.filterwarnings("ignore:simulation.step is:pysim.PysimWarning")
@pytest.mark.parametrize("scheme", IMPLICIT)
def test_a_stiff_spring_between_bodies_of_a_loop_comes_to_rest(tmp_path, scheme):
    """1e8 N/m and 1e4 N·s/m, 100 times the stability limit of rk4; at rest the spring holds the weight."""
    with pytest.raises(SimulationError):
        pysim.simulate(sprung(tmp_path, "rk4", 1e8)[0])
    updates = []
    scene, length = sprung(tmp_path, scheme, 1e8)
    trajectory = pysim.simulate(scene, progress=updates.append)
    at = constraints(scene.model, trajectory.q, trajectory.v)
    assert np.abs(at.residual).max() < 1e-10
    assert updates[-1].iterations < 6 * updates[-1].steps
    assert np.isfinite(trajectory.q).all()
    reach = np.linalg.norm(coupler_point(scene, trajectory.q[-1]))
    assert reach == pytest.approx(length, abs=1e-5)


def ring(links):
    """A closed polygon of equal links in a vertical plane, hinged to the world at one corner."""
    turn = 2 * np.pi / links
    side = float(2 * np.sin(turn / 2))
    text = 'name = "ring"\n'
    for k in range(links - 1):
        parent, at = ("world", 0) if k == 0 else (f"b{k - 1}", side)
        text += (
            f'[[body]]\nname = "b{k}"\nmass = 1\ncom = [{side / 2}, 0, 0]\n'
            "inertia = { xx = 1e-3, yy = 1e-3, zz = 1e-3 }\n"
            f'[[joint]]\nname = "j{k}"\ntype = "revolute"\nparent = "{parent}"\nchild = "b{k}"\n'
            f"at = {{ xyz = [{at!r}, 0, 0] }}\naxis = [0, 1, 0]\nstart = {turn if k else 0.0!r}\n"
        )
    x, z = side * np.cos(turn), side * np.sin(turn)
    return text + (
        f'[[loop]]\nname = "close"\ntype = "revolute"\na = "b{links - 2}"\nb = "world"\naxis = [0, 1, 0]\n'
        f"at_a = {{ xyz = [{float(side)!r}, 0, 0] }}\nat_b = {{ xyz = [{float(x)!r}, 0, {float(z)!r}] }}\n"
        '[simulation]\nintegrator = "implicit_midpoint"\nduration = 0.01\nstep = 1e-3\n'
    )


def test_the_rounding_of_a_long_ring_requires_no_derivatives(tmp_path):
    """Derivatives of many links take most of a step. Corrections below 1e-11 of v decrease slowly, at rounding."""
    path = tmp_path / "ring.toml"
    path.write_text(ring(100), "utf-8")
    scene = pysim.load_scene(path)
    run = RecordRun(scene)
    run.begin()
    for _ in run.segments(iter(np.linspace(0.0, 0.01, 11))):
        assert run.records.scheme[0, 5] == 0  # `stiff` of cpp/stepping/solver_state.hpp
    assert run.records.solver_counts(0)[0] > 0
