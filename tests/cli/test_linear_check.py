"""`pysim check --linear`: poles, frequencies, damping and shapes. Oracle: the closed form of an oscillator."""

from __future__ import annotations

from pathlib import Path

import pytest

from pysim.cli import main
from tests.elements.blocks import simulation, table


def oscillator(tmp_path: Path, start: float) -> Path:
    text = "gravity = [0, 0, 0]\n" + table(
        "body", name="block", mass=2.0, inertia=dict.fromkeys(("xx", "yy", "zz"), 1.0)
    )
    keys = {"type": "prismatic", "child": "block", "stiffness": 50.0, "damping": 4.0}
    text += table("joint", name="x", start=start, **keys)
    file = tmp_path / "oscillator.toml"
    file.write_text(text + simulation("rk4"), "utf-8")
    return file


def test_a_pole_is_printed_with_frequency_and_damping(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--linear", str(oscillator(tmp_path, 0.0))]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("linear      continuous, 2 states, inputs: none" in line for line in lines)
    (pole,) = [line for line in lines if "± 4.899 i" in line]
    assert "-1 ± 4.899 i" in pole
    assert "0.7958 Hz" in pole
    assert "0.2" in pole.split()
    assert pole.endswith("x 1")


def test_a_start_that_is_no_equilibrium_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--linear", str(oscillator(tmp_path, 0.1))]) == 0
    assert "the start is no equilibrium: the rate of v.x is 2.5" in capsys.readouterr().out


def test_options_that_do_not_go_with_it_are_rejected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--linear", "--json", str(oscillator(tmp_path, 0.0))]) == 2
    assert "leave out --json" in capsys.readouterr().err
    robot = tmp_path / "robot.urdf"
    robot.write_text('<robot name="r"><link name="base"/></robot>', "utf-8")
    assert main(["check", "--linear", str(robot)]) == 2
    assert "--linear is for scenes" in capsys.readouterr().err
