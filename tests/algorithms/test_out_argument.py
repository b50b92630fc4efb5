"""The argument `out=`: an array for the result, or an error that names it. Oracle: the call without it."""

from __future__ import annotations

import copy
import inspect
import pickle
from pathlib import Path

import numpy as np
import pytest

import pysim
import pysim.loops
from pysim.worlds.loading import compile_model
from tests.oracles.mechanisms import random_tree

SCENES = Path(__file__).parents[2] / "scenes"


@pytest.fixture
def model(rng):
    return compile_model(random_tree(rng, ["free", "revolute"], chain=True))  # nq 8, nv 7


def refused(call, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011, the text is asserted below
        call()
    assert str(caught.value) == message


def test_an_output_that_cannot_take_the_result_is_rejected(model):
    q, v = model.neutral(), np.zeros(7)
    plain = "out must be C-contiguous, aligned and in this processor's byte order"
    frozen = np.zeros(7)
    frozen.flags.writeable = False
    for out, message in (
        ([0.0] * 7, "out must be an array of float64"),
        (np.zeros(7, np.float32), "out must have dtype float64, got float32"),
        (np.zeros(6), "out must have shape (7,), got (6,)"),
        (np.zeros((1, 7)), "out must have shape (7,), got (1, 7)"),
        (np.zeros(14)[::2], plain),
        (np.zeros(7, ">f8"), plain),
        (frozen, "out must be writeable"),
    ):
        refused(lambda out=out: pysim.aba(model, q, v, v, out=out), message)
    many = np.tile(q, (3, 1))
    refused(
        lambda: pysim.crba(model, many, out=np.zeros((7, 7))),
        "out must have shape (3, 7, 7), got (7, 7)",
    )
    refused(lambda: pysim.crba(model, many, out=np.zeros((3, 7, 7)).transpose(0, 2, 1)), plain)


def test_an_output_that_overlaps_an_argument_is_rejected(model):
    memory = np.zeros(40)
    q, v, tau = memory[:8], memory[8:15], memory[15:22]
    q[:] = model.neutral()
    message = "out shares memory with {}; pass a separate array"
    refused(lambda: pysim.aba(model, q, v, tau, out=tau), message.format("tau"))
    refused(lambda: pysim.aba(model, q, v, tau, out=memory[14:21]), message.format("v"))
    refused(lambda: pysim.generalized_gravity(model, q, out=memory[7:14]), message.format("q"))
    np.testing.assert_array_equal(memory, [0] * 6 + [1] + [0] * 33)
    pysim.aba(model, q, v, tau, out=memory[22:29])


def test_an_output_may_lie_over_an_argument_that_was_copied(model):
    """An array that is not contiguous is copied before the kernel runs."""
    q, memory = model.neutral(), np.zeros((7, 2))
    tau = memory[:, 0]
    tau[:] = np.arange(7.0)
    expected = pysim.aba(model, q, np.zeros(7), tau.copy())
    out = memory.reshape(14)[:7]
    np.testing.assert_array_equal(pysim.aba(model, q, np.zeros(7), tau, out=out), expected)


def called_wrongly(call, message):
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == message


def test_a_wrong_call_names_the_argument(model):
    q = model.neutral()
    called_wrongly(lambda: pysim.crba(model), "crba() needs the argument 'q'")
    called_wrongly(pysim.crba, "crba() needs the argument 'model'")
    called_wrongly(lambda: pysim.crba(model, q, 1), "crba() takes 2 positional arguments, got 3")
    called_wrongly(lambda: pysim.crba(model, q, q=q), "crba() got two values for 'q'")
    called_wrongly(lambda: pysim.crba(model, q, speed=3), "crba() takes no argument 'speed'")
    called_wrongly(lambda: pysim.crba(model, q, passive=True), "crba() takes no argument 'passive'")
    remedy = "pass the result of pysim.load_model"
    called_wrongly(
        lambda: pysim.crba("panda", q), f"model must be a pysim.Model, got str; {remedy}"
    )
    called_wrongly(
        lambda: pysim.crba(model, q, threads="all"),
        "'str' object cannot be interpreted as an integer",
    )
    refused(
        lambda: pysim.crba(model, q, threads=-1), "threads must be from 0 (all) to 1048576, got -1"
    )


def test_arguments_may_be_named_in_any_order(model):
    q, v, tau = model.neutral(), np.ones(7), np.arange(7.0)
    np.testing.assert_array_equal(
        pysim.aba(tau=tau, v=v, model=model, q=q), pysim.aba(model, q, v, tau)
    )


def test_functions_have_a_signature_and_can_be_pickled():
    assert str(inspect.signature(pysim.aba)) == (
        "(model, q, v, tau, f_ext=None, *, threads=1, passive=False, out=None)"
    )
    assert pickle.loads(pickle.dumps(pysim.aba)) is pysim.aba
    assert copy.deepcopy(pysim.crba) is pysim.crba
    assert "Featherstone" in (pysim.crba.__doc__ or "")


@pytest.mark.parametrize(
    "call",
    [
        lambda scene, x: pysim.aba(scene, x, x, x),
        lambda scene, x: pysim.jacobian(scene, x, "rod"),
        lambda scene, x: pysim.frame_placement(scene, x, "rod"),
        lambda scene, x: pysim.link_length_derivatives(scene, x, x, x, ["hinge"]),
        lambda scene, _: pysim.mass_mesh(scene, "rod"),
        lambda scene, x: pysim.loops.constrained_aba(scene, x, x, x),
        lambda scene, x: pysim.loops.constrained_aba_derivatives(scene, x, x, x),
        lambda scene, x: pysim.loops.constraint_force_derivatives(scene, x, x, x),
        pysim.loops.constraints,
        lambda scene, x: pysim.loops.project(scene, x, x),
        pysim.loops.mobility,
        lambda scene, x: pysim.loops.actuation_map(scene, x, ["hinge"]),
    ],
)
def test_a_scene_for_a_model_is_reported_which_to_give(call):
    scene = pysim.load_scene(SCENES / "pendulum.toml")
    called_wrongly(
        lambda: call(scene, scene.state.q),
        "model must be a pysim.Model, got Scene; pass its .model",
    )


def test_passive_includes_passive_forces_in_nonlinear_effects_and_gravity(rng):
    model = compile_model(random_tree(rng, passive=True))
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    h, g = pysim.nonlinear_effects(model, q, v), pysim.generalized_gravity(model, q)
    at_rest = pysim.passive_forces(model, q, 0 * v)
    np.testing.assert_allclose(
        pysim.nonlinear_effects(model, q, v, passive=True), h - pysim.passive_forces(model, q, v)
    )
    np.testing.assert_allclose(pysim.generalized_gravity(model, q, passive=True), g - at_rest)
    assert np.abs(at_rest).max() > 0
