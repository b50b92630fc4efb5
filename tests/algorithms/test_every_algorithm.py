"""Arguments of every public algorithm: a state or a batch, float32, `out`, `threads`, external wrenches, plugins.

Oracle: the same call in another form. That the numbers are right is the business of other tests.
"""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import pysim
from pysim.worlds.loading import compile_model
from tests.algorithms.algorithm_calls import (
    EVERY,
    FORMS,
    SLOPES,
    TAKES_WRENCHES,
    arrays,
    public,
    random_states,
    rows,
)
from tests.joints.chains import KINDS, plugin_chain
from tests.oracles.mechanisms import random_tree

TRACED = [kind for kind in KINDS if kind != "test_called_cam"]
N = 19  # packs and single states on every instruction set


@pytest.fixture(scope="module", params=["built-in", "mimic", "traced plugins", "callback"])
def model(request):
    rng = np.random.default_rng(7)
    if request.param in ("built-in", "mimic"):
        return compile_model(random_tree(rng, passive=True, mimic=request.param == "mimic"))
    return plugin_chain(rng, KINDS if request.param == "callback" else TRACED)


def has_callbacks(model):
    return any(joint.type == "test_called_cam" for joint in model.joints)


def test_the_table_has_every_public_algorithm():
    assert set(EVERY) == public()
    takers = {n for n in public() if "f_ext" in inspect.signature(getattr(pysim, n)).parameters}
    assert takers == set(TAKES_WRENCHES)
    for name in public():
        assert {"threads", "out"} <= set(inspect.signature(getattr(pysim, name)).parameters), name


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_batches_states_threads_and_places_agree_to_the_bit(model, name, dtype):
    call, states = FORMS[name], random_states(model, np.random.default_rng(3), N).astype(dtype)
    if name in SLOPES and has_callbacks(model):
        with pytest.raises(ValueError, match="is a CallbackJoint, which has no analytical deriv"):
            call(model, states)
        return
    batch = call(model, states)
    for part in arrays(batch):
        assert part.shape[0] == N
        assert part.dtype == dtype
        assert np.isfinite(part).all()

    alone = [call(model, states[k]) for k in (0, N - 1)]
    for k, one in zip((0, N - 1), alone, strict=True):
        for whole, single in zip(arrays(batch), arrays(one), strict=True):
            assert single.shape == whole.shape[1:]
            np.testing.assert_array_equal(single, whole[k])
    np.testing.assert_array_equal(rows(call(model, states, threads=2), N), rows(batch, N))


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("batched", [False, True])
def test_the_result_is_written_to_the_given_array(model, name, batched):
    if name in SLOPES and has_callbacks(model):
        pytest.skip("refused")
    call, states = FORMS[name], random_states(model, np.random.default_rng(3), 3)
    states = states if batched else states[0]
    result = call(model, states)
    expected = arrays(result)
    if name == "joint_reactions":  # one array for both parts
        places = (np.full(np.stack(expected, axis=-3).shape, np.nan),)
    else:
        places = tuple(np.full_like(x, np.nan) for x in expected)
    out = places if isinstance(result, tuple) and name != "joint_reactions" else places[0]

    given = arrays(call(model, states, out=out))

    for mine, right in zip(given, expected, strict=True):
        assert any(np.shares_memory(mine, place) for place in places)
        np.testing.assert_array_equal(mine, right)


@pytest.mark.parametrize("name", FORMS)
def test_a_place_that_cannot_take_the_result_is_rejected(model, name):
    if name in SLOPES and has_callbacks(model):
        pytest.skip("refused")
    call, states = FORMS[name], random_states(model, np.random.default_rng(3), 3)
    several = isinstance(call(model, states), tuple) and name != "joint_reactions"
    count = len(arrays(call(model, states)))
    for wrong in (np.zeros(1), np.zeros(1, np.float32)):
        out = (wrong,) * count if several else wrong
        with pytest.raises(ValueError, match=r"^out(\[0\])?:? must have (shape|dtype)"):
            call(model, states, out=out)


@pytest.mark.parametrize("name", TAKES_WRENCHES)
def test_wrenches_of_zero_change_nothing_and_others_do(model, name):
    if name in SLOPES and has_callbacks(model):
        pytest.skip("refused")
    call, states = FORMS[name], random_states(model, np.random.default_rng(3), N)
    without = rows(call(model, type(states)(states.q, states.v, states.a)), N)
    none = type(states)(states.q, states.v, states.a, 0 * states.f_ext)
    np.testing.assert_array_equal(rows(call(model, none), N), without)
    assert (np.abs(rows(call(model, states), N) - without).max(axis=1) > 0).all()
