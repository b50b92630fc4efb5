"""Linear systems of scenes: their derivatives, samples, modes and regulators, and what is rejected.

Oracles: MuJoCo's mjd_transitionFD, the matrix exponential, differences of whole steps, closed forms of oscillators,
and residuals of Riccati equations.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.linalg import expm

import pysim
from pysim.analysis.linearization import _Linearization
from pysim.loops import constraint_residual
from pysim.scene_files.loaded_scene import load_model_scene
from pysim.typing import Array
from tests.elements.blocks import scene_of, simulation, table
from tests.scene_runs import SCENES

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore:.*the state is no equilibrium:pysim.PysimWarning")

CART = """<mujoco><option timestep="0.002"><flag eulerdamp="disable"/></option><worldbody>
<body name="cart" pos="0 0 1"><joint name="slide" type="slide" axis="1 0 0" damping="0.3"/>
<geom type="box" size=".1 .1 .1" mass="2" contype="0" conaffinity="0"/>
<body name="pole"><joint name="hinge" type="hinge" axis="0 1 0" damping="0.05"/>
<geom type="capsule" fromto="0 0 0 0 0 .6" size=".02" mass="0.5" contype="0" conaffinity="0"/>
<body name="bob" pos="0 0 .7"><joint name="ball" type="ball" damping="0.01"/>
<geom type="box" pos="0 .05 .1" size=".03 .05 .08" mass=".3" contype="0" conaffinity="0"/></body></body></body>
</worldbody>
<actuator><motor name="m" joint="slide" gear="10"/></actuator></mujoco>"""
TURN = (0.1, -0.2, 0.15)


def cart(tmp_path: Path) -> tuple[Any, Path, Array, Array]:
    file = tmp_path / "cart.xml"
    file.write_text(CART, "utf-8")
    scene = load_model_scene(file)
    scene = replace(scene, settings=replace(scene.settings, integrator="semi_implicit", step=0.002))
    half = np.array(TURN) / 2
    quaternion = np.append(half, np.sqrt(1 - half @ half))
    q = np.array([0.1, 0.4, *quaternion])
    return scene, file, q, np.array([0.2, -0.5, 0.3, -0.4, 0.6])


def oscillator(tmp_path: Path, more: str = "", **run: Any) -> Any:
    text = "gravity = [0, 0, 0]\n" + table(
        "body", name="block", mass=2.0, inertia=dict.fromkeys(("xx", "yy", "zz"), 1.0)
    )
    text += table(
        "joint",
        name="x",
        type="prismatic",
        axis=[1, 0, 0],
        child="block",
        stiffness=50.0,
        damping=4.0,
    )
    text += table("sensor", name="place", type="coordinates", coordinates=["x"])
    text += table("signal", name="push", type="input", unit="N")
    text += table("actuator", name="drive", type="force", joint="x", command="push")
    return scene_of(tmp_path, text + more + simulation(**(run or {"integrator": "rk4"})))


def test_a_step_with_a_ball_joint_in_motion_agrees_with_mujoco(tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    scene, file, q, v = cart(tmp_path)
    model = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(model)
    data.qpos[:] = [*q[:2], q[5], *q[2:5]]
    data.qvel[:], data.ctrl[:] = v, 0.3
    A, B = np.zeros((10, 10)), np.zeros((10, 1))
    mujoco.mjd_transitionFD(model, data, 1e-6, 1, A, B, None, None)
    found = pysim.linearize(scene, {"ctrl": 0.3}, state=(q, v), period=0.002)
    np.testing.assert_allclose(found.A, A, atol=2e-8)
    np.testing.assert_allclose(found.B, B, atol=2e-8)


def test_a_fine_sample_is_the_exponential_of_the_continuous_system(tmp_path: Path) -> None:
    scene, _, q, v = cart(tmp_path)
    fine = replace(scene, settings=replace(scene.settings, integrator="rk4", step=1e-4))
    h = 1e-4
    whole = pysim.linearize(scene, {"ctrl": 0.3}, state=(q, v))
    sampled = pysim.linearize(fine, {"ctrl": 0.3}, state=(q, v), period=h)
    n = len(whole.A)
    both = np.zeros((n + 1, n + 1))
    both[:n, :n], both[:n, n:] = whole.A, whole.B
    exact = expm(h * both)[:n]
    # the state moves meanwhile: its matrices change by O(h), the sample by O(h²)
    np.testing.assert_allclose(sampled.A, exact[:, :n], atol=2e-5)
    np.testing.assert_allclose((sampled.A - np.eye(n)) / h, whole.A, atol=0.3)


def test_matrices_of_an_oscillator_are_its_closed_form(tmp_path: Path) -> None:
    A, B, C, D = pysim.linearize(oscillator(tmp_path), ["push"], ["place.q", "v.x"])
    np.testing.assert_allclose(A, [[0, 1], [-25, -2]], atol=1e-10)
    np.testing.assert_allclose(B, [[0.0], [0.5]], atol=1e-10)
    np.testing.assert_allclose(C, np.eye(2), atol=1e-10)
    np.testing.assert_allclose(D, np.zeros((2, 1)), atol=1e-10)


def test_frequency_and_damping_of_a_mode_are_those_of_the_oscillator(tmp_path: Path) -> None:
    for period in (None, 0.05):
        system = pysim.linearize(oscillator(tmp_path), period=period)
        (mode,) = system.modes()
        assert mode.natural_frequency == pytest.approx(5.0, rel=1e-6)
        assert mode.damping_ratio == pytest.approx(0.2, rel=1e-6)
        assert system.is_stable


def test_an_acceleration_as_output_has_a_direct_part(tmp_path: Path) -> None:
    more = table("sensor", name="a", type="acceleration", frame="block")
    system = pysim.linearize(oscillator(tmp_path, more), ["push"], ["a.linear"])
    assert system.outputs == ("a.linear[0]", "a.linear[1]", "a.linear[2]")
    np.testing.assert_allclose(system.C[0], [-25, -2], atol=1e-9)
    np.testing.assert_allclose(system.D[0], [0.5], atol=1e-9)


def test_a_sampled_controller_gives_a_sampled_system_of_its_period(tmp_path: Path) -> None:
    more = table("signal", name="target", type="input", unit="m")
    more += table(
        "controller",
        name="pd",
        type="pd",
        inputs=["target", "place.q", "place.v"],
        kp=30.0,
        kd=3.0,
        period=0.02,
    )
    more += table("actuator", name="servo", type="force", joint="x", command="pd")
    system = pysim.linearize(oscillator(tmp_path, more), ["push"])
    assert system.period == pytest.approx(0.02)
    flow = expm(np.array([[0, 1, 0], [-25, -2, 0.5], [0, 0, 0]]) * 0.02)
    # x⁺ = Φ x + Γ u, and then u⁺ = −kp q⁺ − kd v⁺
    exact = np.vstack([flow[:2], [-30, -3] @ flow[:2]])
    np.testing.assert_allclose(system.A, exact, atol=1e-7)
    assert len(system.states) == 3


def test_a_body_that_stands_on_the_ground_is_linear_in_its_steps(tmp_path: Path) -> None:
    text = table("ground", plane={"normal": [0, 0, 1], "offset": 0}) + table(
        "body",
        name="box",
        shape={"box": [0.2, 0.2, 0.2], "density": 500},
        collision=True,
    )
    text += table(
        "joint", name="free", type="free", child="box", start={"q": [0, 0, 0.1, 0, 0, 0, 1]}
    )
    run = simulation("convex", step=2e-3, duration=2.0, interval=0.1)
    scene = scene_of(tmp_path, text + run)
    worlds = pysim.Worlds(scene)
    worlds.step(seconds=1.0)
    rest = worlds.scene()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pysim.PysimWarning)
        system = pysim.linearize(rest)
    assert system.period == pytest.approx(2e-3)
    assert np.abs(system.rate).max() < 1e-6
    assert np.abs(system.poles).max() < 1 + 1e-6  # it stands: no motion grows


def test_a_state_that_touches_its_stop_is_warned_of(tmp_path: Path) -> None:
    text = "gravity = [0, 0, 0]\n" + table(
        "body", name="block", mass=1.0, inertia=dict.fromkeys(("xx", "yy", "zz"), 1.0)
    )
    text += table(
        "joint",
        name="x",
        type="prismatic",
        child="block",
        limits={"lower": -1.0, "upper": 0.0, "stiffness": 1e4, "damping": 0.0},
    )
    scene = scene_of(tmp_path, text + simulation("rk4"))
    with pytest.warns(pysim.PysimWarning, match=r"slopes ahead of the state .* differ along 'q.x'"):
        pysim.linearize(scene, period=1e-3)


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"inputs": ["pusch"]}, "no such input; did you mean 'push'"),
        ({"outputs": ["place"]}, "no such signal or coordinate"),
        ({"state": ([0.0, 1.0], [0.0])}, "state: q: must be 1 finite numbers"),
        ({"state": ([0.0], [np.nan])}, "state: v: must be 1 finite numbers"),
        ({"state": ([0.0],)}, r"must be \(q, v\)"),
        ({"state": ([0.0], [0.0], [1.0])}, "state: elements: must be 0 finite numbers"),
        ({"inputs": {"push": [1.0, 2.0]}}, r"inputs\['push'\]: must be 1 finite"),
        ({"period": 0.0}, "period: must be positive"),
    ],
)
def test_names_that_a_scene_does_not_have_are_rejected(
    tmp_path: Path, keys: dict[str, Any], text: str
) -> None:
    with pytest.raises(pysim.SimulationError, match=text):
        pysim.linearize(oscillator(tmp_path), **keys)


def test_a_sampled_system_of_adaptive_steps_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(pysim.SimulationError, match="dopri5"):
        pysim.linearize(oscillator(tmp_path, integrator="dopri5"), period=0.1)


def test_gains_solve_the_riccati_equations(tmp_path: Path) -> None:
    scene, _, _, _ = cart(tmp_path)
    start = np.zeros(6)
    start[5] = 1
    Q, R = np.diag([3.0, 5.0, 1, 1, 1, 1, 1, 1, 1, 1]), np.array([[0.7]])
    A, B, _, _ = pysim.linearize(scene, state=(start, np.zeros(5)))
    kept = [0, 1, 3, 5, 6, 8]  # the bob is moved in the plane of the cart only
    A, B, Q = A[np.ix_(kept, kept)], B[kept], Q[np.ix_(kept, kept)]
    found = pysim.lqr((A, B), Q, R)
    S = found.S
    left = A.T @ S + S @ A - S @ B @ np.linalg.solve(R, B.T @ S) + Q
    assert np.abs(left).max() < 1e-7 * np.abs(S).max()
    assert found.poles.real.max() < 0
    Ad, Bd = expm(0.01 * np.block([[A, B], [np.zeros((1, 7))]]))[:6, :6], 0.01 * B
    sampled = pysim.lqr((Ad, Bd), Q, R, sampled=True)
    S, K = sampled.S, sampled.K
    left = Ad.T @ S @ Ad - S + Q - K.T @ (R + Bd.T @ S @ Bd) @ K
    assert np.abs(left).max() < 1e-7 * np.abs(S).max()
    assert np.abs(sampled.poles).max() < 1


def test_a_cost_of_products_shifts_the_gain() -> None:
    A, B = np.array([[0.0, 1], [0, 0]]), np.array([[0.0], [1]])
    N = np.array([[0.1], [0.2]])
    K = pysim.lqr((A, B), 1.0, 1.0, N).K
    shifted = pysim.lqr((A - B @ N.T, B), np.eye(2) - N @ N.T, 1.0).K + N.T
    np.testing.assert_allclose(K, shifted, atol=1e-9)


@pytest.mark.parametrize(
    ("A", "B", "Q", "R", "text"),
    [
        ([[1.0]], [[0.0]], 1.0, 1.0, "the inputs do not move the mode at 1"),
        ([[1.0]], [[1.0]], -1.0, 1.0, "Q: must be positive semidefinite"),
        ([[1.0]], [[1.0]], 1.0, 0.0, "R: must be positive definite"),
        ([[1.0]], [[1.0]], [1.0, 2.0], 1.0, "Q: must be a number"),
        (np.eye(2), np.ones((2, 1)), [1.0, np.nan], 1.0, r"Q: must be finite, got nan at \[1\]"),
        (np.eye(2), np.ones((2, 1)), [[1, 2], [0, 1]], 1.0, "Q: must be symmetric"),
        (np.eye(2), np.ones((3, 1)), 1.0, 1.0, r"A and B must be finite \(n, n\) and \(n, m\)"),
        ([[1.0]], np.zeros((1, 0)), 1.0, 1.0, "the system has no input"),
    ],
)
def test_costs_and_systems_without_a_regulator_are_rejected(
    A: Any, B: Any, Q: Any, R: Any, text: str
) -> None:
    with pytest.raises(pysim.PysimError, match=text):
        pysim.lqr((A, B), Q, R)


QUIET = (  # without contacts or sampled blocks
    "andrews",
    "cam",
    "drive_shaft",
    "five_bar",
    "governor",
    "gyroscope",
    "motor_run_up",
    "robot_arm",
    "rope_and_pulley",
    "screw_spline",
    "servo_pid",
    "slider_crank",
    "stewart_platform",
    "tracking_arm",
)


@pytest.mark.parametrize("name", QUIET)
def test_analytical_matrices_agree_with_differences_of_accelerations(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = pysim.load_scene(SCENES / f"{name}.toml", allow_code=True)
    start = scene.state
    state = pysim.State(start.q, np.zeros_like(start.v), start.loop_q)  # loops at rest
    exact = pysim.linearize(scene, state=state)
    monkeypatch.setattr(_Linearization, "_is_analytical", lambda _: False)
    rough = pysim.linearize(scene, state=state)
    scale = max(1.0, np.abs(exact.A).max())
    np.testing.assert_allclose(exact.A, rough.A, atol=1e-8 * scale)
    np.testing.assert_allclose(exact.rate, rough.rate, atol=1e-9 * max(1, np.abs(rough.rate).max()))


@pytest.mark.parametrize("name", ["four_bar", "t_handle", "slider_crank", "gyroscope"])
def test_matrices_about_a_motion_are_the_rate_of_its_deviations(name: str) -> None:
    scene = pysim.load_scene(SCENES / f"{name}.toml", allow_code=True)
    whole = pysim.linearize(scene)
    rates = []
    for h in (2e-4, 1e-4):
        fine = replace(scene, settings=replace(scene.settings, integrator="rk4", step=h))
        sampled = pysim.linearize(fine, period=h)
        assert sampled.states == whole.states
        rates.append((sampled.A - np.eye(len(sampled.A))) / h)
    limit = 2 * rates[1] - rates[0]  # of second order in h
    np.testing.assert_allclose(limit, whole.A, atol=1e-4 * max(1.0, np.abs(whole.A).max()))


def test_chosen_coordinates_of_a_linkage_are_its_states() -> None:
    """In equilibrium the deviations of two choices are proportional, so the poles are the same."""
    keys = {"joint[0].damping": 3.0, "simulation.duration": 30.0, "simulation.step": 2e-3}
    scene = pysim.load_scene(SCENES / "four_bar.toml", keys | {"output.every": 30.0})
    run = pysim.simulate(scene)
    still = pysim.State(run.q[-1], np.zeros(3), scene.state.loop_q)
    usual = pysim.linearize(scene, state=still)
    names = scene.model.velocity_names
    for k, name in enumerate(names):
        own = pysim.linearize(scene, state=still, coordinates=[name])
        assert own.states == (f"q.{name}", f"v.{name}")
        assert own.motions[k, 0] == 1.0
        np.testing.assert_allclose(own.poles, usual.poles, rtol=1e-6)


@pytest.mark.parametrize(
    ("coordinates", "message"),
    [
        (
            ["swing", "knee"],
            r"'knee': follows from 'swing' at the state; the mechanism has 1 degree of freedom",
        ),
        (["kne"], "coordinates: 'kne': the mechanism has no such coordinate; did you mean 'knee'"),
        ("knee", r"must be a list of names, got a text; give \['knee'\]"),
    ],
)
def test_coordinates_that_cannot_be_chosen_are_rejected(coordinates: Any, message: str) -> None:
    scene = pysim.load_scene(SCENES / "four_bar.toml")
    with pytest.raises(pysim.SimulationError, match=message):
        pysim.linearize(scene, coordinates=coordinates)


def test_the_motion_of_a_mode_has_its_shape_and_closed_loops() -> None:
    car = pysim.linearize(pysim.load_scene(SCENES / "car_over_bump.toml"))
    mode = car.modes()[-1]
    t, q = car.motion(mode, amplitude=0.05)
    assert t[-1] == pytest.approx(2 * np.pi / mode.s.imag)
    assert car.state is not None
    away = q - car.state.q
    assert np.abs(away).max() == pytest.approx(0.05, rel=1e-2)
    np.testing.assert_allclose(away[0], away[-1], atol=1e-12)
    system = pysim.linearize(pysim.load_scene(SCENES / "stewart_platform.toml"))
    t, q = system.motion(system.modes()[-1], amplitude=0.02, frames=20)
    assert system.model is not None
    assert np.abs(constraint_residual(system.model, q)).max() < 1e-9


def test_worlds_of_a_model_file_start_at_the_state_and_step_they_are_given(tmp_path: Path) -> None:
    scene, _, q, v = cart(tmp_path)
    worlds = pysim.Worlds(replace(scene, state=pysim.State(q, v)))
    assert np.array_equal(worlds.q, q)
    worlds.step()
    assert worlds.t == pytest.approx(0.002)
    assert worlds.scene().settings.integrator == "semi_implicit"


ROOTS = """import numpy as np
from pysim.forces import Force, Wrench, force


