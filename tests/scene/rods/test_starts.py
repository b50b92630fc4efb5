"""Rods that start along a curve. Oracles: the loop's residual, and a fine polyline of the curve."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.loops import constraint_residual
from pysim.scene.rods.centre_line import curve_through

LENGTH = 1.0


def rod(start: np.ndarray, bars: int, end: dict[str, Any] | None, **keys: Any) -> pysim.Scene:
    builder = pysim.SceneBuilder("rod", gravity=[0, 0, 0])
    section = {"EI": 0.02, "GJ": 0.015, "mass_per_length": 0.08}
    if end is not None:
        keys |= {"b": "world", "at_b": end}
    builder.rod("rod", length=LENGTH, section=section, bars=bars, start=start.tolist(), **keys)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pysim.PysimWarning)
        return builder.build()


def written(scene: pysim.Scene) -> np.ndarray:
    """The configuration of the tables, before loops are closed."""
    return np.concatenate([joint.start_q for joint in scene.model.spec.joints])


def around(count: int, digits: int) -> np.ndarray:
    """A ring whose circumference is the length, by points with some digits."""
    s, R = np.linspace(0, 2 * np.pi, count), LENGTH / (2 * np.pi)
    return np.stack([R * np.sin(s), R * (1 - np.cos(s)), 0 * s], axis=1).round(digits)


@pytest.mark.parametrize("bars", [8, 30])
@pytest.mark.parametrize("digits", [4, 12])
def test_a_ring_is_closed_as_it_is_written(bars: int, digits: int) -> None:
    """Nothing has to move, so that rounding chooses no side out of its plane."""
    scene = rod(around(25, digits), bars, {})
    q = written(scene)
    assert np.abs(constraint_residual(scene.model, q)).max() < 1e-12
    np.testing.assert_array_equal(scene.state.q, q)
    poses = np.asarray(pysim.forward_kinematics(scene.model, scene.state.q))
    assert np.abs(poses[:, 2, 3]).max() < 1e-12
    assert np.ptp(poses[:, 1, 3]) == pytest.approx(LENGTH / np.pi, rel=0.06)


@pytest.mark.parametrize("bars", [6, 20])
@pytest.mark.parametrize("size", [0.985, 1.0, 1.015])
def test_hinges_start_on_a_curve_of_the_size_of_the_bars(bars: int, size: float) -> None:
    """A wave whose length is nearly that of the rod: the rod starts on it, scaled about its beginning."""
    x = np.linspace(0, 1, 17)
    points = np.stack([x, 0.15 * np.sin(2 * np.pi * x), 0.1 * x**2], axis=1)
    points *= size * LENGTH / curve_through(points.tolist()).length
    curve = curve_through(points.tolist())
    scene = rod(points, bars, None)
    poses = np.asarray(pysim.forward_kinematics(scene.model, scene.state.q))
    hinges, end = poses[:, :3, 3], pysim.frame_placement(scene.model, scene.state.q, "rod/end")
    scale = np.linalg.norm(end[:3, 3]) / np.linalg.norm(points[-1])
    assert 1 <= scale * size < 1 + (5 / bars) ** 2 / 10
    fine = scale * curve.points(np.linspace(0, curve.length, 20001))
    distance = np.linalg.norm(hinges[:, None] - fine, axis=2).min(axis=1)
    assert distance.max() < 5e-5
    np.testing.assert_allclose(end[:3, 3], scale * points[-1], rtol=0, atol=1e-12)
    last_bar = hinges[-1] - hinges[-2]  # the end is free, and carries no moment
    np.testing.assert_allclose(end[:3, 0], last_bar / np.linalg.norm(last_bar), rtol=0, atol=1e-12)
