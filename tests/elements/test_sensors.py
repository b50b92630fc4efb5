"""Sensors. Oracles: the reference cases `imu_top` and `force_torque`, and pysim's algorithms on recorded states."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.errors import SceneError
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
    wrenches, accelerations = [], []
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
        wrenches.append(
            np.hstack([run.signals[f"ft{k}.{x}"][0] for k in (1, 2) for x in ("force", "torque")])
        )
        accelerations.append(run.a[0])
    case.agrees("accelerations", accelerations)
    case.agrees("wrench", wrenches)


POINT = [0.1, -0.05, 0.2]
PATH = [{"body": "world", "point": [1.0, 0.4, 0.8]}, {"body": "box", "point": POINT}]
LOADS: dict[str, dict[str, object]] = {
    "spring": {"type": "spring", "b": "box", "at_b": POINT, "stiffness": 30.0, "length": 0.2},
    "path": {"type": "path_spring", "path": PATH, "stiffness": 20.0, "rest_length": 0.1},
    "frames": {"type": "quadratic_drag", "density": 1.2, "drag_coefficient": 1, "area": 4.0},
    "signal": {"type": "thruster", "command": "thrust", "torque_axis": [0.1, 0.2, 0.3]},
}
LOADS["frames"] |= {"b": "box", "at_b": POINT}
LOADS["signal"] |= {"b": "box", "at_b": POINT}


def loaded_box(loads):
    """Return a body on a free joint under loads, with its joint's wrench measured at any time and every 10 ms."""
    start = {"xyz": [0, 0, 0.5], "v": [0.3, -0.2, 0.4, 1.0, 2.0, -1.5]}
    text = "gravity = [0, 0, -9.81]\n" + table(
        "body",
        name="box",
        mass=2.0,
        com=[0.02, 0.01, 0],
        inertia={"xx": 0.02, "yy": 0.03, "zz": 0.04},
    )
    text += table("joint", name="space", type="free", child="box", start=start)
    text += table("signal", name="thrust", type="sine", amplitude=8.0, frequency=5.0, unit="N")
    text += table("actuator", name="winch", type="winch", path=PATH, command="thrust")
    for name in loads:
        text += table("force", name=name, **LOADS[name])
    text += table("sensor", name="carried", type="force_torque", joint="space")
    return text + table("sensor", name="held", type="force_torque", joint="space", period=0.01)


@pytest.mark.parametrize("loads", [[name] for name in LOADS] + [list(LOADS)])
def test_a_joint_that_moves_freely_carries_no_load(tmp_path, loads):
    """All forces on the body act on it from elsewhere, whatever they are."""
    run = pysim.simulate(scene_of(tmp_path, loaded_box(loads) + simulation("rk4", interval=0.01)))
    assert np.abs(run.a).max() > 5
    for sensor in ("carried", "held"):
        for reading in ("force", "torque"):
            np.testing.assert_allclose(run.signals[f"{sensor}.{reading}"], 0, atol=1e-10)


def test_a_joint_that_moves_freely_carries_no_load_in_a_rollout(tmp_path):
    scene = scene_of(tmp_path, loaded_box(LOADS) + simulation("rk4", interval=0.01))
    names = ["carried.force", "held.torque"]
    run = pysim.rollout(scene, signals=names)
    for name in names:
        np.testing.assert_allclose(run.signals[name], 0, atol=1e-10)


def closed_chain(axis, sensor):
    """Return a four-bar linkage in space, whose joints turn about an axis, with the wrench of its last hinge."""
    text = "gravity = [0, 0, -9.81]\n"
    keys = {"type": "revolute", "axis": axis}
    ends = {"one": [0.4, 0, 0], "two": [0.9, 0, 0]}
    for k, name in enumerate(("one", "two", "three")):
        inertia = {"xx": 0.02, "yy": 0.03, "zz": 0.04}
        text += table("body", name=name, mass=1.0 + k, com=[0.2, 0, 0], inertia=inertia)
    text += table("joint", name="a", child="one", start={"q": 1.1, "v": 2.0}, **keys)
    text += table("joint", name="b", parent="one", child="two", at={"xyz": ends["one"]}, **keys)
    text += table(
        "joint", name="c", child="three", at={"xyz": [0.8, 0, 0]}, start={"q": 1.3}, **keys
    )
    far = {"at_a": {"xyz": ends["two"]}, "at_b": {"xyz": [0.6, 0, 0]}}
    text += table("loop", name="pin", a="two", b="three", **keys, **far)
    return text + "[assembly]\nhold = ['a']\n" + sensor


