"""Gradients of losses that read accelerations, wrenches of joints, and contacts after steps.

Oracle: the best of central differences of sixth order, of several sizes, of signals that `Worlds` returns after the
engine's own steps.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.analysis.array_rollout import ArrayRollout
from pysim.typing import Array
from tests.analysis.test_gradients import (
    BOX,
    HOPPER,
    SMOOTH,
    Rollout,
    check_parameters,
    error,
    scene_of,
)
from tests.analysis.test_late_gradients import (
    HOPPERS,
    ROLLING,
    by_start,
    moving_arm,
    on_its_foot,
)
from tests.analysis.test_scheme_gradients import BALL, SCHEMES, scene_of as scene_by
from tests.analysis.test_signal_losses import SignalRollout
from tests.elements.blocks import table

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")  # of starts and periods
FOOT = {"frame": "shank", "at": [0.01, 0.02, -0.25], "axes": "base"}
ON_GROUND = (
    table("sensor", name="sole", type="contact", **FOOT)
    + table("sensor", name="inertial", type="imu", frame="trunk")
    + table("sensor", name="carried", type="force_torque", joint="knee")
    + table("sensor", name="turns", type="acceleration", frame="thigh")
    + table("controller", name="share", type="gain", inputs=["sole.force"], gain=[0.2, 0.3, 0.4])
)
CONTACTS = ("sole.force", "sole.torque", "sole.normal", "share")
MEASURED = ("inertial.acceleration", "carried.force", "carried.torque", "turns.angular")
IN_AIR = (
    table("sensor", name="imu now", type="imu", frame="lower")
    + table("sensor", name="wrist now", type="force_torque", joint="elbow")
    + table("sensor", name="rail", type="force_torque", joint="along")
)
OF_ARM = ("imu now.acceleration", "wrist now.force", "wrist now.torque", "rail.force")


class OnGround(SignalRollout):
    """Begins where the foot has stood for some steps."""

    def at(self, q: Array, v: Array) -> pysim.Worlds:
        worlds = pysim.Worlds(self.scene, len(q))
        worlds.q[:], worlds.v[:] = on_its_foot(self.scene)
        worlds.step(steps=4)
        worlds.q[:], worlds.v[:] = q, v
        return worlds


def on_ground(text: str, names: tuple[str, ...], folder: Path, steps: int, **keys: Any) -> OnGround:
    scene = scene_of(folder, text, **keys)
    start = pysim.Worlds(scene)
    start.q[:], start.v[:] = on_its_foot(scene)
    start.step(steps=4)
    controls = np.random.default_rng(4).normal(0, 0.2, (1, steps, 1))
    return OnGround(scene, names, start.q.copy(), start.v.copy(), controls)


@pytest.mark.parametrize("rolls", [False, True])
@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize("names", [CONTACTS, MEASURED])
def test_losses_of_a_hopper_on_its_foot_have_the_gradient_of_differences(
    names: tuple[str, ...], passes: int, rolls: bool, tmp_path: Path
) -> None:
    text = (HOPPER.replace(*ROLLING) if rolls else HOPPER) + ON_GROUND
    rollout = on_ground(text, names, tmp_path, 12, passes=passes)
    found = rollout.gradient()
    assert error(by_start(found), rollout.by_start()) < SMOOTH
    assert error(found.controls[0].ravel(), rollout.by_controls()) < SMOOTH


@pytest.mark.parametrize("name", [*CONTACTS, *MEASURED])
def test_losses_of_a_hopper_have_the_gradient_by_numbers(name: str, tmp_path: Path) -> None:
    rollout = on_ground(HOPPER + ON_GROUND, (name,), tmp_path, 8, passes=1)
    paths = [
        "body.shank.mass",
        "body.trunk.com",
        "materials.default.stiffness",
        "joint.hip.damping",
    ]
    rollout.check_parameters(paths)


@pytest.mark.parametrize("name", HOPPERS)
def test_instants_within_steps_before_what_is_read_have_the_gradient_of_differences(
    name: str, tmp_path: Path
) -> None:
    """Sampled sensors of the same kinds act on the knee, and what they hold is read, too."""
    text = HOPPERS[name].replace("period = 0.004", "period = 0.003")
    text = text.replace("period = 0.002", "period = 0.003")
    text += ON_GROUND
    names = ("sole.force", "inertial.acceleration", "carried.torque", "feedback")
    rollout = on_ground(text, names, tmp_path, 7, passes=1)
    assert error(by_start(rollout.gradient()), rollout.by_start()) < SMOOTH


@pytest.mark.parametrize("scheme", ["convex", *SCHEMES])
def test_losses_of_an_arm_have_the_gradient_of_differences(scheme: str, tmp_path: Path) -> None:
    """What it measures in every step, and what its sampled sensors hold."""
    scene = scene_by(tmp_path, moving_arm() + IN_AIR, scheme)
    controls = np.random.default_rng(2).normal(0, 0.3, (1, 9, 2))
    names = (*OF_ARM, "imu.acceleration", "wrist.torque")
    rollout = SignalRollout(scene, names, scene.state.q, np.array([0.3, 0.5, -0.8]), controls)
    found = rollout.gradient()
    assert error(by_start(found), rollout.by_start()) < SMOOTH
    assert error(found.controls[0].ravel(), rollout.by_controls()) < SMOOTH


@pytest.mark.parametrize("scheme", ["convex", *SCHEMES])
def test_losses_of_an_arm_have_the_gradient_by_numbers(scheme: str, tmp_path: Path) -> None:
    scene = scene_by(tmp_path, moving_arm() + IN_AIR, scheme)
    names = (*OF_ARM, "wrist.torque")  # a sampled one holds its reading
    rollout = SignalRollout(scene, names, scene.state.q, scene.state.v, np.zeros((1, 5, 2)))
    paths = [
        "body.lower.mass",
        "body.lower.com",
        "gravity",
        "joint.elbow.damping",
        "body.cart.mass",
    ]
    rollout.check_parameters(paths)


@pytest.mark.parametrize("name", ["sole.normal", "inertial.acceleration.z", "carried.torque.x"])
def test_worlds_have_the_same_bits_alone_and_among_others(name: str, tmp_path: Path) -> None:
    scene = scene_of(tmp_path, HOPPER + ON_GROUND)
    many = pysim.Worlds(scene, 64, threads=3)
    q, v = on_its_foot(scene)
    many.q[:], many.v[:] = q, v + np.random.default_rng(5).normal(0, 0.1, (64, len(v)))
    for k in range(64):
        many.step(steps=1 + k % 5, where=[k])
    saved = many.save()
    by = ["body.shank.mass"]
    found = pysim.gradient(many, steps=12, loss=name, by=by)
    again = pysim.gradient(many, steps=12, loss=name, by=by, memory=0)
    assert np.array_equal(found.q, again.q)
    assert np.array_equal(found.loss, again.loss)
    assert many.save() == saved
    for count in (1, 7):
        few = pysim.Worlds(scene, count)
        for k in range(count):
            few.load(many.save(where=[k]), where=[k])
        own = pysim.gradient(few, steps=12, loss=name, by=by)
        assert np.array_equal(own.q, found.q[:count])
        assert np.array_equal(own.v, found.v[:count])
        assert np.array_equal(own.parameters[by[0]], found.parameters[by[0]][:count])
    many.step(steps=12)
    assert np.array_equal(found.loss, many.signals[name])


def test_a_value_that_was_read_before_the_steps_is_not_the_loss(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, HOPPER + ON_GROUND)
    worlds = pysim.Worlds(scene, 2)
    worlds.q[:], worlds.v[:] = on_its_foot(scene)
    worlds.step(steps=4)
    before = worlds.signals["sole.normal"].copy()
    found = pysim.gradient(worlds, steps=3, loss="sole.normal")
    assert np.array_equal(worlds.signals["sole.normal"], before)
    worlds.step(steps=3)
    assert np.array_equal(found.loss, worlds.signals["sole.normal"])
    assert not np.array_equal(found.loss, before)


def test_rollouts_of_arrays_take_cotangents_of_what_sensors_measure_back(tmp_path: Path) -> None:
    """Oracle: the gradient of the same loss; `pysim.torch.rollout` and `pysim.jax.rollout` are such rollouts."""
    scene = scene_of(tmp_path, HOPPER + ON_GROUND)
    worlds = pysim.Worlds(scene, 3)
    worlds.q[:], worlds.v[:] = on_its_foot(scene)
    names, controls = ("sole.force", "inertial.acceleration"), np.zeros((3, 8, 1))

    def squares(q: Array, v: Array, signals: dict[str, Array]) -> tuple[Any, ...]:
        value = sum((signals[name] ** 2).sum((1, 2)) for name in names)
        return value, 0 * q, 0 * v, {name: 2 * signals[name] for name in names}

    found = pysim.gradient(worlds, controls, loss=squares, signals=names)
    rollout = ArrayRollout(worlds, controls=controls, signals=names)
    bars = {name: 2 * rollout.signals[name] for name in names}
    own = rollout.back(0 * rollout.q, 0 * rollout.v, bars)
    assert np.array_equal(own.v, found.v)
    assert found.controls is not None
    assert np.array_equal(own.controls, found.controls)
    assert np.abs(own.v).max() > 1


ON_BOX = (
    table("sensor", name="pad", type="contact", frame="box")
    + table("sensor", name="top", type="contact", frame="ball", others=["box"], axes="base")
    + table("sensor", name="shaken", type="imu", frame="box")
)
OF_BOX = ("pad.force", "pad.torque", "pad.normal", "top.force", "shaken.acceleration")


def on_box(folder: Path, scheme: str, more: str, names: tuple[str, ...]) -> SmoothRollout:
    """Return a box on a plane, onto which a ball has fallen."""
    text = BOX.replace("stiffness = 3e4", "stiffness = 3e3") + BALL + ON_BOX + more
    scene = scene_by(folder, text, scheme, 5e-4)
    start = pysim.Worlds(scene)
    start.v[:] = [0.4, -0.2, -1.5, 1.0, -2.0, 0.7, 0.3, 0.1, -2.5, 0.4, -0.6, 0.5]
    start.step(steps=254)
    return SmoothRollout(scene, names, start.q.copy(), start.v.copy(), np.zeros((1, 8, 0)))


class SmoothRollout(SignalRollout):
    """Begins at once."""

    def at(self, q: Array, v: Array) -> pysim.Worlds:
        worlds = pysim.Worlds(self.scene, len(q))
        worlds.q[:], worlds.v[:] = q, v
        return worlds


@pytest.mark.parametrize("scheme", ["semi_implicit", "rk4", "generalized_alpha"])
def test_losses_of_smooth_contacts_have_the_gradient_of_differences(
    scheme: str, tmp_path: Path
) -> None:
    rollout = on_box(tmp_path, scheme, "", OF_BOX)
    found = rollout.check_parameters(["body.box.mass"])
    assert np.abs(rollout.reference["pad.normal"]).min() > 1
    assert np.abs(rollout.reference["top.force"]).max() > 1
    assert error(by_start(found), rollout.by_start()) < SMOOTH


@pytest.mark.parametrize("period", [1e-3, 0.7e-3])  # some divide steps of 0.5 ms
@pytest.mark.parametrize("scheme", ["semi_implicit", "rk4", "generalized_alpha"])
def test_feedback_of_smooth_contacts_has_the_gradient_of_differences(
    scheme: str, period: float, tmp_path: Path
) -> None:
    more = table("sensor", name="held", type="contact", frame="box", period=period)
    more += table(
        "controller", name="share", type="gain", inputs=["held.force"], gain=[0.02, 0.03, 0.01]
    )
    coordinates = ["other.wx", "other.wy", "other.wz"]
    more += table("actuator", name="turn", type="force", coordinates=coordinates, command="share")
    held = on_box(tmp_path, scheme, more, OF_BOX)
    rollout = Rollout(held.scene, held.q, held.v, 12)
    found = check_parameters(rollout, ["body.box.mass", "controller.share.gain"])
    assert error(by_start(found), rollout.by_start()) < SMOOTH
