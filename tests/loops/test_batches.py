"""Constrained states do not depend on batch size, place, threads, AVX2 or AVX-512. Oracle: the state alone."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim import _engine
from pysim.loops import (
    constrained_aba,
    constraint_forces,
    constraint_jacobian,
    constraint_residual,
    constraints,
    loop_wrenches,
    project,
)
from pysim.mechanism.compile import start_state
from pysim.worlds.loading import compile_model
from pysim.worlds.python_stepping import IN_PYTHON, ModelSystem
from tests.engine_steps import make_steps
from tests.loops.mechanisms import closed_tree, four_bar, many_four_bars
from tests.python_steps import advance

BIG = ("revolute", "ball", "free", "cylindrical", "universal", "revolute", "prismatic")
KINDS = {"revolute": {}, "universal": {}, "helical": {"parameters": {"pitch": 0.2}}}


def states(kind, rng, n):
    """A model and n states on its loop."""
    spec, q = closed_tree(rng, kind, BIG, **KINDS[kind])
    model = compile_model(spec)
    q = np.array([model.integrate(q, 0.05 * x) for x in rng.normal(size=(n, model.nv))])
    on = project(model, q, rng.normal(size=(n, model.nv)))
    assert on.residual.max() < 1e-12
    return model, on.q, on.v, rng.normal(size=(n, model.nv))


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_gives_the_bits_of_its_states_alone(kind, rng, isa):
    model, q, v, tau = states(kind, rng, 21)
    wild = model.integrate(q, 0.01 * rng.normal(size=v.shape))
    for function in (
        lambda q, v: constrained_aba(model, q, v, tau[0] * np.ones_like(v), passive=True),
        lambda q, v: constraint_forces(model, q, v, tau[0] * np.ones_like(v)),
        lambda q, v: constraints(model, q, v).jacobian,
        lambda q, v: project(model, q, v).q,
        lambda q, v: project(model, q, v).v,
    ):
        batch = function(wild, v)
        alone = np.array([function(wild[k], v[k]) for k in range(21)])
        np.testing.assert_array_equal(batch, alone)
        order = rng.permutation(21)
        np.testing.assert_array_equal(function(wild[order], v[order]), batch[order])


@pytest.mark.parametrize("kind", KINDS)
def test_steps_of_a_batch_give_the_bits_of_steps_alone_on_any_number_of_threads(kind, rng):
    model, q, v, tau = states(kind, rng, 11)
    drive = _engine.Actuation(tau[0], *np.zeros((3, model.nv)))
    run = (0.0, 1e-3, 20, "rk4", drive)
    batch = make_steps(model, q, v, *run)
    for k in range(11):
        alone = make_steps(model, q[k], v[k], *run)
        for part, whole in zip(alone, batch, strict=True):
            np.testing.assert_array_equal(part, whole[k])
    for part, whole in zip(make_steps(model, q, v, *run, threads=3), batch, strict=True):
        np.testing.assert_array_equal(part, whole)


@pytest.mark.skipif(
    not {"avx2", "avx512"} <= set(pysim.available_isas()), reason="needs AVX2 and AVX-512"
)
def test_avx2_and_avx512_give_the_same_bits(rng):
    model, q, v, tau = states("revolute", rng, 19)
    results = []
    for isa in ("avx2", "avx512"):
        pysim.use_isa(isa)
        results.append((constrained_aba(model, q, v, tau), project(model, q, v).q))
    pysim.use_isa("auto")
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


def test_every_instruction_set_agrees_to_rounding(rng):
    model, q, v, tau = states("revolute", rng, 5)
    results = []
    for isa in pysim.available_isas():
        pysim.use_isa(isa)
        results.append(constrained_aba(model, q, v, tau))
    pysim.use_isa("auto")
    for result in results[1:]:
        np.testing.assert_allclose(result, results[0], rtol=0, atol=1e-9 * np.abs(result).max())


def test_single_precision_agrees_to_its_rounding(rng):
    model, q, v, tau = states("revolute", rng, 5)
    double = constrained_aba(model, q, v, tau)
    single = constrained_aba(model, *(x.astype(np.float32) for x in (q, v, tau)))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, double, rtol=0, atol=2e-3 * np.abs(double).max())


def test_worlds_of_different_rank_share_a_pack():
    """Worlds at the singular flat position and away from it, side by side."""
    model = compile_model(four_bar())
    open_q = start_state(model).q
    q = np.array([open_q, np.zeros(3)] * 8)
    found = project(model, q, np.zeros_like(q))
    np.testing.assert_array_equal(found.rank, [2, 1] * 8)
    a = constrained_aba(model, q, np.zeros_like(q), np.zeros_like(q))
    np.testing.assert_array_equal(a[::2], a[:1].repeat(8, 0))
    np.testing.assert_array_equal(a[1], constrained_aba(model, q[1], 0 * q[1], 0 * q[1]))
    assert np.isfinite(a).all()


def test_worlds_at_any_distance_from_a_singular_position_are_bit_identical_and_satisfy_the_equations(
    rng, isa
):
    """Each world takes its rows in an order of its own. Oracle: NumPy on the dense equations, away from it."""
    model = compile_model(many_four_bars(3))
    tilt = rng.permutation(np.geomspace(1e-7, 1, 21))
    post = np.array([1 if name.startswith("pivot") else -1 for name in model.joint_names])
    q, v = tilt[:, None] * post, np.ones((21, 1)) * post
    a = constrained_aba(model, q, v, 0 * v)
    np.testing.assert_array_equal(
        a, [constrained_aba(model, *x) for x in zip(q, v, 0 * v, strict=True)]
    )
    at, M, h = constraints(model, q, v), pysim.crba(model, q), pysim.rnea(model, q, v, 0 * v)
    for k in np.flatnonzero(tilt > 0.02):
        J = at.jacobian[k]
        kkt = np.block([[M[k], J.T], [J, np.zeros((len(J), len(J)))]])
        expected = np.linalg.lstsq(kkt, -np.concatenate([h[k], at.bias[k]]))[0][: model.nv]
        np.testing.assert_allclose(a[k], expected, rtol=0, atol=1e-7 * np.abs(expected).max())


def test_the_wrench_of_a_loop_holds_its_body_as_the_forces_of_its_rows_do(rng):
    model, q, v, tau = states("revolute", rng, 3)
    wrenches = loop_wrenches(model, q, v, tau)
    forces = constraint_forces(model, q, v, tau)
    assert wrenches.shape == (3, 1, 6)
    np.testing.assert_allclose(
        np.linalg.norm(wrenches, axis=(1, 2)), np.linalg.norm(forces, axis=1), rtol=1e-12
    )


def test_rollouts_and_steps_in_python_are_the_steps_of_a_run(rng):
    model, q, v, tau = states("revolute", rng, 3)
    drive = _engine.Actuation(tau[0], *np.zeros((3, model.nv)))
    expected = make_steps(model, q, v, 0.0, 1e-3, 20, "rk4", drive)
    controls = np.broadcast_to(tau[0], (3, 20, model.nv))
    rolled = pysim.rollout(model, q, v, controls, 1e-3)
    system = ModelSystem(model, drive, np.array(project(model, q[0], v[0]).loop_q))
    slow = advance(IN_PYTHON["rk4"], system, q[0], v[0], 0.0, 1e-3, 20)
    for k in range(2):
        np.testing.assert_allclose(rolled[k][:, -1], expected[k], atol=1e-12)
        np.testing.assert_allclose(slow[k], expected[k][0], atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_results_are_written_to_given_arrays_and_threads_change_no_bit(rng, dtype):
    model, q, v, tau = (
        x.astype(dtype) if isinstance(x, np.ndarray) else x for x in states("revolute", rng, 21)
    )
    f_ext = rng.normal(size=(21, model.nbodies, 6)).astype(dtype)
    for function, arguments in (
        (constrained_aba, (q, v, tau, f_ext)),
        (constraint_forces, (q, v, tau, f_ext)),
        (loop_wrenches, (q, v, tau, f_ext)),
        (constraint_residual, (q,)),
        (constraint_jacobian, (q,)),
    ):
        expected = function(model, *arguments)
        assert expected.dtype == dtype
        out = np.full_like(expected, np.nan)
        assert function(model, *arguments, threads=2, out=out) is out
        np.testing.assert_array_equal(out, expected)
        with pytest.raises(pysim.PysimError, match="out: must have shape"):
            function(model, *arguments, out=out[:1])
