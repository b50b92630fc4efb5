"""A frozen model: what it hands out cannot be written to. The oracle is the model before."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import pysim

SCENES = Path(__file__).parents[2] / "scenes"


@pytest.mark.parametrize("again", [lambda m: m, lambda m: pickle.loads(pickle.dumps(m))])
def test_arrays_that_a_model_hands_out_cannot_be_written_to(again):
    model = again(pysim.load_scene(SCENES / "four_bar.toml").model)
    q, v = model.neutral(), np.ones(model.nv)
    before, mass = pysim.rnea(model, q, v, v), model.total_mass
    arrays = [
        model.bodies[0].theta,
        model.joints[0].damping,
        model.spec.joints[0].at,
        model.spec.bodies[0].theta,
        model.spec.loops[0].at_a,
        model.spec.gravity,
        *(pose for _, pose in model.frames.values()),
    ]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[:] *= 2
    assert model.total_mass == mass
    np.testing.assert_array_equal(pysim.rnea(model, q, v, v), before)


def test_arrays_that_a_model_computes_are_the_caller_s_own():
    model = pysim.load_scene(SCENES / "four_bar.toml").model
    for name in ("parameters", "placements", "armature", "gravity"):
        before = np.array(getattr(model, name))
        getattr(model, name)[:] += 1
        np.testing.assert_array_equal(getattr(model, name), before)


def test_an_array_given_to_a_model_stays_writable():
    model = pysim.load_scene(SCENES / "pendulum.toml").model
    theta = 2 * model.parameters
    heavier = model.with_parameters(theta)
    theta *= 2
    assert heavier.total_mass == 2 * model.total_mass
