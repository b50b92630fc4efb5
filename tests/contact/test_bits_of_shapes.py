"""Worlds alone and in batches of touching shapes. Oracle: the same world among 64, bit for bit."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

import pysim
from tests.contact.test_deepest_points import SHAPES

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """gravity = [0, 0, -9.81]
[[ground]]
plane = {{}}
[[body]]
name = "lower"
collision = true
shape = {{ {lower}, density = 600 }}
[[joint]]
name = "lower"
type = "free"
child = "lower"
start = {{ xyz = [0, 0, 0.17] }}
[[body]]
name = "upper"
collision = true
shape = {{ {upper}, density = 600 }}
[[joint]]
name = "upper"
type = "free"
child = "upper"
start = {{ xyz = [0, 0, 0.5] }}
[simulation]
integrator = "convex"
step = 2e-3
"""
WORLDS, STEPS = 64, 250


@pytest.mark.parametrize(("lower", "upper"), list(product(SHAPES, repeat=2)))
def test_shapes_that_fall_on_each_other_have_the_same_bits_alone(
    tmp_path: Path, rng: np.random.Generator, lower: str, upper: str
) -> None:
    path = tmp_path / "fall.toml"
    path.write_text(TEXT.format(lower=SHAPES[lower], upper=SHAPES[upper]), "utf-8")
    scene = pysim.load_scene(path)
    q = np.tile(scene.state.q, (WORLDS, 1))
    v = 0.5 * rng.normal(size=(WORLDS, scene.model.nv))
    v[::3] = 0.0
    together = pysim.Worlds(scene, WORLDS)
    together.q[:], together.v[:] = q, v
    together.step(steps=STEPS)
    for k in (0, 1, 2, 5, 17, 33, 41, 60):
        alone = pysim.Worlds(scene, 1)
        alone.q[:], alone.v[:] = q[k], v[k]
        alone.step(steps=STEPS)
        np.testing.assert_array_equal(np.ravel(alone.q), together.q[k])
        np.testing.assert_array_equal(np.ravel(alone.v), together.v[k])
