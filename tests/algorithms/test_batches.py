"""A state's result does not depend on batch size, place, threads, AVX2 or AVX-512. Oracle: itself alone."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.worlds.loading import compile_model
from tests.algorithms.algorithm_calls import FORMS, arrays, random_states, rows
from tests.oracles.mechanisms import random_tree


@pytest.fixture
def model(rng):
    return compile_model(random_tree(rng, passive=True))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("algorithm", FORMS)
def test_a_batch_gives_the_bits_of_its_states_alone(model, rng, isa, algorithm, dtype):
    run, states = FORMS[algorithm], random_states(model, rng, 37).astype(dtype)
    batch = rows(run(model, states), 37)
    assert batch.dtype == dtype
    alone = [rows(run(model, states[k : k + 1]), 1)[0] for k in range(37)]
    np.testing.assert_array_equal(batch, alone)
    order = rng.permutation(37)
    np.testing.assert_array_equal(rows(run(model, states[order]), 37), batch[order])
    for threads in (0, 2, 3, 5):
        np.testing.assert_array_equal(rows(run(model, states, threads=threads), 37), batch)


@pytest.mark.parametrize("algorithm", FORMS)
def test_avx2_and_avx512_give_the_same_bits(model, rng, algorithm):
    if not {"avx2", "avx512"} <= set(pysim.available_isas()):
        pytest.skip("needs AVX2 and AVX-512")
    for dtype in (np.float64, np.float32):
        states = random_states(model, rng, 19).astype(dtype)
        results = []
        for isa in ("avx2", "avx512"):
            pysim.use_isa(isa)
            results.append(rows(FORMS[algorithm](model, states), 19))
        pysim.use_isa("auto")
        np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("algorithm", FORMS)
def test_single_precision_is_within_1e_3_of_the_largest_entry(model, rng, isa, algorithm):
    states = random_states(model, rng, 19)
    exact = arrays(FORMS[algorithm](model, states))
    single = arrays(FORMS[algorithm](model, states.astype(np.float32)))
    for mine, right in zip(single, exact, strict=True):
        assert np.abs(mine - right).max() <= 1e-3 * np.abs(right).max()


def test_strides_do_not_matter(model, rng):
    s = random_states(model, rng, 12)
    q, v, tau = s.q, s.v, s.a
    expected = pysim.aba(model, q[::2], v[::2], tau[::2])
    np.testing.assert_array_equal(
        pysim.aba(model, np.asfortranarray(q[::2]), v[::2], np.asfortranarray(tau[::2])), expected
    )


def test_an_empty_batch_has_an_empty_result(model):
    assert pysim.aba(model, *(np.empty((0, n)) for n in (model.nq, model.nv, model.nv))).shape == (
        0,
        model.nv,
    )
