"""Random drops of random shapes, alone and on each other: finite numbers, or an error that names the pair.

Oracle: conservation of energy (none is made but by springs that unload), and the warning of bodies that sink.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import pysim
from tests.contact.body_scenes import GROUND, free, world

SHAPES = ("sphere", "capsule", "box", "cylinder", "ellipsoid")
TOUCHING = SHAPES[:3]  # each other


def random_shape(rng: np.random.Generator, kind: str) -> str:
    a, b, c = rng.uniform(0.05, 0.4, 3)
    return {
        "sphere": f"{{ sphere = {{ radius = {a} }} }}",
        "capsule": f"{{ capsule = {{ radius = {a / 2}, length = {b} }} }}",
        "box": f"{{ box = [{a}, {b}, {c}] }}",
        "cylinder": f"{{ cylinder = {{ radius = {a}, length = {b} }} }}",
        "ellipsoid": f"{{ ellipsoid = [{a}, {b}, {c}] }}",
    }[kind]


def random_start(rng: np.random.Generator, height: float) -> str:
    rpy, v = rng.uniform(-3, 3, 3).tolist(), rng.normal(0, 3, 6).tolist()
    x, y = rng.uniform(-0.05, 0.05, 2)
    return f"{{ xyz = [{x}, {y}, {height}], rpy = {rpy}, v = {v} }}"


def solved(scene: pysim.Scene) -> pysim.Trajectory | None:
    """Run a scene; None if it ends with an error, which names the pair."""
    try:
        return pysim.simulate(scene)
    except pysim.PysimError as error:
        text = str(error)
    assert "the contact of" in text, text
    return None


def drop(tmp_path: Path, rng: np.random.Generator, bodies: int) -> str:
    """Run a random drop; return what is reported of it."""
    kinds = rng.choice(SHAPES if bodies == 1 else TOUCHING, bodies)
    text = GROUND
    for k, kind in enumerate(kinds):
        mass = 10 ** rng.uniform(-2, 2)
        text += free(f"body {k}", random_shape(rng, kind), mass, random_start(rng, 0.8 + 1.0 * k))
    stiffness, step = 10 ** rng.uniform(3, 9), 10 ** rng.uniform(-4, -2)
    surface = (
        f"stiffness = {stiffness}\nfriction = {rng.uniform(0, 1.5)}\n"
        f"restitution = {{ value = {rng.uniform(0, 1)}, at = 1.0 }}"
    )
    scene = world(
        tmp_path,
        text,
        surface=surface,
        duration=max(1, round(0.8 / step)) * step,
        step=step,
        every=10 * step,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trajectory = solved(scene)
    if trajectory is None:
        return "error"
    assert np.isfinite(trajectory.q).all()
    assert np.isfinite(trajectory.v).all()
    energy = trajectory.energy
    made = energy.max() - energy[0]
    size = np.abs(trajectory.kinetic).max() + np.ptp(energy)
    assert made < 0.02 * size, (kinds, step, made / size)
    low = trajectory.q.reshape(len(trajectory), bodies, 7)[..., 2].min()
    sinks = any("sinks by" in str(w.message) for w in caught)
    assert sinks or low > -0.3, (kinds, step, stiffness, low)
    return "sinks" if sinks else "good"


@pytest.mark.slow
@pytest.mark.parametrize(("bodies", "count"), [(1, 500), (3, 250)])
def test_random_drops_stay_finite_and_sink_only_with_a_warning(
    tmp_path: Path, rng: np.random.Generator, bodies: int, count: int
) -> None:
    found = [drop(tmp_path, rng, bodies) for _ in range(count)]
    assert found.count("good") > 0.6 * count
    assert found.count("error") < 0.01 * count
