"""Warnings of linear systems about states that are no equilibrium.

Oracles: the accelerations of free fall and of a pendulum, and states of rest and of steady motion, which have none.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pysim

ARM = 0.5  # [m]


def pendulum(**settings):
    b = pysim.SceneBuilder("pendulum")
    b.body("bob", mass=2.0, com=[0, 0, -ARM])
    b.joint("hinge", "revolute", axis=[0, 1, 0], child="bob", damping=0.1)
    b.signal("push", "input", unit="N·m")
    b.actuator("hinge", type="force", command="push")
    if settings:
        b.simulation(**settings)
    return b.build()


def quiet(call, *arguments, **keys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call(*arguments, **keys)


@pytest.mark.parametrize("angle", [0.2, -1.0])
def test_the_largest_acceleration_off_equilibrium_is_reported_with_its_coordinate(angle):
    a = -9.81 / ARM * np.sin(angle)
    text = (
        rf"linearize: the state is no equilibrium: 'hinge' accelerates by {a:.3g} rad/s², .*; take"
    )
    with pytest.warns(pysim.PysimWarning, match=text):
        system = pysim.linearize(pendulum(), state=([angle], [0.0]))
    assert system.largest_acceleration == ("hinge", pytest.approx(a, rel=1e-9), "rad/s²")
    with pytest.warns(pysim.PysimWarning, match=text.replace("linearize", "lqr")):
        pysim.lqr(system, 1.0, 1.0)


def test_a_system_of_steps_reports_the_acceleration_of_a_step():
    with pytest.warns(pysim.PysimWarning, match="'hinge' accelerates by -3.9 rad/s²"):
        pysim.linearize(pendulum(step=1e-4, duration=1.0), state=([0.2], [0.0]), period=1e-4)


@pytest.mark.parametrize("angle", [0.0, np.pi])
@pytest.mark.parametrize("period", [None, 0.01])
def test_rest_below_and_above_is_silent(angle, period):
    system = quiet(pysim.linearize, pendulum(), state=([angle], [0.0]), period=period)
    quiet(pysim.lqr, system, 1.0, 1.0)


def test_inputs_that_hold_a_state_make_it_an_equilibrium():
    torque = 2 * 9.81 * ARM * np.sin(0.2)
    system = quiet(pysim.linearize, pendulum(), {"push": torque}, state=([0.2], [0.0]))
    assert abs(system.largest_acceleration[1]) < 1e-12


def test_steady_motion_is_silent():
    b = pysim.SceneBuilder("wheel", gravity=[0, 0, 0])
    b.body("wheel", mass=1.0, inertia={"xx": 1, "yy": 2, "zz": 1})
    b.joint("axle", "revolute", axis=[0, 1, 0], child="wheel")
    quiet(pysim.linearize, b.build(), state=([0.3], [5.0]))


def test_a_robot_in_the_air_falls():
    b = pysim.SceneBuilder("robot")
    b.body("trunk", mass=3.0, inertia={"xx": 1, "yy": 1, "zz": 1})
    b.joint("free", "free", child="trunk")
    with pytest.warns(pysim.PysimWarning, match=r"'free.vz' accelerates by -9.81 m/s²"):
        pysim.linearize(b.build())
