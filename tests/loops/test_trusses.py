"""Mechanisms that cannot move: they run, and their forces carry the weight. Oracle: statics of two bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import pysim
from pysim.cli import main
from pysim.diagnosis.stability import step_bounds

if TYPE_CHECKING:
    from pathlib import Path

BAR = '[[body]]\nname = "{name}"\nmass = {mass}\ncom = [0.5, 0, 0]\ninertia = {{xx = 0.01, yy = 0.1, zz = 0.1}}\n'
PIN = '[[joint]]\nname = "{name} pin"\ntype = "revolute"\nchild = "{name}"\naxis = [0, -1, 0]\n'
TRUSS = f"""
name = "truss"
{BAR.format(name="left", mass=1)}
{BAR.format(name="right", mass=2)}
{PIN.format(name="left")}
start = {{q = 1.0}}
{PIN.format(name="right")}
at = {{xyz = [1, 0, 0]}}
start = {{q = 2.0}}
[[loop]]
name = "apex"
type = "revolute"
a = "left"
b = "right"
at_a = {{xyz = [1, 0, 0]}}
at_b = {{xyz = [1, 0, 0]}}
axis = [0, -1, 0]
[simulation]
duration = 0.1
"""
BLOCK = """
name = "block"
[[body]]
name = "block"
shape = {box = [1, 1, 1], density = 100}
[[joint]]
name = "weld"
type = "fixed"
child = "block"
[simulation]
duration = 0.1
"""
G = 9.81  # [m/s²]


@pytest.fixture
def truss(tmp_path: Path) -> Path:
    path = tmp_path / "truss.toml"
    path.write_text(TRUSS, "utf-8")
    return path


@pytest.fixture
def block(tmp_path: Path) -> Path:
    path = tmp_path / "block.toml"
    path.write_text(BLOCK, "utf-8")
    return path


@pytest.mark.parametrize("scheme", ["rk4", "dopri5", "variational", "generalized_alpha"])
def test_a_truss_of_two_bars_is_stable_for_its_weight(
    truss: Path, scheme: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(truss.parent)
    assert main([str(truss), "--set", f"simulation.integrator={scheme}"]) == 0
    said = capsys.readouterr().out
    across, up = 3 * G / 4 / np.sqrt(3), G / 4  # moments about both pins
    assert f"up to {np.hypot(across, up):.4g} N in 'apex'" in said
    assert "nothing moved" in said


def test_a_truss_has_no_motions_that_bound_its_step(truss: Path) -> None:
    bounds = step_bounds(pysim.load_scene(truss))
    assert bounds.fastest is None
    assert bounds.stable == np.inf


def test_a_truss_welded_to_the_world_runs(
    block: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(block.parent)
    assert main(["check", str(block)]) == 0
    assert main([str(block)]) == 0
    assert "nothing moved" in capsys.readouterr().out


@pytest.mark.parametrize("lead", [(), (3,)])
def test_a_model_without_coordinates_has_empty_results(block: Path, lead: tuple[int, ...]) -> None:
    model = pysim.load_scene(block).model
    q = v = np.zeros((*lead, 0))
    assert model.nv == 0
    assert pysim.aba(model, q, v, v).shape == (*lead, 0)
    assert pysim.crba(model, q).shape == (*lead, 0, 0)
    for function in (pysim.rnea_derivatives, pysim.aba_derivatives):
        assert [d.shape for d in function(model, q, v, v)] == [(*lead, 0, 0)] * 3
    rows, _ = pysim.rollout(model, q, v, None, 1e-3, steps=2)
    assert rows.shape == (*lead, 3, 0)
    with pytest.raises(ValueError, match="nothing moves in this model: it has no centre of mass"):
        pysim.center_of_mass(model, q)
