"""Forces that depend on time or signals, and limits of actuators. Oracles: closed forms, the reference cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pysim
from pysim.cli.app import answer
from pysim.forces import Force, Signal, Wrench, force
from tests.elements.blocks import (
    FIXED,
    constant,
    disc,
    load,
    mass,
    motor,
    run_at,
    scene_of,
    simulation,
    states,
    table,
)
from tests.elements.reference_cases import Case

SPEED, TENSION = Signal["rad/s"], Signal["N"]


@force("test_rotor")
class Rotor(Force):
    """Thrust along x of frame b, of the square of a speed."""

    thrust: float  # [N/(rad/s)²]
    speed: SPEED  # type: ignore[valid-type]

    def wrench(self) -> Wrench:
        speed: Any = self.speed
        return Wrench(force=(self.thrust * speed * abs(speed), 0, 0))


@force("test_gust")
class Gust(Force):
    """Wind along x that grows with time."""

    rate: float  # [N/s]

    def wrench(self, t: Any) -> Wrench:
        return Wrench(force=(self.rate * t, 0, 0))


@force("test_pull")
class Pull(Force):
    """Tension that a signal sets."""

    command: TENSION  # type: ignore[valid-type]

    def tension(self, length: Any) -> Any:
        return self.command + 0.0 * length


@pytest.mark.parametrize("integrator", [*FIXED[2:], "dopri5"])
def test_a_force_that_grows_with_time(tmp_path, integrator):
    text = mass(2.0) + table("force", name="gust", type="test_gust", b="mass", rate=3.0)
    run = pysim.simulate(scene_of(tmp_path, text + simulation(integrator)))
    rtol = 1e-5 if integrator in FIXED else 1e-10
    np.testing.assert_allclose(run.v[1:, 0], 3.0 * run.t[1:] ** 2 / 4, rtol=rtol)


def test_a_force_reads_a_signal(tmp_path):
    text = mass(2.0) + constant("speed", 5.0, "rad/s")
    text += table("force", name="rotor", type="test_rotor", b="mass", thrust=0.04, speed="speed")
    run = pysim.simulate(scene_of(tmp_path, text + simulation()))
    np.testing.assert_allclose(run.v[:, 0], 0.5 * run.t, atol=1e-12)


def test_a_path_reads_a_signal(tmp_path):
    text = mass(2.0, q=-3.0) + constant("pull", 4.0, "N")
    path = [{"body": "world"}, {"body": "mass"}]
    text += table("force", name="rope", type="test_pull", path=path, command="pull")
    run = pysim.simulate(scene_of(tmp_path, text + simulation()))
    np.testing.assert_allclose(run.v[:, 0], 2.0 * run.t, atol=1e-12)


def test_a_signal_in_another_unit_is_rejected(tmp_path):
    text = mass(2.0) + constant("speed", 5.0, "m/s")
    text += table("force", name="rotor", type="test_rotor", b="mass", thrust=0.04, speed="speed")
    with pytest.raises(pysim.SceneError) as error:
        scene_of(tmp_path, text + simulation())
    problem = "force 'rotor': speed is in [rad/s], but 'speed' is in [m/s]"
    assert f"{problem}; connect a signal in [rad/s]" in str(error.value)


def test_an_effort_limit_bounds_the_sum_of_actuators(tmp_path):
    case = Case("effort_limit")
    s = case.setup
    text = disc(s["inertia_kg_m2"]).replace(
        'child = "disc"', f'child = "disc"\neffort_limit = {s["effort_limit_N_m"]}'
    )
    text += constant("target", s["target_rad"], "rad") + table(
        "controller",
        name="pd",
        type="pd",
        inputs=["target", "angle.q", "angle.v"],
        kp=s["kp_N_m_rad"],
        kd=s["kd_N_m_s_rad"],
    )
    whole, rows = run_at(tmp_path, text + motor("pd"), case.at("q, v"))
    case.agrees("q, v", states(whole, rows))
    case.agrees("torque", whole.signals["effort.hinge"][rows])


@pytest.mark.parametrize("typed", [True, False])
def test_a_velocity_limit_reduces_the_drive(tmp_path, typed):
    case = Case("velocity_limit")
    s = case.setup
    text = disc(s["inertia_kg_m2"], s["viscous_friction_N_m_s_rad"]).replace(
        'child = "disc"', f'child = "disc"\nvelocity_limit = {s["velocity_limit_rad_s"]}'
    )
    torque = s["commanded_torque_N_m"]
    text += constant("torque", torque, "N·m") + motor("torque") if typed else load(torque)
    keys = {"integrator": "generalized_alpha", "step": 1e-4}
    whole, rows = run_at(tmp_path, text, case.at("q, v"), **keys)
    found = np.hstack([states(whole, rows), whole.signals["effort.hinge"][rows, None]])
    np.testing.assert_allclose(found, case.expected("q, v")["value"], atol=2e-4)


def test_limits_can_be_turned_off(tmp_path):
    text = disc(0.1).replace(
        'child = "disc"', 'child = "disc"\neffort_limit = 1.0\nenforce_limits = false'
    )
    run = pysim.simulate(scene_of(tmp_path, text + load(3.0) + simulation()))
    np.testing.assert_allclose(run.v[-1, 0], 30.0, rtol=1e-9)


def test_check_names_blocks_and_the_limits_that_act(tmp_path, capsys):
    text = disc(0.1).replace('child = "disc"', 'child = "disc"\neffort_limit = 1.5')
    text += constant("torque", 3.0, "N·m") + motor("torque")
    scene_of(tmp_path, text + simulation("rk4"))
    assert answer(["check", str(tmp_path / "scene.toml")]) == 0
    shown = capsys.readouterr().out
    assert "actuator    motor: force of torque on hinge" in shown
    assert "limits      hinge: actuators are bounded by 1.5 N·m" in shown


def test_sampled_states_act_under_the_integrator_with_contacts(tmp_path):
    """A sampled PI control reaches its target against a constant load."""
    text = disc(0.1, damping=1.0) + constant("target", 0.5, "rad") + load(0.3)
    keys = {"kp": 5.0, "ki": 8.0, "kd": 0.0, "period": 2e-3}
    text += table("controller", name="pi", type="pid", inputs=["target", "angle.q"], **keys)
    text += motor("pi")
    run = pysim.simulate(scene_of(tmp_path, text + simulation("convex", duration=6.0)))
    np.testing.assert_allclose(run.q[-1, 0], 0.5, atol=1e-4)


def test_a_motor_delivers_what_its_torque_speed_curve_allows(tmp_path):
    """τ = min(5, 4 − v/3) on I = 0.1: 4 N·m below 3 rad/s, then a decay towards 12 rad/s."""
    curve = {"speed": [3.0, 12.0], "limit": [3.0, 0.0]}
    text = disc(0.1) + constant("full", 5.0, "N·m")
    text += table("actuator", name="m", type="torque_speed", joint="hinge", command="full", **curve)
    run = pysim.simulate(scene_of(tmp_path, text + simulation(duration=1.0)))
    fast = 12.0 - 9.0 * np.exp(-(run.t - 0.1) / 0.3)
    expected = np.where(run.t < 0.1, 30.0 * run.t, fast)
    np.testing.assert_allclose(run.v[:, 0], expected, atol=1e-9)
