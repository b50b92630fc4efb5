"""Analytical derivatives of the dynamics.

Oracles: sixth-order differences (tests/oracles/differences.py) of the dense mechanism of tests/oracles/tree.py along
its own tangent, and of the algorithms themselves, which other tests judge; the inertia.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import pysim
from pysim.scene.spec import CouplingSpec, LoopSpec
from pysim.worlds.loading import compile_model
from tests.joints.test_traced import plugin_tree  # noqa: F401, a fixture
from tests.oracles import tree as oracle
from tests.oracles.differences import derivatives
from tests.oracles.mechanisms import MOVING, random_tree, spring

TOLERANCE = 1e-10  # what the differences allow


def state(model, rng):
    f_ext = rng.normal(size=(model.nbodies, 6))
    return model.random_configuration(rng), *rng.normal(size=(2, model.nv)), f_ext


def all_close(actual, expected, tolerance=TOLERANCE):
    for matrix, wanted in zip(actual, expected, strict=True):
        np.testing.assert_allclose(matrix, wanted, rtol=0, atol=tolerance * np.abs(wanted).max())


def sprung(spec):
    """With springs and dampers between its first, a middle and its last body, and the world."""
    rng = np.random.default_rng(3)
    names = [spec.bodies[k].name for k in (0, len(spec.bodies) // 2, -1)]
    springs = tuple(
        spring(f"s{k}", a, b, *rng.normal(size=(2, 3)), *rng.uniform(1, 30, 2), 0.7)
        for k, (a, b) in enumerate([("world", names[1]), (names[2], names[0]), names[1:]])
    )
    return replace(spec, forces=springs)


@pytest.fixture(params=["tree", "chain", "mimic", "springs", "springs and mimic"])
def spec(request, rng):
    kinds = rng.permutation([*MOVING, "fixed", "revolute", "prismatic"])
    chain, mimic = request.param == "chain", "mimic" in request.param
    spec = random_tree(rng, kinds, chain=chain, mimic=mimic, passive=True)
    smooth = [  # friction that a difference can follow, springs on rotations too
        replace(
            joint,
            friction_width=np.full(oracle.SIZES[joint.type][1], 2.0),
            stiffness=rng.uniform(1, 5, oracle.SIZES[joint.type][1]),
        )
        for joint in spec.joints
    ]
    smoothed = replace(spec, joints=tuple(smooth))
    return sprung(smoothed) if "springs" in request.param else smoothed


def test_torque_derivatives_are_those_of_the_oracle(rng):
    kinds = rng.permutation([*MOVING, "fixed", "revolute", "prismatic"])
    spec = random_tree(rng, kinds, mimic=True)
    model, tree = compile_model(spec), oracle.Tree(spec)
    q, v, a, f_ext = state(model, rng)
    expected = derivatives(partial(tree.rnea, f_ext=f_ext), tree.integrate, q, v, a)
    all_close(pysim.rnea_derivatives(model, q, v, a, f_ext), expected)


def test_from_rest_the_torque_derivatives_are_complex_steps_of_the_oracle(rng, isa):
    """The oracle's own J̇ is a complex step in v; at v = 0 its q is free for another, exact to rounding."""
    kinds = rng.permutation([*MOVING, "fixed", "revolute", "prismatic"])
    spec = random_tree(rng, kinds, mimic=True)
    model, tree = compile_model(spec), oracle.Tree(spec)
    q, _, a, f_ext = state(model, rng)
    still = np.zeros(model.nv)
    stepped = [
        tree.rnea(tree.integrate(q, 1j * oracle.STEP * e), still, a, f_ext)
        for e in np.eye(model.nv)
    ]
    expected = np.stack([tau.imag / oracle.STEP for tau in stepped], axis=1)
    by_q, by_v, _ = pysim.rnea_derivatives(model, q, still, a, f_ext)
    all_close([by_q], [expected], 1e-13)
    assert (by_v == 0).all()


