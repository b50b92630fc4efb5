"""Wrenches that joints transmit. Oracles: balances of forces and power, RNEA, columns of Ad* (Ball's reciprocity)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pysim
from pysim.joints import Joint, Pose, joint, real
from pysim.worlds.loading import compile_model
from tests.algorithms.random_states import close, states
from tests.joints.chains import plugin_chain
from tests.joints.test_traced import single
from tests.oracles import tree as oracle
from tests.oracles.mechanisms import make_joint, one_body, random_theta, random_tree
from tests.oracles.spatial import adjoint, inverse


def columns_of(model, q):
    """S of every joint in its body's frame (n, nbodies, 6, nv of the joint), from the influence coefficients."""
    twists = pysim.influence_coefficients(model, q)
    poses = pysim.forward_kinematics(model, q)
    for h, X in zip(twists, poses, strict=True):
        yield [adjoint(inverse(x)) @ h for x in X]


def test_joint_forces_are_the_wrenches_along_the_motions(mechanism, rng, isa):
    model, tree = mechanism
    q, v, a = states(model, rng)
    f_ext = rng.normal(size=(len(q), model.nbodies, 6))
    reactions = pysim.joint_reactions(model, q, v, a, f_ext)
    moving = [link for link in tree.links if link.joint.type != "fixed"]
    for wrench in (reactions.total, reactions.working):
        tau = np.zeros_like(a)
        for k, row in enumerate(q):
            for link in moving:
                S = oracle.subspace(link.joint, tree.joint_q(link, row)) @ tree.E[link.v]
                tau[k] += S.T @ wrench[k, link.moving]
        close(tau, pysim.rnea(model, q, v, a, f_ext) - a @ tree.armature())


def test_non_working_reactions_are_reciprocal_to_every_motion(mechanism, rng, isa):
    model, tree = mechanism
    q, v, a = states(model, rng)
    reactions = pysim.joint_reactions(model, q, v, a)
    moving = [link for link in tree.links if link.joint.type != "fixed"]
    for k, row in enumerate(q):
        for link in moving:
            S = oracle.subspace(link.joint, tree.joint_q(link, row))
            power = S.T @ reactions.non_working[k, link.moving]
            assert np.abs(power).max() <= 1e-11 * np.abs(reactions.total[k]).max()
            # the working part lies among the motions' own directions, read as wrenches
            W = reactions.working[k, link.moving]
            fit = S @ np.linalg.lstsq(S, W, rcond=None)[0]
            np.testing.assert_allclose(W, fit, atol=1e-11 * np.abs(reactions.total[k]).max())


def test_power_of_the_working_parts_is_the_rate_of_energy(mechanism, rng):
    model, tree = mechanism
    if np.any(tree.E.sum(axis=0) != 1):
        pytest.skip("the working parts of followers belong to one coordinate")
    model = model.with_armature(np.zeros(model.nv))
    q, v, a = (x[0] for x in states(model, rng, 1))
    W = pysim.joint_reactions(model, q, v, a).working
    power = 0.0
    for link in tree.links:
        if link.joint.type != "fixed":
            S = oracle.subspace(link.joint, tree.joint_q(link, q))
            power += W[link.moving] @ S @ v[link.own_v]

    def energy(q, v):
        return pysim.kinetic_energy(model, q, v) + pysim.potential_energy(model, q)

    h = 1e-6
    forth = energy(model.integrate(q, h * v), v + h * a)
    back = energy(model.integrate(q, -h * v), v - h * a)
    assert power == pytest.approx((forth - back) / (2 * h), rel=1e-6)


def test_the_root_carries_all_forces_of_the_mechanism(rng, isa):
    model = compile_model(random_tree(rng, ["ball", "revolute", "universal", "planar"], chain=True))
    q, v, a = states(model, rng)
    total = pysim.joint_reactions(model, q, v, a).total[:, 0]
    X = pysim.forward_kinematics(model, q)[:, 0]
    arm = X[:, :3, 3] - pysim.center_of_mass(model, q)
    force = np.einsum("nij,nj->ni", X[:, :3, :3], total[:, :3])
    moment = np.einsum("nij,nj->ni", X[:, :3, :3], total[:, 3:]) + np.cross(arm, force)
    rate = pysim.centroidal_momentum_rate(model, q, v, a)
    close(np.hstack([force + model.total_mass * model.gravity, moment]), rate)


