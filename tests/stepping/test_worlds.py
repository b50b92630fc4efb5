"""A rollout of many models at once. Oracle: the rollout of every model alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.compile import compile_model, compile_scene
from pysim.errors import ModelError
from pysim.integrators import BUILTIN
from pysim.scene import read_scene
from tests.oracles.mechanisms import random_tree
from tests.oracles.variations import Variation

SCENES = Path(__file__).parents[2] / "scenes"
SCHEMES = [name for name, kind in BUILTIN.items() if not kind.adaptive]
STEP = 1e-3  # [s]
WORLDS = 11  # more than a pack of any width, and some left


def assert_same(together, alone):
    for whole, parts in zip(together, zip(*alone, strict=True), strict=True):
        np.testing.assert_array_equal(whole, parts)


def rolled_alone(models, q0, v0, controls, *args, **options):
    return [
        pysim.rollout(model, q0[k], v0[k], controls[k], *args, **options)
        for k, model in enumerate(models)
    ]


def random_models(rng, **options):
    """Trees of every joint shape, alike; friction, springs and stops in some of the worlds alone."""
    spec = random_tree(rng, passive=True, **options)
    specs = [Variation(rng, 0.3).model(spec) for _ in range(WORLDS)]
    bare = dict.fromkeys(("friction", "damping", "stiffness", "stop_stiffness"))
    for k in (1, 4, 9):
        joints = tuple(
            replace(joint, **{name: np.zeros(joint.damping.size) for name in bare})
            for joint in specs[k].joints
        )
        specs[k] = replace(specs[k], joints=joints)
    return [compile_model(each) for each in specs]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("mimic", [False, True])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_world_gets_the_bits_of_its_own_model_alone(scheme, mimic, dtype, rng):
    models = random_models(rng, mimic=mimic)
    q0 = np.array([model.random_configuration(rng) for model in models]).astype(dtype)
    v0 = rng.normal(size=(WORLDS, models[0].nv)).astype(dtype)
    controls = rng.normal(size=(WORLDS, 4, models[0].nv)).astype(dtype)
    together = pysim.rollout(models, q0, v0, controls, STEP, scheme)
    assert np.isfinite(together[0]).all()
    assert_same(together, rolled_alone(models, q0, v0, controls, STEP, scheme))
    assert len({q.tobytes() for q in together[0][:, -1] - q0}) == WORLDS


CLOSED = ["andrews", "four_bar", "stewart_platform", "slider_crank", "differential", "governor"]
PLUGINS = ["knee", "cam", "screw_spline", "ellipsoid_joint", "rolling", "constant_velocity"]


@pytest.mark.parametrize("scheme", ["rk4", "variational", "generalized_alpha"])
@pytest.mark.parametrize("name", [*CLOSED, *PLUGINS, "spring"])
def test_loops_couplings_springs_and_plugins_vary_from_world_to_world(name, scheme, rng):
    spec = read_scene(SCENES / f"{name}.toml", allow_code=True)
    scenes = [
        compile_scene(replace(spec, model=Variation(rng).model(spec.model))) for _ in range(WORLDS)
    ]
    models = [scene.model for scene in scenes]
    q0, v0 = (np.array([getattr(scene.state, x) for scene in scenes]) for x in "qv")
    controls = 0.01 * rng.normal(size=(WORLDS, 5, models[0].nv))
    step = spec.settings.step
    together = pysim.rollout(models, q0, v0, controls, step, scheme)
    assert np.isfinite(together[0]).all()
    assert_same(together, rolled_alone(models, q0, v0, controls, step, scheme))
