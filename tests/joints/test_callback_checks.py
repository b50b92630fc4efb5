"""Callback joints whose values break a law are refused when a model is made. The oracle is the text of the error."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.joints.test_callbacks import CallbackSlot
from tests.joints.test_load_checks import compiled, refusal

HERE = str(Path(__file__).resolve())


def line_of(text):
    """The line of this file that ends with a marker."""
    lines = Path(HERE).read_text("utf-8").splitlines()
    return next(k for k, line in enumerate(lines, 1) if line.rstrip().endswith(f"# {text}"))


def changed(what):
    """A callback slot whose poses are changed by a function."""

    class Changed(CallbackSlot):
        lift: float = 0.1

        def poses(self, q):
            return what(super().poses(q), q)

    return Changed


def set_last(X, q):
    X[:, 3, 0] = 1
    return X


def set_shear(X, q):
    X[:, 0, 0] += 0.1
    return X


def set_nan(X, q):
    X[q[:, 0] > 3, 2, 3] = np.nan
    return X


def set_first(X, q):
    X[:, 2, 3] = q[0, 0]
    return X


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        (
            lambda X, _: X[:, :3],
            r"Changed\.poses: must return shape \(42, 4, 4\), got \(42, 3, 4\)",
        ),
        (lambda X, _: X + 0j, r"Changed\.poses: must return real numbers, got complex128"),
        (lambda X, _: X.astype(object), r"Changed\.poses: must return real numbers, got object"),
        (set_last, r"the last row of its poses must be 0, 0, 0, 1, got \[1\.0, 0\.0, 0\.0, 1\.0\]"),
        (set_shear, r"its rotation is not orthonormal, \|RᵀR − 1\| = 0\.21 at angle = "),
        (set_nan, r"its pose is not finite at angle = 3\.14159 rad \(\S+test_callback_checks"),
        (set_first, r"its pose at angle = .* differs by .* when that state is evaluated alone"),
    ],
)
def test_values_of_a_callback_are_checked(what, expected):
    assert re.search(expected, refusal(changed(what)))


def test_a_callback_that_raises_names_the_line_and_the_state():
    def refuse(X, q):
        if (q > 3).any():
            raise ValueError("too far")  # too far
        return X

    text = refusal(changed(refuse))
    assert re.fullmatch(
        rf"{re.escape(HERE)}:{line_of('too far')}: ValueError: too far, "
        r'in `raise ValueError\("too far"\)  # too far`; fix \S*Changed\.poses; '
        r"it fails at angle = 3\.14159 rad \(joint 'j' of scene\.toml:7:1: joint\[0\]\)",
        text,
    )


def test_an_authors_own_subspace_and_bias_are_compared_with_the_poses():
    class WrongSubspace(CallbackSlot):
        lift: float = 0.1

        def subspace(self, q):
            return 1.5 * super().subspace(q)

    class WrongBias(CallbackSlot):
        lift: float = 0.1

        def bias(self, q, v):
            return super().bias(q, v) + 0.3

    text = refusal(WrongSubspace)
    assert re.search(r"its S differs from the derivative of the pose by 0\.5 at angle = ", text)
    assert text.endswith("; fix `subspace`, or leave it out")
    text = refusal(WrongBias)
    assert re.search(r"its c differs from the rate of S, times v, by 0\.\d+ at angle = ", text)
    assert text.endswith("; fix `bias`, or leave it out")


def test_a_callback_that_changes_its_arguments_has_no_effect_on_other_states():
    class Careless(CallbackSlot):
        lift: float = 0.1

        def poses(self, q):
            X = super().poses(q)
            q[:] = np.nan
            return X

    compiled(Careless)
