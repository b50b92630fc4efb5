"""Jacobians, their rates and the motion of frames.

Oracles: the dense tree, differences along the motion, Pinocchio's numbers, columns of Ad.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pysim
from pysim.worlds.loading import compile_model
from tests.algorithms.random_states import STATES, close, states
from tests.joints.chains import KINDS as PLUGINS, plugin_chain
from tests.oracles import tree as oracle
from tests.oracles.differences import along
from tests.oracles.mechanisms import one_body, random_pose, random_theta, random_tree
from tests.oracles.spatial import adjoint, inverse
from tests.robots import MANIFEST, REFERENCE, load_robot, reference_order

EXPRESSED = ["local", "world", "aligned"]


def expressing(expressed, X_WF):
    """The 6×6 matrix from the frame's own axes."""
    if expressed == "world":
        return adjoint(X_WF)
    R = X_WF[:3, :3] if expressed == "aligned" else np.eye(3)
    return np.kron(np.eye(2), R)


@pytest.mark.parametrize("expressed", EXPRESSED)
def test_jacobian_is_that_of_the_oracle_and_zeros_are_exact(mechanism, rng, isa, expressed):
    model, tree = mechanism
    q = states(model, rng)[0]
    frame = tree.spec.frames[0]
    k = next(k for k, link in enumerate(tree.links) if link.joint.child == frame.body)
    J = pysim.jacobian(model, q, "tool", expressed)
    expected = []
    for row in q:
        X_WF = tree.poses(row)[k] @ frame.pose
        local = adjoint(inverse(frame.pose)) @ tree.jacobians(row)[k]
        expected.append(expressing(expressed, X_WF) @ local)
    close(J, expected)
    assert (J[np.abs(expected) == 0] == 0).all()


@pytest.mark.parametrize("expressed", EXPRESSED)
def test_rate_of_the_jacobian_is_its_difference_along_the_motion(model, rng, isa, expressed):
    q, v, _ = states(model, rng)
    h = 1e-3
    shifted = {
        s: pysim.jacobian(model, model.integrate(q, s * h * v), "tool", expressed)
        for s in (-3, -2, -1, 1, 2, 3)
    }
    weights = {1: 45 / 60, 2: -9 / 60, 3: 1 / 60}
    expected = sum(w * (shifted[s] - shifted[-s]) for s, w in weights.items()) / h
    close(pysim.jacobian_time_derivative(model, q, v, "tool", expressed), expected, 1e-9)


@pytest.mark.parametrize("expressed", EXPRESSED)
def test_velocity_and_acceleration_are_the_jacobian_times_the_motion(model, rng, isa, expressed):
    q, v, a = states(model, rng)
    J, J_dot = (
        pysim.jacobian(model, q, "tool", expressed),
        pysim.jacobian_time_derivative(model, q, v, "tool", expressed),
    )
    V = pysim.frame_velocity(model, q, v, "tool", expressed)
    close(V, np.einsum("nij,nj->ni", J, v), 1e-12)
    rate = np.einsum("nij,nj->ni", J, a) + np.einsum("nij,nj->ni", J_dot, v)
    A = pysim.frame_acceleration(model, q, v, a, "tool", expressed)
    classical = pysim.frame_acceleration(model, q, v, a, "tool", expressed, classical=True)
    if (
        expressed == "aligned"
    ):  # its point of reference moves along: the rate is the classical acceleration
        close(classical, rate, 1e-9)
    else:
        close(A, rate, 1e-9)
    close(classical[:, :3], A[:, :3] + np.cross(V[:, 3:], V[:, :3]), 1e-12)
    np.testing.assert_array_equal(classical[:, 3:], A[:, 3:])


def test_classical_acceleration_of_the_origin_is_its_second_derivative(model, rng):
    q, v, a = (x[0] for x in states(model, rng, 1))
    h = 1e-4

    def position(t):
        d = (
            t * v + 0.5 * t * t * a
        )  # of a motion that passes through (q, v, v̇) where v × v̇ does not matter
        return pysim.frame_placement(model, model.integrate(q, d), "tool")[:3, 3]

    second = (position(h) - 2 * position(0.0) + position(-h)) / h**2
    classical = pysim.frame_acceleration(model, q, v, a, "tool", "aligned", classical=True)
    close(classical[:3], second, 1e-5)


@pytest.mark.parametrize("name", ["panda", "ur5", "double_pendulum", "anymal"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-10), (np.float32, 1e-3)])
def test_robots_have_the_reference_jacobians_and_motions(name, dtype, tolerance, isa):
    model = load_robot(name)
    at_q, at_v, _ = reference_order(model, name)
    data = np.load(REFERENCE / f"{name}.npz")
    n = MANIFEST[name]["n_states"]

    def stack(key, order):
        return np.array([data[f"s{k}/{key}"][order] for k in range(n)], dtype)

    q, v, a = stack("q", at_q), stack("v", at_v), stack("a", at_v)
    for k, frame in enumerate(MANIFEST[name]["frames"]):
        for expressed, key in (("local", "LOCAL"), ("world", "WORLD"), ("aligned", "LWA")):
            J = np.array([data[f"s{i}/f{k}_J_{key}"][:, at_v] for i in range(n)])
            close(pysim.jacobian(model, q, frame, expressed), J, tolerance)
        V, A = (np.array([data[f"s{i}/f{k}_{x}_LWA"] for i in range(n)]) for x in ("vel", "acc"))
        close(pysim.frame_velocity(model, q, v, frame, "aligned"), V, tolerance)
        close(
            pysim.frame_acceleration(model, q, v, a, frame, "aligned", classical=True), A, tolerance
        )


