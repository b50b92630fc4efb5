"""Coordinates that follow signals of time.

Oracles: the remaining equations of motion written by hand and solved by SciPy to 1e-11, inverse dynamics on the
kinematics of a slider-crank in closed form, SciPy's spline, Newton's law of what is carried.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

import pysim
from pysim.cli import main
from pysim.errors import PysimError, SceneError
from pysim.integrators import Integrator, integrator
from tests.elements.blocks import scene_of, simulation, table
from tests.loops.moved_by_signals import FIXED, check_balance

MASS, CARRIED, LENGTH, INERTIA, G = 3.0, 1.2, 0.5, 0.02, 9.81
AMPLITUDE, RATE = 0.2, 7.0

PENDULUM = f"""
name = "pendulum on a driven carriage"
gravity = [0, 0, {-G}]
[[body]]
name = "carriage"
mass = {MASS}
inertia = {{ xx = 0.1, yy = 0.1, zz = 0.1 }}
[[body]]
name = "bob"
mass = {CARRIED}
com = [0, 0, {-LENGTH}]
inertia = {{ xx = {INERTIA}, yy = {INERTIA}, zz = 0.01 }}
[[joint]]
name = "slide"
type = "prismatic"
child = "carriage"
axis = [1, 0, 0]
motion = {{ signal = "shake" }}
[[joint]]
name = "swing"
type = "revolute"
parent = "carriage"
child = "bob"
axis = [0, 1, 0]
start = {{ q = 0.4 }}
[[signal]]
name = "shake"
type = "sine"
unit = "m"
amplitude = {AMPLITUDE}
frequency = {RATE}
[simulation]
duration = 1.0
step = 1e-3
[output]
every = 0.01
"""


def pendulum(t, x):
    """Rates of (θ, θ̇): (I + m l²) θ̈ = m l (s̈ cos θ − g sin θ)."""
    s2 = -AMPLITUDE * RATE**2 * np.sin(RATE * t)
    lever = CARRIED * LENGTH
    angle, rate = x
    a = lever * (s2 * np.cos(angle) - G * np.sin(angle)) / (INERTIA + lever * LENGTH)
    return np.array([rate, a])


def solution(t):
    found = solve_ivp(pendulum, (0, t[-1]), [0.4, 0], "DOP853", t, rtol=1e-12, atol=1e-13)
    return found.y


def reaction(t, angle, rate):
    """Force on the carriage: (M + m) s̈ − m l (θ̈ cos θ − θ̇² sin θ)."""
    a = pendulum(t, (angle, rate))[1]
    s2 = -AMPLITUDE * RATE**2 * np.sin(RATE * t)
    return (MASS + CARRIED) * s2 - CARRIED * LENGTH * (a * np.cos(angle) - rate**2 * np.sin(angle))


# ------------------------------------------------------------------------------------------ a pendulum on a carriage


@pytest.mark.parametrize(("integrator", "error"), [("rk4", 3e-10), ("dopri5", 3e-9)])
def test_a_pendulum_on_a_driven_carriage_moves_as_its_own_equation(load, integrator, error):
    scene = load(PENDULUM, {"simulation.integrator": integrator})
    run = pysim.simulate(scene)
    angle, rate = solution(run.t)
    np.testing.assert_allclose(run.q[:, 0], AMPLITUDE * np.sin(RATE * run.t), atol=1e-14)
    np.testing.assert_allclose(run.v[:, 0], AMPLITUDE * RATE * np.cos(RATE * run.t), atol=1e-13)
    np.testing.assert_allclose(run.q[:, 1], angle, rtol=0, atol=error)
    np.testing.assert_allclose(run.v[:, 1], rate, rtol=0, atol=10 * error)
    force = reaction(run.t, angle, rate)
    assert run.names["couplings"] == ("motion of slide",)
    np.testing.assert_allclose(run.coupling_forces[:, 0], force, rtol=0, atol=200 * error)
    np.testing.assert_allclose(
        run.a[:, 0], -AMPLITUDE * RATE**2 * np.sin(RATE * run.t), rtol=0, atol=1e-11
    )


@pytest.mark.parametrize("integrator", FIXED)
def test_every_scheme_converges_to_the_driven_pendulum_with_its_order(load, integrator):
    order = {"semi_implicit": 1, "rk4": 4, "variational4": 4}.get(integrator, 2)
    errors = []
    for step in (5e-3, 2.5e-3):
        scene = load(PENDULUM, {"simulation.integrator": integrator, "simulation.step": step})
        run = pysim.simulate(scene)
        np.testing.assert_allclose(run.q[:, 0], AMPLITUDE * np.sin(RATE * run.t), atol=1e-12)
        errors.append(np.abs(run.q[:, 1] - solution(run.t)[0]).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.1)


@pytest.mark.parametrize("integrator", [*FIXED, "dopri5", "convex"])
def test_the_work_of_the_drive_closes_the_balance_of_energy_to_the_order_of_the_scheme(
    load, integrator
):
    check_balance(load, PENDULUM, "slide", integrator)


def test_the_integral_of_force_times_rate_is_the_recorded_work(load):
    run = pysim.simulate(load(PENDULUM, {"output.every": 1e-3}))
    power = CubicSpline(run.t, run.coupling_forces[:, 0] * run.v[:, 0])
    work = [power.integrate(0, t) for t in run.t]
    np.testing.assert_allclose(run.work["slide"], work, rtol=0, atol=1e-8)


# ------------------------------------------------------------------------------------------ closed mechanisms

CRANK, ROD = 0.1, 0.25
SLIDER_CRANK = f"""
name = "slider-crank"
gravity = [0, 0, {-G}]
[[body]]
name = "crank"
mass = 0.4
com = [0.05, 0, 0]
inertia = {{ xx = 1e-4, yy = 8e-4, zz = 8e-4 }}
[[body]]
name = "rod"
mass = 0.6
com = [0.1, 0, 0]
inertia = {{ xx = 1e-4, yy = 3e-3, zz = 3e-3 }}
[[body]]
name = "piston"
mass = 0.9
inertia = {{ xx = 1e-3, yy = 1e-3, zz = 1e-3 }}
[[joint]]
name = "crank"
type = "revolute"
child = "crank"
axis = [0, -1, 0]
motion = {{ signal = "turn" }}
[[joint]]
name = "pin"
type = "revolute"
parent = "crank"
child = "rod"
at = {{ xyz = [{CRANK}, 0, 0] }}
axis = [0, -1, 0]
start = {{ q = -0.7 }}
[[joint]]
name = "bore"
type = "prismatic"
child = "piston"
axis = [1, 0, 0]
start = {{ q = 0.3 }}
[[loop]]
name = "wrist"
type = "revolute"
a = "rod"
b = "piston"
at_a = {{ xyz = [{ROD}, 0, 0] }}
axis = [0, -1, 0]
[[signal]]
name = "turn"
type = "waypoints"
unit = "rad"
t = [0.0, 0.4, 1.0]
values = [0.3, 2.0, 7.0]
[simulation]
duration = 1.0
step = 5e-4
[output]
every = 0.01
"""


def slider_crank(angle):
    """Coordinates of crank, pin and piston as functions of the crank's angle, for complex arguments too."""
    lean = -np.arcsin(CRANK * np.sin(angle) / ROD)  # of the rod
    return np.array([angle, lean - angle, CRANK * np.cos(angle) + ROD * np.cos(lean)])


