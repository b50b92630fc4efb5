"""Errors of invalid arguments, which name the argument. Oracle: the messages."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.worlds.loading import compile_model
from tests.oracles.mechanisms import random_tree


@pytest.fixture
def model(rng):
    return compile_model(random_tree(rng, ["free", "revolute"], chain=True))  # nq 8, nv 7


def refused(call, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011, the text is asserted below
        call()
    assert str(caught.value) == message


def test_wrong_shapes_are_named(model):
    q, v = model.neutral(), np.zeros(7)
    refused(
        lambda: pysim.aba(model, q[:7], v, v),
        "q must have shape (8,) or (batch, 8), got (7,)",
    )
    refused(
        lambda: pysim.aba(model, q, v, np.zeros(6)),
        "tau must have shape (7,) or (batch, 7), got (6,)",
    )
    refused(
        lambda: pysim.rnea(model, q, v, v, np.zeros((3, 6))),
        "f_ext must have shape (2, 6) or (batch, 2, 6), got (3, 6)",
    )
    refused(
        lambda: pysim.aba(model, np.array([q, q]), v, v),
        "v is a single state, but q is a batch of 2",
    )
    refused(
        lambda: pysim.aba(model, np.array([q, q]), np.zeros((3, 7)), np.zeros((2, 7))),
        "v is a batch of 3, but q is a batch of 2",
    )


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.int64, np.uint64])
def test_integers_are_read_in_arrays_as_in_lists(model, dtype):
    q, v = np.round(model.neutral()), np.ones(7)
    expected = pysim.aba(model, q, v, v)
    assert (pysim.aba(model, q.astype(dtype), v.astype(dtype), [1] * 7) == expected).all()
    batch = pysim.aba(
        model, np.array([q, q], dtype), np.ones((2, 7), dtype), np.ones((2, 7), dtype)
    )
    assert (batch == expected).all()


def test_wrong_dtypes_are_named(model):
    q, v = model.neutral(), np.zeros(7)
    refused(
        lambda: pysim.crba(model, q.astype(complex)), "q must have dtype float64, got complex128"
    )
    refused(lambda: pysim.crba(model, q.astype(bool)), "q must have dtype float64, got bool")
    refused(
        lambda: pysim.aba(model, q, v.astype(np.float32), v),
        "v must have dtype float64, got float32",
    )
    refused(
        lambda: pysim.aba(model, q.astype(np.float32), v, v),
        "v must have dtype float32, got float64 (the first argument is float32)",
    )


def test_nonfinite_arguments_are_named(model):
    q, v = model.neutral(), np.zeros(7)
    v[3] = np.nan
    refused(lambda: pysim.aba(model, q, v, np.zeros(7)), "v must be finite, got nan at [3]")
    tau = np.zeros((4, 7))
    tau[2, 5] = -np.inf
    refused(
        lambda: pysim.aba(model, np.tile(q, (4, 1)), np.zeros((4, 7)), tau),
        "tau must be finite, got -inf at [2, 5]",
    )


def test_a_quaternion_that_is_not_unit_is_named_by_joint(model):
    q = model.neutral()
    q[6] = 1.5
    refused(
        lambda: pysim.crba(model, q),
        "q holds a quaternion (x, y, z, w) of length 1.500000 for joint 'joint0', it must be 1; "
        "divide it by its length",
    )


@pytest.mark.parametrize("threads", [-1, 10**9])
def test_threads_that_no_machine_has_are_rejected(model, threads):
    message = f"threads must be from 0 (all) to 1048576, got {threads}"
    q, v = model.neutral(), np.zeros(7)
    refused(lambda: pysim.crba(model, q, threads=threads), message)
    refused(lambda: pysim.frame_velocity(model, q, v, "body1", threads=threads), message)


OF_V = (
    "nonlinear_effects",
    "kinetic_energy",
    "coriolis_matrix",
    "centroidal_momentum",
    "centroidal_map_time_derivative",
    "kinetic_energy_regressor",
    "momentum_regressor",
    "passive_forces",
    "passive_force_derivatives",
)
OF_A = (
    "rnea",
    "aba",
    "centroidal_momentum_rate",
    "joint_torque_regressor",
    "joint_reactions",
    "rnea_derivatives",
    "aba_derivatives",
)


@pytest.mark.parametrize("name", [*OF_V, *OF_A])
def test_none_for_a_velocity_is_rejected(model, name):
    rest = [np.zeros(7)] if name in OF_A else []
    with pytest.raises(TypeError, match=r"^v must be an array, got None$"):
        getattr(pysim, name)(model, model.neutral(), None, *rest)


@pytest.mark.parametrize("name", OF_A)
def test_none_for_an_acceleration_or_a_force_is_rejected(model, name):
    with pytest.raises(TypeError, match=r"^(a|tau) must be an array, got None$"):
        getattr(pysim, name)(model, model.neutral(), np.zeros(7), None)


def test_none_for_the_motion_of_a_frame_is_rejected(model):
    q, v = model.neutral(), np.zeros(7)
    for call, name in (
        (lambda: pysim.frame_velocity(model, q, None, "body1"), "v"),
        (lambda: pysim.jacobian_time_derivative(model, q, None, "body1"), "v"),
        (lambda: pysim.frame_acceleration(model, q, None, v, "body1"), "v"),
        (lambda: pysim.frame_acceleration(model, q, v, None, "body1"), "a"),
    ):
        with pytest.raises(TypeError, match=f"^{name} must be an array, got None$"):
            call()


def test_lists_are_arrays(model):
    q = model.neutral()
    np.testing.assert_array_equal(pysim.crba(model, list(q)), pysim.crba(model, q))


def test_an_unknown_frame_gets_a_suggestion(model):
    with pytest.raises(
        pysim.ModelError, match=r"frame 'tol': no such frame; did you mean 'tool'\?"
    ):
        pysim.frame_placement(model, model.neutral(), "tol")


def test_a_frame_that_is_not_a_name_is_rejected(model):
    with pytest.raises(TypeError, match=r"^frame must be the name of a body or a frame, got 3$"):
        pysim.jacobian(model, model.neutral(), 3)


def test_an_unknown_instruction_set_is_rejected_with_the_known_ones():
    known = ", ".join(pysim.available_isas())
    with pytest.raises(
        ValueError, match=f"isa 'mmx' is not available on this CPU; choose auto, {known}"
    ):
        pysim.use_isa("mmx")
