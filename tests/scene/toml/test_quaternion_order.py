"""Quaternions in the order of other programs. Oracle: the pose of a body that was meant to stand upright."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import pysim

BOX = """
[[body]]
name = "box"
mass = 1.0
inertia = { xx = 1.0, yy = 1.0, zz = 1.0 }
[[joint]]
name = "base"
type = "TYPE"
child = "box"
start = START
"""


def load(folder: Path, kind: str, start: str, extra: str = "") -> tuple[pysim.Scene, list[str]]:
    file = folder / "box.toml"
    file.write_text(BOX.replace("TYPE", kind).replace("START", start) + extra, "utf-8")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scene = pysim.load_scene(file)
    return scene, [str(found.message) for found in caught]


@pytest.mark.parametrize(
    ("kind", "start"),
    [
        ("free", "[0, 0, 0.2, 1, 0, 0, 0]"),
        ("free", "{ q = [0, 0, 0.2, 1, 0, 0, 0] }"),
        ("free", "[0, 0, 0.2, -1, 0, 0, 0]"),
        ("ball", "[1, 0, 0, 0]"),
    ],
)
def test_a_start_that_begins_with_w_is_warned_of_with_the_remedy(
    tmp_path: Path, kind: str, start: str
) -> None:
    scene, (found,) = load(tmp_path, kind, start)
    assert "joint[0].start" in found
    assert "half a turn" in found
    assert "quat_wxyz = [1, 0, 0, 0]" in found
    assert abs(scene.state.q[-4]) == 1


def test_a_keyframe_that_begins_with_w_is_warned_of(tmp_path: Path) -> None:
    extra = "[keyframes.home.start]\nbase = [0, 0, 0.2, 1, 0, 0, 0]\n"
    _, found = load(tmp_path, "free", "[0, 0, 0.2, 0, 0, 0, 1]", extra)
    assert len(found) == 1


@pytest.mark.parametrize(
    "start",
    [
        "[0, 0, 0.2, 0, 0, 0, 1]",
        "{ xyz = [0, 0, 0.2], quat_wxyz = [1, 0, 0, 0] }",
        "{ xyz = [0, 0, 0.2], quat_xyzw = [1, 0, 0, 0] }",
        "[0, 0, 0.2, 0.6, 0, 0, 0.8]",
    ],
)
def test_starts_without_doubt_are_silent(tmp_path: Path, start: str) -> None:
    assert load(tmp_path, "free", start)[1] == []


def test_a_scene_that_is_written_keeps_its_half_turn_and_is_silent(tmp_path: Path) -> None:
    extra = "[keyframes.home.start]\nbase = { xyz = [0, 0, 1], quat_xyzw = [1, 0, 0, 0] }\n"
    scene, _ = load(tmp_path, "free", "{ xyz = [0, 0, 0.2], quat_xyzw = [1, 0, 0, 0] }", extra)
    from pysim.cli import main

    assert main(["convert", str(tmp_path / "box.toml"), str(tmp_path / "again.toml")]) == 0
    again = pysim.load_scene(tmp_path / "again.toml")
    np.testing.assert_array_equal(again.state.q, scene.state.q)


def test_starts_of_a_rollout_that_begin_with_w_are_warned_of(tmp_path: Path) -> None:
    scene, _ = load(tmp_path, "free", "[0, 0, 0.2, 0, 0, 0, 1]")
    q0, v0 = np.tile([0, 0, 0.2, 1.0, 0, 0, 0], (4, 1)), np.zeros((4, 6))
    with pytest.warns(pysim.PysimWarning, match=r"q0: joint 'base' starts half a turn about x"):
        pysim.rollout(scene.model, q0, v0, None, 1e-3, steps=2)
    with pytest.warns(pysim.PysimWarning, match=r"q0: joint 'base' starts half a turn about x"):
        pysim.rollout(scene, q0, v0, steps=2, step=1e-3, integrator="rk4")
