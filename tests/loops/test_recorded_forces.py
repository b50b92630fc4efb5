"""Forces of loops and couplings that a run records, against Newton and Euler's equations of one body by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import pysim
from pysim.algorithms import crba
from pysim.cli import main

SCENES = Path(__file__).parents[2] / "scenes"


def test_the_rocker_turns_as_the_loop_pushes_it() -> None:
    """I α = r_com × m g + r × f about the rocker's hinge, f of the loop on its far end."""
    scene = pysim.load_scene(SCENES / "four_bar.toml", {"simulation.duration": 0.5})
    run = pysim.simulate(scene)
    mass, length, thick = 2700 * 0.6 * 0.03 * 0.04, 0.6, 0.04
    inertia = mass * (length**2 + thick**2) / 12 + mass * (length / 2) ** 2
    weight = -mass * 9.81 * length / 2 * np.cos(run.q[:, 2])
    across = length * run.loop_wrenches[:, 0, 2]  # frame B turns with the rocker; the axis is −y
    np.testing.assert_allclose(inertia * run.a[:, 2], weight + across, atol=1e-10)
    np.testing.assert_allclose(run.loop_wrenches[:, 0, 1], 0, atol=1e-9)
    assert np.abs(across).max() > 10  # N·m: it does push


def test_an_axle_gets_what_the_gears_give_it() -> None:
    """I α + d ω = −½ λ_mean − 0.8 λ_mesh on the left axle, with the signs of the ratios."""
    scene = pysim.load_scene(SCENES / "differential.toml", {"simulation.duration": 0.5})
    run = pysim.simulate(scene)
    left = run.names["velocities"].index("left")
    inertia = crba(scene.model, scene.state.q)[left, left]
    pushed = inertia * run.a[:, left] + 2.0 * run.v[:, left]
    mean, mesh = run.coupling_forces.T
    np.testing.assert_allclose(pushed, -0.5 * mean - 0.8 * mesh, rtol=1e-10)
    assert pushed.min() > 1


def test_the_command_reports_the_largest_loads_of_loops(capsys, tmp_path: Path) -> None:
    main([str(SCENES / "four_bar.toml"), "--duration", "0.1", "-o", str(tmp_path / "run.h5")])
    run = pysim.load_trajectory(tmp_path / "run.h5")
    most = f"up to {run.loop_loads[..., 0].max():.4g} N in 'close'"
    assert (
        f"loads       {most}\n" in capsys.readouterr().out
    )  # and no moment: the loop is a hinge in a plane


def test_the_command_reports_loads_that_are_one_of_many_distributions(
    capsys, tmp_path: Path
) -> None:
    """Bricard's six hinges: five rows of rank four."""
    main([str(SCENES / "bricard.toml"), "--duration", "0.1", "-o", str(tmp_path / "run.h5")])
    loads = next(line for line in capsys.readouterr().out.splitlines() if "  loads  " in line)
    assert loads.endswith(" (redundant: one of many valid distributions)")
