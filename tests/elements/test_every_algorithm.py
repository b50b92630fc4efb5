"""Forces of plugins in every algorithm. Oracles: their energy's slope, and differences of sixth order."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import pysim
from pysim.worlds.loading import compile_model
from tests.elements.forces import damped, elastic, mechanism
from tests.oracles.differences import along, derivatives

SHAPES = ["tree", "chain", "mimic"]
TOLERANCE = 1e-9


def state(model, rng):
    f_ext = rng.normal(size=(model.nbodies, 6))
    return model.random_configuration(rng), *rng.normal(size=(2, model.nv)), f_ext


def all_close(actual, expected, tolerance=TOLERANCE):
    for matrix, wanted in zip(actual, expected, strict=True):
        np.testing.assert_allclose(matrix, wanted, rtol=0, atol=tolerance * np.abs(wanted).max())


@pytest.mark.parametrize("shape", SHAPES)
def test_elastic_forces_are_minus_the_slope_of_their_energy(rng, shape):
    model = compile_model(elastic(mechanism(rng, shape), rng))
    q = model.random_configuration(rng)
    slope = along(lambda d: pysim.elastic_energy(model, model.integrate(q, d)), model.nv)
    tau = pysim.passive_forces(model, q, np.zeros(model.nv))
    np.testing.assert_allclose(tau, -slope, rtol=0, atol=TOLERANCE * np.abs(slope).max())


@pytest.mark.parametrize("shape", SHAPES)
def test_derivatives_are_those_of_differences(rng, shape):
    model = compile_model(damped(mechanism(rng, shape), rng))
    q, v, a, f_ext = state(model, rng)
    by_q, by_v, _ = derivatives(
        lambda q, v, _: pysim.passive_forces(model, q, v), model.integrate, q, v, a
    )
    all_close(pysim.passive_force_derivatives(model, q, v), (by_q, by_v))
    rnea = derivatives(
        partial(pysim.rnea, model, f_ext=f_ext, passive=True), model.integrate, q, v, a
    )
    all_close(pysim.rnea_derivatives(model, q, v, a, f_ext, passive=True), rnea)
    aba = derivatives(
        partial(pysim.aba, model, f_ext=f_ext, passive=True), model.integrate, q, v, a
    )
    all_close(pysim.aba_derivatives(model, q, v, a, f_ext, passive=True), aba)


@pytest.mark.parametrize("shape", SHAPES)
def test_forward_and_inverse_dynamics_agree(rng, shape):
    model = compile_model(damped(mechanism(rng, shape), rng))
    q, v, tau, f_ext = state(model, rng)
    a = pysim.aba(model, q, v, tau, f_ext, passive=True)
    back = pysim.rnea(model, q, v, a, f_ext, passive=True)
    np.testing.assert_allclose(back, tau, rtol=0, atol=1e-9 * np.abs(a).max())


@pytest.mark.parametrize("shape", SHAPES)
def test_a_state_has_the_same_bits_alone_and_in_a_batch_on_any_number_of_threads(rng, isa, shape):
    model = compile_model(damped(mechanism(rng, shape), rng))
    q = np.array([model.random_configuration(rng) for _ in range(19)])
    v, tau = rng.normal(size=(2, 19, model.nv))
    batch = pysim.aba(model, q, v, tau, passive=True)
    alone = [pysim.aba(model, *state, passive=True) for state in zip(q, v, tau, strict=True)]
    np.testing.assert_array_equal(batch, alone)
    np.testing.assert_array_equal(pysim.aba(model, q, v, tau, passive=True, threads=2), batch)
    slopes = pysim.passive_force_derivatives(model, q, v)
    for k in range(19):
        for matrix, wanted in zip(
            slopes, pysim.passive_force_derivatives(model, q[k], v[k]), strict=True
        ):
            np.testing.assert_array_equal(matrix[k], wanted)


def test_single_precision_is_near_double(rng):
    model = compile_model(damped(mechanism(rng, "tree"), rng))
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    exact = pysim.passive_forces(model, q, v)
    rounded = pysim.passive_forces(model, q.astype(np.float32), v.astype(np.float32))
    assert rounded.dtype == np.float32
    np.testing.assert_allclose(rounded, exact, rtol=0, atol=2e-5 * np.abs(exact).max())


def test_worlds_of_different_numbers_run_side_by_side(rng):
    spec = damped(mechanism(rng, "tree"), rng)
    models = [compile_model(spec)]
    for k in range(1, 11):
        forces = tuple(
            replace(force, parameters=force.parameters | {"rest_length": 3.0 + 0.07 * k})
            if force.name == "path"
            else force
            for force in spec.forces
        )
        models.append(compile_model(replace(spec, forces=forces)))
    q, v = models[0].random_configuration(rng), rng.normal(size=models[0].nv)
    together = pysim.rollout(models, q, v, None, 1e-3, "rk4", steps=20)
    for k, model in enumerate(models):
        alone = pysim.rollout(model, q, v, None, 1e-3, "rk4", steps=20)
        for rows, own in zip(together, alone, strict=True):
            np.testing.assert_array_equal(rows[k], own)
