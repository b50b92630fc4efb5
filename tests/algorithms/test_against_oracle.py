"""Every algorithm on random trees of every joint shape, against the dense oracle of tests/oracles/tree.py."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.worlds.loading import compile_model
from tests.algorithms.random_states import KINDS, close
from tests.oracles import spatial, tree as oracle
from tests.oracles.mechanisms import MOVING, one_body, random_theta, random_tree

BATCHES = [1, 3, 8, 19]  # below, across and above every pack width


def states(model, rng, n):
    q = np.array([model.random_configuration(rng) for _ in range(n)])
    return q, *(rng.normal(size=(n, model.nv)) for _ in range(3))


@pytest.fixture(params=["tree", "chain", "passive", "mimic"])
def mechanism(request, rng):
    kinds = rng.permutation(KINDS)
    spec = random_tree(
        rng,
        kinds,
        chain=request.param == "chain",
        passive=request.param in ("passive", "mimic"),
        mimic=request.param == "mimic",
    )
    return compile_model(spec), oracle.Tree(spec)


@pytest.mark.parametrize("kind", MOVING)
def test_subspace_of_the_oracle_is_the_derivative_of_its_pose(kind, rng):
    spec = random_tree(rng, [kind])
    tree, model = oracle.Tree(spec), compile_model(spec)
    q = model.random_configuration(rng)
    joint = spec.joints[0]
    S = oracle.subspace(joint, q)
    for k in range(model.nv):
        moved = oracle.joint_pose(joint, tree.integrate(q, 1j * oracle.STEP * np.eye(model.nv)[k]))
        rate = spatial.inverse(oracle.joint_pose(joint, q)) @ (moved.imag / oracle.STEP)
        twist = [*rate[:3, 3], rate[2, 1], rate[0, 2], rate[1, 0]]
        np.testing.assert_allclose(S[:, k], twist, atol=1e-13)


@pytest.mark.parametrize("n", BATCHES)
def test_rnea_is_the_sum_of_projected_wrenches(mechanism, rng, isa, n):
    model, tree = mechanism
    q, v, a, _ = states(model, rng, n)
    f_ext = rng.normal(size=(n, model.nbodies, 6))
    expected = [tree.rnea(*row) for row in zip(q, v, a, f_ext, strict=True)]
    close(pysim.rnea(model, q, v, a, f_ext), expected)


@pytest.mark.parametrize("n", BATCHES)
def test_aba_solves_the_equation_of_motion(mechanism, rng, isa, n):
    model, tree = mechanism
    q, v, tau, _ = states(model, rng, n)
    f_ext = rng.normal(size=(n, model.nbodies, 6))
    expected = [tree.aba(*row) for row in zip(q, v, tau, f_ext, strict=True)]
    close(pysim.aba(model, q, v, tau, f_ext), expected, 1e-10)


def test_aba_then_rnea_returns_the_torque(mechanism, rng, isa):
    model, _ = mechanism
    q, v, tau, _ = states(model, rng, 19)
    for passive in (False, True):
        a = pysim.aba(model, q, v, tau, passive=passive)
        close(pysim.rnea(model, q, v, a, passive=passive), tau, 1e-9)


def test_crba_is_the_inertia_of_the_oracle_and_the_columns_of_rnea(mechanism, rng, isa):
    model, tree = mechanism
    q, v, _, _ = states(model, rng, 9)
    M = pysim.crba(model, q)
    close(M, [tree.mass_matrix(row) for row in q])
    np.testing.assert_array_equal(M, M.swapaxes(-1, -2))
    static = pysim.generalized_gravity(model, q)
    for k in range(model.nv):
        unit = np.tile(np.eye(model.nv)[k], (9, 1))
        close(M[:, :, k], pysim.rnea(model, q, 0 * v, unit) - static, 1e-10)


def test_bodies_and_frames_are_where_the_definitions_put_them(mechanism, rng, isa):
    model, tree = mechanism
    q = states(model, rng, 3)[0]
    links = {link.joint.child: k for k, link in enumerate(tree.links)}
    bodies, frame = pysim.forward_kinematics(model, q), pysim.frame_placement(model, q, "tool")
    for row, X_WB, tool in zip(q, bodies, frame, strict=True):
        expected = tree.poses(row)
        close(X_WB, [expected[links[name]] for name in model.body_names], 1e-13)
        carrier = tree.spec.frames[0]
        close(tool, expected[links[carrier.body]] @ carrier.pose, 1e-13)
        for name, k in links.items():  # welded bodies stay addressable
            close(pysim.frame_placement(model, row, name), expected[k], 1e-13)


def test_energies_and_centre_of_mass_are_those_of_the_oracle(mechanism, rng, isa):
    model, tree = mechanism
    q, v, _, _ = states(model, rng, 5)
    close(
        pysim.kinetic_energy(model, q, v), [tree.kinetic_energy(*s) for s in zip(q, v, strict=True)]
    )
    close(pysim.potential_energy(model, q), [tree.potential_energy(row) for row in q])
    close(pysim.center_of_mass(model, q), [tree.center_of_mass(row) for row in q])


def test_passive_forces_are_damping_friction_springs_and_stops(mechanism, rng, isa):
    model, tree = mechanism
    q, v, tau, _ = states(model, rng, 11)
    q = model.integrate(q, rng.normal(size=v.shape))  # beyond the limits, too
    expected = np.array([tree.passive(*s) for s in zip(q, v, strict=True)])
    passive = pysim.passive_forces(model, q, v)
    np.testing.assert_allclose(passive, expected, atol=1e-11 * max(1, np.abs(expected).max()))
    close(pysim.aba(model, q, v, tau, passive=True), pysim.aba(model, q, v, tau + passive), 1e-9)


@pytest.mark.parametrize("kind", ["ball", "free"])
def test_spring_on_a_rotation_is_minus_the_gradient_of_its_energy(kind, rng):
    nv = oracle.SIZES[kind][1]
    spec = one_body(kind, random_theta(rng), stiffness=rng.uniform(1, 5, nv))
    model = compile_model(spec)
    q = model.random_configuration(rng)
    h = 1e-6
    slope = [
        (
            pysim.elastic_energy(model, model.integrate(q, h * e))
            - pysim.elastic_energy(model, model.integrate(q, -h * e))
        )
        / (2 * h)
        for e in np.eye(nv)
    ]
    np.testing.assert_allclose(
        pysim.passive_forces(model, q, np.zeros(nv)), -np.array(slope), rtol=1e-7
    )


def test_power_of_all_forces_is_the_rate_of_energy(mechanism, rng):
    model, _ = mechanism
    q, v, tau, _ = (x[0] for x in states(model, rng, 1))

    def energy(q, v):
        return pysim.kinetic_energy(model, q, v) + pysim.potential_energy(model, q)

    a, h = pysim.aba(model, q, v, tau), 1e-6
    forth = energy(model.integrate(q, h * v), v + h * a)
    back = energy(model.integrate(q, -h * v), v - h * a)
    assert (forth - back) / (2 * h) == pytest.approx(tau @ v, rel=1e-6)
