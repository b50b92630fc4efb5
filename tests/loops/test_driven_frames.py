"""Frames that follow signals of time.

Oracles: the pendulum on a moved pivot, written by hand and solved by SciPy to 1e-11; Newton's and Euler's laws of a
body whose motion is given; inverse dynamics of an arm whose tip is driven; finite differences.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

import pysim
from pysim.errors import ModelError, SceneError
from pysim.scene.convert import convert
from tests.loops.moved_by_signals import FIXED, check_balance

MASS, LENGTH, INERTIA, G = 1.2, 0.5, 0.02, 9.81
AMPLITUDE, RATE = 0.2, 7.0

PENDULUM = f"""
name = "rod on a moved pivot"
gravity = [0, 0, {-G}]
[[body]]
name = "rod"
mass = {MASS}
com = [0, 0, {-LENGTH}]
inertia = {{ xx = {INERTIA}, yy = {INERTIA}, zz = 0.01 }}
[[joint]]
name = "free"
type = "free"
child = "rod"
start = {{ xyz = [{-AMPLITUDE}, 0, 0], rpy = [0, 0.4, 0] }}
[[motion]]
frame = "rod"
signal = "shake"
[[signal]]
name = "shake"
type = "sine"
unit = "m"
amplitude = [{AMPLITUDE}, 0, 0]
frequency = {RATE}
phase = "-90 deg"
[simulation]
duration = 0.5
step = 1e-3
[output]
every = 0.01
"""


def acceleration(t, angle):
    """(I + m l²) θ̈ = m l (s̈ cos θ − g sin θ), θ about y, of a rod that hangs at θ = 0."""
    s2 = AMPLITUDE * RATE**2 * np.cos(RATE * t)
    lever = MASS * LENGTH
    return lever * (s2 * np.cos(angle) - G * np.sin(angle)) / (INERTIA + lever * LENGTH)


def solution(t):
    return solve_ivp(
        lambda t, x: [x[1], acceleration(t, x[0])],
        (0, t[-1]),
        [0.4, 0],
        "DOP853",
        t,
        rtol=1e-12,
        atol=1e-13,
    ).y


def angle_of(run):
    return Rotation.from_quat(run.q[:, 3:]).as_rotvec()[:, 1]


def place(t):
    return np.column_stack([-AMPLITUDE * np.cos(RATE * t), 0 * t, 0 * t])


# ------------------------------------------------------------------------------------------ a floating body


@pytest.mark.parametrize("integrator", [*FIXED, "dopri5", "convex"])
def test_under_every_scheme_the_frame_is_where_the_signal_is(load, integrator):
    run = pysim.simulate(load(PENDULUM, {"simulation.integrator": integrator}))
    np.testing.assert_allclose(run.q[:, :3], place(run.t), rtol=0, atol=1e-12)
    velocity = Rotation.from_quat(run.q[:, 3:]).apply(run.v[:, :3])
    wanted = AMPLITUDE * RATE * np.sin(RATE * run.t)
    np.testing.assert_allclose(velocity[:, 0], wanted, rtol=0, atol=1e-10)
    assert np.abs(angle_of(run) - solution(run.t)[0]).max() < 2e-2


@pytest.mark.parametrize(("integrator", "error"), [("rk4", 3e-9), ("dopri5", 3e-8)])
def test_a_rod_on_a_driven_pivot_swings_as_its_own_equation_and_pulls_as_newton_says(
    load, integrator, error
):
    run = pysim.simulate(load(PENDULUM, {"simulation.integrator": integrator}))
    angle, rate = solution(run.t)
    np.testing.assert_allclose(angle_of(run), angle, rtol=0, atol=error)
    a = acceleration(run.t, angle)
    sin, cos = np.sin(angle), np.cos(angle)
    s2 = AMPLITUDE * RATE**2 * np.cos(RATE * run.t)
    x2 = s2 - LENGTH * (a * cos - rate**2 * sin)
    z2 = LENGTH * (a * sin + rate**2 * cos)
    force = MASS * np.column_stack([x2, 0 * x2, z2 + G])
    assert run.names["loops"] == ("motion of rod",)
    pulled = Rotation.from_quat(run.q[:, 3:]).apply(run.loop_wrenches[:, 0, :3])
    np.testing.assert_allclose(pulled, force, rtol=0, atol=300 * error)
    np.testing.assert_allclose(run.loop_wrenches[:, 0, 3:], 0, atol=1e-9)


@pytest.mark.parametrize("integrator", [*FIXED, "dopri5", "convex"])
def test_the_work_of_the_drive_closes_the_balance_of_energy_to_the_order_of_the_scheme(
    load, integrator
):
    check_balance(load, PENDULUM, "rod", integrator)


def test_the_integral_of_force_times_velocity_is_the_recorded_work(load):
    run = pysim.simulate(load(PENDULUM, {"output.every": 1e-3}))
    power = CubicSpline(run.t, (run.loop_wrenches[:, 0, :3] * run.v[:, :3]).sum(axis=1))
    work = [power.integrate(0, t) for t in run.t]
    np.testing.assert_allclose(run.work["rod"], work, rtol=0, atol=1e-7)


PLATE = """
name = "plate on a driven axis"
gravity = [0, 0, 0]
[[body]]
name = "plate"
mass = 2.0
inertia = { xx = 0.1, yy = 0.2, zz = 0.25, xy = 0.02 }
[[joint]]
name = "free"
type = "free"
child = "plate"
[[motion]]
name = "table"
frame = "plate"
at = [0.1, 0, 0]
signal = ["x", "zero", "zero"]
rotation = "turn"
[[signal]]
name = "x"
type = "sine"
unit = "m"
amplitude = 0.1
frequency = 3.0
[[signal]]
name = "zero"
type = "constant"
unit = "m"
value = 0.0
[[signal]]
name = "turn"
TURN
[simulation]
duration = 1.0
step = 1e-3
[output]
every = 0.02
"""
VECTOR = 'type = "sine"\nunit = "rad"\namplitude = [0.3, -1.1, 2.0]\nfrequency = 2.0'
QUATERNION = 'type = "waypoints"\nt = [0, 0.5, 1]\nvalues = [[0, 0, 0, 1], [1, -0.5, 0.3, 2], [0.2, 1, 0, 1]]'


def rotation_at(text, t):
    """Rotations of a signal, from the numbers of its recording."""
    if text is VECTOR:
        return Rotation.from_rotvec(np.outer(np.sin(2 * t), [0.3, -1.1, 2.0]))
    from scipy.interpolate import make_interp_spline

    values = [[0, 0, 0, 1], [1, -0.5, 0.3, 2], [0.2, 1, 0, 1]]
    rest = [(1, np.zeros(4)), (2, np.zeros(4))]
    return Rotation.from_quat(make_interp_spline([0, 0.5, 1], values, k=5, bc_type=(rest, rest))(t))


@pytest.mark.parametrize("text", [VECTOR, QUATERNION])
def test_a_driven_pose_needs_the_wrench_of_newtons_and_eulers_laws(load, text):
    run = pysim.simulate(load(PLATE.replace("TURN", text)))
    R = rotation_at(text, run.t)
    np.testing.assert_allclose(
        (R.inv() * Rotation.from_quat(run.q[:, 3:])).magnitude(), 0, atol=1e-12
    )
    held = np.column_stack([0.1 * np.sin(3 * run.t), 0 * run.t, 0 * run.t])
    np.testing.assert_allclose(run.q[:, :3] + R.apply([0.1, 0, 0]), held, rtol=0, atol=1e-12)

    h = 1e-4
    within = (run.t > 2 * h) & (run.t < 1 - 2 * h) & (np.abs(run.t - 0.5) > 2 * h)
    t = run.t[within]
    inertia = np.array([[0.1, 0.02, 0], [0.02, 0.2, 0], [0, 0, 0.25]])

    def momenta(t):
        """Linear and angular momentum about the centre of mass, by central differences of the signals."""
        R0, R1, R2 = (rotation_at(text, t + k * h) for k in (-1, 0, 1))
        spin = (R2 * R0.inv()).as_rotvec() / (2 * h)
        axes = R1.as_matrix()
        return np.einsum("nij,jk,nlk,nl->ni", axes, inertia, axes, spin)

    torque = (momenta(t + h) - momenta(t - h)) / (2 * h)

    def centre(t):
        place = np.column_stack([0.1 * np.sin(3 * t), 0 * t, 0 * t])
        return place - rotation_at(text, t).apply([0.1, 0, 0])

    force = 2.0 * (centre(t + h) - 2 * centre(t) + centre(t - h)) / h**2
    about = torque - np.cross(rotation_at(text, t).apply([0.1, 0, 0]), force)
    wrench = run.loop_wrenches[within, 0]
    R = R[within]
    np.testing.assert_allclose(R.apply(wrench[:, :3]), force, rtol=0, atol=2e-5)
    np.testing.assert_allclose(R.apply(wrench[:, 3:]), about, rtol=0, atol=2e-5)
    assert np.abs(force).max() > 1
    assert np.abs(torque).max() > 0.1
    balance = run.energy_balance
    assert np.ptp(balance) < 1e-7 * max(1.0, np.ptp(run.energy))


# ------------------------------------------------------------------------------------------ the end of a chain

ARM = """
name = "arm whose tip is driven"
gravity = [0, 0, -9.81]
[[body]]
name = "base"
mass = 2.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[body]]
name = "upper"
mass = 1.0
com = [0.2, 0, 0]
inertia = { xx = 0.01, yy = 0.02, zz = 0.02 }
[[body]]
name = "lower"
mass = 0.7
com = [0.15, 0, 0]
inertia = { xx = 0.01, yy = 0.015, zz = 0.015 }
[[joint]]
name = "yaw"
type = "revolute"
child = "base"
[[joint]]
name = "shoulder"
type = "revolute"
parent = "base"
child = "upper"
axis = [0, -1, 0]
damping = 0.2
start = { q = 0.5 }
[[joint]]
name = "elbow"
type = "revolute"
parent = "upper"
child = "lower"
at = { xyz = [0.4, 0, 0] }
axis = [0, -1, 0]
start = { q = 0.9 }
[[frame]]
name = "tip"
body = "lower"
at = { xyz = [0.3, 0, 0] }
[[motion]]
frame = "tip"
signal = "path"
[[signal]]
name = "path"
type = "waypoints"
unit = "m"
t = [0.0, 0.4, 1.0]
values = [[0.35, 0.05, 0.5], [0.4, -0.1, 0.35], [0.2, 0.2, 0.45]]
[simulation]
duration = 1.0
step = 5e-4
[output]
every = 0.01
"""


def test_the_force_on_a_driven_tip_is_that_of_inverse_dynamics(load):
    """Jᵀ f = M q̈ + h − passive forces, at the recorded states; accelerations from a quintic through them."""
    scene = load(ARM)
    run = pysim.simulate(scene)
    model = scene.model
    tip = pysim.frame_placement(model, run.q, "tip")[:, :3, 3]
    from scipy.interpolate import make_interp_spline

    values = [[0.35, 0.05, 0.5], [0.4, -0.1, 0.35], [0.2, 0.2, 0.45]]
    rest = [(1, np.zeros(3)), (2, np.zeros(3))]
    wanted = make_interp_spline([0.0, 0.4, 1.0], values, k=5, bc_type=(rest, rest))
    np.testing.assert_allclose(tip, wanted(run.t), rtol=0, atol=1e-12)
    J = pysim.jacobian(model, run.q, "tip", "local")[:, :3]
    bias = pysim.frame_acceleration(
        model, run.q, run.v, 0 * run.v, "tip", "aligned", classical=True
    )
    aligned = pysim.jacobian(model, run.q, "tip", "aligned")[:, :3]
    a = np.linalg.solve(aligned, (wanted(run.t, 2) - bias[:, :3])[..., None])[..., 0]
    tau = pysim.rnea(model, run.q, run.v, a) - pysim.passive_forces(model, run.q, run.v)
    force = np.linalg.solve(np.swapaxes(J, 1, 2), tau[..., None])[..., 0]
    np.testing.assert_allclose(run.loop_wrenches[:, 0, :3], force, rtol=0, atol=1e-6)
    assert np.abs(force).max() > 5
    assert np.ptp(run.energy_balance) < 1e-6


def test_a_frame_is_driven_against_a_moving_body(load):
    """The tip's place in the axes of the base, which turns freely."""
    text = ARM.replace('frame = "tip"\nsignal', 'frame = "tip"\nrelative_to = "base"\nsignal')
    text = (
        text.replace("0.05, 0.5]", "0.0, 0.5]")
        .replace("-0.1,", "0,")
        .replace("0.2, 0.45]", "0, 0.45]")
    )
    scene = load(text.replace('name = "yaw"', 'name = "yaw"\nstart = { v = 2.0 }'))
    run = pysim.simulate(scene)
    base = pysim.frame_placement(scene.model, run.q, "base")
    tip = pysim.frame_placement(scene.model, run.q, "tip")[:, :3, 3]
    inside = np.einsum("nji,nj->ni", base[:, :3, :3], tip)
    from scipy.interpolate import make_interp_spline

    values = [[0.35, 0.0, 0.5], [0.4, 0, 0.35], [0.2, 0, 0.45]]
    rest = [(1, np.zeros(3)), (2, np.zeros(3))]
    wanted = make_interp_spline([0.0, 0.4, 1.0], values, k=5, bc_type=(rest, rest))
    np.testing.assert_allclose(inside, wanted(run.t), rtol=0, atol=1e-12)
    momentum = [
        pysim.crba(scene.model, q)[0] @ v for q, v in zip(run.q, run.v, strict=True)
    ]  # about the free vertical axis
    np.testing.assert_allclose(momentum, momentum[0], rtol=1e-7)
    assert np.ptp(run.energy_balance) < 1e-6


