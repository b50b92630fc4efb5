"""Warnings about steps that controllers make too long, before a run.

Oracles: the real stability interval of rk4 (2.785/|s|), and runs with the step that the warning names.
"""

from __future__ import annotations

import contextlib
import re
import warnings

import numpy as np
import pytest
from scipy.linalg import expm

import pysim
from pysim.diagnosis.sampled_stability import exponential, stable_share
from pysim.diagnosis.stability import step_bounds
from tests.elements.blocks import constant, disc, motor, scene_of, simulation, table

RK4 = 2.785293563405282  # largest stable decay times step


def pd(**keys):
    inputs = ["target", "angle.q", "angle.v"]
    control = table("controller", name="pd", type="pd", inputs=inputs, **keys)
    return constant("target", 0.8, "rad") + control + motor("pd")


def warnings_of(scene):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with contextlib.suppress(pysim.SimulationError):
            pysim.simulate(scene)
    return [str(found.message) for found in caught]


def test_a_gain_that_makes_the_step_unstable_is_reported_with_the_step_that_would_do(tmp_path):
    """kd/I = 5000 1/s: rk4 is stable up to 2.785/5000 s."""
    scene = scene_of(tmp_path, disc(0.1) + pd(kp=1.0, kd=500.0) + simulation("rk4"))
    (text,) = [x for x in warnings_of(scene) if "stable" in x]
    assert text == (
        "simulation.step is 0.001 [s], beyond the 0.000557 [s] for which rk4 is stable at the start, because of the "
        "control of joint 'hinge' by 'motor'; take 0.00045 or less, or smaller gains"
    )
    wanted = float(re.search(r"take (\S+) or less", text)[1])
    run = simulation("rk4", step=wanted)
    quiet = scene_of(tmp_path, disc(0.1) + pd(kp=1.0, kd=500.0) + run)
    assert warnings_of(quiet) == []
    np.testing.assert_allclose(step_bounds(scene).stable, RK4 / 5000, rtol=1e-3)


def test_a_joint_that_is_stiff_without_control_is_named_alone(tmp_path):
    text = disc(0.1, damping=500.0) + pd(kp=1.0, kd=1.0) + simulation("rk4")
    (found,) = [x for x in warnings_of(scene_of(tmp_path, text)) if "stable" in x]
    assert "because of joint 'hinge'; take" in found


def test_a_fast_state_of_an_element_is_named(tmp_path):
    """The winding decays with R/L = 1e5 1/s."""
    keys = {"resistance": 1.0, "inductance": 1e-5, "constant": 0.05, "command": "volts"}
    text = disc(0.1) + constant("volts", 5.0, "V")
    text += table("actuator", name="drive", type="dc_motor", joint="hinge", **keys)
    scene = scene_of(tmp_path, text + simulation("rk4"))
    (found,) = [x for x in warnings_of(scene) if "stable" in x]
    assert "because of the state 'drive.current'; take" in found
    np.testing.assert_allclose(step_bounds(scene).stable, RK4 / 1e5, rtol=1e-6)
    implicit = simulation("generalized_alpha", spectral_radius=0.5)
    assert warnings_of(scene_of(tmp_path, text + implicit)) == []


def test_a_period_shorter_than_the_step_is_reported(tmp_path):
    text = disc(0.1) + pd(kp=1.0, kd=0.1, period=5e-4)
    (found,) = warnings_of(scene_of(tmp_path, text + simulation("rk4")))
    assert found == (
        "the period of 'pd', 0.0005 [s], is shorter than simulation.step, 0.001 [s]: every step is cut at its "
        "instants; take a step of 0.0005 or less, or a longer period"
    )


@pytest.mark.parametrize("period", [1e-3, 2e-3])
def test_periods_of_a_step_or_more_are_not_reported(tmp_path, period):
    text = disc(0.1) + pd(kp=1.0, kd=0.1, period=period)
    assert warnings_of(scene_of(tmp_path, text + simulation("rk4"))) == []
    assert warnings_of(scene_of(tmp_path, text + simulation())) == []


def test_a_gain_that_a_period_makes_unstable_is_reported_with_the_period_that_would_do(tmp_path):
    """Sampled damping is v ← (1 − kd T / I) v: stable up to T = 2 I / kd = 40 ms."""
    text = disc(0.1) + pd(kp=0.0, kd=5.0, period=0.05)
    scene = scene_of(tmp_path, text + simulation("rk4", duration=2.0))
    (text,) = warnings_of(scene)
    assert text == (
        "the control of joint 'hinge' by 'pd' is unstable with a period of 0.05 [s] at the start; "
        "take 0.032 or less, or smaller gains"
    )
    share, joint = stable_share(scene)
    assert share * 0.05 == pytest.approx(0.04, rel=3e-3)
    assert joint == "hinge"


