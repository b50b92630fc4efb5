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


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_variable_delay_of_whole_periods_is_a_delay(tmp_path, count):
    _, x, y = run_of(tmp_path, "variable_delay", delay=float(count), longest=3, period=0.05)
    np.testing.assert_array_equal(y[count:], x[: len(x) - count])
    np.testing.assert_array_equal(y[:count], x[0])


def test_a_variable_delay_between_two_periods_is_interpolated(tmp_path):
    _, x, y = run_of(tmp_path, "variable_delay", delay=1.25, longest=4, period=0.05)
    np.testing.assert_allclose(y[2:], 0.75 * x[1:-1] + 0.25 * x[:-2], atol=1e-15)


def test_worlds_differ_in_their_delays(tmp_path):
    """Oracle: scenes that have the delays of the worlds; equal bits, whatever the batch."""
    text = mass(1.0) + table("signal", name="x", **WAVE)
    keys = {"type": "variable_delay", "inputs": ["x"], "longest": 4, "period": 0.05}
    make = simulation("rk4", duration=4.0, interval=0.05)

    def scene(delay):
        return scene_of(tmp_path, text + table("controller", name="y", delay=delay, **keys) + make)

    delays = [0.0, 4.0, 2.5]
    alone = []
    for delay in delays:
        world = pysim.Worlds(scene(delay))
        world.step(seconds=1.0)
        alone.append(world.signals["y"])
    worlds = pysim.Worlds(scene(1.0), 3)
    worlds.parameters["controller.y.delay"][:] = delays
    worlds.reset()
    worlds.step(seconds=1.0)
    np.testing.assert_array_equal(worlds.signals["y"], alone)
    worlds.parameters["controller.y.delay"][:] = 4.5
    with pytest.raises(
        PysimError, match=r"is 4\.5 in world 0; must be from 0 to longest, 4, got 4\.5"
    ):
        worlds.step()


def vector(folder, block, **keys):
    """Return a run of a block that reads three sines, as one signal, and its output."""
    text = mass(1.0)
    for k, name in enumerate("abc"):
        wave = {"amplitude": 1.0 + k, "frequency": 2.0 + k, "offset": 0.5 * k}
        text += table("signal", name=name, type="sine", **wave)
    text += table("controller", name="x", type="join", inputs=["a", "b", "c"])
    text += table("controller", name="y", inputs=["x"], **block)
    run = pysim.simulate(scene_of(folder, text + simulation(duration=2.0, interval=0.05, **keys)))
    return run, run.signals["x"], run.signals["y"]


def test_join_puts_numbers_and_lists_in_one_signal(tmp_path):
    run, x, _ = vector(tmp_path, {"type": "gain", "gain": 1.0})
    t = run.t[:, None]
    k = np.arange(3)
    np.testing.assert_allclose(x, 0.5 * k + (1 + k) * np.sin((2 + k) * t), atol=1e-13)
    text = mass(1.0) + constant("p", [1.0, 2.0]) + constant("q", 3.0)
    text += table("controller", name="y", type="join", inputs=["p", "q", "p[1]", "p"])
    text += table("controller", name="slow", type="low_pass", inputs=["y"], time_constant=0.1)
    run = pysim.simulate(scene_of(tmp_path, text + simulation()))
    np.testing.assert_array_equal(run.signals["y"], np.tile([1, 2, 3, 2, 1, 2], (len(run), 1)))
    np.testing.assert_allclose(run.signals["slow"], run.signals["y"], atol=1e-15)


def test_a_gain_and_an_offset_for_each_number(tmp_path):
    block = {"type": "gain", "gain": [2.0, -1.0, 0.5], "offset": [0.0, 3.0, -1.0]}
    _, x, y = vector(tmp_path, block)
    np.testing.assert_allclose(y, x * block["gain"] + block["offset"], atol=1e-13)
    with pytest.raises(PysimError, match="offset: has 2 numbers for a signal of 3; write one num"):
        vector(tmp_path, {"type": "gain", "gain": 1.0, "offset": [1.0, 2.0]})


@pytest.mark.parametrize("period", [None, 0.05])
def test_a_matrix_times_a_signal(tmp_path, period):
    M, b = np.array([[1.0, -2.0, 0.5], [0.0, 3.0, -1.0]]), np.array([0.25, -4.0])
    keys = {} if period is None else {"period": period}
    block = {"type": "matrix", "matrix": M.tolist(), "offset": b.tolist(), **keys}
    _, x, y = vector(tmp_path, block)
    np.testing.assert_allclose(y, x @ M.T + b, atol=1e-13)
    _, x, y = vector(tmp_path, {"type": "matrix", "matrix": M[:1].tolist()})
    np.testing.assert_allclose(y, x @ M[:1].T, atol=1e-13)


def test_a_block_with_states_reads_a_signal_of_another_size(tmp_path):
    """A low-pass of a matrix' two numbers of three; its states are as many as it reads."""
    text = mass(1.0) + constant("x", [1.0, 2.0, 3.0])
    M = [[1.0, 0.0, 1.0], [0.0, 2.0, 0.0]]
    text += table("controller", name="y", type="matrix", inputs=["x"], matrix=M)
    text += table("controller", name="z", type="low_pass", inputs=["y"], time_constant=0.1)
    text += table("controller", name="d", type="delay", inputs=["y"], periods=2, period=0.1)
    run = pysim.simulate(scene_of(tmp_path, text + simulation()))
    for name in ("z", "d"):
        np.testing.assert_allclose(run.signals[name], np.tile([4.0, 4.0], (len(run), 1)))


@pytest.mark.parametrize("count", [1, 3])
def test_a_delay_holds_every_number_of_a_signal(tmp_path, count):
    run, x, y = vector(tmp_path, {"type": "delay", "periods": count, "period": 0.05})
    np.testing.assert_array_equal(y[count:], x[:-count])
    np.testing.assert_array_equal(y[:count], np.tile(x[0], (count, 1)))
    assert run.signals["y.past"].shape == (len(run), 3 * count)


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
        "periods: must be from 1 to 100000, got 0; change it",
    ),
    (
        {"type": "variable_delay", "delay": 3.0, "longest": 2, "period": 0.1},
        "delay: must be from 0 to longest, 2, got 3; change it, or longest",
    ),
    (
        {"type": "variable_delay", "delay": 0.0, "longest": 0, "period": 0.1},
        "longest: must be from 1 to 1000, got 0; change it, or the period",
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
    (
        {"type": "matrix", "matrix": [[1.0, 2.0], [1.0]]},
        "matrix: row 2 has 1 number, and must have 2, as the first row has; give every row 2 numbers",
    ),
    (
        {"type": "matrix", "matrix": [[1.0, 2.0]]},
        "matrix: row 1 has 2 numbers, and must have 1, one for each number of the signal; give every row 1 number",
    ),
    (
        {"type": "matrix", "matrix": [[1.0]], "offset": [1.0, 2.0]},
        "offset: must have one number for each row, got 2 for 1; write one for each",
    ),
]


@pytest.mark.parametrize(("keys", "problem"), BAD)
def test_wrong_keys_are_reported(tmp_path, keys, problem):
    text = disc() + table("signal", name="x", **WAVE)
    text += table("controller", name="y", inputs=["x"], **keys)
    with pytest.raises(PysimError) as caught:
        scene_of(tmp_path, text + simulation())
    assert problem in str(caught.value)
