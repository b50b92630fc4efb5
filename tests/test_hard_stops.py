"""The step that a joint's stop bears.

Oracles: closed forms of a mass on a spring and a damper, and runs on either side of the bound.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.cli import main
from pysim.stability import step_bounds, stop_modes
from tests.test_stability import scene_file, slider

STOP = "limits = {{ upper = {upper}, stiffness = {k}, damping = {d} }}"


def test_a_stop_has_the_root_of_its_spring_and_damper(tmp_path: Path) -> None:
    """s² + (d s + k)/m = 0; behind a slider that runs free, of the mass m₀ m₁/(m₀ + m₁)."""
    stop = STOP.format(upper=1.0, k=5e4, d=300.0)
    (alone,) = stop_modes(pysim.load_scene(scene_file(tmp_path, slider(stop, 2.0))))
    assert alone.s == pytest.approx(complex(-75, np.sqrt(25000 - 75**2)), rel=1e-12)
    assert alone.joint == "slide0"
    pair = slider("", 3.0) + slider(stop, 2.0, k=1, parent="mass0")
    (carried,) = stop_modes(pysim.load_scene(scene_file(tmp_path, pair)))
    mass = 3 * 2 / (3 + 2)
    expected = complex(-150 / mass, np.sqrt(5e4 / mass - (150 / mass) ** 2))
    assert carried.s == pytest.approx(expected, rel=1e-12)
    hard = STOP.format(upper=1.0, k=100.0, d=1000.0)  # decays at 0.1 and at 999.9 1/s
    (mode,) = stop_modes(pysim.load_scene(scene_file(tmp_path, slider(hard))))
    assert mode.s == pytest.approx(-500 - np.sqrt(500**2 - 100), rel=1e-12)


def test_a_scene_without_stops_has_no_mode_of_one(tmp_path: Path) -> None:
    assert stop_modes(pysim.load_scene(scene_file(tmp_path, slider("stiffness = 100")))) == []


@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4"])
def test_a_body_that_lies_at_its_stop_gains_energy_beyond_the_bound_and_none_below(
    tmp_path: Path, integrator: str
) -> None:
    text = slider(STOP.format(upper=0.05, k=1e4, d=0.0))
    bound = step_bounds(pysim.load_scene(scene_file(tmp_path, text, 1e-3, integrator))).stop_stable
    assert bound == pytest.approx(
        {"semi_implicit": 2.0, "rk4": np.sqrt(8)}[integrator] / 100, rel=1e-4
    )

    def gained(step: float) -> float:
        run = pysim.simulate(pysim.load_scene(scene_file(tmp_path, text, step, integrator)))
        return float(run.energy[-1] / run.energy[0])

    assert gained(0.1 * bound) < 1.2
    assert gained(1.5 * bound) > 2


def test_a_stop_too_hard_for_the_step_is_told_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = scene_file(tmp_path, slider(STOP.format(upper=1.0, k=1e12, d=0.0)))
    main(["check", str(path)])
    told = capsys.readouterr()
    assert "stops       1e+06 1/s at 'slide0', a step of 2.83e-06 s at most" in told.out
    text = " ".join(told.err.split())
    assert "simulation.step is 0.001 [s], beyond the 2.83e-06 [s] that rk4 bears where" in text
    assert "'slide0' is at its stop, which then gives energy; take 2e-06 or less" in text
    main([str(path), "--duration", "0.002", "-o", str(tmp_path / "a.h5")])
    assert capsys.readouterr().err.startswith(told.err)
    main(["check", str(path), "--set", "joint.slide0.limits.stiffness=1e4"])
    assert "warning" not in capsys.readouterr().err
    main(["check", str(path), "--set", "simulation.integrator=dopri5"])
    assert "warning" not in capsys.readouterr().err
