"""Detection of singular mass matrices. Oracles: eigenvalues of the dense mass matrix, known singular mechanisms."""

from __future__ import annotations

import time

import numpy as np
import pytest

import pysim
from pysim.errors import ModelError
from pysim.inertia import theta_from_com
from pysim.mechanism.inertia_check import _idle_in_matrix, _idle_in_trees
from pysim.scene.spec import BodySpec, ModelSpec
from pysim.worlds.loading import compile_model
from tests.oracles.mechanisms import make_joint, random_theta, random_tree


def chain(n):
    """Links of 1 kg and 0.1 m, each hinged to the one before."""
    theta = theta_from_com(1.0, [0, 0, -0.05], np.diag([1e-3, 1e-3, 1e-4]))
    bodies = tuple(BodySpec(f"link{k}", theta) for k in range(n))
    at = np.eye(4)
    at[2, 3] = -0.1
    joints = tuple(
        make_joint(f"hinge{k}", "revolute", parent, f"link{k}", at, (0, 1, 0))
        for k, parent in enumerate(("world", *(f"link{k}" for k in range(n - 1))))
    )
    return ModelSpec("chain", np.array([0, 0, -9.81]), bodies, joints)


@pytest.mark.parametrize("seed", range(6))
def test_random_trees_are_definite_by_both_criteria(seed):
    rng = np.random.default_rng(seed)
    model = compile_model(random_tree(rng))
    q = model.random_configuration(rng)
    np.testing.assert_array_equal(_idle_in_trees([model], q), [-1])
    assert _idle_in_matrix(model, q) is None


def test_two_hinges_about_one_axis_with_a_massless_body_between_are_singular(rng):
    bodies = (
        BodySpec("between", np.zeros(10)),
        BodySpec("end", random_theta(rng)),
    )
    joints = (
        make_joint("first", "revolute", "world", "between"),
        make_joint("second", "revolute", "between", "end"),
    )
    with pytest.raises(ModelError, match="joint 'first' moves no inertia"):
        compile_model(ModelSpec("twice", np.zeros(3), bodies, joints))


@pytest.mark.parametrize("links", [60, 400])
def test_a_long_chain_of_ball_joints_with_thin_links_is_definite(links):
    """Links of 2.5 mm and a radius of 5 mm, judged by the eigenvalues of M, too."""
    length, mass = 1.0 / links, 0.2 / links
    moments = np.diag([2.5e-6, 1.3e-6, 1.3e-6]) * 10 * mass
    theta = theta_from_com(mass, [length / 2, 0, 0], moments)
    bodies = tuple(BodySpec(f"link{k}", theta) for k in range(links))
    at = np.eye(4)
    at[0, 3] = length
    joints = tuple(
        make_joint(f"ball{k}", "ball", parent, f"link{k}", at)
        for k, parent in enumerate(("world", *(body.name for body in bodies[:-1])))
    )
    model = compile_model(ModelSpec("cable", np.zeros(3), bodies, joints))
    assert model.nv == 3 * links
    assert _idle_in_matrix(model, model.neutral()) is None


@pytest.mark.slow
def test_a_chain_of_thousands_of_links_loads_in_linear_time():
    """Processor seconds of compilation; a dense mass matrix alone would take 200 MB and a minute."""
    times = []
    for n in (1250, 5000):
        spec = chain(n)
        start = time.process_time()
        model = compile_model(spec)
        times.append(time.process_time() - start)
        assert model.nv == n
    assert times[1] < 8 * times[0]  # 4 for a linear method, 16 for a quadratic one
    a = pysim.aba(model, np.zeros(n), np.zeros(n), np.zeros(n))
    assert np.isfinite(a).all()


@pytest.mark.slow
def test_a_thousand_free_bodies_load_and_fall():
    theta = theta_from_com(1.0, [0, 0, 0], np.diag([1e-3, 1e-3, 1e-3]))
    bodies = tuple(BodySpec(f"body{k}", theta) for k in range(1000))
    joints = tuple(
        make_joint(f"free{k}", "free", "world", body.name) for k, body in enumerate(bodies)
    )
    model = compile_model(ModelSpec("many", np.array([0, 0, -9.81]), bodies, joints))
    q, v = model.neutral(), np.zeros(model.nv)
    a = pysim.aba(model, q, v, v).reshape(-1, 6)
    np.testing.assert_allclose(a[:, 2], -9.81, rtol=1e-12)
