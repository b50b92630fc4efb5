"""Hinges that close loops in a plane: the oracle is the dense KKT system in space of tests/oracles/loops.py."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.loops import (
    constrained_aba,
    constrained_aba_derivatives,
    constraint_forces,
    constraint_residual,
    constraints,
    project,
)
from pysim.scene.spec import ModelSpec
from pysim.typing import Array
from pysim.worlds.loading import compile_model
from tests.oracles.loops import Loops
from tests.oracles.mechanisms import spring
from tests.oracles.planar import hinge_loop, planar_tree
from tests.oracles.single_rollouts import assert_same, rolled_alone
from tests.oracles.tree import Tree

FOUR_BAR = Path(__file__).parents[2] / "scenes" / "four_bar.toml"
KINDS = (
    "revolute",
    "revolute",
    "prismatic",
    "revolute",
    "planar",
    "revolute",
    "revolute",
    "prismatic",
)
ENDS = {
    "of two bodies": [("body1", "body7")],
    "of later to earlier": [("body7", "body2")],
    "to the world": [("body6", "world"), ("world", "body4")],
    "two": [("body2", "body5"), ("body3", "body7")],
}


@pytest.fixture(params=[(1, False), (1, True), (2, False)], ids=["tree", "chain", "two trees"])
def form(request: pytest.FixtureRequest) -> tuple[int, bool]:
    roots: tuple[int, bool] = request.param
    return roots


def mechanism(
    rng: np.random.Generator, form: tuple[int, bool], ends: list[tuple[str, str]]
) -> tuple[ModelSpec, Array]:
    normal = rng.normal(size=3)
    roots, chain = form
    spec = planar_tree(rng, KINDS, normal=normal, roots=roots, chain=chain)
    q = rng.uniform(-2, 2, Tree(spec).own_nq)
    loops = tuple(hinge_loop(rng, spec, q, a, b, normal) for a, b in ends)
    return replace(spec, loops=loops), q


@pytest.mark.parametrize("ends", ENDS.values(), ids=ENDS)
def test_accelerations_and_forces_are_those_of_the_dense_system_in_space(
    ends: list[tuple[str, str]], form: tuple[int, bool], rng: np.random.Generator, isa: str
) -> None:
    spec, q = mechanism(rng, form, ends)
    model, oracle = compile_model(spec), Loops(spec)
    assert model.planar_loops
    v = project(model, q, rng.normal(size=model.nv)).v
    tau, f_ext = rng.normal(size=model.nv), rng.normal(size=(model.nbodies, 6))

    a = constrained_aba(model, q, v, tau, f_ext)
    pull = constraints(model, q).jacobian.T @ constraint_forces(model, q, v, tau, f_ext)

    expected, forces = oracle.acceleration(q, v, tau, f_ext)
    assert np.abs(constraint_residual(model, q)).max() < 1e-12
    assert np.abs(oracle.jacobian(q) @ v).max() < 1e-11
    np.testing.assert_allclose(a, expected, rtol=0, atol=1e-7 * np.abs(expected).max())
    np.testing.assert_allclose(pull, forces, rtol=0, atol=1e-7 * max(np.abs(forces).max(), 1))


@pytest.mark.parametrize("ends", ENDS.values(), ids=ENDS)
def test_a_disturbed_mechanism_closes_again_where_the_definition_says(
    ends: list[tuple[str, str]], form: tuple[int, bool], rng: np.random.Generator
) -> None:
    spec, q = mechanism(rng, form, ends)
    model, oracle = compile_model(spec), Loops(spec)
    moved = project(model, q + 0.02 * rng.normal(size=q.size), rng.normal(size=model.nv))
    assert np.abs(oracle.residual(moved.q)).max() < 1e-10
    assert np.abs(oracle.jacobian(moved.q) @ moved.v).max() < 1e-9


def test_a_batch_gives_the_bits_of_its_states_alone(
    form: tuple[int, bool], rng: np.random.Generator, isa: str
) -> None:
    spec, q = mechanism(rng, form, ENDS["two"])
    model = compile_model(spec)
    on = project(model, q + 0.02 * rng.normal(size=(11, q.size)), rng.normal(size=(11, model.nv)))
    tau = rng.normal(size=on.v.shape)
    together = constrained_aba(model, on.q, on.v, tau)
    alone = [constrained_aba(model, *one) for one in zip(on.q, on.v, tau, strict=True)]
    np.testing.assert_array_equal(together, alone)


def test_springs_between_bodies_pull_as_their_generalised_forces_in_space_do(
    form: tuple[int, bool], rng: np.random.Generator
) -> None:
    spec, q = mechanism(rng, form, ENDS["of two bodies"])
    springs = tuple(
        spring(f"{a} to {b}", a, b, rng.normal(size=3), rng.normal(size=3), 30.0, 4.0, 0.2)
        for a, b in (("world", "body3"), ("body6", "body2"))
    )
    model = compile_model(replace(spec, forces=springs))
    v = project(model, q, rng.normal(size=model.nv)).v
    tau = rng.normal(size=model.nv)
    pulled = constrained_aba(model, q, v, tau, passive=True)
    expected = constrained_aba(model, q, v, tau + pysim.passive_forces(model, q, v))
    np.testing.assert_allclose(pulled, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def test_derivatives_are_the_differences_of_accelerations(
    form: tuple[int, bool], rng: np.random.Generator
) -> None:
    spec, q = mechanism(rng, form, ENDS["of two bodies"])
    model = compile_model(spec)
    v = project(model, q, rng.normal(size=model.nv)).v
    tau, h = rng.normal(size=model.nv), 1e-6
    slopes = constrained_aba_derivatives(model, q, v, tau)
    along = project(model, q, rng.normal(size=model.nv)).v  # the loop stays closed to second order
    there, back = (project(model, q + s * h * along, v) for s in (1, -1))
    ahead, behind = (constrained_aba(model, at.q, at.v, tau) for at in (there, back))
    expected = (ahead - behind) / (2 * h)
    actual = slopes[0] @ ((there.q - back.q) / (2 * h)) + slopes[1] @ ((there.v - back.v) / (2 * h))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_a_slider_crank_is_held_in_its_plane(rng: np.random.Generator) -> None:
    """Crank and rod in one tree, the slider a tree of its own."""
    normal = rng.normal(size=3)
    kinds = ("revolute", "revolute", "prismatic")
    spec = planar_tree(rng, kinds, normal=normal, parents=(-1, 0, -1))
    q = rng.uniform(-1, 1, 3)
    spec = replace(spec, loops=(hinge_loop(rng, spec, q, "body1", "body2", normal),))
    model, oracle = compile_model(spec), Loops(spec)
    assert model.planar_loops
    v = project(model, q, rng.normal(size=3)).v
    tau = rng.normal(size=3)
    expected, _ = oracle.acceleration(q, v, tau)
    found = constrained_aba(model, q, v, tau)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def test_planar_and_spatial_worlds_in_one_call_are_bit_identical_to_separate_calls(
    rng: np.random.Generator,
) -> None:
    seed, normal = int(rng.integers(1 << 30)), rng.normal(size=3)

    def world(tilt: float) -> tuple[pysim.Model, Array]:
        rng = np.random.default_rng(seed)
        spec = planar_tree(rng, ["revolute"] * 5, normal=normal, chain=True, tilt=tilt)
        q = rng.uniform(-1, 1, 5)
        return compile_model(
            replace(spec, loops=(hinge_loop(rng, spec, q, "world", "body3", normal),))
        ), q

    models, q = zip(
        *(world(tilt) for tilt in (0.0, 0.1, 0.0, 0.0, 0.2, 0.0, 0.0, 0.0)), strict=True
    )
    assert [model.planar_loops for model in models] == [
        True,
        False,
        True,
        True,
        False,
        True,
        True,
        True,
    ]
    q0 = np.array(q)
    together = pysim.rollout(list(models), q0, 0 * q0, None, 1e-3, "rk4", steps=10)
    assert_same(together, rolled_alone(models, q0, 0 * q0, None, 1e-3, "rk4", steps=10))


def test_a_rollout_of_worlds_with_their_own_numbers_has_the_bits_of_each_alone(
    rng: np.random.Generator,
) -> None:
    scenes = [
        pysim.load_scene(FOUR_BAR, {"body.coupler.shape.density": density})
        for density in np.linspace(1000.0, 9000.0, 9)
    ]
    models, q = [s.model for s in scenes], np.array([s.state.q for s in scenes])
    assert all(model.planar_loops for model in models)
    together = pysim.rollout(models, q, 0 * q, None, 1e-3, "rk4", steps=20)
    assert_same(together, rolled_alone(models, q, 0 * q, None, 1e-3, "rk4", steps=20))
