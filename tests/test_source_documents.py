"""Formulas of the source documents that are printed wrong, ambiguous or missing, by FORMULAS.md's numbers.

Oracle: dense algebra and differences; each printed form that can be written down is shown to fail. Held elsewhere:

E0.3-E0.5, E0.10, E0.11 (also A3 item 10)   tests/inertia/test_body.py       E0.12   tests/inertia/test_factorisation.py
E0.8, E4.1, section 0                       tests/inertia/test_body.py, test_parametrisations.py
E2.8                                        tests/algorithms/test_reactions.py
E1.7                                        tests/algorithms/test_configurations.py
E3.1-E3.5                                   tests/algorithms/test_kwon.py
E3.8, E3.9, E3.10                           tests/loops/test_actuation.py, tests/loops/test_five_bar.py
E3.12-E3.14                                 tests/inertia/test_mesh.py
E4.2, E4.3, E4.5, E4.6                      tests/inertia/test_parametrisations.py
"""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim import spatial
from pysim.worlds.loading import compile_model
from tests.oracles import kwon
from tests.oracles.mechanisms import one_body, random_pose, random_theta, random_tree
from tests.oracles.spatial import adjoint, inverse, rotation, skew


def test_a_rotation_turns_angular_velocity_by_its_cofactors(rng):
    """E2.2-E2.4: R Ω Rᵀ = (R ω)~ by identities of cofactors, three of them misprinted on the KSL page."""
    R, w = spatial.exp(rng.normal(size=3)), rng.normal(size=3)
    np.testing.assert_allclose(R @ skew(w) @ R.T, skew(R @ w), atol=1e-15)
    r = lambda i, j: R[i - 1, j - 1]  # noqa: E731, numbered from 1 as on the page
    assert r(2, 3) * r(3, 1) - r(2, 1) * r(3, 3) == pytest.approx(r(1, 2))  # identities 1 and 5
    assert r(2, 3) * r(3, 1) - r(2, 1) * r(3, 2) != pytest.approx(r(1, 2), abs=1e-3)
    assert r(1, 1) * r(2, 2) - r(1, 2) * r(2, 1) == pytest.approx(r(3, 3))  # identity 3
    assert r(1, 2) * r(2, 1) - r(1, 1) * r(2, 2) != pytest.approx(r(3, 3), abs=1e-3)


def test_the_inverse_adjoint_has_the_skew_matrix_behind_the_rotation(rng):
    """E2.5: Ad⁻¹ = [Rᵀ, −Rᵀ r~; 0, Rᵀ]; the page prints r~ Rᵀ, its notation −r~ Rᵀ."""
    X = random_pose(rng)
    R, r = X[:3, :3], X[:3, 3]
    back = spatial.Ad(spatial.inverse(X))
    np.testing.assert_allclose(back @ spatial.Ad(X), np.eye(6), atol=1e-14)
    np.testing.assert_allclose(back[:3, 3:], -R.T @ skew(r), atol=1e-15)
    for printed in (skew(r) @ R.T, -skew(r) @ R.T):
        assert np.abs(printed - back[:3, 3:]).max() > 0.1


def test_the_screw_basis_has_the_rotation_in_its_upper_block(rng):
    """E2.6: the entry of row 2 and column 3 is R23; the page prints R11."""
    X = random_pose(rng)
    entry = spatial.Ad(X)[1, 2]
    assert entry == X[1, 2]
    assert entry != pytest.approx(X[0, 0], abs=1e-3)


def test_a_hinge_carries_the_force_along_its_axis(rng):
    """E2.7: constraint forces are reciprocal to the motion, not orthogonal to the axis."""
    at = np.eye(4)
    at[:3, :3] = rotation(np.array([0.0, 1, 0]), 0.4)
    model = compile_model(one_body("revolute", random_theta(rng), at=at))
    q, v, a = rng.normal(size=(3, 1))
    guides = pysim.joint_reactions(model, q, v, a).non_working[0]
    weight = -model.total_mass * model.gravity @ at[:3, 2]
    assert guides[2] == pytest.approx(weight, rel=1e-12)  # axial: no acceleration along it
    assert abs(guides[5]) < 1e-13  # no moment about it


