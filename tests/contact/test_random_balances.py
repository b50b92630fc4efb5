"""Balances of random bodies thrown at the ground: momentum, and the work that contacts do.

Oracle: m Δv = Σ impulse + m g t; the work of a step's impulse γ is γ · (u + u')/2, at most the energy ½ K x² of the
contact spring at its start.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.rollouts.result import Rollout
from pysim.trajectory.interpolation import rotation_matrices
from tests.contact.scenes import G, free_body

SHAPES = {
    "sphere": "{ sphere = { radius = 0.1 } }",
    "capsule": "{ capsule = { radius = 0.05, length = 0.2 } }",
    "box": "{ box = [0.2, 0.3, 0.1] }",
    "cylinder": "{ cylinder = { radius = 0.1, length = 0.15 } }",
    "ellipsoid": "{ ellipsoid = [0.1, 0.15, 0.08] }",
}
MASS = 2.0  # [kg]
STEP = 1e-3  # [s]


def surface(rng: np.random.Generator) -> str:
    """A random law of contact."""
    return (
        f"friction = {rng.uniform(0, 1.5)}\nstiffness = {10 ** rng.uniform(4, 7)}\n"
        f"restitution = {{ value = {rng.uniform(0, 1)}, at = 1.0 }}"
    )


def thrown(
    tmp_path: Path, rng: np.random.Generator, shape: str, count: int, steps: int, every: int
) -> tuple[pysim.Scene, Rollout]:
    """A scene with a random law, and its rollout from random starts."""
    scene = free_body(
        tmp_path,
        shape=SHAPES[shape],
        mass=MASS,
        start="{ xyz = [0, 0, 0.3] }",
        surface=surface(rng),
        step=STEP,
    )
    q, v = np.tile(scene.state.q, (count, 1)), rng.normal(0, 2, (count, 6))
    turn = rng.normal(size=(count, 4))
    q[:, 3:7] = turn / np.linalg.norm(turn, axis=1)[:, np.newaxis]
    q[:, 2] += rng.uniform(0, 0.2, count)
    v[:, 2] = -np.abs(v[:, 2])  # downwards, on the axes of the world
    v[:, :3] = np.einsum("nji,nj->ni", rotation_matrices(q[:, 3:7]), v[:, :3])
    return scene, pysim.rollout(scene, q, v, steps=steps, every=every, contacts=True)


def balanced(tmp_path: Path, rng: np.random.Generator, shape: str, count: int) -> None:
    """Assert finite states, the balance of momentum, and that no energy is made."""
    steps = 400
    scene, run = thrown(tmp_path, rng, shape, count, steps, steps)
    assert run.failures == ("",) * count
    assert np.isfinite(run.q).all()
    assert run.contacts is not None
    q, v = run.q.reshape(-1, 7), run.v.reshape(-1, 6)
    linear = np.einsum("nij,nj->ni", rotation_matrices(q[:, 3:7]), v[:, :3]).reshape(count, 2, 3)
    gained = MASS * (linear[:, 1] - linear[:, 0]) - run.contacts.impulse[:, 1, 0]
    fall = MASS * np.array([0, 0, -G]) * steps * STEP
    assert (run.contacts.impulse[:, 1, 0, 2] > 0).mean() > 0.9
    assert np.abs(gained - fall).max() < 1e-11
    energy = pysim.kinetic_energy(scene.model, q, v) + pysim.potential_energy(scene.model, q)
    start, end = np.asarray(energy).reshape(count, 2).T
    assert ((end - start) / start).max() < 2e-3  # of a tumbling flight, to the order of the step


@pytest.mark.parametrize("shape", SHAPES)
def test_random_throws_balance_their_momentum_and_make_no_energy(
    tmp_path: Path, rng: np.random.Generator, shape: str
) -> None:
    for _ in range(3):
        balanced(tmp_path, rng, shape, 64)


@pytest.mark.nightly
@pytest.mark.parametrize("shape", SHAPES)
def test_ten_thousand_random_throws_balance(
    tmp_path: Path, rng: np.random.Generator, shape: str
) -> None:
    for _ in range(20):
        balanced(tmp_path, rng, shape, 100)


def test_contact_does_no_work_on_random_balls_but_for_springs_that_unload(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    """Of a ball the kinetic energy changes by the work of the impulses exactly, whatever its spin."""
    for _ in range(5):
        scene, run = thrown(tmp_path, rng, "sphere", 64, 500, 1)
        assert scene.contacts is not None
        K = scene.contacts.shapes[0].law.stiffness
        q, v = run.q.reshape(-1, 7), run.v.reshape(-1, 6)
        kinetic = np.asarray(pysim.kinetic_energy(scene.model, q, v)).reshape(run.q.shape[:2])
        height = run.q[..., 2]
        work = np.diff(kinetic, axis=1) + MASS * G * np.diff(height, axis=1)
        fall = 0.5 * MASS * G * STEP * np.abs(np.diff(height, axis=1))  # the step's height is h v'
        stored = 0.5 * K * np.maximum(0.1 - height[:, :-1], 0) ** 2
        assert stored.max() > 0.1
        assert (work <= stored + fall + 0.5 * MASS * (G * STEP) ** 2 + 1e-12).all()
