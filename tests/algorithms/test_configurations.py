"""Configurations: q ⊕ dq, its inverse, neutral and random ones. Oracles: the group laws, tests/oracles/tree.py."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pysim
from pysim.joints import Joint, Pose, joint as registered, real, rotation
from pysim.scene.spec import BodySpec, ModelSpec
from pysim.worlds.loading import compile_model
from tests.joints.test_traced import plugin_joint
from tests.oracles import tree as oracle
from tests.oracles.mechanisms import GRAVITY, make_joint, random_theta, random_tree


@pytest.fixture
def pair(rng):
    spec = random_tree(rng)
    return compile_model(spec), oracle.Tree(spec)


def test_integrate_is_the_group_exponential_joint_by_joint(pair, rng, isa):
    model, tree = pair
    for scale in (1e-9, 1e-4, 0.3, 1.0):
        q, dq = model.random_configuration(rng), scale * rng.normal(size=model.nv)
        np.testing.assert_allclose(model.integrate(q, dq), tree.integrate(q, dq), atol=1e-14)


def test_retract_by_zero_is_identity(pair, rng):
    model, _ = pair
    q = model.random_configuration(rng)
    np.testing.assert_allclose(model.integrate(q, np.zeros(model.nv)), q, atol=1e-16)


def test_difference_undoes_integrate(pair, rng, isa):
    model, _ = pair
    for scale in (1e-9, 1e-3, 0.1, 1.0):
        q = np.array([model.random_configuration(rng) for _ in range(19)])
        dq = scale * rng.uniform(-1, 1, size=(19, model.nv))
        np.testing.assert_allclose(
            model.difference(q, model.integrate(q, dq)), dq, rtol=1e-12, atol=4e-15
        )


def test_integrate_undoes_difference_up_to_half_a_turn(pair, rng, isa):
    model, _ = pair
    q0, q1 = (np.array([model.random_configuration(rng) for _ in range(200)]) for _ in range(2))
    back = model.integrate(q0, model.difference(q0, q1))
    for joint, at in zip(model.joints, model.q_offsets, strict=True):
        if joint.type in ("ball", "free"):
            end = at + (7 if joint.type == "free" else 4)
            sign = np.sign((back[:, end - 4 : end] * q1[:, end - 4 : end]).sum(-1))
            back[:, end - 4 : end] *= sign[:, None]  # q and −q are one rotation
    np.testing.assert_allclose(back, q1, atol=1e-13)


@pytest.mark.parametrize("short_of_half_a_turn", [1e-1, 1e-4, 1e-7, 1e-10, 0.0])
def test_difference_is_the_shorter_way_round_up_to_half_a_turn(rng, isa, short_of_half_a_turn):
    model = compile_model(random_tree(rng, ["ball", "free"], chain=True))
    angle = np.pi - short_of_half_a_turn
    for past, expected in ((-1, angle), (1, 2 * np.pi - angle)):
        axes = rng.normal(size=(19, 2, 3))
        axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
        dq = rng.normal(size=(19, 9))
        dq[:, :3], dq[:, 6:] = np.moveaxis(axes * (angle if past < 0 else expected), 1, 0)
        q = np.array([model.random_configuration(rng) for _ in range(19)])
        back = model.difference(q, model.integrate(q, dq))
        sign = 1 if past < 0 else -1  # past half a turn, the way back is shorter
        for turn, axis in ((back[:, :3], axes[:, 0]), (back[:, 6:], axes[:, 1])):
            np.testing.assert_allclose(np.linalg.norm(turn, axis=-1), angle, rtol=1e-14)
            if short_of_half_a_turn > 0:
                np.testing.assert_allclose(turn, sign * angle * axis, atol=1e-13)


def test_random_configurations_are_unit_and_within_limits(rng):
    model = compile_model(random_tree(rng, passive=True))
    q = np.array([model.random_configuration(rng) for _ in range(50)])
    for joint, at in zip(model.joints, model.q_offsets, strict=True):
        own = q[:, at : at + len(joint.start_q)]
        if joint.type in ("ball", "free"):
            np.testing.assert_allclose(np.linalg.norm(own[:, -4:], axis=1), 1, atol=1e-14)
        else:
            assert (own >= joint.lower).all()
            assert (own <= joint.upper).all()


def test_changed_copies_leave_the_model_alone(pair, rng):
    model, tree = pair
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    before = pysim.rnea(model, q, v, v)
    heavy = model.with_parameters(2 * model.parameters).with_armature(2 * model.armature)
    np.testing.assert_allclose(pysim.rnea(heavy, q, v, v), 2 * before, rtol=1e-12)
    floating = model.with_gravity([0, 0, 0])
    np.testing.assert_allclose(pysim.generalized_gravity(floating, q), 0, atol=1e-12)
    np.testing.assert_array_equal(pysim.rnea(model, q, v, v), before)
    assert heavy.total_mass == pytest.approx(2 * model.total_mass)
    np.testing.assert_allclose(np.diag(tree.armature()), model.armature)


def test_numbers_that_cannot_be_read_are_reported_with_their_argument(pair):
    model, _ = pair
    with pytest.raises(pysim.ModelError) as caught:
        model.with_gravity("down")
    assert str(caught.value) == "gravity: must be numbers of shape (3,), got 'down'"


def test_a_seed_draws_what_its_generator_draws(pair):
    model, _ = pair
    drawn = model.random_configuration(7)
    np.testing.assert_array_equal(drawn, model.random_configuration(np.random.default_rng(7)))


@registered("configurations_slip")
class Slip(Joint):
    """A ball that slides along x."""

    coordinates = rotation("turn") * real("x", unit="m")

    def placement(self, q):
        return Pose.translate(q.x, 0, 0) @ Pose.rotate_quaternion(q.turn)


@pytest.mark.parametrize("bounds", [(-0.1, 0.2), (1.5, np.inf), (-np.inf, -1.5), (-np.inf, np.inf)])
@pytest.mark.parametrize("kind", ["prismatic", "configurations_slip"])
def test_random_configurations_lie_within_the_limits(kind, bounds, rng):
    plain = make_joint("j", "prismatic", "world", "b")
    own = plain if kind == "prismatic" else plugin_joint("j", kind, "world", "b", np.eye(4))
    lower, upper = own.lower.copy(), own.upper.copy()
    lower[-1], upper[-1] = bounds
    bounded = replace(own, lower=lower, upper=upper)
    bodies = (BodySpec("b", random_theta(rng)),)
    model = compile_model(ModelSpec("one", GRAVITY, bodies, (bounded,)))
    x = np.array([model.random_configuration(rng)[-1] for _ in range(200)])
    assert bounds[0] <= x.min() < x.max() <= bounds[1]
