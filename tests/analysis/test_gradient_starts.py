"""Gradients from five hundred random starts of robots, bodies and laws (gradient_starts.py).

Oracle: central differences of sixth order, along random directions.
"""

from __future__ import annotations

import pytest

from tests.analysis.gradient_starts import LEAST, errors_by_family, families, together


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")  # of starts and planes
def test_most_random_starts_have_the_gradient_of_differences() -> None:
    shares = together(errors_by_family(-(-500 // len(families())))).shares()
    assert all(shares[steps] >= least for steps, least in LEAST.items()), shares
