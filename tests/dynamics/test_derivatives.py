"""Analytical derivatives of the dynamics.

Oracles: sixth-order differences of the dense mechanism of tests/oracles/tree.py, along its own tangent; the inertia.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import pysim
from pysim.compile import compile_model
from tests.oracles import tree as oracle
from tests.oracles.differences import derivatives
from tests.oracles.mechanisms import MOVING, random_tree


def state(model, rng):
    f_ext = rng.normal(size=(model.nbodies, 6))
    return model.random_configuration(rng), *rng.normal(size=(2, model.nv)), f_ext


def close(actual, expected, tolerance):
    expected = np.asarray(expected)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * np.abs(expected).max())


@pytest.fixture(params=["tree", "chain", "mimic"])
def mechanism(request, rng):
    kinds = rng.permutation([*MOVING, "fixed", "revolute", "prismatic"])
    chain, mimic = request.param == "chain", request.param == "mimic"
    spec = random_tree(rng, kinds, chain=chain, mimic=mimic)
    return compile_model(spec), oracle.Tree(spec)


def test_torque_derivatives_are_those_of_the_oracle(mechanism, rng):
    model, tree = mechanism
    q, v, a, f_ext = state(model, rng)
    torque = partial(tree.rnea, f_ext=f_ext)
    expected = derivatives(torque, tree.integrate, q, v, a)
    for actual, wanted in zip(pysim.rnea_derivatives(model, q, v, a, f_ext), expected, strict=True):
        close(actual, wanted, 1e-9)


def test_derivative_along_a_is_the_symmetric_inertia(mechanism, rng, isa):
    model, _ = mechanism
    q, v, a, _ = state(model, rng)
    M = pysim.rnea_derivatives(model, q, v, a)[2]
    np.testing.assert_array_equal(M, M.T)
    close(M, pysim.crba(model, q), 1e-13)
