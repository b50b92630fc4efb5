"""Rows of every length, whole packs and less, are read and written as they are.

Oracle: the same states one at a time, which knows no packs, and numbers behind the rows that must not change.
"""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.worlds.loading import compile_model
from tests.oracles.mechanisms import random_tree

STATES = 32  # whole packs on every instruction set, in both precisions


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_of_every_length_are_those_of_single_states(rng, isa, dtype):
    for n in range(1, 20):  # below, at and above one and two packs
        model = compile_model(random_tree(rng, ["revolute"] * n, chain=True))
        q, v, a = rng.normal(size=(3, STATES, n)).astype(dtype)
        memory = np.full(STATES * n + 64, np.nan, dtype)
        out = memory[: STATES * n].reshape(STATES, n)

        pysim.rnea(model, q, v, a, out=out)

        expected = [pysim.rnea(model, *state) for state in zip(q, v, a, strict=True)]
        np.testing.assert_array_equal(out, expected)
        assert np.isnan(memory[STATES * n :]).all()


@pytest.mark.parametrize("n", [5, 11, 19])
def test_matrices_of_every_size_are_those_of_single_states(rng, isa, n):
    model = compile_model(random_tree(rng, ["revolute"] * n))  # with branches
    q = rng.normal(size=(STATES, n))
    memory = np.full(STATES * n * n + 64, np.nan)
    out = memory[: STATES * n * n].reshape(STATES, n, n)

    for function in (pysim.crba, pysim.minverse):
        function(model, q, out=out)
        np.testing.assert_array_equal(out, [function(model, state) for state in q])
        assert np.isnan(memory[STATES * n * n :]).all()
