"""A state's result does not depend on batch size, place, threads, AVX2 or AVX-512. Oracle: itself alone."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import pysim
from pysim.compile import compile_model
from tests.oracles.mechanisms import random_tree


def joined(derivatives, *arguments, **options):
    """The matrices of a function that returns several, side by side."""
    return np.concatenate(derivatives(*arguments, **options), axis=-1)


ALGORITHMS = {
    "rnea": pysim.rnea,
    "aba": partial(pysim.aba, passive=True),
    "crba": pysim.crba,
    "forward_kinematics": pysim.forward_kinematics,
    "kinetic_energy": pysim.kinetic_energy,
    "potential_energy": pysim.potential_energy,
    "elastic_energy": pysim.elastic_energy,
    "center_of_mass": pysim.center_of_mass,
    "integrate": pysim.Model.integrate,
    "joint_torque_regressor": pysim.joint_torque_regressor,
    "kinetic_energy_regressor": pysim.kinetic_energy_regressor,
    "potential_energy_regressor": pysim.potential_energy_regressor,
    "momentum_regressor": pysim.momentum_regressor,
    "jacobian": lambda m, q, **o: pysim.jacobian(m, q, "tool", "world", **o),
    "jacobian_time_derivative": lambda m, q, v, **o: pysim.jacobian_time_derivative(
        m, q, v, "tool", "aligned", **o
    ),
    "frame_velocity": lambda m, q, v, **o: pysim.frame_velocity(m, q, v, "tool", **o),
    "frame_acceleration": lambda m, q, v, a, **o: pysim.frame_acceleration(
        m, q, v, a, "tool", "aligned", classical=True, **o
    ),
    "influence_coefficients": pysim.influence_coefficients,
    "minverse": pysim.minverse,
    "coriolis_matrix": pysim.coriolis_matrix,
    "operational_space_mobility": lambda m, q, **o: pysim.operational_space_mobility(
        m, q, "tool", **o
    ),
    "centroidal_momentum": pysim.centroidal_momentum,
    "centroidal_momentum_rate": pysim.centroidal_momentum_rate,
    "centroidal_map": pysim.centroidal_map,
    "centroidal_map_time_derivative": pysim.centroidal_map_time_derivative,
    "joint_reactions": lambda m, q, v, a, **o: np.stack(
        pysim.joint_reactions(m, q, v, a, **o), axis=-3
    ),
    "rnea_derivatives": partial(joined, pysim.rnea_derivatives, passive=True),
    "aba_derivatives": partial(joined, pysim.aba_derivatives, passive=True),
    "passive_force_derivatives": partial(joined, pysim.passive_force_derivatives),
    "twist_derivatives": pysim.twist_derivatives,
    "placement_derivatives": pysim.placement_derivatives,
}
TAKES = {  # of (q, v, x); others q alone
    "rnea": 3,
    "aba": 3,
    "kinetic_energy": 2,
    "integrate": 2,
    "joint_torque_regressor": 3,
    "kinetic_energy_regressor": 2,
    "momentum_regressor": 2,
    "jacobian_time_derivative": 2,
    "frame_velocity": 2,
    "frame_acceleration": 3,
    "coriolis_matrix": 2,
    "centroidal_momentum": 2,
    "centroidal_momentum_rate": 3,
    "centroidal_map_time_derivative": 2,
    "joint_reactions": 3,
    "rnea_derivatives": 3,
    "aba_derivatives": 3,
    "passive_force_derivatives": 2,
    "twist_derivatives": 3,
    "placement_derivatives": 3,
}


def run(algorithm, model, *arguments, **options):
    taken = arguments[: TAKES.get(algorithm, 1)]
    return ALGORITHMS[algorithm](model, *taken, **options)


@pytest.fixture
def model(rng):
    return compile_model(random_tree(rng, passive=True))


def states(model, rng, n, dtype=np.float64):
    q = np.array([model.random_configuration(rng) for _ in range(n)])
    return tuple(
        x.astype(dtype) for x in (q, rng.normal(size=(n, model.nv)), rng.normal(size=(n, model.nv)))
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_batch_gives_the_bits_of_its_states_alone(model, rng, isa, algorithm, dtype):
    arguments = states(model, rng, 37, dtype)
    batch = run(algorithm, model, *arguments)
    assert np.asarray(batch).dtype == dtype
    alone = np.array([run(algorithm, model, *(x[k] for x in arguments)) for k in range(37)], dtype)
    np.testing.assert_array_equal(batch, alone)
    order = rng.permutation(37)
    np.testing.assert_array_equal(
        run(algorithm, model, *(x[order] for x in arguments)), batch[order]
    )
    for threads in (0, 2, 3, 5):
        np.testing.assert_array_equal(run(algorithm, model, *arguments, threads=threads), batch)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_avx2_and_avx512_give_the_same_bits(model, rng, algorithm):
    if not {"avx2", "avx512"} <= set(pysim.available_isas()):
        pytest.skip("this processor has no AVX-512")
    for dtype in (np.float64, np.float32):
        arguments = states(model, rng, 19, dtype)
        results = []
        for isa in ("avx2", "avx512"):
            pysim.use_isa(isa)
            results.append(run(algorithm, model, *arguments))
        pysim.use_isa("auto")
        np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_single_precision_is_within_1e_3_of_the_largest_entry(model, rng, isa, algorithm):
    arguments = states(model, rng, 19)
    exact = run(algorithm, model, *arguments)
    single = run(algorithm, model, *(x.astype(np.float32) for x in arguments))
    assert np.abs(single - exact).max() <= 1e-3 * np.abs(exact).max()


def test_strides_do_not_matter(model, rng):
    q, v, tau = states(model, rng, 12)
    expected = pysim.aba(model, q[::2], v[::2], tau[::2])
    np.testing.assert_array_equal(
        pysim.aba(model, np.asfortranarray(q[::2]), v[::2], np.asfortranarray(tau[::2])), expected
    )


def test_an_empty_batch_has_an_empty_result(model):
    assert pysim.aba(model, *(np.empty((0, n)) for n in (model.nq, model.nv, model.nv))).shape == (
        0,
        model.nv,
    )
