"""Models, scenes and trajectories in notebooks. Oracles: Python's HTML parser, and a browser, where there is one."""

from __future__ import annotations

import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.trajectory.from_states import trajectory_of_states
from tests.render.browser import browser_page, needs_chromium

SCENES = Path(__file__).parents[2] / "scenes"
EVIL = "<script>alert(1)</script>\" onload='x' &amp;"
ALLOWED = {"div", "b", "span", "table", "tr", "th", "td", "details", "summary"}
CHAIN = """
name = {evil}
[[body]]
name = {evil}
mass = 2.0
inertia = {{ xx = 1.0, yy = 1.0, zz = 1.0 }}
[[body]]
name = "tip"
mass = 1.0
inertia = {{ xx = 1.0, yy = 1.0, zz = 1.0 }}
[[joint]]
name = "swing {evil_joint}"
type = "revolute"
parent = "world"
child = {evil}
axis = [0, 1, 0]
[[joint]]
name = "slide"
type = "prismatic"
parent = {evil}
child = "tip"
axis = [0, 0, 1]
[[sensor]]
name = "angle"
type = "coordinates"
coordinates = ["slide"]
[simulation]
duration = 0.1
"""


class Text(HTMLParser):
    """Tags and text of a piece of HTML, as a browser reads it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def html_of(thing: Any) -> Text:
    text = Text(thing._repr_html_())
    assert text.tags <= ALLOWED
    assert text.attributes <= {"style", "open"}
    return text


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> pysim.Scene:
    import json

    path = tmp_path_factory.mktemp("evil") / "chain.toml"
    evil_joint = json.dumps("<script>")[1:-1]
    path.write_text(CHAIN.format(evil=json.dumps(EVIL), evil_joint=evil_joint), "utf-8")
    return pysim.load_scene(path)


def test_a_model_shows_its_tree_with_names_as_text(chain: pysim.Scene) -> None:
    words = html_of(chain.model).words
    assert words[0] == EVIL
    assert "\u2003" + EVIL not in words  # the first body is at the root
    assert "\u2003tip" in words
    assert "swing <script>" in words
    assert "2 moving bodies, nq 2, nv 2, 3 kg" in words
    assert "1 [rad]" in words


def test_a_scene_shows_its_run_and_its_blocks(chain: pysim.Scene) -> None:
    words = html_of(chain).words
    assert "0.1 s by rk4 in steps of 0.001 s, rows every 0.001 s" in words
    assert "angle (coordinates)" in words
    assert "\u2003tip" in words


def test_a_trajectory_shows_its_times_and_signals(chain: pysim.Scene) -> None:
    words = html_of(pysim.simulate(chain)).words
    assert "0.1 s, 101 rows from 0 to 0.1 s" in words
    assert f"2: {EVIL}, tip" in words
    assert any(word.startswith("angle.q [m]") for word in words)


def test_an_empty_trajectory_is_shown(chain: pysim.Scene) -> None:
    run = pysim.simulate(chain)
    empty = trajectory_of_states(chain.model, np.zeros(0), np.zeros((0, 2)))
    assert "no rows" in html_of(empty).words
    assert (
        "0.1 s, 101 rows from 0 to 0.1 s; the run was cut short"
        in html_of(replace(run, complete=False)).words
    )


def test_a_long_tree_is_folded_and_cut() -> None:
    builder = pysim.SceneBuilder("long")
    for k in range(70):
        builder.body(f"b{k}", mass=1.0, inertia={"xx": 1.0, "yy": 1.0, "zz": 1.0})
        parent = f"b{k - 1}" if k else "world"
        builder.joint(f"j{k}", type="revolute", parent=parent, child=f"b{k}", axis=[0, 1, 0])
    text = builder.build().model._repr_html_()
    assert "… 10 more" in text
    assert "<details>" in text
    assert len(text) < 60_000


def test_a_dataset_has_labels_units_and_signals(chain: pysim.Scene) -> None:
    pytest.importorskip("xarray")
    run = pysim.simulate(chain)
    data = run.to_xarray()
    np.testing.assert_array_equal(data.q.sel(coordinate="slide"), run.q[:, 1])
    assert str(data.q_unit.sel(coordinate="slide").item()) == "m"
    np.testing.assert_array_equal(data["signals.angle.v"], run.signals["angle.v"])
    assert data["signals.angle.v"].attrs["units"] == "m/s"
    np.testing.assert_array_equal(data.poses.sel(body="tip", pose="z"), run.poses[:, 1, 2])
    np.testing.assert_array_equal(data.t, run.t)


def test_a_dataset_is_written_and_read_again(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    overrides = {"simulation.duration": 0.1}
    run = pysim.simulate(pysim.load_scene(SCENES / "cart_pole.toml", overrides))
    data = run.to_xarray()
    data.to_netcdf(tmp_path / "run.nc", engine="h5netcdf")
    with xarray.open_dataset(tmp_path / "run.nc", engine="h5netcdf") as again:
        xarray.testing.assert_identical(again.load(), data)


def test_to_xarray_names_the_extra_that_it_needs(
    chain: pysim.Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(pysim.TrajectoryError, match=r"needs xarray; install it with pip .*sweeps"):
        pysim.simulate(chain).to_xarray()


@pytest.mark.slow
@needs_chromium
def test_a_run_plays_in_a_static_export_of_a_notebook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The notebook is run by a kernel, exported by nbconvert, and opened without a network."""
    pytest.importorskip("viser")
    pytest.importorskip("ipykernel")
    nbconvert = pytest.importorskip("nbconvert")
    nbformat = pytest.importorskip("nbformat")
    preprocessors = pytest.importorskip("nbconvert.preprocessors")
    data = Path(nbconvert.__file__).parents[4] / "share" / "jupyter"  # where pip puts it
    monkeypatch.setenv("JUPYTER_PATH", str(data))
    cells = [
        "import pysim",
        (
            f"scene = pysim.load_scene({str(SCENES / 'double_pendulum.toml')!r}, "
            "{'simulation.duration': 1.0})\nrun = pysim.simulate(scene)\nrun"
        ),
        "run.show(height=320)",
    ]
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in cells],
        metadata={"kernelspec": {"name": "python3", "display_name": "", "language": "python"}},
    )
    kernel = preprocessors.ExecutePreprocessor(timeout=120, kernel_name="python3")
    kernel.preprocess(notebook, {"metadata": {"path": str(tmp_path)}})
    page, _ = nbconvert.HTMLExporter().from_notebook_node(notebook)
    assert "Server stopped" not in page  # viser prints where it serves
    assert "Warning" not in "".join(str(cell.outputs) for cell in notebook.cells[:2])
    assert [output.output_type for output in notebook.cells[2].outputs] == ["execute_result"]
    (tmp_path / "run.html").write_text(page, "utf-8")
    with browser_page() as tab:
        tab.goto((tmp_path / "run.html").as_uri(), wait_until="load")
        assert tab.get_by_text("pysim.Trajectory").is_visible()
        slider = tab.frame_locator("iframe").locator("[role=slider]").first
        slider.wait_for(state="attached", timeout=60_000)
        tab.wait_for_timeout(300)
        before = float(slider.get_attribute("aria-valuenow"))
        tab.wait_for_timeout(700)
        assert float(slider.get_attribute("aria-valuenow")) != before
        assert [text for text in tab.errors if "net::" not in text] == []
