"""Trial steps of an adaptive run in which a state of an element overflows: they are repeated with a shorter step.

Oracle: x(t) = (3⁻⁸ + 8 k (t − t₀))^(−1/8), the solution of x′ = −k x⁹ from x = 3 at t₀, where the rate begins.
"""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.controllers import Controller, controller, real, signal
from tests.elements.blocks import mass, scene_of, simulation, table

RATE, BEGIN = 1e8, 0.3


@controller("sudden_decay")
class SuddenDecay(Controller):
    """A state whose decay begins while steps are long, and a clock after it."""

    inputs = signal("place", unit="m")
    outputs = signal("x", unit="1")
    states = real("x") * real("clock")

    def start(self):
        return {"x": 3.0, "clock": 0.0}

    def state_rate(self, x, clock):
        return [np.where(clock > BEGIN, -RATE * x**9, 0.0), 1.0 + 0.0 * clock]

    def output(self, x):
        return x


@pytest.mark.parametrize("rtol", [1e-3, 1e-6])
def test_a_step_whose_error_is_nan_is_repeated(tmp_path, rtol):
    text = mass(1.0, v=0.1) + table(
        "controller", name="decay", type="sudden_decay", inputs=["place.q"]
    )
    run = pysim.simulate(scene_of(tmp_path, text + simulation("dopri5", rtol=rtol, atol=rtol / 10)))
    x = np.reshape(run.signals["decay.x"], -1)
    after = np.maximum(run.t - BEGIN, 0.0)
    expected = (3.0**-8 + 8 * RATE * after) ** (-1 / 8)
    inner = abs(run.t - BEGIN) > 1e-9
    assert x[inner] == pytest.approx(expected[inner], rel=30 * rtol)
