"""Runs that grow without bound are errors, with a ledger and without.

Oracle: the wheel sinks slowly against its damper, by less than 1 rad.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from tests.elements.blocks import simulation, table


def wheel(folder: Path, damping: float, integrator: str, *, work: bool = True) -> pysim.Scene:
    """An eccentric wheel under gravity with a damper that is far beyond what steps of 1 ms are stable for."""
    inertia = {"xx": 0.02, "yy": 0.02, "zz": 0.02}
    text = table("body", name="wheel", mass=1.0, com=[0.1, 0, 0], inertia=inertia)
    text += table(
        "joint", name="axle", type="revolute", child="wheel", axis=[0, 1, 0], damping=damping
    )
    text += simulation(integrator, step=1e-3, duration=1.0)
    file = folder / "scene.toml"
    file.write_text(text, "utf-8")
    return pysim.load_scene(file, {"output.work": work})


@pytest.mark.filterwarnings("ignore::pysim.errors.PysimWarning")
@pytest.mark.parametrize("work", [True, False])
@pytest.mark.parametrize("integrator", ["semi_implicit", "rk2", "rk4"])
@pytest.mark.parametrize("damping", [65.0, 75.0, 80.0, 85.0, 100.0, 300.0])
def test_a_run_beyond_its_stability_ends_as_an_error_that_names_its_joint(
    tmp_path: Path, damping: float, integrator: str, work: bool
) -> None:
    if integrator == "rk4" and damping < 85:
        damping *= 1.4  # beyond its stability, too
    scene = wheel(tmp_path, damping, integrator, work=work)
    with pytest.raises(pysim.SimulationError, match="axle"):
        pysim.simulate(scene)


@pytest.mark.filterwarnings("ignore::pysim.errors.PysimWarning")
@pytest.mark.parametrize("integrator", ["semi_implicit", "rk2"])
@pytest.mark.parametrize("damping", [100.0, 300.0])
def test_a_world_whose_energy_overflows_is_lost_as_a_run_ends(
    tmp_path: Path, damping: float, integrator: str
) -> None:
    """In worlds of both precisions, and in a rollout."""
    scene = wheel(tmp_path, damping, integrator)
    for dtype in (np.float64, np.float32):
        worlds = pysim.Worlds(scene, 2, dtype=dtype)
        worlds.step(seconds=1.0)
        assert worlds.lost.all()
        assert "axle" in str(worlds.reason(0))
        assert np.abs(worlds.v[0]).max() < np.sqrt(np.finfo(dtype).max)
    assert np.isnan(pysim.rollout(scene, np.zeros((2, 1)), np.zeros((2, 1))).q[:, -1]).all()


@pytest.mark.filterwarnings("ignore::pysim.errors.PysimWarning")
def test_an_energy_that_overflows_in_the_next_step_is_the_reason(tmp_path: Path) -> None:
    worlds = pysim.Worlds(wheel(tmp_path, 100.0, "semi_implicit"), 1)
    worlds.v[0] = 1.3e154
    worlds.step(steps=1)
    assert worlds.lost[0]
    assert "joint 'axle' reaches an infinite energy at t = 0.001 s" in str(worlds.reason(0))