@pytest.mark.parametrize("relative_to", ["world", "base"])
def test_derivatives_of_driven_dynamics_are_those_of_finite_differences(load, relative_to):
    text = ARM.replace(
        'frame = "tip"\nsignal', f'frame = "tip"\nrelative_to = "{relative_to}"\nsignal'
    )
    text = text.replace("0.05, 0.5]", "0.0, 0.5]")
    floating = text.replace('type = "revolute"\nchild = "base"', 'type = "free"\nchild = "base"')
    scene = load(floating)
    model, t = scene.model, 0.3
    at = pysim.loops.project(model, scene.state.q, scene.state.v, t=t)
    q, v = at.q, at.v
    tau = np.random.default_rng(3).normal(size=model.nv)
    by_q, by_v, _ = pysim.loops.constrained_aba_derivatives(model, q, v, tau, t=t)

    def a(q, v):
        return pysim.loops.constrained_aba(model, q, v, tau, t=t)

    h = 1e-6
    for k in range(model.nv):
        step = h * np.eye(model.nv)[k]
        slope = (a(model.integrate(q, step), v) - a(model.integrate(q, -step), v)) / (2 * h)
        np.testing.assert_allclose(by_q[:, k], slope, rtol=0, atol=2e-5 * np.abs(by_q).max())
        slope = (a(q, v + step) - a(q, v - step)) / (2 * h)
        np.testing.assert_allclose(by_v[:, k], slope, rtol=0, atol=2e-6 * np.abs(by_v).max())


