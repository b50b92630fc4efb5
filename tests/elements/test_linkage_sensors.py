"""Sensors of linkages: transmission angle and mechanical advantage. Oracle: closed forms of the four-bar linkage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.testing import assert_allclose

import pysim
from pysim.errors import PysimError
from tests.elements.blocks import disc, scene_of, simulation, table
from tests.scene_runs import run_scene

if TYPE_CHECKING:
    from pathlib import Path

CRANK, COUPLER, ROCKER, GROUND = 0.3, 0.9, 0.6, 0.8  # [m], of scenes/four_bar.toml


@pytest.fixture(scope="module")
def linkage() -> pysim.Trajectory:
    return run_scene("four_bar").trajectory


def test_the_transmission_angle_of_a_four_bar_linkage(linkage: pysim.Trajectory) -> None:
    """By the law of cosines in the triangle of coupler, rocker and the diagonal."""
    crank = linkage.q[:, linkage.names["coordinates"].index("drive")]
    diagonal = CRANK**2 + GROUND**2 - 2 * CRANK * GROUND * np.cos(crank)
    cosine = (COUPLER**2 + ROCKER**2 - diagonal) / (2 * COUPLER * ROCKER)
    expected = np.arccos(np.abs(cosine))
    assert expected.max() - expected.min() > 0.5
    assert_allclose(linkage.signals["transmission"], expected, atol=1e-9)


def test_the_mechanical_advantage_of_a_four_bar_linkage(linkage: pysim.Trajectory) -> None:
    """By the angles of its links: ω₂/ω₄ = c sin(θ₄ − θ₃)/(a sin(θ₂ − θ₃))."""
    drive, knee, swing = (
        linkage.q[:, linkage.names["coordinates"].index(name)]
        for name in ("drive", "knee", "swing")
    )
    coupler = drive + knee
    expected = ROCKER * np.sin(swing - coupler) / (CRANK * np.sin(drive - coupler))
    assert_allclose(linkage.signals["advantage"], expected, rtol=1e-9)
    units = dict(zip(linkage.names["signals"], linkage.units["signals"], strict=True))
    assert units["advantage"] == "1"


def test_a_mechanism_at_rest_has_no_mechanical_advantage(tmp_path: Path) -> None:
    sensor = table("sensor", name="r", type="mechanical_advantage", coordinates=["hinge", "hinge"])
    run = pysim.simulate(scene_of(tmp_path, disc(v=0.0) + sensor + simulation(duration=0.2)))
    assert_allclose(run.signals["r"], 0.0, atol=0)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"type": "mechanical_advantage", "coordinates": ["hinge"]},
            "coordinates: must name the input and the output, got 1 of them; name two",
        ),
        (
            {"type": "transmission_angle", "frame": "disc", "axis": [0.0, 0.0, 0.0]},
            "axis: must be a finite vector that is not zero",
        ),
        ({"type": "transmission_angle"}, "has no frame, but its pose is read; give frame"),
    ],
)
def test_faulty_sensors_of_linkages(tmp_path: Path, keys: dict[str, object], message: str) -> None:
    with pytest.raises(PysimError) as found:
        scene_of(tmp_path, disc() + table("sensor", name="r", **keys))
    assert message in str(found.value)
