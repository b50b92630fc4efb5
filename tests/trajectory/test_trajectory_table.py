"""Trajectories as tables: CSV and pandas. Oracle: the trajectory's own arrays."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import numpy as np
import pytest

import pysim
from pysim.cli.app import answer
from pysim.errors import TrajectoryError
from tests.elements.blocks import constant, disc, scene_of, simulation, table

if TYPE_CHECKING:
    from pathlib import Path

    from pysim.trajectory import Trajectory


def run(folder: Path) -> Trajectory:
    text = disc(v=1.0) + constant("pair", [1.0, 2.0], "m")
    text += table("sensor", name="pose", type="pose", frame="disc")
    scene = scene_of(folder, text + simulation("rk4", duration=0.05, interval=0.01))
    return pysim.simulate(scene, folder / "run.h5")


def test_a_csv_file_has_every_digit_of_states_and_signals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = run(tmp_path)
    assert answer(["export", str(tmp_path / "run.h5"), "--csv"]) == 0
    assert "6 rows of" in capsys.readouterr().out
    with (tmp_path / "run.csv").open(encoding="utf-8", newline="") as file:
        names, *rows = list(csv.reader(file))
    numbers = dict(zip(names, np.array(rows, float).T, strict=True))
    np.testing.assert_array_equal(numbers["t"], whole.t)
    np.testing.assert_array_equal(numbers["q.hinge"], whole.q[:, 0])
    np.testing.assert_array_equal(numbers["angle.v"], whole.signals["angle.v"])
    np.testing.assert_array_equal(numbers["pair[1]"], whole.signals["pair"][:, 1])


def test_a_csv_file_is_not_replaced_unless_requested(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path)
    (tmp_path / "run.csv").write_text("mine", "utf-8")
    assert answer(["export", str(tmp_path / "run.h5"), "--csv"]) == 2
    text = f"{tmp_path / 'run.csv'}: exists and is not overwritten; pass --overwrite to replace it"
    assert text in capsys.readouterr().err.replace("\n", " ").replace("  ", " ")


def test_a_trajectory_writes_the_table_of_the_command(tmp_path: Path) -> None:
    whole = run(tmp_path)
    assert answer(["export", str(tmp_path / "run.h5"), "--csv"]) == 0
    whole.to_csv(tmp_path / "own.csv")
    assert (tmp_path / "own.csv").read_bytes() == (tmp_path / "run.csv").read_bytes()
    with pytest.raises(TrajectoryError, match=r"own.csv: exists and is not overwritten"):
        whole.to_csv(tmp_path / "own.csv")
    with pytest.raises(TrajectoryError, match=r"cannot write"):
        whole.to_csv(tmp_path / "nowhere" / "own.csv")


def test_a_trajectory_plots_itself(tmp_path: Path) -> None:
    run(tmp_path).plot("energy", "v.hinge", path=tmp_path / "own.png")
    assert (tmp_path / "own.png").stat().st_size > 5000


def test_a_data_frame_has_times_as_its_index_and_units(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    whole = run(tmp_path)
    frame = whole.to_pandas()
    np.testing.assert_array_equal(frame.index.to_numpy(), whole.t)
    np.testing.assert_array_equal(frame["v.hinge"].to_numpy(), whole.v[:, 0])
    assert frame.attrs["units"]["pose.position[2]"] == "m"


def test_elements_are_listed_and_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["elements"]) == 0
    listed = capsys.readouterr().out
    for name in ("bushing", "waypoints", "imu", "computed_torque", "dc_motor"):
        assert name in listed
    assert answer(["elements", "dc_motor"]) == 0
    explained = capsys.readouterr().out
    assert "resistance" in explained
    assert "inputs      command [V]" in explained
    assert answer(["elements", "dc_moto"]) == 2
    assert "unknown kind or type 'dc_moto'; did you mean 'dc_motor'?" in capsys.readouterr().err