def quintic(t, knots):
    """Minimum jerk through three waypoints, at rest at both ends: two quintics with four continuous derivatives."""
    from scipy.interpolate import make_interp_spline

    times, values = knots
    rest = [(1, 0.0), (2, 0.0)]
    return make_interp_spline(times, values, k=5, bc_type=(rest, rest))(t)


def test_the_torque_that_turns_a_slider_crank_is_that_of_inverse_dynamics(load):
    """τ = γᵀ (M q̈ + h) with q(θ) in closed form, γ = dq/dθ, q̈ = γ θ̈ + γ′ θ̇²; derivatives by differences."""
    scene = load(SLIDER_CRANK)
    run = pysim.simulate(scene)
    tree = scene.model
    h = 1e-4
    torque = []
    for angle, rate, a in zip(run.q[:, 0], run.v[:, 0], run.a[:, 0], strict=True):
        gamma = slider_crank(angle + 1e-30j).imag / 1e-30
        around = [slider_crank(angle + k * h + 1e-30j).imag / 1e-30 for k in (-2, -1, 1, 2)]
        bend = (around[0] - 8 * around[1] + 8 * around[2] - around[3]) / (12 * h)
        q = slider_crank(angle)
        torque.append(gamma @ pysim.rnea(tree, q, gamma * rate, gamma * a + bend * rate**2))
    np.testing.assert_allclose(run.q, np.array([slider_crank(x) for x in run.q[:, 0]]), atol=1e-9)
    np.testing.assert_allclose(run.coupling_forces[:, 0], torque, rtol=0, atol=2e-7)
    assert np.abs(torque).max() > 1
    wanted = quintic(run.t, ([0.0, 0.4, 1.0], [0.3, 2.0, 7.0]))
    np.testing.assert_allclose(run.q[:, 0], wanted, rtol=0, atol=1e-12)


