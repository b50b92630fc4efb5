"""A frozen model: what it hands out cannot be written to. The oracle is the model before."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.joints import CallbackJoint, joint, real
from tests.robots import load_robot

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
    for name in ("parameters", "placements", "armature"):
        before = np.array(getattr(model, name))
        getattr(model, name)[:] += 1
        np.testing.assert_array_equal(getattr(model, name), before)


def test_an_array_given_to_a_model_stays_writable():
    model = pysim.load_scene(SCENES / "pendulum.toml").model
    theta = 2 * model.parameters
    heavier = model.with_parameters(theta)
    theta *= 2
    assert heavier.total_mass == 2 * model.total_mass


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            lambda m: m.with_armature([-1.0] * m.nv),
            "armature: must not be negative [kg or kg·m²], got -1",
        ),
        (lambda m: m.with_gravity([0.0, 1.0]), "gravity: must have shape (3,), got (2,)"),
        (lambda m: m.with_gravity([0.0, 1.0, np.nan]), "gravity: must be finite, got nan or inf"),
        (
            lambda m: m.with_parameters(np.ones((1, 9))),
            "theta: must have shape (6, 10), got (1, 9)",
        ),
    ],
)
def test_numbers_that_no_model_can_have_are_rejected(change: Any, text: str) -> None:
    with pytest.raises(pysim.ModelError) as caught:
        change(load_robot("ur5"))
    assert str(caught.value).startswith(text)


def test_a_model_is_its_own_copy_and_cannot_be_changed() -> None:
    model = load_robot("ur5")
    assert copy.copy(model) is model
    assert copy.deepcopy(model) is model
    with pytest.raises(AttributeError) as caught:
        model.gravity = np.zeros(3)  # type: ignore[misc]
    assert str(caught.value) == "a model is frozen, 'gravity' cannot be set; use its with_ methods"


WELDED = """
[[body]]
name = "a"
mass = 1
[[body]]
name = "b"
mass = 1
[[joint]]
name = "free"
type = "free"
child = "a"
[[joint]]
name = "weld"
type = "fixed"
parent = "a"
child = "b"
"""
ONE_BODY = {
    'type = "linear_drag"\na = "a"\nb = "b"\ncoefficient = 1.0': (
        "force 'f' acts between 'a' and 'b', which are one rigid body; name bodies that move against each other, or "
        "remove the force"
    ),
    'type = "rope"\npath = [{ body = "a" }, { body = "b", point = [0, 0, 1] }]\nstiffness = 1.0\nrest_length = 1.0': (
        "force 'f' acts along a path on 'a' and 'b', which are one rigid body; name bodies that move against each "
        "other, or remove the force"
    ),
}


@pytest.mark.parametrize("force", ONE_BODY)
def test_a_force_within_one_rigid_body_is_rejected(tmp_path: Path, force: str) -> None:
    path = tmp_path / "s.toml"
    path.write_text(f'{WELDED}[[force]]\nname = "f"\n{force}\n', "utf-8")
    with pytest.raises(pysim.ModelError) as caught:
        pysim.load_scene(path)
    assert str(caught.value) == f"{path}:17:1: force[0]: {ONE_BODY[force]}"


@joint("slot_of_a_model")
class Slot(CallbackJoint):
    """A slide along x, in Python."""

    coordinates = real("slide", unit="m")

    def poses(self, q):
        X = np.tile(np.eye(4), (len(q), 1, 1))
        X[:, 0, 3] = q[:, 0]
        return X


def test_a_joint_in_python_beside_a_loop_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    text = WELDED.replace('"free"\nchild', '"slot_of_a_model"\nchild')
    loop = '[[loop]]\nname = "l"\ntype = "point_on_plane"\nb = "b"\n'
    path.write_text(text + loop, "utf-8")
    with pytest.raises(pysim.ModelError) as caught:
        pysim.load_scene(path)
    assert str(caught.value) == (
        f"{path}:8:1: joint[0]: joint 'free' is computed by Python, which loops and couplings do not support; write it "
        "so that it can be traced"
    )
