"""Controllers and actuators of the library. Oracles: the closed forms and programs of tests/data/reference/elements."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from tests.elements.blocks import (
    arm,
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
from tests.scheme_numbers import numbers_of_state

ARM = ["arm.q", "arm.v"]


def joints(command):
    return table("actuator", name="motors", type="force", coordinates=["q1", "q2"], command=command)


def servo_disc(s):
    return disc(
        s["inertia_kg_m2"], s["viscous_friction_N_m_s_rad"], s["start_q_rad"], s["start_v_rad_s"]
    ) + load(s["constant_load_torque_N_m"])


def test_a_position_servo(tmp_path):
    case = Case("position_servo")
    s = case.setup
    servo = table(
        "actuator",
        name="servo",
        type="position_servo",
        joint="hinge",
        command="target",
        kp=s["kp_N_m_rad"],
        kd=s["kd_N_m_s_rad"],
    )
    text = servo_disc(s) + constant("target", s["target"], "rad") + servo
    whole, rows = run_at(tmp_path, text, case.at("q, v"))
    case.agrees("q, v", states(whole, rows))
    case.agrees("servo torque", whole.signals["effort.hinge"][rows])


def test_a_velocity_servo(tmp_path):
    case = Case("velocity_servo")
    s = case.setup
    servo = table(
        "actuator",
        name="servo",
        type="velocity_servo",
        joint="hinge",
        command="target",
        kd=s["kd_N_m_s_rad"],
    )
    text = servo_disc(s) + constant("target", s["target"], "rad/s") + servo
    whole, rows = run_at(tmp_path, text, case.at("q, v"))
    case.agrees("q, v", states(whole, rows))
    case.agrees("servo torque", whole.signals["effort.hinge"][rows])


def pid(s, reference, gains, **keys):
    inputs = ["target", "place.q" if "mass_kg" in s else "angle.q"]
    return constant("target", reference) + table(
        "controller", name="pid", type="pid", inputs=inputs, **gains, **keys
    )


def test_pid_control_with_a_filtered_derivative(tmp_path):
    case = Case("pid_step")
    s = case.setup
    gains = {"kp": s["kp_N_m"], "ki": s["ki_N_m_s"], "kd": s["kd_N_s_m"]}
    text = mass(s["mass_kg"]) + pid(s, s["setpoint_m"], gains, filter=s["derivative_filter_rad_s"])
    text += motor("pid", "x") + load(s["constant_disturbance_N"], "x")
    whole, rows = run_at(tmp_path, text, case.at("x, v"))
    x = np.hstack([states(whole, rows), whole.signals["pid.integral"][rows, None]])
    x = np.hstack([x, whole.signals["pid.filtered"][rows, None]])
    case.agrees("x, v", x)
    case.agrees("u", whole.signals["pid"][rows])


def test_pid_control_with_anti_windup(tmp_path):
    case = Case("pid_antiwindup")
    s = case.setup
    gains = {"kp": s["kp"], "ki": s["ki"], "kd": s["kd"]}
    keys = {
        "filter": s["derivative_filter_rad_s"],
        "limit": s["effort_limit_N_m"],
        "back_calculation": s["back_calculation_gain"],
    }
    text = disc(s["inertia_kg_m2"]) + pid(s, s["setpoint_rad"], gains, **keys) + motor("pid")
    whole, rows = run_at(tmp_path, text, case.at("q, w"))
    x = np.hstack([states(whole, rows), whole.signals["pid.integral"][rows, None]])
    x = np.hstack([x, whole.signals["pid.filtered"][rows, None]])
    case.agrees("q, w", x)
    case.agrees("torque", whole.signals["pid"][rows])


def test_the_filter_of_a_pid_starts_at_the_measurement(tmp_path):
    text = disc(q=0.7) + pid({}, 0.7, {"kp": 3.0, "kd": 2.0}) + motor("pid")
    whole = pysim.simulate(scene_of(tmp_path, text + simulation("rk4", duration=0.1)))
    np.testing.assert_allclose(whole.q, 0.7, rtol=1e-14)


DC_MOTOR = {"dc_motor": "dopri5", "dc_motor_stiff": "generalized_alpha"}


def dc_motor(s):
    return (
        disc(s["load_inertia_kg_m2"], s["viscous_friction_at_joint_N_m_s_rad"])
        + load(s["constant_load_torque_N_m"])
        + constant("voltage", s["voltage_V"], "V")
        + table(
            "actuator",
            name="motor",
            type="dc_motor",
            joint="hinge",
            command="voltage",
            resistance=s["R_ohm"],
            inductance=s["L_H"],
            constant=s["k_N_m_A"],
            gear=s["gear"],
            rotor_inertia=s["rotor_inertia_kg_m2"],
        )
    )


def test_a_dc_motor_runs_up(tmp_path):
    case = Case("dc_motor")
    whole, rows = run_at(tmp_path, dc_motor(case.setup), case.at("q, w, i"))
    current = whole.signals["motor.current"][rows, None]
    case.agrees("q, w, i", np.hstack([states(whole, rows), current]))


@pytest.mark.parametrize("integrator", ["implicit_midpoint", "generalized_alpha"])
def test_a_stiff_winding_is_stable_in_implicit_schemes(tmp_path, integrator):
    """L/R is 1e-5 s and the step 1 ms: after the transient the speed is that of the closed form."""
    case = Case("dc_motor_stiff")
    expected = case.expected("q, w, i")
    text = dc_motor(case.setup) + simulation(integrator, duration=1.0, interval=0.1)
    scene = scene_of(tmp_path, text)
    run = pysim.rollout(scene)
    at = case.at("q, w, i")
    np.testing.assert_allclose(run.v[-1, 0], expected["value"][np.argmax(at)][1], rtol=1e-4)
    iterations = numbers_of_state(scene, run.state)[0, 0]
    assert 1000 <= iterations <= 3 * 1000


def test_gravity_compensation(tmp_path):
    case = Case("gravity_compensation")
    s = case.setup
    text = arm(s, s["start_q_rad"], s["start_v_rad_s"]).replace(
        'type = "revolute"', f'type = "revolute"\ndamping = {s["kd_N_m_s_rad"]}'
    )
    text += table("controller", name="hold", type="gravity_compensation") + joints("hold")
    whole, rows = run_at(tmp_path, text, case.at("q, v"))
    case.agrees("q, v", states(whole, rows))


def references(s):
    sine = {"type": "sine", "frequency": 2 * np.pi * 0.6, "unit": "rad"}
    return table("signal", name="r", amplitude=s["amplitude_rad"], **sine)


def computed_torque(s, **keys):
    omega, zeta = s["natural_frequency_rad_s"], s["damping_ratio"]
    return table(
        "controller",
        name="ct",
        type="computed_torque",
        inputs=["r", "r.rate", "r.acceleration", *ARM],
        kp=omega**2,
        kd=2 * zeta * omega,
        **keys,
    )


def test_computed_torque(tmp_path):
    case = Case("computed_torque")
    s = case.setup
    rate = 2 * np.pi * 0.6 * np.array(s["amplitude_rad"])
    q = -np.array(s["start_error_rad"])
    v = rate - np.array(s["start_error_rate_rad_s"])
    text = arm(s, q, v) + references(s) + computed_torque(s) + joints("ct")
    whole, rows = run_at(tmp_path, text, case.at("q, v"))
    case.agrees("q, v", states(whole, rows))
    case.agrees("error e", whole.signals["r"][rows] - whole.q[rows])
    case.agrees("torques", whole.signals["ct"][rows])


@pytest.mark.parametrize("name", ["trajectory_follower", "trajectory_feedforward"])
def test_a_joint_follows_a_trajectory(tmp_path, name):
    case = Case(name)
    s = case.setup
    ahead = name == "trajectory_feedforward"
    text = disc(s["inertia_kg_m2"], s["viscous_friction_N_m_s_rad"], q=0.05)
    text += table(
        "signal",
        name="r",
        type="spline",
        t=s["waypoints_t_s"],
        values=s["waypoints_q_rad"],
        interpolation="clamped",
        outside="hold",
        unit="rad",
    )
    text += table(
        "controller",
        name="follow",
        type="trajectory_follower",
        inputs=["r", "r.rate", "r.acceleration", "angle.q", "angle.v"],
        kp=s["kp"],
        kd=s["kd"],
        inertia=s["inertia_kg_m2"] if ahead else 0.0,
        damping=s["viscous_friction_N_m_s_rad"] if ahead else 0.0,
    )
    whole, rows = run_at(tmp_path, text + motor("follow"), case.at("q, v"))
    case.agrees("q, v", states(whole, rows))
    case.agrees("error", (whole.signals["r"] - whole.q[:, 0])[rows])


def cart_pole(s):
    x, angle, _, _ = s["start"]
    I = s["pole_inertia_com_kg_m2"]
    return (
        f"gravity = [0, 0, {-s['gravity_m_s2']}]\n"
        + table("body", name="cart", mass=s["cart_kg"], inertia={"xx": 1, "yy": 1, "zz": 1})
        + table(
            "body",
            name="pole",
            mass=s["pole_kg"],
            com=[0, 0, s["com_distance_m"]],
            inertia={"xx": I, "yy": I, "zz": I},
        )
        + table(
            "joint",
            name="x",
            type="prismatic",
            axis=[1, 0, 0],
            child="cart",
            damping=s["cart_friction_N_s_m"],
            start={"q": x},
        )
        + table(
            "joint",
            name="pole",
            type="revolute",
            axis=[0, 1, 0],
            parent="cart",
            child="pole",
            start={"q": angle},
        )
        + table("sensor", name="state", type="coordinates", coordinates=["x", "pole"])
    )


@pytest.mark.parametrize("period", [None, 0.02])
def test_state_feedback_holds_a_pole_upright(tmp_path, period):
    case = Case("lqr_cart_pole")
    gain = case.expected("K, discrete" if period else "K (u")["value"]
    quantity = "nonlinear response with the discrete" if period else "nonlinear response with cont"
    keys = {} if period is None else {"period": period}
    text = cart_pole(case.setup) + table(
        "controller",
        name="lqr",
        type="state_feedback",
        inputs=["state.q", "state.v"],
        gain=np.reshape(gain, (1, 4)).tolist(),
        **keys,
    )
    whole, rows = run_at(tmp_path, text + motor("lqr", "x"), case.at(quantity))
    case.agrees(quantity, states(whole, rows))


def test_state_feedback_of_one_coordinate_is_a_pd_controller(tmp_path):
    start = disc(0.1, 0.02, 0.4, -1.0) + simulation(duration=0.2, step=1e-3)
    keys = {"pd": {"inputs": ["home", "angle.q", "angle.v"], "kp": 3.0, "kd": 0.2}}
    keys["state_feedback"] = {
        "inputs": ["angle.q", "angle.v"],
        "gain": [[3.0, 0.2]],
        "target": [0.1, 0],
    }
    ends = []
    for kind, own in keys.items():
        controller = table("controller", name="hold", type=kind, **own)
        text = start + constant("home", 0.1, "rad") + controller + motor("hold")
        run = pysim.simulate(scene_of(tmp_path, text))
        ends.append(np.column_stack([run.q, run.v]))
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-13)


def test_a_state_of_a_block_is_a_signal_that_others_read(tmp_path):
    """The current of a motor, read by a sampled sensor, is the recorded one."""
    text = disc(damping=0.1) + constant("voltage", 2.0, "V")
    text += table(
        "actuator",
        name="motor",
        type="dc_motor",
        joint="hinge",
        command="voltage",
        resistance=1.0,
        inductance=0.05,
        constant=0.3,
    )
    text += table(
        "sensor", name="seen", type="noisy", inputs=["motor.current"], deviation=0, period=0.1
    )
    run = pysim.simulate(scene_of(tmp_path, text + simulation("rk4", interval=0.1)))
    current = run.signals["motor.current"]
    assert current.max() > 0.5
    np.testing.assert_array_equal(run.signals["seen"], current)


@pytest.mark.parametrize(
    ("stiffness", "expected"),
    [
        ([[3.0, 0.5], [0.4, 2.0]], "stiffness: must be symmetric"),
        ([[3.0, 0.5]], "stiffness: must have 2 rows of 2 numbers, got 1 row; write 2"),
        ([[3.0], [0.5]], "stiffness: row 1 has 1 number, and must have 2, one for each number"),
    ],
)
def test_a_wrong_matrix_of_an_impedance_is_rejected(tmp_path, stiffness, expected):
    s = Case("impedance").setup
    text = arm(s, [0.0, 0.0], [0.0, 0.0]) + constant("aim", [0.0, 0.0], "rad")
    text += table(
        "controller", name="c", type="impedance", inputs=["aim", *ARM], stiffness=stiffness
    )
    with pytest.raises(pysim.SceneError) as found:
        scene_of(tmp_path, text)
    assert expected in str(found.value)
