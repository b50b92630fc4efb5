"""Blocks between signals. Oracles: closed forms, and the cases `transfer_function` and `state_space`."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.errors import PysimError
from tests.elements.blocks import constant, disc, mass, run_at, scene_of, simulation, table
from tests.elements.reference_cases import Case

WAVE = {"type": "sine", "amplitude": 2.0, "frequency": 3.0}


def run_of(folder, block, inputs=("x",), **keys):
    """Return a run of a block that reads a sine, x(t), and its output."""
    text = mass(1.0) + table("signal", name="x", **WAVE)
    text += table("controller", name="y", type=block, inputs=list(inputs), **keys)
    run = pysim.simulate(scene_of(folder, text + simulation(duration=4.0, interval=0.05)))
    return run, run.signals["x"], run.signals["y"]


def test_gain_and_sum(tmp_path):
    _, x, y = run_of(tmp_path, "gain", gain=-3.0, offset=0.5)
    np.testing.assert_allclose(y, -3 * x + 0.5, atol=1e-14)
    _, x, y = run_of(tmp_path, "sum", ("x", "x.rate"), weights=[2.0, -1.0])
    t = np.arange(len(x)) * 0.05
    np.testing.assert_allclose(y, 2 * x - 6.0 * np.cos(3.0 * t), atol=1e-12)


def test_saturation_and_dead_zone_are_parts_of_the_signal(tmp_path):
    _, x, kept = run_of(tmp_path, "saturation", lower=-0.5, upper=1.0)
    np.testing.assert_array_equal(kept, np.clip(x, -0.5, 1.0))
    _, x, rest = run_of(tmp_path, "dead_zone", lower=-0.5, upper=1.0)
    np.testing.assert_allclose(kept + rest, x, atol=1e-15)


def test_a_low_pass_filter_of_a_sine(tmp_path):
    T, w = 0.2, 3.0
    run, _, y = run_of(tmp_path, "low_pass", time_constant=T)
    a, b = 2.0 / (1 + (w * T) ** 2), w * T
    exact = a * (np.sin(w * run.t) - b * np.cos(w * run.t) + b * np.exp(-run.t / T))
    np.testing.assert_allclose(y, exact, atol=1e-10)


def test_a_rate_limiter_follows_a_step_at_its_rates(tmp_path):
    text = mass(1.0) + table("signal", name="x", type="step", time=1.0, before=0.5, after=2.5)
    text += table(
        "controller", name="y", type="rate_limiter", inputs=["x"], rising=2.0, falling=4.0
    )
    text += table("controller", name="z", type="gain", inputs=["y"], gain=1.0)
    run = pysim.simulate(scene_of(tmp_path, text + simulation("rk4", duration=3.0)))
    ramp = np.clip(0.5 + 2.0 * (run.t - 1.0), 0.5, 2.5)
    np.testing.assert_allclose(run.signals["y"], ramp, atol=2.0 * 0.01 * 1.5)
    np.testing.assert_allclose(run.signals["y"][-1], 2.5, atol=1e-9)


def test_a_relay_switches_with_hysteresis(tmp_path):
    keys = {"lower": -1.0, "upper": 1.5, "on": 7.0, "off": -2.0, "period": 0.05}
    _, x, y = run_of(tmp_path, "relay", **keys)
    on, expected = False, []
    for value in x:
        on = value > 1.5 or (on and value >= -1.0)
        expected.append(7.0 if on else -2.0)
    assert len(set(expected)) == 2
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_delay_holds_the_signal_of_periods_before(tmp_path, count):
    _, x, y = run_of(tmp_path, "delay", periods=count, period=0.05)
    np.testing.assert_array_equal(y[count:], x[:-count])
    np.testing.assert_array_equal(y[:count], x[0])


def test_the_transfer_function_of_the_library(tmp_path):
    case = Case("transfer_function")
    s = case.setup
    wave = {"amplitude": 0.5, "frequency": 2 * np.pi * 0.7, "offset": 1.0}
    keys = {"numerator": s["numerator"], "denominator": s["denominator"]}
    text = mass(1.0) + table("signal", name="u", type="sine", **wave)
    text += table("controller", name="y", type="transfer_function", inputs=["u"], **keys)
    run, rows = run_at(tmp_path, text, case.at("output"))
    case.agrees("output", run.signals["y"][rows])


def test_a_transfer_function_with_a_direct_part(tmp_path):
    """(2 s + 3)/(0.5 s + 1) = 4 − 1/(0.5 s + 1)."""
    keys = {"numerator": [2.0, 3.0], "denominator": [0.5, 1.0]}
    _, x, y = run_of(tmp_path, "transfer_function", **keys)
    _, _, slow = run_of(tmp_path, "transfer_function", numerator=[1.0], denominator=[0.5, 1.0])
    np.testing.assert_allclose(y, 4 * x - slow, atol=1e-9)


def test_the_state_space_of_the_library(tmp_path):
    case = Case("state_space")
    s = case.setup
    keys = {"t": s["table_t_s"], "values": s["table_u"], "outside": "hold"}
    text = mass(1.0) + table("signal", name="u", type="table", **keys)
    keys = {key: s[key] for key in ("A", "B", "C", "D", "x0")}
    text += table("controller", name="y", type="state_space", inputs=["u"], **keys)
    run, rows = run_at(tmp_path, text, case.at("states, outputs"))
    case.agrees("states, outputs", np.hstack([run.signals["y.x"], run.signals["y"]])[rows])


@pytest.mark.parametrize(
    "block",
    [
        {"type": "transfer_function", "numerator": [1.0], "denominator": [0.1, 1.0]},
        {"type": "state_space", "A": [[-10.0]], "B": [[10.0]], "C": [[1.0]]},
    ],
)
def test_blocks_with_a_state_break_an_algebraic_loop(tmp_path, block):
    """y = 2 − 3 z with 0.1 z′ + z = y settles at z = 0.5."""
    text = disc() + constant("two", 2.0)
    text += table("controller", name="y", type="sum", inputs=["two", "z"], weights=[1.0, -3.0])
    text += table("controller", name="z", inputs=["y"], **block)
    run = pysim.simulate(scene_of(tmp_path, text + simulation()))
    np.testing.assert_allclose(run.signals["z"].ravel(), 0.5 * (1 - np.exp(-40 * run.t)), atol=1e-9)


BAD = [
    ({"type": "saturation", "lower": 1.0, "upper": 0.0}, "lower: 1 is above upper, 0; swap them"),
    (
        {"type": "low_pass", "time_constant": 0.0},
        "time_constant: must be positive [s], got 0; change it",
    ),
    (
        {"type": "delay", "periods": 0, "period": 0.1},
        "periods: must be 1 or more, got 0; change it",
    ),
    (
        {"type": "transfer_function", "numerator": [1.0], "denominator": [1.0]},
        (
            "denominator: must have two coefficients or more, the first not 0, got [1.0]; "
            "write them from the highest power"
        ),
    ),
    (
        {"type": "transfer_function", "numerator": [1.0, 2.0, 3.0], "denominator": [1.0, 2.0]},
        "numerator: must have 1 to 2 coefficients, got 3; its degree is at most the denominator's",
    ),
    (
        {"type": "state_space", "A": [[1.0, 2.0]], "B": [[1.0]], "C": [[1.0]]},
        "A: must have 1 rows of 1 numbers; write the matrix row by row",
    ),
]


@pytest.mark.parametrize(("keys", "problem"), BAD)
def test_wrong_keys_are_reported(tmp_path, keys, problem):
    text = disc() + table("signal", name="x", **WAVE)
    text += table("controller", name="y", inputs=["x"], **keys)
    with pytest.raises(PysimError) as caught:
        scene_of(tmp_path, text + simulation())
    assert problem in str(caught.value)
