"""Random mechanisms that several of these files try."""

from __future__ import annotations

import pytest

from pysim.worlds.loading import compile_model
from tests.algorithms.random_states import KINDS
from tests.joints.chains import plugin_chain
from tests.oracles import tree as oracle
from tests.oracles.mechanisms import random_tree


@pytest.fixture(params=["tree", "chain", "mimic"])
def mechanism(request, rng):
    """A model, and the dense tree of the same specification."""
    spec = _random_spec(request.param, rng)
    return compile_model(spec), oracle.Tree(spec)


@pytest.fixture(params=["tree", "chain", "mimic", "plugins"])
def model(request, rng):
    """A model alone; with joint plugins too, which the dense tree does not know."""
    if request.param == "plugins":
        return plugin_chain(rng)
    return compile_model(_random_spec(request.param, rng))


def _random_spec(form, rng):
    return random_tree(rng, rng.permutation(KINDS), chain=form == "chain", mimic=form == "mimic")
