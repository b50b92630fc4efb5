"""Signals in runs, files and rollouts. Oracles: runs of one world, closed forms, the reference cases."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.controllers import Controller, controller, real, signal
from pysim.errors import SceneError
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


def pd(inputs=("target", "angle.q", "angle.v"), **keys):
    return table("controller", name="pd", type="pd", inputs=inputs, **keys)


HELD = disc(damping=0.02, v=1.0) + constant("target", 0.8, "rad") + motor("pd")


def test_pd_control_of_a_hinge_is_a_damped_oscillation(tmp_path):
    case = Case("position_servo")
    s = case.setup
    text = (
        disc(
            s["inertia_kg_m2"],
            s["viscous_friction_N_m_s_rad"],
            s["start_q_rad"],
            s["start_v_rad_s"],
        )
        + constant("target", s["target"], "rad")
        + pd(kp=s["kp_N_m_rad"], kd=s["kd_N_m_s_rad"])
        + motor("pd")
        + load(s["constant_load_torque_N_m"])
    )
    whole, rows = run_at(tmp_path, text, case.at("q, v"))
    case.agrees("q, v", states(whole, rows))
    case.agrees("servo torque", whole.signals["pd"][rows])


@pytest.mark.parametrize("integrator", FIXED)
@pytest.mark.parametrize("period", [None, 4e-3])
def test_a_rollout_has_the_bits_of_the_run_alone(tmp_path, integrator, period):
    sampled = {} if period is None else {"period": period}
    text = HELD + pd(kp=5.0, kd=0.3, **sampled)
    scene = scene_of(tmp_path, text + simulation(integrator, duration=0.05, interval=0.01))
    alone = pysim.simulate(scene)
    v0 = np.linspace(0.5, 1.5, 11)[:, None]
    v0[4] = 1.0
    for threads in (1, 2):
        many = pysim.rollout(scene, np.zeros((11, 1)), v0, signals=["pd"], threads=threads)
        np.testing.assert_array_equal(many.q[4], alone.q)
        np.testing.assert_array_equal(many.v[4], alone.v)
        np.testing.assert_array_equal(many.signals["pd"][4], alone.signals["pd"])


def test_a_rollout_continues_from_its_state(tmp_path):
    text = HELD + pd(kp=5.0, kd=0.3, period=4e-3)
    scene = scene_of(tmp_path, text + simulation("rk4", duration=0.08, interval=0.02))
    whole = pysim.rollout(scene, steps=80, every=20, step=1e-3)
    first = pysim.rollout(scene, steps=40, every=20, step=1e-3)
    last = (first.q[-1], first.v[-1])
    second = pysim.rollout(scene, *last, steps=40, every=20, step=1e-3, state=first.state)
    np.testing.assert_allclose(second.q[-1], whole.q[-1], rtol=1e-13)
    np.testing.assert_allclose(second.v[-1], whole.v[-1], rtol=1e-13)


def test_a_trajectory_file_holds_signals_with_units(tmp_path):
    text = HELD + pd(kp=5.0, kd=0.3)
    scene = scene_of(tmp_path, text + simulation("rk4", duration=0.05, interval=0.01))
    run = pysim.simulate(scene, tmp_path / "run.h5")
    read = pysim.load_trajectory(tmp_path / "run.h5")
    assert read.header.signal_names == ("target", "angle.q", "angle.v", "pd", "effort.hinge")
    assert read.header.signal_units == ("rad", "rad", "rad/s", "N·m", "N·m")
    for name, values in run.signals.items():
        np.testing.assert_array_equal(read.signals[name], values)


@pytest.mark.parametrize("integrator", [*FIXED[2:], "dopri5"])
def test_a_sampled_pd_holds_its_force_between_instants(tmp_path, integrator):
    case = Case("pd_sampled")
    s = case.setup
    text = (
        mass(s["mass_kg"], s["start_x_m"], s["start_v_m_s"])
        + constant("target", 0.0, "m")
        + pd(
            ("target", "place.q", "place.v"),
            kp=s["kp_N_m"],
            kd=s["kd_N_s_m"],
            period=s["period_s"],
        )
        + motor("pd", "x")
    )
    times = s["period_s"] * case.at("x, v at samples")[1:]
    whole, rows = run_at(tmp_path, text, times, integrator=integrator)
    case.agrees("x, v at samples", states(whole, [0, *rows]))
    case.agrees("held force at samples", whole.signals["pd"][[0, *rows[:-1]]])
    whole, rows = run_at(tmp_path, text, case.at("x, v between samples"), integrator=integrator)
    case.agrees("x, v between samples", states(whole, rows))


def test_blocks_of_one_instant_run_in_the_order_of_the_graph(tmp_path):
    """The second of two chained sampled blocks, first in the file, reads what the other has just computed."""
    follow = {"type": "pd", "kp": -1.0, "period": 0.1}
    text = (
        mass(1.0, 0.25, 1.0)
        + constant("zero", 0.0)
        + table("controller", name="second", inputs=["zero", "first", "zero"], **follow)
        + table("controller", name="first", inputs=["zero", "place.q", "zero"], **follow)
    )
    whole = pysim.simulate(scene_of(tmp_path, text + simulation("rk4", duration=0.5)))
    np.testing.assert_allclose(whole.signals["first"], whole.q[:, 0], rtol=1e-14)
    np.testing.assert_array_equal(whole.signals["second"], whole.signals["first"])


@controller("test_counter")
class Counter(Controller):
    """Number of instants so far, and the input at the last one."""

    inputs = signal("x", unit="")
    outputs = signal("count") * signal("last", unit="")
    memory = real("number") * real("read")

    def update(self, memory, inputs):
        return memory.number + 1.0, inputs.x

    def output(self, t, memory):
        return memory.number, memory.read


def counter(**keys):
    return table("controller", name="counter", type="test_counter", inputs=["angle.q"], **keys)


def test_a_method_that_names_memory_receives_all_its_parts(tmp_path):
    scene = scene_of(tmp_path, disc(v=1.0) + counter(period=0.02) + simulation(duration=0.1))
    run = pysim.simulate(scene)
    assert run.signals["counter.count"][-1] == 5  # the instants before the one at 0.1 s
    np.testing.assert_allclose(run.signals["counter.last"][-1], 0.08, rtol=1e-12)


def test_memory_without_instants_is_reported_with_its_parts(tmp_path):
    with pytest.raises(SceneError) as caught:
        scene_of(tmp_path, disc() + counter() + simulation())
    problem = "has the memory 'number', 'read', which changes at instants; give it a period [s]"
    assert str(caught.value).endswith(problem)


@controller("test_one_name")
class OneName(Counter):
    """A memory that has the name of an output."""

    memory = real("count") * real("read")

    def update(self, memory, inputs):
        return memory.count, inputs.x

    def output(self, t, memory):
        return memory.count, memory.read


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            table("controller", name="c", type="test_one_name", inputs=["angle.q"], period=0.02),
            "a state of controller 'c' is recorded as 'c.count', as is an output of controller 'c'; rename one",
        ),
        (
            constant("angle.v", 1.0, "rad"),
            "an output of sensor 'angle' is recorded as 'angle.v', as is an output of signal 'angle.v'; rename one",
        ),
    ],
)
def test_two_recorded_signals_of_one_name_are_rejected(tmp_path, text, problem):
    with pytest.raises(SceneError) as caught:
        scene_of(tmp_path, disc() + text + simulation())
    assert str(caught.value).endswith(problem)
