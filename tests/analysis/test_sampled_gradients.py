"""Gradients through sampled controllers, delays and policies, and through mimic joints.

Oracle: the best of central differences of sixth order, of five sizes, of the engine's own steps.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.environments.trained_policy import with_policy
from pysim.typing import Array
from tests.analysis.test_gradients import (
    SMOOTH,
    WEIGHTS,
    Rollout,
    check_parameters,
    columns_with_signals,
    error,
    scene_of,
)
from tests.elements.blocks import table

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")  # of starts and periods
SCENES = Path(__file__).parents[2] / "scenes"
LINK = "inertia = { xx = 0.02, yy = 0.025, zz = 0.009 }"
ARM = f"""
[[body]]
name = "upper"
mass = 1.2
com = [0.02, 0, -0.2]
{LINK}
[[joint]]
name = "shoulder"
type = "revolute"
axis = [0, 1, 0]
child = "upper"
start = 0.4
[[body]]
name = "lower"
mass = 0.7
com = [0, 0.03, -0.15]
{LINK}
[[joint]]
name = "elbow"
type = "revolute"
axis = [0.2, 1, 0]
parent = "upper"
child = "lower"
at = {{ xyz = [0, 0, -0.4] }}
start = -0.6
damping = 0.1
[[signal]]
name = "target"
type = "input"
size = 2
unit = "rad"
"""
JOINTS = ["shoulder", "elbow"]


class Later(Rollout):
    """Begins after some steps: numbers that blocks hold do not follow parameters any more."""

    before = 4

    def at(self, q: Array, v: Array) -> pysim.Worlds:
        worlds = pysim.Worlds(self.scene, len(q), numbers=[0] * len(q))  # of equal noise
        if self.before:
            worlds.step(steps=self.before)
        worlds.q[:], worlds.v[:] = q, v
        return worlds


class New(Later):
    """Begins with the blocks at the start, which run again when parameters are written."""

    before = 0


def sampled_arm(folder: Path, period: float, *, delays: bool = True) -> pysim.Scene:
    """Return an arm under a sampled PD controller; with delays of its readings, noise and a filter of its output."""
    keys = {"period": period}
    read = {"type": "coordinates", "coordinates": JOINTS}
    blocks = [
        table("sensor", name="read", **read, **keys),
        table(
            "controller",
            name="pd",
            type="pd",
            inputs=["target", "late", "lag"] if delays else ["target", "read.q", "read.v"],
            kp=[30.0, 12.0],
            kd=[1.5, 0.4],
            **keys,
        ),
        table(
            "actuator",
            name="motors",
            type="force",
            coordinates=JOINTS,
            command="smooth" if delays else "pd",
        ),
    ]
    lag = {"type": "variable_delay", "inputs": ["read.v"], "delay": 0.6, "longest": 3}
    if delays:
        blocks += [
            table("sensor", name="noise", type="noisy", inputs=["read.q"], deviation=0.01, **keys),
            table("controller", name="late", type="delay", inputs=["noise"], periods=2, **keys),
            table("controller", name="lag", **lag, **keys),
            table("controller", name="smooth", type="low_pass", inputs=["pd"], time_constant=8e-3),
        ]
    return scene_of(folder, ARM + "".join(blocks), passes=1)


@pytest.mark.parametrize("period", [6e-3, 2e-3, 5e-3, 0.7e-3])  # some divide steps of 2 ms
def test_a_sampled_controller_with_delays_has_the_gradient_of_differences(
    period: float, tmp_path: Path
) -> None:
    scene = sampled_arm(tmp_path, period)
    controls = np.random.default_rng(2).normal(0, 0.3, (1, 12, 2))
    rollout = Later(scene, scene.state.q, np.array([0.5, -0.8]), 12, controls)
    found = rollout.gradient()
    assert error(np.concatenate([found.q[0], found.v[0]]), rollout.by_start()) < SMOOTH
    assert error(found.controls[0].ravel(), rollout.by_controls()) < SMOOTH


@pytest.mark.parametrize(("begins", "delays"), [(New, True), (New, False), (Later, True)])
def test_a_gradient_by_numbers_of_sampled_blocks_is_that_of_differences(
    begins: type[Later], delays: bool, tmp_path: Path
) -> None:
    scene = sampled_arm(tmp_path, 5e-3, delays=delays)
    controls = np.random.default_rng(2).normal(0, 0.3, (1, 30, 2))
    rollout = begins(scene, scene.state.q, scene.state.v, 30, controls)
    paths = ["controller.pd.kp", "controller.pd.kd", "body.lower.mass"]
    if delays:
        paths += ["controller.lag.delay", "controller.smooth.time_constant"]
    check_parameters(rollout, paths)


@pytest.mark.parametrize("period", [{}, {"period": 5e-3}])
def test_inverse_dynamics_of_controllers_have_the_gradient_of_differences(
    period: dict[str, float], tmp_path: Path
) -> None:
    torque = {"type": "gravity_compensation", "share": 0.8, **period}
    text = ARM + table("controller", name="hold", **torque)
    text += table("actuator", name="motors", type="force", coordinates=JOINTS, command="hold")
    scene = scene_of(tmp_path, text, passes=1)
    rollout = Later(scene, scene.state.q, np.array([0.5, -0.8]), 12)
    paths = ["body.lower.mass", "body.lower.com", "gravity"]
    found = check_parameters(rollout, paths)
    assert error(np.concatenate([found.q[0], found.v[0]]), rollout.by_start()) < SMOOTH


def test_initial_values_in_a_loop_have_the_gradient_of_differences(tmp_path: Path) -> None:
    """Filters that read each other start where their inputs are their outputs."""
    text = ARM + table("sensor", name="read", type="coordinates", coordinates=["elbow"])
    pair = {"type": "sum", "weights": [-3.0, 1.0]}
    text += table("controller", name="e", inputs=["slow", "read.q"], **pair)
    text += table("controller", name="quick", type="gain", inputs=["e"], gain=1.5)
    text += table("controller", name="slow", type="low_pass", inputs=["quick"], time_constant=0.1)
    text += table("controller", name="torque", type="gain", inputs=["slow"], gain=20.0, unit="N·m")
    text += table("actuator", name="motor", type="force", joint="elbow", command="torque")
    scene = scene_of(tmp_path, text, passes=1)
    rollout = New(scene, scene.state.q, scene.state.v, 20)
    paths = ["controller.quick.gain", "controller.slow.time_constant"]
    check_parameters(rollout, paths)


def test_numbers_with_which_python_computes_have_the_gradient_of_differences(
    tmp_path: Path,
) -> None:
    """The factor exp(−T/τ) of a sampled filter; the worlds of its oracle are compiled one by one."""
    text = ARM + table("sensor", name="read", type="coordinates", coordinates=["elbow"])
    slow = {"time_constant": 0.02, "period": 3e-3}
    text += table("controller", name="slow", type="low_pass", inputs=["read.q"], **slow)
    text += table("controller", name="torque", type="gain", inputs=["slow"], gain=20.0, unit="N·m")
    text += table("actuator", name="motor", type="force", joint="elbow", command="torque")
    rollout = New(scene_of(tmp_path, text, passes=1), np.array([0.4, -0.6]), np.ones(2), 13)
    path = "controller.slow.time_constant"
    check_parameters(rollout, [path])


@pytest.mark.parametrize("path", ["controller.pd.kp", "body.lower.mass"])
@pytest.mark.parametrize("written", ["q", "state"])
def test_parameters_change_start_values_alone_that_were_not_written(
    written: str, path: str, tmp_path: Path
) -> None:
    """What blocks hold of an earlier q, and a written state, follow from none; the filter's second state does."""
    own = {"period": 5e-3}
    text = ARM + table("sensor", name="read", type="coordinates", coordinates=JOINTS, **own)
    inputs = ["target", "read.q", "read.v"]
    gains = {"inputs": inputs, "kp": [30.0, 12.0], "kd": [1.5, 0.4]}
    text += table("controller", name="pd", type="pd", **gains, **own)
    text += table("controller", name="hold", type="gravity_compensation", share=0.8, **own)
    text += table("controller", name="sum", type="sum", inputs=["pd", "hold"], weights=[1.0, 1.0])
    text += table("controller", name="slow", type="low_pass", inputs=["sum"], time_constant=0.02)
    text += table("actuator", name="motors", type="force", coordinates=JOINTS, command="slow")
    scene = scene_of(tmp_path, text, passes=1)

    def loss(q: Array, v: Array) -> tuple[Array, Array, Array]:
        return (q**2).sum((1, 2)), 2 * q, 0 * v

    def worlds_with(value: Array | None = None) -> pysim.Worlds:
        worlds = pysim.Worlds(scene, 1)
        if written == "q":
            worlds.q += [0.3, 0.2]
        else:
            worlds._records.signals[:, 0] = 3.0
        if value is not None:
            worlds.parameters[path][0] = value
        return worlds

    assert scene.signals is not None
    assert scene.signals.state_names == ("slow.filtered[0]", "slow.filtered[1]")
    worlds = worlds_with()
    held = worlds._records.signals.copy()
    gradient = pysim.gradient(worlds, steps=13, loss=loss, by=[path])
    np.testing.assert_array_equal(worlds._records.signals, held)
    assert gradient.loss == pysim.gradient(worlds_with(), steps=13, loss=loss).loss
    start = np.array(worlds.parameters[path][0])
    for k in range(start.size):
        unit = np.eye(start.size)[k].reshape(start.shape)
        change = [
            weight * pysim.gradient(worlds_with(start + n * 1e-2 * unit), steps=13, loss=loss).loss
            for n, weight in WEIGHTS.items()
        ]
        assert np.ravel(gradient.parameters[path][0])[k] == pytest.approx(
            sum(change) / 0.6, rel=1e-8
        )


