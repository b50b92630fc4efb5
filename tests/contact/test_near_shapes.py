"""Pairs of shapes that a check of the start computes distances of. Oracle: the distances of all pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.contact.pair_distances import distance_of, near_shapes
from tests.contact.scenes import GROUND, free, world

SHAPES = (
    "{ sphere = { radius = 0.1 } }",
    "{ box = [0.3, 0.1, 0.2] }",
    "{ capsule = { radius = 0.05, length = 0.3 } }",
    "{ cylinder = { radius = 0.1, length = 0.2 } }",
    "{ cone = { radius = 0.1, length = 0.2 } }",
    "{ ellipsoid = { a = 0.2, b = 0.1, c = 0.05 } }",
)


@pytest.mark.filterwarnings("ignore:contact")
def test_no_pair_that_overlaps_at_the_start_is_left_out(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    text = ""
    for n in range(24):
        xyz, rpy = rng.uniform(0, 0.8, 3).round(3).tolist(), rng.uniform(-3, 3, 3).round(3).tolist()
        text += free(f"b{n}", SHAPES[n % 6], 1.0, f"{{ xyz = {xyz}, rpy = {rpy} }}")
    scene = world(tmp_path, text + GROUND)
    assert scene.contacts is not None
    pairs = scene.contacts.shapes
    poses = np.asarray(pysim.forward_kinematics(scene.model, scene.state.q))
    near = set(near_shapes(pairs, poses))
    overlap = [k for k, pair in enumerate(pairs) if distance_of(pair, poses) < 0]
    assert len(overlap) > 10
    assert near.issuperset(overlap)
    assert len(near) < len(pairs) / 2
