"""Orders of the integrators with states of elements. Oracle: dopri5 at rtol 1e-12; errors over four halvings."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.controllers import Controller, controller, signal
from tests.elements.blocks import disc, scene_of, simulation, table

ORDERS = {
    "semi_implicit": 1,
    "rk2": 2,
    "rk4": 4,
    "variational": 2,
    "variational4": 4,
    "implicit_midpoint": 2,
    "generalized_alpha": 2,
}
LONGEST = {1: 2e-3, 2: 1e-2, 4: 4e-2}  # [s], by order
DURATION = 0.8


@controller("orders_amplifier")
class Amplifier(Controller):
    """Voltage of an amplifier."""

    inputs = signal("torque", unit="N·m")
    outputs = signal("volts", unit="V")

    def output(self, inputs):
        return 2.0 * inputs.torque


def motor_and_filter():
    """Return a disc under a DC motor, whose voltage is that of a PID control with a filter and an integral."""
    text = disc(0.1, damping=0.1, q=0.3, v=1.0)
    text += table("signal", name="target", type="sine", amplitude=0.8, frequency=4.0, unit="rad")
    keys = {"kp": 3.0, "ki": 2.0, "kd": 0.4, "filter": 8.0}
    text += table("controller", name="pid", type="pid", inputs=["target", "angle.q"], **keys)
    windings = {
        "resistance": 1.0,
        "inductance": 0.3,
        "constant": 0.5,
        "gear": 1.5,
        "rotor_inertia": 0.01,
    }
    text += table(
        "actuator", name="motor", type="dc_motor", joint="hinge", command="volts", **windings
    )
    return text + table("controller", name="volts", type="orders_amplifier", inputs=["pid"])


def end_of(tmp_path, integrator, **keys):
    run = simulation(integrator, duration=DURATION, interval=DURATION, **keys) + "work = false\n"
    whole = pysim.simulate(scene_of(tmp_path, motor_and_filter() + run))
    names = ("motor.current", "pid.integral", "pid.filtered")
    return np.array([whole.q[-1, 0], whole.v[-1, 0], *(whole.signals[n][-1] for n in names)])


@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")  # long steps are meant
@pytest.mark.parametrize("integrator", ORDERS)
def test_states_of_elements_keep_the_order_of_every_integrator(tmp_path, integrator):
    order = ORDERS[integrator]
    truth = end_of(tmp_path, "dopri5")
    steps = LONGEST[order] / 2.0 ** np.arange(5)
    errors = [np.abs(end_of(tmp_path, integrator, step=h) - truth).max() for h in steps.tolist()]
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(slopes[1:], order, atol=0.15)
    np.testing.assert_allclose(slopes.mean(), order, atol=0.15)
