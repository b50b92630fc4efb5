"""Joints that follow joints that follow: any ratio and offset, any shape of one coordinate.

Oracle: tests/oracles/tree.py, which writes couplings as the matrix E of q_tree = E q + offset.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pysim
from pysim.scene.spec import Mimic, ModelSpec
from pysim.worlds.loading import compile_model
from tests.oracles.mechanisms import MOVING, random_tree
from tests.oracles.tree import SIZES, Tree

KINDS = [*MOVING, "revolute", "revolute", "prismatic", "helical", "fixed"]


def coupled_tree(rng: np.random.Generator) -> ModelSpec:
    """A random tree where most joints of one coordinate follow another, before or after them."""
    spec = random_tree(rng, [str(kind) for kind in rng.permutation(KINDS)], passive=True)
    joints = {joint.name: joint for joint in spec.joints}
    single = [name for name, joint in joints.items() if SIZES[joint.type] == (1, 1)]
    rng.shuffle(single)  # nobody follows one further right, so nobody follows himself
    for place, name in enumerate(single[1:], start=1):
        if rng.random() < 0.8:
            leader = single[rng.integers(place)]
            joints[name] = replace(joints[name], mimic=Mimic(leader, rng.normal(), rng.normal()))
    return replace(spec, joints=tuple(joints.values()))


@pytest.mark.parametrize("seed", range(6))
def test_followers_move_and_push_as_the_coupling_matrix_says(seed: int, isa: str) -> None:
    rng = np.random.default_rng(seed)
    spec = coupled_tree(rng)
    model, tree = compile_model(spec), Tree(spec)
    assert model.nv == tree.own_nv
    assert model.nbodies == tree.nbodies
    q = np.array([model.random_configuration(rng) for _ in range(3)])
    v, a = rng.normal(size=(2, 3, model.nv))
    f_ext = rng.normal(size=(3, model.nbodies, 6))
    states = [*zip(q, v, a, f_ext, strict=True)]
    mine_and_expected = {
        "rnea": (pysim.rnea(model, q, v, a, f_ext), [tree.rnea(*s) for s in states]),
        "aba": (pysim.aba(model, q, v, a, f_ext), [tree.aba(*s) for s in states]),
        "crba": (pysim.crba(model, q), [tree.mass_matrix(s[0]) for s in states]),
        "passive": (pysim.passive_forces(model, q, v), [tree.passive(*s[:2]) for s in states]),
        "kinetic": (
            pysim.kinetic_energy(model, q, v),
            [tree.kinetic_energy(*s[:2]) for s in states],
        ),
    }
    for name, (mine, expected) in mine_and_expected.items():
        np.testing.assert_allclose(
            mine, expected, rtol=0, atol=1e-11 * np.abs(expected).max(), err_msg=name
        )
