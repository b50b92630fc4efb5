"""Derivatives of torques with respect to where joints sit and how their axes lie.

Oracle: sixth-order differences of the torques of a mechanism that is built again with the joint moved. Moving an axis
by η is the joint moved by η in its parent, and all that it carries moved by −η behind it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pysim
from pysim.compile import compile_model
from pysim.spatial import exp
from tests.oracles.differences import along
from tests.oracles.mechanisms import MOVING, random_tree
from tests.oracles.spatial import adjoint, inverse, spatial_inertia


@pytest.fixture(params=[False, True], ids=["tree", "mimic"])
def spec(request, rng):
    return random_tree(rng, rng.permutation([*MOVING, "revolute"]), mimic=request.param)


def state(model, rng):
    f_ext = rng.normal(size=(model.nbodies, 6))
    return model.random_configuration(rng), *rng.normal(size=(2, model.nv)), f_ext


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def placed(spec, name, X):
    """The mechanism with one joint moved in its parent."""
    return replace(
        spec, joints=tuple(replace(j, at=j.at @ X) if j.name == name else j for j in spec.joints)
    )


def displaced(spec, name, X):
    """The mechanism with all that a joint carries moved by X behind it; bodies' frames stay the joints'."""
    child = next(j.child for j in spec.joints if j.name == name)
    joints = tuple(replace(j, at=X @ j.at) if j.parent == child else j for j in spec.joints)
    bodies = tuple(
        replace(b, theta=moved_parameters(b.theta, X)) if b.name == child else b
        for b in spec.bodies
    )
    return replace(spec, joints=joints, bodies=bodies)


def moved_parameters(theta, X):
    """θ of a body moved by X, in the frame it had before."""
    up = adjoint(inverse(X))
    M = up.T @ spatial_inertia(theta) @ up
    return np.array(
        [M[0, 0], M[5, 1], M[3, 2], M[4, 0], M[3, 3], M[3, 4], M[4, 4], M[3, 5], M[4, 5], M[5, 5]]
    )


def test_torques_follow_the_placements_of_joints(spec, rng, isa):
    model = compile_model(spec)
    q, v, a, f_ext = state(model, rng)

    def torque(name, e):
        return pysim.rnea(compile_model(placed(spec, name, exp(e))), q, v, a, f_ext)

    expected = [along(lambda e, name=name: torque(name, e), 6) for name in model.joint_names]
    close(pysim.placement_derivatives(model, q, v, a, f_ext), np.hstack(expected))


def test_torques_follow_the_twists_of_joints(spec, rng):
    model = compile_model(spec)
    q, v, a, f_ext = state(model, rng)

    def torque(body, name, e):
        moved = displaced(placed(spec, name, exp(e)), name, exp(-e))
        wrenches = np.array(f_ext)
        wrenches[body] = adjoint(exp(e)).T @ f_ext[body]
        return pysim.rnea(compile_model(moved), q, v, a, wrenches)

    expected = [
        along(lambda e, body=body, name=name: torque(body, name, e), 6)
        for body, name in enumerate(model.joint_names)
    ]
    close(pysim.twist_derivatives(model, q, v, a, f_ext), np.hstack(expected))