def test_worlds_at_other_times_have_the_gradients_of_each_alone(tmp_path: Path) -> None:
    scene = sampled_arm(tmp_path, 5e-3)
    many = pysim.Worlds(scene, 5)
    for k in range(5):
        many.step(steps=k + 1, where=[k])
    saved = [many.save(where=[k]) for k in range(5)]

    def loss(q: Array, v: Array) -> tuple[Array, Array, Array]:
        return (q**2).sum((1, 2)), 2 * q, 0 * v

    by = ["controller.pd.kp"]
    found = pysim.gradient(many, steps=11, loss=loss, by=by)
    for k in range(5):
        alone = pysim.Worlds(scene, 1)
        alone.load(saved[k])
        own = pysim.gradient(alone, steps=11, loss=loss, by=by)
        assert np.array_equal(own.q[0], found.q[k])
        assert np.array_equal(own.v[0], found.v[k])
        assert np.array_equal(own.parameters[by[0]][0], found.parameters[by[0]][k])


def test_held_numbers_are_states_of_a_step(tmp_path: Path) -> None:
    scene = sampled_arm(tmp_path, 6e-3)
    worlds = pysim.Worlds(scene, 1)
    worlds.step(steps=5)
    found = pysim.step_derivatives(worlds, steps=7)
    signals = scene.signals
    assert signals is not None
    places = [*range(len(signals.state_names)), *signals.held_states]
    assert found.states[4:] == (*signals.state_names, *signals.held_states.values())
    columns = columns_with_signals(worlds, 7, places)
    assert np.abs(found.A[0] - columns).max() < 1e-7


