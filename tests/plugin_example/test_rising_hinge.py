"""Tests of the rising hinge: it is found by its entry point and is consistent.

Oracle: the equivalent pendulum, height = rise · (1 − cos angle) / 2.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pysim_rising_hinge import RisingHinge

import pysim
from pysim.joints import check, find_joint

SCENE = Path(__file__).with_name("door.toml")


def test_pysim_finds_the_joint_by_its_entry_point():
    assert find_joint("rising_hinge").plugin.__module__ == "pysim_rising_hinge"


def test_the_joint_is_consistent():
    check(RisingHinge(rise=0.05))


def test_the_door_swings_as_a_pendulum_does():
    scene = pysim.load_scene(SCENE)
    trajectory = pysim.simulate(scene)
    mass, inertia, angle = 32.0, 32.0 * (0.8**2 / 3 + 0.04**2 / 12), trajectory.q[:, 0]
    np.testing.assert_allclose(trajectory.poses[:, 0, 2], 0.05 * np.sin(angle / 2) ** 2, atol=1e-14)
    ramp = 0.05 / 2 * np.sin(angle)  # dheight / dangle
    energy = (inertia + mass * ramp**2) * trajectory.v[:, 0] ** 2 / 2
    energy += mass * 9.81 * 0.05 * np.sin(angle / 2) ** 2
    np.testing.assert_allclose(energy, energy[0], rtol=1e-9)
    assert angle.min() == pytest.approx(-1.2, abs=1e-3)