def test_the_bias_of_a_joint_is_the_rate_of_its_subspace_times_the_velocity(rng):
    """E1.2: c = Ṡ v; printed without v it is a matrix, and left out it is missing from the acceleration."""
    model = compile_model(one_body("universal", random_theta(rng)))
    q, v = rng.normal(size=(2, 2))
    S = lambda q: pysim.jacobian(model, q, "body")  # noqa: E731
    h = 1e-5
    S_dot = (S(q + h * v) - S(q - h * v)) / (2 * h)
    c = pysim.frame_acceleration(model, q, v, np.zeros(2), "body")  # S v × S v = 0
    np.testing.assert_allclose(c, S_dot @ v, atol=1e-9)
    assert np.abs(c).max() > 0.1
    assert np.abs(S_dot.sum(axis=1) - c).max() > 0.1
    tau = pysim.rnea(model.with_gravity(np.zeros(3)), q, v, np.zeros(2))
    V = S(q) @ v
    M = kwon.SWAP @ dense(model) @ kwon.SWAP
    wrench = M @ kwon.SWAP @ c - kwon.ad(kwon.SWAP @ V).T @ M @ kwon.SWAP @ V
    np.testing.assert_allclose(tau, S(q).T @ kwon.SWAP @ wrench, atol=1e-12)


def dense(model):
    """The 6×6 inertia of a model's only body, by its regressor."""
    zero = np.zeros(6)
    columns = [pysim.body_regressor(zero, e) @ model.parameters[0] for e in np.eye(6)]
    return np.stack(columns, axis=1)


def test_a_joints_frame_is_its_fixed_place_times_its_motion(rng):
    """E1.3: λM_i = M0 M(q), from the child to the parent; M0 alone and the inverse motion are others."""
    at = random_pose(rng)
    model = compile_model(one_body("revolute", random_theta(rng), at=at))
    motion = np.eye(4)
    motion[:3, :3] = rotation(np.array([0.0, 0, 1]), 0.7)
    X = pysim.forward_kinematics(model, np.array([0.7]))[0]
    np.testing.assert_allclose(X, at @ motion, atol=1e-15)
    assert np.abs(at @ inverse(motion) - X).max() > 0.1


def test_external_wrenches_are_in_the_bodies_own_frames_and_subtracted(rng):
    """E1.6: τ = … − Σ Jᵀ f_ext with the wrench in the body's frame; one of the world is moved there by Ad*."""
    model = compile_model(random_tree(rng, ["free", "revolute", "ball"], chain=True))
    q, (v, a) = model.random_configuration(rng), rng.normal(size=(2, model.nv))
    f_ext = rng.normal(size=(model.nbodies, 6))
    pushed = pysim.rnea(model, q, v, a) - pysim.rnea(model, q, v, a, f_ext)
    for expressed, wrenches in (
        ("local", f_ext),
        (
            "world",
            [
                adjoint(inverse(X)).T @ f
                for X, f in zip(pysim.forward_kinematics(model, q), f_ext, strict=True)
            ],
        ),
    ):
        push = sum(
            pysim.jacobian(model, q, body, expressed).T @ f
            for body, f in zip(model.body_names, wrenches, strict=True)
        )
        np.testing.assert_allclose(pushed, push, atol=1e-12)


def test_every_joint_has_one_twist_and_no_frame_beyond_the_last_has_one(rng):
    """E3.6: η has a block a joint, 6 n in all; the printed 6 (n + 1) has six columns of zeros."""
    model = compile_model(random_tree(rng, ["revolute", "prismatic", "revolute"]))
    q, v, a = rng.normal(size=(3, 3))
    P = pysim.differential_dynamics(model, q, v, a).velocity
    assert P.shape == (3, 6, 6 * 3 + 3 * 3)


def test_the_dual_adjoint_may_be_reversed(rng):
    """E3.7: equation 10, ad_Aᵀ F = ad*_F A; of a rate it holds as ad_V̇ᵀ F = ad*_F V̇, not as a rate of ad_Vᵀ F."""
    A, F, F_dot = rng.normal(size=(3, 6))
    np.testing.assert_allclose(kwon.ad(A).T @ F, kwon.ad_star(F) @ A, atol=1e-14)
    np.testing.assert_array_equal(kwon.ad_star(F), -kwon.ad_star(F).T)
    mine = -kwon.SWAP @ spatial.cross_wrench(kwon.SWAP @ A, kwon.SWAP @ F)
    np.testing.assert_allclose(mine, kwon.ad_star(F) @ A, atol=1e-14)
    assert np.abs(kwon.ad_star(F_dot) @ A).max() > 0.1
