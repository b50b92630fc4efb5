"""Random drops of random shapes, alone and on each other: finite numbers, or an error that names the pair.

Oracle: conservation of energy (none is made but by springs that unload), and the warning of bodies that sink.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import pysim
from tests.contact.scenes import GROUND, free, world
from tests.nightly import at_night

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


def drop_worlds(tmp_path: Path, rng: np.random.Generator, worlds: int) -> int:
    """Drop three random bodies in many worlds; return the number of worlds that end with an error.

    110 kg at 8 m/s compress a spring of 10⁶ N/m by 0.1 m at most, so bodies sink on softer ones alone.
    """
    kinds, masses = rng.choice(TOUCHING, 3), 10 ** rng.uniform(-2, 2, 3)
    masses[:2] = 1e-2, 1e2  # a ratio of 10⁴
    text = GROUND
    for k, (kind, mass) in enumerate(zip(kinds, masses, strict=True)):
        start = f"{{ xyz = [0, 0, {0.8 + k}] }}"
        text += free(f"body {k}", random_shape(rng, kind), mass, start)
    stiffness, step = 10 ** rng.uniform(3, 9), 10 ** rng.uniform(-4, -2)
    surface = f"stiffness = {stiffness}\nfriction = {rng.uniform(0, 1.5)}"
    scene = world(tmp_path, text, surface=surface, step=step, every=step, duration=step)
    q, v = np.tile(scene.state.q, (worlds, 1)), rng.normal(0, 3, (worlds, 18))
    for k in range(3):
        turn = rng.normal(size=(worlds, 4))
        q[:, 7 * k + 3 : 7 * k + 7] = turn / np.linalg.norm(turn, axis=1)[:, np.newaxis]
        q[:, 7 * k : 7 * k + 2] = rng.uniform(-0.05, 0.05, (worlds, 2))
    steps = 10 * max(1, round(0.06 / step))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = pysim.rollout(scene, q, v, steps=steps, every=steps // 10)
    failed = np.array([bool(text) for text in run.failures])
    assert all("the contact of" in text for text in run.failures if text)
    assert np.isfinite(run.q[~failed]).all()
    assert np.isfinite(run.v[~failed]).all()
    lowest = run.q[~failed].reshape(-1, run.q.shape[1], 3, 7)[..., 2].min(axis=(1, 2))
    assert stiffness < 1e6 or lowest.min() > -0.3, (kinds, step, stiffness, lowest.min())
    return int(failed.sum())


@pytest.mark.slow
@pytest.mark.parametrize("count", [400, *at_night(10_000)])
def test_thousands_of_random_drops_stay_finite(
    tmp_path: Path, rng: np.random.Generator, count: int
) -> None:
    """Mass ratios to 10⁴, stiffness from 10³ to 10⁹ N/m, steps from 0.1 to 10 ms."""
    assert sum(drop_worlds(tmp_path, rng, 100) for _ in range(count // 100)) < count / 100


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bodies", "count"),
    [
        (1, 100),
        (3, 50),
        *(pytest.param(*x, marks=pytest.mark.nightly) for x in ((1, 500), (3, 250))),
    ],
)
def test_random_drops_stay_finite_and_sink_only_with_a_warning(
    tmp_path: Path, rng: np.random.Generator, bodies: int, count: int
) -> None:
    found = [drop(tmp_path, rng, bodies) for _ in range(count)]
    assert found.count("good") > 0.6 * count
    assert found.count("error") < 0.01 * count
