"""`pysim.joints.check`: valid joints pass, and each check fails for a joint that violates it. Oracle: the violation."""

from __future__ import annotations

import re

import numpy as np
import pytest

import pysim
from pysim import _engine
from pysim.joints import (
    CallbackJoint,
    Joint,
    Pose,
    check,
    engine_probe,
    motion_derivatives,
    real,
    rotation,
    verification,
)
from pysim.joints.lowering import Lowered, lower
from pysim.joints.trace import derivative_towards, trace
from tests.joints import plugins
from tests.joints.test_callbacks import CallbackSlot, CallbackSwing
from tests.joints.test_forces import Ligament, SprungHinge
from tests.joints.test_load_checks import Idle, Mirrored, Raising, Root, Sheared

GOOD = [
    plugins.TwinRevolute(),
    plugins.TwinHelical(0.3),
    plugins.TwinCylindrical(),
    plugins.TwinPlanar(),
    plugins.TwinBall(),
    plugins.TwinFree(),
    plugins.ScrewSlot(0.1),
    plugins.Ellipsoid(),
    plugins.Knee(),
    plugins.Swing(),
    Ligament(),
    SprungHinge(),
    CallbackSlot(0.1),
    CallbackSwing(),
]


@pytest.mark.parametrize("plugin", GOOD, ids=lambda p: type(p).__name__)
def test_joints_that_satisfy_the_invariants_pass(plugin):
    report = check(plugin)
    assert report.joint == type(plugin).__qualname__
    assert report.states >= 65
    assert set(report.laws) >= {"finite", "rigid", "subspace", "bias", "rank", "group", "jumps"}


def test_the_report_says_what_the_joint_runs_as():
    assert re.fullmatch(
        r"TwinRevolute satisfies 16 invariants at 82 states and runs as the built-in revolute",
        str(check(plugins.TwinRevolute())),
    )
    assert re.fullmatch(
        r"TwinPlanar satisfies 16 invariants at \d+ states and runs as a program of \d+ instructions",
        str(check(plugins.TwinPlanar())),
    )
    slot = check(CallbackSlot(0.1), states=5)
    assert str(slot) == "CallbackSlot satisfies 10 invariants at 23 states and runs in Python"


def broken(plugin):
    """Return the invariants that a joint is reported to violate, and the text."""
    with pytest.raises(pysim.JointError) as caught:
        check(plugin)
    text = str(caught.value)
    return re.findall(r"^  (\w+): ", text, re.MULTILINE), text


class Jumping(Joint):
    """Its two pieces do not meet."""

    coordinates = real("angle")

    def placement(self, q):
        return Pose.rotate_z(q.angle + np.where(q.angle > 0.3, 0.1, 0.0))


class OneSided(Joint):
    """Distinguishes a quaternion from its negative."""

    coordinates = rotation("turn")

    def placement(self, q):
        return Pose.rotate_z(q.turn[2]) @ Pose.rotate_quaternion(q.turn)


CALLS = [0]


class Fickle(Joint):
    """Counts how often it was called."""

    coordinates = real("angle")

    def placement(self, q):
        CALLS[0] += 1
        return Pose.rotate_z(q.angle) @ Pose.translate(0, 0, CALLS[0] * np.sin(q.angle))


class Typed(Joint):
    """Does one thing with symbols and another with numbers."""

    coordinates = real("angle")

    def placement(self, q):
        shift = 0.1 if isinstance(q.angle, float) else 0.0
        return Pose.rotate_z(q.angle) @ Pose.translate(shift, 0, 0)


class Kinked(Joint):
    """Rides up a curve whose third derivative is infinite where it starts."""

    coordinates = real("slide", unit="m")

    def limits(self):
        return {"slide": (0.0, 1.0)}

    def placement(self, q):
        return Pose.translate(q.slide, 0, q.slide**2.5)


class CallbackJump(CallbackJoint):
    """Jumps at 0.2."""

    coordinates = real("slide", unit="m")

    def poses(self, q):
        X = np.tile(np.eye(4), (len(q), 1, 1))
        X[:, 0, 3] = q[:, 0] + (q[:, 0] > 0.2)
        return X


