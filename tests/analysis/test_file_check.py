"""`pysim.check` and `pysim.convert` as functions. Oracle: what the commands print and write."""

from __future__ import annotations

from pathlib import Path

import pytest

import pysim
from pysim.cli.app import answer

SCENES = Path(__file__).parents[2] / "scenes"
HEAVY = """<robot name="r"><link name="base"/><link name="a"><inertial><mass value="1"/>
<inertia ixx="4000" iyy="4000" izz="4000" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><box size="0.1 0.1 0.1"/></geometry></visual></link>
<joint name="j" type="revolute"><parent link="base"/><child link="a"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


def test_findings_are_those_that_the_command_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    robot = tmp_path / "r.urdf"
    robot.write_text(HEAVY)
    found = pysim.check(robot)
    assert any(finding.severity == "warning" for finding in found)
    assert answer(["check", str(robot)]) == 0
    shown = capsys.readouterr()
    for finding in found:
        assert finding.text.split(";")[0][:60] in (shown.out + shown.err).replace("\n", " ")


def test_a_scene_is_checked_with_its_overrides(tmp_path: Path) -> None:
    assert pysim.check(SCENES / "double_pendulum.toml") == []
    text = (SCENES / "double_pendulum.toml").read_text() + "\n[parameters]\nunused = 3.0\n"
    (tmp_path / "s.toml").write_text(text)
    (finding,) = pysim.check(tmp_path / "s.toml")
    assert "is used by no expression" in finding.text
    (finding,) = pysim.check(SCENES / "spring.toml", {"simulation.step": 0.5, "output.every": 0.5})[
        :1
    ]
    assert finding.severity == "warning"
    (tmp_path / "r.urdf").write_text(HEAVY)
    with pytest.raises(pysim.PysimError, match="overrides are for scenes"):
        pysim.check(tmp_path / "r.urdf", {"simulation.step": 1.0})


def test_a_file_is_converted_as_by_the_command(tmp_path: Path) -> None:
    robot = tmp_path / "r.urdf"
    robot.write_text(HEAVY)
    assert pysim.convert(robot, tmp_path / "one.toml") == [tmp_path / "one.toml"]
    assert answer(["convert", str(robot), str(tmp_path / "two.toml")]) == 0
    assert (tmp_path / "one.toml").read_text() == (tmp_path / "two.toml").read_text()
    with pytest.raises(pysim.SceneError, match="exists"):
        pysim.convert(robot, tmp_path / "one.toml")