def test_a_hinge_carries_all_but_the_moment_about_its_axis(rng, isa):
    spec = one_body("revolute", random_theta(rng))
    axis = np.array([0.6, 0.0, 0.8])
    spec = replace(spec, joints=(make_joint("joint", "revolute", "world", "body", axis=axis),))
    model = compile_model(spec)
    q, v, a = states(model, rng)
    reactions = pysim.joint_reactions(model, q, v, a)
    tau = pysim.rnea(model, q, v, a)
    expected = np.concatenate([np.zeros((len(q), 3)), tau * axis], axis=1)[:, None]
    close(reactions.working, expected, 1e-12)
    # the page's own justification fails: the guides' wrenches are not orthogonal to h*, they are reciprocal to h
    shifted = adjoint(np.array([[1, 0, 0, 0.5], [0, 1, 0, 0.7], [0, 0, 1, 0], [0, 0, 0, 1.0]]))
    dual = np.linalg.inv(shifted).T
    h_star, guides = dual[:, 5], dual[:, :5]
    assert np.abs(guides.T @ h_star).max() > 0.1
    assert np.abs(guides.T @ shifted[:, 5]).max() < 1e-15


def test_plugins_transmit_wrenches_that_do_their_work(rng, isa):
    model = plugin_chain(rng)
    q, v, a = states(model, rng)
    reactions = pysim.joint_reactions(model, q, v, a)
    tau = pysim.rnea(model, q, v, a)
    at, count = model.v_offsets, model.joint_nv
    for k, columns in enumerate(columns_of(model, q)):
        for b in range(model.nbodies):
            S = columns[b][:, at[b] : at[b] + count[b]]
            close(S.T @ reactions.working[k, b], tau[k, at[b] : at[b] + count[b]], 1e-9)


def test_a_single_state_has_the_shapes_of_one(rng):
    model = compile_model(random_tree(rng, ["revolute", "ball"]))
    q, v, a = (x[0] for x in states(model, rng, 1))
    reactions = pysim.joint_reactions(model, q, v, a)
    assert reactions.total.shape == reactions.non_working.shape == (2, 6)


def test_reactions_may_be_written_into_an_array_of_both_parts(rng):
    model = compile_model(random_tree(rng, ["revolute", "ball"]))
    q, v, a = states(model, rng)
    out = np.empty((len(q), 2, 2, 6))
    reactions = pysim.joint_reactions(model, q, v, a, out=out)
    np.testing.assert_array_equal(reactions.working, out[:, 1])
    assert np.shares_memory(reactions.total, out)


@pytest.mark.filterwarnings("ignore::pysim.errors.PysimWarning")
def test_a_joint_that_moves_nothing_for_an_instant_does_no_work():
    """The cam's follower at its top, where S vanishes: the wrench is the guides' alone, and beside it S (SᵀS)⁺ Sᵀ F."""
    scene = pysim.load_scene("scenes/cam.toml", allow_code=True)
    model = scene.model
    q = np.array([[0.0], [1e-3], [0.7]])
    v = np.ones_like(q)
    reactions = pysim.joint_reactions(model, q, v, v)
    assert np.isfinite(reactions.working).all()
    assert not reactions.working[0, 1].any()
    np.testing.assert_allclose(reactions.working[1:, 1, 2], reactions.total[1:, 1, 2], rtol=1e-12)


@joint("reaction_euler")
class Euler(Joint):
    """Turns about z, y and z again; the first and the last axis are one at b = −0.5."""

    coordinates = real("a", "b", "c")

    def placement(self, q):
        return Pose.rotate_z(q.a) @ Pose.rotate_y(q.b + 0.5) @ Pose.rotate_z(q.c)


def test_columns_that_coincide_give_the_smallest_wrench_that_does_the_work(rng):
    """Euler angles in gimbal lock. Oracle: S S⁺ F with NumPy's pseudo-inverse."""
    model = compile_model(single(Euler()))
    q = np.array([0.4, -0.5, -0.9])
    v = a = rng.normal(size=3)
    reactions = pysim.joint_reactions(model, q, v, a)
    S = next(iter(columns_of(model, q[None])))[0]
    F = reactions.total[0]
    np.testing.assert_allclose(reactions.working[0], S @ np.linalg.pinv(S) @ F, atol=1e-12)
