"""Implicit steps of long branches, whose matrix is that of the joints' springs.

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
