"""Implicit steps of long branches, whose matrix is that of the joints' springs; also in closed loops.

Oracles: rk4 at small steps, the same world alone, and the time of a step in proportion to the length.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import pysim


def chain(
    bars: int,
    integrator: str,
    step: float,
    *,
    duration: float = 0.1,
    EI: Any = (2.0, 6.0),
    weight: float = 9.81,
    bent: float = 0.4,
    planar: bool = False,
    branches: int = 1,
) -> pysim.Scene:
    """Rods on a body that turns about the world, which start bent out of their plane."""
    builder = pysim.SceneBuilder("chain", gravity=[0.3 * weight, 0, -weight])
    builder.body("hub", mass=0.5, inertia={"xx": 0.01, "yy": 0.02, "zz": 0.015})
    builder.joint(
        "hub", "ball", child="hub", armature=[0.01, 0.02, 0.03], damping=0.05, stiffness=3.0
    )
    s = np.linspace(0, 1, 30)
    curve = [s, bent * s**2 * (0 if planar else 1), bent * s**3]
    start = np.stack(curve, axis=1)
    start /= np.linalg.norm(np.diff(start, axis=0), axis=1).sum()
    section = {
        "EI": list(EI),
        "GJ": 1.5,
        "mass_per_length": 0.4,
        "inertia_per_length": [2e-4, 3e-4],
    }
    for k in range(branches):
        builder.rod(
            f"rod{k}", a="hub", at_a={"rpy": [0, 1.2, 2.0 * k]}, length=1.0, section=section, bars=bars,
            damping=2e-3, start=start.tolist(), **({"planar": "y"} if planar else {}),
        )  # fmt: skip
    builder.simulation(duration=duration, step=step, integrator=integrator)
    builder.output(every=duration)
    return builder.build()


def end(scene: pysim.Scene) -> np.ndarray:
    run = pysim.simulate(scene)
    poses = pysim.forward_kinematics(scene.model, run.q[-1])
    return np.asarray(poses[:, :3, 3])


@pytest.mark.parametrize("integrator", ["generalized_alpha", "implicit_midpoint"])
@pytest.mark.parametrize(("planar", "branches"), [(False, 1), (True, 1), (False, 2)])
def test_long_branches_converge_to_the_motion_of_small_steps(
    integrator: str, planar: bool, branches: int
) -> None:
    keys: dict[str, Any] = {"planar": planar, "branches": branches}
    bars = 24 if planar else 14
    exact = end(chain(bars, "rk4", 2e-5, **keys))
    errors = [np.abs(end(chain(bars, integrator, h, **keys)) - exact).max() for h in (2e-3, 1e-3)]
    assert errors[1] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.5)


def test_a_branch_whose_weight_outgrows_its_springs_takes_all_derivatives() -> None:
    """Its joints' springs are soft: iterations by them alone do not converge."""
    keys: dict[str, Any] = {"EI": (0.01, 0.01), "weight": 300.0, "duration": 0.04}
    exact = end(chain(14, "rk4", 2e-5, **keys))
    error = np.abs(end(chain(14, "generalized_alpha", 2.5e-4, **keys)) - exact).max()
    assert error < 2e-3


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_long_branch_has_the_same_bits_alone_and_beside_others(dtype: type) -> None:
    scene = chain(14, "generalized_alpha", 1e-3)
    many = pysim.Worlds(scene, 5, dtype=dtype)
    velocities: np.ndarray = (
        np.random.default_rng(3).normal(0, 1, (5, scene.model.nv)).astype(dtype)
    )
    many.v[:] = velocities * np.array([0, 1, 0.1, 10, 2])[:, None].astype(dtype)
    alone = pysim.Worlds(scene, 1, dtype=dtype)
    begin = np.array(many.v[3])
    alone.v[0] = begin
    for _ in range(20):
        many.step()
        alone.step()
    assert np.array_equal(many.q[3], alone.q[0])
    assert np.array_equal(many.v[3], alone.v[0])


def test_the_time_of_a_step_grows_with_the_length_of_a_branch() -> None:
    """Three times as many bars would take 27 times as long by the factor of a full matrix."""
    times = []
    for bars in (30, 90):
        scene = chain(bars, "generalized_alpha", 1e-3, EI=(2e3, 2e3), bent=0.0)
        worlds = pysim.Worlds(scene, 1)
        worlds.step()
        begin = time.process_time()
        for _ in range(10):
            worlds.step()
        times.append(time.process_time() - begin)
    assert times[1] < 9 * times[0]


