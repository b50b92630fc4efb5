"""Springs in every integrator and in closed mechanisms. Oracle: the same force as a wrench between two frames."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pysim
from pysim.forces import Force, Wrench, force
from pysim.integrators import BUILTIN
from pysim.scene.spec import CouplingSpec, ForceSpec
from pysim.worlds.loading import compile_model
from tests.elements.forces import mechanism
from tests.loops.mechanisms import four_bar
from tests.oracles.mechanisms import spring

FIXED = [  # those of rollouts
    name for name, scheme in BUILTIN.items() if not scheme.adaptive and name != "convex"
]
NUMBERS = {"stiffness": 30.0, "damping": 0.5}


@force("test_spring_between_frames")
class SpringBetweenFrames(Force):
    """The spring's definition as a wrench: it takes another way through the engine."""

    stiffness: float
    damping: float
    length: float

    def wrench(self, pose, twist):
        R, d = np.array(pose.rotation), np.array(pose.p)
        reach = (d @ d) ** 0.5
        n = R.T @ (d / reach)
        pull = self.stiffness * (reach - self.length) + self.damping * (n @ np.array(twist.v))
        return Wrench(tuple(-pull * n), (0.0, 0.0, 0.0))


def both(spec, a, b):
    """The mechanism with a spring between two points, as a wrench between frames and as the library's."""
    at = np.array([[0.3, 0.1, 0.2], [-0.2, 0.4, 0.1]])
    poses = np.tile(np.eye(4), (2, 1, 1))
    poses[:, :3, 3] = at
    keys = NUMBERS | {"length": 0.7}
    own = ForceSpec("s", "test_spring_between_frames", a, b, *poses, parameters=keys)
    path = spring("s", a, b, *at, *keys.values())
    return tuple(compile_model(replace(spec, forces=(each,))) for each in (own, path))


def start(spec):
    return np.array([joint.start_q[0] for joint in spec.joints])


def geared(spec):
    gear = CouplingSpec("gear", {"crank": 1.0, "rocker": -0.5})
    return replace(spec, loops=(), couplings=(gear,))


MECHANISMS = {
    "tree": lambda rng: (mechanism(rng, "tree"), "world", None),
    "mimic": lambda rng: (mechanism(rng, "mimic"), "world", None),
    "planar loop": lambda _: (four_bar((1.0, 0.4, 0.9, 0.8)), "world", "b"),
    "coupling": lambda _: (geared(four_bar((1.0, 0.4, 0.9, 0.8))), "a", "c"),
}


@pytest.mark.parametrize("integrator", FIXED)
@pytest.mark.parametrize("name", MECHANISMS)
def test_a_spring_moves_as_the_same_wrench_between_frames(rng, name, integrator):
    spec, a, b = MECHANISMS[name](rng)
    own, plugin = both(spec, a, b or spec.bodies[-1].name)
    q = start(spec) if name == "planar loop" else own.neutral()
    v = np.zeros(own.nv)
    runs = [pysim.rollout(m, q, v, None, 1e-3, integrator, steps=50) for m in (own, plugin)]
    assert np.isfinite(runs[0][0]).all()
    for rows, wanted in zip(runs[1], runs[0], strict=True):
        np.testing.assert_allclose(rows, wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())


def test_forward_dynamics_of_a_closed_mechanism_has_the_force_and_its_derivatives():
    spec = four_bar((1.0, 0.4, 0.9, 0.8))
    own, plugin = both(spec, "world", "b")
    q = start(spec)
    v, tau = np.array([0.1, -0.2, 0.3]), np.array([1.0, 0.0, 0.0])
    assert plugin.rows > 0
    found = [pysim.loops.constrained_aba(m, q, v, tau, passive=True) for m in (own, plugin)]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-10)
    slopes = [
        pysim.loops.constrained_aba_derivatives(m, q, v, tau, passive=True) for m in (own, plugin)
    ]
    for matrix, wanted in zip(slopes[1], slopes[0], strict=True):
        np.testing.assert_allclose(matrix, wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())
