"""Signals of accelerations, wrenches and contacts in FMUs, and sampled blocks that read them.

Oracle: `Worlds`, whose sums of contact points are added in another order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import pysim
from pysim.fmu import write_fmu
from pysim.fmu.variables import SIGNAL
from pysim.worlds.contact_report import pair_sums, start_report
from tests.elements.blocks import scene_of as scene_of_text, simulation, table
from tests.fmu.master import ROOT, Equation, Master, scene_of

if TYPE_CHECKING:
    from pathlib import Path

SCHEMES = ["convex", "rk4"]
TOP = """
[[body]]
name = "wheel"
mass = 1.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "axle"
type = "revolute"
child = "wheel"
"""


def tumbling(integrator: str) -> str:
    """Return a box that is thrown on the floor, whose readings of the floor and of an IMU drive a wheel."""
    text = table("ground", plane={"normal": [0, 0, 1], "offset": 0})
    text += table("body", name="box", mass=2.0, inertia={"xx": 0.02, "yy": 0.015, "zz": 0.01})
    text += "collision = { box = { x = 0.2, y = 0.3, z = 0.25 } }\n"
    start = {"xyz": [0, 0, 0.25], "rpy": [0.3, -0.2, 0.5], "v": [0.4, 0.1, -1, 1, -2, 0.5]}
    text += table("joint", name="free", type="free", child="box", start=start) + TOP
    text += table("sensor", name="touch", type="contact", frame="box", at={"xyz": [0.1, 0, 0]})
    text += table("sensor", name="sole", type="contact", frame="box", axes="base", others=["world"])
    text += table("sensor", name="imu", type="imu", frame="box")
    text += table("sensor", name="load", type="force_torque", joint="axle")
    text += table("sensor", name="sampled", type="acceleration", frame="box", period=0.01)
    gains = {"type": "gain", "period": 0.005, "unit": "N·m"}
    text += table("controller", name="by_load", inputs=["touch.normal"], gain=0.02, **gains)
    text += table("controller", name="by_rate", inputs=["sampled.linear.z"], gain=0.03, **gains)
    for name in ("by_load", "by_rate"):
        text += table("actuator", name=f"m_{name}", type="force", joint="axle", command=name)
    return text + simulation(integrator, step=1e-3, duration=0.4)


def check(
    scene: pysim.Scene, folder: Path, steps: int, every: int = 1, tolerance: float = 1e-9
) -> None:
    """Compare states and all signals of an FMU with those of `Worlds` on the way."""
    variables = write_fmu(scene, folder / "a.fmu", fmi=3)
    master, worlds = Master(folder / "a.fmu", folder / "a"), pysim.Worlds(scene)
    names = [own.name for own in variables if own.kind == SIGNAL]
    assert set(worlds.signals) >= set(names)
    length, largest = scene.settings.step, 0.0
    for k in range(0, steps, every):
        worlds.step(steps=every)
        master.step(k * length, every * length)
        np.testing.assert_allclose(
            master.get("q.", "v."), [*worlds.q, *worlds.v], rtol=0, atol=tolerance
        )
        for name in names:
            found, expected = master.only(name), np.ravel(worlds.signals[name])
            largest = max(largest, float(np.abs(expected).max()))
            np.testing.assert_allclose(
                found, expected, rtol=tolerance, atol=tolerance * largest, err_msg=name
            )
    assert largest > 1


@pytest.mark.parametrize("integrator", SCHEMES)
def test_signals_after_contacts_are_those_of_worlds(tmp_path: Path, integrator: str) -> None:
    scene = scene_of_text(tmp_path, tumbling(integrator))
    check(scene, tmp_path, 300)
    worlds = pysim.Worlds(scene)
    worlds.step(steps=300)
    assert np.abs(worlds.v[-1]) > 0.01  # the readings have turned the wheel


def test_a_master_goes_back_through_blocks_that_read_contacts(tmp_path: Path) -> None:
    write_fmu(scene_of_text(tmp_path, tumbling("convex")), tmp_path / "a.fmu")
    master = Master(tmp_path / "a.fmu", tmp_path / "a")
    for k in range(150):
        master.step(k * 1e-3, 1e-3)
    state, found = master.fmu.getFMUstate(), []
    for _ in range(2):
        master.fmu.setFMUstate(state)
        for k in range(150, 220):
            master.step(k * 1e-3, 1e-3)
        found.append(master.get("q.", "v.", "touch", "by_"))
    assert found[0] == found[1]


@pytest.mark.parametrize("integrator", SCHEMES)
def test_wrenches_of_joints_include_those_of_loops(tmp_path: Path, integrator: str) -> None:
    text = (ROOT / "scenes/four_bar.toml").read_text("utf-8")
    text = text.replace('integrator = "rk4"', f'integrator = "{integrator}"')
    if "integrator" not in text:
        text = text.replace("[simulation]\n", f'[simulation]\nintegrator = "{integrator}"\n')
    assert f'"{integrator}"' in text
    text += '[[sensor]]\nname = "pin"\ntype = "force_torque"\njoint = "knee"\n'
    (tmp_path / "own.toml").write_text(text, "utf-8")
    check(pysim.load_scene(tmp_path / "own.toml"), tmp_path, 100, every=10)


@pytest.mark.parametrize("integrator", SCHEMES)
def test_forces_of_pairs_are_those_of_contacts(tmp_path: Path, integrator: str) -> None:
    changes = {"simulation.integrator": integrator, "simulation.step": 5e-4, "output.every": 1e-3}
    scene = scene_of("billiards", changes)
    assert scene.contacts is not None
    variables = write_fmu(scene, tmp_path / "a.fmu", outputs=["contact.*"])
    assert all(own.unit == "N" for own in variables)
    master, worlds = Master(tmp_path / "a.fmu", tmp_path / "a"), pysim.Worlds(scene)
    worlds.step(steps=20)
    for k in range(20):
        master.step(k * 5e-4, 5e-4)
    report = (
        worlds._report()
        if integrator == "convex"
        else start_report(scene, *(x[None] for x in worlds._records.states(0)[:2]))
    )
    expected = np.ravel(pair_sums(scene.contacts, report)[0])
    assert np.abs(expected).max() > 1
    np.testing.assert_allclose(master.get("contact."), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("fmi", [2, 3])
def test_contact_sensors_have_no_directional_derivatives(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], fmi: int
) -> None:
    """Neither have gains of their readings; both are refused, and other outputs keep their slopes."""
    text = table("ground", plane={"normal": [0, 0, 1], "offset": 0})
    text += table("body", name="box", mass=2.0, inertia={"xx": 0.02, "yy": 0.015, "zz": 0.01})
    text += "collision = { box = { x = 0.2, y = 0.3, z = 0.25 } }\n"
    text += table("joint", name="free", type="free", child="box", start={"xyz": [0, 0, 0.1249]})
    text += table("sensor", name="height", type="pose", frame="box")
    text += table("sensor", name="touch", type="contact", frame="box")
    text += table(
        "controller", name="half", type="gain", inputs=["touch.normal"], gain=0.5, unit="N"
    )
    scene = scene_of_text(tmp_path, text + simulation("rk4", step=1e-3))
    for name, outputs, has_slopes in (
        ("a", None, False),
        ("b", ["half*"], False),
        ("c", ["q.*", "height*", "contact.*"], True),
    ):
        path = tmp_path / f"{name}.fmu"
        write_fmu(scene, path, model_exchange=True, outputs=outputs, fmi=fmi)
        equation = Equation(path, tmp_path / name)
        assert equation.has_slopes == has_slopes
        seed = np.ones(equation.count)
        if has_slopes:
            assert np.abs(equation.slopes(seed)).max() > 0
            continue
        with pytest.raises(Exception, match="DirectionalDerivative"):
            equation.slopes(seed)
        signal = "half" if outputs else "touch"
        printed = "".join(capfd.readouterr())
        assert f"is the signal '{signal}" in printed
        assert "depends on a contact sensor and has none" in printed
