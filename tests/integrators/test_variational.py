"""The variational integrator against its definition, closed forms and what it must conserve.

Oracles: the discrete Lagrangian of a dense tree (tests/oracles/variational.py), the closed forms of
test_closed_forms.py, and conservation laws.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import pysim
from pysim.scene.spec import BodySpec, ModelSpec
from pysim.worlds.loading import compile_model
from tests.engine_steps import make_steps
from tests.integrators.test_closed_forms import PROBLEMS, pendulums, rest_drive
from tests.integrators.test_random_trees import Machine
from tests.oracles.mechanisms import make_joint, random_pose, random_theta
from tests.oracles.variational import DiscreteTree


@pytest.mark.parametrize("mimic", [False, True], ids=["tree", "mimic"])
def test_a_step_satisfies_the_discrete_euler_lagrange_equations(rng, isa, mimic):
    """p₀ + h/2 (Q₀ + G₀) = −∂L_d/∂q₀ and p₁ = ∂L_d/∂q₁ + h/2 (Q₁ + G₁), on every joint shape."""
    machine = Machine(rng, mimic=mimic)
    model, tree = machine.model, machine.tree
    discrete = DiscreteTree(tree)
    q0, v0 = model.random_configuration(rng), rng.normal(size=model.nv)
    t, h = 0.7, 5e-3

    q1, v1, done = make_steps(model, q0, v0, t, h, 1, "variational", machine.actuation)

    assert done == 1
    rate = model.difference(q0, q1) / h
    start, end = discrete.momenta(q0, q1, rate, h)
    still = np.zeros(model.nv)
    p0, p1 = tree.mass_matrix(q0) @ v0, tree.mass_matrix(q1) @ v1
    push0 = machine.force(t, q0, rate) - tree.rnea(q0, still, still)
    push1 = machine.force(t + h, q1, rate) - tree.rnea(q1, still, still)
    scale = np.abs(p0).max()
    np.testing.assert_allclose(p0 + h / 2 * push0, start, rtol=0, atol=1e-11 * scale)
    np.testing.assert_allclose(p1, end + h / 2 * push1, rtol=0, atol=1e-11 * scale)


@pytest.mark.parametrize(("problem", "steps"), PROBLEMS)
def test_halving_the_step_divides_the_error_by_four(problem, steps):
    errors = [np.abs(problem(steps * k, "variational")).max() for k in (1, 2, 4)]
    for coarse, fine in itertools.pairwise(errors):
        assert coarse / fine == pytest.approx(4, rel=0.03)


@pytest.mark.parametrize(("problem", "steps"), PROBLEMS)
def test_halving_the_step_of_the_composition_divides_the_error_by_sixteen(problem, steps):
    errors = [np.abs(problem(max(20, steps // 3) * k, "variational4")).max() for k in (1, 2)]
    assert errors[0] / errors[1] == pytest.approx(16, rel=0.12)


def floating_robot(rng, root="free", gravity=(0.0, 0.0, 0.0), **of_root):
    """A free base with a ball, a revolute and a universal joint behind it, where nothing pulls."""
    kinds = (root, "ball", "revolute", "universal")
    names = ["world", *(f"body{k}" for k in range(len(kinds)))]
    joints = tuple(
        make_joint(
            f"joint{k}", kind, names[k], names[k + 1], random_pose(rng), **of_root if k == 0 else {}
        )
        for k, kind in enumerate(kinds)
    )
    bodies = tuple(BodySpec(name, random_theta(rng)) for name in names[1:])
    return compile_model(ModelSpec("floating", np.array(gravity), bodies, joints))


def momentum_about_com(model, q, v):
    """(f, τ) in the world, from the base's rows of M v."""
    F, X = (pysim.crba(model, q) @ v)[:6], pysim.forward_kinematics(model, q)[0]
    f, moment = X[:3, :3] @ F[:3], X[:3, :3] @ F[3:]
    return f, moment + np.cross(X[:3, 3] - pysim.center_of_mass(model, q), f)


def test_a_free_robot_keeps_its_momenta_to_rounding_and_its_energy_without_trend(rng):
    """Over 2e5 steps, 1e-12 of momentum and a bounded error of energy (its means do not move)."""
    model = floating_robot(rng)
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    start, energy = momentum_about_com(model, q, v), pysim.kinetic_energy(model, q, v)
    size = np.linalg.norm(start[1])
    errors = []
    for _ in range(400):
        q, v, done = make_steps(model, q, v, 0.0, 2e-3, 500, "variational", rest_drive(model))
        assert done == 500
        errors.append(pysim.kinetic_energy(model, q, v) / energy - 1)
    for then, now in zip(start, momentum_about_com(model, q, v), strict=True):
        np.testing.assert_allclose(now, then, rtol=0, atol=1e-12 * size)
    assert np.abs(errors).max() < 2e-5
    # five times the error of a difference of two means of 200: it does not depend on chance
    assert abs(np.mean(errors[200:]) - np.mean(errors[:200])) < 0.5 * np.std(errors)


@pytest.mark.parametrize(
    ("scheme", "allowed", "runs"), [("variational", 4e-4, 250), ("variational4", 1e-6, 50)]
)
def test_a_pendulum_keeps_its_energy_over_a_million_solves(scheme, allowed, runs):
    """Steps of 1/200 of the period, swings of 1.5 rad; the error of the first half is that of the second."""
    model = pendulums(1)
    q, v = np.array([-np.pi / 2 + 1.5]), np.zeros(1)

    def energy(q, v):
        return float(pysim.kinetic_energy(model, q, v) + pysim.potential_energy(model, q)) + 9.81

    start, h, errors = energy(q, v), 2 * np.pi / np.sqrt(9.81) / 200, []
    for _ in range(runs):
        q, v, done = make_steps(model, q, v, 0.0, h, 4001, scheme, rest_drive(model))
        assert done == 4001
        errors.append(energy(q, v) / start - 1)
    early, late = np.abs(errors[: runs // 2]).max(), np.abs(errors[runs // 2 :]).max()
    assert late < allowed
    assert late < 1.1 * early


def test_a_step_that_cannot_be_solved_stops_the_run():
    """A pendulum that turns many times in one step has no solution near the start."""
    model = pendulums(2)
    v = np.array([1e6, -3e6])
    _, v1, done = make_steps(model, np.zeros(2), v, 0.0, 0.1, 3, "variational", rest_drive(model))
    assert done == 0
    np.testing.assert_array_equal(v1, v)
