"""Programs that pysim starts run no file of the working folder.

The oracle is a folder whose modules, called like Python's, leave a file behind when they are run.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

import pysim
from pysim.child_process import python_command, trusted_folders
from pysim.render import movie
from pysim.shapes import Shape
from tests.render.scenes import SMALL, drawn, moving

NAMES = ("queue", "pickle", "json", "tempfile", "pysim", "numpy", "h5py", "pyvista", "resource")
SCENE = """
[[body]]
name = "stone"
mass = 1.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }

[[joint]]
name = "fall"
type = "prismatic"
child = "stone"

[simulation]
duration = 0.1
"""


@pytest.fixture
def strange(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Working folder with modules of a stranger, which is also on `sys.path` as in an interactive Python."""
    for name in NAMES:
        text = f"open({str(tmp_path / 'ran')!r}, 'a').write('{name} ')\n"
        (tmp_path / f"{name}.py").write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), *sys.path])
    monkeypatch.setenv("PYTHONPATH", ".")
    return tmp_path


def test_a_program_imports_from_this_process_and_not_from_the_working_folder(strange: Path) -> None:
    program = f"import sys, {', '.join(NAMES)}; print(pysim.__file__, sys.argv[1:])"
    run = subprocess.run(
        python_command(program, "a", "b"), check=True, capture_output=True, text=True
    )
    assert run.stdout == f"{pysim.__file__} ['a', 'b']\n"
    assert not (strange / "ran").exists()
    assert "" not in trusted_folders()
    assert str(strange) not in trusted_folders()


def test_a_changed_trajectory_is_read_without_code_of_the_working_folder(strange: Path) -> None:
    (strange / "stone.toml").write_text(SCENE, "utf-8")
    pysim.simulate(pysim.load_scene("stone.toml"), "stone.h5")
    with h5py.File("stone.h5", "r+") as file:
        file.attrs["name"] = "changed"  # so that a child process reads it
    assert pysim.load_trajectory("stone.h5").header.name == "changed"
    assert not (strange / "ran").exists()


@pytest.mark.render
def test_a_movie_is_drawn_without_code_of_the_working_folder(
    strange: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: {0, 1})
    positions = np.zeros((60, 3))
    positions[:, 0] = np.linspace(-1, 1, 60)
    run = moving(positions, drawn(Shape("sphere", (0.2,))), times=np.linspace(0, 2, 60))
    movie(run, strange / "run.mp4", fps=30.0, **SMALL)
    assert (strange / "run.mp4").stat().st_size > 0
    assert not (strange / "ran").exists()


def test_the_module_pysim_leaves_out_the_working_folder(strange: Path) -> None:
    (strange / "stone.toml").write_text(SCENE, "utf-8")
    (strange / "pysim.py").unlink()  # which Python runs before pysim itself
    command = [sys.executable, "-m", "pysim", "stone.toml", "--quiet"]
    subprocess.run(command, check=True, env={})
    assert not (strange / "ran").exists()