@pytest.mark.parametrize("passive", [False, True])
def test_derivatives_are_those_of_the_algorithms(spec, rng, passive):
    model = compile_model(spec)
    q, v, x, f_ext = state(model, rng)
    for analytical, algorithm in (
        (pysim.rnea_derivatives, pysim.rnea),
        (pysim.aba_derivatives, pysim.aba),
    ):
        run = partial(algorithm, model, f_ext=f_ext, passive=passive)
        expected = derivatives(run, model.integrate, q, v, x)
        all_close(analytical(model, q, v, x, f_ext, passive=passive), expected)


def test_passive_forces_have_the_derivatives_of_their_differences(spec, rng):
    model = compile_model(spec)
    q, v, x, _ = state(model, rng)
    run = lambda q, v, _: pysim.passive_forces(model, q, v)  # noqa: E731
    expected = derivatives(run, model.integrate, q, v, x)
    all_close(pysim.passive_force_derivatives(model, q, v), expected[:2])


def test_a_spring_at_rest_and_near_a_half_turn_keeps_its_digits(rng):
    spec = random_tree(rng, ["ball"])
    spring = replace(spec.joints[0], stiffness=np.array([1.0, 2.0, 3.0]))
    model = compile_model(replace(spec, joints=(spring,)))
    axis = np.array([0.36, 0.48, 0.8])
    for angle in (0.0, 1e-5, 0.3, 0.49, 0.51, 1.0, 3.0):
        q = model.integrate(model.neutral(), angle * axis)
        run = lambda q, v, _: pysim.passive_forces(model, q, v)  # noqa: E731
        expected = derivatives(run, model.integrate, q, np.zeros(3), np.zeros(3))[0]
        all_close(pysim.passive_force_derivatives(model, q, np.zeros(3))[:1], [expected])


@pytest.mark.parametrize("springs", [False, True])
def test_plugins_have_the_derivatives_of_their_programs(plugin_tree, rng, springs):  # noqa: F811
    if springs:
        plugin_tree = compile_model(sprung(plugin_tree.spec))
    q, v, x, f_ext = state(plugin_tree, rng)
    for analytical, algorithm in (
        (pysim.rnea_derivatives, pysim.rnea),
        (pysim.aba_derivatives, pysim.aba),
    ):
        run = partial(algorithm, plugin_tree, f_ext=f_ext, passive=True)
        expected = derivatives(run, plugin_tree.integrate, q, v, x)
        all_close(analytical(plugin_tree, q, v, x, f_ext, passive=True), expected)


def test_derivative_along_a_is_the_symmetric_inertia_and_along_tau_its_inverse(spec, rng, isa):
    model = compile_model(spec)
    q, v, a, _ = state(model, rng)
    M = pysim.rnea_derivatives(model, q, v, a)[2]
    inverse = pysim.aba_derivatives(model, q, v, a)[2]
    np.testing.assert_array_equal(inverse, inverse.T)
    all_close([M, inverse @ M], [pysim.crba(model, q), np.eye(model.nv)], 1e-9)


def test_three_arrays_take_the_results(spec, rng):
    model = compile_model(spec)
    q, v, a, _ = state(model, rng)
    out = tuple(np.empty((3, model.nv, model.nv)))
    results = pysim.rnea_derivatives(model, q, v, a, out=out)
    assert all(result is place for result, place in zip(results, out, strict=True))
    with pytest.raises(ValueError, match=r"^out must be a tuple of 3 arrays$"):
        pysim.rnea_derivatives(model, q, v, a, out=out[0])


def test_loops_and_couplings_leave_the_derivatives_of_the_tree(rng):
    """`rnea` and `aba` are the tree's, their derivatives too."""
    tree = random_tree(rng, ["revolute", "universal", "revolute", "prismatic", "revolute"])
    bodies = [body.name for body in tree.bodies]
    loop = LoopSpec("loop", "revolute", bodies[2], bodies[4], np.eye(4), np.eye(4))
    gear = CouplingSpec("gear", {"joint0": 1.0, "joint2": 2.0})
    model = compile_model(replace(tree, loops=(loop,), couplings=(gear,)))
    q, v, x, f_ext = state(model, rng)
    for name in ("rnea_derivatives", "aba_derivatives"):
        mine, alone = (
            getattr(pysim, name)(m, q, v, x, f_ext) for m in (model, compile_model(tree))
        )
        all_close(mine, alone, 1e-13)
