"""The controls of a web page in headless Chromium without a network. Oracles: poses and signals of the run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.render import web
from pysim.render.exports.web_controls import MOST_CURVES, MOST_POINTS, curves
from tests.render.browser import browser_page, needs_chromium

pytest.importorskip("viser")
SCENES = Path(__file__).parents[2] / "scenes"
EVIL = "<script>window.evil = 1</script>\"'&"
TIME = "[role=slider]"


@pytest.fixture(scope="module")
def run() -> pysim.Trajectory:
    overrides = {"simulation.duration": 1.5}
    return pysim.simulate(pysim.load_scene(SCENES / "bouncing_balls.toml", overrides))


@pytest.fixture(scope="module")
def page_file(run: pysim.Trajectory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs whose names are markup; the second one is the first, later."""
    header = replace(run.header, name=EVIL, body_names=(EVIL, *run.header.body_names[1:]))
    evil = replace(run, header=header)
    poses = run.poses + np.array([0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    path = tmp_path_factory.mktemp("page") / "run.html"
    return web(evil, path, others=[replace(evil, poses=poses)], fps=20)


@pytest.fixture
def tab(page_file: Path) -> Iterator[Any]:
    with browser_page(560, 420, color_scheme="dark") as page:
        page.goto(page_file.as_uri())
        page.wait_for_selector("[data-pysim-ready]", state="attached", timeout=60_000)
        yield page
        assert page.evaluate("window.evil") is None
        assert page.errors == []


def time_of(tab: Any) -> float:
    return float(tab.locator(TIME).first.get_attribute("aria-valuenow"))


def paused_at(tab: Any, share: float) -> float:
    """Stop the player and click into the curves; return the time [s] there."""
    tab.keyboard.press("Space")
    tab.wait_for_timeout(200)
    box = tab.locator("#pysim-plot canvas").bounding_box()
    tab.mouse.click(box["x"] + share * box["width"], box["y"] + 10)
    tab.wait_for_timeout(500)
    return time_of(tab)


@needs_chromium
@pytest.mark.slow
def test_the_page_plays_and_scrubs_by_its_curves(tab: Any, run: pysim.Trajectory) -> None:
    before = time_of(tab)
    tab.wait_for_timeout(700)
    assert time_of(tab) != before
    time = paused_at(tab, 0.5)
    assert time == pytest.approx(0.75, abs=0.02)
    tab.wait_for_timeout(300)
    assert time_of(tab) == time
    shown = tab.locator("#pysim-curves label", has=tab.locator(":checked"))
    row = shown.filter(has_text=run.header.coordinate_names[2])
    tab.wait_for_timeout(1000)
    value = float(row.locator("output").inner_text().split()[0])
    assert value == pytest.approx(np.interp(time, run.t, run.q[:, 2]), abs=2e-3)


@needs_chromium
@pytest.mark.slow
def test_a_click_names_the_body_and_its_position(tab: Any, run: pysim.Trajectory) -> None:
    time = paused_at(tab, 0.4)
    expected = run.poses_at([time])[0, 0, :3]
    spot = tab.evaluate(
        """position => {
          const root = document.querySelector("#root");
          const key = Object.keys(root).find(k => k.startsWith("__reactContainer"));
          const found = [root[key]];
          let viewer = null;
          while (found.length && !viewer) {
            const fiber = found.pop(), value = fiber.memoizedProps?.value;
            if (value?.sceneTreeActions) viewer = value;
            if (fiber.sibling) found.push(fiber.sibling);
            if (fiber.child) found.push(fiber.child);
          }
          const { scene, camera, nodeRefFromName, canvas } = viewer.mutable.current ?? viewer.mutable;
          const name = Object.keys(nodeRefFromName).find(n => n.startsWith("/run 1/1 ") && !n.slice(9).includes("/"));
          const point = nodeRefFromName[name].getWorldPosition(camera.position.clone()).project(camera);
          const box = canvas.getBoundingClientRect();
          return [box.left + (point.x + 1) / 2 * box.width, box.top + (1 - point.y) / 2 * box.height];
        }""",
        expected.tolist(),
    )
    tab.mouse.click(*spot)
    tab.locator("#pysim-pick").wait_for(state="visible")
    words = re.split(r"\s{2,}", tab.locator("#pysim-pick").inner_text())
    assert words[0] == EVIL
    found = [float(word.removesuffix(" m")) for word in words[1:]]
    np.testing.assert_allclose(found, run.poses_at([time])[0, 0, :3], atol=0.05)
    tab.mouse.click(20, 240)  # nothing is there
    tab.locator("#pysim-pick").wait_for(state="hidden")


@needs_chromium
@pytest.mark.slow
def test_buttons_hide_and_show_parts_of_the_picture(tab: Any) -> None:
    paused_at(tab, 0.21)
    buttons = tab.locator("#pysim-bar button").all_inner_texts()
    assert buttons == ["Frames", "Contacts", "Forces", "Ghosts", "◐", "Curves"]

    def picture() -> np.ndarray:
        import io

        from PIL import Image

        tab.wait_for_timeout(600)
        clip = {"x": 0, "y": 160, "width": 560, "height": 100}
        data = tab.screenshot(clip=clip)
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), float)

    before = picture()
    for name in ("Frames", "Ghosts", "◐"):
        tab.get_by_role("button", name=name, exact=True).click()
        for _ in range(20):  # a busy machine draws late
            after = picture()
            changed = (np.abs(after - before).max(axis=2) > 30).sum()
            if changed > 100:
                break
        assert changed > 100, name
        before = after
    assert before.mean() > 150  # the browser prefers dark, and the last button made it light


@needs_chromium
@pytest.mark.slow
def test_a_phone_shows_the_same_page(page_file: Path) -> None:
    with browser_page(390, 760, has_touch=True, is_mobile=True) as page:
        page.goto(page_file.as_uri())
        page.wait_for_selector("[data-pysim-ready]", state="attached", timeout=60_000)
        page.wait_for_timeout(500)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        box = page.locator("#pysim-plot canvas").bounding_box()
        page.keyboard.press("Space")
        page.touchscreen.tap(box["x"] + 0.8 * box["width"], box["y"] + 20)
        page.wait_for_timeout(500)
        assert time_of(page) == pytest.approx(1.2, abs=0.03)
        assert page.errors == []


def test_curves_are_few_short_and_finite(run: pysim.Trajectory) -> None:
    found = curves([run, run], [])
    assert len(found) <= MOST_CURVES
    assert all(len(part["runs"]) == 2 for part in found)
    lengths = {len(part["runs"][0]["t"]) for part in found}
    assert max(lengths) <= MOST_POINTS + 2
    first = found[2]["runs"][0]
    expected = np.interp(first["t"], run.t, run.q[:, 2])
    np.testing.assert_allclose(first["y"], expected, atol=1e-4)
    assert [part["on"] for part in found[:4]] == [True, True, True, False]
    holed = replace(run, q=np.where(run.t[:, None] > 1, np.inf, run.q))
    assert max(curves([holed], ["q"])[0]["runs"][0]["t"]) <= 1.0


def test_curves_can_be_chosen(run: pysim.Trajectory, tmp_path: Path) -> None:
    assert [part["name"] for part in curves([run], ["energy.total"])] == ["energy.total"]
    with pytest.raises(pysim.TrajectoryError, match="no quantity matches 'x\\*'"):
        web(run, tmp_path / "a.html", plots=["x*"])