def test_worlds_of_every_batch_have_the_same_bits(load):
    scene = load(ARM)
    many = pysim.rollout(
        [load(ARM.replace("0.2, 0.2, 0.45]", f"0.2, 0.2, {z}]")) for z in (0.45, 0.4)], steps=40
    )
    alone = pysim.rollout(scene, steps=40)
    np.testing.assert_array_equal(many.q[0], alone.q)
    assert np.abs(many.q[0, -1] - many.q[1, -1]).max() > 1e-5


# ------------------------------------------------------------------------------------------ files and errors


def test_an_attached_scene_brings_its_motions_and_their_signals(tmp_path):
    (tmp_path / "arm.toml").write_text(ARM)
    (tmp_path / "both.toml").write_text(
        'name = "both"\n[[model]]\nfile = "arm.toml"\nname = "left"\n'
        '[[model]]\nfile = "arm.toml"\nname = "right"\nat = { xyz = [0, 1, 0] }\n[simulation]\nduration = 0.1\n'
    )
    scene = pysim.load_scene(tmp_path / "both.toml")
    run = pysim.simulate(scene)
    assert run.names["loops"] == ("left/motion of tip", "right/motion of tip")
    right = pysim.frame_placement(scene.model, run.q, "right/tip")[:, :3, 3]
    left = pysim.frame_placement(scene.model, run.q, "left/tip")[:, :3, 3]
    np.testing.assert_allclose(right - left, np.tile([0, 1, 0], (len(left), 1)), atol=1e-12)


