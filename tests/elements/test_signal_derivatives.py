"""Derivatives of actuators, controllers, sensors and driven forces of the library, as implicit schemes use them.

Oracle: complex steps of the recorded forces and rates along every motion of their inputs, to 1e-12.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.elements.block import ACTUATORS, CONTROLLERS, SENSORS, find_block
from pysim.elements.bounded_forces import BoundedForces
from pysim.elements.force import FORCES, depends_on_signals, find_force
from pysim.elements.graph.builder import GraphBuilder
from pysim.elements.signal_derivatives import SignalDerivatives
from pysim.mechanism import signal_compiler
from pysim.tracing.evaluation import evaluate, rate
from tests.elements.blocks import constant, scene_of, simulation, table

BODY = {"mass": 1.0, "com": [0.1, 0, 0.2], "inertia": {"xx": 0.2, "yy": 0.3, "zz": 0.25}}
PATH = [{"body": "world", "point": [0.3, 0, 1.0]}, {"body": "two", "point": [0, 0.3, 0.1]}]
OBSTACLE = {"body": "one", "cylinder": 0.1, "at": {"xyz": [0.2, 0.1, 0.4]}}
JOINTS = ["bend", "slide"]
TYRE = Path(__file__).parents[1] / "data" / "tyres" / "car.tir"


def mechanism():
    text = "".join(table("body", name=name, **BODY) for name in ("one", "three", "two"))
    turn = {"axis": [0.6, 0, 0.8], "at": {"xyz": [0.2, 0.1, 0.3]}}
    return (
        text
        + table("joint", name="free", type="free", child="one")
        + table("joint", name="bend", type="revolute", parent="one", child="three", **turn)
        + table(
            "joint", name="slide", type="prismatic", parent="three", child="two", axis=[0, 0.6, 0.8]
        )
        + table("sensor", name="both", type="coordinates", coordinates=JOINTS)
        + table("sensor", name="bent", type="coordinates", coordinates=["bend"])
        + table("sensor", name="turning", type="rates", coordinates=["free.wx"])
        + table("sensor", name="place", type="pose", frame="two", relative_to="one")
        + table("sensor", name="motion", type="twist", frame="two", axes="base")
        + table("sensor", name="reach", type="distance", path=[PATH[0], OBSTACLE, PATH[1]])
        + table("sensor", name="sum", type="weighted_sum", coordinates=JOINTS, weights=[0.7, -1.3])
        + table("sensor", name="lean", type="transmission_angle", frame="two", relative_to="one")
        + table("sensor", name="ratio", type="mechanical_advantage", coordinates=JOINTS)
    )


def without_unit(signal):
    """Return the name of a gain of 1 whose output fits every unit, and its table."""
    name = f"any_unit_{re.sub(r'[^a-z]', '_', signal)}"
    return name, table("controller", name=name, type="gain", inputs=[signal], gain=1.0)


def force(command, **where):
    name, gain = without_unit(command)
    where = where or {"joint": "bend"}
    return gain + table("actuator", name="motor", type="force", command=name, **where)


def affine(kind, **where):
    """Return an affine actuator whose command depends on the state."""
    keys = {"gain": [1.5, -0.4, 0.2], "bias": [0.3, -2.0, -0.7]}
    keys |= (
        {"activation_range": [-5.0, 5.0], "time_constant": 0.3} if kind == "affine_filter" else {}
    )
    gear = {
        "gear": [1.4]
        if where == {"path": PATH}
        else [1.4, -0.6][: len(where.get("coordinates", [1]))]
    }
    return table("actuator", name="motor", type=kind, command="bent.q", **keys, **gear, **where)


MOTOR = {"resistance": 1.2, "inductance": 0.01, "constant": 0.05, "gear": 20.0}
TRACK = ["both.q", "both.v", "both.v", "both.q", "both.v"]
SYSTEMS = {
    "force": force("bent.q") + force("reach.length", path=PATH).replace('"motor"', '"pull"'),
    "position_servo": table(
        "actuator",
        name="m",
        type="position_servo",
        joint="slide",
        command="sum.length",
        kp=3.0,
        kd=2.0,
    ),
    "velocity_servo": table(
        "actuator", name="m", type="velocity_servo", joint="slide", command="sum.rate", kd=2.0
    ),
    "dc_motor": table("actuator", name="m", type="dc_motor", joint="bend", command="volts", **MOTOR)
    + constant("volts", 12.0, "V"),
    "winch": table(
        "actuator", name="m", type="winch", path=[PATH[0], OBSTACLE, PATH[1]], command="sum.length"
    ),
    "rope_winch": table(
        "actuator",
        name="m",
        type="rope_winch",
        path=PATH,
        command="reach.length",
        stiffness=40.0,
        damping=3.0,
    ),
    "motor": without_unit("bent.q")[1]
    + table(
        "actuator",
        name="m",
        type="motor",
        coordinates=JOINTS,
        command=without_unit("bent.q")[0],
        gear=[2.0, -0.5],
        gain=3.0,
    ),
    "affine": affine("affine", coordinates=JOINTS),
    "affine_filter": affine("affine_filter", path=PATH),
    "affine_integrator": affine("affine_integrator", joint="bend"),
    "pd": table(
        "controller",
        name="c",
        type="pd",
        inputs=["both.v", "both.q", "both.v"],
        kp=[3.0, 4.0],
        kd=0.7,
    ).replace('"both.v", "both.q"', '"both.q", "both.q"')
    + force("c", coordinates=JOINTS),
    "pid": constant("aim", 0.3, "rad")
    + table(
        "controller",
        name="c",
        type="pid",
        inputs=["aim", "bent.q"],
        kp=3.0,
        ki=2.0,
        kd=0.4,
        limit=5.0,
        back_calculation=0.7,
    )
    + force("c"),
    "trajectory_follower": constant("aim", [0.3, -0.2])
    + table(
        "controller",
        name="c",
        type="trajectory_follower",
        inputs=["aim", "aim.rate", "aim.acceleration", "both.q", "both.v"],
        kp=3.0,
        kd=0.4,
    )
    + force("c", coordinates=JOINTS),
    "impedance": constant("aim", [0.3, -0.2])
    + table(
        "controller",
        name="c",
        type="impedance",
        inputs=["aim", "both.q", "both.v"],
        stiffness=[[3.0, 0.5], [0.5, 2.0]],
        damping=[[0.4, -0.1], [-0.1, 0.3]],
    )
    + force("c", coordinates=JOINTS),
    "state_feedback": table(
        "controller",
        name="c",
        type="state_feedback",
        inputs=["both.q", "both.v"],
        gain=[[3.0, -2.0, 0.4, 0.3]],
    )
    + force("c"),
    "sensors": "".join(
        force(name).replace('"motor"', f'"{k}"')
        for k, name in enumerate(
            [
                "turning",
                "place.position[1]",
                "place.orientation[2]",
                "motion.velocity[0]",
                "motion.rate[1]",
                "reach.rate",
                "sum.length",
            ]
        )
    ),
    "thruster": table(
        "force",
        name="t",
        type="thruster",
        b="two",
        command="reach.length",
        torque_axis=[0.1, 0.2, 0.3],
    ),
    "torque_speed": table(
        "actuator",
        name="m",
        type="torque_speed",
        joint="bend",
        command="sum.length",
        speed=[0.1, 0.4, 0.9],
        limit=[0.9, 0.5, 0.1],
    ),
    "clutch": table(
        "force",
        name="c",
        type="clutch",
        coordinates=JOINTS,
        capacity=2.0,
        engagement="bent.q",
        rounding_speed=0.3,
    ),
    "low_pass": table("controller", name="c", type="low_pass", inputs=["both.q"], time_constant=0.3)
    + force("c", coordinates=JOINTS),
    "rate_limiter": table(
        "controller",
        name="c",
        type="rate_limiter",
        inputs=["bent.q"],
        rising=0.3,
        time_constant=0.5,
    )
    + force("c"),
    "transfer_function": table(
        "controller",
        name="c",
        type="transfer_function",
        inputs=["bent.v"],
        numerator=[2.0, 0.3, 1.0],
        denominator=[0.5, 0.7, 2.0],
    )
    + force("c"),
    "state_space": table(
        "controller",
        name="c",
        type="state_space",
        inputs=["both.q"],
        A=[[-1.0, 0.4], [0.3, -2.0]],
        B=[[1.0, 0.2], [0.0, 0.7]],
        C=[[0.5, -0.3]],
        D=[[0.1, 0.9]],
    )
    + force("c"),
    "gain": table("controller", name="c", type="gain", inputs=["bent.q"], gain=-3.0) + force("c"),
    "transmission_angle": force("lean"),
    "mechanical_advantage": force("ratio"),
    "sum": table(
        "controller", name="c", type="sum", inputs=["bent.q", "bent.v"], weights=[2.0, -0.4]
    )
    + force("c"),
    "join": table("controller", name="c", type="join", inputs=["bent.q", "sum.length"])
    + force("c", coordinates=JOINTS),
    "matrix": table(
        "controller",
        name="c",
        type="matrix",
        inputs=["both.q"],
        matrix=[[2.0, -0.4], [0.3, 1.1]],
        offset=[0.2, 0.1],
    )
    + force("c", coordinates=JOINTS),
    "saturation": table(
        "controller", name="c", type="saturation", inputs=["bent.q"], lower=0.3, upper=0.7
    )
    + force("c"),
    "dead_zone": table(
        "controller", name="c", type="dead_zone", inputs=["bent.q"], lower=0.3, upper=0.7
    )
    + force("c"),
    "lugre_friction": table(
        "force",
        name="f",
        type="lugre_friction",
        coordinates=JOINTS,
        kinetic=1.0,
        static=1.5,
        stribeck_speed=0.4,
        bristle_stiffness=30.0,
        bristle_damping=2.0,
        viscous=0.3,
    ),
}
MUSCLE = {
    "excitation": without_unit("bent.q")[0],
    "max_isometric_force": 3.0,
    "optimal_fibre_length": 0.4,
    "tendon_slack_length": 0.5,
    "pennation_angle": 0.3,
}
SOFT = {"tendon_strain": 1.0, "tendon_slope": 1.375}  # inputs are not those of a muscle
WHEEL = {"b": "two", "radius": 1.4, "stiffness": 2e3, "damping": 30.0, "carcass_damping": 0.1}
CYLINDER = {"areas": [1.3, 0.8], "volumes": [0.9, 1.4], "supply": 2.0}
SYSTEMS |= {
    "propeller": table(
        "force", name="f", type="propeller", b="two", thrust=2.0, torque=0.3, speed="bent.v"
    ),
    "thelen_muscle": without_unit("bent.q")[1]
    + table("force", name="f", type="thelen_muscle", path=PATH, **MUSCLE, tendon_strain=1.0),
    "millard_muscle": without_unit("bent.q")[1]
    + table("force", name="f", type="millard_muscle", path=PATH, **MUSCLE, **SOFT),
    "rigid_tendon_muscle": without_unit("bent.q")[1]
    + table("force", name="f", type="rigid_tendon_muscle", path=PATH, **MUSCLE),
    "degroote_fregly_muscle": without_unit("bent.q")[1]
    + table(
        "force", name="f", type="degroote_fregly_muscle", path=PATH, **MUSCLE, tendon_strain=1.0
    ),
    "rigid_degroote_fregly_muscle": without_unit("bent.q")[1]
    + table("force", name="f", type="rigid_degroote_fregly_muscle", path=PATH, **MUSCLE),
    "mujoco_muscle": without_unit("bent.q")[1]
    + table(
        "actuator",
        name="m",
        type="mujoco_muscle",
        path=PATH,
        command=without_unit("bent.q")[0],
        peak_force=3.0,
        length_range=[0.1, 1.4],
        smoothing=0.5,
        max_contraction_velocity=4.0,
    ),
    "brush_tyre": table(
        "force",
        name="f",
        type="brush_tyre",
        **WHEEL,
        bristle_stiffness=30.0,
        half_length=0.4,
        friction=0.7,
        rolling_resistance=0.1,
    ),
    "pacejka_tyre": table(
        "force",
        name="f",
        type="pacejka_tyre",
        **WHEEL,
        lateral=[1.4, -25, 1100, 1100, 10, 0, 0, -1.5, 0, 0, 0.02, 5, 10, -6, 2, 2e-4, 0, -0.2],
        longitudinal=[1.65, -20, 1200, 5, 250, 0.03, 0.01, -0.05, -0.5, 0, 0, 2, -5, 0.1],
    ),
    "magic_formula_tyre": table(
        "force", name="f", type="magic_formula_tyre", **WHEEL, file="car.tir"
    ),
    "lookup": table(
        "controller",
        name="c",
        type="lookup",
        inputs=["bent.q"],
        x=[0.1, 0.5, 1.0],
        values=[2.0, -1.0, 3.0],
        interpolation="natural",
    )
    + force("c"),
    "lookup_2d": table(
        "controller",
        name="c",
        type="lookup_2d",
        inputs=["bent.q", "bent.v"],
        x=[0.1, 0.5, 1.0],
        y=[0.0, 0.6, 1.0],
        values=[[2.0, -1.0, 3.0], [0.5, 1.0, -2.0], [0.3, 0.1, 0.7]],
        interpolation="cubic",
    )
    + force("c"),
    "multirotor": constant("there", [0.4, -0.3, 0.9], "m")
    + table(
        "controller",
        name="c",
        type="multirotor",
        inputs=["there", "place.position", "place.orientation", "motion.velocity", "motion.rate"],
        mass=1.2,
        inertia=[0.2, 0.3, 0.4],
        rotors=[[0.3, 0.2], [-0.3, 0.2], [-0.3, -0.2], [0.3, -0.2]],
        spins=[1, -1, 1, -1],
        thrust=0.3,
        torque=0.1,
    )
    + force("c[0]").replace('"motor"', '"m"'),
    "series_elastic": without_unit("bent.q")[1]
    + table(
        "actuator",
        name="m",
        type="series_elastic",
        joint="slide",
        command=without_unit("bent.q")[0],
        stiffness=30.0,
        inertia=0.4,
        damping=0.7,
        friction=0.2,
    ),
    "hydraulic_cylinder": without_unit("bent.q")[1]
    + table(
        "actuator",
        name="m",
        type="hydraulic_cylinder",
        joint="slide",
        command=without_unit("bent.q")[0],
        **CYLINDER,
        valve=0.3,
        tank=0.1,
        bulk_modulus=5.0,
        leakage=0.2,
        laminar_pressure=0.1,
    ),
    "pneumatic_cylinder": without_unit("bent.q")[1]
    + table(
        "actuator",
        name="m",
        type="pneumatic_cylinder",
        joint="slide",
        command=without_unit("bent.q")[0],
        **CYLINDER,
        conductance=1e-6,
        ambient=0.1,
    ),
}
BETWEEN_LIMITS = "servo between limits"  # of its range, and of effort and speed of its drive
SYSTEMS[BETWEEN_LIMITS] = (
    table("body", name="four", **BODY)
    + table(
        "joint",
        name="limited",
        type="prismatic",
        parent="two",
        child="four",
        axis=[1, 0, 0],
        effort_limit=1.5,
        velocity_limit=1.0,
        velocity_band=0.5,
    )
    + constant("aim", 0.7, "m")
    + table(
        "actuator",
        name="m",
        type="position_servo",
        joint="limited",
        command="aim",
        kp=9.0,
        kd=2.0,
        force_range=[-2.0, 1.8],
    )
)
NETWORKS = {
    "mlp",
    "learned_policy",
    "actuator_network",
}  # sums and functions that tests/tracing/test_linear.py differentiates
INVERSE_DYNAMICS = {"computed_torque", "gravity_compensation"}  # whose derivatives are left out
READ_ALONE = {  # not by continuous forces, or nothing but what they read of others
    "acceleration", "imu", "force_torque", "noisy", "power", "energy", "relay", "delay", "up",
    "variable_delay", "contact", "height_scan", "moment", "tension", "curvature", "strain", "fmu",
}  # fmt: skip
USED = {"coordinates", "rates", "pose", "twist", "distance", "weighted_sum"}


def graph_of(tmp_path, monkeypatch, text):
    """Return the graph of a scene."""
    instances = []

    class Kept(GraphBuilder):
        def compile(self, *arguments):
            instances.append(self)
            return super().compile(*arguments)

    monkeypatch.setattr(signal_compiler, "GraphBuilder", Kept)
    (tmp_path / "car.tir").write_bytes(TYRE.read_bytes())
    scene_of(tmp_path, mechanism() + text + simulation("generalized_alpha"))
    return instances[-1]


@pytest.mark.parametrize("name", SYSTEMS)
def test_derivatives_along_the_motions_of_the_inputs_are_those_of_complex_steps(
    tmp_path, monkeypatch, rng, name
):
    graph = graph_of(tmp_path, monkeypatch, SYSTEMS[name])
    efforts = graph.forces.on_ports(graph.driven)
    rows = [*graph.forces.on_coordinates().values(), *efforts, *graph._rates()[: graph._coupled]]
    derivatives = SignalDerivatives(graph.symbols, graph.groups, graph._coupled)
    motions = {(kind, index): rates for kind, index, rates in derivatives._motions(rows)}
    nodes, places = derivatives.of(rows)
    tape, count = graph.tape, graph.symbols._count
    x = rng.uniform(0.2, 0.9, (count, 8))
    listed = {
        (row, kind, index): node for node, (row, kind, index) in zip(nodes, places, strict=True)
    }
    assert listed
    for (kind, index), rates in motions.items():
        along = np.zeros_like(x)
        for number, node in rates.items():
            along[number] = evaluate(tape, x, [node])[0]
        exact = rate(tape, x, along, rows)
        for row, wanted in enumerate(exact):
            node = listed.get((row, kind, index))
            given = np.zeros(8) if node is None else evaluate(tape, x, [node])[0]
            inside = np.isfinite(wanted)  # of what the element is defined for
            assert inside.sum() >= 7
            size = 1 + abs(wanted[inside]).max()
            np.testing.assert_allclose(given[inside], wanted[inside], rtol=1e-12, atol=1e-12 * size)


def test_a_servo_between_limits_is_its_x_within_bounds_and_36_instructions_with_its_slopes(
    tmp_path, monkeypatch, rng
):
    """Every step runs them. Oracles: the force, and complex steps of x."""
    graph = graph_of(tmp_path, monkeypatch, SYSTEMS[BETWEEN_LIMITS])
    (row,), tape = graph.forces.on_coordinates().values(), graph.tape
    bounded = BoundedForces(graph.symbols, graph._coupled).of(row)
    x = rng.uniform(-1.4, 1.4, (graph.symbols._count, 50))
    force, rest, inner, lower, upper = evaluate(tape, x, [row, bounded.rest, *bounded.nodes])
    np.testing.assert_allclose(force, rest + np.clip(inner, lower, upper), atol=1e-14)
    assert 5 < ((lower < inner) & (inner < upper)).sum() < 45
    derivatives = SignalDerivatives(graph.symbols, graph.groups, graph._coupled)
    slopes, inner_slopes = (derivatives.of([node])[0] for node in (row, bounded.x))
    rates = [rates for _, _, rates in derivatives._motions([row])]
    for node, ((number, _),) in zip(inner_slopes, map(dict.items, rates), strict=True):
        along = np.zeros_like(x)
        along[number] = 1
        exact = rate(tape, x, along, [bounded.x])[0]
        np.testing.assert_allclose(evaluate(tape, x, [node])[0], exact, atol=1e-12)
    program = graph.symbols.program([*slopes, *bounded.nodes, *inner_slopes]).program
    assert len(program.code) <= 36


def test_every_element_of_the_library_is_among_them():
    find_block("controller", "pd")
    find_force("rope")
    in_library = {
        name
        for kind in (ACTUATORS, CONTROLLERS, SENSORS)
        for name, plugin in kind.registered.items()
        if plugin.__module__.startswith("pysim.")
    }
    in_library |= {
        name
        for name, plugin in FORCES.registered.items()
        if plugin.__module__.startswith("pysim.") and depends_on_signals(name)
    }
    assert in_library == {*SYSTEMS, *INVERSE_DYNAMICS, *NETWORKS, *READ_ALONE, *USED} - {
        "sensors",
        BETWEEN_LIMITS,
    }


@pytest.mark.filterwarnings("ignore:.*the run gained:pysim.PysimWarning")  # by long steps
def test_a_stiff_actuator_on_a_path_converges_with_order_2_in_implicit_steps(tmp_path):
    """Newton's method takes the slopes of the path in the engine. Oracle: dopri5."""
    text = mechanism().replace(
        'name = "bend"\n', 'name = "bend"\nstart = { q = 0.3, v = 1.0 }\n', 1
    )
    text += table("sensor", name="own", type="distance", path=PATH) + constant("want", 1.1, "m")
    inputs = ["want", "own.length", "own.rate"]  # a positive force shortens the path
    text += table("controller", name="pd", type="pd", inputs=inputs, kp=-1e5, kd=-1e3)
    text += table("actuator", name="rope", type="force", path=PATH, command="pd")
    keys = {"duration": 0.1, "interval": 0.02}
    exact = pysim.simulate(scene_of(tmp_path, text + simulation("dopri5", **keys)))
    errors = []
    for step in (1e-3, 5e-4, 2.5e-4):
        run = simulation("generalized_alpha", step=step, **keys)
        errors.append(np.abs(pysim.simulate(scene_of(tmp_path, text + run)).q - exact.q).max())
    np.testing.assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 2, atol=0.05)
    assert errors[-1] < 1e-3