def test_a_robot_on_its_feet_has_the_gradient_through_its_policy(tmp_path: Path) -> None:
    path = SCENES / "environments" / "anymal.toml"
    rng = np.random.default_rng(7)
    network = tmp_path / "policy.npz"
    layers: dict[str, Any] = {"activation": np.array("elu")}
    for k, (n, m) in enumerate([(45, 16), (16, 12)]):
        layers[f"weight{k}"] = rng.normal(0, 0.7 / np.sqrt(n), (m, n))
        layers[f"bias{k}"] = rng.normal(0, 0.1, m)
    np.savez(network, **layers)
    changes = {
        "simulation.integrator": "convex",
        "simulation.passes": 1,
        "simulation.solver_tolerance": 1e-13,
    }
    scene = with_policy(pysim.load_scene(path, changes), path, network, changes)
    start = pysim.Worlds(scene)
    start.step(steps=30)
    assert np.abs(start.contacts).max() > 10
    rollout = Later(scene, start.q.copy(), start.v.copy(), 12)
    found = rollout.gradient()
    assert error(np.concatenate([found.q[0], found.v[0]]), rollout.by_start()) < SMOOTH


def test_deflections_of_mimic_joints_are_states_of_a_step(tmp_path: Path) -> None:
    follows = 'friction = 0.05\nmimic = { joint = "shoulder", ratio = -0.5 }\n'
    text = ARM.replace("start = -0.6\n", "").replace("damping = 0.1\n", follows)
    worlds = pysim.Worlds(scene_of(tmp_path, text, passes=1), 1)
    worlds.step(steps=3)
    derivatives = pysim.step_derivatives(worlds)
    assert derivatives.states == ("q.shoulder", "v.shoulder", "deflection.elbow")
    saved, size = worlds.save(), 1e-4
    change = np.zeros((2, 2))
    for i in range(2):
        for k, weight in WEIGHTS.items():
            worlds.load(saved)
            worlds.q[0] += k * size * (i == 0)
            worlds.v[0] += k * size * (i == 1)
            worlds.step(steps=1)
            change[:, i] += weight * np.concatenate([worlds.q[0], worlds.v[0]]) / 60 / size
    assert np.abs(derivatives.A[0, :2, :2] - change).max() < 1e-8


def test_a_gripper_with_a_mimic_joint_has_the_gradient_of_differences(tmp_path: Path) -> None:
    path = SCENES / "gripper.toml"
    text = path.read_text("utf-8").split("[simulation]")[0]
    text = text.replace("box = [0.09, 0.05, 0.12]", "box = [0.09, 0.03, 0.12]")  # no edges coincide
    text = text.replace("xyz = [0, 0, 0.0]", "xyz = [0.002, 0.003, 0.001], rpy = [0, 0.01, 0.02]")
    text += '[[signal]]\nname = "share"\ntype = "input"\n'
    text += table("controller", name="squeeze", type="gain", inputs=["share"], gain=1e3, unit="N")
    text += table("actuator", name="pads", type="force", joint="closes", command="squeeze")
    scene = scene_of(tmp_path, text, passes=1)
    start = pysim.Worlds(scene)
    start.step(steps=200)
    assert sum(np.linalg.norm(start.contacts, axis=-1) > 1) >= 2  # both pads touch the box
    v = start.v + np.random.default_rng(3).normal(0, 0.02, start.v.shape)
    controls = np.random.default_rng(4).normal(0, 5e-3, (1, 15, 1))
    rollout = Rollout(scene, start.q.copy(), v, 15, controls)
    found = rollout.gradient()
    assert error(np.concatenate([found.q[0], found.v[0]]), rollout.by_start()) < SMOOTH
    assert error(found.controls[0].ravel(), rollout.by_controls()) < SMOOTH
    paths = ["joint.closes.damping", "body.right.mass"]
    check_parameters(rollout, paths)