def test_an_attached_scene_brings_the_signal_of_a_driven_joint(tmp_path):
    text = ARM.replace('name = "yaw"', 'name = "yaw"\nmotion = { signal = "turn" }')
    text += (
        '[[signal]]\nname = "turn"\ntype = "sine"\nunit = "rad"\namplitude = 0.1\nfrequency = 1.0\n'
    )
    (tmp_path / "arm.toml").write_text(
        text.replace("[[motion]]", '[[frame]]\nname = "x"\nbody = "lower"\n[[motion]]')
    )
    (tmp_path / "one.toml").write_text(
        'name = "one"\n[[model]]\nfile = "arm.toml"\nname = "left"\n[simulation]\nduration = 0.1\n'
    )
    with pytest.raises(ModelError, match=r"contradict|cannot be closed"):
        pysim.load_scene(tmp_path / "one.toml")  # the tip's path determines the yaw
    (tmp_path / "arm.toml").write_text(
        text.replace('frame = "tip"\nsignal', 'frame = "tip"\nrelative_to = "base"\nsignal')
        .replace("0.05, 0.5]", "0.0, 0.5]")
        .replace("-0.1,", "0,")
        .replace("0.2, 0.45]", "0, 0.45]")
    )
    run = pysim.simulate(pysim.load_scene(tmp_path / "one.toml"))
    np.testing.assert_allclose(run.q[:, 0], 0.1 * np.sin(run.t), atol=1e-12)