def test_two_schemes_agree_on_a_driven_slider_crank(load):
    explicit, implicit = (
        pysim.simulate(load(SLIDER_CRANK, {"simulation.integrator": name}))
        for name in ("rk4", "implicit_midpoint")
    )
    np.testing.assert_allclose(implicit.q, explicit.q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        implicit.coupling_forces, explicit.coupling_forces, rtol=0, atol=1e-5
    )
    np.testing.assert_allclose(implicit.energy_balance, explicit.energy_balance, atol=1e-4)


def test_a_four_bar_follows_a_measured_table(load, tmp_path):
    """A spline of the table, as SciPy's: the crank is on it to rounding, and the loop stays closed."""
    t = np.linspace(0, 2, 41)
    angles = 0.4 + 3 * t + 0.2 * np.sin(2 * np.pi * t)
    np.savetxt(
        tmp_path / "drive.csv",
        np.column_stack([t, angles]),
        delimiter=",",
        header="t,drive",
        comments="",
        fmt="%.17g",
    )
    text = FOUR_BAR.replace("LINES", 'type = "spline"\ninterpolation = "not_a_knot"')
    run = pysim.simulate(load(text))
    wanted = CubicSpline(t, angles)
    np.testing.assert_allclose(run.q[:, 0], wanted(run.t), rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.v[:, 0], wanted(run.t, 1), rtol=0, atol=1e-10)
    np.testing.assert_allclose(run.a[:, 0], wanted(run.t, 2), rtol=0, atol=1e-8)
    assert np.abs(np.ptp(run.energy_balance)) < 1e-6
    assert pysim.loops.mobility(load(text).model, load(text).state.q).degrees == 0


def test_a_table_of_straight_lines_has_no_acceleration_and_is_rejected(load, tmp_path):
    np.savetxt(
        tmp_path / "drive.csv",
        [[0, 0.4], [1, 3.4], [2, 5.4]],
        delimiter=",",
        header="t,drive",
        comments="",
    )
    with pytest.raises(SceneError) as error:
        load(FOUR_BAR.replace("LINES", 'type = "table"'))
    assert error.value.problem == (
        "joint 'drive': its motion 'measured' has a rate that jumps by -1 [rad/s] at t = 1 s, where its acceleration "
        'does not exist; interpolate it smoothly: type = "spline", interpolation = "natural", or waypoints'
    )


