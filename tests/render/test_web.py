"""Web pages of runs. Oracles: the recording inside the page, read back by msgpack; a browser, where there is one."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim import PysimError, TrajectoryError
from pysim.cli import main
from pysim.render import show, web
from pysim.render.exports.web_page import page_text
from pysim.shapes import Shape
from tests.render.scenes import drawn, moving

pytest.importorskip("viser")
SCENES = Path(__file__).parents[2] / "scenes"
BROWSER = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)


@pytest.fixture(scope="module")
def run() -> pysim.Trajectory:
    overrides = {"simulation.duration": 1.0}
    return pysim.simulate(pysim.load_scene(SCENES / "double_pendulum.toml", overrides))


def recording(text: str) -> dict[str, Any]:
    """What viser's player reads: messages with their times."""
    import msgspec
    import zstandard

    found = re.search(r'__VISER_EMBED_DATA__="([^"]+)"', text)
    assert found is not None
    data = base64.b64decode(found[1])
    inner = zstandard.ZstdDecompressor().decompressobj().decompress(data[8:])
    size = int.from_bytes(inner[:8], "little")
    return msgspec.msgpack.decode(inner[8 : 8 + size])


def test_a_page_holds_the_poses_of_the_run(run: pysim.Trajectory) -> None:
    played = recording(page_text(run, fps=10))
    assert played["durationSeconds"] == pytest.approx(1.0)
    moves = [
        (time, message)
        for time, message in played["messages"]
        if message["type"] == "SetPositionMessage" and message["name"].startswith("/run 1/")
    ]
    assert len({message["name"] for _, message in moves}) == len(run.header.body_names)
    body = run.header.body_names[-1]
    for time, message in moves:
        if message["name"].endswith(body):
            expected = run.poses_at([time])[0, -1, :3]
            np.testing.assert_allclose(message["position"], expected, atol=1e-6)


def test_a_page_is_one_file_that_names_the_run_as_text(
    run: pysim.Trajectory, tmp_path: Path
) -> None:
    from dataclasses import replace

    name = "<script>alert('x')</script> & \"y\""
    named = replace(run, header=replace(run.header, name=name))
    page = web(named, tmp_path / "run.html")
    text = page.read_text("utf-8")
    assert "alert('x')" not in text
    assert "&lt;script&gt;alert(&#x27;x&#x27;)" in text
    assert not re.search(r'(src|href)="https?://', text)
    assert page.stat().st_size < 2e6


def test_two_runs_play_in_one_page(run: pysim.Trajectory) -> None:
    names = {
        message.get("name", "")
        for _, message in recording(page_text(run, others=[run]))["messages"]
    }
    assert any(name.startswith("/run 2/") for name in names)


def test_a_run_with_many_poses_is_thinned_with_a_warning(
    run: pysim.Trajectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pysim.render.exports.web_page.MOST_POSES", 20)
    with pytest.warns(
        match="frames of 2 bodies are thinned to 10, 10 in a second; give a lower fps"
    ):
        played = recording(page_text(run, fps=60))
    assert played["durationSeconds"] == pytest.approx(1.0)


def test_a_notebook_shows_the_page_in_a_frame(run: pysim.Trajectory) -> None:
    text = show(run, height=300)._repr_html_()
    assert text.startswith('<iframe srcdoc="')
    assert "height:300px" in text
    assert text.count('"') == 4


def test_the_command_writes_a_page(
    run: pysim.Trajectory,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    scene = str(SCENES / "double_pendulum.toml")
    assert main([scene, "--duration", "0.2", "-o", "a.h5", "--quiet"]) == 0
    assert main(["web", "a.h5", "a.h5", "--fps", "5"]) == 0
    assert "page        a.html" in capsys.readouterr().out
    assert main(["web", "a.h5", "-o", "a.pdf"]) == 2
    assert "a.pdf" in capsys.readouterr().err
    assert main(["web", "b.h5"]) == 2


def test_wrong_numbers_and_empty_runs_are_refused(run: pysim.Trajectory, tmp_path: Path) -> None:
    with pytest.raises(PysimError, match="fps: must be between 0 and 240"):
        web(run, tmp_path / "a.html", fps=0)
    with pytest.raises(TrajectoryError, match="has no rows to play"):
        web(moving(np.zeros((0, 3))), tmp_path / "a.html")
    assert not (tmp_path / "a.html").exists()


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_a_browser_plays_the_page(run: pysim.Trajectory, tmp_path: Path) -> None:
    """Pictures of two instants differ, and both show more than the empty page."""
    from PIL import Image

    page = web(run, tmp_path / "run.html")
    pictures = []
    for milliseconds in (3000, 3600):
        picture = tmp_path / f"{milliseconds}.png"
        words = [
            str(BROWSER),
            "--headless=new",
            "--no-sandbox",
            "--use-angle=swiftshader",
            "--enable-unsafe-swiftshader",
            "--window-size=640,480",
            f"--virtual-time-budget={milliseconds}",
            f"--screenshot={picture}",
            page.as_uri(),
        ]
        subprocess.run(words, check=True, capture_output=True, timeout=120, cwd=tmp_path)
        pictures.append(np.asarray(Image.open(picture).convert("RGB"), float)[:430])
    assert pictures[0].std() > 5
    assert np.abs(pictures[0] - pictures[1]).max() > 50


def test_missing_meshes_are_boxes_named_once_and_found_in_other_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trimesh: Any = pytest.importorskip("trimesh")
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    mesh = tmp_path / "old" / "cube.stl"
    trimesh.creation.box((0.4, 0.4, 0.4)).export(mesh)
    shapes = [drawn(Shape("mesh", mesh=mesh)) for _ in range(2)]
    moving(np.zeros((3, 3)), *shapes).save(tmp_path / "a.h5")
    mesh.rename(tmp_path / "new" / "cube.stl")
    monkeypatch.chdir(tmp_path)
    assert main(["web", "a.h5"]) == 0
    warned = " ".join(capsys.readouterr().err.split())
    assert warned.count("does not exist on this machine") == 1
    assert "boxes are drawn instead" in warned
    assert main(["web", "a.h5", "--mesh-dir", "new"]) == 0
    assert "does not exist" not in capsys.readouterr().err
