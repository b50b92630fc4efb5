"""Tests of the dense oracle itself, against numbers of Pinocchio 4.1, cross-checked with MuJoCo 4.0."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles.tree import Tree
from tests.robots import REFERENCE, load_robot, reference_order


@pytest.mark.parametrize("name", ["panda", "ur5", "double_pendulum", "anymal"])
def test_the_dense_tree_gives_the_reference_numbers(name: str) -> None:
    model = load_robot(name)
    tree = Tree(model.spec)
    q_order, v_order, bodies = reference_order(model, name)
    with np.load(REFERENCE / f"{name}.npz") as data:
        state = {key[3:]: data[key] for key in data.files if key.startswith("s0/")}
    q, f_ext = state["q"][q_order], state["fext"][bodies]
    v, a, tau = (state[key][v_order] for key in ("v", "a", "tau_in"))
    acceleration, pushed = tree.aba(q, v, tau), tree.aba(q, v, tau, f_ext)
    mine = {
        "M": tree.mass_matrix(q),
        "tau": tree.rnea(q, v, a),
        "tau_ext": tree.rnea(q, v, a, f_ext),
        "qdd": acceleration,
        "qdd_ext": pushed,
        "nle": tree.rnea(q, v, 0 * v),
        "ke": tree.kinetic_energy(q, v),
        "pe": tree.potential_energy(q),
        "com": tree.center_of_mass(q),
    }
    for key, value in mine.items():
        expected = state[key]
        if key == "M":
            expected = expected[np.ix_(v_order, v_order)]
        elif expected.shape == v.shape and key != "com":
            expected = expected[v_order]
        np.testing.assert_allclose(
            value, expected, rtol=0, atol=1e-10 * np.abs(expected).max(), err_msg=key
        )