FOUR_BAR = """
name = "driven four-bar"
gravity = [0, 0, -9.81]
[[body]]
name = "crank"
shape = { box = [0.3, 0.03, 0.04], at = { xyz = [0.15, 0, 0] }, density = 2700 }
[[body]]
name = "coupler"
shape = { box = [0.9, 0.02, 0.04], at = { xyz = [0.45, 0, 0] }, density = 2700 }
[[body]]
name = "rocker"
shape = { box = [0.6, 0.03, 0.04], at = { xyz = [0.3, 0, 0] }, density = 2700 }
[[joint]]
name = "drive"
type = "revolute"
child = "crank"
axis = [0, -1, 0]
motion = { signal = "measured" }
[[joint]]
name = "knee"
type = "revolute"
parent = "crank"
child = "coupler"
at = { xyz = [0.3, -0.03, 0] }
axis = [0, -1, 0]
start = { q = 0.5 }
[[joint]]
name = "swing"
type = "revolute"
child = "rocker"
at = { xyz = [0.8, 0, 0] }
axis = [0, -1, 0]
start = { q = 1.7 }
[[loop]]
name = "close"
type = "revolute"
a = "coupler"
b = "rocker"
at_a = { xyz = [0.9, 0.03, 0] }
at_b = { xyz = [0.6, 0, 0] }
axis = [0, -1, 0]
[[signal]]
name = "measured"
file = "drive.csv"
unit = "rad"
LINES
[simulation]
duration = 2.0
step = 5e-4
[output]
every = 0.02
"""


def test_a_follower_goes_with_its_leader_and_adds_to_the_reaction(load):
    """A rotor that turns −2 times as fast: τ = (I₁ + 4 I₂) s̈."""
    text = """
name = "geared rotors"
gravity = [0, 0, 0]
[[body]]
name = "first"
mass = 1
inertia = { xx = 0.3, yy = 0.3, zz = 0.3 }
[[body]]
name = "second"
mass = 1
inertia = { xx = 0.05, yy = 0.05, zz = 0.05 }
[[joint]]
name = "first"
type = "revolute"
child = "first"
motion = { signal = "turn" }
[[joint]]
name = "second"
type = "revolute"
child = "second"
mimic = { joint = "first", ratio = -2 }
[[signal]]
name = "turn"
type = "sine"
unit = "rad"
amplitude = 0.5
frequency = 4.0
[simulation]
duration = 0.5
step = 1e-3
"""
    run = pysim.simulate(load(text))
    wanted = -(0.3 + 4 * 0.05) * 0.5 * 16 * np.sin(4 * run.t)
    np.testing.assert_allclose(run.coupling_forces[:, 0], wanted, rtol=0, atol=1e-10)


# ------------------------------------------------------------------------------------------ many worlds, contact


def test_worlds_of_every_batch_have_the_same_bits(load):
    scene = load(PENDULUM)
    starts = np.tile(scene.state.q, (13, 1))
    starts[:, 1] = np.linspace(-1, 1, 13)
    many = pysim.rollout(scene, q0=starts, steps=50)
    for k in (0, 7, 12):
        alone = pysim.rollout(scene, q0=starts[k], v0=scene.state.v, steps=50)
        np.testing.assert_array_equal(many.q[k], alone.q)
        np.testing.assert_array_equal(many.v[k], alone.v)
    np.testing.assert_allclose(many.q[:, -1, 0], AMPLITUDE * np.sin(RATE * 0.05), atol=1e-14)


def test_scenes_whose_motions_differ_run_in_one_pack_with_the_bits_of_each(load):
    scenes = [load(PENDULUM.replace(f"= {AMPLITUDE}", f"= {a}")) for a in (0.2, 0.1, 0.05)]
    together = pysim.rollout(scenes, steps=50)
    for k, scene in enumerate(scenes):
        np.testing.assert_array_equal(together.q[k], pysim.rollout(scene, steps=50).q)
    assert np.ptp(together.q[:, -1, 0]) > 0.02


def test_worlds_that_are_reset_begin_the_motion_again(load):
    scene = load(PENDULUM)
    worlds = pysim.Worlds(scene, 5)
    worlds.step(seconds=0.1)
    np.testing.assert_allclose(worlds.q[:, 0], AMPLITUDE * np.sin(RATE * 0.1), atol=1e-14)
    worlds.reset(where=[1, 3])
    worlds.step(seconds=0.05)
    wanted = AMPLITUDE * np.sin(RATE * np.array([0.15, 0.05, 0.15, 0.05, 0.15]))
    np.testing.assert_allclose(worlds.q[:, 0], wanted, atol=1e-14)