@pytest.mark.parametrize("expressed", EXPRESSED)
def test_rates_and_accelerations_are_pinocchios(expressed, rng):
    pin = pytest.importorskip("pinocchio")
    pytest.importorskip("mujoco")
    from tests.benchmarks.peers import Pair

    pair = Pair("anymal", 3)
    model, peer = pair.model, pair.pin
    _, at_v = pair.order
    reference = {
        "local": pin.ReferenceFrame.LOCAL,
        "world": pin.ReferenceFrame.WORLD,
        "aligned": pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
    }[expressed]
    frame = peer.getFrameId("RF_FOOT")
    for k in range(3):
        q, v, a = pair.q[k], pair.v[k], pair.x[k]
        arguments = pair.pin_q[:, k], pair.pin_v[:, k], pair.pin_x[:, k]
        pin.forwardKinematics(peer, pair.data, *arguments)
        pin.computeJointJacobiansTimeVariation(peer, pair.data, *arguments[:2])
        rate = pin.getFrameJacobianTimeVariation(peer, pair.data, frame, reference)
        mine = pysim.jacobian_time_derivative(model, q, v, "RF_FOOT", expressed)
        close(mine[:, at_v], rate)
        for classical, get in (
            (False, pin.getFrameAcceleration),
            (True, pin.getFrameClassicalAcceleration),
        ):
            expected = get(peer, pair.data, frame, reference).vector
            A = pysim.frame_acceleration(model, q, v, a, "RF_FOOT", expressed, classical=classical)
            close(A, expected)


def test_influence_coefficients_are_columns_of_the_adjoint(mechanism, rng, isa):
    model, tree = mechanism
    q = states(model, rng)[0]
    h = pysim.influence_coefficients(model, q)
    assert h.shape == (STATES, 6, model.tree_nv)
    for row, twists in zip(q, h, strict=True):
        columns = [
            adjoint(X) @ oracle.subspace(link.joint, tree.joint_q(link, row))
            for link, X in zip(tree.links, tree.poses(row), strict=True)
        ]
        close(twists, np.hstack(columns), 1e-12)


def test_second_influence_coefficients_are_the_slopes_of_the_first(mechanism, rng, isa):
    model, tree = mechanism
    q = states(model, rng, 1)[0][0]
    H = pysim.second_influence_coefficients(model, q)
    slopes = along(lambda d: pysim.influence_coefficients(model, model.integrate(q, d)), model.nv)
    close(H @ tree.E, slopes, 1e-10)  # followers move with their leaders
    moving = [link for link in tree.links if link.joint.type != "fixed"]
    for below in moving:
        above, b = set(), below.moving
        while b >= 0:
            above.add(b)
            b = model.parents[b]
        for other in moving:
            if other.moving not in above:
                assert (H[:, below.v, other.v] == 0).all()


def test_plugins_turn_their_twists_as_the_slopes_say(rng, isa):
    model = plugin_chain(rng, [kind for kind in PLUGINS if kind != "test_called_cam"])
    q, v, a = (x[0] for x in states(model, rng, 1))
    H = pysim.second_influence_coefficients(model, q)
    slopes = along(lambda d: pysim.influence_coefficients(model, model.integrate(q, d)), model.nv)
    close(H, slopes, 1e-10)
    h = pysim.influence_coefficients(model, q)
    acceleration = pysim.frame_acceleration(model, q, v, a, "tool", "world")
    close(h @ a + np.einsum("rik,i,k->r", H, v, v), acceleration, 1e-11)


def test_influence_of_a_hinge_is_the_moment_and_direction_of_its_axis(rng):
    at = random_pose(rng)
    model = compile_model(one_body("revolute", random_theta(rng), at=at))
    p, k = at[:3, 3], at[:3, 2]
    h = pysim.influence_coefficients(model, np.array([0.4]))
    close(h[:, 0], [*np.cross(p, k), *k], 1e-14)


def test_a_frame_of_the_world_does_not_move(rng):
    spec = random_tree(rng, ["revolute", "fixed"])
    hung = tuple(replace(j, parent="world") for j in spec.joints)
    model = compile_model(
        replace(spec, joints=hung)
    )  # body1, which carries "tool", is welded to the world
    q, v, a = (x[0] for x in states(model, rng, 1))
    assert (pysim.jacobian(model, q, "tool") == 0).all()
    assert (pysim.frame_acceleration(model, q, v, a, "tool", classical=True) == 0).all()


def test_an_unknown_expression_is_rejected(rng):
    model = compile_model(random_tree(rng, ["revolute"]))
    with pytest.raises(
        ValueError, match="expressed must be 'local', 'world' or 'aligned', got 'body'"
    ):
        pysim.jacobian(model, np.zeros(1), "tool", "body")


@pytest.mark.parametrize("function", [pysim.jacobian, pysim.operational_space_mobility])
def test_an_expression_that_is_not_text_is_rejected_with_its_name(rng, function):
    model = compile_model(random_tree(rng, ["revolute"]))
    with pytest.raises(
        TypeError, match="expressed must be 'local', 'world' or 'aligned', got None"
    ):
        function(model, np.zeros(1), "tool", None)
