"""An author's code that does not end, or takes long, is reported. The oracle is the text of the error or warning."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.errors import JointError, PysimWarning, SceneError
from pysim.joints import Joint, Pose, real
from pysim.joints.trace import trace
from pysim.tracing import tape

SCENE = """
plugins = ["own.py"]
[[body]]
name = "slider"
mass = 1
[[joint]]
name = "slide"
type = "own"
child = "slider"
"""
PLUGIN = """
import numpy as np
import pysim
from pysim.joints import CallbackJoint, joint, real

scenes = []

@joint("own")
class Own(CallbackJoint):
    coordinates = real("x")

    def poses(self, q):
        CODE
        X = np.tile(np.eye(4), (len(q), 1, 1))
        X[:, 2, 3] = q[:, 0]
        return X
"""


numbers = itertools.count()


def written(folder: Path, code: str) -> Path:
    name = f'"own_{next(numbers)}"'  # a type has one file in a process
    text = PLUGIN.replace("CODE", code).replace('"own"', name)
    (folder / "own.py").write_text(text, "utf-8")
    scene = folder / "scene.toml"
    scene.write_text(SCENE.replace('"own"', name), "utf-8")
    return scene


@pytest.mark.parametrize(
    "code",
    [
        "pysim.load_scene('scene.toml', allow_code=True)",
        "pysim.load_model('scene.toml', allow_code=True)",
        "pysim.load_scenes('scene.toml', {'body.slider.mass': [1, 2]}, allow_code=True)",
    ],
)
def test_a_callback_that_loads_its_own_scene_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    monkeypatch.chdir(tmp_path)
    scene = written(tmp_path, code)
    expected = "scene.toml: a plugin loads the file that is being loaded for it; load another one, or load it elsewhere"
    with pytest.raises(SceneError, match=re.escape(expected)):
        pysim.load_scene(scene, allow_code=True)


def test_a_callback_that_runs_its_own_scene_is_reported(tmp_path: Path) -> None:
    path = written(tmp_path, "[pysim.simulate(scene) for scene in pysim.own_scenes]")
    pysim.own_scenes = []  # type: ignore[attr-defined]
    scene = pysim.load_scene(path, allow_code=True)
    pysim.own_scenes.append(scene)  # type: ignore[attr-defined]
    expected = "Own.poses: is called again while it runs; compute nothing there with a model that has this joint"
    with pytest.raises(JointError, match=re.escape(expected)):
        pysim.simulate(scene)
    pysim.own_scenes.clear()  # type: ignore[attr-defined]
    pysim.load_scene(path, allow_code=True)


class Winding(Joint):
    """Slides by a sum of sines."""

    terms: int
    coordinates = real("x")

    def placement(self, q: Any) -> Pose:
        z = q.x
        for k in range(self.terms):
            z = z + np.sin(z * (1 + k))
        return Pose.translate(0, 0, z)


def test_a_long_program_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tape, "LONG", 100)
    expected = (
        r"Winding\.placement: records 1\d\d operations; preparing them takes about 0 s, and every"
    )
    with pytest.warns(PysimWarning, match=expected):
        trace(Winding(terms=40))


def test_a_program_without_an_end_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tape, "MOST_RECORDED", 1000)
    expected = r"test_endless_code\.py:\d+: records more than 1000 operations; end the loop, or take a CallbackJoint"
    with pytest.raises(JointError, match=expected):
        trace(Winding(terms=10**9))