def test_a_driven_platform_carries_a_box(load):
    """Convex steps: the force on the platform is (M + m) (g + s̈) while the box rests on it."""
    text = """
name = "platform"
gravity = [0, 0, -9.81]
[[body]]
name = "platform"
mass = 5
inertia = { xx = 1, yy = 1, zz = 1 }
shape = { box = [1, 1, 0.1] }
collision = true
[[body]]
name = "box"
shape = { box = [0.2, 0.2, 0.2], density = 500 }
collision = true
[[joint]]
name = "lift"
type = "prismatic"
child = "platform"
motion = { signal = "height" }
[[joint]]
name = "box"
type = "free"
child = "box"
start = { xyz = [0, 0, 0.15] }
[[signal]]
name = "height"
type = "waypoints"
unit = "m"
t = [0.0, 1.0]
values = [0.0, 0.3]
[[contact]]
between = ["platform", "box"]
[simulation]
duration = 1.0
step = 1e-3
integrator = "convex"
[output]
every = 0.01
"""
    run = pysim.simulate(load(text))
    s = np.polynomial.Polynomial([0, 0, 0, 3, -4.5, 1.8])
    np.testing.assert_allclose(run.q[:, 0], s(run.t), rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.v[:, 0], s.deriv()(run.t), rtol=0, atol=1e-11)
    moving = (run.t > 0.1) & (run.t < 0.95)
    force = (5 + 500 * 0.2**3) * (9.81 + s.deriv(2)(run.t))
    np.testing.assert_allclose(run.coupling_forces[moving, 0], force[moving], rtol=0, atol=0.2)
    lifted = run.q[:, 3] - run.q[:, 0]
    np.testing.assert_allclose(lifted[moving], 0.15, atol=1e-3)


# ------------------------------------------------------------------------------------------ beside runs


@integrator("heun_of_test")
class Heun(Integrator):
    def step(self, system, t, h, q, v):
        a = system.acceleration(t, q, v)
        ahead = v + h * a
        b = system.acceleration(t + h, system.integrate(q, h * v), ahead)
        return system.integrate(q, h / 2 * (v + ahead)), v + h / 2 * (a + b)


def test_a_scheme_in_python_follows_the_motion_and_its_work(load):
    errors, balances = [], []
    for step in (2e-3, 1e-3):
        keys = {"simulation.integrator": "heun_of_test", "simulation.step": step}
        run = pysim.simulate(load(PENDULUM, keys))
        errors.append(np.abs(run.q[:, 1] - solution(run.t)[0]).max())
        balances.append(np.ptp(run.energy_balance))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.1)
    assert np.log2(balances[0] / balances[1]) == pytest.approx(2, abs=0.1)


def test_an_event_is_located_on_the_motion(load):
    event = '[[event]]\nname = "there"\njoint = "slide"\nat = 0.1\n'
    run = pysim.simulate(load(PENDULUM + event, {"simulation.integrator": "dopri5"}))
    turns = np.array([np.arcsin(0.5), np.pi - np.arcsin(0.5), 2 * np.pi + np.arcsin(0.5)])
    np.testing.assert_allclose(run.events.t, turns / RATE, rtol=0, atol=1e-14)


def test_a_driven_pendulum_is_linearised_as_one_on_a_still_carriage(load):
    """ẍ = −m g l / (I + m l²) x of the swing alone; the carriage moves, but not freely."""
    A = pysim.linearize(load(PENDULUM.replace("start = { q = 0.4 }", ""))).A
    lever = CARRIED * LENGTH
    wanted = [[0, 1], [-lever * G / (INERTIA + lever * LENGTH), 0]]
    np.testing.assert_allclose(A, wanted, rtol=0, atol=1e-8)


