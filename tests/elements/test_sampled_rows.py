"""Rows between the instants of sampled blocks.

Oracles: a torque that rises steadily, read at multiples of a period and held; the closed form of a low-pass of it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from tests.elements.blocks import FIXED, disc, motor, scene_of, simulation, table

RISE = 10.0  # [N·m/s]
INERTIA = 0.1  # [kg·m²]
T = 0.05  # [s], of the low-pass
EVERY = 0.02  # [s]


def driven(integrator: str, period: float, extra: str = "") -> str:
    """A disc driven by a rising torque through a sampled gain, with sensors that follow from the torque."""
    return (
        disc(inertia=INERTIA).replace('child = "disc"', 'child = "disc"\neffort_limit = 1000.0')
        + table(
            "signal", name="ramp", type="table", t=[0.0, 9.0], values=[0.0, 9 * RISE], unit="N·m"
        )
        + table(
            "controller",
            name="held",
            type="gain",
            inputs=["ramp"],
            gain=1.0,
            unit="N·m",
            period=period,
        )
        + table("controller", name="slow", type="low_pass", inputs=["ramp"], time_constant=T)
        + table(
            "controller",
            name="slow_held",
            type="gain",
            inputs=["slow"],
            gain=1.0,
            unit="N·m",
            period=period,
        )
        + motor("held")
        + table("sensor", name="acceleration", type="acceleration", frame="disc")
        + table("sensor", name="power", type="power", element="motor")
        + extra
        + simulation(integrator, duration=0.6, interval=EVERY)
    )


def instants(t: np.ndarray, period: float) -> np.ndarray:
    """The last instant up to each time [s]."""
    return period * np.floor(t / period + 1e-9)


def slow(t: np.ndarray) -> np.ndarray:
    """The low-pass of the ramp from 0."""
    return RISE * (t - T + T * np.exp(-t / T))


EVENT = table("event", name="passing", joint="hinge", at=1e-3)


@pytest.mark.parametrize("period", [0.1, 0.07])
@pytest.mark.parametrize(
    ("integrator", "event"), [("dopri5", ""), ("dopri5", EVENT), *((name, "") for name in FIXED)]
)
def test_every_row_holds_what_was_sampled_at_the_last_instant(
    tmp_path: Path, integrator: str, event: str, period: float
) -> None:
    scene = scene_of(tmp_path, driven(integrator, period, event))
    run = pysim.simulate(scene)
    torque = RISE * instants(run.t, period)
    signals = run.signals
    for name in ("held", "effort.hinge"):
        np.testing.assert_allclose(signals[name], torque, rtol=1e-12, atol=1e-12, err_msg=name)
    np.testing.assert_allclose(run.a[:, 0], torque / INERTIA, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        signals["acceleration.angular"][:, 2], torque / INERTIA, rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(signals["power"], torque * run.v[:, 0], rtol=1e-9, atol=1e-9)
    order = {"semi_implicit": 5e-2, "rk4": 1e-9, "dopri5": 1e-9}.get(integrator, 2e-3)
    np.testing.assert_allclose(
        signals["slow_held"], slow(instants(run.t, period)), rtol=0, atol=order
    )

    own = pysim.rollout(scene, signals=["held", "slow_held", "effort.hinge"])
    for name, values in own.signals.items():
        np.testing.assert_allclose(values, signals[name], rtol=1e-12, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("integrator", ["dopri5", "rk4"])
def test_inputs_of_a_rollout_reach_a_sampled_block_at_its_next_instant(
    tmp_path: Path, integrator: str
) -> None:
    text = driven(integrator, 0.06).replace(
        'type = "table"\nt = [0.0, 9.0]\nvalues = [0.0, 90.0]', 'type = "input"'
    )
    scene = scene_of(tmp_path, text)
    controls = np.arange(30.0)[:, None]
    run = pysim.rollout(scene, controls=controls, signals=["held"])
    np.testing.assert_array_equal(run.signals["held"][:-1], 3 * np.floor(np.arange(30) / 3))