def test_a_converted_scene_has_the_same_motion(load, tmp_path):
    scene = load(
        PLATE.replace("TURN", VECTOR).replace(
            'frame = "plate"', 'frame = "plate"\nrelative_at = { xyz = [0, 0, 1] }'
        )
    )
    out = tmp_path / "copy.toml"
    convert(tmp_path / "scene.toml", out)
    again = pysim.load_scene(out)
    np.testing.assert_allclose(pysim.simulate(again).q, pysim.simulate(scene).q, atol=1e-12)


WRONG = {
    'signal = "pth"': "motion 'motion of tip': unknown signal 'pth'; did you mean 'path'?",
    'signal = ["path", "path"]': (
        "motion 'motion of tip': its position has 6 numbers; name a signal of 3, or 3 signals of one number"
    ),
    'signal = "path"\nrotation = "path[0]"': (
        "motion 'motion of tip': its rotation has 1 numbers; name a signal of 3, a rotation vector, or of 4, a "
        "quaternion (x, y, z, w)"
    ),
    'signal = "path"\nrotation = "path"': (
        "motion 'motion of tip': its rotation is in [rad], but 'path' is in [m]; connect a signal in [rad]"
    ),
    'relative_to = "lower"\nsignal = "path"': (
        "motion 'motion of tip' drives 'lower' against itself; name a body that moves against it"
    ),
}


@pytest.mark.parametrize("keys", WRONG)
def test_wrong_motions_are_rejected(load, keys):
    with pytest.raises(SceneError) as error:
        load(ARM.replace('signal = "path"', keys))
    assert error.value.problem == WRONG[keys]


def test_a_path_with_corners_is_rejected(load):
    with pytest.raises(SceneError) as error:
        load(ARM.replace('type = "waypoints"', 'type = "table"'))
    assert error.value.problem == (
        "motion 'motion of tip': its signal 'path' has a rate that jumps by -0.4583 [m/s] at t = 0.4 s, where its "
        'acceleration does not exist; interpolate it smoothly: type = "spline", interpolation = "natural", or '
        "waypoints"
    )


def test_unknown_names_and_keys_are_rejected_with_their_place(load):
    with pytest.raises(
        SceneError, match=r"scene.toml:\d+:\d+: motion\[0\].frame: unknown body or frame 'tp'"
    ):
        load(ARM.replace('frame = "tip"\nsignal', 'frame = "tp"\nsignal'))
    with pytest.raises(SceneError, match=r"motion\[0\].signl: unknown key; did you mean 'signal'"):
        load(ARM.replace('signal = "path"', 'signl = "path"'))


def test_a_place_out_of_reach_is_rejected(load):
    with pytest.raises(ModelError, match=r"motion 'motion of tip' .* cannot be closed"):
        load(ARM.replace("[0.35, 0.05, 0.5]", "[1.35, 0.05, 0.5]"))
