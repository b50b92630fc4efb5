"""Reference cases of elements that users write: blocks with states, a propeller, and a drive with an elastic gear.

Oracles: `transfer_function`, `state_space`, `propeller_lift`, `series_elastic` of tests/data/reference/elements.
"""

from __future__ import annotations

import numpy as np

import pysim
from pysim.controllers import Controller, controller, real, signal
from pysim.forces import Force, Signal, Wrench, force
from tests.elements.blocks import mass, run_at, scene_of, simulation, states, table
from tests.elements.reference_cases import Case

SPEED = Signal["rad/s"]


@controller("reference_transfer_function")
class TransferFunction(Controller):
    """Transfer function of third order in controller canonical form; coefficients from the highest power."""

    inputs = signal("u")
    outputs = signal("y")
    states = real("x", size=3)
    numerator: tuple[float, ...]
    denominator: tuple[float, ...]

    def state_rate(self, inputs, x):
        feedback = sum(a * z for a, z in zip(self.denominator[:0:-1], x, strict=True))
        return [x[1], x[2], inputs.u - feedback]

    def output(self, x):
        return sum(b * z for b, z in zip(self.numerator[::-1], x, strict=True))


@controller("reference_state_space")
class StateSpace(Controller):
    """x' = A x + B u, y = C x + D u; matrices row by row."""

    inputs = signal("u1") * signal("u2")
    outputs = signal("y1") * signal("y2")
    states = real("x", size=2)
    A: tuple[tuple[float, ...], ...]
    B: tuple[tuple[float, ...], ...]
    C: tuple[tuple[float, ...], ...]
    D: tuple[tuple[float, ...], ...]
    x0: tuple[float, ...]

    def start(self):
        return {"x": self.x0}

    def state_rate(self, inputs, x):
        return np.array(self.A) @ x + np.array(self.B) @ [inputs.u1, inputs.u2]

    def output(self, inputs, x):
        return tuple(np.array(self.C) @ x + np.array(self.D) @ [inputs.u1, inputs.u2])


@force("reference_propeller")
class Propeller(Force):
    """Thrust and drag torque of a rotor along z of frame b."""

    thrust: float  # [N/(rad/s)²]
    torque: float  # [N·m/(rad/s)²]
    speed: SPEED  # type: ignore[valid-type]

    def wrench(self):
        square = self.speed * abs(self.speed)
        return Wrench(force=(0, 0, self.thrust * square), torque=(0, 0, -self.torque * square))


def test_a_transfer_function(tmp_path):
    case = Case("transfer_function")
    s = case.setup
    wave = {"amplitude": 0.5, "frequency": 2 * np.pi * 0.7, "offset": 1.0}
    keys = {"numerator": s["numerator"], "denominator": s["denominator"]}
    text = mass(1.0) + table("signal", name="u", type="sine", **wave)
    text += table("controller", name="y", type="reference_transfer_function", inputs=["u"], **keys)
    run, rows = run_at(tmp_path, text, case.at("output"))
    case.agrees("output", run.signals["y"][rows])


def test_a_state_space_block_reads_a_table(tmp_path):
    case = Case("state_space")
    s = case.setup
    text = mass(1.0)
    for k in (0, 1):
        values = [row[k] for row in s["table_u"]]
        keys = {"t": s["table_t_s"], "values": values, "outside": "hold"}
        text += table("signal", name=f"u{k + 1}", type="table", **keys)
    keys = {key: s[key] for key in ("A", "B", "C", "D", "x0")}
    text += table("controller", name="y", type="reference_state_space", inputs=["u1", "u2"], **keys)
    run, rows = run_at(tmp_path, text, case.at("states, outputs"))
    outputs = np.column_stack([run.signals["y.y1"], run.signals["y.y2"]])
    case.agrees("states, outputs", np.hstack([run.signals["y.x"], outputs])[rows])


def rotor(s, speed):
    inertia = dict.fromkeys(("xx", "yy", "zz"), s["inertia_about_z_kg_m2"])
    keys = {"thrust": s["thrust_N_s2"], "torque": s["torque_N_m_s2"], "speed": "speed"}
    return (
        f"gravity = [0, 0, {-s['gravity_m_s2']!r}]\n"
        + table("body", name="hull", mass=s["mass_kg"], inertia=inertia)
        + table("joint", name="mast", type="cylindrical", child="hull")
        + table("force", name="rotor", type="reference_propeller", b="hull", **keys)
        + speed
    )


def constant_speed(w):
    return table("signal", name="speed", type="constant", value=w, unit="rad/s")


def test_a_propeller_lifts_a_body(tmp_path):
    case = Case("propeller_lift")
    s = case.setup
    ramp = {"t": [0.0, 10.0], "values": [900.0, 1200.0], "unit": "rad/s"}
    text = rotor(s, table("signal", name="speed", type="table", **ramp))
    run, rows = run_at(tmp_path, text, case.at("z, vz"))
    names = {name.rpartition(".")[2]: k for k, name in enumerate(run.header.coordinate_names)}
    order = list(names.values())
    both = np.stack([run.q, run.v], axis=-1)[rows][:, order]
    lift, turn = (0, 1) if run.header.coordinate_units[order[0]] == "m" else (1, 0)
    case.agrees("z, vz", np.hstack([both[:, lift], both[:, turn]]))
    found = []
    for w in (-100.0, 0.0, 50.0):
        hanging = scene_of(tmp_path, rotor(s, constant_speed(w)) + simulation("rk4"))
        a = pysim.simulate(hanging).a[0][[lift, turn]]
        found.append([s["mass_kg"] * (a[0] + s["gravity_m_s2"]), s["inertia_about_z_kg_m2"] * a[1]])
    case.agrees("thrust and torque", found)
    hover = scene_of(
        tmp_path, rotor(s, constant_speed(case.expected("hover")["value"])) + simulation("rk4")
    )
    assert abs(pysim.simulate(hover).a[0, lift]) < 1e-11


def test_a_series_elastic_drive(tmp_path):
    case = Case("series_elastic")
    s = case.setup
    text = "gravity = [0, 0, 0]\n"
    for name in ("motor", "link"):
        I = s["motor_inertia_at_joint_kg_m2" if name == "motor" else "link_inertia_kg_m2"]
        text += table("body", name=name, mass=1, inertia=dict.fromkeys(("xx", "yy", "zz"), I))
        friction = s[f"{name}_friction_N_m_s_rad"]
        text += table("joint", name=f"{name} axis", type="revolute", child=name, damping=friction)
    k, c = s["spring_N_m_rad"], s["spring_damping_N_m_s_rad"]
    between = ["motor axis", "link axis"]
    text += table(
        "force", name="gear", type="coordinate_spring", coordinates=between, stiffness=k, damping=c
    )
    drive = {"offset": 2.0, "amplitude": 2.0, "frequency": 2 * np.pi * 1.5}
    text += table("actuator", name="drive", joint="motor axis", **drive)
    run, rows = run_at(tmp_path, text, case.at("qm, ql"))
    found = states(run, rows)
    case.agrees("qm, ql", found)
    case.agrees("spring torque", k * (found[:, 0] - found[:, 1]) + c * (found[:, 2] - found[:, 3]))
