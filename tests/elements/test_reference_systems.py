"""Reference cases of whole systems: springs between bodies, a quarter car, a crank, a quadrotor, arms under control.

Oracles: `spring_two_bodies`, `spring_frames_3d`, `quarter_car`, `crank_prescribed`, `quadrotor`, `impedance` and
`lqr_double_pendulum` of tests/data/reference/elements.
"""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.controllers import Controller, Source, controller, signal, source
from pysim.forces import Force, Signal, force
from pysim.loops import actuation_map, assemble
from tests.elements.blocks import arm, constant, run_at, scene_of, simulation, states, table
from tests.elements.reference_cases import FOLDER, Case, axis_angle, poses, rotation

ROAD = Signal["m"]


def inertia(I):
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = I
    return {"xx": xx, "xy": xy, "xz": xz, "yy": yy, "yz": yz, "zz": zz}


def free(name, s):
    """Return a free body from the numbers of a case, with products of inertia."""
    R = rotation(s["rotation_vector_rad"])
    start = {
        "xyz": s["position_m"],
        "axis_angle": axis_angle(s["rotation_vector_rad"]),
        "v": [*(R.T @ s["velocity_world_m_s"]).tolist(), *s["angular_velocity_body_rad_s"]],
    }
    own = inertia(s["inertia_com_kg_m2"])
    text = table("body", name=name, mass=s["mass_kg"], inertia=own)
    return text + table("joint", name=f"{name} in space", type="free", child=name, start=start)


def test_a_spring_between_two_bodies_on_a_line(tmp_path):
    case = Case("spring_two_bodies")
    s = case.setup
    text = "gravity = [0, 0, 0]\n"
    for k, (m, x, v) in enumerate(
        zip(s["mass_kg"], s["start_x_m"], s["start_v_m_s"], strict=True), 1
    ):
        text += table("body", name=f"m{k}", mass=m, inertia=dict.fromkeys(("xx", "yy", "zz"), 1))
        keys = {"axis": [1, 0, 0], "child": f"m{k}", "start": {"q": x, "v": v}}
        text += table("joint", name=f"x{k}", type="prismatic", **keys)
    text += table("force", name="spring", type="spring", a="m1", b="m2", **spring_keys(s))
    run, rows = run_at(tmp_path, text, case.at("x1"))
    case.agrees("x1", states(run, rows))


def spring_keys(s):
    k, c = s["stiffness_N_m"], s["damping_N_s_m"]
    return {"stiffness": k, "damping": c, "length": s["rest_length_m"]}


def test_a_spring_between_points_of_two_free_bodies(tmp_path):
    case = Case("spring_frames_3d")
    s = case.setup
    points = dict(zip(("at_a", "at_b"), s["point_in_body_m"], strict=True))
    text = "gravity = [0, 0, 0]\n" + free("one", s["bodies"][0]) + free("two", s["bodies"][1])
    text += table(
        "force", name="spring", type="spring", a="one", b="two", **points, **spring_keys(s)
    )
    ends = [{"body": b, "point": p} for b, p in zip(("one", "two"), points.values(), strict=True)]
    text += table("sensor", name="distance", type="distance", path=ends)
    run, rows = run_at(tmp_path, text, case.at("positions"))
    (p1, R1), (p2, R2) = poses(run.q[rows, :7]), poses(run.q[rows, 7:])
    case.agrees("positions", np.hstack([p1, p2]))
    case.agrees("rotation", np.hstack([R1, R2]))
    case.agrees("angular", run.v[rows][:, [3, 4, 5, 9, 10, 11]])
    case.agrees("length", run.signals["distance.length"][rows])


# ---------------------------------------------------------------------------------- quarter car


@source("reference_bump")
class Bump(Source):
    """Cosine-shaped bump of a road, passed at a constant speed."""

    height: float  # [m]
    length: float  # [m]
    speed: float  # [m/s]

    def output(self, t):
        x = self.speed * t
        return np.where(
            x < self.length, self.height / 2 * (1 - np.cos(2 * np.pi * x / self.length)), 0
        )


@force("reference_tyre")
class Tyre(Force):
    """Linear spring between a road and a coordinate, with a load at rest."""

    stiffness: float  # [N/m]
    load: float  # [N]
    road: ROAD  # type: ignore[valid-type]

    def force(self, q):
        return [self.load - self.stiffness * (q[0] - self.road)]


