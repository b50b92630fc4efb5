"""Derivatives of torques with respect to where joints sit and how their axes lie.

Oracle: sixth-order differences of the torques of a mechanism that is built again with the joint moved. Moving an axis
by η is the joint moved by η in its parent, and all that it carries moved by −η behind it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pysim
from pysim.joints import Joint, Pose, joint, real
from pysim.scene.spec import BodySpec, ModelSpec
from pysim.spatial import exp
from pysim.worlds.loading import compile_model
from tests.joints.test_traced import plugin_joint
from tests.oracles.differences import along
from tests.oracles.mechanisms import (
    GRAVITY,
    MOVING,
    make_joint,
    random_pose,
    random_theta,
    random_tree,
)
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


@joint("test_off_hinge")
class OffHinge(Joint):
    """A hinge beside its frame: runs as the built-in one, placed there."""

    coordinates = real("angle")

    def placement(self, q):
        return Pose.translate(0.1, 0.2, 0.3) @ Pose.rotate_x(0.5) @ Pose.rotate_y(q.angle)


def test_a_plugin_that_runs_as_a_built_in_shape_is_moved_in_the_frame_of_that_shape(rng):
    bodies = tuple(BodySpec(f"b{k}", random_theta(rng)) for k in range(2))
    off = plugin_joint("j0", "test_off_hinge", "world", "b0", random_pose(rng), {})
    hinge = make_joint("j1", "revolute", "b0", "b1", random_pose(rng))
    spec = ModelSpec("off", GRAVITY, bodies, (off, hinge))
    model = compile_model(spec)
    q, v, a, f_ext = state(model, rng)
    L = inverse(off.at) @ model.placements[0]  # of the shape in the plugin's frame
    assert np.abs(L - np.eye(4)).max() > 0.1

    def torque(e):
        moved = compile_model(placed(spec, "j0", L @ exp(e) @ inverse(L)))
        return pysim.rnea(moved, q, v, a, f_ext)

    close(pysim.placement_derivatives(model, q, v, a, f_ext)[:, :6], along(torque, 6))


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
