"""The gallery shows every scene once, with a small picture. Oracle: the files in `scenes`."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "docs" / "gallery"
SCENES = ROOT / "scenes"
MOST_BYTES = 40_000  # of a picture


@pytest.fixture
def extension(monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    return importlib.import_module("scene_gallery")


def names_in(directive: str, page: Path) -> list[str]:
    found = re.findall(rf"^```\{{{directive}\}} ([^\n]+)$", page.read_text("utf-8"), re.MULTILINE)
    return " ".join(found).split()


def scenes() -> list[str]:
    return sorted(str(p.relative_to(SCENES).with_suffix("")) for p in SCENES.glob("**/*.toml"))


def test_every_scene_has_one_entry_and_one_picture_in_the_grid() -> None:
    pages = [page for page in GALLERY.glob("*.md") if page.stem != "index"]
    assert sorted(name for page in pages for name in names_in("scenes", page)) == scenes()
    assert sorted(names_in("scene-pictures", GALLERY / "index.md")) == scenes()


def test_the_grid_leads_to_the_page_of_each_entry() -> None:
    index = (GALLERY / "index.md").read_text("utf-8")
    for names, page in re.findall(r"\{scene-pictures\} ([^\n]+)\n:page: (\w+)", index):
        assert names.split() == names_in("scenes", GALLERY / f"{page}.md")


def test_pictures_are_small() -> None:
    folder = ROOT / "docs" / "_static" / "scenes"
    pictures = {path.stem: path.stat().st_size for path in folder.glob("*.webp")}
    assert sorted(pictures) == sorted(name.replace("/", "-") for name in scenes())
    assert max(pictures.values()) <= MOST_BYTES


def test_the_scenes_that_play_exist(extension: Any) -> None:
    assert len(extension.PLAYED) == 10
    assert set(extension.PLAYED) <= set(scenes())


def test_an_entry_shows_the_comment_and_the_plugins_of_a_scene(extension: Any) -> None:
    text = (SCENES / "knee.toml").read_text("utf-8")
    comment = extension.comment_of(text)
    assert comment.startswith("Two right shins swing side by side")
    assert "schema" not in comment
    assert extension.plugins_of(text) == ["joints/knee.py"]
