"""Centroidal momentum, its map and their rates. Oracles: the dense tree, differences, forces, Pinocchio's numbers."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.worlds.loading import compile_model
from tests.algorithms.random_states import KINDS, close, states
from tests.oracles import tree as oracle
from tests.oracles.differences import time_derivative
from tests.oracles.mechanisms import random_tree
from tests.robots import REFERENCE, load_robot, reference_order


def times(A, x):
    return np.einsum("nij,nj->ni", A, x)


def test_momentum_is_that_of_all_bodies_about_their_centre(rng, isa):
    spec = random_tree(rng, rng.permutation(KINDS), mimic=True)
    model, tree = compile_model(spec), oracle.Tree(spec)
    q, v, _ = states(model, rng)
    theta = model.parameters.ravel()
    expected = []
    for row, rate in zip(q, v, strict=True):
        h = tree.momentum_regressor(row, rate) @ theta
        expected.append([*h[:3], *(h[3:] - np.cross(tree.center_of_mass(row), h[:3]))])
    close(pysim.centroidal_momentum(model, q, v), expected)


def test_map_times_velocity_is_the_momentum(model, rng, isa):
    q, v, _ = states(model, rng)
    close(times(pysim.centroidal_map(model, q), v), pysim.centroidal_momentum(model, q, v))


def test_linear_momentum_is_mass_times_the_velocity_of_the_centre(model, rng, isa):
    q, v, _ = states(model, rng)
    velocity = time_derivative(model, q, v, lambda x: pysim.center_of_mass(model, x))
    close(pysim.centroidal_momentum(model, q, v)[:, :3], model.total_mass * velocity, 1e-9)


def test_the_jacobian_of_the_centre_of_mass_gives_its_velocity(model, rng, isa):
    q, v, _ = states(model, rng)
    velocity = time_derivative(model, q, v, lambda x: pysim.center_of_mass(model, x))
    close(times(pysim.com_jacobian(model, q), v), velocity, 1e-9)
    out = np.empty((3, model.nv))
    assert pysim.com_jacobian(model, q[0], out=out) is out
    np.testing.assert_array_equal(out, pysim.com_jacobian(model, q)[0])


def test_rate_of_the_map_is_its_difference_along_the_motion(model, rng, isa):
    q, v, _ = states(model, rng)
    expected = time_derivative(model, q, v, lambda x: pysim.centroidal_map(model, x))
    close(pysim.centroidal_map_time_derivative(model, q, v), expected, 1e-9)


def test_rate_of_the_momentum_is_that_of_map_and_velocity(model, rng, isa):
    q, v, a = states(model, rng)
    A, A_dot = pysim.centroidal_map(model, q), pysim.centroidal_map_time_derivative(model, q, v)
    close(pysim.centroidal_momentum_rate(model, q, v, a), times(A, a) + times(A_dot, v))


def test_forces_on_a_floating_mechanism_change_its_momentum(rng, isa):
    model = compile_model(random_tree(rng, ["free", "revolute", "ball", "prismatic"], chain=True))
    q, v, tau = states(model, rng)
    tau[:, :6] = 0  # nothing but gravity acts from outside
    model = model.with_armature(np.zeros(model.nv))
    rate = pysim.centroidal_momentum_rate(model, q, v, pysim.aba(model, q, v, tau))
    weight = [*(model.total_mass * model.gravity), 0, 0, 0]
    close(rate, np.tile(weight, (len(q), 1)), 1e-11)


@pytest.mark.parametrize("name", ["panda", "ur5", "double_pendulum", "anymal"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-10), (np.float32, 1e-3)])
def test_robots_have_the_reference_momenta(name, dtype, tolerance, isa):
    model = load_robot(name)
    at_q, at_v, _ = reference_order(model, name)
    data = np.load(REFERENCE / f"{name}.npz")
    n = sum(key.endswith("/Ag") for key in data)
    q, v, a = (
        np.array([data[f"s{k}/{x}"][order] for k in range(n)], dtype)
        for x, order in (("q", at_q), ("v", at_v), ("a", at_v))
    )
    h, h_dot = (np.array([data[f"s{k}/{x}"] for k in range(n)]) for x in ("hg", "dhg"))
    close(pysim.centroidal_momentum(model, q, v), h, tolerance)
    close(pysim.centroidal_momentum_rate(model, q, v, a), h_dot, tolerance)
    A = np.array([data[f"s{k}/Ag"][:, at_v] for k in range(n)])
    close(pysim.centroidal_map(model, q), A, tolerance)
