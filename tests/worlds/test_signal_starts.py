"""Start values of signals of worlds that have made no step, after parameters were written.

Oracles: the same worlds without the write, to the bit; and worlds that begin with the written numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import pysim
from pysim.typing import Array
from tests.elements.blocks import table

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")  # of periods
PLUGINS = '''
from pysim.controllers import CallbackController, Controller, controller, real, signal


@controller("counter")
class Counter(Controller):
    """Counts its instants."""

    inputs = signal("x", unit="rad")
    outputs = signal("count", unit="1")
    memory = real("n")

    def update(self, t, inputs, n):
        return n + 1.0

    def output(self, t, inputs, n):
        return n


@controller("in_python")
class InPython(CallbackController):
    """Half of its input."""

    inputs = signal("x", unit="rad")
    outputs = signal("half", unit="rad")

    def begin_again(self, worlds):
        pass

    def output(self, inputs):
        return 0.5 * inputs.x
'''
ARM = """
plugins = ["own.py"]
[simulation]
integrator = "convex"
step = 2e-3
[[body]]
name = "arm"
mass = 1.2
com = [0.02, 0, -0.2]
inertia = { xx = 0.02, yy = 0.025, zz = 0.009 }
[[joint]]
name = "hinge"
type = "revolute"
axis = [0, 1, 0]
child = "arm"
start = 0.4
[[body]]
name = "crate"
mass = 2.0
[[joint]]
name = "slide"
type = "prismatic"
axis = [1, 0, 0]
child = "crate"
[[signal]]
name = "target"
type = "input"
unit = "rad"
"""
SERVO = "".join(
    [
        table("sensor", name="read", type="coordinates", coordinates=["hinge"], period=5e-3),
        table("controller", name="hold", type="gravity_compensation", share=0.8, period=5e-3),
        table(
            "controller",
            name="pd",
            type="pd",
            inputs=["target", "read.q", "read.v"],
            kp=30.0,
            kd=0.5,
            period=5e-3,
        ),
        table("controller", name="slow", type="low_pass", inputs=["pd"], time_constant=0.1),
        table(
            "actuator",
            name="motor",
            type="series_elastic",
            joint="hinge",
            command="pd",
            stiffness=100.0,
            inertia=0.1,
        ),
    ]
)


def scene_of(folder: Path, blocks: str = SERVO) -> pysim.Scene:
    (folder / "own.py").write_text(PLUGINS, "utf-8")
    path = folder / "arm.toml"
    path.write_text(ARM + blocks, "utf-8")
    return pysim.load_scene(path, allow_code=True)


def places_of(scene: pysim.Scene, *names: str) -> list[int]:
    """Return the places among the numbers of signals of states of elements with these names."""
    assert scene.signals is not None
    return [scene.signals.state_names.index(name) for name in names]


def accepted(worlds: pysim.Worlds) -> Array:
    """Return the numbers of signals after parameters are taken over."""
    worlds._accept(None)
    return worlds._records.signals.copy()


@pytest.mark.parametrize("written", ["nothing", "q", "v", "target", "state"])
def test_an_unrelated_parameter_changes_no_start_value(written: str, tmp_path: Path) -> None:
    scene = scene_of(tmp_path)
    worlds = pysim.Worlds(scene, 2)
    if written == "state":
        worlds._records.signals[:, places_of(scene, "motor.angle")] = 0.25
    elif written == "target":
        worlds.inputs["target"][:] = 0.3
    elif written != "nothing":
        getattr(worlds, written)[:, 0] += 0.1
    before = accepted(worlds)
    worlds.parameters["body.crate.mass"][0] += 1e-12
    np.testing.assert_array_equal(accepted(worlds), before)


def test_start_values_follow_a_parameter_unless_they_were_written(tmp_path: Path) -> None:
    scene = scene_of(tmp_path)
    worlds = pysim.Worlds(scene, 2)
    angle, slow = places_of(scene, "motor.angle", "slow.filtered")
    worlds._records.signals[1, angle] = 0.25
    worlds._records.signals[1, slow] = 7.0
    worlds.parameters["controller.pd.kp"][:] = 60.0
    numbers = accepted(worlds)
    begun = pysim.Worlds(scene_of(tmp_path, SERVO.replace("kp = 30.0", "kp = 60.0")))
    expected = accepted(begun)[0]
    assert expected[slow] == pytest.approx(-60.0 * 0.4)
    np.testing.assert_allclose(numbers[0], expected, rtol=1e-14)
    np.testing.assert_allclose(
        np.delete(numbers[1], [angle, slow]), np.delete(expected, [angle, slow]), rtol=1e-14
    )
    assert numbers[1, angle] == 0.25
    assert numbers[1, slow] == 7.0


def test_start_values_of_an_earlier_configuration_follow_no_parameter(tmp_path: Path) -> None:
    worlds = pysim.Worlds(scene_of(tmp_path), 1)
    worlds.q[0, 0] = -0.2
    before = accepted(worlds)
    worlds.parameters["controller.pd.kp"][:] = 60.0
    np.testing.assert_array_equal(accepted(worlds), before)
    worlds.reset(q=worlds.q.copy())
    assert accepted(worlds)[0, places_of(worlds.scene(0), "slow.filtered")] == pytest.approx(12.0)


def test_start_values_beside_a_controller_in_python_follow_parameters(tmp_path: Path) -> None:
    half = table("controller", name="half", type="in_python", inputs=["read.q"], period=5e-3)
    after = table("controller", name="after", type="gain", inputs=["half"], gain=3.0, period=5e-3)
    scene = scene_of(tmp_path, SERVO + half + after)
    worlds = pysim.Worlds(scene, 2)
    before = accepted(worlds)
    worlds.parameters["body.crate.mass"][:] += 1.0
    np.testing.assert_array_equal(accepted(worlds), before)
    worlds.parameters["controller.after.gain"][1] = 5.0
    worlds.parameters["controller.pd.kp"][1] = 60.0
    after_write = accepted(worlds)
    np.testing.assert_array_equal(after_write[0], before[0])
    assert worlds.signals["after"].tolist() == pytest.approx([0.6, 1.0])
    assert after_write[1, places_of(scene, "slow.filtered")] == pytest.approx(-60.0 * 0.4)


def test_a_reset_runs_blocks_once_whatever_was_written_before(tmp_path: Path) -> None:
    count = table("controller", name="count", type="counter", inputs=["read.q"], period=5e-3)
    worlds = pysim.Worlds(scene_of(tmp_path, SERVO + count), 2)
    worlds.step(steps=4)
    worlds.parameters["body.crate.mass"][0] = 3.0
    worlds.reset()
    np.testing.assert_array_equal(*worlds._records.signals)


def test_initial_values_that_have_no_solution_leave_other_worlds_as_they_are(
    tmp_path: Path,
) -> None:
    """Filters that read each other begin at x = gain (x + q), which a gain of 1 does not allow."""
    blocks = table("sensor", name="read", type="coordinates", coordinates=["hinge"])
    blocks += table(
        "controller", name="e", type="sum", inputs=["slow", "read.q"], weights=[1.0, 1.0]
    )
    blocks += table("controller", name="quick", type="gain", inputs=["e"], gain=0.5)
    blocks += table("controller", name="slow", type="low_pass", inputs=["quick"], time_constant=0.1)
    scene = scene_of(tmp_path, blocks)
    worlds = pysim.Worlds(scene, 3)
    worlds.parameters["controller.quick.gain"][:] = [1.0, 0.25, 0.5]
    (slow,) = places_of(scene, "slow.filtered")
    numbers = accepted(worlds)[:, slow]
    np.testing.assert_allclose(numbers[1:], [0.4 / 3, 0.4], rtol=1e-12)