def held(
    bars: int,
    integrator: str,
    step: float,
    *,
    end: str = "ball",
    planar: bool = False,
    duration: float = 0.1,
    cables: int = 1,
    doubled: bool = False,
) -> pysim.Scene:
    """Cables between points of the world, which swing; `doubled` with a loop whose rows repeat others."""
    builder = pysim.SceneBuilder("held", gravity=[0, 0 if planar else 3.0, -9.81])
    s = np.linspace(0, 1, 60)
    sag = 0.25 * np.sin(np.pi * s) ** 2
    start = np.stack([0.8 * s, 0 * s if planar else 0.2 * sag, -sag], axis=1)
    length = float(np.linalg.norm(np.diff(start, axis=0), axis=1).sum())
    section = {
        "EI": [0.02, 0.04],
        "GJ": 0.02,
        "mass_per_length": 0.2,
        "inertia_per_length": [1e-5] * 2,
    }
    for k in range(cables):
        builder.rod(
            f"cable{k}", at_a={"xyz": [0, 0.3 * k, 0]}, b="world", at_b={"xyz": [0.8, 0.3 * k, 0]},
            ends=[end, end], length=length, section=section, bars=bars, damping=2e-3,
            start=start.tolist(), **({"planar": "y"} if planar else {}),
        )  # fmt: skip
    if doubled:
        last = f"cable0/{'end' if end == 'clamped' else bars - 1}"
        x = 0.0 if end == "clamped" else length / bars
        places = {"at_a": {"xyz": [0.8, 0, 0]}, "at_b": {"xyz": [x, 0, 0]}}
        builder.loop("again", "ball", a="world", b=last, **places)
    builder.simulation(duration=duration, step=step, integrator=integrator)
    builder.output(every=duration)
    return builder.build()


@pytest.mark.parametrize("integrator", ["generalized_alpha", "implicit_midpoint"])
@pytest.mark.parametrize("end_type", ["ball", "clamped"])
@pytest.mark.parametrize("planar", [False, True])
def test_cables_held_at_both_ends_converge_to_the_motion_of_small_steps(
    integrator: str, end_type: str, planar: bool
) -> None:
    keys: dict[str, Any] = {"planar": planar, "end": end_type}
    bars = 24 if planar else 14
    exact = end(held(bars, "rk4", 2e-5, **keys))
    errors = [np.abs(end(held(bars, integrator, h, **keys)) - exact).max() for h in (2e-3, 1e-3)]
    assert errors[1] < 1e-3
    assert errors[0] > 2.5 * errors[1]


def test_rows_that_repeat_others_leave_the_motion_of_a_held_cable() -> None:
    once, twice = (
        pysim.Worlds(held(14, "generalized_alpha", 1e-3, doubled=doubled), 1)
        for doubled in (False, True)
    )
    twice.q[:] = once.q
    for worlds in (once, twice):
        worlds.step(steps=50)
    np.testing.assert_allclose(twice.q, once.q, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_held_cables_have_the_same_bits_alone_and_beside_others(dtype: type) -> None:
    scene = held(14, "generalized_alpha", 1e-3, cables=2)
    many = pysim.Worlds(scene, 5, dtype=dtype)
    many.step(steps=3)
    many.v[:] *= np.array([0, 1, 0.1, -1, 2])[:, None].astype(dtype)
    alone = pysim.Worlds(scene, 1, dtype=dtype)
    alone.load(many.save([3]))
    for _ in range(20):
        many.step()
        alone.step()
    assert np.array_equal(many.q[3], alone.q[0])
    assert np.array_equal(many.v[3], alone.v[0])


@pytest.mark.parametrize("end_type", ["ball", "clamped"])
def test_the_time_of_a_step_grows_with_the_length_of_a_held_cable(end_type: str) -> None:
    """Three times as many bars would take 27 times as long by the factor of a full matrix."""
    times = []
    for bars in (30, 90):
        worlds = pysim.Worlds(held(bars, "generalized_alpha", 1e-3, end=end_type), 1)
        worlds.step(steps=40)
        begin = time.process_time()
        worlds.step(steps=20)
        times.append(time.process_time() - begin)
    assert times[1] < 9 * times[0]