def car(s, road):
    """Return body and wheel, whose coordinates are displacements from rest, on a road."""
    m, k, g = s["sprung_kg"], s["suspension_N_m"], s["gravity_m_s2"]
    text = f"gravity = [0, 0, {-g}]\n"
    for name, own in (("body", m), ("wheel", s["unsprung_kg"])):
        text += table("body", name=name, mass=own, inertia=dict.fromkeys(("xx", "yy", "zz"), 1))
        text += table("joint", name=f"{name} z", type="prismatic", child=name)
        text += table("sensor", name=f"{name} a", type="acceleration", frame=name)
    between = {"coordinates": ["wheel z", "body z"], "damping": s["damper_N_s_m"]}
    text += table(
        "force", name="strut", type="coordinate_spring", stiffness=k, rest=m * g / k, **between
    )
    load = {"stiffness": s["tyre_N_m"], "load": (m + s["unsprung_kg"]) * g, "road": "road"}
    text += table("force", name="tyre", type="reference_tyre", coordinates=["wheel z"], **load)
    return text + road


def test_a_quarter_car_runs_over_a_bump(tmp_path):
    case = Case("quarter_car")
    s = case.setup
    keys = {"height": s["bump_height_m"], "length": s["bump_length_m"], "speed": s["speed_m_s"]}
    road = table("signal", name="road", type="reference_bump", unit="m", **keys)
    end = s["bump_length_m"] / s["speed_m_s"]
    run, rows = run_at(tmp_path, car(s, road), case.at("body, wheel"))
    assert np.isclose(run.t, end, rtol=1e-12).any()  # a step ends where the bump does
    case.agrees("body, wheel", states(run, rows))
    load = (s["sprung_kg"] + s["unsprung_kg"]) * s["gravity_m_s2"]
    pressed = s["tyre_N_m"] * (run.signals["road"] - run.q[:, 1])
    case.agrees("tyre force", (load + pressed)[rows])


def test_poles_and_transfer_functions_of_a_quarter_car(tmp_path):
    """The car is linear: its accelerations at unit states are the columns of its matrices."""
    case = Case("quarter_car")
    s = case.setup
    columns = []
    for state in np.eye(5):
        road = constant("road", float(state[4]), "m")
        scene = scene_of(tmp_path, car(s, road) + simulation("rk4", duration=1e-3, interval=1e-3))
        names = ["body a.linear", "wheel a.linear"]
        run = pysim.rollout(scene, state[None, :2], state[None, 2:4], steps=0, signals=names)
        columns.append([run.signals[name][0, 0, 2] for name in names])
    a = np.array(columns).T
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [a[:, :4]]])
    b = np.concatenate([[0, 0], a[:, 4]])
    poles = np.sort_complex(np.linalg.eigvals(A))
    case.agrees("poles", np.column_stack([poles.real, poles.imag]))
    w = 2j * np.pi * case.at("|H| road to body")
    response = np.abs([np.linalg.solve(x * np.eye(4) - A, b) for x in w])
    case.agrees("|H| road to body", response[:, 0])
    case.agrees("|H| road to wheel", response[:, 1])


# ---------------------------------------------------------------------------------- crank and slider


def crank(s):
    r, L = s["crank_m"], s["rod_m"]
    turning = {"type": "revolute", "axis": [0, -1, 0]}
    load = [s["load_on_slider_along_x_N"], 0.0, 0.0]
    bodies = {
        "crank": (1e-6, [0.0, 0.0, 0.0], s["crank_inertia_about_axis_kg_m2"]),
        "rod": (s["rod_kg"], [s["rod_com_from_crank_pin_m"], 0.0, 0.0], s["rod_inertia_com_kg_m2"]),
        "slider": (s["slider_kg"], [0.0, 0.0, 0.0], 1e-3),
    }
    text = f"gravity = {s['gravity_m_s2']}\n"
    for name, (m, com, I) in bodies.items():
        own = dict.fromkeys(("xx", "yy", "zz"), I)
        text += table("body", name=name, mass=m, com=com, inertia=own)
    about_y = [np.pi / 2, 0.0, 0.0]
    ends = {"at_a": {"xyz": [L, 0, 0], "rpy": about_y}, "at_b": {"rpy": about_y}}
    start = {"q": 1.0}
    return (
        text
        + table("joint", name="crank", child="crank", **turning, start=start)
        + table("joint", name="pin", parent="crank", child="rod", at={"xyz": [r, 0, 0]}, **turning)
        + table("joint", name="guide", type="prismatic", axis=[1, 0, 0], child="slider")
        + table("loop", name="wrist", type="revolute", a="rod", b="slider", **ends)
        + table("force", name="load", type="constant_force", b="slider", load=load)
        + table("sensor", name="guided", type="force_torque", joint="guide")
        + table("signal", name="torque", type="input", unit="N·m")
        + table("actuator", name="drive", type="force", joint="crank", command="torque")
    )


