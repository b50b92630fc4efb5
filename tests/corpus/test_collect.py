"""The corpus script on the robots that are installed. The oracles are Pinocchio and MuJoCo."""

from __future__ import annotations

import shutil
import time
import warnings
from typing import TYPE_CHECKING

import pytest

import pysim
from pysim.scene.packages import robots_folder
from tests.corpus.collect import models_in, outcome_of, table
from tests.robots import robot_path

if TYPE_CHECKING:
    from pathlib import Path

HUMANOID = """<mujoco model="chain"><option timestep="0.002"/>
<default><geom contype="0" conaffinity="0"/><joint armature="0.01" damping="1"/></default>
<worldbody>{}</worldbody></mujoco>"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder with the contents of a package."""
    folder = tmp_path / "robots" / "models"
    folder.mkdir(parents=True)
    shutil.copy(robot_path("ur5"), folder / "ur5.urdf")
    shutil.copy(robot_path("ur5"), folder / "again.urdf")  # the same content counts once
    (folder / "broken.urdf").write_text('<robot name="r"><joint name="j"/></robot>', "utf-8")
    body = '<body name="b"><joint name="j"/><geom size="0.1"/></body>'
    (folder / "one.xml").write_text(f"<mujoco><worldbody>{body}</worldbody></mujoco>", "utf-8")
    (folder / "part.xml").write_text("<mujocoinclude/>", "utf-8")
    (folder / "data.xml").write_text("<data/>", "utf-8")
    inertial = "<inertial><mass>1</mass></inertial>"
    sdf = f'<sdf version="1.9"><model name="m"><link name="a">{inertial}</link></model></sdf>'
    (folder / "m.sdf").write_text(sdf, "utf-8")
    return tmp_path


@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
def test_files_are_counted_once_and_judged(package: Path) -> None:
    outcomes = [outcome_of(*item) for item in models_in([package])]
    assert {(o.kind, o.file.rsplit("/", 1)[-1], o.verdict) for o in outcomes} == {
        ("URDF", "again.urdf", "agrees"),
        ("URDF", "broken.urdf", "both reject"),
        ("MJCF", "one.xml", "agrees"),
        ("SDF", "m.sdf", "not compared"),
    }
    assert "| URDF | `robots` | 2 | 1 | 1 | 0 | 0 | 0 | 1 |" in table(outcomes)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
def test_the_installed_robots_load_and_agree_with_pinocchio() -> None:
    """Two of the files have faults: a mimic joint that follows a joint that is not there, a negative inertia."""
    folder = robots_folder()
    assert folder is not None
    outcomes = [outcome_of(*item) for item in models_in([folder]) if item[0] == "URDF"]
    refused = {o.file.rsplit("/", 1)[-1] for o in outcomes if o.verdict == "pysim rejects"}
    assert refused <= {"romeo_laas_small.urdf"}
    assert not [o for o in outcomes if o.verdict == "differs"]
    assert sum(o.verdict == "agrees" for o in outcomes) > 50


@pytest.mark.slow
def test_the_panda_loads_in_a_quarter_of_a_second() -> None:
    path = robot_path("panda")
    assert _load_time(path) <= 0.25


@pytest.mark.slow
def test_a_humanoid_loads_in_three_tenths_of_a_second(tmp_path: Path) -> None:
    """As many bodies, joints and geoms as MuJoCo's humanoid has."""
    joint = '<joint type="hinge" axis="{} 1 0.2" range="-60 60" limited="true"/>'
    body = '<body pos="0 0.1 0.2">{}<geom type="capsule" size="0.05 0.1"/>{}</body>'
    limbs = ""
    for _ in range(4):
        limb = ""
        for k in range(3):
            limb = body.format(joint.format(k) + joint.format(-1 - k), limb)
        limbs += limb
    torso = f'<body name="torso"><freejoint/><geom size="0.1"/>{limbs}</body>'
    path = tmp_path / "humanoid.xml"
    path.write_text(HUMANOID.format(torso), "utf-8")
    assert _load_time(path) <= 0.3


def _load_time(path: Path) -> float:
    """Return the shortest processor time [s] of three loads after one that imports what is needed."""
    durations = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(4):
            begin = time.process_time()
            pysim.load_model(path)
            durations.append(time.process_time() - begin)
    return min(durations[1:])
