"""Sensors. Oracles: the reference cases `imu_top` and `force_torque`, and pysim's algorithms on recorded states."""

from __future__ import annotations

import numpy as np

import pysim
from tests.elements.blocks import arm, disc, run_at, scene_of, simulation, table
from tests.elements.reference_cases import Case


def top(s, sensor):
    I = s["inertia_about_tip_kg_m2"]
    com = s["com_on_axis_m"]
    across = I["transverse"] - s["mass_kg"] * com**2
    lean = s["lean_rad"]
    return (
        f"gravity = {s['gravity_m_s2']}\n"
        + table(
            "body",
            name="top",
            mass=s["mass_kg"],
            com=[0, 0, com],
            inertia={"xx": across, "yy": across, "zz": I["axial"]},
        )
        + table(
            "joint",
            name="tip",
            type="ball",
            child="top",
            start={"rpy": [0, lean, 0], "v": s["start_angular_velocity_body_rad_s"]},
        )
        + sensor
    )


def imu(s, name, **keys):
    angle = np.array(s["imu_rotation_vector_body_from_imu_rad"])
    turn = [*(angle / np.linalg.norm(angle)).tolist(), float(np.linalg.norm(angle))]
    at = {"xyz": s["imu_position_in_body_m"], "axis_angle": turn}
    return table("sensor", name=name, type="imu", frame="top", at=at, **keys)


def test_an_imu_on_a_spinning_top(tmp_path):
    case = Case("imu_top")
    s = case.setup
    biased = imu(
        s,
        "real",
        acceleration_bias=s["accelerometer_bias_m_s2"],
        rate_bias=s["gyro_bias_rad_s"],
        acceleration_step=s["accelerometer_step_m_s2"],
        rate_step=s["gyro_step_rad_s"],
    )
    text = top(s, imu(s, "exact") + biased)
    whole, rows = run_at(tmp_path, text, case.at("specific force"))

    def readings(name):
        both = (whole.signals[f"{name}.acceleration"], whole.signals[f"{name}.rate"])
        return np.hstack(both)[rows]

    case.agrees("specific force", readings("exact"))
    case.agrees("readings", readings("real"))


def test_force_torque_sensors_at_the_joints_of_an_arm(tmp_path):
    case = Case("force_torque")
    s = case.setup
    found, accelerations = [], []
    for state, torque in zip(
        case.expected("accelerations")["at"]["q, v"], s["motor_torques_N_m"], strict=True
    ):
        text = arm(s, state[:2], state[2:])
        for k in (1, 2):
            text += table("sensor", name=f"ft{k}", type="force_torque", joint=f"q{k}")
            text += table("actuator", name=f"m{k}", joint=f"q{k}", offset=float(torque[k - 1]))
        run = pysim.simulate(
            scene_of(tmp_path, text + simulation("rk4", duration=1e-3, interval=1e-3))
        )
        found.append(
            np.hstack([run.signals[f"ft{k}.{x}"][0] for k in (1, 2) for x in ("force", "torque")])
        )
        accelerations.append(run.a[0])
    case.agrees("accelerations", accelerations)
    case.agrees("wrench", found)


def test_poses_and_twists_are_those_of_the_algorithms(tmp_path):
    text = disc(q=0.3, v=2.0).replace("gravity = [0, 0, 0]", "gravity = [0, 0, -9.81]")
    at = {"xyz": [0.1, 0.2, 0.3], "rpy": [0.4, -0.2, 0.1]}
    for kind in ("pose", "twist", "acceleration"):
        text += table("sensor", name=kind, type=kind, frame="disc", at=at)
    text += table("frame", name="tool", body="disc", at=at)
    run = pysim.simulate(scene_of(tmp_path, text + simulation("rk4")))
    model = scene_of(tmp_path, text + simulation("rk4")).model
    X = pysim.frame_placement(model, run.q, "tool")
    V = pysim.frame_velocity(model, run.q, run.v, "tool")
    A = pysim.frame_acceleration(model, run.q, run.v, run.a, "tool", classical=True)
    np.testing.assert_allclose(run.signals["pose.position"], X[:, :3, 3], atol=1e-14)
    x, y, z, w = run.signals["pose.orientation"].T
    np.testing.assert_allclose(x * x + y * y + z * z + w * w, 1, rtol=1e-14)
    np.testing.assert_allclose(2 * (x * z + y * w), X[:, 0, 2], atol=1e-13)
    twist = np.hstack([run.signals["twist.velocity"], run.signals["twist.rate"]])
    np.testing.assert_allclose(twist, V, atol=1e-13)
    both = np.hstack([run.signals["acceleration.linear"], run.signals["acceleration.angular"]])
    np.testing.assert_allclose(both, A, atol=1e-12)
