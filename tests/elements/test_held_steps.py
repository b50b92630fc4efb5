"""Sampled blocks with states, loops and chains of blocks, and where they start.

Oracles: closed forms of linear systems whose input is held; fixed points of loops.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.signal import cont2discrete

import pysim
from tests.elements.blocks import constant, disc, scene_of, simulation, table

PERIOD = 0.02  # [s]


def run_of(folder: Path, text: str, *, duration: float = 0.4) -> dict[str, np.ndarray]:
    run = simulation("rk4", step=1e-2, duration=duration, interval=PERIOD)
    return dict(pysim.simulate(scene_of(folder, disc() + text + run)).signals)


def stepped(unit: str = "1", after: float = 2.0) -> str:
    return table("signal", name="x", type="step", time=0.05, before=0.5, after=after, unit=unit)


@pytest.mark.parametrize("T", [0.005, 0.02, 0.3])
def test_a_sampled_low_pass_is_exact_for_a_held_input(tmp_path: Path, T: float) -> None:
    text = stepped() + table(
        "controller", name="y", type="low_pass", inputs=["x"], time_constant=T, period=PERIOD
    )
    found = run_of(tmp_path, text)
    y = 0.5
    for x, own in zip(found["x"], found["y"], strict=True):
        assert own == pytest.approx(y, rel=1e-12)
        y = x + (y - x) * math.exp(-PERIOD / T)


@pytest.mark.parametrize("T", [0.002, 0.05])
def test_a_sampled_rate_limiter_is_exact_for_a_held_input(tmp_path: Path, T: float) -> None:
    keys = {"rising": 20.0, "falling": 5.0, "time_constant": T, "period": PERIOD}
    text = stepped() + table("controller", name="y", type="rate_limiter", inputs=["x"], **keys)
    found = run_of(tmp_path, text)
    y = 0.5
    for x, own in zip(found["x"], found["y"], strict=True):
        assert own == pytest.approx(y, rel=1e-3)
        for _ in range(20_000):
            y += PERIOD / 20_000 * float(np.clip((x - y) / T, -5.0, 20.0))


def test_sampled_linear_systems_are_exact_for_a_held_input(tmp_path: Path) -> None:
    A, B, C = [[0.0, 1.0], [-4000.0, -90.0]], [[0.0], [4000.0]], [[1.0, 0.0]]
    text = stepped()
    text += table(
        "controller", name="s", type="state_space", inputs=["x"], A=A, B=B, C=C, period=PERIOD
    )
    keys = {"numerator": [4000.0], "denominator": [1.0, 90.0, 4000.0], "period": PERIOD}
    text += table("controller", name="g", type="transfer_function", inputs=["x"], **keys)
    found = run_of(tmp_path, text)
    system = np.array(A), np.array(B), np.array(C), np.zeros((1, 1))
    Ad, Bd, *_ = cont2discrete(system, PERIOD)
    z = np.zeros(2)
    for x, one, other in zip(found["x"], found["s"], found["g"], strict=True):
        np.testing.assert_allclose([*np.ravel(one), other], z[0], rtol=1e-9, atol=1e-12)
        z = Ad @ z + Bd[:, 0] * x


@pytest.mark.parametrize(
    "keys", [{"ki": 4.0}, {"ki": 40.0, "limit": 1.0, "back_calculation": 30.0}]
)
def test_a_sampled_pid_with_a_fast_filter_stays_bounded(
    tmp_path: Path, keys: dict[str, Any]
) -> None:
    text = stepped("rad") + table(
        "controller",
        name="u",
        type="pid",
        inputs=["x", "angle.q"],
        kp=0.1,
        kd=0.2,
        filter=500.0,
        period=PERIOD,
        **keys,
    )
    found = run_of(tmp_path, text, duration=2.0)
    assert np.abs(found["u"]).max() < 20.0
    if "limit" not in keys:  # the integral of held errors
        steps = np.cumsum(found["x"]) * PERIOD
        np.testing.assert_allclose(
            np.diff(found["u"]),
            4.0 * np.diff(steps - found["x"] * PERIOD) + 0.1 * np.diff(found["x"]),
            atol=1e-9,
        )


@pytest.mark.parametrize("period", [{}, {"period": PERIOD}])
@pytest.mark.parametrize("first", ["y", "x"])
@pytest.mark.parametrize("listed", [1, -1])
def test_a_low_pass_in_feedback_starts_where_its_input_is_its_output(
    tmp_path: Path, period: dict[str, float], first: str, listed: int
) -> None:
    inputs = ["y", "x"] if first == "y" else ["x", "y"]
    weights = [-3.0, 1.0] if first == "y" else [1.0, -3.0]
    blocks = [
        table("controller", name="e", type="sum", inputs=inputs, weights=weights),
        table("controller", name="y", type="low_pass", inputs=["e"], time_constant=0.1, **period),
    ]
    found = run_of(tmp_path, constant("x", 2.0) + "".join(blocks[::listed]))
    np.testing.assert_allclose(found["y"], 0.5, rtol=1e-12)  # y = 2 − 3 y
    np.testing.assert_allclose(found["e"], 0.5, rtol=1e-12)


@pytest.mark.parametrize("listed", [1, -1])
def test_filters_of_filters_and_of_sampled_signals_start_at_their_inputs(
    tmp_path: Path, listed: int
) -> None:
    blocks = [
        table("controller", name="g", type="gain", inputs=["x"], gain=3.0, period=PERIOD),
        table("controller", name="a", type="low_pass", inputs=["g"], time_constant=0.1),
        table("controller", name="b", type="low_pass", inputs=["a"], time_constant=0.2),
        table("controller", name="c", type="rate_limiter", inputs=["b"], rising=1.0, period=PERIOD),
        table("controller", name="d", type="delay", inputs=["c"], periods=2, period=PERIOD),
    ]
    found = run_of(tmp_path, constant("x", 2.0) + "".join(blocks[::listed]))
    for name in "gabcd":
        np.testing.assert_allclose(found[name], 6.0, rtol=1e-9, err_msg=name)


def test_starts_of_loops_differ_from_world_to_world(tmp_path: Path) -> None:
    text = constant("half", 0.5, "rad") + table(
        "controller", name="e", type="sum", inputs=["y", "angle.q"], weights=[-1.0, 1.0]
    )
    text += table("controller", name="y", type="low_pass", inputs=["e"], time_constant=0.1)
    scene = scene_of(tmp_path, disc() + text + simulation("rk4"))
    q0 = np.array([[0.2], [0.6], [-1.0]])
    run = pysim.rollout(scene, q0, 0 * q0, signals=["y"])
    np.testing.assert_allclose(run.signals["y"], np.broadcast_to(q0 / 2, (3, 11)), rtol=1e-9)


@pytest.mark.parametrize("listed", [1, -1])
def test_a_long_chain_of_blocks_needs_no_deep_recursion(tmp_path: Path, listed: int) -> None:
    count = 200
    blocks = [
        table(
            "controller", name=f"b{k}", type="gain", inputs=[f"b{k - 1}" if k else "x"], gain=1.01
        )
        if k % 20
        else table(
            "controller",
            name=f"b{k}",
            type="low_pass",
            inputs=[f"b{k - 1}" if k else "x"],
            time_constant=0.1,
        )
        for k in range(count)
    ]
    found = run_of(tmp_path, constant("x", 2.0) + "".join(blocks[::listed]), duration=0.04)
    np.testing.assert_allclose(found[f"b{count - 1}"], 2 * 1.01**190, rtol=1e-9)


def test_more_filters_than_bits_of_sampled_blocks_have_initial_values(tmp_path: Path) -> None:
    blocks = [
        table("controller", name=f"b{k}", type="low_pass", inputs=["x"], time_constant=0.1)
        for k in range(80)
    ]
    found = run_of(tmp_path, constant("x", 2.0) + "".join(blocks), duration=0.04)
    assert found["b79"][0] == 2.0


def test_a_loop_without_a_state_is_still_named(tmp_path: Path) -> None:
    text = constant("x", 2.0)
    text += table("controller", name="a", type="sum", inputs=["b", "x"])
    text += table("controller", name="b", type="gain", inputs=["a"], gain=0.5)
    with pytest.raises(pysim.SceneError, match="algebraic loop a → b → a"):
        run_of(tmp_path, text)
