"""Lengths and moment arms of paths. Oracles: central differences of the lengths, and the power of a tension."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import pysim
from pysim.errors import UnknownNameError
from tests.scene.osim.opensim_models import DATA
from tests.scene_runs import load_own_scene


@pytest.fixture(scope="module")
def muscles() -> pysim.Model:
    return pysim.load_model(DATA / "muscles.osim")


def test_moment_arms_are_the_slopes_of_lengths_with_a_minus(muscles: pysim.Model) -> None:
    """Over a cylinder, a sphere and free points."""
    q, step = np.array([[0.02, 0.3, -0.7], [0.0, -0.2, -1.1]]), 1e-6
    found = pysim.moment_arms(muscles, q)
    assert found.arms.shape == (2, len(found.names), 3)
    assert np.abs(found.arms).max(axis=(0, 1)).min() > 0.01
    for k, direction in enumerate(np.eye(3)):
        ends = [pysim.moment_arms(muscles, q + h * direction).lengths for h in (-step, step)]
        assert_allclose(found.arms[:, :, k], (ends[0] - ends[1]) / (2 * step), atol=1e-8)


def test_paths_of_actuators_count_at_the_start_or_at_many_configurations() -> None:
    scene = load_own_scene("tendon_finger")
    found = pysim.moment_arms(scene)
    assert found.names
    assert found.lengths.shape == (len(found.names),)
    one = pysim.moment_arms(scene, np.tile(scene.state.q, (3, 1)), found.names[:1])
    assert_allclose(one.arms, np.tile(found.arms[:1], (3, 1, 1)), atol=0)


def test_a_name_without_a_path_is_reported(muscles: pysim.Model) -> None:
    name = pysim.moment_arms(muscles).names[0]
    with pytest.raises(UnknownNameError, match=rf"has the name '{name}x'.*did you mean '{name}'"):
        pysim.moment_arms(muscles, names=[f"{name}x"])
