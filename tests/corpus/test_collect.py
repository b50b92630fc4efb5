"""The corpus script on the robots that are installed. The oracles are Pinocchio and MuJoCo."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from pysim.scene.packages import robots_folder
from tests.corpus.collect import models_in, outcome_of, table
from tests.robots import robot_path

if TYPE_CHECKING:
    from pathlib import Path


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
