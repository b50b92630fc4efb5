"""Keys that are set in the text of a scene. Oracle: the parsed text, and the lines that must not change."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from pysim.errors import PysimError
from pysim.scene.toml.key_edit import Value, with_keys, write_keys
from tests.scene_runs import SCENES

VIEW: dict[str, Value] = {"azimuth": -30.5, "focus": (0.0, 0.25, 1.0), "zoom": 1.2}
TEXT = """# A scene.
name = "x"   # [render] in a comment
[ render ]  # pictures
  azimuth = 3   # [deg] "left"
trails = [
  "rod",
]

# the end
[output]
zoom = 7
"""
EDITED = """# A scene.
name = "x"   # [render] in a comment
[ render ]  # pictures
azimuth = -30.5   # [deg] "left"
trails = [
  "rod",
]
focus = [0.0, 0.25, 1.0]
zoom = 1.2

# the end
[output]
zoom = 7
"""


def test_keys_are_replaced_or_added_and_nothing_else_changes() -> None:
    assert with_keys(TEXT, "render", VIEW, "x.toml") == EDITED


def test_a_missing_table_is_added_at_the_end() -> None:
    text = 'name = "x"\n'
    lines = ["[render]", "azimuth = -30.5", "focus = [0.0, 0.25, 1.0]", "zoom = 1.2", ""]
    assert with_keys(text, "render", VIEW, "x.toml") == text + "\n" + "\n".join(lines)


@pytest.mark.parametrize("scene", sorted(path.stem for path in SCENES.glob("*.toml")))
def test_every_scene_can_be_edited(scene: str) -> None:
    text = (SCENES / f"{scene}.toml").read_text("utf-8")
    before, after = tomllib.loads(text), tomllib.loads(with_keys(text, "render", VIEW, scene))
    plain = {"azimuth": -30.5, "focus": [0.0, 0.25, 1.0], "zoom": 1.2}
    assert after.pop("render") == before.pop("render", {}) | plain
    assert after == before


@pytest.mark.parametrize(
    "text",
    [
        "render = { azimuth = 3 }\n",
        "render.azimuth = 3\n",
        "[render]\nfocus = [\n  0, 0, 1,\n]\n",
        'x = """\n[render]\nazimuth = 1\n"""\n',
    ],
)
def test_a_layout_that_is_not_understood_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(PysimError) as caught:
        write_keys(path, "render", {"azimuth": 1.5, "focus": (0.0, 0.0, 2.0)})
    keys = "azimuth = 1.5, focus = [0.0, 0.0, 2.0]"
    problem = f"has a [render] table that cannot be edited; write {keys} into it"
    assert str(caught.value) == f"{path}: {problem}"
    assert path.read_text("utf-8") == text


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    with pytest.raises(PysimError) as caught:
        write_keys(path, "render", VIEW)
    reason = f"[Errno 2] No such file or directory: '{path}'"
    assert str(caught.value) == f"{path}: cannot be edited, {reason}; check the file"