def test_the_drive_of_a_crank_carries_inertia_gravity_and_load(tmp_path):
    case = Case("crank_prescribed")
    s = case.setup
    model = scene_of(tmp_path, crank(s) + simulation("rk4", duration=1e-3, interval=1e-3)).model
    torques, slides, forces = [], [], []
    for t in case.at("torque").tolist():
        q, rate = 20 * t + 0.2 * np.sin(7 * t), 20 + 1.4 * np.cos(7 * t)
        far = s["crank_m"] * np.cos(q) + np.sqrt(s["rod_m"] ** 2 - (s["crank_m"] * np.sin(q)) ** 2)
        lean = -np.arcsin(s["crank_m"] * np.sin(q) / s["rod_m"]) - q
        closed = assemble(model, [q, lean, far], hold=("crank",)).q
        driven = actuation_map(model, closed, "crank")
        v = driven.velocity([rate])
        a = driven.acceleration([rate], [-9.8 * np.sin(7 * t)])
        passive = pysim.passive_forces(model, closed, v)
        torque = driven.equivalent_torque(v, a)[0] - driven.velocity([1.0]) @ passive
        torques.append(torque)
        slides.append([closed[2], v[2]])
        forces.append(guide_force(tmp_path, s, closed, v, torque))
    case.agrees("torque", torques)
    case.agrees("slider", slides)
    case.agrees("vertical", forces)


def guide_force(folder, s, q, v, torque):
    """Return the vertical force of the guide at a state, under the torque of the drive."""
    own = crank(s).replace('unit = "N·m"', f'unit = "N·m"\nvalue = {float(torque)!r}')
    scene = scene_of(folder, own + simulation("rk4", duration=1e-3, interval=1e-3))
    run = pysim.rollout(scene, q[None], v[None], steps=0, signals=["guided.force"])
    return run.signals["guided.force"][0, 0, 2]


# ---------------------------------------------------------------------------------- quadrotor


@controller("reference_quadrotor")
class Attitude(Controller):
    """Attitude towards level and height; squared speeds of four rotors, which only push."""

    inputs = (
        signal("position", unit="m", size=3)
        * signal("orientation", size=4)
        * signal("velocity", unit="m/s", size=3)
        * signal("rate", unit="rad/s", size=3)
    )
    outputs = signal("squares", size=4)
    mass: float
    inertia: tuple[tuple[float, ...], ...]
    inverse_mixer: tuple[tuple[float, ...], ...]
    attitude: tuple[float, float]
    height: tuple[float, float]
    target: float

    def output(self, inputs, gravity):
        x, y, z, w = inputs.orientation
        error = 2 * np.where(w < 0, -1.0, 1.0) * np.array([x, y, z])
        I, rate = np.array(self.inertia), inputs.rate
        torque = I @ (-self.attitude[0] * error - self.attitude[1] * rate)
        torque = torque + np.cross(rate, I @ rate)
        lift = self.height[0] * (self.target - inputs.position[2]) - gravity[2]
        lift = lift - self.height[1] * inputs.velocity[2]
        upright = np.maximum(0.3, 1 - 2 * (x * x + y * y))
        wanted = np.array([self.mass * lift / upright, *torque])
        return [np.maximum(x, 0.0) for x in np.array(self.inverse_mixer) @ wanted]


