"""Motion without contact in scenes of the convex step: energy and momentum of bodies and robots in flight.

Oracle: conservation of energy and angular momentum without gravity.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from tests.contact.scenes import free_body, ran


def stick(tmp_path: Path, radius: float, spin: float, step: float, **changes) -> pysim.Scene:
    """A thin capsule far above the ground that spins about an axis oblique to its own."""
    v = spin * np.array([0.48, 0.64, 0.6])
    return free_body(
        tmp_path,
        shape=f"{{ capsule = {{ radius = {radius}, length = 0.5 }} }}",
        mass=1.0,
        start=f"{{ xyz = [0, 0, 9], v = [0.2, 0, 0, {v[0]}, {v[1]}, {v[2]}] }}",
        surface="friction = 0.5",
        gravity=(0, 0, 0),
        duration=1.0,
        every=0.05,
        step=step,
        **changes,
    )


@pytest.mark.parametrize("radius", [0.03, 0.02, 0.004, 0.002])  # inertia ratios 38 to 10⁴
@pytest.mark.parametrize("turn", [0.02, 0.1, 0.29])  # h |ω|
def test_a_thrown_stick_keeps_its_energy_and_angular_momentum(
    tmp_path: Path, radius: float, turn: float
) -> None:
    trajectory = ran(scene := stick(tmp_path, radius, 20.0, turn / 20.0))
    h = pysim.centroidal_momentum(scene.model, trajectory.q, trajectory.v)[:, 3:]
    assert np.abs(trajectory.kinetic / trajectory.kinetic[0] - 1).max() < 1e-9
    assert np.abs(h - h[0]).max() < 1e-11 * np.linalg.norm(h[0])


def test_a_stick_that_spins_faster_than_the_step_resolves_keeps_its_energy(tmp_path: Path) -> None:
    trajectory = ran(stick(tmp_path, 0.002, 20.0, 0.05))  # h |ω| = 1
    assert np.abs(trajectory.kinetic / trajectory.kinetic[0] - 1).max() < 1e-9


@pytest.mark.parametrize("accuracy", [1e-2, 1e-4])
def test_a_thrown_stick_gains_no_energy_under_error_control(
    tmp_path: Path, accuracy: float
) -> None:
    scene = stick(tmp_path, 0.002, 20.0, 0.01, run=f"accuracy = {accuracy}")
    trajectory = ran(scene)
    assert (trajectory.kinetic / trajectory.kinetic[0] - 1).max() < 1e-3
