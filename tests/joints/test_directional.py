"""First, second and third derivatives of traced joints along tangent directions.

Oracles: complex steps of the derivative one order lower, by the tape in complex numbers and without a rule; differences
of the pose of moved configurations; the commutator of two turns; a circle.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import pysim
from pysim import _engine
from pysim.joints import directional_derivatives, engine_probe
from pysim.joints.motion_evaluation import TracedNumbers, rates
from pysim.joints.trace import derivative_towards, trace
from pysim.tracing.evaluation import rate
from tests.joints import plugins
from tests.joints.test_callbacks import CallbackSlot

PLUGINS = [
    plugins.ScrewSlot(0.1),
    plugins.Ellipsoid(),
    plugins.Knee(),
    plugins.Swing(),
    plugins.TwinFree(),
    plugins.TwinPlanar(),
]
STATES = 5


def states(joint, rng):
    q = np.array([joint.sample(rng) for _ in range(STATES)])
    return q, rng.normal(size=(3, STATES, joint.coordinates.nv))


def close(actual, expected, tolerance=1e-12):
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize("joint", PLUGINS, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_each_order_is_the_complex_step_of_the_order_below(joint, order, rng):
    q, u = states(joint, rng)
    traced = trace(joint)
    nq, nv = traced.coordinates.nq, traced.coordinates.nv
    tape, nodes = traced.tape.copy(), [*traced.pose, *traced.subspace]
    for k in reversed(range(1, order)):  # D[u₂, …, u_k] by rule
        along = [tape.input(nq + k * nv + i) for i in range(nv)]
        derivative = derivative_towards(tape, traced.coordinates, along)
        nodes = [derivative.of(node) for node in nodes]
    inputs = np.concatenate([q, *u], axis=1).T
    moved = np.concatenate([rates(traced.coordinates, q, u[0]), *(0 * u)], axis=1).T
    numbers = rate(tape, inputs, moved, nodes)  # D[u₁] of it by complex steps

    found = directional_derivatives(joint, q, *u[:order])

    close(found.pose[:, :3, :3].transpose(0, 2, 1).reshape(STATES, 9), numbers[:9].T)
    close(found.pose[:, :3, 3], numbers[9:12].T)
    close(found.subspace.transpose(0, 2, 1).reshape(STATES, -1), numbers[12:].T)


@pytest.mark.parametrize("joint", PLUGINS, ids=lambda p: type(p).__name__)
def test_directional_derivatives_equal_mixed_differences_in_the_order_of_directions(joint, rng):
    q, u = states(joint, rng)
    numbers = TracedNumbers(joint, trace(joint))
    model = engine_probe.of_coordinates(joint.coordinates)
    h = 2e-3

    def pose(s, t, r):
        at = q
        for step, direction in zip((s, t, r), u, strict=True):
            at = _engine.integrate(model, at, step * h * direction)
        return numbers.poses(at)

    third = sum(s * t * r * pose(s, t, r) for s in (-1, 1) for t in (-1, 1) for r in (-1, 1)) / (
        8 * h**3
    )
    found = directional_derivatives(joint, q, *u).pose
    np.testing.assert_allclose(found, third, rtol=0, atol=1e-3 * max(1.0, np.abs(found).max()))


def test_two_turns_differ_by_the_turn_about_their_product(rng):
    ball = plugins.TwinBall()
    q, (u, w, _) = states(ball, rng)
    there = directional_derivatives(ball, q, u, w).pose
    back = directional_derivatives(ball, q, w, u).pose
    close(there - back, directional_derivatives(ball, q, np.cross(u, w)).pose)


def test_a_hinge_runs_round_its_circle():
    q, one = np.array([0.3]), np.ones(1)
    third = directional_derivatives(plugins.TwinRevolute(), q, one, one, one)
    s, c = np.sin(0.3), np.cos(0.3)
    expected = np.array([[0, 0, 0, 0], [0, s, c, 0], [0, -c, s, 0], [0, 0, 0, 0]])
    close(third.pose, expected, 1e-15)
    assert (third.subspace == 0).all()


def test_joints_that_cannot_be_differentiated_are_rejected():
    slot, q, u = plugins.ScrewSlot(0.1), np.zeros(1), np.ones(1)
    for call, message in (
        (
            lambda: directional_derivatives(CallbackSlot(0.1), q, u),
            "CallbackSlot: is a CallbackJoint, which has no program to differentiate; derive it from Joint",
        ),
        (
            lambda: directional_derivatives(slot, q),
            "directions: give one (…, nv) for each order of the derivative",
        ),
        (
            lambda: directional_derivatives(slot, q, u, np.ones(2)),
            "direction 2: must have shape (…, 1), got (2,)",
        ),
        (
            lambda: directional_derivatives(slot, np.zeros((3, 1)), u),
            "direction 1: must have leading axes (3,) as q, got ()",
        ),
    ):
        with pytest.raises(pysim.PysimError, match=re.escape(message)):
            call()
