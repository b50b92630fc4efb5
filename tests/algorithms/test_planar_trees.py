"""Trees whose bodies stay in planes: the oracles are the dense tree of tests/oracles/tree.py, and the same tree tilted.

A tilt of 1e-12 rad takes a tree out of its plane for the engine, and by as little for physics.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pysim
from pysim.scene.spec import BodySpec
from pysim.worlds.loading import compile_model
from tests.algorithms.random_states import close, states
from tests.oracles import tree as oracle
from tests.oracles.mechanisms import make_joint, random_theta
from tests.oracles.planar import KINDS, planar_tree
from tests.oracles.single_rollouts import assert_same, rolled_alone

BATCHES = [1, 3, 8, 19]  # below, across and above every pack width
TILT = 1e-12  # [rad]


@pytest.fixture(params=["tree", "chain", "two planes", "hinges"])
def spec(request, rng):
    kinds = ["revolute"] * 6 if request.param == "hinges" else list(rng.permutation(KINDS))
    roots = 2 if request.param == "two planes" else 1
    if roots == 2:
        kinds = ["revolute", "planar", *kinds]
    return planar_tree(
        rng, kinds, chain=request.param == "chain", roots=roots, armature=len(kinds) != 6
    )


def inputs(model, rng, n):
    q, v, tau = states(model, rng, n)
    return q, v, tau, rng.normal(size=(n, model.nbodies, 6))


@pytest.mark.parametrize("n", BATCHES)
def test_accelerations_are_those_of_the_dense_tree(spec, rng, isa, n):
    model, tree = compile_model(spec), oracle.Tree(spec)
    assert model.planar_tree
    q, v, tau, f_ext = inputs(model, rng, n)
    expected = [tree.aba(*row) for row in zip(q, v, tau, f_ext, strict=True)]
    close(pysim.aba(model, q, v, tau, f_ext), expected, 1e-10)


def test_torques_of_the_accelerations_are_those_given(spec, rng, isa):
    model = compile_model(spec)
    q, v, tau, _ = inputs(model, rng, 19)
    close(pysim.rnea(model, q, v, pysim.aba(model, q, v, tau)), tau, 1e-11)


def test_a_batch_gives_the_bits_of_its_states_alone(spec, rng, isa):
    model = compile_model(spec)
    q, v, tau, f_ext = inputs(model, rng, 19)
    together = pysim.aba(model, q, v, tau, f_ext)
    alone = [pysim.aba(model, *row) for row in zip(q, v, tau, f_ext, strict=True)]
    np.testing.assert_array_equal(together, alone)


def test_a_tilt_of_a_picoradian_changes_accelerations_as_little(rng):
    seed = int(rng.integers(1 << 30))
    flat, tilted = (
        compile_model(planar_tree(np.random.default_rng(seed), ["revolute"] * 8, tilt=tilt))
        for tilt in (0.0, TILT)
    )
    assert flat.planar_tree
    assert not tilted.planar_tree
    q, v, tau, f_ext = inputs(flat, rng, 8)
    close(pysim.aba(tilted, q, v, tau, f_ext), pysim.aba(flat, q, v, tau, f_ext), 1e-10)


@pytest.mark.parametrize(
    "order", [["prismatic", "revolute", "revolute"], ["revolute", "prismatic"]]
)
def test_a_tree_that_only_slides_moves_in_the_plane_of_one_that_turns(order, rng, isa):
    spec = planar_tree(rng, order, normal=rng.normal(size=3), roots=2, chain=True)
    model, tree = compile_model(spec), oracle.Tree(spec)
    assert model.planar_tree
    q, v, tau, f_ext = inputs(model, rng, 5)
    expected = [tree.aba(*row) for row in zip(q, v, tau, f_ext, strict=True)]
    close(pysim.aba(model, q, v, tau, f_ext), expected, 1e-10)


def test_planar_and_spatial_worlds_of_one_call_are_bit_identical_to_separate_calls(rng):
    seed = int(rng.integers(1 << 30))
    kinds = ["revolute", "prismatic", "revolute", "revolute"]
    worlds = [
        compile_model(planar_tree(np.random.default_rng(seed), kinds, tilt=tilt))
        for tilt in (0.0, 0.3, 0.0, 0.0, 0.1, 0.0, 0.2, 0.0, 0.0)
    ]
    q, v, _ = states(worlds[0], rng, len(worlds))
    together = pysim.rollout(worlds, q, v, None, 1e-3, "rk4", steps=20)
    assert_same(together, rolled_alone(worlds, q, v, None, 1e-3, "rk4", steps=20))


def test_single_precision_agrees_to_its_rounding(spec, rng, isa):
    model = compile_model(spec)
    q, v, tau, f_ext = inputs(model, rng, 19)
    single = pysim.aba(model, *(x.astype(np.float32) for x in (q, v, tau, f_ext)))
    assert single.dtype == np.float32
    expected = pysim.aba(model, q, v, tau, f_ext)
    size = np.abs(expected).max(axis=1, keepdims=True)
    assert np.abs((single - expected) / size).max() < 2e-4


@pytest.mark.parametrize(
    ("kind", "axis"), [("ball", None), ("free", None), ("helical", None), ("revolute", [0.1, 0, 1])]
)
def test_a_tree_that_leaves_the_plane_is_not_planar(kind, axis, rng):
    spec = planar_tree(rng, ["revolute"] * 3, chain=True)
    where = spec.joints[0].axis if axis is None else np.asarray(axis)
    changes = {"parameters": {"pitch": 0.1}} if kind == "helical" else {}
    odd = make_joint("odd", kind, "body2", "end", axis=where, **changes)
    body = BodySpec("end", random_theta(rng))
    model = compile_model(replace(spec, bodies=(*spec.bodies, body), joints=(*spec.joints, odd)))
    assert not model.planar_tree
    q, v, tau, _ = inputs(model, rng, 4)
    close(pysim.rnea(model, q, v, pysim.aba(model, q, v, tau)), tau, 1e-10)
