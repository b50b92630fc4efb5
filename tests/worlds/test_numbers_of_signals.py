"""Numbers of the mechanism that elements read: a world's signals follow from its own ones.

Oracle: the worlds' own scenes, which are compiled with their numbers, stepped alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.sensors import Sensor, sensor, signal
from pysim.typing import Array
from tests.elements.blocks import table

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
STEPS = 20


PARTS = (
    table("body", name="rod", mass=1.0, com=[0.01, 0.02, -0.5], inertia={"xx": 0.1, "yy": 0.1, "zz": 0.01})
    + table("body", name="tool", mass=0.5, com=[0.02, 0.01, -0.1], inertia={"xx": 0.01, "yy": 0.012, "zz": 0.011})
    + table("body", name="tip", mass=0.2, com=[0.01, 0.0, -0.05], inertia={"xx": 0.01, "yy": 0.01, "zz": 0.01})
    + table("body", name="stand", mass=4.0, com=[0.0, 0.1, 0.2], inertia={"xx": 0.1, "yy": 0.1, "zz": 0.1})
    + table("joint", name="base", type="fixed", child="stand", at={"xyz": [2.0, 0.0, 0.0]})
    + table("joint", name="boom", type="revolute", axis=[1, 0, 0], parent="stand", child="beam", start=0.3)
    + table("body", name="beam", mass=0.7, com=[0.1, 0.0, -0.3], inertia={"xx": 0.05, "yy": 0.05, "zz": 0.01})
    + table("joint", name="hinge", type="revolute", axis=[0, 1, 0], child="rod", start=0.4, damping=0.05,
            stiffness=0.3, rest=0.1, friction=0.01, friction_width=0.02, armature=0.02,
            limits={"lower": -0.5, "upper": 0.41, "stiffness": 200.0, "damping": 2.0})
    + table("joint", name="weld", type="fixed", parent="rod", child="tool",
            at={"xyz": [0.0, 0.1, -1.0], "rpy": [0.3, 0.2, 0.1]})
    + table("joint", name="tip_weld", type="fixed", parent="tool", child="tip", at={"xyz": [0.1, 0.0, 0.0]})
    + table("frame", name="hook", body="world", at={"xyz": [0.3, 0.0, -0.5]})
    + table("frame", name="turned", body="world", at={"rpy": [0.4, 0.1, 0.2]})
)  # fmt: skip


def elements(period: str) -> str:
    """Return a table of each element that takes gravity or weighs, and others that measure."""
    text = (
        table("sensor", name="imu", type="imu", frame="tool", acceleration_bias=[0.1, 0.0, 0.2])
        + table("sensor", name="up", type="up", frame="rod")
        + table("sensor", name="up in turned", type="up", frame="rod", relative_to="turned")
        + table("sensor", name="ft", type="force_torque", joint="weld")
        + table("sensor", name="ft of base", type="force_torque", joint="base")
        + table("sensor", name="ft of hinge", type="force_torque", joint="hinge")
        + table("sensor", name="acceleration", type="acceleration", frame="tool")
        + table("sensor", name="angle", type="coordinates", coordinates=["hinge"])
        + table("sensor", name="pose", type="pose", frame="tool")
        + table("sensor", name="speed", type="twist", frame="tool")
    )
    if period:
        text = text.replace("[[sensor]]\n", f"[[sensor]]\nperiod = {period}\n")
    return (
        text
        + table("sensor", name="loss", type="power", element="hinge")
        + table("sensor", name="stored", type="energy", element="hinge")
        + table("sensor", name="loss of band", type="power", element="band")
        + table("sensor", name="band length", type="distance",
                path=[{"body": "world", "point": [0.3, 0.0, 0.0]}, {"body": "tool", "point": [0.0, 0.1, 0.0]}])
        + table("controller", name="compensation", type="gravity_compensation")
        + table("controller", name="pd", type="pd", inputs=["target", "angle.q", "angle.v"], kp=2.0, kd=0.1)
        + table("signal", name="target", type="sine", amplitude=0.3, frequency=3.0)
        + table("actuator", name="motor", type="force", joint="hinge", command="pd")
        + table("force", name="band", type="spring", a="hook", b="rod", stiffness=5.0, damping=0.1, length=0.1)
    )  # fmt: skip


def written(tmp_path: Path, scheme: str, period: str = "") -> Path:
    settings = f'[simulation]\nstep = 1e-3\nduration = 1.0\nintegrator = "{scheme}"\n'
    path = tmp_path / "scene.toml"
    path.write_text(settings + PARTS + elements(period), "utf-8")
    return path


def check_signals(worlds: pysim.Worlds) -> None:
    """Require that the signals of all worlds are those of their own scenes."""
    scenes = [worlds.scene(k) for k in range(len(worlds))]
    worlds.step(steps=STEPS)
    rows = worlds.signals.rows()
    for k, scene in enumerate(scenes):
        alone = pysim.Worlds(scene)
        alone.step(steps=STEPS)
        np.testing.assert_allclose(rows[k], alone.signals.rows()[0], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("scheme", ["rk4", "convex"])
@pytest.mark.parametrize("period", ["", "0.004"])
def test_signals_follow_from_the_gravity_and_masses_of_their_world(
    tmp_path: Path, rng: np.random.Generator, scheme: str, period: str
) -> None:
    worlds = pysim.Worlds(written(tmp_path, scheme, period), 9)
    parameters = worlds.parameters
    parameters["gravity"][1:5] += rng.uniform(-2, 2, (4, 3))
    parameters["body.tool.mass"][3:] = rng.uniform(0.3, 3.0, 6)
    parameters["body.tip.com"][4:7] = rng.uniform(-0.1, 0.1, (3, 3))
    parameters["body.tip.inertia"][6] *= 1.4
    parameters["body.rod.mass"][7] = 2.0
    parameters["controller.pd.kp"][5:] = 3.0
    check_signals(worlds)


def test_every_number_of_worlds_is_that_of_their_own_scene_in_signals(tmp_path: Path) -> None:
    for scheme in ("rk4", "convex"):
        path = written(tmp_path, scheme)
        scene = pysim.load_scene(path)
        found = pysim.Worlds(scene).parameters
        for name in (*found, "joint.hinge.rest", "sensor.imu.acceleration_bias"):
            worlds = pysim.Worlds(scene, 2)
            values = worlds.parameters[name]
            values[1] = values[1] * 1.13 + (0.01 if "lower" not in name else 0.0)
            check_signals(worlds)


def test_a_multirotor_holds_its_height_in_the_gravity_of_its_world() -> None:
    scene = pysim.load_scene(Path(__file__).parents[2] / "scenes" / "quadrotor.toml")
    worlds = pysim.Worlds(scene, 3)
    worlds.parameters["gravity"][1:, 2] = [-3.7, -12.0]
    check_signals(worlds)


def test_gravity_on_which_a_plugin_branches_is_that_of_a_scene_compiled_for_its_world(
    tmp_path: Path,
) -> None:
    @sensor("branching")
    class Branching(Sensor):
        """Twice or three times the gravity."""

        outputs = signal("g", unit="m/s²")

        def measure(self, gravity: Any) -> Any:
            return 2.0 * gravity[2] if float(gravity[2]) < -5 else 3.0 * gravity[2]

    path = written(tmp_path, "rk4")
    path.write_text(
        path.read_text("utf-8") + table("sensor", name="odd", type="branching"), "utf-8"
    )
    worlds = pysim.Worlds(path, 3)
    worlds.parameters["gravity"][1:, 2] = [-3.7, -12.0]
    worlds.parameters["controller.pd.kp"][1] = 3.0
    worlds.parameters["body.tool.mass"][2] = 3.0
    check_signals(worlds)
    np.testing.assert_allclose(worlds.signals["odd"], [2 * -9.81, 3 * -3.7, 2 * -12.0], rtol=1e-15)


def test_numbers_that_no_program_reads_open_none(tmp_path: Path) -> None:
    worlds = pysim.Worlds(written(tmp_path, "rk4"), 2)
    model = worlds._records.scene.model
    worlds.parameters["body.beam.mass"][1] = 2.0
    worlds.parameters["gravity"]
    worlds.step()
    assert worlds._records.scene.model is model


WEIGHTS = {
    "imu.acceleration": [0.3, -0.2, 0.5],
    "up": [1.0, 2.0, -1.0],
    "ft.force": [0.1, 0.2, 0.3],
    "ft.torque": [1.0, -0.5, 0.4],
    "ft of base.torque": [0.2, 0.3, -0.1],
    "loss": [3.0],
    "stored": [2.0],
}


def weighed(
    q: Array, v: Array, signals: dict[str, Array]
) -> tuple[Array, Array, Array, dict[str, Array]]:
    """Return a sum of signals, with its derivatives."""
    total, bars = np.zeros(len(q)), {}
    for name, weights in WEIGHTS.items():
        own = np.array(weights).reshape(signals[name].shape[2:])
        bars[name] = np.broadcast_to(own, signals[name].shape).copy()
        total = total + (signals[name] * own).reshape(len(q), -1).sum(axis=1)
    return total, 0 * q, 0 * v, bars


@pytest.mark.parametrize("scheme", ["rk4", "convex"])
def test_gradients_by_numbers_that_signals_read_are_those_of_scenes(
    tmp_path: Path, scheme: str
) -> None:
    """Oracle: central differences of scenes that are loaded with the numbers."""
    path = written(tmp_path, scheme)
    by = {
        "gravity": [0.2, -0.3, -9.81],
        "body.tool.mass": 0.5,
        "body.tip.com": [0.01, 0.02, -0.05],
        "joint.hinge.damping": 0.05,
        "joint.hinge.stiffness": 0.3,
    }

    def loss(values: dict[str, Any]) -> float:
        worlds = pysim.Worlds(pysim.load_scene(path, values), 1)
        return float(pysim.gradient(worlds, steps=5, loss=weighed, signals=list(WEIGHTS)).loss[0])

    worlds = pysim.Worlds(pysim.load_scene(path, by), 1)
    found = pysim.gradient(worlds, steps=5, loss=weighed, signals=list(WEIGHTS), by=list(by))
    for name, value in by.items():
        middle = np.atleast_1d(np.array(value, float))
        slopes = []
        for k in range(len(middle)):
            ends = []
            for sign in (1, -1):
                moved = middle + sign * 1e-4 * np.eye(len(middle))[k]
                given = moved.tolist() if isinstance(value, list) else float(moved[0])
                ends.append(loss({**by, name: given}))
            slopes.append((ends[0] - ends[1]) / 2e-4)
        np.testing.assert_allclose(np.ravel(found.parameters[name]), slopes, rtol=1e-5, atol=1e-6)
