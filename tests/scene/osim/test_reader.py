"""Reader of OpenSim's models: poses, mass matrices, bias forces and accelerations.

The oracle is OpenSim 4.6, whose numbers are in tests/data/reference/opensim and beside public models. Before 4.0
it rounds the offsets of joints to six digits, so that those models agree to 1e-5.
"""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim import loops
from tests.scene.osim.opensim_models import PUBLIC, model_of, public, relative

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")  # of surfaces left out

MODELS = ["joints", "before_version_4", *public(*PUBLIC)]
TOLERANCE = {"before_version_4": 1e-5}
# OpenSim's bias contradicts the derivative of its mass matrix where several rotations depend on one coordinate
BIAS = {"joints": 1e-2, "Rajagopal2016": 1e-5}


@pytest.mark.parametrize("name", MODELS)
def test_bodies_are_where_opensim_has_them(name):
    model = model_of(name)
    for state in model.states:
        q, *_ = model.state(state)
        for body, pose in state["pose"].items():
            placed = pysim.frame_placement(model.free, q, body)
            assert np.abs(placed - np.array(pose)).max() < TOLERANCE.get(name, 1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_mass_matrix_is_that_of_opensim(name):
    model = model_of(name)
    for state in model.states:
        q, _, T, _ = model.state(state)
        M = T.T @ pysim.crba(model.free, q) @ T
        assert relative(M, state["M"]) < TOLERANCE.get(name, 1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_bias_force_is_that_of_opensim(name):
    model = model_of(name)
    for state in model.states:
        q, v, T, bias = model.state(state)
        force = T.T @ pysim.rnea(model.free, q, v, bias)
        assert relative(force, state["bias"]) < TOLERANCE.get(name, BIAS.get(name, 1e-12))
        at_rest = T.T @ pysim.rnea(model.free, q, 0 * v, 0 * v)
        assert relative(at_rest, state["gravity_force"]) < TOLERANCE.get(name, 1e-12)


@pytest.mark.parametrize("name", ["joints", *public("Rajagopal2016")])
def test_bias_force_is_the_derivative_of_the_mass_matrix(name):
    model = model_of(name)
    step = 1e-6
    for state in model.states[1:3]:
        q, v, *_ = model.state(state)
        free = model.free

        def momentum(q, v=v, free=free):
            return pysim.crba(free, q) @ v

        def moved(h, direction, q=q, free=free):
            return free.integrate(q, h * direction)

        only_real = [k for k in range(free.nv) if k not in _of_groups(free)]
        rate = (momentum(moved(step, v)) - momentum(moved(-step, v))) / (2 * step)
        slopes = [
            0.5 * v @ (momentum(moved(step, e)) - momentum(moved(-step, e))) / (2 * step)
            for e in np.eye(free.nv)
        ]
        bias = pysim.rnea(free, q, v, 0 * v) - pysim.rnea(free, q, 0 * v, 0 * v)
        assert np.allclose((rate - slopes)[only_real], bias[only_real], atol=1e-6 * abs(bias).max())


def _of_groups(model):
    """Return the velocities of rotations and poses, whose coordinates are no plain numbers."""
    kinds = zip(model.joint_nq, model.joint_nv, model.v_offsets, strict=True)
    return {k for nq, nv, at in kinds if nq != nv for k in range(at, at + nv)}


@pytest.mark.parametrize("name", MODELS)
def test_accelerations_of_the_tree_are_those_of_opensim(name):
    model = model_of(name)
    for state in model.states:
        if "udot_tree" not in state:
            continue
        q, v, T, bias = model.state(state)
        udot = np.linalg.solve(T, pysim.aba(model.free, q, v, 0 * v) - bias)
        tolerance = 1e2 * BIAS[name] if name in BIAS else TOLERANCE.get(name, 1e-10)
        assert relative(udot, state["udot_tree"]) < tolerance


@pytest.mark.parametrize("name", MODELS)
def test_accelerations_with_locks_and_couplers_are_those_of_opensim(name):
    model = model_of(name)
    for state in model.states:
        if "udot" not in state or not state["locks_held"]:
            continue
        q, v, T, bias = model.state(state)
        vdot = loops.constrained_aba(model.free, q, v, 0 * v)
        udot = np.linalg.solve(T, vdot - bias)
        tolerance = 1e2 * BIAS[name] if name in BIAS else TOLERANCE.get(name, 1e-10)
        assert relative(udot, state["udot"]) < tolerance


def test_coupled_coordinates_follow_and_locked_ones_hold():
    model = pysim.load_model(model_of("joints").path)
    spec = {joint.name: joint for joint in model.spec.joints}
    assert spec["wag_angle"].mimic.joint == "raise"
    assert spec["wag_angle"].mimic.ratio == pytest.approx(-0.6, rel=1e-15)
    assert spec["wag_angle"].mimic.offset == pytest.approx(0.12, rel=1e-15)
    assert set(model.coupling_names) == {"slide_with_turn", "ankle_y/lock"}


def test_a_chain_of_linear_axes_runs_as_built_in_joints():
    model = pysim.load_model(model_of("joints").path)
    types = {joint.name: joint.type for joint in model.spec.joints}
    assert [types[name] for name in ("tx", "ty", "tz")] == ["prismatic"] * 3
    assert [types[name] for name in ("tilt", "list", "turn", "hip_x", "ankle_y")] == [
        "revolute"
    ] * 5
    assert types["bend"] == "custom_joint"
    assert types["wrist"] == "custom_joint_2"
    assert (types["socket"], types["loose"]) == ("ball", "free")


def test_range_of_a_coordinate_is_no_stop():
    model = pysim.load_model(model_of("joints").path)
    for joint in model.spec.joints:
        assert np.isneginf(joint.lower).all()
        assert np.isposinf(joint.upper).all()


def test_markers_are_frames():
    state = model_of("joints").states[1]
    q, *_ = model_of("joints").state(state)
    shin = np.array(state["pose"]["shin"])
    marker = pysim.frame_placement(model_of("joints").free, q, "knee_marker")
    assert np.allclose(marker[:3, 3], shin[:3, :3] @ [0.03, -0.02, 0.05] + shin[:3, 3], atol=1e-12)
    assert "hat_marker" in model_of("joints").free.frame_names
