"""Kwon's algorithm 1: P, Q, R and S of trees.

Oracles: the closed form of tests/oracles/kwon.py (FORMULAS.md, E3.5, angular part first, joints of one coordinate), and
sixth-order differences of the motion and the wrenches of every joint shape.
"""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.spatial import exp
from pysim.worlds.loading import compile_model
from tests.algorithms.test_design_derivatives import displaced, placed, state
from tests.joints.test_traced import plugin_tree  # noqa: F401, a fixture
from tests.oracles.differences import along
from tests.oracles.mechanisms import MOVING, random_tree
from tests.oracles.spatial import adjoint


def close(actual, expected, tolerance=1e-10):
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)


def motion(model, q, v, a, f_ext):
    """V, acceleration less gravity, wrench of the joint, of every body in its frame, and τ, as one vector."""
    names = model.body_names
    X = pysim.forward_kinematics(model, q)
    V = [pysim.frame_velocity(model, q, v, name) for name in names]
    A = np.array([pysim.frame_acceleration(model, q, v, a, name) for name in names])
    A[:, :3] -= np.einsum("bji,j->bi", X[:, :3, :3], model.gravity)
    F = pysim.joint_reactions(model, q, v, a, f_ext).total
    return np.concatenate([np.ravel(x) for x in (V, A, F, pysim.rnea(model, q, v, a, f_ext))])


def as_rows(differential):
    """P, Q, R and S below each other, as `motion` orders them."""
    return np.vstack([x.reshape(-1, x.shape[-1]) for x in differential])


@pytest.fixture(params=[False, True], ids=["tree", "mimic"])
def spec(request, rng):
    return random_tree(rng, rng.permutation([*MOVING, "revolute"]), mimic=request.param)


def test_state_columns_are_differences_of_the_motion(spec, rng, isa):
    model = compile_model(spec)
    q, v, a, f_ext = state(model, rng)
    n = model.nv
    expected = [
        along(lambda d: motion(model, model.integrate(q, d), v, a, f_ext), n),
        along(lambda d: motion(model, q, v + d, a, f_ext), n),
        along(lambda d: motion(model, q, v, a + d, f_ext), n),
    ]
    mine = as_rows(pysim.differential_dynamics(model, q, v, a, f_ext))
    close(mine[:, 6 * model.nbodies :], np.hstack(expected))


def test_twist_columns_are_differences_of_the_mechanism_with_its_axes_moved(spec, rng):
    """The mechanism is built again; its body's frame then sits at e^[η] in the one whose motion is differenced."""
    model = compile_model(spec)
    q, v, a, f_ext = state(model, rng)

    def moved(body, name, e):
        turned = compile_model(displaced(placed(spec, name, exp(e)), name, exp(-e)))
        wrenches = np.array(f_ext)
        wrenches[body] = adjoint(exp(e)).T @ f_ext[body]
        V, A, F, tau = np.split(
            motion(turned, q, v, a, wrenches), np.arange(1, 4) * 6 * model.nbodies
        )
        for x, X in ((V, adjoint(exp(e))), (A, adjoint(exp(e))), (F, adjoint(exp(-e)).T)):
            x[6 * body : 6 * body + 6] = X @ x[6 * body : 6 * body + 6]
        return np.concatenate([V, A, F, tau])

    expected = [
        along(lambda e, body=body, name=name: moved(body, name, e), 6)
        for body, name in enumerate(model.joint_names)
    ]
    mine = as_rows(pysim.differential_dynamics(model, q, v, a, f_ext))
    close(mine[:, : 6 * model.nbodies], np.hstack(expected))


def test_blocks_of_the_torque_are_the_other_derivatives(plugin_tree, rng):  # noqa: F811
    model = plugin_tree
    q, v, a, f_ext = state(model, rng)
    S = pysim.differential_dynamics(model, q, v, a, f_ext).torque
    close(S[:, : 6 * model.nbodies], pysim.twist_derivatives(model, q, v, a, f_ext), 1e-12)
    close(
        S[:, 6 * model.nbodies :], np.hstack(pysim.rnea_derivatives(model, q, v, a, f_ext)), 1e-12
    )
