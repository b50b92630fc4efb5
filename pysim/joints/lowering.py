"""Recognition of traced joints that are equivalent to built-in shapes: those with a constant motion subspace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pysim.joints.trace import Traced

TOLERANCE = 1e-14  # for numbers of magnitude 1; folding leaves exact zeros


@dataclass(frozen=True)
class Lowered:
    """Built-in shape that follows a fixed displacement `at` (4, 4)."""

    shape: str
    at: Array
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    parameters: Mapping[str, float] = field(default_factory=dict)


def lower(traced: Traced) -> Lowered | None:
    """Return the built-in shape that moves exactly as a traced joint does, None if there is none.

    If S is constant and the pose has no jumps, X(q) = X(0) exp([S] q), so pose and subspace agree everywhere if they
    agree at q = 0.
    """
    S = traced.constant_subspace()
    if S is None or traced.may_jump:
        return None
    coordinates = traced.coordinates
    at = traced.evaluate(coordinates.neutral(), [0.0] * coordinates.nv)[0]
    groups = [part.group for part in coordinates.parts]
    if groups == ["rotation"] and _same(S, np.eye(6)[:, 3:]):
        return Lowered("ball", at)
    if groups == ["pose"] and _same(S, np.eye(6)):
        return Lowered("free", at)
    if groups == ["real"]:
        return _single(S[:, 0], at)
    if groups == ["real", "real"]:
        axis = S[:3, 0]
        if _same(S, np.array([[*axis, 0, 0, 0], [0, 0, 0, *axis]]).T) and _unit(axis):
            return Lowered("cylindrical", at, tuple(axis.tolist()))
    if groups == ["real"] * 3 and _same(S, np.eye(6)[:, :3]):
        return Lowered("translation", at)
    return None


def _single(s: Array, at: Array) -> Lowered | None:
    """Return a revolute, prismatic or helical joint through the child's origin, None if S is none of them."""
    v, w = s[:3], s[3:]
    if not w.any() and _unit(v):
        return Lowered("prismatic", at, tuple(v.tolist()))
    if not _unit(w) or np.abs(np.cross(v, w)).max() > TOLERANCE * np.abs(v).max():
        return None
    pitch = float(v @ w)
    if pitch == 0:
        return Lowered("revolute", at, tuple(w.tolist()))
    return Lowered("helical", at, tuple(w.tolist()), {"pitch": pitch})


def _same(a: Array, b: Array) -> bool:
    return bool(np.abs(a - b).max() < TOLERANCE)


def _unit(a: Array) -> bool:
    return bool(abs(np.linalg.norm(a) - 1) < TOLERANCE)
