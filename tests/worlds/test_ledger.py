"""Energy ledger of runs.

Oracles: the reference case `ledger_spring_damper`, the constancy of energy + dissipated − injected, and the same runs
without a ledger.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import h5py
import numpy as np
import pytest

import pysim
from pysim.cli.summary import work_line
from pysim.integrators import Integrator, integrator
from pysim.joints import Joint, Pose, joint, real
from pysim.render.plots.plot import panels_of
from pysim.render.plots.recorded_quantities import energy_patterns
from pysim.scene.convert import convert
from pysim.simulation import Update, summarize
from pysim.simulation.ledger_monitor import imbalance
from pysim.simulation.summary import WorkSummary
from tests.elements.blocks import (
    FIXED,
    arm,
    constant,
    disc,
    mass,
    motor,
    run_at,
    scene_of,
    simulation,
    table,
)
from tests.elements.reference_cases import Case

ORDERS = {
    "semi_implicit": 1,
    "rk2": 2,
    "rk4": 4,
    "variational": 2,
    "variational4": 4,
    "implicit_midpoint": 2,
    "generalized_alpha": 2,
}
BODY = {"mass": 1.0, "com": [0.1, 0, 0.2], "inertia": {"xx": 0.2, "yy": 0.3, "zz": 0.25}}
STIFFNESS = np.diag([50.0, 60, 70, 5, 6, 7])
BUSHING = {"stiffness": STIFFNESS.tolist(), "damping": (0.02 * STIFFNESS).tolist()}
STRUT = {
    "a": "world",
    "b": "b",
    "at_a": [0, 1, 0],
    "stiffness": 20.0,
    "damping": 0.5,
    "length": 0.4,
}


def spring_damper(setup):
    return (
        mass(setup["mass_kg"], setup["start_x_m"], setup["start_v_m_s"])
        + table(
            "force",
            name="spring",
            type="coordinate_spring",
            coordinates=["x"],
            stiffness=setup["stiffness_N_m"],
            damping=setup["damping_N_s_m"],
        )
        + table("actuator", name="push", joint="x", offset=setup["constant_force_N"])
    )


def motor_run_up():
    return (
        disc(0.1, damping=0.05)
        + table("signal", name="voltage", type="sine", amplitude=10.0, frequency=5.0, unit="V")
        + table(
            "actuator",
            name="motor",
            type="dc_motor",
            joint="hinge",
            command="voltage",
            resistance=1.0,
            inductance=0.05,
            constant=0.5,
            rotor_inertia=0.01,
        )
    )


def driven_arm():
    links = {
        "gravity_m_s2": [0, 0, -9.81],
        "inertia_com_about_axis_kg_m2": [0.1, 0.05],
        "mass_kg": [2.0, 1.0],
        "com_distance_m": [0.3, 0.25],
        "length_m": [0.6, 0.5],
    }
    return (
        arm(links, [0.3, -0.5], [0.0, 1.0])
        + constant("target", [0.5, 0.8], "rad")
        + table(
            "controller", name="pd", type="pd", inputs=["target", "arm.q", "arm.v"], kp=20.0, kd=2.0
        )
        + table("actuator", name="motors", type="force", coordinates=["q1", "q2"], command="pd")
        + table(
            "force",
            name="wind",
            type="linear_drag",
            b="link2",
            at_b=[0.5, 0, 0],
            coefficient=0.4,
            wind=[2, 0, 1],
        )
    )


def closed_loop():
    text = "gravity = [0, 0, -9.81]\n"
    lengths = {"crank": 0.4, "coupler": 0.9, "rocker": 0.8}
    for name, length in lengths.items():
        inertia = {"xx": 0.01, "yy": 0.05, "zz": 0.05}
        text += table("body", name=name, mass=1.0, com=[length / 2, 0, 0], inertia=inertia)
    y = {"type": "revolute", "axis": [0, 1, 0]}
    text += table("joint", name="a", child="crank", start={"q": -1.0, "v": 2.0}, damping=0.1, **y)
    text += table(
        "joint",
        name="b",
        parent="crank",
        child="coupler",
        at={"xyz": [0.4, 0, 0]},
        start={"q": 0.5},
        **y,
    )
    text += table(
        "joint",
        name="d",
        child="rocker",
        at={"xyz": [1, 0, 0]},
        start={"q": -2.0},
        damping=0.2,
        **y,
    )
    text += table(
        "loop", name="pin", type="revolute", a="coupler", b="rocker",
        at_a={"xyz": [0.9, 0, 0]}, at_b={"xyz": [0.8, 0, 0]}, axis=[0, 1, 0],
    )  # fmt: skip
    text += table("signal", name="torque", type="sine", amplitude=3.0, frequency=4.0, unit="N·m")
    text += table("actuator", name="drive", type="force", joint="a", command="torque")
    path = [{"body": "world", "point": [0.5, 0, 1]}, {"body": "coupler", "point": [0.4, 0, 0.1]}]
    return text + table(
        "force",
        name="strut",
        type="path_spring",
        path=path,
        stiffness=30.0,
        rest_length=0.5,
        damping=2.0,
    )


SYSTEMS = {
    "spring-damper": spring_damper(Case("ledger_spring_damper").setup),
    "motor": motor_run_up(),
    "driven arm": driven_arm(),
    "closed loop": closed_loop(),
}


def drift(run):
    return float(np.ptp(run.energy_balance))


def test_the_ledger_of_a_spring_damper_under_a_constant_force(tmp_path):
    case = Case("ledger_spring_damper")
    times = case.at("kinetic, elastic")
    run, rows = run_at(tmp_path, spring_damper(case.setup), times)
    work = run.work
    found = [run.kinetic, run.elastic, work["dissipated"], work["injected"]]
    case.agrees("kinetic, elastic", np.column_stack(found)[rows])
    case.agrees("their balance", run.energy_balance[-1])
    np.testing.assert_array_equal(work["spring"], -work["dissipated"])
    np.testing.assert_array_equal(work["push"], work["injected"])


@pytest.mark.parametrize("integrator", FIXED)
@pytest.mark.parametrize("name", SYSTEMS)
def test_the_balance_closes_to_the_order_of_the_scheme(tmp_path, name, integrator):
    order = ORDERS[integrator]
    longest = {1: 4e-3, 2: 8e-3, 4: 16e-3}[order]
    drifts = []
    for k in range(3):
        step = longest / 2**k
        text = SYSTEMS[name] + simulation(integrator, step=step, duration=0.8, interval=0.16)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pysim.PysimWarning)  # steps that are long on purpose
            drifts.append(drift(pysim.simulate(scene_of(tmp_path, text))))
    rounding = 1e-13
    if drifts[-1] > rounding:
        assert np.log2(drifts[1] / drifts[2]) > order - 0.3
    assert drifts[-1] < 0.1


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_balance_closes_under_adaptive_steps(tmp_path, name):
    run = pysim.simulate(scene_of(tmp_path, SYSTEMS[name] + simulation()))
    assert drift(run) < 1e-9 * (run.kinetic.max() + np.ptp(run.energy))
    assert max(abs(run.work["injected"][-1]), abs(run.work["dissipated"][-1])) > 0.01


@pytest.mark.parametrize("integrator", [*FIXED, "dopri5"])
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_run_has_the_same_bits_without_a_ledger(tmp_path, name, integrator):
    text = SYSTEMS[name] + simulation(integrator, duration=0.2, interval=0.05)
    run = pysim.simulate(scene_of(tmp_path, text))
    other = pysim.simulate(scene_of(tmp_path, text + "work = false\n"))
    assert run.work
    assert not other.work
    for key in ("t", "q", "v", "a", "energy"):
        np.testing.assert_array_equal(getattr(run, key), getattr(other, key))
    for key, values in run.signals.items():
        np.testing.assert_array_equal(other.signals[key], values)


def passive_bodies():
    body = {"start": {"v": [1, 0, 2, 1, 2, 3]}, "damping": [0.1, 0.2, 0.3, 0.1, 0.2, 0.3]}
    turn = {"stiffness": [1, 2, 3.0], "damping": [0.1, 0.2, 0.05], "start": {"v": [1, 2, 3]}}
    return (
        table("body", name="a", **BODY)
        + table("body", name="b", **BODY)
        + table("joint", name="free", type="free", child="a", **body)
        + table("joint", name="ball", type="ball", parent="a", child="b", at={"xyz": [0, 0, 0.5]}, **turn)
        + table("force", name="bushing", type="bushing", b="a", **BUSHING)
        + table("force", name="strut", type="spring", **STRUT)
    )  # fmt: skip


def stops_and_followers():
    rubbing = {"damping": 0.1, "friction": 0.2, "friction_width": 0.05}
    leader = {
        "stiffness": 3.0,
        "limits": {"lower": -0.4, "upper": 0.5},
        "start": {"q": 0.3, "v": 2.0},
    }
    follower = {"mimic": {"joint": "leader", "ratio": -0.7, "offset": 0.1}}
    return (
        table("body", name="a", **BODY)
        + table("body", name="b", **BODY)
        + table("joint", name="leader", type="revolute", axis=[0, 1, 0], child="a", **rubbing, **leader)
        + table("joint", name="follower", type="revolute", axis=[1, 0, 0], parent="a", child="b", **rubbing, **follower)
    )  # fmt: skip


@joint("ledger_spring_and_damper")
class Own(Joint):
    """Slide with a passive force of its own."""

    coordinates = real("x", unit="m")

    def placement(self, q):
        return Pose.translate(q.x, 0, 0)

    def force(self, q, v):
        return -3.0 * q.x - 0.4 * v.x


def force_of_a_plugin():
    return table("body", name="a", **BODY) + table(
        "joint",
        name="slide",
        type="ledger_spring_and_damper",
        child="a",
        start={"q": [0.2], "v": [1.0]},
    )


def limits_and_several_actuators():
    limits = {"effort_limit": 2.0, "velocity_limit": 3.0}
    text = table("body", name="a", **BODY)
    text += table("joint", name="hinge", type="revolute", axis=[0, 1, 0], child="a", **limits)
    text += table("signal", name="wave", type="sine", amplitude=4.0, frequency=3.0, unit="N·m")
    text += table("actuator", name="first", type="force", joint="hinge", command="wave")
    return text + table("actuator", name="second", joint="hinge", offset=0.5)


def rope_and_winches():
    path = [{"body": "world", "point": [0, 0, 1]}, {"body": "a", "point": [0, 0, 0.1]}]
    text = table("body", name="a", **BODY)
    text += table("joint", name="free", type="free", child="a", start={"v": [0.2, 0, 3, 0, 1, 0]})
    text += table(
        "force", name="rope", type="rope", path=path, stiffness=400.0, rest_length=1.1, damping=5.0
    )
    text += table("signal", name="pull", type="constant", value=6.0, unit="N")
    return text + table("actuator", name="winch", type="winch", path=path, command="pull")


@pytest.mark.parametrize(
    "text",
    [passive_bodies(), stops_and_followers(), force_of_a_plugin(), limits_and_several_actuators(), rope_and_winches()],
    ids=["bodies", "stops", "plugin", "limits", "ropes"],
)  # fmt: skip
def test_every_kind_of_element_is_in_the_balance(tmp_path, text):
    run = pysim.simulate(scene_of(tmp_path, text + simulation(interval=0.01)))
    assert drift(run) < 1e-9 * (run.kinetic.max() + np.ptp(run.energy))
    assert max(np.abs(x).max() for x in run.work.values()) > 0.01


def test_work_of_actuators_beyond_a_limit_is_what_they_do(tmp_path):
    """Two actuators share the limit of the sum of their forces in proportion."""
    run = pysim.simulate(
        scene_of(tmp_path, limits_and_several_actuators() + simulation(interval=1e-3))
    )
    assert (np.abs(run.signals["effort.hinge"]) <= 2.0).all()
    power = run.signals["effort.hinge"] * run.v[:, 0]
    total = np.trapezoid(power, run.t)
    np.testing.assert_allclose(run.work["injected"][-1], total, rtol=1e-3)
    both = run.work["first"] + run.work["second"]
    np.testing.assert_allclose(both, run.work["injected"], rtol=1e-14)


@integrator("heun_of_the_ledger")
class Heun(Integrator):
    """Explicit trapezoidal rule, order 2, for systems without rotations in space."""

    def step(self, system, t, h, q, v):
        a = system.acceleration(t, q, v)
        b = system.acceleration(t + h, system.integrate(q, h * v), v + h * a)
        return system.integrate(q, 0.5 * h * (2 * v + h * a)), v + 0.5 * h * (a + b)


@pytest.mark.parametrize("name", ["spring-damper", "driven arm"])
def test_the_ledger_of_an_integrator_plugin_is_a_trapezoidal_rule(tmp_path, name):
    found = []
    for k in range(3):
        text = SYSTEMS[name] + simulation(
            "heun_of_the_ledger", step=8e-3 / 2**k, duration=0.8, interval=0.16
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pysim.PysimWarning)  # steps that are long on purpose
            run = pysim.simulate(scene_of(tmp_path, text))
        found.append(drift(run))
    assert np.log2(found[1] / found[2]) == pytest.approx(2, abs=0.3)
    exact = pysim.simulate(scene_of(tmp_path, SYSTEMS[name] + simulation(duration=0.8)))
    for element, work in exact.work.items():
        np.testing.assert_allclose(run.work[element][-1], work[-1], rtol=5e-3)


def test_joints_and_elements_of_one_name_are_distinguished(tmp_path):
    text = disc(damping=0.3, v=2.0) + table("actuator", name="hinge", joint="hinge", offset=1.0)
    run = pysim.simulate(scene_of(tmp_path, text + simulation("rk4")))
    assert list(run.work) == ["hinge", "hinge (joint)", "dissipated", "injected"]
    assert (np.diff(run.work["hinge"]) > 0).all()
    assert (np.diff(run.work["hinge (joint)"]) < 0).all()


def test_nothing_that_exchanges_energy_has_no_ledger(tmp_path):
    spring = table(
        "force", name="spring", type="coordinate_spring", coordinates=["x"], stiffness=5.0
    )
    run = pysim.simulate(scene_of(tmp_path, mass(1.0, 0.3) + spring + simulation("rk4")))
    assert not run.work
    np.testing.assert_array_equal(run.energy_balance, run.energy)


def test_the_file_has_the_group_work_in_joules(tmp_path):
    scene = scene_of(tmp_path, SYSTEMS["motor"] + simulation("rk4", interval=0.2))
    run = pysim.simulate(scene, tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5") as file:
        assert set(file["work"]) == {"motor", "hinge", "dissipated", "injected"}
        assert set(file["energy"]) == {"kinetic", "potential", "elastic"}
        for name, values in run.work.items():
            np.testing.assert_array_equal(file["work"][name][:], values)
            assert file["work"][name].attrs["unit"] in ("J", b"J")
    read = pysim.load_trajectory(tmp_path / "run.h5")
    assert read.header.work_names == ("motor", "hinge", "dissipated", "injected")
    np.testing.assert_array_equal(read.energy_balance, run.energy_balance)
    assert "work.motor" in read.to_pandas().columns


def test_sampled_control_keeps_the_balance(tmp_path):
    text = disc(damping=0.02, v=1.0) + constant("target", 0.8, "rad") + motor("pd")
    inputs = ["target", "angle.q", "angle.v"]
    text += table("controller", name="pd", type="pd", inputs=inputs, kp=5.0, kd=0.3, period=0.04)
    run = pysim.simulate(scene_of(tmp_path, text + simulation("rk4")))
    assert drift(run) < 1e-11


def test_an_event_that_stops_a_run_records_the_work_until_then(tmp_path):
    text = mass(1.0, 0.0, 1.0) + table("actuator", name="push", joint="x", offset=2.0)
    text += table("event", name="there", joint="x", at=0.3, stop=True)
    run = pysim.simulate(scene_of(tmp_path, text + simulation(interval=0.05)))
    np.testing.assert_allclose(run.q[-1], 0.3, rtol=1e-10)
    np.testing.assert_allclose(run.work["push"][-1], 0.6, rtol=1e-10)


def stiff_rope():
    """Return a mass that runs into a rope much stiffer than a step of 10 ms resolves, and a sensor."""
    path = [{"body": "world", "point": [0, 0, 0]}, {"body": "mass", "point": [0, 0, 0]}]
    rope = {"path": path, "stiffness": 1e5, "rest_length": 0.5, "damping": 1.0}
    return mass(1.0, 0.1, 1.0) + table("force", name="rope", type="rope", **rope)


def test_an_imbalance_with_signals_is_reported(tmp_path):
    scene = scene_of(tmp_path, stiff_rope() + simulation("rk4", step=1e-2))
    with pytest.warns(
        pysim.PysimWarning, match="more than the errors of rk4 explain; the step does not resolve"
    ):
        pysim.simulate(scene)


def test_a_coarse_step_alone_is_no_imbalance(tmp_path):
    scene = scene_of(
        tmp_path, SYSTEMS["motor"] + simulation("rk2", step=1e-1, interval=0.1, duration=10.0)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pysim.PysimWarning)
        run = pysim.simulate(scene)
    assert drift(run) > 1e-2 * run.kinetic.max()
    assert imbalance(scene, run, 100) is None


def test_a_rollout_has_no_ledger(tmp_path):
    scene = scene_of(tmp_path, SYSTEMS["motor"] + simulation("rk4", duration=0.05, interval=0.01))
    alone = pysim.simulate(replace(scene, settings=replace(scene.settings, work=False)))
    np.testing.assert_array_equal(pysim.rollout(scene).q, alone.q)


def test_the_summary_of_a_run_names_injected_and_dissipated_energy(tmp_path):
    scene = scene_of(tmp_path, SYSTEMS["spring-damper"] + simulation("rk4", duration=2.0))
    summary = summarize(scene, pysim.simulate(scene), Update(2.0, 2.0, 1.0, 2000))
    line = "injected -0.332 J, dissipated 0.8025 J (spring -0.8025, push -0.332)"
    assert work_line(summary.work) == line
    assert work_line(summary.work, verbose=True).startswith(f"{line}; the balance closes to ")


def test_a_verbose_summary_names_the_elements_with_the_most_work():
    work = WorkSummary(1.0, 2.0, {"a": 0.1, "b": -4.0, "c": 2.0, "d": -3.0, "e": 0.2}, 0.3)
    assert work_line(work) == "injected 1 J, dissipated 2 J"
    assert work_line(work, verbose=True) == (
        "injected 1 J, dissipated 2 J (b -4, d -3, c 2, and 2 more); the balance closes to 3.0e-01 J"
    )


def test_a_plot_of_energy_has_the_balance_and_the_work(tmp_path):
    run = pysim.simulate(scene_of(tmp_path, SYSTEMS["motor"] + simulation("rk4")))
    assert energy_patterns(run) == [
        "energy.kinetic", "energy.potential", "energy.total", "energy.balance", "work",
    ]  # fmt: skip
    panels, _ = panels_of([run], energy_patterns(run))
    assert [panel.title for panel in panels] == ["energy [J]", "work [J]"]
    assert [line.label for line in panels[1].lines] == ["motor", "hinge", "dissipated", "injected"]


def test_converted_scenes_keep_the_elements_of_sensors_and_the_choice_of_a_ledger(tmp_path):
    text = SYSTEMS["spring-damper"] + table("sensor", name="power", type="power", element="spring")
    scene = scene_of(tmp_path, text + simulation("rk4") + "work = false\n")
    copy = tmp_path / "copy.toml"
    convert(tmp_path / "scene.toml", copy)
    other = pysim.load_scene(copy)
    assert not other.settings.work
    assert other.spec.blocks[-1].element == scene.spec.blocks[-1].element == "spring"


HELD = {
    "constant": constant("u", 2.0, "N·m") + motor("u"),
    "sampled": table("signal", name="wave", type="sine", amplitude=2.0, frequency=1.0, unit="N·m")
    + table("controller", name="u", type="delay", inputs=["wave"], period=0.05, periods=1)
    + motor("u"),
    "damped": constant("u", 2.0, "N·m") + motor("u"),
}


@pytest.mark.parametrize("integrator", [*FIXED, "convex"])
@pytest.mark.parametrize("kind", HELD)
def test_the_work_of_a_held_force_is_that_of_the_mean_velocity(tmp_path, kind, integrator):
    """The change of the kinetic energy of a disc, at coarse steps, less what its damper takes."""
    text = disc(0.1, damping=0.5 if kind == "damped" else 0.0, v=0.5) + HELD[kind]
    run = pysim.simulate(scene_of(tmp_path, text + simulation(integrator, step=1e-2)))
    # the quadrature of a damper's work is of the scheme's order, where it is not one of the step itself
    steps = ("convex", "semi_implicit", "variational", "implicit_midpoint")
    exact = kind != "damped" or integrator in steps
    change = run.kinetic - run.kinetic[0]
    work = run.work["motor"] + (run.work["hinge"] if kind == "damped" else 0.0)
    allowed = 1e-12 if exact and integrator != "generalized_alpha" else 2e-3
    np.testing.assert_allclose(work, change, rtol=0, atol=allowed * np.abs(run.work["motor"]).max())


@pytest.mark.parametrize("step", [1e-2, 2e-3])
@pytest.mark.parametrize("integrator", ["convex", "semi_implicit"])
def test_a_force_that_varies_in_time_does_the_work_of_what_the_step_applies(
    tmp_path, integrator, step
):
    """The change of the kinetic energy of a disc, under a torque of 9 Hz."""
    wave = table("signal", name="u", type="sine", amplitude=2.0, frequency=9.0, unit="N·m")
    run = pysim.simulate(
        scene_of(tmp_path, disc(0.1, v=0.5) + wave + motor("u") + simulation(integrator, step=step))
    )
    change = run.kinetic - run.kinetic[0]
    largest = np.abs(run.work["motor"]).max()
    np.testing.assert_allclose(run.work["motor"], change, rtol=0, atol=1e-12 * largest)


def test_a_force_between_frames_does_the_work_of_the_mean_velocity_of_its_port(tmp_path):
    """A pendulum with a damped strut, at coarse steps and under RK4."""
    text = table("body", name="b", **BODY)
    text += table("joint", name="j", type="revolute", child="b", axis=[0, 1, 0], start={"q": 0.4})
    text += table("force", name="strut", type="spring", **STRUT)
    dissipated = [
        -pysim.simulate(scene_of(tmp_path, text + simulation(scheme, step=5e-3))).work["strut"][-1]
        for scheme in ("semi_implicit", "rk4")
    ]
    assert dissipated[0] == pytest.approx(dissipated[1], rel=5e-3)


def test_a_balance_that_is_open_is_explained_by_its_share_of_the_energy():
    work = WorkSummary(1.0, 2.0, {"a": 0.1}, 0.3, 2.0)
    assert work_line(work) == (
        "injected 1 J, dissipated 2 J (a 0.1); energy and work differ by up to 0.3 J, 15% of the energy involved: the"
        " error of the steps in either"
    )
    assert "differ" not in work_line(replace(work, drift=0.05))


DRIVEN = """
gravity = [0, 0, 0]
[[body]]
name = "slide"
mass = 1.0
inertia = { xx = 1, yy = 1, zz = 1 }
SHAPE
[[joint]]
name = "x"
type = "prismatic"
axis = [1, 0, 0]
child = "slide"
FRICTION
motion = { signal = "path" }
[[signal]]
name = "path"
type = "waypoints"
t = [0, 1]
values = [0, 0.1]
unit = "m"
"""
BLOCK = """
[[body]]
name = "block"
mass = 0.5
shape = { box = [0.1, 0.1, 0.1] }
collision = true
[[joint]]
name = "b"
type = "prismatic"
axis = [1, 0, 0]
child = "block"
damping = 20.0
start = 0.13
"""


@pytest.mark.parametrize("friction", [2.0, 10.0, 300.0])
@pytest.mark.parametrize("step", [1e-3, 5e-3])
@pytest.mark.parametrize("integrator", ["convex", "rk4", "generalized_alpha"])
def test_a_prescribed_motion_does_the_work_that_friction_takes(
    tmp_path, friction, step, integrator
):
    """f x; a motion that starts and ends at rest leaves no kinetic energy."""
    if integrator != "convex" and (step > 1e-3 or friction > 10):
        pytest.skip("friction has a width in speed that these schemes resolve")
    text = DRIVEN.replace("SHAPE", "").replace("FRICTION", f"friction = {friction}")
    run = pysim.simulate(scene_of(tmp_path, text + simulation(integrator, step=step)))
    work = {name: values[-1] for name, values in run.work.items()}
    assert work["x"] == pytest.approx(-0.1 * friction, rel=0.02)
    drive = work["injected"]
    assert drive == pytest.approx(0.1 * friction, rel=0.02)


@pytest.mark.parametrize("step", [1e-3, 2.5e-3])
def test_a_driven_body_that_meets_another_does_the_work_of_the_impact_too(tmp_path, step):
    """Energy and work of all elements balance: the block's damper takes what the drive gives."""
    ball = "shape = { sphere = { radius = 0.03 } }\ncollision = true"
    text = DRIVEN.replace("SHAPE", ball).replace("FRICTION", "") + BLOCK
    run = pysim.simulate(scene_of(tmp_path, text + simulation("convex", step=step, interval=0.01)))
    moved = run.q[-1, 1] - run.q[0, 1]
    assert moved > 0.03  # the block, pushed by the ball
    injected, dissipated = run.work["injected"][-1], run.work["dissipated"][-1]
    assert injected == pytest.approx(dissipated + run.energy[-1] - run.energy[0], rel=0.02)
    assert np.ptp(run.energy_balance) < 0.02 * injected
