"""Elements whose values become NaN: readings of worlds, and errors that name the world and the element.

Oracle of readings: a world whose elements have values, alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pysim
from pysim.typing import Array
from tests.elements.blocks import table

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")  # of lost worlds and periods
PLUGINS = '''
from pysim.controllers import Controller, controller, real, signal


@controller("root_of_time")
class RootOfTime(Controller):
    """Has no value after `until`."""

    inputs = signal("x", unit="rad")
    outputs = signal("y", unit="N·m")
    until: float  # [s]

    def output(self, t, inputs):
        return 0.1 * (self.until - t) ** 0.5


@controller("integral_of_root")
class IntegralOfRoot(RootOfTime):
    """Has a state."""

    states = real("sum")

    def state_rate(self, t, inputs, sum):
        return (self.until - t) ** 0.5

    def output(self, t, inputs, sum):
        return sum
'''
PENDULUM = """
plugins = ["own.py"]
[simulation]
integrator = "INTEGRATOR"
step = 2e-3
[[body]]
name = "rod"
mass = 1.0
com = [0, 0, -0.5]
inertia = { xx = 0.1, yy = 0.1, zz = 0.01 }
[[joint]]
name = "hinge"
type = "revolute"
axis = [0, 1, 0]
child = "rod"
start = 0.3
[[sensor]]
name = "read"
type = "coordinates"
coordinates = ["hinge"]
[[sensor]]
name = "imu"
type = "imu"
frame = "rod"
[[sensor]]
name = "wrench"
type = "force_torque"
joint = "hinge"
"""
FIXED = ["convex", "semi_implicit", "generalized_alpha"]
NAMED = r"controller 'bad' is NaN or infinite at t = 0.008 s; fix .*own.py:13: RootOfTime.output"


def scene_of(folder: Path, integrator: str, kind: str = "root_of_time", **keys: Any) -> pysim.Scene:
    (folder / "own.py").write_text(PLUGINS, "utf-8")
    path = folder / "pendulum.toml"
    bad = table("controller", name="bad", type=kind, inputs=["read.q"], **keys)
    motor = table("actuator", name="motor", type="force", joint="hinge", command="bad")
    path.write_text(PENDULUM.replace("INTEGRATOR", integrator) + bad + motor, "utf-8")
    return pysim.load_scene(path, allow_code=True)


@pytest.mark.parametrize("written", ["state", "q", "v", "t"])
@pytest.mark.parametrize("integrator", FIXED)
def test_one_world_without_values_leaves_the_readings_of_others(
    integrator: str, written: str, tmp_path: Path
) -> None:
    scene = scene_of(tmp_path, integrator, "integral_of_root", until=100.0)
    worlds, alone = pysim.Worlds(scene, 3), pysim.Worlds(scene, 1)
    for own in (worlds, alone):
        own.step(steps=3)
    if written == "state":
        worlds._records.signals[1, 0] = np.nan
    else:
        getattr(worlds, written)[1] = np.nan
    for name in ("wrench.torque", "imu.acceleration", "bad", "read.q"):
        np.testing.assert_array_equal(worlds.signals[name][[0, 2]], alone.signals[name][[0, 0]])
    assert np.isnan(worlds.signals["wrench.torque"][1]).any()
    assert np.isnan(worlds.signals["bad"][1])
    if written == "state":
        assert worlds.signals["read.q"][1] == alone.signals["read.q"][0]


@pytest.mark.parametrize("integrator", FIXED)
def test_a_gradient_names_the_element_without_a_value(integrator: str, tmp_path: Path) -> None:
    scene = scene_of(tmp_path, integrator, until=7e-3, period=4e-3)

    def torque(q: Array, v: Array, signals: Any) -> tuple[Any, ...]:
        by = {"wrench.torque": np.ones(signals["wrench.torque"].shape)}
        return signals["wrench.torque"].sum((1, 2)), 0 * q, 0 * v, by

    for loss, signals in (("wrench.torque.y", []), (torque, ["wrench.torque"])):
        with pytest.raises(pysim.SimulationError, match=rf"loss: .* in world 0: {NAMED}, or take"):
            pysim.gradient(pysim.Worlds(scene, 2), steps=4, loss=loss, signals=signals)
    for function in (
        lambda x: pysim.gradient(x, steps=5, loss="read.q"),
        lambda x: pysim.step_derivatives(x, steps=5),
    ):
        with pytest.raises(
            pysim.SimulationError,
            match=rf"gradient: world 0 is lost in step 5: .*{NAMED}, or take fewer steps",
        ):
            function(pysim.Worlds(scene, 2))


@pytest.mark.parametrize("integrator", FIXED)
def test_a_lost_world_and_its_recording_name_the_element(integrator: str, tmp_path: Path) -> None:
    scene = scene_of(tmp_path, integrator, until=7e-3, period=4e-3)
    worlds = pysim.Worlds(scene, 2)
    with worlds.record(every=2e-3) as recording:
        worlds.step(steps=6)
    assert worlds.lost.all()
    with pytest.raises(pysim.SimulationError, match=NAMED):
        recording.trajectory()
    np.testing.assert_allclose(worlds.t, 8e-3)
    assert re.search(NAMED, worlds.reason(1))
    with pytest.raises(pysim.SimulationError, match=NAMED):
        pysim.simulate(scene)


def test_linearize_names_the_element_without_a_value(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, "rk4", until=-1.0)
    with pytest.raises(pysim.SimulationError, match=r"linearize: controller 'bad' is NaN or inf"):
        pysim.linearize(scene)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_infinite_or_nan_configuration_is_named(value: float, tmp_path: Path) -> None:
    worlds = pysim.Worlds(scene_of(tmp_path, "convex", until=100.0), 2)
    worlds.q[1] = value
    problem = rf"worlds: q of world 1 was set to {value} for 'hinge'; write another, or reset"
    for read in (lambda: worlds.poses, lambda: worlds.jacobian("rod")):
        with pytest.raises(pysim.SimulationError, match=problem):
            read()
    assert worlds.scene(1).state.q == 0.3  # the last good state
    assert f"q was set to {value} for 'hinge'" in worlds.reason(1)
