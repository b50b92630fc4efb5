"""Torques as functions of link lengths and of bodies moved in their frames.

Oracle: sixth-order differences of the torques of a mechanism that is built again, longer or with a body moved.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pysim
from pysim.inertia import mesh_inertia, moved_derivative
from pysim.spatial import exp
from pysim.worlds.loading import compile_model
from tests.algorithms.algorithm_calls import TETRAHEDRON, tetrahedron
from tests.algorithms.random_states import KINDS
from tests.algorithms.test_design_derivatives import moved_parameters, state
from tests.joints.chains import KINDS as PLUGINS, plugin_chain
from tests.oracles.differences import along
from tests.oracles.mechanisms import random_tree


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def longer(spec, name, dl):
    """The mechanism with the link before a joint grown by dl along its own direction."""

    def grown(joint):
        at = joint.at.copy()
        at[:3, 3] *= 1 + dl / np.linalg.norm(at[:3, 3])
        return replace(joint, at=at)

    return replace(spec, joints=tuple(grown(j) if j.name == name else j for j in spec.joints))


@pytest.mark.parametrize("mimic", [False, True])
def test_torques_follow_the_lengths_of_links(rng, mimic, isa):
    spec = random_tree(rng, rng.permutation(KINDS), mimic=mimic)  # some links are welded to others
    model = compile_model(spec)
    q, v, a, f_ext = state(model, rng)

    def torque(name, dl):
        return pysim.rnea(compile_model(longer(spec, name, dl[0])), q, v, a, f_ext)

    expected = [along(lambda dl, name=name: torque(name, dl), 1) for name in model.joint_names]
    mine = pysim.link_length_derivatives(model, q, v, a, model.joint_names, f_ext)
    close(mine, np.hstack(expected))


def test_plugins_follow_the_lengths_of_links_too(rng):
    model = plugin_chain(rng, [kind for kind in PLUGINS if kind != "test_called_cam"])
    q, v, a, f_ext = state(model, rng)
    names = model.joint_names[1:3]  # plugins both, others behind them

    def torque(name, dl):
        return pysim.rnea(compile_model(longer(model.spec, name, dl[0])), q, v, a, f_ext)

    expected = [along(lambda dl, name=name: torque(name, dl), 1) for name in names]
    close(pysim.link_length_derivatives(model, q, v, a, names, f_ext), np.hstack(expected))


def test_a_joint_at_its_parents_origin_and_an_unknown_one_are_rejected(rng):
    spec = random_tree(rng, ["revolute", "revolute"], chain=True)
    flat = replace(spec, joints=(replace(spec.joints[0], at=np.eye(4)), spec.joints[1]))
    model, x = compile_model(flat), np.zeros(2)
    with pytest.raises(pysim.ModelError) as caught:
        pysim.link_length_derivatives(model, x, x, x, ["joint0"])
    assert str(caught.value) == (
        "joint 'joint0': is at the origin of 'world', so the link between them has no length to vary; "
        "use placement_derivatives"
    )
    with pytest.raises(
        pysim.ModelError, match=r"^joint 'joint': no such joint; did you mean 'joint"
    ):
        pysim.link_length_derivatives(model, x, x, x, ["joint"])


def test_corners_that_move_together_move_the_body(rng):
    """A chain of other derivatives: the whole mesh moved is ∂θ/∂η of `moved_derivative`."""
    model = compile_model(random_tree(rng, ["free", "ball"], chain=True))
    q, v, a, _ = state(model, rng)
    vertices, faces = TETRAHEDRON
    each = pysim.torque_vertex_derivatives(model, q, v, a, tetrahedron(model, "body1"))
    Y = pysim.joint_torque_regressor(model, q, v, a)[:, 10:20]
    together = Y @ moved_derivative(mesh_inertia(vertices, faces, 1000.0))
    close(each.sum(axis=1), together[:, :3])
    spun = [np.cross(e, vertices) for e in np.eye(3)]
    close(np.einsum("ink,rnk->ir", each, spun), together[:, 3:])


def test_a_body_moved_in_its_frame_changes_the_torques_as_the_chain_says(rng):
    spec = random_tree(rng, ["revolute", "ball"], chain=True)
    model = compile_model(spec)
    q, v, a, _ = state(model, rng)

    def torque(e):
        bodies = (spec.bodies[0], replace(spec.bodies[1], theta=moved(spec.bodies[1].theta, e)))
        return pysim.rnea(compile_model(replace(spec, bodies=bodies)), q, v, a)

    def moved(theta, e):
        return moved_parameters(theta, exp(e))

    Y = pysim.joint_torque_regressor(model, q, v, a)[:, 10:20]
    close(Y @ moved_derivative(model.parameters[1]), along(torque, 6))
