"""Propeller, cylinders and series elastic actuator.

Oracles: `propeller_lift`, `series_elastic`, `hydraulic_cylinder` and `pneumatic_spring` of
tests/data/reference/elements; the filling of a vessel through a choked valve.
"""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from tests.elements.blocks import constant, mass, run_at, scene_of, simulation, states, table
from tests.elements.reference_cases import Case


def test_a_propeller_lifts_a_body(tmp_path):
    case = Case("propeller_lift")
    s = case.setup
    inertia = dict.fromkeys(("xx", "yy", "zz"), s["inertia_about_z_kg_m2"])
    keys = {"thrust": s["thrust_N_s2"], "torque": s["torque_N_m_s2"], "speed": "speed"}
    text = f"gravity = [0, 0, {-s['gravity_m_s2']!r}]\n"
    text += table("body", name="hull", mass=s["mass_kg"], inertia=inertia)
    text += table("joint", name="mast", type="cylindrical", child="hull")
    text += table("force", name="rotor", type="propeller", b="hull", **keys)
    ramp = {"t": [0.0, 10.0], "values": [900.0, 1200.0], "unit": "rad/s"}
    run, rows = run_at(
        tmp_path, text + table("signal", name="speed", type="table", **ramp), case.at("z, vz")
    )
    lift = run.header.coordinate_units.index("m")
    both = [run.q[rows, lift], run.v[rows, lift], run.q[rows, 1 - lift], run.v[rows, 1 - lift]]
    case.agrees("z, vz", np.column_stack(both))


def test_a_series_elastic_actuator_has_its_motor_as_a_state(tmp_path):
    case = Case("series_elastic")
    s = case.setup
    I = s["link_inertia_kg_m2"]
    text = "gravity = [0, 0, 0]\n"
    text += table("body", name="link", mass=1, inertia=dict.fromkeys(("xx", "yy", "zz"), I))
    friction = s["link_friction_N_m_s_rad"]
    text += table("joint", name="hinge", type="revolute", child="link", damping=friction)
    wave = {"amplitude": 2.0, "offset": 2.0, "frequency": 2 * np.pi * 1.5, "unit": "N·m"}
    text += table("signal", name="u", type="sine", **wave)
    keys = {
        "stiffness": s["spring_N_m_rad"],
        "damping": s["spring_damping_N_m_s_rad"],
        "inertia": s["motor_inertia_at_joint_kg_m2"],
        "friction": s["motor_friction_N_m_s_rad"],
    }
    text += table(
        "actuator", name="drive", type="series_elastic", joint="hinge", command="u", **keys
    )
    run, rows = run_at(tmp_path, text, case.at("qm, ql"))
    own = [run.signals["drive.angle"], run.q[:, 0], run.signals["drive.velocity"], run.v[:, 0]]
    case.agrees("qm, ql", np.column_stack(own)[rows])
    case.agrees("spring torque", run.signals["effort.hinge"][rows])


def hydraulic(s):
    """Return a slide with a hydraulic cylinder, a load and viscous friction."""
    text = mass(s["mass_kg"]).replace(
        'child = "mass"', f'child = "mass"\ndamping = {s["viscous_friction_N_s_m"]}'
    )
    times, openings = zip(*s["valve_opening"], strict=True)
    steps = {"t": [*times, 10.0], "values": [*openings, openings[-1]]}
    text += table("signal", name="u", type="table", interpolation="previous", **steps)
    text += table("actuator", name="load", joint="x", offset=-s["constant_load_N"])
    keys = {
        "areas": s["areas_m2"],
        "volumes": s["volumes_at_x0_m3"],
        "valve": s["valve_m3_s_sqrtPa"],
        "supply": s["supply_Pa"],
        "tank": s["tank_Pa"],
        "bulk_modulus": s["bulk_modulus_Pa"],
        "leakage": s["leakage_m3_s_Pa"],
        "initial_pressures": [4e6, 5e6],
    }
    return text + table(
        "actuator", name="cylinder", type="hydraulic_cylinder", joint="x", command="u", **keys
    )


def test_a_hydraulic_cylinder_moves_a_load(tmp_path):
    case = Case("hydraulic_cylinder")
    run, rows = run_at(tmp_path, hydraulic(case.setup), case.at("x, v"))
    pressures = run.signals["cylinder.pressures"]
    case.agrees("x, v", np.hstack([run.q, run.v, pressures])[rows])


def test_a_hydraulic_cylinder_reaches_its_steady_speed(tmp_path):
    case = Case("hydraulic_cylinder")
    s = case.setup | {"valve_opening": [[0, 0.5], [4, 0.5]], "volumes_at_x0_m3": [4e-4, 1e-3]}
    text = hydraulic(s) + simulation(duration=4.0, interval=1.0)
    run = pysim.simulate(scene_of(tmp_path, text))
    assert run.v[-1, 0] == pytest.approx(case.expected("steady speed")["value"], rel=1e-6)


