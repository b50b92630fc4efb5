"""Contacts between links of one tree, few and many: the equation of the step, and bits in a pack.

Oracle: M v₁ = Σ Jᵀ γ with mass matrix and Jacobians, from rest without gravity; the law of the contact spring at the
end of the step. Worlds with few contacts and worlds with many are solved by two methods.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import pysim
from tests.contact.scenes import world
from tests.contact.test_convex_steps import steps

ARMS, RADIUS, STIFFNESS, STEP = 6, 0.09, 4e4, 1e-3
MANY = 3  # contacts of a world with a tree of 13 coordinates that are solved as rows at most


def arms(tmp_path: Path, friction: float, extra: str = "") -> pysim.Scene:
    """A hub on a hinge, with arms of two links around it whose spheres touch each other."""
    text = """
[[body]]
name = "hub"
mass = 2.0
inertia = { xx = 0.02, yy = 0.02, zz = 0.02 }
[[joint]]
name = "turns"
type = "revolute"
axis = [0, 0, 1]
child = "hub"
"""
    for k in range(ARMS):
        angle = 2 * math.pi * k / ARMS
        ball = f"shape = {{ sphere = {{ radius = {RADIUS} }}, at = {{ xyz = [0.2, 0, 0] }} }}"
        place = (
            f"xyz = [{0.15 * math.cos(angle)}, {0.15 * math.sin(angle)}, 0], rpy = [0, 0, {angle}]"
        )
        for name, parent, axis, at in (
            (f"upper {k}", "hub", [0, 1, 0], place),
            (f"lower {k}", f"upper {k}", [0, 0, 1], "xyz = [0.2, 0, 0]"),
        ):
            text += f"""
[[body]]
name = "{name}"
{ball}
mass = 0.5
collision = true
[[joint]]
name = "{name} hinge"
type = "revolute"
axis = {axis}
parent = "{parent}"
child = "{name}"
at = {{ {at} }}
"""
    surface = f"friction = {friction}\nstiffness = {STIFFNESS}\n{extra}"
    return world(tmp_path, text, surface=surface, gravity=(0, 0, 0), step=STEP)


def states(scene: pysim.Scene, rng: np.random.Generator, count: int) -> tuple[np.ndarray, ...]:
    """Return random q and v, of worlds with few contacts and with many."""
    nv = scene.model.nv
    reach = np.linspace(0.8, 3.0, count)[:, np.newaxis]
    return rng.uniform(-reach, reach, (count, nv)), rng.normal(0, 2, (count, nv))


@pytest.mark.parametrize("friction", [0.0, 0.7])
def test_a_step_satisfies_the_equation_of_motion_and_the_law(
    tmp_path: Path, rng: np.random.Generator, friction: float
) -> None:
    scene = arms(tmp_path, friction, "restitution = { value = 1.0, at = 1.0 }")
    assert scene.contacts is not None
    model, names = scene.model, [pair.name.split(", ") for pair in scene.contacts.pairs]
    q, v = states(scene, rng, 40)
    _, after, reports = steps(scene, q, np.zeros_like(v), 1)
    poses = pysim.forward_kinematics(model, q)
    few = many = 0
    for k, report in enumerate(reports):
        touching = np.flatnonzero(np.abs(report[:, :3]).max(axis=1) > 0)
        few += 0 < len(touching) <= MANY
        many += len(touching) > MANY
        impulse = np.zeros(model.nv)
        for i in touching:
            force, at, normal = report[i, :3], report[i, 3:6], report[i, 12:15]
            for name, sign in zip(names[i], (-1, 1), strict=True):
                J = pysim.jacobian(model, q[k], name, "aligned")
                arm = at - poses[k, model.body_names.index(name), :3, 3]
                impulse += sign * STEP * (J[:3].T @ force + J[3:].T @ np.cross(arm, force))
            pressed = force @ normal
            np.testing.assert_allclose(pressed, STIFFNESS / 2 * report[i, 6], rtol=1e-8)
            assert np.linalg.norm(force - pressed * normal) <= 1.01 * friction * pressed + 1e-9
        made = pysim.crba(model, q[k]) @ after[k]
        np.testing.assert_allclose(made, impulse, atol=1e-10 * max(1.0, np.abs(impulse).max()))
    assert few > 5
    assert many > 5


def test_a_worlds_bits_do_not_depend_on_its_neighbours(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    extra = "rolling = 0.01\nspinning = 0.005\nrestitution = { value = 0.3, at = 1.0 }"
    scene = arms(tmp_path, 0.7, extra)
    q, v = states(scene, rng, 19)
    together = steps(scene, q, v, 60)
    backwards = steps(scene, q[::-1].copy(), v[::-1].copy(), 60, threads=2)
    for k in range(len(q)):
        alone = steps(scene, q[k : k + 1], v[k : k + 1], 60)
        for a, b, c in zip(together, alone, backwards, strict=True):
            np.testing.assert_array_equal(a[k], b[0])
            np.testing.assert_array_equal(a[k], c[len(q) - 1 - k])