def test_a_scene_that_is_written_again_has_the_motion(load, tmp_path, capsys):
    first = load(PENDULUM)
    main(["convert", str(tmp_path / "scene.toml"), str(tmp_path / "again.toml")])
    again = pysim.load_scene(tmp_path / "again.toml")
    np.testing.assert_array_equal(pysim.simulate(again).q, pysim.simulate(first).q)
    main(["convert", str(tmp_path / "scene.toml"), str(tmp_path / "arm.urdf")])
    assert "the prescribed motion of joint 'slide'" in capsys.readouterr().err


def test_a_run_prints_the_largest_force(load, tmp_path, capsys):
    load(PENDULUM)
    main([str(tmp_path / "scene.toml"), "-o", str(tmp_path / "run.h5")])
    run = pysim.load_trajectory(tmp_path / "run.h5")
    k = int(np.abs(run.coupling_forces).argmax())
    text = f"up to {run.coupling_forces[k, 0]:.4g} N (motion of slide, t = {run.t[k]:.4g} s)"
    assert f"  reactions   {text}\n" in capsys.readouterr().out


def test_the_check_prints_the_force_at_the_start(load, tmp_path, capsys):
    load(PENDULUM)
    main(["check", str(tmp_path / "scene.toml")])
    force = reaction(0.0, 0.4, 0.0)
    assert (
        f"  reactions   {force:.4g} N (motion of slide) at the start\n" in capsys.readouterr().out
    )


# ------------------------------------------------------------------------------------------ start and errors


def test_the_start_is_that_of_the_signal(load):
    state = load(PENDULUM).state
    np.testing.assert_array_equal(state.q, [0, 0.4])
    np.testing.assert_allclose(state.v, [AMPLITUDE * RATE, 0], rtol=1e-15)


def with_start(text):
    return PENDULUM.replace('motion = { signal = "shake" }', text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            with_start('motion = { signal = "shake" }\nstart = { q = 0.1 }'),
            (
                "joint 'slide' starts with q = 0.1 [m], and the value of its motion 'shake' is 0 [m] at t = 0; "
                "remove q from its start"
            ),
        ),
        (
            with_start('motion = { signal = "shake" }\nstart = { q = 0, v = 1 }'),
            (
                "joint 'slide' starts with v = 1 [m/s], and the rate of its motion 'shake' is 1.4 [m/s] at t = 0; "
                "remove v from its start"
            ),
        ),
        (
            with_start('motion = { signal = "shale" }'),
            "joint 'slide': unknown signal 'shale'; did you mean 'shake'?",
        ),
        (
            PENDULUM.replace('unit = "m"', 'unit = "rad"'),
            "joint 'slide': its motion is in [m], but 'shake' is in [rad]; connect a signal in [m]",
        ),
        (
            PENDULUM + '[[sensor]]\nname = "angle"\ntype = "coordinates"\ncoordinates = ["swing"]\n'
            '[[controller]]\nname = "law"\ntype = "gain"\ngain = 2.0\ninputs = ["angle"]\n',
            None,
        ),
        (
            PENDULUM.replace('type = "sine"', 'type = "step"\ntime = 0.5')
            .replace(f"amplitude = {AMPLITUDE}\n", "")
            .replace(f"frequency = {RATE}\n", ""),
            (
                "joint 'slide': its motion 'shake' jumps by 1 [m] at t = 0.5 s, which no motion follows; use a signal "
                "without jumps, such as spline or waypoints"
            ),
        ),
        (
            PENDULUM.replace('type = "sine"', 'type = "input"')
            .replace(f"amplitude = {AMPLITUDE}\n", "")
            .replace(f"frequency = {RATE}\n", ""),
            (
                "joint 'slide': its motion 'shake' depends on signal 'shake', which is given from outside without its "
                "acceleration; a prescribed motion is a function of time: write a source such as spline, waypoints or "
                "sine, or follow it by an [[actuator]] such as position_servo"
            ),
        ),
    ],
)
def test_a_motion_that_cannot_be_followed_is_rejected(load, text, problem):
    if problem is None:
        text = text.replace('signal = "shake" }', 'signal = "law" }')
        problem = (
            "joint 'slide': its motion 'law' depends on sensor 'angle', which measures the state; a prescribed motion "
            "is a function of time: write a source such as spline, waypoints or sine, or follow it by an "
            "[[actuator]] such as position_servo"
        )
    with pytest.raises(PysimError) as error:
        load(text)
    assert problem in str(error.value)