def test_a_closed_pneumatic_cylinder_is_a_gas_spring(tmp_path):
    """The second chamber is so large that its pressure stays that of the ambient."""
    case = Case("pneumatic_spring")
    s = case.setup
    A, p0, pa = s["area_m2"], s["pressure_at_x0_Pa"], s["ambient_Pa"]
    n, V0, start = s["polytropic_exponent"], s["volume_at_x0_m3"], s["start_x_m"]
    text = mass(s["mass_kg"], q=start) + constant("u", 0.0)
    text += table("actuator", name="load", joint="x", offset=-(p0 - pa) * A)
    first = p0 * (V0 / (V0 + A * start)) ** n
    text += table(
        "actuator",
        name="cylinder",
        type="pneumatic_cylinder",
        joint="x",
        command="u",
        areas=[A, A],
        volumes=[V0, 1e9],
        supply=6e5,
        conductance=1e-8,
        ambient=pa,
        exponent=n,
        initial_pressures=[first, pa],
    )
    run, rows = run_at(tmp_path, text, case.at("x, v"))
    case.agrees("x, v", states(run, rows))
    case.agrees("pressure", run.signals["cylinder.pressures"][rows, 0])


def test_a_vessel_fills_at_a_constant_rate_while_its_valve_is_choked(tmp_path):
    """p′ V = n C p_s · 100 kPa · √(T/T₀) as long as p is below the critical ratio b of the supply p_s."""
    V, C, supply, n = 1e-3, 2e-9, 8e5, 1.2
    text = mass(1e12) + constant("u", 1.0)
    text += table(
        "actuator",
        name="cylinder",
        type="pneumatic_cylinder",
        joint="x",
        command="u",
        areas=[1e-3, 1e-3],
        volumes=[V, V],
        supply=supply,
        conductance=C,
        temperature=300.0,
        exponent=n,
    )
    rate = float(n * C * supply * 1e5 * np.sqrt(300 / 293.15) / V)
    end = (0.3 * supply - 101325) / rate
    run = simulation(duration=3 * end, interval=0.25 * end)
    run = pysim.simulate(scene_of(tmp_path, text + run))
    p = run.signals["cylinder.pressures"][:, 0]
    choked = run.t < 0.99 * end
    np.testing.assert_allclose(p[choked], 101325 + rate * run.t[choked], rtol=1e-9)
    assert (np.diff(p) > 0).all()
    assert p[-1] < supply
    np.testing.assert_allclose(run.signals["cylinder.pressures"][:, 1], 101325, rtol=1e-9)


@pytest.mark.parametrize(
    ("kind", "keys", "message"),
    [
        ("hydraulic_cylinder", {"areas": [1e-3, -1e-3]}, "areas"),
        ("pneumatic_cylinder", {"critical_ratio": 1.0, "conductance": 1e-8}, "critical_ratio"),
        ("pneumatic_cylinder", {"laminar_ratio": 0.2, "conductance": 1e-8}, "laminar_ratio"),
    ],
)
def test_impossible_numbers_of_a_cylinder_are_rejected_with_their_keys(
    tmp_path, kind, keys, message
):
    own = {"areas": [1e-3, 1e-3], "volumes": [1e-3, 1e-3], "supply": 6e5} | keys
    if kind == "hydraulic_cylinder":
        own["valve"] = 1e-7
    text = mass(1.0) + constant("u", 0.0)
    text += table("actuator", name="cylinder", type=kind, joint="x", command="u", **own)
    with pytest.raises(pysim.SceneError, match=message):
        scene_of(tmp_path, text + simulation())


def test_an_impedance_turns_a_body_to_its_orientation_as_a_torsional_pendulum(tmp_path):
    """Small turns about an axis: I θ'' = −k θ − d θ', overdamped to the target."""
    text = "gravity = [0, 0, 0]\n"
    text += table("body", name="tool", mass=1, inertia=dict.fromkeys(("xx", "yy", "zz"), 0.5))
    start = {"axis_angle": [0.0, 0.0, 1.0, 0.301]}
    text += table("joint", name="wrist", type="ball", child="tool", start=start)
    half = [0.0, 0.0, float(np.sin(0.15)), float(np.cos(0.15))]
    text += table(
        "force",
        name="hold",
        type="impedance",
        b="tool",
        position=[0.0, 0.0, 0.0],
        stiffness=np.zeros((3, 3)).tolist(),
        orientation=half,
        turning_stiffness=8.0,
        turning_damping=1.0,
    )
    run = pysim.simulate(scene_of(tmp_path, text + simulation(duration=3.0, interval=0.25)))
    angle = 2 * np.arctan2(run.q[:, 2], run.q[:, 3]) - 0.3
    a, w = 1.0, np.sqrt(16 - 1)
    exact = 1e-3 * np.exp(-a * run.t) * (np.cos(w * run.t) + a / w * np.sin(w * run.t))
    np.testing.assert_allclose(angle, exact, atol=1e-8)
