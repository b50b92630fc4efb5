"""Poses of random states against the wheel `opensim`, where it is installed; other tests have numbers that it gave."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from tests.scene.osim.opensim_models import DATA

opensim = pytest.importorskip("opensim", reason="the oracle opensim is not installed (extra osim)")


@pytest.mark.parametrize("name", ["joints", "muscles"])
@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
def test_poses_of_random_states_are_those_of_the_wheel(name):
    opensim.Logger.removeFileSink()
    theirs = opensim.Model(str(DATA / f"{name}.osim"))
    state = theirs.initSystem()
    ours = pysim.load_model(DATA / f"{name}.osim", mimic=False)
    coordinates = theirs.getCoordinateSet()
    rng = np.random.default_rng(8)
    for _ in range(3):
        q = np.array(ours.neutral())
        for k in range(coordinates.getSize()):
            coordinate = coordinates.get(k)
            coordinate.setLocked(state, False)
            value = float(rng.uniform(-0.5, 0.5))
            if coordinate.getName() not in ours.joint_names:
                value = 0.0  # of a ball or free joint, which the other tests turn
            else:
                q[ours.q_offsets[ours.joint_names.index(coordinate.getName())]] = value
            coordinate.setValue(state, value, False)
        theirs.realizePosition(state)
        for body in ("trunk", "shin", "foot") if name == "joints" else ("thigh", "shin"):
            X = theirs.getBodySet().get(body).getTransformInGround(state)
            position = [X.p().get(i) for i in range(3)]
            rotation = [[X.R().get(i, j) for j in range(3)] for i in range(3)]
            found = pysim.frame_placement(ours, q, body)
            assert np.allclose(found[:3, 3], position, atol=1e-12)
            assert np.allclose(found[:3, :3], rotation, atol=1e-12)
