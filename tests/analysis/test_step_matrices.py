"""Matrices of steps with sampled blocks and mimic joints.

Oracle: A and B whose rows are products of the step's derivatives with rows of the identity.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from tests.analysis.test_gradients import scene_of
from tests.analysis.test_sampled_gradients import ARM, SCENES, sampled_arm
from tests.analysis.test_step_derivatives import rows_of_products, thrown
from tests.elements.blocks import table

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")  # of starts and periods


def check(worlds: pysim.Worlds, steps: int) -> None:
    """Compare A and B of worlds that have states of their own, more than a pack of them."""
    found = pysim.step_derivatives(worlds, steps=steps)
    assert found.row_by_row == ""
    A, B = rows_of_products(worlds, steps)
    assert np.abs(found.A - A).max() < 1e-13 * np.abs(A).max()
    assert np.abs(found.B - B).max() <= 1e-13 * np.abs(B).max()


@pytest.mark.parametrize("period", [6e-3, 5e-3, 0.7e-3])  # the last two divide steps of 2 ms
def test_matrices_of_sampled_systems_are_the_rows_of_products(
    period: float, tmp_path: Path
) -> None:
    worlds = thrown(sampled_arm(tmp_path, period), 3, 1.0)
    for k in range(1, len(worlds)):
        worlds.step(steps=k, where=[k])  # worlds meet their blocks in different steps
    check(worlds, 1)
    check(worlds, 5)


@pytest.mark.parametrize("passes", [1, 2])
def test_matrices_of_a_gripper_with_a_mimic_joint_are_the_rows_of_products(
    passes: int, tmp_path: Path
) -> None:
    text = (SCENES / "gripper.toml").read_text("utf-8").split("[simulation]")[0]
    text = text.replace("box = [0.09, 0.05, 0.12]", "box = [0.09, 0.03, 0.12]")  # no edges coincide
    text = text.replace("xyz = [0, 0, 0.0]", "xyz = [0.002, 0.003, 0.001], rpy = [0, 0.01, 0.02]")
    text += '[[signal]]\nname = "share"\ntype = "input"\n'
    text += table("controller", name="squeeze", type="gain", inputs=["share"], gain=1e3, unit="N")
    text += table("actuator", name="pads", type="force", joint="closes", command="squeeze")
    worlds = thrown(scene_of(tmp_path, text, passes=passes), 200, 0.0)
    worlds.v[:] += np.random.default_rng(3).normal(0, 0.02, worlds.v.shape)
    worlds.step(steps=2)
    assert np.any(worlds.contacts)
    check(worlds, 3)


def test_matrices_of_an_arm_in_motion_with_a_mimic_joint_are_the_rows_of_products(
    tmp_path: Path,
) -> None:
    follows = 'friction = 0.05\nmimic = { joint = "shoulder", ratio = -0.5 }\n'
    text = ARM.replace("start = -0.6\n", "").replace("damping = 0.1\n", follows)
    check(thrown(scene_of(tmp_path, text), 3, 3.0), 2)


def test_a_world_has_the_matrices_that_it_has_among_others(tmp_path: Path) -> None:
    """Some of the worlds divide the step, so that their matrices are products."""
    many = thrown(sampled_arm(tmp_path, 5e-3), 3, 1.0, count=64)
    for k in range(1, 5):
        many.step(steps=k, where=np.arange(k, 64, 5))
    found = pysim.step_derivatives(many)
    for count in (1, 7):
        few = pysim.Worlds(many.scene(0), count)
        few.load(many.save(where=np.arange(count)))
        own = pysim.step_derivatives(few)
        np.testing.assert_array_equal(own.A, found.A[:count])