BAD = [
    (Root(), ["finite"], r"its pose is not finite at angle = 1\.1781 rad \(\S+, `return "),
    (Sheared(), ["rigid"], r"\|RᵀR − 1\| = "),
    (Mirrored(), ["rigid"], r"det R = −1"),
    (Idle(), ["rank"], r"S has rank 1, not 2: 'lift' moves nothing"),
    (
        Jumping(),
        ["jumps"],
        r"its pose is discontinuous at angle = 0\.3 rad, where it changes by 0\.0\d+ \(\S+: Jumping\.placement",
    ),
    (
        OneSided(),
        ["cover"],
        r"differs by \S+ between 'turn' and its negative, which are one rotation",
    ),
    (Fickle(), ["plain", "repeats"], r"two traces of it record different programs"),
    (
        Kinked(),
        ["derivatives"],
        r"its ∂c/∂q is not finite at slide = 0 m \(\S+: Kinked\.placement",
    ),
    (
        Typed(),
        ["plain"],
        r"its recorded program differs from placement called with plain numbers by 0\.\d+ at angle",
    ),
    (
        CallbackJump(),
        ["jumps"],
        r"its pose is discontinuous at slide = 0\.2 m, where it changes by 1 \(\S+: CallbackJump\.poses",
    ),
]


@pytest.mark.parametrize(("plugin", "laws", "text"), BAD, ids=lambda x: type(x).__name__)
def test_a_broken_law_is_reported_with_its_size_and_place(plugin, laws, text):
    found, reported = broken(plugin)
    assert set(laws) <= set(found)
    assert re.search(text, reported)
    assert "bug in pysim" not in reported
    assert re.match(
        rf"\S+\.py:\d+: {type(plugin).__name__} violates {len(found)} of 1[06] invariants\n",
        reported,
    )


def test_laws_of_the_engine_fail_where_the_engine_does_something_else(monkeypatch):
    monkeypatch.setattr(verification, "lower", lambda _: Lowered("prismatic", np.eye(4)))
    found, text = broken(plugins.TwinRevolute())
    assert found == ["lowered"]  # its mass matrix is 1 either way
    assert "the engine's pose differs by" in text
    knee = trace(plugins.Knee())
    monkeypatch.setattr(engine_probe, "as_program", lambda _: engine_probe.as_shape(knee, HINGE))
    assert broken(plugins.Knee())[0][:1] == ["engine"]


HINGE = lower(trace(plugins.TwinRevolute()))


def test_the_law_of_derivatives_fails_where_a_rule_of_differentiation_is_wrong(monkeypatch):
    monkeypatch.setattr(motion_derivatives, "derivative_along", wrong_derivative)
    found, text = broken(plugins.Knee())
    assert found[0] == "derivatives"
    assert re.search(r"its ∂S/∂q differs from the rate of S by \S+ at ", text)


def wrong_derivative(tape, coordinates, k):
    """Twice as fast as it is."""
    unit = [tape.const(2.0 if i == k else 0.0) for i in range(coordinates.nv)]
    return derivative_towards(tape, coordinates, unit)


def test_group_laws_fail_where_the_coordinates_do(monkeypatch):
    real_integrate = _engine.integrate
    monkeypatch.setattr(_engine, "integrate", lambda m, q, d: real_integrate(m, q, d) + 1e-3)
    found, text = broken(plugins.Knee())
    assert found == ["group", "group", "group"]
    assert "q ⊕ 0 = q fails by 0.001" in text


def test_errors_of_the_author_and_of_tracing_come_through():
    with pytest.raises(pysim.JointError, match=r"KeyError: 'ratio', in `.*`; fix Raising"):
        check(Raising())
    with pytest.raises(pysim.JointError) as caught:
        check(plugins.Knee)
    expected = "pysim.joints.check: needs a joint, such as MyJoint(lift=0.1), got <class "
    assert str(caught.value).startswith(expected)


def test_limits_keep_the_states_where_the_joint_is_defined():
    class Bounded(Root):
        """Within its limits."""

        def limits(self):
            return {"angle": (-1.0, 0.9)}

    check(Bounded())


def test_the_same_seed_draws_the_same_states():
    assert check(plugins.Knee(), seed=3) == check(plugins.Knee(), seed=3)
