"""Regressors. Oracles: the dense tree of each unit parameter alone, RNEA and the energies, Pinocchio's numbers."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from tests.algorithms.random_states import STATES, close, states
from tests.joints.chains import plugin_chain
from tests.oracles.mechanisms import random_theta
from tests.oracles.spatial import spatial_cross, spatial_inertia
from tests.robots import REFERENCE, load_robot, reference_order


def test_columns_are_the_torques_of_unit_parameters_alone(mechanism, rng, isa):
    model, tree = mechanism
    q, v, a = states(model, rng)
    expected = [tree.torque_regressor(*s) for s in zip(q, v, a, strict=True)]
    close(pysim.joint_torque_regressor(model, q, v, a), expected)


def test_regressor_times_any_parameters_is_rnea_less_the_rotors(mechanism, rng, isa):
    model, tree = mechanism
    q, v, a = states(model, rng)
    Y = pysim.joint_torque_regressor(model, q, v, a)
    other = model.with_parameters([random_theta(rng) for _ in range(model.nbodies)])
    for m in (model, other):
        expected = pysim.rnea(m, q, v, a) - a @ tree.armature()
        close(Y @ m.parameters.ravel(), expected)


def test_bodies_that_a_coordinate_does_not_move_have_exact_zeros(mechanism, rng, isa):
    model, tree = mechanism
    q, v, a = states(model, rng)
    Y = pysim.joint_torque_regressor(model, q, v, a).reshape(STATES, model.nv, model.nbodies, 10)
    moves = np.zeros((model.nv, model.nbodies), bool)
    for body, _, J, _, _ in tree.body_motions(q[0], v[0], a[0]):
        moves[:, body] = np.abs(J).max(axis=0) > 0
    assert (Y[:, ~moves] == 0).all()
    assert (np.abs(Y[:, moves]).max(axis=-1) > 0).all()


def test_regressors_hold_through_plugins(rng, isa):
    model = plugin_chain(rng)
    q, v, a = states(model, rng)
    theta = model.parameters.ravel()
    close(pysim.joint_torque_regressor(model, q, v, a) @ theta, pysim.rnea(model, q, v, a))
    close(pysim.kinetic_energy_regressor(model, q, v) @ theta, pysim.kinetic_energy(model, q, v))


def test_energy_regressors_times_the_parameters_are_the_energies(mechanism, rng, isa):
    model, tree = mechanism
    q, v, _ = states(model, rng)
    theta = model.parameters.ravel()
    rotors = 0.5 * np.einsum("ni,ij,nj->n", v, tree.armature(), v)
    close(
        pysim.kinetic_energy_regressor(model, q, v) @ theta,
        pysim.kinetic_energy(model, q, v) - rotors,
    )
    close(pysim.potential_energy_regressor(model, q) @ theta, pysim.potential_energy(model, q))


def test_momentum_columns_are_the_momenta_of_unit_parameters_alone(mechanism, rng, isa):
    model, tree = mechanism
    q, v, _ = states(model, rng)
    expected = [tree.momentum_regressor(*s) for s in zip(q, v, strict=True)]
    close(pysim.momentum_regressor(model, q, v), expected)


def test_power_of_the_regressed_torque_is_the_rate_of_the_regressed_energies(mechanism, rng):
    model, _ = mechanism
    q, v, a = (x[0] for x in states(model, rng, 1))

    def energy(q, v):
        return pysim.kinetic_energy_regressor(model, q, v) + pysim.potential_energy_regressor(
            model, q
        )

    h = 1e-6
    forth = energy(model.integrate(q, h * v), v + h * a)
    back = energy(model.integrate(q, -h * v), v - h * a)
    close(v @ pysim.joint_torque_regressor(model, q, v, a), (forth - back) / (2 * h), 1e-7)


@pytest.mark.parametrize("name", ["panda", "ur5", "double_pendulum", "anymal"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-10), (np.float32, 1e-3)])
def test_robots_have_the_reference_regressor(name, dtype, tolerance, isa):
    model = load_robot(name)
    at_q, at_v, bodies = reference_order(model, name)
    columns = (10 * bodies[:, None] + np.arange(10)).ravel()
    data = np.load(REFERENCE / f"{name}.npz")
    n = sum(key.endswith("/Y") for key in data)
    q, v, a = (
        np.array([data[f"s{k}/{x}"][order] for k in range(n)], dtype)
        for x, order in (("q", at_q), ("v", at_v), ("a", at_v))
    )
    expected = np.array([data[f"s{k}/Y"][at_v][:, columns] for k in range(n)])
    close(pysim.joint_torque_regressor(model, q, v, a), expected, tolerance)


def test_body_regressor_times_parameters_is_newton_and_euler(rng, isa):
    v, a_g, theta = rng.normal(size=(5, 6)), rng.normal(size=(5, 6)), rng.normal(size=(5, 10))
    Y = pysim.body_regressor(v, a_g)
    for k in range(5):
        M = spatial_inertia(theta[k])
        close(Y[k] @ theta[k], M @ a_g[k] - spatial_cross(v[k]).T @ M @ v[k], 1e-14)
        np.testing.assert_array_equal(pysim.body_regressor(v[k], a_g[k]), Y[k])
    single = pysim.body_regressor(v.astype(np.float32), a_g.astype(np.float32))
    assert single.dtype == np.float32
    close(single, Y, 1e-6)


def test_body_regressor_rejects_axes_that_do_not_fit():
    with pytest.raises(pysim.PysimError, match=r"v: must have shape \(…, 6\), got \(5,\)"):
        pysim.body_regressor(np.zeros(5), np.zeros(6))
    with pytest.raises(pysim.PysimError, match="a_g: leading axes"):
        pysim.body_regressor(np.zeros((2, 6)), np.zeros((3, 6)))