def quadrotor(s):
    m, I = s["body"]["mass_kg"], s["body"]["inertia_com_kg_m2"]
    kt, kq = s["thrust_N_s2"], s["torque_N_m_s2"]
    angle = np.pi / 4 + np.pi / 2 * np.arange(4)
    x, y = s["motor_arm_m"] * np.cos(angle), s["motor_arm_m"] * np.sin(angle)
    spin = np.array([1, -1, 1, -1])
    mixer = np.array([np.full(4, kt), kt * y, -kt * x, -kq * spin])
    text = f"gravity = {s['gravity_m_s2']}\n" + free("hull", s["body"])
    text += table("sensor", name="place", type="pose", frame="hull")
    text += table("sensor", name="world", type="twist", frame="hull", axes="base")
    text += table("sensor", name="hull", type="twist", frame="hull")
    text += table(
        "controller",
        name="attitude",
        type="reference_quadrotor",
        period=s["period_s"],
        inputs=["place.position", "place.orientation", "world.velocity", "hull.rate"],
        mass=m,
        inertia=I,
        inverse_mixer=np.linalg.inv(mixer).tolist(),
        attitude=s["attitude_gains_1_s2_1_s"],
        height=s["height_gains_1_s2_1_s"],
        target=s["height_setpoint_m"],
    )
    for k in range(4):
        text += table(
            "force",
            name=f"rotor {k}",
            type="thruster",
            b="hull",
            at_b=[float(x[k]), float(y[k]), 0.0],
            command=f"attitude[{k}]",
            force_axis=[0.0, 0.0, kt],
            torque_axis=[0.0, 0.0, float(-spin[k]) * kq],
        )
    return text


def test_a_quadrotor_levels_and_climbs(tmp_path):
    case = Case("quadrotor")
    run, rows = run_at(tmp_path, quadrotor(case.setup), case.at("position"))
    p, R = poses(run.q[rows])
    case.agrees("position", p)
    case.agrees("rotation", R)
    case.agrees(
        "velocity", np.hstack([run.signals["world.velocity"], run.signals["hull.rate"]])[rows]
    )
    case.agrees("squared motor speeds", run.signals["attitude"][rows])


def test_rotors_at_the_speed_of_hovering_carry_the_weight(tmp_path):
    case = Case("quadrotor")
    s = case.setup | {"height_setpoint_m": 1.0}
    level = {"rotation_vector_rad": [0, 0, 0], "angular_velocity_body_rad_s": [0, 0, 0]}
    s["body"] = s["body"] | level | {"velocity_world_m_s": [0, 0, 0]}
    run = pysim.simulate(scene_of(tmp_path, quadrotor(s) + simulation()))
    for speeds in run.signals["attitude"]:
        for square in speeds:
            case.agrees("squared motor speed in hover", square)
    np.testing.assert_allclose(run.q[:, :3], [[0, 0, 1]] * len(run.t), atol=1e-12)


# ---------------------------------------------------------------------------------- arms


@controller("reference_impedance")
class Impedance(Controller):
    """Torques Jᵀ (K (target − x) − D x′) + g of a planar arm of two links, whose tip has the place x."""

    inputs = signal("q", unit="rad", size=2) * signal("v", unit="rad/s", size=2)
    outputs = signal("torque", unit="N·m", size=2)
    lengths: tuple[float, float]
    stiffness: tuple[tuple[float, ...], ...]
    damping: tuple[tuple[float, ...], ...]
    target: tuple[float, float]

    def output(self, inputs, dynamics):
        first, both = inputs.q[0], inputs.q[0] + inputs.q[1]
        a, b = self.lengths
        x = np.array([a * np.cos(first) + b * np.cos(both), a * np.sin(first) + b * np.sin(both)])
        J = np.array([[-x[1], -b * np.sin(both)], [x[0], b * np.cos(both)]])
        pull = np.array(self.stiffness) @ (np.array(self.target) - x)
        pull = pull - np.array(self.damping) @ (J @ inputs.v)
        return J.T @ pull + dynamics.gravity


def tip_force(s):
    x, z = s["external_force_at_tip_xz_N"]
    at = [s["length_m"][1], 0.0, 0.0]
    keys = {"type": "constant_force", "b": "link2", "at_b": at, "load": [x, 0.0, z]}
    tip = table("sensor", name="tip", type="pose", frame="link2", at={"xyz": at})
    return table("force", name="push", **keys) + tip


def by_controller(s):
    keys = {"lengths": s["length_m"], "stiffness": s["K_N_m"], "damping": s["D_N_s_m"]}
    return table(
        "controller",
        name="impedance",
        type="reference_impedance",
        inputs=["arm.q", "arm.v"],
        target=s["target_xz_m"],
        **keys,
    ) + table(
        "actuator", name="motors", type="force", coordinates=["q1", "q2"], command="impedance"
    )


def matrices_of(s, size):
    """Return stiffness and damping (size, size) with the numbers of x and z."""
    for key in ("K_N_m", "D_N_s_m"):
        full = np.zeros((size, size))
        full[np.ix_([0, 2], [0, 2])] = s[key]
        yield full.tolist()


