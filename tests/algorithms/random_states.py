"""Random mechanisms of every joint shape, batches of their states, and how near two arrays must be."""

from __future__ import annotations

import numpy as np

from tests.oracles.mechanisms import MOVING

KINDS = [*MOVING, "fixed", "revolute", "fixed", "prismatic"]
STATES = 11  # a pack and single states on every instruction set


def states(model, rng, n=STATES):
    """q (n, nq), v and a (n, nv)."""
    q = np.array([model.random_configuration(rng) for _ in range(n)])
    return q, *rng.normal(size=(2, n, model.nv))


def close(actual, expected, tolerance=1e-11):
    """Within a tolerance of the largest entry."""
    expected = np.asarray(expected)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * np.abs(expected).max())