def hinge_sensor(**keys):
    return table("sensor", name="hinge", type="force_torque", joint="c", **keys)


def test_a_joint_of_a_closed_loop_carries_the_force_of_the_loop(tmp_path):
    """The wrenches of a body's joint, its loop and gravity are the rate of its momentum about its joint."""
    text = closed_chain([0.0, 0.6, 0.8], hinge_sensor())
    scene = scene_of(tmp_path, text + simulation("rk4", step=1e-4, interval=0.1))
    run = pysim.simulate(scene)
    alone = closed_chain([0.0, 0.6, 0.8], hinge_sensor(period=1e-3))
    held = pysim.simulate(scene_of(tmp_path, alone + simulation("rk4", step=1e-4, interval=0.1)))
    torque = run.signals["hinge.torque"]
    np.testing.assert_allclose(torque @ [0.0, 0.6, 0.8], 0, atol=1e-9)  # it turns freely
    for reading in ("force", "torque"):
        name = f"hinge.{reading}"
        np.testing.assert_allclose(held.signals[name][1:], run.signals[name][1:], atol=1e-9)
    model, b = scene.model, scene.model.body_names.index("three")
    loops = pysim.loops.loop_wrenches(model, run.q, run.v, np.zeros_like(run.v))[:, 0]
    f_ext = np.zeros((len(run.t), model.nbodies, 6))
    f_ext[:, b] = loops
    f_ext[:, b, 3:] += np.cross([0.6, 0, 0], loops[:, :3])
    wanted = pysim.joint_reactions(model, run.q, run.v, run.a, f_ext).total[:, b]
    both = np.hstack([run.signals["hinge.force"], torque])
    np.testing.assert_allclose(both, wanted, atol=1e-9)


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


BALL = """
gravity = [0, 0, -9.81]
[[body]]
name = "ball"
mass = 2.0
inertia = { xx = 0.02, yy = 0.02, zz = 0.02 }
collision = { sphere = { radius = 0.1 } }
[[joint]]
name = "space"
type = "free"
child = "ball"
start = { xyz = [0, 0, 0.1], v = [0.3, 0, 0, 0, 0, 1.0] }
[[ground]]
plane = { normal = [0, 0, 1], offset = 0 }
"""


@pytest.mark.parametrize("integrator", ["rk4", "dopri5"])
def test_contacts_count_in_what_a_joint_carries_and_an_imu_reads(tmp_path, integrator):
    text = BALL
    for name, keys in (("", {}), ("held ", {"period": 0.01})):
        text += table("sensor", name=f"{name}joint", type="force_torque", joint="space", **keys)
        text += table("sensor", name=f"{name}imu", type="imu", frame="ball", **keys)
    scene = scene_of(tmp_path, text + simulation(integrator, duration=2.0))
    signals = ["joint.force", "held joint.force", "imu.acceleration", "held imu.acceleration"]
    for run in (pysim.simulate(scene), pysim.rollout(scene, signals=signals)):
        for name in signals[:2]:
            np.testing.assert_allclose(run.signals[name], 0, atol=1e-10)
        for name in signals[2:]:
            upwards = np.linalg.norm(run.signals[name][-1])
            np.testing.assert_allclose(upwards, 9.81, atol=0.05)