@pytest.mark.parametrize("scheme", ["rk4", "generalized_alpha", "dopri5", "convex"])
def test_the_period_of_sampled_control_is_judged_in_every_scheme(tmp_path, scheme):
    """q̈ = −(kp q + kd v) / I, held for T: runs at 0.98 and 1.02 of the stable period fall and grow."""
    gains = {"kp": 50.0, "kd": 2.0}
    scene = scene_of(tmp_path, disc(0.1) + pd(period=0.1, **gains) + simulation(scheme))
    share, _ = stable_share(scene)
    for factor, grows in ((0.98, False), (1.02, True)):
        period = factor * share * 0.1
        text = disc(0.1, v=1.0) + pd(period=period, **gains)
        run = simulation("rk4", step=period / 4, duration=300 * period, interval=period)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pysim.PysimWarning)
            v = pysim.simulate(scene_of(tmp_path, text + run)).v[:, 0]
        assert (np.abs(v[-30:]).max() > np.abs(v[60:90]).max()) == grows


def test_control_of_several_periods_is_judged_together(tmp_path):
    """A sensor at 10 ms delays the damping of a controller at 20 ms, which reads its held rate."""
    text = disc(0.1) + table(
        "sensor", name="slow", type="coordinates", coordinates=["hinge"], period=0.01
    )
    control = pd(kp=0.0, kd=12.0, period=0.02).replace("angle.", "slow.")
    scene = scene_of(tmp_path, text + control + simulation("rk4", duration=0.5))
    (found,) = warnings_of(scene)
    assert found.startswith(
        "the control of joint 'hinge' by 'pd' is unstable with a period of 0.02 [s]"
    )
    assert stable_share(scene)[0] * 0.02 == pytest.approx(2 * 0.1 / 12.0, rel=3e-3)


def test_periods_that_do_not_repeat_together_are_not_judged(tmp_path):
    """The instants of 50 ms and of 10 π ms coincide at the start alone."""
    text = disc(0.1) + table(
        "sensor", name="slow", type="coordinates", coordinates=["hinge"], period=0.01 * np.pi
    )
    control = pd(kp=0.0, kd=50.0, period=0.05)
    scene = scene_of(tmp_path, text + control + simulation("rk4"))
    assert stable_share(scene) is None
    alone = scene_of(tmp_path, disc(0.1) + control + simulation("rk4"))
    assert stable_share(alone) is not None


def test_control_that_no_period_makes_stable_is_not_reported(tmp_path):
    """A controller that pushes away from its target grows with every period; one without damping does, slowly."""
    for kp in (-5.0, 5.0):
        text = disc(0.1) + pd(kp=kp, kd=0.0, period=0.01)
        assert stable_share(scene_of(tmp_path, text + simulation("rk4"))) is None


def falling_rod():
    """A rod of 0.35 kg·m² that falls over beside a disc, pushed by a load instead of gravity."""
    at = {"xyz": [1, 0, 0]}
    inertia = {"xx": 0.1, "yy": 0.1, "zz": 0.1}
    text = table("body", name="rod", mass=1.0, com=[0.5, 0, 0], inertia=inertia)
    text += table("joint", name="foot", type="revolute", child="rod", at=at)
    return text + table(
        "force", name="load", type="coordinate_spring", coordinates=["foot"], stiffness=-6.8
    )


@pytest.mark.parametrize("period", [2e-3, 0.01, 0.03, 0.1])
def test_a_body_that_falls_over_is_not_blamed_on_a_sampled_sensor(tmp_path, period):
    text = disc(0.1) + falling_rod()
    text += table("sensor", name="feet", type="coordinates", coordinates=["foot"], period=period)
    assert warnings_of(scene_of(tmp_path, text + simulation("rk4"))) == []


def test_a_gain_is_judged_beside_a_body_that_falls_over(tmp_path):
    """The bound of the damping alone is 2 I / kd = 40 ms; at 44 ms it grows as fast as the rod falls."""
    text = disc(0.1) + falling_rod() + pd(kp=0.0, kd=5.0, period=0.05)
    scene = scene_of(tmp_path, text + simulation("rk4", duration=2.0))
    (found,) = warnings_of(scene)
    assert found.startswith("the control of joint 'hinge' by 'pd' is unstable with a period of")
    share, _ = stable_share(scene)
    rate = np.log(5.0 * share * 0.05 / 0.1 - 1) / (share * 0.05)
    assert rate == pytest.approx(np.sqrt(6.8 / 0.35), rel=0.01)


def test_the_exponential_of_a_matrix_is_that_of_scipy():
    rng = np.random.default_rng(5)
    for size, scale in ((1, 1.0), (4, 0.01), (6, 30.0)):
        A = scale * rng.standard_normal((size, size))
        expected = expm(A)
        error = np.abs(exponential(A) - expected).max()
        assert error < 1e-11 * np.abs(expected).max()
