"""A run in small pieces, and forces from outside.

Oracles: `simulate`, and the closed form of an undamped mass under a constant force.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.simulation.live import LiveRun

SCENES = Path(__file__).parents[2] / "scenes"

MASS = """
name = "mass"
gravity = [0, 0, 0]

[[body]]
name = "stone"
mass = 2.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }

[[joint]]
name = "slide"
type = "prismatic"
parent = "world"
child = "stone"
axis = [1, 0, 0]

[simulation]
duration = 1.0
step = 0.01
integrator = "INTEGRATOR"

[output]
every = 0.1
"""


BALL = """
name = "ball"

[[ground]]
plane = { normal = [0, 0, 1], offset = 0 }

[[body]]
name = "ball"
shape = { sphere = { radius = 0.05 }, density = 1000 }
collision = true

[[joint]]
name = "lift"
type = "prismatic"
child = "ball"
axis = [0, 0, 1]
start = { q = 0.06 }

[simulation]
duration = 0.3
step = 1e-4
integrator = "rk4"

[output]
every = 0.01
"""


@pytest.mark.parametrize("name", ["four_bar", "servo_pid", "billiards", "governor"])
def test_without_forces_it_is_the_run_of_simulate(name: str) -> None:
    scene = pysim.load_scene(SCENES / f"{name}.toml", {"simulation.duration": 0.3})
    with LiveRun(scene) as run:
        while run.advance():
            assert 0 <= run.t <= 0.3
    expected = pysim.simulate(scene)
    for own, other in zip(run.trajectory.columns, expected.columns, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-13)
    assert run.trajectory.complete


@pytest.mark.parametrize("integrator", ["rk4", "semi_implicit", "convex", "dopri5"])
def test_a_constant_force_accelerates_a_mass(tmp_path: Path, integrator: str) -> None:
    """x = F t² / 2m, at the outputs and in the accelerations."""
    path = tmp_path / "mass.toml"
    text = MASS.replace("INTEGRATOR", integrator)
    if integrator == "dopri5":
        text = text.replace("step = 0.01\n", "rtol = 1e-9\natol = 1e-9\n")
    path.write_text(text, "utf-8")
    scene = pysim.load_scene(path)
    with LiveRun(scene, tmp_path / "mass.h5") as run:
        run.force = lambda _t, _q, _v: np.array([3.0])
        while run.advance():
            pass
    for trajectory in (run.trajectory, pysim.load_trajectory(tmp_path / "mass.h5")):
        first_order = 0.01 if integrator in {"semi_implicit", "convex"} else 0.0
        np.testing.assert_allclose(trajectory.v[:, 0], 1.5 * trajectory.t, rtol=1e-9, atol=1e-12)
        expected = 0.75 * trajectory.t**2
        assert np.abs(trajectory.q[:, 0] - expected).max() <= 0.75 * first_order + 1e-12
        np.testing.assert_allclose(trajectory.a[1:, 0], 1.5, rtol=1e-9)


def test_a_run_that_is_left_early_is_marked_incomplete(tmp_path: Path) -> None:
    scene = pysim.load_scene(SCENES / "four_bar.toml")
    run = LiveRun(scene, tmp_path / "run.h5")
    with pytest.raises(KeyboardInterrupt):
        _leave_early(run)
    with pytest.warns(pysim.PysimWarning, match="incomplete"):
        assert not pysim.load_trajectory(tmp_path / "run.h5").complete


def _leave_early(run: LiveRun) -> None:
    with run:
        while run.t < 0.1:
            run.advance()
        raise KeyboardInterrupt


def test_a_pull_is_not_blamed_on_the_steps_of_a_smooth_contact(tmp_path: Path) -> None:
    """A force from outside lifts a ball off the ground: it gains energy that no element has given."""
    path = tmp_path / "ball.toml"
    path.write_text(BALL, "utf-8")
    with LiveRun(pysim.load_scene(path)) as run:
        run.force = lambda _t, _q, _v: np.array([100.0])
        while run.advance():
            pass
        assert run.trajectory.kinetic[-1] > 10
        run.warn()  # a warning would be an error