def test_a_hinge_across_the_axes_carries_all_loads(tmp_path):
    """Oracle: the algorithm `joint_reactions` under the wrench of a force, a spring, a path and a thruster."""
    body = {"mass": 2.0, "com": [0.02, 0.01, 0], "inertia": {"xx": 0.02, "yy": 0.03, "zz": 0.04}}
    at = {"xyz": [0.1, 0.2, 0.3], "rpy": [0.3, 0.2, 0.1]}
    start = {"q": 0.4, "v": 1.0}
    text = "gravity = [0, 0, -9.81]\n" + table("body", name="box", **body)
    text += table(
        "joint", name="hinge", type="revolute", child="box", axis=[0.6, 0, 0.8], at=at, start=start
    )
    pull = {"type": "constant_force", "b": "box", "at_b": POINT, "load": [3.0, -2.0, 5.0]}
    text += table("force", name="pull", **pull)
    for name in ("spring", "path", "signal"):
        text += table("force", name=name, **LOADS[name])
    text += table("signal", name="thrust", type="sine", amplitude=8.0, frequency=5.0, unit="N")
    text += table("sensor", name="carried", type="force_torque", joint="hinge")
    scene = scene_of(tmp_path, text + simulation("rk4", duration=0.5))
    run, model, p = pysim.simulate(scene), scene.model, np.array(POINT)
    X = np.asarray(pysim.forward_kinematics(model, run.q))[:, 0]
    R = X[:, :3, :3]
    place = X[:, :3, 3] + R @ p
    force = np.tile([3.0, -2.0, 5.0], (len(run.t), 1))
    for anchor, stiffness, rest in (([0, 0, 0], 30.0, 0.2), ([1.0, 0.4, 0.8], 20.0, 0.1)):
        span = place - anchor
        length = np.linalg.norm(span, axis=1)
        force = force - (stiffness * (length - rest) / length)[:, None] * span
    thrust = 8.0 * np.sin(5.0 * run.t)
    own = np.einsum("nji,nj->ni", R, force) + np.outer(thrust, [0, 0, 1])
    torque = np.cross(p, own) + np.outer(thrust, [0.1, 0.2, 0.3])
    acting = np.concatenate([own, torque], axis=1)[:, None]
    wanted = pysim.joint_reactions(model, run.q, run.v, run.a, acting).total[:, 0]
    carried = np.hstack([run.signals["carried.force"], run.signals["carried.torque"]])
    np.testing.assert_allclose(carried, wanted, atol=1e-12)


OWN_IMU = '''
"""An accelerometer of one's own."""

import numpy as np

from pysim.sensors import Sensor, sensor, signal


@sensor("own_imu")
class OwnImu(Sensor):
    """Specific force, classical and spatial acceleration, angular acceleration."""

    outputs = (
        signal("force", unit="m/s²", size=3)
        * signal("linear", unit="m/s²", size=3)
        * signal("spatial", unit="m/s²", size=3)
        * signal("angular", unit="rad/s²", size=3)
    )

    def measure(self, pose, acceleration, gravity):
        R = np.array(pose.rotation, object)
        return (
            acceleration.v - R.T @ gravity,
            acceleration.linear,
            acceleration.spatial.v,
            acceleration.angular,
        )
'''


def test_the_acceleration_of_a_plugin_is_the_classical_one(tmp_path):
    (tmp_path / "own_imu.py").write_text(OWN_IMU, "utf-8")
    ball = table("body", name="ball", mass=2.0, inertia={"xx": 0.1, "yy": 0.2, "zz": 0.25})
    fall = table(
        "joint",
        name="fall",
        type="free",
        child="ball",
        start={"xyz": [0, 0, 9.0], "rpy": [0.3, -0.2, 1.0], "v": [1.0, 2.0, -1.0, 4.0, 3.0, -6.0]},
    )
    at = {"xyz": [0.1, -0.2, 0.3], "rpy": [0.2, 0.1, 0.0]}
    sensors = "".join(
        table(
            "sensor",
            name=kind,
            type=kind,
            frame="ball",
            at=at,
        )
        for kind in ("own_imu", "acceleration", "imu")
    )
    own = 'plugins = ["own_imu.py"]\n'
    run = simulation("rk4", step=1e-3, duration=0.5, interval=0.1)
    file = tmp_path / "scene.toml"
    file.write_text(own + "gravity = [0, 0, -9.81]\n" + ball + fall + sensors + run, "utf-8")
    found = pysim.simulate(pysim.load_scene(file, allow_code=True)).signals
    for name in ("linear", "angular"):
        np.testing.assert_allclose(
            found[f"own_imu.{name}"], found[f"acceleration.{name}"], rtol=0, atol=1e-12
        )
    np.testing.assert_allclose(
        found["own_imu.force"], found["imu.acceleration"], rtol=0, atol=1e-12
    )
    assert np.abs(found["own_imu.spatial"] - found["own_imu.linear"]).max() > 1.0


