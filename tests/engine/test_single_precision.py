"""The errors of single precision that `help(pysim.algorithms)` states are those that are measured.

Oracle: the same call in double precision.
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

import pysim
from pysim import algorithms
from pysim.worlds.loading import compile_model
from tests.algorithms.algorithm_calls import EVERY, States, arrays, public, random_states
from tests.oracles.mechanisms import random_tree
from tests.robots import load_robot

MODELS = ("panda", "anymal", "simple_humanoid", "every joint shape")
N = 64
STATED = {
    name: float(error)
    for name, error in re.findall(
        r"^    (\w+) +(\d\.?\d*e-\d+)$", algorithms.__doc__ or "", re.MULTILINE
    )
}


@cache
def model_and_states(name: str) -> tuple[pysim.Model, States]:
    rng = np.random.default_rng(1)
    if name == "every joint shape":
        model = compile_model(random_tree(rng, passive=True))
    else:
        model = load_robot(name)
        model.frames["tool"] = model.frames[model.frame_names[-1]]
    return model, random_states(model, rng, N)


def error_on(algorithm: str, name: str) -> float:
    """Largest error over the states, of the largest entry of each array of the result."""
    model, states = model_and_states(name)
    double = arrays(EVERY[algorithm](model, states))
    single = arrays(EVERY[algorithm](model, states.astype(np.float32)))
    errors = [
        float(np.abs(x - y).max() / np.abs(x).max())
        for x, y in zip(double, single, strict=True)
        if np.abs(x).max() > 0
    ]
    return max(errors, default=0.0)


def test_the_table_names_every_algorithm():
    assert set(STATED) == public()


@pytest.mark.parametrize("algorithm", EVERY)
def test_the_stated_error_is_the_measured_one(algorithm, isa):
    needs_six = algorithm == "operational_space_inertia"  # Panda's base is fixed
    errors = [error_on(algorithm, name) for name in MODELS[1 if needs_six else 0 :]]
    assert STATED[algorithm] / 6 < max(errors) <= STATED[algorithm]
