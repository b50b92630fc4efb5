"""The order that every scheme claims, measured over four halvings of the step.

Oracle: the same motion by steps of Dormand and Prince with tolerances of 1e-14, which test_adaptive.py holds to
published numbers. Problems: the heavy top of Brüls and Cardona, Dzhanibekov's tumbling body, and a floating robot with
a ball joint.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from pysim.inertia import theta_from_com
from pysim.scene.spec import BodySpec, ModelSpec
from pysim.worlds.loading import compile_model
from tests.engine_steps import make_steps
from tests.integrators.adaptive_worlds import AdaptiveWorlds
from tests.integrators.test_closed_forms import NO_GRAVITY, rest_drive
from tests.oracles.mechanisms import GRAVITY, make_joint, one_body, random_pose, random_theta

ORDERS = {
    "semi_implicit": 1,
    "rk2": 2,
    "rk4": 4,
    "variational": 2,
    "variational4": 4,
    "implicit_midpoint": 2,
    "generalized_alpha": 2,
    "dopri5": 5,
}
COARSEST = {  # steps, where the first term of the error leads and rounding is far
    "heavy_top": {1: 4000, 2: 1000, 4: 40, 5: 40},
    "dzhanibekov": {1: 2000, 2: 400, 4: 20, 5: 12},
    "floating_robot": {1: 4000, 2: 800, 4: 20, 5: 10},
}


def heavy_top():
    """A fast top on a ball joint, its centre of mass 1 m along y [Brüls and Cardona 2010]."""
    inertia = np.diag([0.234375, 0.46875, 0.234375])
    theta = theta_from_com(15.0, [0, 1, 0], inertia)
    model = compile_model(one_body("ball", theta, gravity=np.array([0, 0, -9.81])))
    return model, model.neutral(), np.array([0, 150, -4.61538]), 0.1


def dzhanibekov():
    theta = theta_from_com(1.0, np.zeros(3), np.diag([1.0, 2, 3]))
    model = compile_model(one_body("ball", theta, gravity=NO_GRAVITY))
    return model, model.neutral(), np.array([0.01, 2, 0.02]), 4.0


def floating_robot():
    """A free base that carries an arm on a ball joint."""
    rng = np.random.default_rng(7)
    names = ["world", "base", "upper", "lower"]
    kinds = ("free", "ball", "revolute")
    joints = tuple(
        make_joint(f"joint{k}", kind, names[k], names[k + 1], random_pose(rng))
        for k, kind in enumerate(kinds)
    )
    bodies = tuple(BodySpec(name, random_theta(rng)) for name in names[1:])
    model = compile_model(ModelSpec("floating", GRAVITY, bodies, joints))
    return model, model.random_configuration(rng), rng.normal(size=model.nv), 1.2


PROBLEMS = {problem.__name__: problem for problem in (heavy_top, dzhanibekov, floating_robot)}


@cache
def reference(name):
    model, q, v, duration = PROBLEMS[name]()
    rows = AdaptiveWorlds(model, q, v, 1e-14).advance([duration], attempts=1_000_000)
    return rows.q[0, 0], rows.v[0, 0]


def error(name, scheme, steps):
    model, q, v, duration = PROBLEMS[name]()
    h = duration / steps
    if scheme == "dopri5":  # tolerances that allow everything leave the longest step
        worlds = AdaptiveWorlds(model, q, v, 1e6, longest=h, step=h)
        rows = worlds.advance([duration], attempts=2 * steps)
        assert abs(worlds.accepted[0] - steps) <= 1
        q1, v1 = rows.q[0, 0], rows.v[0, 0]
    else:
        q1, v1, done = make_steps(model, q, v, 0.0, h, steps, scheme, rest_drive(model))
        assert done == steps
    expected = reference(name)
    return max(np.abs(model.difference(expected[0], q1)).max(), np.abs(v1 - expected[1]).max())


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("scheme", ORDERS)
def test_the_error_falls_with_the_order_claimed(name, scheme):
    order = ORDERS[scheme]
    steps = COARSEST[name][order]
    errors = [error(name, scheme, steps * 2**k) for k in range(5)]
    measured = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(measured, order, rtol=0, atol=0.15)


def test_the_spin_of_the_heavy_top_is_constant_to_1e_12_by_rk4():
    model, q, v, _ = heavy_top()
    _, v1, done = make_steps(model, q, v, 0.0, 1e-4, 10_000, "rk4", rest_drive(model))
    assert done == 10_000
    assert abs(v1[1] / 150 - 1) < 1e-12
