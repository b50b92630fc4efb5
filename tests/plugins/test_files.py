"""Files that scenes name, run once each: by threads, cut short, in copies. The oracle is a single first load."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest

import pysim
from pysim.joints import find_joint
from tests.joints.one_joint import scene_of

if TYPE_CHECKING:
    from pathlib import Path

JOINT = """
import time
from pathlib import Path
from pysim.joints import Joint, Pose, joint, real

if Path(__file__).with_name("cut").exists():
    raise ERROR
time.sleep(0.05)

@joint("NAME")
class Slide(Joint):
    \"\"\"Slides.\"\"\"
    height: float  # [m]
    coordinates = real("x", unit="m")
    def placement(self, q):
        return Pose.translate(0, 0, self.height * q.x)
"""
EVENT = """from pysim.events import Event, event

@event("NAME")
class Rise(Event):
    def value(self, q, v):
        return q.j
"""
INTEGRATOR = """from pysim.integrators import Integrator, integrator

@integrator("NAME")
class Still(Integrator):
    def step(self, system, t, h, q, v):
        return q, v
"""
RELATION = """from pysim.joints import relation

@relation("NAME")
def same(angle):
    return angle
"""


def write(folder: Path, name: str, code: str = JOINT) -> Path:
    """A scene whose plugin has this name; of one joint of it, where the plugin is a joint."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(code.replace("NAME", name), "utf-8")
    is_joint = "(Joint)" in code
    text = scene_of(name if is_joint else "revolute", f"{name}.py")
    (folder / "s.toml").write_text(text + ("height = 2.0\n" if is_joint else ""), "utf-8")
    return folder / "s.toml"


def test_threads_may_load_a_scene_with_a_plugin_for_the_first_time_together(tmp_path):
    scene, barrier, lifts = write(tmp_path, "slide_of_threads"), threading.Barrier(6), []

    def work():
        barrier.wait()
        model = pysim.load_scene(scene, allow_code=True).model
        lifts.append(pysim.forward_kinematics(model, np.array([0.5]))[0, 2, 3])

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lifts == [1.0] * 6


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ZeroDivisionError])
def test_a_plugin_whose_import_was_cut_short_is_run_again(tmp_path, error):
    name = f"slide_cut_by_{error.__name__.lower()}"
    scene = write(tmp_path, name, JOINT.replace("ERROR", error.__name__))
    (tmp_path / "cut").touch()
    expected = error if not issubclass(error, Exception) else pysim.SceneError
    for _ in range(2):
        with pytest.raises(expected):
            pysim.load_scene(scene, allow_code=True)
    (tmp_path / "cut").unlink()
    assert pysim.load_scene(scene, allow_code=True).model.nq == 1


@pytest.mark.parametrize(
    ("kind", "code"),
    [("joint", JOINT), ("event", EVENT), ("integrator", INTEGRATOR), ("relation", RELATION)],
)
def test_a_scene_s_folder_may_be_copied_with_its_plugin(tmp_path, kind, code):
    scene = write(tmp_path / "a", f"copied_{kind}", code)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    for path in (scene, tmp_path / "b" / "s.toml", scene):
        assert pysim.load_scene(path, allow_code=True).model.nq == 1


def test_each_scene_runs_its_own_copy_of_a_plugin_file(tmp_path):
    write(tmp_path / "a", "slide_of_folder")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    for folder in "aba":
        pysim.load_scene(tmp_path / folder / "s.toml", allow_code=True)
        plugin = find_joint("slide_of_folder").plugin
        assert plugin is not None
        assert plugin.placement.__code__.co_filename == str(
            tmp_path / folder / "slide_of_folder.py"
        )


def test_an_edit_of_the_same_length_and_time_is_run(tmp_path, monkeypatch):
    """Python compares bytecode that it kept of a module with its source by these alone."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    scene = write(tmp_path, "slide_of_one_length")
    file = tmp_path / "slide_of_one_length.py"
    for factor in (2, 3):
        file.write_text(
            JOINT.replace("NAME", file.stem).replace("q.x)", f"{factor} * q.x)"), "utf-8"
        )
        os.utime(file, (1e9, 1e9))
        model = pysim.load_scene(scene, allow_code=True).model
        assert pysim.forward_kinematics(model, np.array([0.1]))[0, 2, 3] == pytest.approx(
            factor * 2.0 * 0.1
        )
    assert not (tmp_path / "__pycache__").exists()


@pytest.mark.parametrize("edited", "ab")
def test_after_an_edit_the_copy_that_was_loaded_last_remains_valid(tmp_path, edited):
    """b was run last: what differs from its text is refused, by both files."""
    name = f"slide_edited_in_{edited}"
    write(tmp_path / "a", name)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    for folder in "ab":
        pysim.load_scene(tmp_path / folder / "s.toml", allow_code=True)
    write(tmp_path / edited, name, JOINT + "# edited\n")
    assert pysim.load_scene(tmp_path / "b" / "s.toml", allow_code=True).model.nq == 1
    with pytest.raises(pysim.JointError, match=r"a/\S+: Slide: .* already taken by .*b/\S+: Slide"):
        pysim.load_scene(tmp_path / "a" / "s.toml", allow_code=True)
    assert pysim.load_scene(tmp_path / "b" / "s.toml", allow_code=True).model.nq == 1
