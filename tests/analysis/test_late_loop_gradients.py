"""Gradients by accelerations and wrenches of joints in mechanisms with loops, couplings and prescribed motions.

Oracle: the best of central differences of sixth order, of six sizes, of the engine's own steps, as in
test_loop_gradients.py: what sensors measure after the last step, and states that follow from what sampled ones did.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.typing import Array
from tests.analysis.test_gradients import Rollout, check_parameters, error
from tests.analysis.test_late_gradients import PERIOD
from tests.analysis.test_loop_gradients import (
    CHAIN,
    FOUR_BAR,
    LOOPS,
    SCHEMES,
    SMOOTH,
    check,
    closed,
    scene_of,
    started,
)
from tests.analysis.test_sampled_gradients import ARM
from tests.elements.blocks import table

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")  # of starts and periods
OF_FOUR_BAR = (
    table("sensor", name="imu", type="imu", frame="coupler")
    + table("sensor", name="pin", type="force_torque", joint="knee")
    + table("sensor", name="base", type="force_torque", joint="swing")
)
OF_CHAIN = (
    table("sensor", name="imu", type="imu", frame="c")
    + table("sensor", name="pin", type="force_torque", joint="two")
    + table("sensor", name="base", type="force_torque", joint="one")
)
FEEDBACK = (
    table("sensor", name="shaken", type="imu", frame="coupler", **PERIOD)
    + table("sensor", name="loaded", type="force_torque", joint="swing", **PERIOD)
    + table(
        "controller",
        name="sum",
        type="sum",
        inputs=["shaken.acceleration", "loaded.force"],
        weights=[0.02, 0.01],
    )
    + table("controller", name="share", type="gain", inputs=["sum"], gain=[0.3, 0.2, 0.4])
    + table("controller", name="one", type="matrix", inputs=["share"], matrix=[[1.0, 1.0, 1.0]])
    + table("actuator", name="push", type="force", joint="drive", command="one")
)
NAMES = ("imu.acceleration", "pin.force", "pin.torque", "base.force")


class Measured(Rollout):
    """A weighted sum of signals after the last step."""

    def __init__(self, names: tuple[str, ...], *arguments: Any) -> None:
        self.names = names
        super().__init__(*arguments)
        rng = np.random.default_rng(1)
        self.weights = {
            name: rng.normal(size=self.reference.signals[name].shape[1:]) for name in names
        }

    def losses(self, worlds: pysim.Worlds) -> Array:
        return np.asarray(
            sum(
                np.tensordot(worlds.signals[name] - self.reference.signals[name], own, own.ndim)
                for name, own in self.weights.items()
            )
        )

    def gradient(self, **keys: Any) -> Any:
        def loss(q: Array, v: Array, signals: dict[str, Array]) -> tuple[Any, ...]:
            by = {name: np.zeros_like(rows) for name, rows in signals.items()}
            for name, own in self.weights.items():
                by[name][:, -1] = own
            return np.zeros(len(q)), 0 * q, 0 * v, by

        steps = None if self.controls is not None else self.steps
        return pysim.gradient(
            self.worlds, self.controls, steps=steps, loss=loss, signals=self.names, **keys
        )


@pytest.mark.parametrize("scheme", SCHEMES)
def test_sensors_of_a_four_bar_have_the_gradient_of_differences(
    scheme: str, tmp_path: Path
) -> None:
    scene = scene_of(tmp_path, FOUR_BAR + OF_FOUR_BAR, scheme)
    controls = np.random.default_rng(4).normal(0.4, 0.2, (1, 6, 1))
    rollout = Measured(NAMES, scene, *started(scene, 1, 0.0), 6, controls)
    check(rollout)
    found = rollout.gradient()
    assert error(found.controls[0].ravel(), rollout.by_controls()) < SMOOTH
    check_parameters(rollout, ["body.coupler.mass", "gravity", "body.rocker.com"])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_four_bar_under_feedback_of_its_sensors_has_the_gradient_of_differences(
    scheme: str, tmp_path: Path
) -> None:
    scene = scene_of(tmp_path, FOUR_BAR + FEEDBACK, scheme)
    controls = np.random.default_rng(4).normal(0.4, 0.2, (1, 12, 1))
    rollout = Rollout(scene, *started(scene, 1, 0.0), 12, controls)
    check(rollout)
    found = rollout.gradient()
    assert error(found.controls[0].ravel(), rollout.by_controls()) < SMOOTH
    check_parameters(rollout, ["body.coupler.mass", "controller.share.gain"])


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize("scheme", ["convex", "rk4", "implicit_midpoint"])
def test_sensors_of_a_chain_that_a_loop_holds_have_the_gradient_of_differences(
    scheme: str, kind: str, tmp_path: Path
) -> None:
    scene = scene_of(tmp_path, CHAIN + LOOPS[kind] + OF_CHAIN, scheme)
    check(Measured(NAMES, scene, *started(scene, 2), 3))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_sensors_of_an_arm_with_a_coupling_have_the_gradient_of_differences(
    scheme: str, tmp_path: Path
) -> None:
    text = ARM + table("coupling", name="gear", joint="elbow", ratios={"shoulder": 0.5})
    text += table("sensor", name="imu", type="imu", frame="lower")
    text += table("sensor", name="pin", type="force_torque", joint="elbow")
    names = ("imu.acceleration", "pin.force", "pin.torque")
    scene = scene_of(tmp_path, text, scheme)
    check(Measured(names, scene, *started(scene, 1), 6))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_sensors_of_a_driven_four_bar_have_the_gradient_of_differences(
    scheme: str, tmp_path: Path
) -> None:
    drive = "start = { q = 0.4, v = 2.0 }\nfriction = 0.05\n"
    text = FOUR_BAR.split("[[signal]]")[0].replace(drive, 'motion = { signal = "turn" }\n')
    text = text.replace('[assembly]\nhold = ["drive"]\n', "") + OF_FOUR_BAR
    sine = {"type": "sine", "amplitude": 0.2, "frequency": 3.0, "unit": "rad"}
    scene = scene_of(tmp_path, text + table("signal", name="turn", **sine), scheme)
    rollout = Measured(NAMES, scene, *closed(scene, scene.state.q, scene.state.v, 0.0), 5)
    check_parameters(rollout, ["body.coupler.mass", "joint.swing.stiffness", "gravity"])


def test_sensors_of_a_closed_chain_in_contact_have_the_gradient_of_differences(
    tmp_path: Path,
) -> None:
    foot = "collision = [{ sphere = { radius = 0.04 }, at = { xyz = [0, 0.3, 0] } }]\n"
    text = CHAIN.replace('name = "c"\n', 'name = "c"\n' + foot, 1) + LOOPS["ball"] + OF_CHAIN
    text += table("sensor", name="sole", type="contact", frame="c")
    ground = "[[ground]]\nplane = { normal = [0, 0, 1], offset = -0.334 }\n"
    material = (
        "[materials.default]\nfriction = 0.6\nstiffness = 2e4\ndissipation = 0.3\n"
        "relaxation_time = 1e-3\n"
    )
    scene = scene_of(tmp_path, material + text + ground)
    rollout = Measured((*NAMES, "sole.force", "sole.torque"), scene, *started(scene, 2), 5)
    assert np.abs(rollout.reference.contacts).max() > 10
    check(rollout)


def test_worlds_have_the_same_bits_alone_and_among_others(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, FOUR_BAR + OF_FOUR_BAR + FEEDBACK)
    many = pysim.Worlds(scene, 64, threads=3)
    for k in range(64):
        many.step(steps=1 + k % 5, where=[k])
    found = pysim.gradient(many, steps=6, loss="pin.force.x")
    for count in (1, 7):
        few = pysim.Worlds(scene, count)
        few.load(many.save(where=list(range(count))))
        own = pysim.gradient(few, steps=6, loss="pin.force.x")
        assert np.array_equal(own.q, found.q[:count])
        assert np.array_equal(own.v, found.v[:count])
        assert np.array_equal(own.loss, found.loss[:count])