@force("speed_drag")
class SpeedDrag(Force):
    c: float = 0.3

    def wrench(self, pose, twist):
        return Wrench(force=-self.c * np.sqrt(twist.v @ twist.v) * twist.v)


@force("norm_drag")
class NormDrag(Force):
    c: float = 0.3

    def wrench(self, pose, twist):
        return Wrench(force=-self.c * np.linalg.norm(twist.v) * twist.v)


@force("power_drag")
class PowerDrag(Force):
    c: float = 0.3

    def wrench(self, pose, twist):
        v = twist.v
        return Wrench(force=-self.c * (v @ v) ** 0.75 * v - 2.0 * v)


@force("hypot_drag")
class HypotDrag(Force):
    c: float = 0.3

    def wrench(self, pose, twist):
        v = twist.v
        return Wrench(force=-self.c * np.hypot(v[0], v[2]) * v)


@force("steep")
class Steep(Force):
    c: float = 0.3

    def wrench(self, pose, twist):
        x = pose.p[0]
        return Wrench(force=(-self.c * np.sign(x) * np.sqrt(np.abs(x)), 0, 0))
"""


def freely_falling(folder: Path, kind: str) -> pysim.Scene:
    (folder / "roots.py").write_text(ROOTS, "utf-8")
    b = pysim.SceneBuilder("falling", folder=folder, plugins=["roots.py"])
    b.body("x", mass=2.0, inertia={"xx": 0.1, "yy": 0.1, "zz": 0.1})
    b.joint("j", "free", child="x")
    b.force("drag", kind, b="x")
    return b.build(allow_code=True)


@pytest.mark.parametrize(
    ("kind", "slope"),
    [("speed_drag", 0.0), ("norm_drag", 0.0), ("power_drag", -1.0), ("hypot_drag", 0.0)],
)
def test_a_drag_by_the_length_of_a_velocity_has_its_limit_at_rest(tmp_path, kind, slope):
    """∂(|v|ⁿ v)/∂v = 0 at v = 0, besides a linear drag of 2 N·s/m on 2 kg."""
    scene = freely_falling(tmp_path, kind)
    A = pysim.linearize(scene).A
    np.testing.assert_allclose(A[6:9, 6:9], slope * np.eye(3), atol=1e-12)
    slopes = pysim.passive_force_derivatives(scene.model, scene.state.q, scene.state.v)
    assert all(np.isfinite(own).all() for own in slopes)


def test_a_force_whose_slope_is_infinite_is_named_with_its_line(tmp_path):
    scene = freely_falling(tmp_path, "steep")
    with pytest.raises(
        pysim.SimulationError, match=r"force 'drag' are NaN or infinite.*roots\.py"
    ) as caught:
        pysim.linearize(scene)
    assert "wrench" in str(caught.value) or "roots.py:" in str(caught.value)
