"""The inverse inertia, the Coriolis matrix and the operational-space inertia.

Oracles: the inertia (its product with the inverse is 1, its rate is C + Cᵀ), the dense tree, RNEA, Pinocchio's numbers.
"""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.worlds.loading import compile_model
from tests.algorithms.random_states import KINDS, STATES, close, states
from tests.oracles import tree as oracle
from tests.oracles.differences import time_derivative
from tests.oracles.mechanisms import MOVING, random_tree
from tests.robots import REFERENCE, load_robot, reference_order


def test_inverse_times_inertia_is_one_and_symmetric_to_the_bit(model, rng, isa):
    q = states(model, rng)[0]
    inverse = pysim.minverse(model, q)
    np.testing.assert_allclose(
        inverse @ pysim.crba(model, q), np.tile(np.eye(model.nv), (STATES, 1, 1)), atol=1e-11
    )
    np.testing.assert_array_equal(inverse, inverse.swapaxes(1, 2))


def test_inverse_gives_the_accelerations_of_forward_dynamics(model, rng, isa):
    q, v, tau = states(model, rng)
    left = tau - pysim.nonlinear_effects(model, q, v)
    close(
        np.einsum("nij,nj->ni", pysim.minverse(model, q), left), pysim.aba(model, q, v, tau), 1e-10
    )


def test_entries_between_separate_trees_are_exactly_zero(rng, isa):
    tree = random_tree(rng, [*MOVING, *MOVING])
    model = compile_model(tree)
    q, v, _ = states(model, rng)
    roots = [
        k if p < 0 else None for k, p in enumerate(model.parents)
    ]  # the tree that each body belongs to
    for k, p in enumerate(model.parents):
        roots[k] = k if p < 0 else roots[p]
    owner = np.repeat(roots, model.joint_nv)
    apart = owner[:, None] != owner[None, :]
    assert apart.any()
    assert (pysim.minverse(model, q)[:, apart] == 0).all()
    assert (pysim.coriolis_matrix(model, q, v)[:, apart] == 0).all()


def test_coriolis_matrix_times_velocity_is_what_rnea_adds_to_gravity(model, rng, isa):
    q, v, _ = states(model, rng)
    expected = pysim.nonlinear_effects(model, q, v) - pysim.generalized_gravity(model, q)
    close(np.einsum("nij,nj->ni", pysim.coriolis_matrix(model, q, v), v), expected)


def test_rate_of_the_inertia_less_twice_the_coriolis_matrix_is_skew(model, rng, isa):
    q, v, _ = states(model, rng)
    C = pysim.coriolis_matrix(model, q, v)
    close(C + C.swapaxes(1, 2), time_derivative(model, q, v, lambda x: pysim.crba(model, x)), 1e-9)


def test_coriolis_matrix_is_linear_in_the_velocity(model, rng, isa):
    q, v, u = states(model, rng)
    both = pysim.coriolis_matrix(model, q, v + u)
    close(pysim.coriolis_matrix(model, q, v) + pysim.coriolis_matrix(model, q, u), both, 1e-8)


@pytest.mark.parametrize("name", ["panda", "ur5", "double_pendulum", "anymal"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-10), (np.float32, 1e-3)])
def test_robots_have_the_reference_matrices(name, dtype, tolerance, isa):
    model = load_robot(name)
    at_q, at_v, _ = reference_order(model, name)
    data = np.load(REFERENCE / f"{name}.npz")
    n = sum(key.endswith("/Ccor") for key in data)
    q, v = (
        np.array([data[f"s{k}/{x}"][order] for k in range(n)], dtype)
        for x, order in (("q", at_q), ("v", at_v))
    )
    C = np.array([data[f"s{k}/Ccor"][at_v][:, at_v] for k in range(n)])
    close(pysim.coriolis_matrix(model, q, v), C, tolerance)
    if f"s{n - 1}/ddq_dtau" in data:
        inverse = np.array([data[f"s{k}/ddq_dtau"][at_v][:, at_v] for k in range(n)])
        close(pysim.minverse(model, q), inverse, tolerance)


@pytest.mark.parametrize("expressed", ["local", "world", "aligned"])
def test_operational_space_inertia_is_that_of_the_frame(model, rng, isa, expressed):
    q = states(model, rng)[0]
    J = pysim.jacobian(model, q, "tool", expressed)
    mobility = J @ np.linalg.inv(pysim.crba(model, q)) @ J.swapaxes(1, 2)
    mine = pysim.operational_space_mobility(model, q, "tool", expressed)
    close(mine, mobility, 1e-10)
    np.testing.assert_array_equal(mine, mine.swapaxes(1, 2))


def test_a_wrench_accelerates_a_free_body_by_its_operational_space_inertia(rng, isa):
    model = compile_model(random_tree(rng, ["free", "revolute"], chain=True))
    q, v, _ = states(model, rng)
    inertia = pysim.operational_space_inertia(model, q, "tool")
    J = pysim.jacobian(model, q, "tool")
    wrench = rng.normal(size=(STATES, 6))
    tau = np.einsum("nij,ni->nj", J, wrench)
    still = 0 * v
    free = pysim.aba(model, q, still, still)
    more = np.einsum("nij,nj->ni", J, pysim.aba(model, q, still, tau) - free)
    close(np.einsum("nij,nj->ni", inertia, more), wrench, 1e-9)


def test_a_frame_that_cannot_move_everywhere_has_no_operational_space_inertia(rng):
    model = compile_model(random_tree(rng, ["revolute", "ball"], chain=True))
    q = states(model, rng, 2)[0]
    message = "frame 'tool': cannot move in all six directions in state 0, its inertia is infinite"
    with pytest.raises(pysim.ModelError, match=message):
        pysim.operational_space_inertia(model, q, "tool")
    with pytest.raises(pysim.ModelError, match="cannot move in all six directions, its inertia"):
        pysim.operational_space_inertia(model, q[0], "tool")


def test_oracle_and_engine_share_the_inertia(rng):
    spec = random_tree(rng, KINDS, mimic=True)
    model, tree = compile_model(spec), oracle.Tree(spec)
    q = states(model, rng, 1)[0][0]
    close(pysim.minverse(model, q), np.linalg.inv(tree.mass_matrix(q)), 1e-10)