def test_an_accelerometer_in_the_centre_of_a_spinning_body_that_falls_reads_nothing(tmp_path):
    (tmp_path / "own_imu.py").write_text(OWN_IMU, "utf-8")
    text = (
        'plugins = ["own_imu.py"]\ngravity = [0, 0, -9.81]\n'
        + table("body", name="ball", mass=2.0, inertia={"xx": 0.1, "yy": 0.1, "zz": 0.1})
        + table(
            "joint",
            name="fall",
            type="free",
            child="ball",
            start={"v": [1.0, 2.0, 3.0, 2.0, 5.0, -3.0]},
        )
        + table("sensor", name="own", type="own_imu", frame="ball")
        + simulation("rk4", duration=0.5)
    )
    file = tmp_path / "scene.toml"
    file.write_text(text, "utf-8")
    found = pysim.simulate(pysim.load_scene(file, allow_code=True)).signals
    np.testing.assert_allclose(found["own.force"], 0, atol=1e-11)
    np.testing.assert_allclose(np.linalg.norm(found["own.linear"], axis=1), 9.81, rtol=1e-12)


def falling(start="", **keys):
    """A body that falls, whose accelerometer a sampled gain reads."""
    text = "gravity = [0, 0, -9.81]\n" + table(
        "body", name="ball", mass=2.0, inertia={"xx": 0.1, "yy": 0.1, "zz": 0.1}
    )
    text += table("joint", name="fall", type="free", child="ball")
    text += table("sensor", name="a", type="acceleration", frame="ball", **keys) + start
    text += table(
        "controller",
        name="read",
        type="gain",
        gain=1.0,
        unit="m/s²",
        inputs=["a.linear[2]"],
        period=0.01,
    )
    return text + simulation("rk4", duration=0.03, interval=0.01)


@pytest.mark.parametrize("keys", [{}, {"period": 0.01}])
def test_a_sampled_reader_begins_with_the_start_of_a_sensor_of_accelerations(tmp_path, keys):
    """0 before the first instant, or what `start` says; the limit from the left at those after it."""
    for start, first in (("", 0.0), ("start = { linear = [0, 0, 4.5] }\n", 4.5)):
        found = pysim.simulate(scene_of(tmp_path, falling(start, **keys))).signals["read"]
        np.testing.assert_allclose(found, [first, -9.81, -9.81, -9.81], rtol=1e-12)


START = {
    "liner = [0, 0, 1]": "sensor 'a': has no output 'liner'; did you mean 'linear'?",
    "linear = [0, 1]": "sensor 'a': 'linear' has 3 numbers, and its start 2; give as many",
}


@pytest.mark.parametrize("keys", START)
def test_a_wrong_start_of_a_sensor_is_rejected(tmp_path, keys):
    with pytest.raises(SceneError) as error:
        scene_of(tmp_path, falling(f"start = {{ {keys} }}\n"))
    assert error.value.problem == START[keys]


def test_a_start_of_what_is_known_at_the_start_is_rejected(tmp_path):
    text = falling() + table(
        "sensor", name="p", type="pose", frame="ball", start={"position": [0, 0, 1]}
    )
    with pytest.raises(
        SceneError, match="sensor 'p': 'position' is known at t = 0; remove its start"
    ):
        scene_of(tmp_path, text)
