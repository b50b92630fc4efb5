"""A plugin's own force. Oracles: the built-in spring and damper, and the force's formula in plain NumPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pysim
from pysim.joints import Joint, Pose, joint, real, spline
from pysim.joints.trace import trace
from pysim.scene.spec import BodySpec, ModelSpec
from pysim.worlds.loading import compile_model
from tests.joints.test_traced import plugin_joint
from tests.oracles.differences import derivatives
from tests.oracles.mechanisms import GRAVITY, make_joint, random_theta


@joint("test_sprung_hinge")
class SprungHinge(Joint):
    """A hinge with a spring and a damper of its own."""

    stiffness_of_plugin: float = 3.0
    coordinates = real("angle")

    def placement(self, q):
        return Pose.rotate_x(q.angle)

    def force(self, q, v):
        return -self.stiffness_of_plugin * (q.angle - 0.2) - 0.4 * v.angle


@joint("test_ligament")
class Ligament(Joint):
    """A slot joint whose ligament pulls when it is stretched, along a measured curve."""

    coordinates = real("angle") * real("slide", unit="m")

    def placement(self, q):
        return Pose.rotate_z(q.angle) @ Pose.translate(q.slide, 0, 0.1 * np.sin(q.angle))

    def force(self, q, v):
        stretch = np.maximum(q.slide - 0.1, 0)
        pull = spline(stretch, [0, 0.5, 1.0, 2.0], [0, 1.0, 5.0, 20.0])
        return [np.where(q.angle > 0, -q.angle * v.angle**2, 0), -pull - 0.1 * v.slide]


def models(kind, plugin, rng):
    theta = random_theta(rng)
    bodies = (BodySpec("b", theta),)
    own = plugin_joint("j", kind, "world", "b", np.eye(4))
    return compile_model(ModelSpec("own", GRAVITY, bodies, (own,))), plugin, bodies


def test_a_spring_written_as_a_force_is_the_built_in_spring(rng, isa):
    model, _, bodies = models("test_sprung_hinge", SprungHinge(), rng)
    hinge = make_joint("j", "revolute", "world", "b", axis=[1, 0, 0])
    hinge = replace(hinge, stiffness=np.array([3.0]), rest=np.array([0.2]), damping=np.array([0.4]))
    twin = compile_model(ModelSpec("twin", GRAVITY, bodies, (hinge,)))
    q, v, tau = rng.normal(size=(3, 19, 1))
    np.testing.assert_allclose(
        pysim.passive_forces(model, q, v), pysim.passive_forces(twin, q, v), rtol=1e-14, atol=1e-14
    )
    np.testing.assert_allclose(
        pysim.aba(model, q, v, tau, passive=True),
        pysim.aba(twin, q, v, tau, passive=True),
        rtol=1e-13,
    )


def test_a_force_of_several_coordinates_is_its_formula(rng, isa):
    model, _, _ = models("test_ligament", Ligament(), rng)
    q, v = rng.normal(size=(2, 33, 2))
    expected = np.column_stack(
        [
            np.where(q[:, 0] > 0, -q[:, 0] * v[:, 0] ** 2, 0),
            [
                -spline(max(x - 0.1, 0.0), [0, 0.5, 1.0, 2.0], [0, 1.0, 5.0, 20.0]) - 0.1 * u
                for x, u in zip(q[:, 1], v[:, 1], strict=True)
            ],
        ]
    )
    np.testing.assert_allclose(pysim.passive_forces(model, q, v), expected, rtol=1e-12, atol=1e-13)


def test_a_force_with_the_wrong_count_is_rejected():
    class Wrong(Ligament):
        def force(self, q, v):
            return [q.angle]

    with pytest.raises(pysim.JointError, match=r"Wrong\.force: must return 2 numbers, .* got 1"):
        trace(Wrong())


def test_a_force_that_returns_nothing_is_rejected():
    class Forgotten(SprungHinge):
        def force(self, q, v):
            -3.0 * q.angle

    reported = (
        r"Forgotten\.force: must return a number, got None; return 0 where there is no force$"
    )
    with pytest.raises(pysim.JointError, match=reported):
        trace(Forgotten())


def test_derivatives_of_a_force_equal_finite_differences():
    model, _, _ = models("test_ligament", Ligament(), np.random.default_rng(1))
    q, v = np.array([0.7, 0.9]), np.array([0.3, -0.8])  # off the kinks and knots
    expected = derivatives(
        lambda q, v, _: pysim.passive_forces(model, q, v), model.integrate, q, v, v
    )
    for actual, wanted in zip(
        pysim.passive_force_derivatives(model, q, v), expected[:2], strict=True
    ):
        np.testing.assert_allclose(actual, wanted, rtol=0, atol=1e-10)
