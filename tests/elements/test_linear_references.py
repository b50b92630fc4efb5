"""Linear systems and regulators of reference cases: a motor, an arm under control, a four-bar linkage, a cart-pole.

Oracles: the cases' matrices in closed form, checked there by differences of sixth order, and SciPy's gains for these.
"""

from __future__ import annotations

import numpy as np

import pysim
from tests.elements.blocks import arm, scene_of, simulation, table
from tests.elements.reference_cases import Case

SMALL = dict.fromkeys(("xx", "yy", "zz"), 1e-9)


def poles(values):
    values = np.sort_complex(np.asarray(values))
    return np.column_stack([values.real, values.imag])


def given(name, unit, value=0.0):
    return table("signal", name=name, type="input", unit=unit, value=value)


def agrees(case, system):
    for name in "ABCD":
        case.agrees(name, getattr(system, name))
    case.agrees("poles", poles(system.poles))


def test_a_pendulum_with_a_motor(tmp_path):
    case = Case("linear_motor_pendulum")
    s = case.setup
    at = s["operating_point"]
    hub = s["inertia_of_hub_kg_m2"]
    text = "gravity = [0, 0, -9.81]\n" + table(
        "body",
        name="rod",
        mass=s["mass_kg"],
        com=[0, 0, -s["length_m"]],
        inertia=dict.fromkeys(("xx", "yy", "zz"), hub),
    )
    text += table(
        "joint",
        name="hinge",
        type="revolute",
        axis=[0, 1, 0],
        child="rod",
        damping=s["viscous_friction"],
    )
    text += given("voltage", "V", at["voltage_V"])
    keys = {"resistance": s["R_ohm"], "inductance": s["L_H"], "constant": s["k_N_m_A"]}
    text += table(
        "actuator",
        name="motor",
        type="dc_motor",
        joint="hinge",
        command="voltage",
        gear=s["gear"],
        **keys,
    )
    scene = scene_of(tmp_path, text + simulation())
    state = [at["q_rad"]], [at["v"]], [at["current_A"]]
    outputs = ["q.hinge", "motor.current", "motor.force"]
    known = {own.name for own in scene.signals.recorded}
    system = pysim.linearize(
        scene, ["voltage"], [x for x in outputs if x in known or x[1] == "."], state
    )
    for name in "AB":
        case.agrees(name, getattr(system, name))
    case.agrees("poles", poles(system.poles))
    assert np.abs(system.rate).max() < 1e-11
    assert system.states == ("q.hinge", "v.hinge", "motor.current")


def test_an_arm_under_filtered_control(tmp_path):
    case = Case("linear_pd_arm")
    s = case.setup
    at = s["operating_point"]
    text = arm(s, at["q_rad"], [0.0, 0.0])
    for k in (1, 2):
        text += given(f"r{k}", "rad", at["setpoints_rad"][k - 1])
        text += table("sensor", name=f"a{k}", type="coordinates", coordinates=[f"q{k}"])
        keys = {"kp": s["kp"], "kd": s["kd"], "filter": s["derivative_filter_rad_s"]}
        text += table("controller", name=f"c{k}", type="pid", inputs=[f"r{k}", f"a{k}.q"], **keys)
        text += table("actuator", name=f"m{k}", type="force", joint=f"q{k}", command=f"c{k}")
    tip = {"xyz": [s["length_m"][1], 0, 0]}
    text += table("sensor", name="tip", type="pose", frame="link2", at=tip)
    scene = scene_of(tmp_path, text + simulation())
    system = pysim.linearize(scene, ["r1", "r2"], ["tip.position"])
    kept = [k for k, name in enumerate(system.states) if not name.endswith("integral")]
    A = system.A[np.ix_(kept, kept)]
    case.agrees("A", A)
    case.agrees("B", system.B[kept])
    case.agrees("C", system.C[[0, 2]][:, kept])
    case.agrees("D", system.D[[0, 2]])
    case.agrees("poles", poles(np.linalg.eigvals(A)))


