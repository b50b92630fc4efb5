"""Grids and distributions of a sweep. Oracles: quantiles of scipy.stats, products counted by hand."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from scipy import stats

from pysim.errors import SimulationError
from pysim.sweeps.parameters import METHODS, Distribution, plan_of


def test_grids_combine_with_the_last_key_varying_fastest_and_samples_within() -> None:
    plan = plan_of({"a": "0:1:3", "b": [5, 7], "c": "uniform(0, 1)"}, 2, "random", 0)
    values = plan.values()
    assert plan.worlds == 12
    np.testing.assert_array_equal(values["a"], np.repeat([0, 0.5, 1], 4))
    np.testing.assert_array_equal(values["b"], np.tile([5, 5, 7, 7], 3))
    np.testing.assert_array_equal(values["c"], np.tile(values["c"][:2], 6))


@pytest.mark.parametrize(
    ("kind", "arguments", "oracle"),
    [
        ("normal", (1.0, 0.05), stats.norm(1.0, 0.05)),
        ("uniform", (-1.0, 3.0), stats.uniform(-1.0, 4.0)),
        ("loguniform", (1.0, 100.0), stats.loguniform(1.0, 100.0)),
        ("triangular", (0.0, 0.5, 2.0), stats.triang(0.25, 0.0, 2.0)),
    ],
)
def test_a_distribution_has_the_quantiles_of_scipy(
    kind: str, arguments: tuple[float, ...], oracle: Any
) -> None:
    u = np.linspace(0.001, 0.999, 101)
    np.testing.assert_allclose(Distribution(kind, arguments).values(u), oracle.ppf(u), rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_samples_depend_on_the_seed_alone(method: str) -> None:
    first, again, other = (
        plan_of({"a": "normal(0, 1)", "b": "uniform(0, 1)"}, 100, method, seed).values()
        for seed in (3, 3, 4)
    )
    for key in ("a", "b"):
        np.testing.assert_array_equal(first[key], again[key])
        assert (first[key] != other[key]).all()


def test_a_latin_hypercube_and_a_sobol_sequence_fill_every_stratum() -> None:
    for method in ("latin_hypercube", "sobol"):
        u = plan_of({"a": "uniform(0, 1)"}, 64, method, 1).values()["a"]
        assert sorted((64 * u).astype(int)) == list(range(64))


@pytest.mark.parametrize(
    ("parameters", "n", "method", "text"),
    [
        (
            {},
            None,
            "random",
            "parameters: there are none; give a value or distribution by key, or write a [sweep] table",
        ),
        ({"a": [1.0]}, None, "sobel", "method: there is no 'sobel'; did you mean 'sobol'?"),
        ({"a": "1,2"}, 5, "random", "n: is 5, but no key has a distribution; leave it out"),
        (
            {"a": "normal(0,1)"},
            None,
            "random",
            "n: is missing; give the number of samples of the distributions",
        ),
        (
            {"simulation.step": [1e-3]},
            None,
            "random",
            "simulation.step: is the same in all worlds of a sweep; set it in the scene",
        ),
        (
            {"a": "gauss(0,1)"},
            5,
            "random",
            "a: there is no distribution 'gauss'; choose one of normal, uniform, loguniform, triangular",
        ),
        (
            {"a": "normal(0)"},
            5,
            "random",
            "a: normal takes 2 numbers, got 1; give normal(mean, deviation)",
        ),
        ({"a": "uniform(2,1)"}, 5, "random", "a: uniform(2.0, 1.0): lower must not exceed upper"),
        (
            {"a": "0:1:2.5"},
            None,
            "random",
            "a: '0:1:2.5' has no whole number of values; give FIRST:LAST:COUNT",
        ),
        (
            {"a": "x"},
            None,
            "random",
            "a: 'x' is neither a grid nor a distribution; give FIRST:LAST:COUNT, A,B,… or KIND(…)",
        ),
        ({"a": [np.nan]}, None, "random", "a: must be finite, got nan or inf"),
    ],
)
def test_invalid_parameters_are_rejected(
    parameters: dict[str, Any], n: int | None, method: str, text: str
) -> None:
    with pytest.raises(SimulationError, match=f"^{re.escape(text)}$"):
        plan_of(parameters, n, method, 0)
