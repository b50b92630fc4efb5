"""Gradients through sampled blocks that read what a step ends with: accelerations, wrenches of joints, and contacts.

Oracles: the best of central differences of sixth order, of several sizes, of the engine's own steps; the products of
the steps' matrices.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.typing import Array
from tests.analysis.test_gradients import (
    HOPPER,
    SMOOTH,
    Rollout,
    check_parameters,
    covector,
    error,
    scene_of,
)
from tests.analysis.test_sampled_gradients import ARM, Later, New
from tests.analysis.test_scheme_gradients import SCHEMES, scene_of as scene_by
from tests.elements.blocks import table

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")  # of starts and periods
GRIPPER = Path(__file__).parents[2] / "scenes" / "gripper.toml"
PERIOD = {"period": 4e-3}
CART = """
[[body]]
name = "cart"
mass = 2.0
com = [0.01, 0.02, 0.0]
inertia = { xx = 0.02, yy = 0.03, zz = 0.04 }
[[joint]]
name = "along"
type = "prismatic"
axis = [1, 0, 0.2]
child = "cart"
stiffness = 200
"""
COORDINATES = ["along", "shoulder", "elbow"]


def moving_arm() -> str:
    """Return an arm on a cart, under feedback of an accelerometer and of the wrench at its elbow."""
    text = CART + ARM.replace('child = "upper"', 'parent = "cart"\nchild = "upper"')
    text = text.replace('unit = "rad"', 'unit = "N·m"')
    text += table("sensor", name="imu", type="imu", frame="lower", **PERIOD)
    text += table("sensor", name="turns", type="acceleration", frame="upper", **PERIOD)
    text += table("sensor", name="wrist", type="force_torque", joint="elbow", **PERIOD)
    sums = {"type": "sum", "weights": [0.03, 0.2]}
    text += table("controller", name="first", inputs=["imu.acceleration", "wrist.torque"], **sums)
    text += table("controller", name="second", inputs=["turns.angular", "wrist.force"], **sums)
    sums["weights"] = [1.0, 0.1]
    text += table("controller", name="feedback", inputs=["first", "second"], **sums)
    for name, own in (("damp", COORDINATES), ("push", ["shoulder", "elbow"])):
        command = "feedback" if name == "damp" else "target"
        text += table("actuator", name=name, type="force", coordinates=own, command=command)
    return text


def on_its_foot(scene: pysim.Scene) -> tuple[Array, Array]:
    """Return a state from which the foot stays on the ground for more than 20 steps."""
    rng = np.random.default_rng(3)
    q = scene.model.integrate(scene.state.q, rng.normal(0, 0.2, scene.model.nv))
    v = rng.normal(0, 0.2, scene.model.nv)
    q[2], v[2] = 0.45, -1.0
    return q, v


class OnItsFoot(Rollout):
    """Begins after some steps: numbers that blocks hold do not follow parameters any more."""

    def __init__(self, scene: pysim.Scene, steps: int) -> None:
        start = self.landed(scene, 1)
        super().__init__(scene, start.q[0].copy(), start.v[0].copy(), steps)

    @staticmethod
    def landed(scene: pysim.Scene, count: int) -> pysim.Worlds:
        worlds = pysim.Worlds(scene, count)
        worlds.q[:], worlds.v[:] = on_its_foot(scene)
        worlds.step(steps=4)
        return worlds

    def at(self, q: Array, v: Array) -> pysim.Worlds:
        worlds = self.landed(self.scene, len(q))
        worlds.q[:], worlds.v[:] = q, v
        return worlds


def hopper(sensor: str, command: str, row: list[float]) -> str:
    """Return a hopper whose knee is driven by what a sensor has read."""
    text = HOPPER + sensor
    text += table("controller", name="feedback", type="gain", inputs=[command], gain=row)
    ones = {"type": "matrix", "matrix": [[1.0] * len(row)]}
    text += table("controller", name="sum", inputs=["feedback"], **ones)
    return text + table("actuator", name="push", type="force", joint="knee", command="sum")


def foot(**keys: Any) -> str:
    return table("sensor", name="foot", type="contact", frame="shank", period=2e-3, **keys)


HOPPERS = {
    "force of the foot": hopper(foot(), "foot.force", [0.04, 0.02, 0.03]),
    "torque of the foot": hopper(
        foot(at=[0.01, 0.02, -0.25], axes="base"), "foot.torque", [0.3, 0.4, 0.2]
    ),
    "normal force": hopper(foot(others=["world"]), "foot.normal", [0.03]),
    "imu of the trunk": hopper(
        table("sensor", name="imu", type="imu", frame="trunk", **PERIOD),
        "imu.acceleration",
        [0.02, 0.01, 0.03],
    ),
    "wrench of the knee": hopper(
        table("sensor", name="load", type="force_torque", joint="knee", **PERIOD),
        "load.force",
        [0.02, 0.01, 0.03],
    ),
}
ROLLING = ("dissipation = 0.3", "dissipation = 0.3\nrolling = 0.01\nspinning = 0.02")


def by_start(found: Any) -> Array:
    return np.concatenate([found.q[0], found.v[0]])


@pytest.mark.parametrize("period", [4e-3, 3e-3])  # some divide steps of 2 ms
def test_feedback_of_accelerations_has_the_gradient_of_differences(
    period: float, tmp_path: Path
) -> None:
    text = moving_arm().replace("period = 0.004", f"period = {period}")
    scene = scene_of(tmp_path, text, passes=1)
    controls = np.random.default_rng(2).normal(0, 0.3, (1, 20, 2))
    rollout = Later(scene, scene.state.q, np.array([0.3, 0.5, -0.8]), 20, controls)
    found = rollout.gradient()
    assert error(by_start(found), rollout.by_start()) < SMOOTH
    assert error(found.controls[0].ravel(), rollout.by_controls()) < SMOOTH


@pytest.mark.parametrize("scheme", ["convex", *SCHEMES])
def test_feedback_of_accelerations_has_the_gradient_by_numbers(scheme: str, tmp_path: Path) -> None:
    scene = scene_by(tmp_path, moving_arm(), scheme)
    rollout = New(scene, scene.state.q, scene.state.v, 20)
    paths = ["controller.first.weights", "body.lower.mass", "body.lower.com", "gravity"]
    paths += ["joint.elbow.damping", "joint.along.stiffness"]
    check_parameters(rollout, paths)


@pytest.mark.parametrize("period", [4e-3, 3e-3])  # some divide steps of 2 ms
@pytest.mark.parametrize("scheme", SCHEMES)
def test_feedback_of_accelerations_has_the_gradient_of_differences_by_schemes(
    scheme: str, period: float, tmp_path: Path
) -> None:
    text = moving_arm().replace("period = 0.004", f"period = {period}")
    scene = scene_by(tmp_path, text, scheme)
    controls = np.random.default_rng(2).normal(0, 0.3, (1, 20, 2))
    rollout = Later(scene, scene.state.q, np.array([0.3, 0.5, -0.8]), 20, controls)
    found = rollout.gradient()
    assert error(by_start(found), rollout.by_start()) < SMOOTH
    assert error(found.controls[0].ravel(), rollout.by_controls()) < SMOOTH


@pytest.mark.parametrize("rolls", [False, True])
@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize("name", HOPPERS)
def test_a_hopper_with_sensors_has_the_gradient_of_differences(
    name: str, passes: int, rolls: bool, tmp_path: Path
) -> None:
    text = HOPPERS[name].replace(*ROLLING) if rolls else HOPPERS[name]
    scene = scene_of(tmp_path, text, passes=passes)
    controls = np.random.default_rng(4).normal(0, 0.2, (1, 20, 1))
    rollout = Rollout(scene, *on_its_foot(scene), 20, controls)
    found = rollout.gradient()
    assert error(by_start(found), rollout.by_start()) < SMOOTH
    assert error(found.controls[0].ravel(), rollout.by_controls()) < SMOOTH


@pytest.mark.parametrize("name", HOPPERS)
def test_instants_within_steps_on_the_ground_have_the_gradient_of_differences(
    name: str, tmp_path: Path
) -> None:
    text = HOPPERS[name].replace("period = 0.004", "period = 0.003")
    scene = scene_of(tmp_path, text.replace("period = 0.002", "period = 0.003"), passes=1)
    rollout = Rollout(scene, *on_its_foot(scene), 12)
    assert error(by_start(rollout.gradient()), rollout.by_start()) < SMOOTH


@pytest.mark.parametrize("name", HOPPERS)
def test_a_hopper_with_sensors_has_the_gradient_by_numbers(name: str, tmp_path: Path) -> None:
    scene = scene_of(tmp_path, HOPPERS[name], passes=1)
    rollout = OnItsFoot(scene, 16)
    paths = ["controller.feedback.gain", "body.shank.mass", "materials.default.stiffness"]
    check_parameters(rollout, paths)


def test_a_gripper_with_sensors_of_its_load_has_the_gradient_of_differences(
    tmp_path: Path,
) -> None:
    text = GRIPPER.read_text("utf-8").split("[simulation]")[0]
    text = text.replace("box = [0.09, 0.05, 0.12]", "box = [0.09, 0.03, 0.12]")  # no edges coincide
    text = text.replace("xyz = [0, 0, 0.0]", "xyz = [0.002, 0.003, 0.001], rpy = [0, 0.01, 0.02]")
    text += '[[signal]]\nname = "share"\ntype = "input"\nsize = 3\n'
    text += table("sensor", name="load", type="force_torque", joint="closes", **PERIOD)
    text += table("sensor", name="other", type="force_torque", joint="follows", **PERIOD)
    sums = {"type": "sum", "weights": [0.05, 0.1]}
    text += table("controller", name="both", inputs=["load.force", "other.torque"], **sums)
    text += table("sensor", name="pad", type="contact", frame="left", others=["box"], **PERIOD)
    sums["weights"] = [1.0, 0.1]
    text += table("controller", name="all", inputs=["both", "pad.force"], **sums)
    sums["weights"] = [1.0, 1e3]
    text += table("controller", name="squeeze", inputs=["all", "share"], **sums)
    pads = ["closes", "lift", "free.wx"]
    text += table("actuator", name="pads", type="force", coordinates=pads, command="squeeze")
    scene = scene_of(tmp_path, text, passes=1)
    start = pysim.Worlds(scene)
    start.step(steps=200)
    assert sum(np.linalg.norm(start.contacts, axis=-1) > 1) >= 2  # both pads touch the box
    v = start.v + np.random.default_rng(3).normal(0, 0.02, start.v.shape)
    controls = np.random.default_rng(4).normal(0, 5e-3, (1, 20, 3))
    rollout = Rollout(scene, start.q.copy(), v, 20, controls)
    found = rollout.gradient()
    assert error(by_start(found), rollout.by_start()) < SMOOTH
    assert error(found.controls[0].ravel(), rollout.by_controls()) < SMOOTH


@pytest.mark.parametrize("name", ["force of the foot", "wrench of the knee"])
def test_the_product_of_all_steps_is_the_gradient(name: str, tmp_path: Path) -> None:
    scene = scene_of(tmp_path, HOPPERS[name], passes=1)
    worlds, nv = pysim.Worlds(scene, 1), scene.model.nv
    worlds.q[0], worlds.v[0] = on_its_foot(scene)
    weights = np.random.default_rng(1).normal(size=2 * nv)
    product, along = None, worlds.save()

    def loss(q: Array, v: Array) -> tuple[Array, Array, Array]:
        by_q, by_v = np.zeros_like(q), np.zeros_like(v)
        by_v[:, -1] = weights[nv:]
        by_q[:, -1] = covector(scene.model, q[:, -1], weights[:nv])
        return np.zeros(len(q)), by_q, by_v

    own = pysim.gradient(worlds, steps=20, loss=loss)
    product = pysim.step_derivatives(worlds, steps=20)
    bar = weights @ product.A[0, : 2 * nv, : 2 * nv]
    expected = np.concatenate([own.q[0], own.v[0]])
    assert np.linalg.norm(bar - expected) < 1e-10 * np.linalg.norm(expected)
    assert worlds.save() == along


@pytest.mark.parametrize("name", ["torque of the foot", "imu of the trunk"])
def test_worlds_have_the_same_bits_alone_and_among_others(name: str, tmp_path: Path) -> None:
    scene = scene_of(tmp_path, HOPPERS[name])
    rng, count = np.random.default_rng(5), 64
    many = pysim.Worlds(scene, count, threads=3)
    q, v = on_its_foot(scene)
    many.q[:], many.v[:] = q, v + rng.normal(0, 0.1, (count, len(v)))
    for k in range(count):
        many.step(steps=1 + k % 5, where=[k])
    saved = {k: many.save(where=[k]) for k in (0, 6, 63)}

    def loss(q: Array, v: Array) -> tuple[Array, Array, Array]:
        return (q**2).sum((1, 2)), 2 * q, 0 * v

    by = ["controller.feedback.gain"]
    found = pysim.gradient(many, steps=20, loss=loss, by=by)
    again = pysim.gradient(many, steps=20, loss=loss, by=by, memory=0)
    for own, other in ((found.q, again.q), (found.v, again.v), (found.loss, again.loss)):
        assert np.array_equal(own, other)
    many.step(steps=20)
    for k, record in saved.items():
        alone = pysim.Worlds(scene, 1)
        alone.load(record)
        own = pysim.gradient(alone, steps=20, loss=loss, by=by)
        assert np.array_equal(own.q[0], found.q[k])
        assert np.array_equal(own.v[0], found.v[k])
        assert np.array_equal(own.parameters[by[0]][0], found.parameters[by[0]][k])
        assert own.loss[0] == found.loss[k]
        alone.step(steps=20)
        assert np.array_equal(alone.q[0], many.q[k])
