"""Curves through points by their arc length. Oracles: SciPy's cubic splines, circles, the catenary's closed form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from pysim.scene.rods.centre_line import catenary, curve_through


@pytest.mark.parametrize("count", [3, 4, 5, 9])
def test_a_curve_is_the_cubic_spline_over_the_chords(count, rng):
    P = rng.normal(size=(count, 3)).cumsum(axis=0)
    u = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(P, axis=0), axis=1)))
    peer = CubicSpline(u, P)
    line = curve_through(P.tolist())
    fine = np.linspace(0, u[-1], 20001)
    lengths = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(peer(fine), axis=0), axis=1)))
    assert line.length == pytest.approx(lengths[-1], rel=1e-7)
    np.testing.assert_allclose(line.points(lengths[::500]), peer(fine[::500]), atol=1e-5 * u[-1])


def test_a_ring_is_closed_and_round():
    angles = np.linspace(0, 2 * np.pi, 25)
    P = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    P[-1] = P[0]
    line = curve_through(P.tolist())
    assert line.length == pytest.approx(2 * np.pi, rel=1e-5)
    s = np.linspace(0, line.length, 100)
    np.testing.assert_allclose(np.linalg.norm(line.points(s), axis=1), 1, atol=2e-5)
    ends = line.tangents(np.array([0.0, line.length]))
    np.testing.assert_allclose(ends, [[0, 1, 0], [0, 1, 0]], atol=1e-4)
    np.testing.assert_allclose(np.linalg.norm(line.tangents(s), axis=1), 1, rtol=1e-14)


@pytest.mark.parametrize("rise", [0.0, 0.7, -1.2])
def test_a_catenary_has_its_length_and_horizontal_tension(rise):
    end = np.array([1.2, 1.6, rise])
    line = catenary(np.zeros(3), end, 3.0, np.array([0, 0, -9.81]))
    assert line.length == pytest.approx(3.0, rel=1e-5)
    np.testing.assert_allclose(
        line.points(np.array([0.0, line.length])), [[0, 0, 0], end], atol=1e-9
    )
    s = np.linspace(0, line.length, 30)
    t = line.tangents(s)
    steepness = t[:, 2] / np.linalg.norm(t[:, :2], axis=1)  # linear in s
    np.testing.assert_allclose(np.diff(steepness, 2), 0, atol=2e-3 * np.ptp(steepness))


def test_a_catenary_without_gravity_hangs_to_a_side():
    line = catenary(np.zeros(3), np.array([0, 0, 1.0]), 2.0, np.zeros(3))
    assert line.length == pytest.approx(2.0, rel=1e-5)
