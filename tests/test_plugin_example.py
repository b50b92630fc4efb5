"""The example package, as its user sees it: installed, found by its entry point, run and tested by its own tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pysim

EXAMPLE = Path(__file__).with_name("plugin_example")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the package's sources in `own` and what pip makes of them in `site`."""
    folder = tmp_path_factory.mktemp("example")
    shutil.copytree(EXAMPLE, folder / "own")
    offline = "--no-deps --no-build-isolation --no-index --disable-pip-version-check --quiet"
    pip = [sys.executable, "-m", "pip", "install", *offline.split()]
    subprocess.run([*pip, "--target", folder / "site", folder / "own"], check=True)
    (folder / "own" / "pysim_rising_hinge.py").unlink()  # found where pip put it, or nowhere
    return folder


def python(installed: Path, *arguments: str) -> str:
    """Output of an interpreter that sees the installed package, in the folder of its sources."""
    paths = [str(installed / "site"), str(Path(pysim.__file__).parents[1])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, *arguments]
    run = subprocess.run(
        command, cwd=installed / "own", env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_a_scene_finds_an_installed_joint_and_needs_no_permission(installed: Path) -> None:
    assert "10 s" in python(installed, "-m", "pysim", "door.toml")
    trajectory = pysim.load_trajectory(installed / "own" / "door.h5")
    assert trajectory.complete
    assert trajectory.header.joint_names == ("hinge",)


def test_an_installed_joint_shows_its_keys(installed: Path) -> None:
    shown = python(installed, "-m", "pysim", "joints", "rising_hinge")
    assert "height of the ramp" in shown


def test_the_package_passes_its_own_tests(installed: Path) -> None:
    assert "3 passed" in python(installed, "-m", "pytest", "-q", "-p", "no:cacheprovider")


def test_without_the_package_its_joint_is_unknown() -> None:
    with pytest.raises(pysim.PysimError, match="unknown joint type 'rising_hinge'"):
        pysim.load_scene(EXAMPLE / "door.toml")