def held_against_gravity():
    return table("controller", name="hold", type="gravity_compensation") + table(
        "actuator", name="motors", type="force", coordinates=["q1", "q2"], command="hold"
    )


def by_bushing(s):
    """Return a bushing between the world and the tip, which holds no rotation, and gravity compensation."""
    K, D = matrices_of(s, 6)
    x, z = s["target_xz_m"]
    home = {"home": [x, 0.0, z, 0.0, 0.0, 0.0], "at_b": [s["length_m"][1], 0.0, 0.0]}
    return held_against_gravity() + table(
        "force", name="impedance", type="bushing", b="link2", stiffness=K, damping=D, **home
    )


def by_force(s):
    """Return the force `impedance` at the tip, and gravity compensation."""
    K, D = matrices_of(s, 3)
    x, z = s["target_xz_m"]
    hold = held_against_gravity()
    hold += table("signal", name="target", type="constant", value=[x, 0.0, z], unit="m")
    return hold + table(
        "force",
        name="impedance",
        type="impedance",
        b="link2",
        at_b=[s["length_m"][1], 0.0, 0.0],
        position={"signal": "target"},
        stiffness=K,
        damping=D,
    )


def by_block(s):
    """Return the controller `impedance` of the tip, whose force acts there, and gravity compensation."""
    K, D = matrices_of(s, 3)
    x, z = s["target_xz_m"]
    at = [s["length_m"][1], 0.0, 0.0]
    text = held_against_gravity()
    text += table("signal", name="target", type="constant", value=[x, 0.0, z], unit="m")
    text += table("sensor", name="speed", type="twist", frame="link2", at={"xyz": at}, axes="base")
    text += table(
        "controller",
        name="pull",
        type="impedance",
        inputs=["target", "tip.position", "speed.velocity"],
        stiffness=K,
        damping=D,
    )
    return text + table(
        "force", name="hand", type="constant_force", b="link2", at_b=at, load={"signal": "pull"}
    )


@pytest.mark.parametrize("impedance", [by_controller, by_bushing, by_force, by_block])
def test_an_arm_with_cartesian_impedance_yields_to_a_force(tmp_path, impedance):
    case = Case("impedance")
    s = case.setup
    text = arm(s, s["start_q_rad"], [0.0, 0.0]) + tip_force(s) + impedance(s)
    run, rows = run_at(tmp_path, text, case.at("q, v"))
    case.agrees("q, v", states(run, rows))
    case.agrees("tip (x, z)", run.signals["tip.position"][rows][:, [0, 2]])
    late = text + simulation(duration=20.0, interval=20.0)
    rest = pysim.simulate(scene_of(tmp_path, late))
    case.agrees("tip at rest", rest.signals["tip.position"][-1, [0, 2]])
    case.agrees("joint angles at rest", rest.q[-1])


def test_state_feedback_holds_a_double_pendulum_upright(tmp_path):
    case = Case("lqr_double_pendulum")
    s = case.setup
    upright = np.array(s["equilibrium_q_rad"])
    text = arm(s, upright + s["start"][:2], s["start"][2:])
    text += table(
        "controller",
        name="lqr",
        type="state_feedback",
        inputs=["arm.q", "arm.v"],
        gain=case.expected("K (u")["value"],
        target=[*upright.tolist(), 0.0, 0.0],
    )
    text += table("actuator", name="motor", type="force", joint="q2", command="lqr")
    run, rows = run_at(tmp_path, text, case.at("nonlinear"))
    case.agrees("nonlinear", states(run, rows) - [*upright, 0, 0])
    model, still = scene_of(tmp_path, text + simulation()).model, np.zeros(2)
    by_q, by_v, by_tau = pysim.aba_derivatives(model, upright, still, still)
    case.agrees("A", np.block([[np.zeros((2, 2)), np.eye(2)], [by_q, by_v]]))
    case.agrees("B", np.vstack([np.zeros((2, 1)), by_tau[:, 1:]]))


def test_every_case_of_the_folder_is_a_test():

    texts = [file.read_text("utf-8") for file in FOLDER.parents[1].parent.glob("*/test_*.py")]
    named = "".join(texts).replace('f"wrap_{kind}"', '"wrap_cylinder" "wrap_sphere"')
    cases = sorted(file.stem for file in FOLDER.glob("*.json"))
    assert [name for name in cases if f'"{name}"' not in named] == []
