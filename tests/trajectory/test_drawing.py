"""Paths of frames as DXF. Oracle: ezdxf reads the file, and the trajectory has the points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from ezdxf import units
from ezdxf.filemanagement import readfile

import pysim
from pysim.cli.app import answer
from pysim.errors import TrajectoryError
from tests.elements.blocks import disc, scene_of, simulation, table
from tests.scene_runs import SCENES, run_scene

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def linkage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of half a second of a four-bar linkage in the plane y = 0."""
    folder = tmp_path_factory.mktemp("linkage")
    text = (SCENES / "four_bar.toml").read_text("utf-8").replace("duration = 6.0", "duration = 0.5")
    (folder / "linkage.toml").write_text(text, "utf-8")
    pysim.simulate(pysim.load_scene(folder / "linkage.toml"), folder / "run.h5")
    return folder / "run.h5"


def test_a_coupler_curve_is_a_polyline_in_its_plane(
    linkage: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answer(["export", str(linkage), "--dxf"]) == 0
    assert "curves of coupler point [mm]" in capsys.readouterr().out
    document = readfile(linkage.with_suffix(".dxf"))
    assert document.units == units.MM
    curve: Any = document.modelspace().query("LWPOLYLINE").first
    assert curve.dxf.layer == "coupler point"
    path = pysim.load_trajectory(linkage).path_of("coupler point")
    drawn = np.array(curve.get_points("xy"))
    np.testing.assert_allclose(drawn, 1000 * path[:, [0, 2]], rtol=1e-9, atol=1e-9)
    start: Any = document.modelspace().query("POINT").first
    np.testing.assert_allclose(list(start.dxf.location)[:2], drawn[0], rtol=1e-12)


def test_a_curve_that_ends_where_it_begins_is_closed(tmp_path: Path) -> None:
    """A point of a disc that turns once, with 20 rows a turn."""
    rim = table("frame", name="rim", body="disc", at={"xyz": [0.1, 0.0, 0.0]})
    text = disc(v=2 * np.pi) + rim + simulation("rk4", duration=1.0, interval=0.05)
    run = pysim.simulate(scene_of(tmp_path, text))
    run.to_dxf(tmp_path / "rim.dxf")
    curve: Any = readfile(tmp_path / "rim.dxf").modelspace().query("LWPOLYLINE").first
    assert curve.closed
    assert len(curve) == 20


def test_a_curve_in_space_has_three_coordinates(tmp_path: Path) -> None:
    run = run_scene("gyroscope").trajectory
    tip = run.header.frame_names[-1]
    run.to_dxf(tmp_path / "tip.dxf", [tip])
    curve: Any = readfile(tmp_path / "tip.dxf").modelspace().query("POLYLINE").first
    drawn = np.array([vertex.dxf.location for vertex in curve.vertices])
    np.testing.assert_allclose(drawn, 1000 * run.path_of(tip), rtol=1e-9, atol=1e-9)


def test_an_unknown_frame_and_a_file_that_exists_are_errors(linkage: Path, tmp_path: Path) -> None:
    run = pysim.load_trajectory(linkage)
    with pytest.raises(TrajectoryError, match=r"unknown frame .coupler poin.; did you mean"):
        run.to_dxf(tmp_path / "a.dxf", ["coupler poin"])
    (tmp_path / "b.dxf").write_text("mine", "utf-8")
    with pytest.raises(TrajectoryError, match="exists and is not overwritten"):
        run.to_dxf(tmp_path / "b.dxf")


def test_a_table_has_the_places_of_frames(linkage: Path, tmp_path: Path) -> None:
    run = pysim.load_trajectory(linkage)
    run.to_csv(tmp_path / "run.csv", ["coupler point"])
    names = (tmp_path / "run.csv").read_text("utf-8").splitlines()[0].split(",")
    numbers = np.loadtxt(tmp_path / "run.csv", delimiter=",", skiprows=1)
    columns = [names.index(f"coupler point.{axis}") for axis in "xyz"]
    np.testing.assert_array_equal(numbers[:, columns], run.path_of("coupler point"))


@pytest.mark.parametrize("formats", [[], ["--csv", "--dxf"]])
def test_one_format_is_given(
    linkage: Path, formats: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert answer(["export", str(linkage), *formats]) == 2
    assert "given; write --csv or --dxf" in capsys.readouterr().err
