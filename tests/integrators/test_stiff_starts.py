"""Starts of `generalized_alpha` where a damper stops a velocity within less than a step.

Oracles: m v/d, the way of a mass against a damper, in closed form; the scheme's first step solved by hand.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.environments import Environment
from tests.elements.blocks import mass, scene_of, simulation, table


def damped_mass(
    folder: Path, damping: float, step: float, radius: float, extra: str = ""
) -> pysim.Scene:
    """1 kg at 1 m/s against a damper, for 50 steps."""
    text = mass(1.0, v=1.0).replace('child = "mass"', f'child = "mass"\ndamping = {damping!r}')
    end = simulation(
        "generalized_alpha", step=step, duration=50 * step, interval=step, spectral_radius=radius
    )
    return scene_of(folder, text + extra + end)


@pytest.mark.parametrize("radius", [0.0, 0.3, 0.5, 0.8, 1.0])
@pytest.mark.parametrize(("damping", "step"), [(1e6, 1e-3), (1e4, 1e-2), (3e8, 1e-4)])
def test_a_damper_that_stops_a_mass_within_a_step_carries_it_no_farther(
    tmp_path: Path, radius: float, damping: float, step: float
) -> None:
    run = pysim.simulate(damped_mass(tmp_path, damping, step, radius))
    assert run.q[-1, 0] == pytest.approx(1 / damping, rel=0.02)
    assert run.q.max() < 1.02 / damping
    assert abs(run.v[-1, 0]) < 1e-5
    assert run.work["x"][-1] == pytest.approx(-0.5, rel=1e-3)


@pytest.mark.parametrize("radius", [0.0, 0.5])
def test_a_written_velocity_is_stopped_by_a_damper_within_a_step_too(
    tmp_path: Path, radius: float
) -> None:
    worlds = pysim.Worlds(damped_mass(tmp_path, 1e6, 1e-3, radius), 3)
    worlds.step(steps=20)
    before = worlds.q.copy()
    worlds.v[1] = 2.0
    worlds.step(steps=20)
    moved = (worlds.q - before)[:, 0]
    np.testing.assert_allclose(moved, [0, 2e-6, 0], rtol=0.02, atol=1e-8)


def test_a_driven_mass_goes_on_to_the_speed_of_its_damper(tmp_path: Path) -> None:
    """d = 1e5 N·s/m under 1e4 sin 2 t N: v = 0.1 sin 2 (t − m/d) after the start."""
    push = table("signal", name="u", type="sine", amplitude=1e4, frequency=2.0, unit="N")
    push += table("actuator", name="push", type="force", joint="x", command="u")
    run = pysim.simulate(damped_mass(tmp_path, 1e5, 1e-3, 0.5, push))
    expected = 0.1 * np.sin(2 * (run.t - 1e-5))
    np.testing.assert_allclose(run.v[10:, 0], expected[10:], rtol=0, atol=1e-5)


@pytest.mark.parametrize("radius", [0.0, 0.5, 0.9])
def test_a_start_whose_motion_steps_resolve_takes_the_acceleration_there(
    tmp_path: Path, radius: float
) -> None:
    """h d/m = 1."""
    run = pysim.simulate(damped_mass(tmp_path, 1e3, 1e-3, radius))
    m, f = (2 * radius - 1) / (radius + 1), radius / (radius + 1)
    g = 0.5 + f - m
    w0, share = -1e3, (1 - f) / (1 - m)
    still = (f - m) * w0 / (1 - m)
    v1 = (1.0 + 1e-3 * ((1 - g) * w0 + g * still)) / (1 + 1e-3 * g * share * 1e3)
    assert run.v[1, 0] == pytest.approx(v1, rel=1e-9)


@pytest.mark.parametrize("radius", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("damping", [1e6, 1e4])
def test_a_mass_whose_drive_an_event_releases_is_stopped_by_its_damper(
    tmp_path: Path, radius: float, damping: float
) -> None:
    """d v N hold 1 m/s up to 10.3 mm; from there on it goes m v/d farther."""
    drive = table("signal", name="u", type="constant", value=damping, unit="N")
    drive += table("actuator", name="drive", type="force", joint="x", command="u")
    drive += table("event", name="there", joint="x", at=0.0103, release=["drive"])
    run = pysim.simulate(damped_mass(tmp_path, damping, 1e-3, radius, drive))
    assert run.v[5, 0] == pytest.approx(1.0, rel=1e-6)
    assert run.q[-1, 0] - 0.0103 == pytest.approx(1 / damping, rel=0.05, abs=1e-9)
    assert run.q.max() - 0.0103 < 1.05 / damping + 1e-9


PUSHED = """
[[signal]]
name = "none"
type = "input"
unit = "N"
[[actuator]]
name = "motor"
type = "force"
joint = "x"
command = "none"
[[sensor]]
name = "here"
type = "coordinates"
coordinates = ["x"]
[environment]
period = "20 ms"
duration = "1 s"
action = { input = "none" }
observations = ["here.q"]
reward = [{ name = "still", signal = "here.q" }]
[[environment.push]]
velocity = { x = "uniform(2, 3)" }
every = "0.1 s"
"""


@pytest.mark.parametrize("radius", [0.0, 0.5])
@pytest.mark.parametrize("single", [False, True])
def test_a_push_of_an_environment_is_stopped_by_a_damper_within_a_step(
    tmp_path: Path, radius: float, single: bool
) -> None:
    """Each push of 2 to 3 m/s moves 1 kg by 2 to 3 µm, in every world by its own."""
    scene = damped_mass(tmp_path, 1e6, 1e-3, radius, PUSHED)
    environment = Environment(scene.spec.path, 5, single=single)
    environment.reset()
    moved = []
    for _ in range(25):
        before = environment.worlds.q[:, 0].astype(float)
        environment.step(np.zeros((5, 1)))
        moved.append(environment.worlds.q[:, 0] - before)
    ways = np.array(moved)[1:]  # after the start
    pushed = ways[(np.abs(ways) > 1e-7).all(axis=1)]
    assert len(pushed) == 4
    assert (pushed > 1.9e-6).all()
    assert (pushed < 3.1e-6).all()
