"""Folding keeps terms that are small where it samples. The oracle is the author's formula and its derivative.

Each entry is compared with its own size: 1e-13 x⁴ to fourteen digits of 1e-13 x⁴.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from pysim.errors import JointError
from pysim.joints import Joint, Pose, check, real, verification
from pysim.joints.lowering import lower
from pysim.joints.trace import trace

AT = np.array([0.7, -0.4, 1.9, 2.1, 37.0, 2e3])


def along(placement, limits=None):
    """A joint of one coordinate x with this placement."""
    members = {
        "coordinates": real("x"),
        "placement": lambda _, q: placement(q.x),
        "limits": lambda _: limits or {},
    }
    return type("Along", (Joint,), members)()


# f(x), f'(x) of a height over x
SMALL = {
    "quartic": (lambda x: 1e-13 * x**4, lambda x: 4e-13 * x**3),
    "square": (lambda x: 1e-30 * x**2, lambda x: 2e-30 * x),
    "a step beyond the samples": (
        lambda x: 0.1 * np.arctan(1e12 * (x - 2)),
        lambda x: 1e11 / (1 + (1e12 * (x - 2)) ** 2),
    ),
    "a steeper step": (
        lambda x: 0.1 * np.arctan(1e17 * (x - 2)),
        lambda x: 1e16 / (1 + (1e17 * (x - 2)) ** 2),
    ),
    "a power that 1 absorbs": (
        lambda x: 0.1 / (1 + (x / 2) ** 200),
        lambda x: -10 * ((x / 2) ** 199 / (1 + (x / 2) ** 200)) / (1 + (x / 2) ** 200),
    ),
    "an even power that 1 absorbs": (
        lambda x: 1 + ((((x / 9) ** 2) ** 2) ** 2) ** 2,
        lambda x: 16 / 9 * (x / 9) ** 15,
    ),
    "a slow cosine": (lambda x: 1e3 * np.cos(1e-9 * x), lambda x: -1e-6 * np.sin(1e-9 * x)),
    "a peak narrower than the samples": (
        lambda x: 1e-20 / ((x - 0.7) ** 2 + 1e-20),
        lambda x: -2e-20 * (x - 0.7) / ((x - 0.7) ** 2 + 1e-20) ** 2,
    ),
}


@pytest.mark.parametrize("name", SMALL)
def test_a_small_height_keeps_its_derivative(name):
    """S = (1, 0, f') of the pose translate(x, 0, f(x))."""
    height, slope = SMALL[name]
    joint = along(lambda x: Pose.translate(x, 0, height(x)))
    traced = trace(joint)
    assert lower(traced) is None
    for x in AT:
        with np.errstate(over="ignore", invalid="ignore"):
            want = slope(np.float64(x))
        if not np.isfinite(want):
            continue
        X, S, _ = traced.evaluate([x], [0.0])
        np.testing.assert_allclose(X[2, 3], height(x), rtol=1e-9, atol=0)
        np.testing.assert_allclose(S[:, 0], [1, 0, want, 0, 0, 0], rtol=1e-9, atol=1e-300)


def test_a_joint_of_small_pitch_is_not_lowered_to_a_revolute():
    """Oracle: a screw of 1e-13 m/rad advances 1e-7 m in a million radians."""
    lowered = lower(trace(along(lambda x: Pose.translate(0, 0, 1e-13 * x) @ Pose.rotate_z(x))))
    assert lowered.shape == "helical"
    assert lowered.parameters["pitch"] == 1e-13


def test_an_axis_slightly_off_the_origin_is_not_lowered_to_a_revolute_through_it():
    offset = Pose.translate(1e-13, 0, 0)
    assert lower(trace(along(lambda x: Pose.rotate_z(x) @ offset))) is None


def test_small_constants_are_kept():
    """Oracle: x (1e-13 / x) is 1e-13, not 0."""
    traced = trace(along(lambda x: Pose.translate(x, 1e-13 / x * x, 0), {"x": (1.0, 2.0)}))
    assert traced.evaluate([1.5], [0.0])[0][1, 3] == pytest.approx(1e-13, rel=1e-12)


@pytest.mark.parametrize(
    "wrong",
    [("subspace", 2), ("pose", 11)],
    ids=["the slope of 1e-13 x⁴ taken as 0", "1e-13 x⁴ taken as 0"],
)
def test_check_finds_a_small_term_that_folding_drops(wrong, monkeypatch):
    joint = along(lambda x: Pose.translate(x, 0, 1e-13 * x**4))

    def dropped(joint):
        traced = trace(joint)
        name, entry = wrong
        nodes = list(getattr(traced, name))
        nodes[entry] = traced.tape.const(0)
        return dataclasses.replace(traced, **{name: nodes})

    check(joint)
    monkeypatch.setattr(verification, "trace", dropped)
    with pytest.raises(JointError, match="folded: the shortened program differs from the recorded"):
        check(joint)
