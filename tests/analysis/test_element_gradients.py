"""Gradients through forces between links: along straight and wrapping paths, between frames, on coordinates.

Oracle: the best of central differences of sixth order, of five sizes, of the engine's own steps.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.analysis.test_gradients import (
    BOX,
    HOPPER,
    SMOOTH,
    Rollout,
    check_parameters,
    error,
    scene_of,
)
from tests.elements.blocks import table

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")  # of starts and planes
FRAMES = {"a": "trunk", "b": "shank", "at_a": [0.0, 0.1, 0.1], "at_b": [0.02, 0.0, -0.1]}
PATH = [
    {"body": "trunk", "point": [0.1, 0.0, 0.1]},
    {"body": "thigh", "point": [0.08, 0.01, -0.1]},
    {"body": "shank", "point": [0.05, 0.0, -0.1]},
]
FORCES: dict[str, dict[str, Any]] = {
    "spring": {"stiffness": 60.0, "damping": 2.0, "length": 0.2, **FRAMES},
    "bushing": {
        "stiffness": np.diag([80.0, 60, 50, 3, 2, 4]).tolist(),
        "damping": np.diag([2.0, 1, 2, 0.1, 0.1, 0.2]).tolist(),
        **FRAMES,
    },
    "path_spring": {"stiffness": 70.0, "damping": 1.0, "rest_length": 0.3, "path": PATH},
    "coordinate_spring": {"coordinates": ["knee"], "stiffness": 9.0, "damping": 0.2, "rest": 0.3},
}


@pytest.mark.parametrize("kind", list(FORCES))
def test_a_force_between_links_has_the_gradient_of_differences(kind: str, tmp_path: Path) -> None:
    force = table("force", name="strut", type=kind, **FORCES[kind])
    scene = scene_of(tmp_path, HOPPER + force, passes=1)
    rng = np.random.default_rng(3)
    q = scene.model.integrate(scene.state.q, rng.normal(0, 0.2, scene.model.nv))
    q[2], v = 0.42, rng.normal(0, 0.4, scene.model.nv)  # on the ground
    rollout = Rollout(scene, q, v, 8)
    paths = ["body.shank.mass", *([] if kind == "bushing" else ["force.strut.stiffness"])]
    found = check_parameters(rollout, paths)
    assert error(np.concatenate([found.q[0], found.v[0]]), rollout.by_start()) < SMOOTH


def test_a_rope_around_a_post_has_the_gradient_of_differences(tmp_path: Path) -> None:
    at = {"xyz": [0.0, 0.1, 0.9], "rpy": [1.6, 0, 0]}
    path = [
        {"body": "world", "point": [-0.4, 0.1, 0.7]},
        {"body": "world", "cylinder": 0.1, "at": at},
        {"body": "box", "point": [0.05, 0.1, 0.08]},
    ]
    rope = table(
        "force", name="rope", type="rope", stiffness=900.0, damping=5.0, rest_length=0.9, path=path
    )
    scene = scene_of(tmp_path, BOX + rope, passes=1)
    v = np.array([0.3, -0.2, -0.5, 1.0, -2.0, 0.7])
    rollout = Rollout(scene, scene.state.q, v, 20)
    found = rollout.gradient()
    assert error(np.concatenate([found.q[0], found.v[0]]), rollout.by_start()) < SMOOTH


def test_the_shape_of_a_muscle_has_the_gradient_of_differences(tmp_path: Path) -> None:
    """Python computes with it; beside its numbers, programs have constants that are NaN."""
    text = "gravity = [0, 0, 0]\n"
    text += table("body", name="mass", mass=2.0, inertia=dict.fromkeys(("xx", "yy", "zz"), 1.0))
    text += table("joint", name="slide", type="prismatic", child="mass")
    text += table("signal", name="excitation", type="constant", value=0.2)
    ends = [{"body": "world"}, {"body": "mass", "point": [0.0, 0.0, 0.33]}]
    sizes = {"max_isometric_force": 100.0, "optimal_fibre_length": 0.1, "tendon_slack_length": 0.2}
    muscle = {"type": "thelen_muscle", "path": ends, "excitation": "excitation", **sizes}
    text += table("force", name="muscle", passive_shape=4.5, **muscle)
    scene = scene_of(tmp_path, text, passes=1)
    path = "force.muscle.passive_shape"
    rollout = Rollout(scene, scene.state.q, scene.state.v, 6)
    check_parameters(rollout, [path])
