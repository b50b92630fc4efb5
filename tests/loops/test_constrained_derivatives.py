"""Derivatives of constrained accelerations and of what holds them.

Oracles: sixth-order differences of `constrained_aba` and `constraint_forces`, which other tests judge; Pinocchio's
derivatives of ANYmal with two feet held; the derivatives of the tree where nothing is tied.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.errors import PysimError
from pysim.loops import (
    allowed_motions,
    constrained_aba,
    constrained_aba_derivatives,
    constraint_force_derivatives,
    constraint_forces,
    constraint_jacobian,
    project,
)
from pysim.mechanism.compile import start_state
from pysim.worlds.loading import compile_model
from tests.algorithms.random_states import close
from tests.joints.chains import plugin_chain
from tests.loops.mechanisms import closed as close_tree, four_bar
from tests.loops.test_constraints import LOOPS, PLUGINS, TREE, closed
from tests.loops.test_torque_derivatives import MECHANISMS
from tests.oracles.differences import along, derivatives
from tests.oracles.mechanisms import random_tree

SCENES = Path(__file__).parents[2] / "scenes"
TIED = [name for name in MECHANISMS if name not in LOOPS]  # couplings, other trees, scenes
TURNING = ("universal", "plugin", "lowered plugin")  # rows are but a basis of what the joint holds
ILL = ("slider-crank", "stewart platform")  # rows near to dependent: differences lose digits
INDEPENDENT = [
    "translation",
    "wheel_on_plane",
    *(k for k in MECHANISMS if k not in (*TURNING, *ILL, "five-bar said twice")),
]
STEP = 8  # differences take an eighth of the usual step


class Tied:
    """A mechanism at a state, with forces on it."""

    def __init__(self, spec, q, rng):
        self.model = m = compile_model(spec)
        on = project(m, q, rng.normal(size=m.nv))
        assert on.residual < 1e-10
        self.q, self.v, self.loop_q = on.q, on.v, on.loop_q
        self.tau, self.f_ext = rng.normal(size=m.nv), rng.normal(size=(m.nbodies, 6))

    def call(self, function, q, v, tau, **options):
        return function(self.model, q, v, tau, self.f_ext, loop_q=self.loop_q, **options)

    def derivatives(self, function, **options):
        return self.call(function, self.q, self.v, self.tau, **options)

    def differences(self, function, **options):
        """By q, v and τ."""
        n, run = self.model.nv, partial(self.call, function, **options)
        return (
            STEP
            * along(lambda d: run(self.model.integrate(self.q, d / STEP), self.v, self.tau), n),
            along(lambda d: run(self.q, self.v + d, self.tau), n),
            along(lambda d: run(self.q, self.v, self.tau + d), n),
        )


def all_close(found, expected, tolerance=1e-9):
    """Within a tolerance of the largest entry, or of 1e-3."""
    for mine, right in zip(found, expected, strict=True):
        size = max(1e-3, np.abs(right).max())
        np.testing.assert_allclose(mine, right, rtol=0, atol=tolerance * size)


@pytest.mark.parametrize("kind", [*LOOPS, *PLUGINS])
def test_accelerations_under_a_loop_of_every_type_have_their_derivatives(kind, rng):
    at = Tied(*closed(kind, rng), rng)
    all_close(at.derivatives(constrained_aba_derivatives), at.differences(constrained_aba))


@pytest.mark.parametrize("name", TIED)
def test_accelerations_of_coupled_and_closed_mechanisms_have_their_derivatives(name, rng):
    spec, q, _ = MECHANISMS[name](rng)
    at = Tied(spec, q, rng)
    found, expected = at.derivatives(constrained_aba_derivatives), at.differences(constrained_aba)
    all_close(found, expected, 1e-6 if name in ILL else 1e-9)


@pytest.mark.parametrize("name", INDEPENDENT)
def test_forces_of_independent_rows_have_their_derivatives(name, rng):
    spec, q = MECHANISMS[name](rng)[:2] if name in MECHANISMS else closed(name, rng)
    at = Tied(spec, q, rng)
    assert np.linalg.matrix_rank(constraint_jacobian(at.model, at.q), 1e-9) == at.model.rows
    all_close(at.derivatives(constraint_force_derivatives), at.differences(constraint_forces))


@pytest.mark.parametrize("kind", ["revolute", "weld", "distance", "point_on_line"])
def test_off_its_loop_the_derivatives_are_of_what_is_computed(kind, rng):
    at = Tied(*closed(kind, rng), rng)
    at.q = at.model.integrate(at.q, 0.05 * rng.normal(size=at.model.nv))
    at.v = rng.normal(size=at.model.nv)
    all_close(at.derivatives(constrained_aba_derivatives), at.differences(constrained_aba))


def test_passive_forces_and_springs_have_their_part(rng):
    tree = random_tree(rng, TREE, passive=True)
    smooth = [replace(j, friction_width=np.full_like(j.friction_width, 2.0)) for j in tree.joints]
    at = Tied(*close_tree(replace(tree, joints=tuple(smooth)), rng, "revolute"), rng)
    found = at.derivatives(constrained_aba_derivatives, passive=True)
    all_close(found, at.differences(constrained_aba, passive=True))


def test_without_ties_they_are_those_of_the_tree(rng):
    model = compile_model(random_tree(rng, TREE, mimic=True))
    q, (v, tau) = model.random_configuration(rng), rng.normal(size=(2, model.nv))
    found = constrained_aba_derivatives(model, q, v, tau)
    all_close(found, pysim.aba_derivatives(model, q, v, tau), 1e-12)


@pytest.mark.parametrize("name", ["bricard", "four_bars", "five_bar"])
def test_redundant_rows_leave_the_derivatives_along_the_mechanisms_motions(name, rng):
    scene = pysim.load_scene(SCENES / f"{name}.toml")
    at = Tied(scene.model.spec, scene.state.q, rng)
    motions = allowed_motions(at.model, at.q)

    def ahead(d):
        q = project(at.model, at.model.integrate(at.q, motions @ d), 0 * at.v).q
        return at.call(constrained_aba, q, at.v, at.tau)

    found = at.derivatives(constrained_aba_derivatives)[0] @ motions
    all_close([found], [along(ahead, motions.shape[1])], 1e-8)


def test_a_singular_position_is_rejected_and_named_in_its_batch():
    model = compile_model(four_bar())
    open_q, flat = start_state(model).q, np.zeros(3)
    still = np.zeros(3)
    problem = (
        r"^constrained_aba_derivatives: the state is a singular position, at which infinitesimal motions have no "
        r"finite continuation and accelerations have no derivative; choose a state away from it$"
    )
    with pytest.raises(PysimError, match=problem):
        constrained_aba_derivatives(model, flat, still, still)
    q = np.array([open_q] * 9 + [flat, open_q])
    problem = r"^constraint_force_derivatives: state 9 is a singular position"
    with pytest.raises(PysimError, match=problem):
        constraint_force_derivatives(model, q, 0 * q, 0 * q)


@pytest.mark.parametrize("kind", ["universal", "test_ellipsoid"])
def test_rows_that_turn_with_their_joint_have_no_derivatives_of_forces(kind, rng):
    at = Tied(*closed(kind, rng), rng)
    problem = rf"^constraint_force_derivatives: the rows of loop 'loop' \({kind}\) rotate as its joint moves"
    with pytest.raises(PysimError, match=problem):
        at.derivatives(constraint_force_derivatives)


def test_a_joint_that_python_computes_is_rejected(rng):
    model = plugin_chain(rng)
    q, (v, tau) = model.random_configuration(rng), rng.normal(size=(2, model.nv))
    with pytest.raises(ValueError, match="is a CallbackJoint, which has no analytical derivatives"):
        constrained_aba_derivatives(model, q, v, tau)


def batch(kind, rng, n=11):
    """n states of a mechanism with a loop."""
    at = Tied(*closed(kind, rng), rng)
    m = at.model
    q = np.array([m.integrate(at.q, 0.05 * x) for x in rng.normal(size=(n, m.nv))])
    on = project(m, q, rng.normal(size=(n, m.nv)))
    return m, on.q, on.v, rng.normal(size=(n, m.nv))


@pytest.mark.parametrize("kind", ["revolute", "universal", "distance", "wheel_on_plane", "weld"])
def test_a_batch_gives_the_bits_of_its_states_alone(kind, rng, isa):
    model, q, v, tau = batch(kind, rng)
    together = constrained_aba_derivatives(model, q, v, tau, passive=True)
    for k in range(len(q)):
        alone = constrained_aba_derivatives(model, q[k], v[k], tau[k], passive=True)
        for one, all_of_them in zip(alone, together, strict=True):
            np.testing.assert_array_equal(one, all_of_them[k])


@pytest.mark.skipif(
    not {"avx2", "avx512"} <= set(pysim.available_isas()), reason="needs AVX2 and AVX-512"
)
def test_avx2_and_avx512_give_the_same_bits(rng):
    states, results = batch("revolute", rng), []
    for isa in ("avx2", "avx512"):
        pysim.use_isa(isa)
        results.append(constrained_aba_derivatives(*states))
    pysim.use_isa("auto")
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("function", [constrained_aba_derivatives, constraint_force_derivatives])
def test_three_arrays_take_the_results_and_threads_change_no_bit(function, rng):
    model, q, v, tau = batch("cylindrical", rng, 37)
    expected = function(model, q, v, tau)
    out = tuple(np.full_like(x, np.nan) for x in expected)
    found = function(model, q, v, tau, threads=2, out=out)
    for mine, place, right in zip(found, out, expected, strict=True):
        assert mine is place
        np.testing.assert_array_equal(mine, right)
    with pytest.raises(ValueError, match=r"^out must be a tuple of 3 arrays$"):
        function(model, q, v, tau, out=out[:2])


def test_single_precision_agrees_to_its_rounding(rng):
    model, q, v, tau = batch("cylindrical", rng)
    double = constrained_aba_derivatives(model, q, v, tau)
    single = constrained_aba_derivatives(model, *(x.astype(np.float32) for x in (q, v, tau)))
    assert all(x.dtype == np.float32 for x in single)
    all_close(single, double, 3e-3)


def test_derivatives_of_a_robot_with_fixed_feet_equal_pinocchios():
    both = pytest.importorskip("tests.benchmarks.standing_robot").Standing(3)
    order = both.order
    a = constrained_aba(both.model, both.q, both.v, both.tau)
    slopes = constrained_aba_derivatives(both.model, both.q, both.v, both.tau)
    for k in range(3):
        peers_a, peers_slopes = both.peers(k)
        close(a[k][order], peers_a, 1e-9)
        for mine, theirs in zip(slopes, peers_slopes, strict=True):
            close(mine[k][order][:, order], theirs, 1e-9)


def test_springs_between_bodies_count_where_loops_are_closed() -> None:
    """Andrews' mechanism, accelerations of 2e5 rad/s²: rounding leaves the differences by v 1e-6."""
    scene = pysim.load_scene(SCENES / "andrews.toml")
    model, q = scene.model, scene.state.q
    v, tau = project(model, q, np.linspace(1, 30, model.nv)).v, np.linspace(-1, 1, model.nv)

    def found(q, v, tau):
        return constrained_aba(model, q, v, tau, passive=True)

    expected = derivatives(found, model.integrate, q, v, tau)
    slopes = constrained_aba_derivatives(model, q, v, tau, passive=True)
    for mine, right, tolerance in zip(slopes, expected, (1e-9, 1e-6, 1e-9), strict=True):
        np.testing.assert_allclose(mine, right, rtol=0, atol=tolerance * np.abs(right).max())
