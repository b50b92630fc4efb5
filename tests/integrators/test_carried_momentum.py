"""Momenta that a variational scheme carries from step to step (cpp/stepping/carried_momentum.hpp).

Oracles: conservation, and the same scheme made anew at every step.
"""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim import _engine
from tests.engine_steps import make_steps
from tests.integrators.test_closed_forms import rest_drive
from tests.integrators.test_implicit import memory_of
from tests.integrators.test_variational import floating_robot, momentum_about_com

SCHEMES = ("variational", "variational4")
STEP = 2e-3  # [s]


def run(model, q, v, parts, *, scheme="variational", drive=None, memory=None):
    """The state after runs of so many steps each; what is carried goes from one to the next in `memory`."""
    drive, made = drive or rest_drive(model), 0
    for steps in parts:
        q, v, done = make_steps(model, q, v, made * STEP, STEP, steps, scheme, drive, memory=memory)
        assert done == steps
        made += steps
    return q, v


def momenta(model, root, q, v):
    """What nothing changes: both momenta of a tree that floats, else the one about its pivot, in the world."""
    if root == "free":
        return np.concatenate(momentum_about_com(model, q, v))
    return pysim.forward_kinematics(model, q)[0][:3, :3] @ (pysim.crba(model, q) @ v)[:3]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("root", ["free", "ball"])
def test_rounding_of_steps_does_not_add_up_in_the_momenta(root, scheme, rng, isa):
    model = floating_robot(rng, root)
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    before = momenta(model, root, q, v)
    off = momenta(model, root, *run(model, q, v, [20_000], scheme=scheme)) - before
    assert np.abs(off).max() < 1e-14 * np.linalg.norm(before)


def test_a_whole_that_does_not_move_stays_so_while_its_limbs_do(rng, isa):
    """As of a falling cat: the momenta are differences of those of its parts."""
    model = floating_robot(rng)
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    M = pysim.crba(model, q)
    v[:6] = -np.linalg.solve(M[:6, :6], M[:6, 6:] @ v[6:])
    of_limbs = np.linalg.norm((M @ v)[6:])
    whole = momenta(model, "free", *run(model, q, v, [20_000]))
    assert np.abs(whole).max() < 1e-14 * of_limbs


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("root", ["free", "ball"])
def test_under_forces_they_go_as_those_of_steps_made_anew(root, scheme, rng, isa):
    """Gravity, motors and dampers, at the root too."""
    nv = 6 if root == "free" else 3
    model = floating_robot(rng, root, (0.4, -0.3, -9.81), damping=rng.uniform(0.1, 1, nv))
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    drive = _engine.Actuation(*rng.normal(size=(4, model.nv)))
    whole = run(model, q, v, [40], scheme=scheme, drive=drive)
    for carried, anew in zip(
        whole, run(model, q, v, [1] * 40, scheme=scheme, drive=drive), strict=True
    ):
        np.testing.assert_allclose(carried, anew, rtol=0, atol=1e-11)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_any_split_of_a_run_gives_the_same_bits(scheme, rng):
    model = floating_robot(rng, gravity=(0.0, 0.0, -9.81))
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    results = [
        run(model, q, v, parts, scheme=scheme, memory=memory_of(model, scheme))
        for parts in ([12], [1, 4, 7])
    ]
    for whole, split in zip(*results, strict=True):
        np.testing.assert_array_equal(split, whole)


def test_a_state_that_was_changed_between_two_calls_is_gone_on_from(rng):
    """By a millionth, or whole: what the steps before left is no part of it."""
    model = floating_robot(rng)
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    memory = memory_of(model, "variational")
    q, v = run(model, q, v, [20], memory=memory)
    for changed in (v * (1 + 1e-6), rng.normal(size=model.nv)):
        gone_on = run(model, q, changed, [20], memory=memory.copy())
        for stale, new in zip(gone_on, run(model, q, changed, [20]), strict=True):
            np.testing.assert_array_equal(stale, new)


def test_a_root_with_armature_carries_nothing_beside_worlds_that_do(rng):
    """Armature is no body's momentum: the first model's steps are those of calls of one step each."""
    numbers = rng.bit_generator.state
    models = []
    for armature in (0.3, 0.0, 0.1, 0.0, 0.0):
        rng.bit_generator.state = numbers
        models.append(floating_robot(rng, armature=np.full(6, armature)))
    q = np.array([models[0].random_configuration(rng) for _ in models])
    v = rng.normal(size=(len(models), models[0].nv))
    for one, other in zip(
        run(models[0], q[0], v[0], [30]), run(models[0], q[0], v[0], [1] * 30), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    together = pysim.rollout(models, q, v, None, STEP, "variational", steps=30)
    for k, model in enumerate(models):
        alone = pysim.rollout(model, q[k], v[k], None, STEP, "variational", steps=30)
        for world, single in zip(together, alone, strict=True):
            np.testing.assert_array_equal(world[k], single)
