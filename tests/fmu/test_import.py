"""FMUs as controllers of scenes.

Oracles: `Worlds` of the scene that an FMU was written of, bit for bit, and the formula of an FMU in C.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import numpy as np
import pytest

import pysim
from pysim.fmu import write_fmu
from tests.fmu.master import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PLANT = """
[simulation]
integrator = "rk4"
step = 0.001
duration = 0.5
[[body]]
name = "arm"
mass = 1.0
com = [0.3, 0, 0]
inertia = { xx = 0.01, yy = 0.1, zz = 0.1 }
[[joint]]
name = "hinge"
type = "revolute"
child = "arm"
axis = [0, 1, 0]
damping = 0.4
[[signal]]
name = "torque"
type = "input"
value = 0.5
unit = "N·m"
[[actuator]]
name = "motor"
type = "force"
joint = "hinge"
command = "torque"
"""
MASTER = """
[simulation]
integrator = "rk4"
step = 0.001
duration = 0.5
[[body]]
name = "block"
mass = 1.0
inertia = { xx = 0.01, yy = 0.1, zz = 0.1 }
[[joint]]
name = "rail"
type = "prismatic"
child = "block"
axis = [1, 0, 0]
[[signal]]
name = "wave"
type = "input"
value = 0.2
unit = "UNIT"
[[controller]]
name = "model"
type = "fmu"
file = "a.fmu"
period = 0.01
inputs = ["wave"]
KEYS
"""
DESCRIPTION = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="integrator" guid="{1}" numberOfEventIndicators="0">
  <CoSimulation modelIdentifier="integrator" canHandleVariableCommunicationStepSize="true"/>
  <UnitDefinitions><Unit name="N.m"/></UnitDefinitions>
  <ModelVariables>
    <ScalarVariable name="drive.u" valueReference="0" causality="input" variability="continuous">
      <Real start="0" unit="N.m"/>
    </ScalarVariable>
    <ScalarVariable name="drive.y" valueReference="1" causality="output" variability="continuous" initial="calculated">
      <Real unit="N.m"/>
    </ScalarVariable>
    <ScalarVariable name="gain" valueReference="2" causality="parameter" variability="fixed" initial="exact">
      <Real start="1"/>
    </ScalarVariable>
    <ScalarVariable name="mode" valueReference="3" causality="output" variability="discrete" initial="calculated">
      <Integer/>
    </ScalarVariable>
  </ModelVariables>
  <ModelStructure>
    <Outputs><Unknown index="2"/><Unknown index="4"/></Outputs>
    <InitialUnknowns><Unknown index="2"/><Unknown index="4"/></InitialUnknowns>
  </ModelStructure>
</fmiModelDescription>
"""


def scene_with(folder: Path, keys: str, unit: str = "N·m") -> pysim.Scene:
    path = folder / "master.toml"
    path.write_text(MASTER.replace("KEYS", keys).replace("UNIT", unit), "utf-8")
    return pysim.load_scene(path, allow_code=True)


def plant(folder: Path) -> pysim.Scene:
    (folder / "plant.toml").write_text(PLANT, "utf-8")
    return pysim.load_scene(folder / "plant.toml")


@pytest.fixture(scope="module")
def integrator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or sys.platform != "linux" or platform.machine() != "x86_64":
        pytest.skip("needs a compiler of C on Linux")
    folder = tmp_path_factory.mktemp("integrator")
    library = folder / "integrator.so"
    source = str(ROOT / "tests/fmu/integrator.c")
    command = [compiler, "-shared", "-fPIC", f"-I{ROOT / 'cpp'}", source, "-o", str(library)]
    subprocess.run(command, check=True)
    with zipfile.ZipFile(folder / "a.fmu", "w") as archive:
        archive.writestr("modelDescription.xml", DESCRIPTION)
        archive.write(library, "binaries/linux64/integrator.so")
        archive.writestr("resources/empty", "")
    return folder / "a.fmu"


@pytest.mark.parametrize("fmi", [2, 3])
def test_outputs_are_the_states_of_the_scene_at_each_instant(tmp_path: Path, fmi: int) -> None:
    write_fmu(plant(tmp_path), tmp_path / "a.fmu", fmi=fmi, outputs=["q.*", "v.*"])
    scene = scene_with(tmp_path, "")
    worlds, own = pysim.Worlds(scene, 3), pysim.Worlds(plant(tmp_path))
    assert scene.signals is not None
    units = {x.name: x.unit for x in scene.signals.recorded}
    assert units["model.q_hinge"] == "rad"
    own.inputs["torque"] = 0.2
    for _ in range(20):
        worlds.step(steps=10)
        own.step(steps=10)
        found = worlds.signals["model.q_hinge"]
        np.testing.assert_array_equal(found, np.full(3, own.q[0]))


def test_an_fmu_in_c_computes_its_formula(tmp_path: Path, integrator: Path) -> None:
    shutil.copy(integrator, tmp_path / "a.fmu")
    keys = 'reads = ["drive.u"]\ngives = ["drive.y"]\nparameters_set = ["gain"]\nparameter_values = [3.0]'
    worlds = pysim.Worlds(scene_with(tmp_path, keys))
    for k in range(1, 6):
        worlds.step(steps=10)
        expected = 3.0 * (0.2 + 0.2 * 0.01 * k)
        assert float(worlds.signals["model"]) == pytest.approx(expected, rel=1e-12)


def test_worlds_go_back_with_their_fmus(tmp_path: Path) -> None:
    write_fmu(plant(tmp_path), tmp_path / "a.fmu", outputs=["q.*"])
    worlds = pysim.Worlds(scene_with(tmp_path, ""))
    worlds.step(steps=100)
    saved = worlds.save()
    worlds.step(steps=100)
    first = float(worlds.signals["model"])
    worlds.load(saved)
    worlds.step(steps=100)
    assert float(worlds.signals["model"]) == first


@pytest.mark.parametrize(
    ("keys", "unit", "problem"),
    [
        ('reads = ["drive.v"]', "N·m", "has no input 'drive.v'; did you mean 'drive.u'"),
        ('gives = ["mode"]', "N·m", "output 'mode' is of the type Integer; take real numbers"),
        ("", "rad", "N·m"),
        ("parameter_values = [1.0]", "N·m", "has 1 numbers for 0 names"),
    ],
)
def test_mistakes_are_reported_by_name(
    tmp_path: Path, integrator: Path, keys: str, unit: str, problem: str
) -> None:
    shutil.copy(integrator, tmp_path / "a.fmu")
    with pytest.raises(pysim.PysimError, match=problem):
        scene_with(tmp_path, keys, unit)


def test_files_that_are_no_fmus_are_reported(tmp_path: Path) -> None:
    (tmp_path / "a.fmu").write_bytes(b"nonsense")
    with pytest.raises(pysim.PysimError, match="is no valid FMU"):
        scene_with(tmp_path, "")


def test_compiled_code_needs_consent(tmp_path: Path, integrator: Path) -> None:
    shutil.copy(integrator, tmp_path / "a.fmu")
    (tmp_path / "master.toml").write_text(
        MASTER.replace("KEYS", "").replace("UNIT", "N·m"), "utf-8"
    )
    with pytest.raises(pysim.PysimError, match="would run the compiled code of"):
        pysim.load_scene(tmp_path / "master.toml")
