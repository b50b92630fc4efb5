"""The examples of the documentation: every script and every notebook runs, and writes what it says.

Oracles: the assertions in the notebooks, closed forms in the scripts.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import pysim

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "docs" / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "scenes").symlink_to(ROOT / "scenes")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_runs_and_writes_its_picture(script: Path, folder: Path) -> None:
    if "import torch" in script.read_text("utf-8") and not find_spec("torch"):
        pytest.skip("needs torch, of the extra learn")
    environment = os.environ | {"PYTHONPATH": str(Path(pysim.__file__).parents[1])}
    words = [sys.executable, str(script)]
    run = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert (folder / f"{script.stem}.png").stat().st_size > 5000
    assert run.stdout.strip()


@pytest.mark.slow
def test_the_periods_of_the_example_are_those_of_the_elliptic_integral(folder: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(Path(pysim.__file__).parents[1])}
    run = subprocess.run(
        [sys.executable, str(EXAMPLES / "pendulum_period.py")],
        cwd=folder, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert float(run.stdout.split()[-1]) < 1e-5


@pytest.mark.slow
def test_the_policy_that_the_example_learns_balances_a_pole(folder: Path) -> None:
    if not find_spec("torch"):
        pytest.skip("needs torch, of the extra learn")
    environment = os.environ | {"PYTHONPATH": str(Path(pysim.__file__).parents[1])}
    scene = "scenes/environments/cart_pole.toml"
    learned = [sys.executable, str(EXAMPLES / "ppo.py"), scene, "--steps", "2e5"]
    balanced = [sys.executable, "-m", "pysim", scene, "--policy", "ppo.npz", "-o", "pole.h5"]
    for words in (learned, [*balanced, "--set", "joint[1].start.q=0.1"]):
        run = subprocess.run(
            words, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, run.stderr
    assert abs(pysim.load_trajectory(folder / "pole.h5").q[-1, 1]) < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    pytest.importorskip("viser")
    nbconvert = pytest.importorskip("nbconvert")
    preprocessors = pytest.importorskip("nbconvert.preprocessors")
    data = Path(nbconvert.__file__).parents[4] / "share" / "jupyter"  # where pip puts it
    monkeypatch.setenv("JUPYTER_PATH", str(data))
    monkeypatch.setenv("PYTHONPATH", str(Path(pysim.__file__).parents[1]))
    notebook = nbformat.read(path, as_version=4)
    kernel = preprocessors.ExecutePreprocessor(timeout=120, kernel_name="python3")
    kernel.preprocess(notebook, {"metadata": {"path": str(folder)}})
    assert all(cell.outputs is not None for cell in notebook.cells if cell.cell_type == "code")


def test_notebooks_are_stored_without_outputs() -> None:
    nbformat = pytest.importorskip("nbformat")
    for path in NOTEBOOKS:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        assert not any(cell.get("outputs") for cell in notebook.cells), path.name


def test_the_page_lists_every_example() -> None:
    page = (EXAMPLES / "index.md").read_text("utf-8")
    assert all(f"[{path.name}]" in page for path in (*SCRIPTS, *NOTEBOOKS))
