"""The design example: peak torque of a pick-and-place by vertices of a mesh and axes of joints.

Oracles: central differences of the smooth peak of a scene written to files with a vertex or an axis moved, its
waypoints found anew; the box's own words for what stays.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.spatial import exp
from tests.scene_runs import SCENES

Array = np.ndarray
SCRIPT = SCENES / "design" / "pick_and_place.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("pick_and_place", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["pick_and_place"] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def bent(example: ModuleType) -> Any:
    """A design whose axes are not along the coordinates'."""
    start = example.start()
    rng = np.random.default_rng(0)
    axes = np.einsum("nij,nj->ni", exp(0.03 * rng.normal(size=(3, 3))), start.axes)
    return replace(start, axes=axes)


def peak(example: ModuleType, design: Any) -> float:
    model, _ = example.mechanism(design)
    value: float = example.smooth_peak(example.torques(model)[3])[0]
    return value


def slope(example: ModuleType, designs: Any, h: float) -> float:
    return (peak(example, designs(h)) - peak(example, designs(-h))) / (2 * h)


def test_the_gradient_by_vertices_is_that_of_differences(
    example: ModuleType, bent: Any, rng: np.random.Generator
) -> None:
    found = example.gradient(*example.mechanism(bent))[2].vertices
    directions = [rng.normal(size=found.shape), np.zeros_like(found), np.zeros_like(found)]
    directions[1][40, 1] = directions[2][-30, 2] = 1.0  # one vertex
    for d in directions:
        expected = slope(
            example, lambda h, d=d: replace(bent, vertices=bent.vertices + h * d), 1e-5
        )
        assert np.sum(found * d) == pytest.approx(expected, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("joint", [0, 1, 2])
def test_the_gradient_by_axes_is_that_of_differences(
    example: ModuleType, bent: Any, joint: int
) -> None:
    found = example.gradient(*example.mechanism(bent))[2].axes[joint]
    for omega in np.eye(3):

        def turned(h: float, omega: Array = omega) -> Any:
            axes = bent.axes.copy()
            axes[joint] = exp(h * omega) @ axes[joint]
            return replace(bent, axes=axes)

        expected = slope(example, turned, 1e-5)
        assert found @ omega == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_ten_steps_lower_the_peak_and_preserve_mass_task_and_a_valid_mesh(
    example: ModuleType,
) -> None:
    steps = list(example.improve())
    assert [step for step, *_ in steps] == list(range(11))
    smooth = [value for _, _, value, _ in steps]
    assert (np.diff(smooth) < 0).all()
    greatest = [most for *_, most in steps]
    assert greatest[-1] < 0.94 * greatest[0]

    start, design = steps[0][1], steps[-1][1]
    model, mesh = example.mechanism(design)  # reads the files again; a fault of the mesh would warn
    given = example.mechanism(start)[1]
    assert mesh.theta()[0] == pytest.approx(given.theta()[0], rel=1e-9)
    moved = np.linalg.norm(design.vertices - start.vertices, axis=1)
    assert 0.005 < moved.max() <= example.REACH * (1 + 1e-12)
    tilts = np.arccos(np.minimum(1, np.einsum("ij,ij->i", design.axes, start.axes)))
    assert 0.01 < tilts.max() <= example.TILT * (1 + 1e-9)
    tool = pysim.frame_placement(model, example.waypoints(model), "tool")[:, :3, 3]
    np.testing.assert_allclose(tool, example.PLACES, atol=1e-12)


def test_the_script_prints_the_table_of_the_documentation(
    example: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [str(SCRIPT)])
    monkeypatch.setattr(example, "improve", lambda: list(example_steps(example)))
    example.main()
    lines = capsys.readouterr().out.splitlines()
    page = (Path(__file__).parents[2] / "docs" / "design.md").read_text("utf-8")
    assert lines[0] in page
    assert re.fullmatch(r" +0 +67\.\d+ .*", lines[1])
    assert lines[1] in page


def example_steps(example: ModuleType) -> Any:
    design = example.start()
    value, most, _ = example.gradient(*example.mechanism(design))
    yield 0, design, value, most


def test_the_scene_of_the_example_runs() -> None:
    scene = pysim.load_scene(SCENES / "design" / "pick_and_place.toml")
    trajectory = pysim.simulate(scene)
    assert np.abs(trajectory.q[-1]).max() < 0.1