def test_a_joint_of_several_coordinates_names_the_one_that_moves(load):
    text = (
        PENDULUM.replace('type = "prismatic"', 'type = "planar"')
        .replace("axis = [1, 0, 0]\n", "", 1)
        .replace('{ signal = "shake" }', '[{ coordinate = "x", signal = "shake" }]')
    )
    scene = load(text)
    assert scene.model.coupling_names == ("motion of slide.x",)
    with pytest.raises(PysimError, match="has several coordinates; name one of them"):
        load(text.replace('coordinate = "x", ', ""))
    with pytest.raises(
        PysimError, match="no coordinate 'z' that a signal can give; choose among x, y"
    ):
        load(text.replace('coordinate = "x"', 'coordinate = "z"'))


def test_a_joint_that_follows_another_has_no_motion_of_its_own(load):
    led = 'mimic = { joint = "swing" }\nmotion = { signal = "shake" }'
    with pytest.raises(
        PysimError, match="follows 'swing' and has a motion; prescribe that of 'swing'"
    ):
        load(with_start(led))


def test_a_coordinate_has_one_motion(load):
    twice = 'motion = [{ signal = "shake" }, { signal = "shake" }]'
    with pytest.raises(PysimError, match="has two motions; keep one of them"):
        load(with_start(twice))


def test_a_table_that_ends_before_the_run_is_rejected(load):
    table = 'type = "spline"\nt = [0.0, 0.5]\nvalues = [0.0, 0.1]'
    text = PENDULUM.replace('type = "sine"', table)
    text = text.replace(f"amplitude = {AMPLITUDE}\n", "").replace(f"frequency = {RATE}\n", "")
    with pytest.raises(PysimError, match=r"from t = 0 to 0.5 s, the run is from 0 to 1 s"):
        load(text)


def test_a_free_joint_cannot_follow_a_signal(load):
    text = PENDULUM.replace('type = "prismatic"', 'type = "ball"').replace(
        "axis = [1, 0, 0]\n", "", 1
    )
    with pytest.raises(PysimError, match="a ball joint has no coordinate that a signal can give"):
        load(text)


def test_two_drives_that_contradict_each_other_are_reported(load, tmp_path):
    np.savetxt(
        tmp_path / "drive.csv",
        [[0, 0.4], [1, 3.4], [2, 5.4]],
        delimiter=",",
        header="t,drive",
        comments="",
    )
    text = FOUR_BAR.replace("LINES", 'type = "spline"').replace(
        "start = { q = 1.7 }", 'motion = { signal = "measured" }'
    )
    with pytest.raises(PysimError, match="cannot be closed"):
        load(text)


def test_a_joint_follows_an_angle_measured_in_degrees(tmp_path):
    """Oracle: the numbers of the file in radians."""
    t = np.linspace(0, 1, 21)
    angle = 20 + 15 * np.sin(3 * t)
    np.savetxt(tmp_path / "a.csv", np.c_[t, angle], delimiter=",", header="t,angle", comments="")
    source = table(
        "signal", name="measured", type="spline", file="a.csv", column="angle", unit="deg"
    )
    rod = table("body", name="rod", mass=1.0, inertia=dict.fromkeys(("xx", "yy", "zz"), 0.1))
    hinge = {"name": "hinge", "type": "revolute", "child": "rod"}
    text = rod + table("joint", **hinge, motion={"signal": "measured"}) + source
    run = pysim.simulate(scene_of(tmp_path, text + simulation(duration=1.0, interval=0.05)))
    np.testing.assert_allclose(run.q[:, 0], np.radians(angle), atol=1e-14)
    np.testing.assert_allclose(run.signals["measured"], np.radians(angle), atol=1e-14)
    assert dict(zip(run.names["signals"], run.units["signals"], strict=True))["measured"] == "rad"
