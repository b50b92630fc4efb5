"""Followers of followers, and leaders that come later. Oracle: the same mechanism in another order, and E by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pysim
from pysim.scene.spec import BodySpec, Mimic, ModelSpec
from pysim.worlds.loading import compile_model
from tests.oracles.mechanisms import GRAVITY, make_joint, random_pose, random_theta


@pytest.fixture
def three(rng):
    """Three hinges on the world."""
    names = ["a", "b", "c"]
    joints = tuple(
        make_joint(n, "revolute", "world", f"body_{n}", random_pose(rng), rng.normal(size=3))
        for n in names
    )
    bodies = tuple(BodySpec(f"body_{n}", random_theta(rng)) for n in names)
    return ModelSpec("three", GRAVITY, bodies, joints)


def following(spec, **mimic):
    joints = tuple(replace(j, mimic=mimic.get(j.name)) for j in spec.joints)
    return compile_model(replace(spec, joints=joints))


def test_a_leader_may_come_after_its_follower(three, rng):
    late = following(three, a=Mimic("c", 2.0, 0.1))
    free = following(three)
    q, v, a = rng.normal(size=(3, 2))  # own coordinates: b, c
    E, e = np.array([[0, 2.0], [1, 0], [0, 1]]), np.array([0.1, 0, 0])
    assert late.nq == 2
    assert late.coordinate_names == ("b", "c")
    np.testing.assert_allclose(
        pysim.rnea(late, q, v, a), E.T @ pysim.rnea(free, E @ q + e, E @ v, E @ a), rtol=1e-12
    )
    np.testing.assert_allclose(
        pysim.crba(late, q), E.T @ pysim.crba(free, E @ q + e) @ E, rtol=1e-12, atol=1e-14
    )


def test_a_follower_of_a_follower_follows_the_head_of_the_chain(three, rng):
    chain = following(three, a=Mimic("b", 2.0, 0.1), b=Mimic("c", -0.5, 1.0))
    direct = following(three, a=Mimic("c", -1.0, 2.1), b=Mimic("c", -0.5, 1.0))
    q, v, tau = rng.normal(size=(3, 1))
    np.testing.assert_allclose(
        pysim.aba(chain, q, v, tau), pysim.aba(direct, q, v, tau), rtol=1e-13
    )


def test_joints_that_follow_each_other_in_a_circle_are_rejected(three):
    with pytest.raises(
        pysim.ModelError, match="test: joint a: joints follow each other in a cycle: a → b → a"
    ):
        following(three, a=Mimic("b"), b=Mimic("a"))


def test_following_an_unknown_joint_is_rejected_with_a_suggestion(three):
    with pytest.raises(
        pysim.ModelError, match="joint 'a' follows an unknown joint 'body'; known: a, b, c"
    ):
        following(three, a=Mimic("body"))
