"""Springs with slack and stops on paths and weighted sums. Oracles: closed forms, and MuJoCo in tests/scene/mjcf."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import pysim
from pysim.errors import PysimError
from tests.elements.reference_cases import scene_of, slide

if TYPE_CHECKING:
    from pathlib import Path

CART = slide("cart", 2.0, "[1, 0, 0]", 0.0, 0.0)
STOP = """
[[force]]
name = "stop"
type = "weighted_stop"
coordinates = ["cart slide"]
weights = [2.0]
lower = -1.0
upper = 1.5
stiffness = 50.0
damping = 4.0
"""


def test_a_stop_pushes_only_back_and_only_beyond_its_limits(tmp_path: Path) -> None:
    model = scene_of(tmp_path, CART + STOP).model
    q = np.array([[0.7], [1.0], [1.0], [-1.0], [-1.0]])
    v = np.array([[3.0], [1.0], [-9.0], [0.0], [7.0]])
    # the sum is 2 q, and its tension acts with the weight 2
    expected = np.array([0.0, -2 * (50 * 0.5 + 4 * 2), 0.0, 2 * 50 * 1.0, 0.0])
    assert pysim.passive_forces(model, q, v)[:, 0] == pytest.approx(expected, rel=1e-14)
    assert pysim.elastic_energy(model, q) == pytest.approx([0, 6.25, 6.25, 25, 25], rel=1e-14)


MISTAKES = {
    "weights": (
        STOP.replace("[2.0]", "[2.0, 1.0]"),
        "weights: must have one number for each coordinate, got 2 for 1; write as many as coordinates",
    ),
    "limits": (STOP.replace("1.5", "-1.5"), "lower: -1 is above upper, -1.5; swap them"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_reported(tmp_path: Path, case: str) -> None:
    text, expected = MISTAKES[case]
    with pytest.raises(PysimError) as caught:
        scene_of(tmp_path, CART + text)
    assert expected in str(caught.value)


def test_a_slack_spring_hangs_slack_between_two_lengths(tmp_path: Path) -> None:
    spring = """
[[force]]
name = "band"
type = "slack_spring"
path = [{ body = "world", point = [-1, 0, 0] }, { body = "cart" }]
stiffness = 30.0
rest_length = 0.8
slack = 0.4
"""
    model = scene_of(tmp_path, CART + spring).model
    q = np.array([[-0.4], [0.0], [0.15], [0.6]])  # lengths 0.6, 1, 1.15, 1.6
    found = pysim.passive_forces(model, q, 0 * q)[:, 0]
    assert found == pytest.approx([6.0, 0.0, 0.0, -12.0], rel=1e-12)
    assert pysim.elastic_energy(model, q) == pytest.approx([0.6, 0, 0, 2.4], rel=1e-12)
