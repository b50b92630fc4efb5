"""A scene of three files, as a user writes, draws, runs and sweeps it. The oracle is the scene in one file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.cli import main

DIMENSIONS = """\
[parameters]
link = 0.5               # [m]
density = "2.7 g/cm^3"
radius = "20 mm"
"""
UPPER = """\
include = "dimensions.toml"

[[body]]
name = "upper"
shape.capsule = { radius = "= radius", length = "= link" }
shape.at.xyz = [0, 0, "= -link / 2"]
shape.density = "= density"

[[joint]]
name = "shoulder"
type = "revolute"
child = "upper"
axis = [0, 1, 0]
start = "60 deg"
"""
LOWER = """\
[[body]]
name = "lower"
shape.capsule = { radius = "= radius", length = "= link" }
shape.at.xyz = [0, 0, "= -link / 2"]
shape.density = "= density"

[[joint]]
name = "elbow"
type = "revolute"
parent = "upper"
child = "lower"
axis = [0, 1, 0]
at = { xyz = [0, 0, "= -link"] }
damping = 0.01
"""
WHOLE = """\
include = ["parts/upper.toml", "parts/lower.toml"]
name = "arm"

[simulation]
duration = 0.5
"""
ONE = DIMENSIONS + (UPPER + LOWER).partition("\n")[2] + "[simulation]\nduration = 0.5\n"
LINKS = (0.3, 0.4, 0.6)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("parts").mkdir()
    for name, text in (
        ("parts/dimensions.toml", DIMENSIONS),
        ("parts/upper.toml", UPPER),
        ("parts/lower.toml", LOWER),
        ("arm.toml", WHOLE),
        (
            "one.toml",
            DIMENSIONS
            + UPPER.partition("\n")[2]
            + LOWER
            + WHOLE.partition("\n")[2].replace('name = "arm"', ""),
        ),
    ):
        Path(name).write_text(text, "utf-8")


def test_it_is_checked_and_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "arm.toml", "--strict", "--tree"]) == 0
    printed = capsys.readouterr().out
    assert "  └─ upper  (shoulder, revolute, 1.787 kg)\n" in printed
    assert main(["still", "arm.toml", "-o", "arm.png", "--size", "160x120"]) == 0
    assert Path("arm.png").stat().st_size > 1000


def test_its_run_is_that_of_the_scene_in_one_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["arm.toml", "--set", "parameters.link=0.4", "--quiet"]) == 0
    found = pysim.load_trajectory("arm.h5")
    expected = pysim.simulate(pysim.load_scene("one.toml", {"parameters.link": 0.4}))
    np.testing.assert_array_equal(found.q, expected.q)
    assert capsys.readouterr().err == ""


def test_its_sweep_is_that_of_single_runs(capsys: pytest.CaptureFixture[str]) -> None:
    grid = f"parameters.link={','.join(map(str, LINKS))}"
    assert (
        main(
            ["sweep", "arm.toml", "--grid", grid, "-o", "arm.nc", "--signal", "q.elbow", "--quiet"]
        )
        == 0
    )
    swept = pysim.load_sweep("arm.nc")
    assert capsys.readouterr().err == ""
    for k, link in enumerate(LINKS):
        scene = pysim.load_scene("one.toml", {"parameters.link": link})
        elbow = pysim.simulate(scene).q[:, 1]
        series = swept["series"].isel(world=k, record=0).to_numpy()
        np.testing.assert_allclose(series, elbow, rtol=1e-12, atol=0)