def test_a_four_bar_linkage_with_a_spring(tmp_path):
    case = Case("linear_four_bar")
    s = case.setup
    at = s["operating_point"]
    rods = {
        "crank": (s["crank_m"], s["masses_kg"][0]),
        "coupler": (s["coupler_m"], s["masses_kg"][1]),
        "rocker": (s["rocker_m"], s["masses_kg"][2]),
    }
    text = "gravity = [0, 0, -9.81]\n"
    for name, (length, m) in rods.items():
        own = m * length**2 / 12
        text += table(
            "body",
            name=name,
            mass=m,
            com=[length / 2, 0, 0],
            inertia={"xx": 1e-9, "yy": own, "zz": own},
        )
    turn = {"type": "revolute", "axis": [0, -1, 0]}
    crank, rocker = at["crank_rad"], at["rocker_rad"]
    text += table("joint", name="crank", child="crank", start=crank, **turn)
    text += table(
        "joint",
        name="coupler",
        parent="crank",
        child="coupler",
        at={"xyz": [s["crank_m"], 0, 0]},
        start=at["coupler_rad"] - crank,
        **turn,
    )
    text += table(
        "joint",
        name="rocker",
        child="rocker",
        at={"xyz": [s["ground_m"], 0, 0]},
        start=rocker,
        damping=s["rocker_pivot_friction_N_m_s_rad"],
        stiffness=s["rocker_spring_N_m_rad"],
        rest=rocker + 0.2,
        **turn,
    )
    text += table(
        "loop",
        name="pin",
        a="coupler",
        b="rocker",
        at_a={"xyz": [s["coupler_m"], 0, 0]},
        at_b={"xyz": [s["rocker_m"], 0, 0]},
        **turn,
    )
    text += given("torque", "N·m", at["holding_torque_N_m"])
    text += table("actuator", name="drive", type="force", joint="crank", command="torque")
    middle = {"xyz": [s["coupler_m"] / 2, 0, 0]}
    text += table("sensor", name="middle", type="pose", frame="coupler", at=middle)
    scene = scene_of(tmp_path, text + simulation())
    system = pysim.linearize(
        scene, ["torque"], ["q.crank", "v.crank", "q.rocker", "v.rocker", "middle.position"]
    )
    T = system.C[:2]  # to the crank's coordinates
    back = np.linalg.inv(T)
    case.agrees("A", T @ system.A @ back)
    case.agrees("B", T @ system.B)
    case.agrees("C", (system.C @ back)[[2, 3, 4]])
    case.agrees("D", system.D[[2, 3, 4]])
    case.agrees("poles", poles(system.poles))
    assert np.abs(system.rate).max() < 1e-9


def cart_pole(tmp_path, s, **run):
    text = "gravity = [0, 0, -9.81]\n"
    text += table("body", name="cart", mass=s["cart_kg"], inertia=SMALL)
    text += table(
        "body",
        name="pole",
        mass=s["pole_kg"],
        com=[0, 0, s["com_distance_m"]],
        inertia=dict.fromkeys(("xx", "yy", "zz"), s["pole_inertia_com_kg_m2"]),
    )
    text += table(
        "joint",
        name="x",
        type="prismatic",
        axis=[1, 0, 0],
        child="cart",
        damping=s["cart_friction_N_s_m"],
    )
    text += table(
        "joint", name="hinge", type="revolute", axis=[0, 1, 0], parent="cart", child="pole"
    )
    text += given("push", "N")
    text += table("actuator", name="drive", type="force", joint="x", command="push")
    return scene_of(tmp_path, text + simulation(**run))


def test_gains_of_a_cart_with_a_pole_continuous_and_sampled(tmp_path):
    case = Case("lqr_cart_pole")
    s = case.setup
    system = pysim.linearize(cart_pole(tmp_path, s))
    case.agrees("A", system.A)
    case.agrees("B", system.B)
    found = pysim.lqr(system, s["Q_diagonal"], s["R"])
    case.agrees("K (u", found.K)
    case.agrees("closed-loop poles", poles(found.poles))
    h = 0.02
    sampled = pysim.linearize(cart_pole(tmp_path, s, integrator="rk4"), period=h)
    assert sampled.period == h
    gains = pysim.lqr(sampled, h * np.array(s["Q_diagonal"]), h * s["R"])
    case.agrees("K, discrete", gains.K)
    case.agrees("closed-loop eigenvalues", poles(gains.poles))
