"""Redundant rows of mechanisms whose dimensions have few digits: the gap that opens in motion, and the remedy.

Rows that repeat others in exact dimensions stay closed to rounding at every configuration. Where axes or lengths are
written with eight digits, the same rows open by about 1e-8 of the motion, and no configuration closes them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim.loops.closure_solver import (
    REQUIRED_OF_REDUNDANT,
    ClosureIterate,
    Independence,
    descend,
    rounding_of,
)
from pysim.loops.constraints import constraints, kind_of_constraint
from pysim.loops.mobility import is_independent, null_space, rows_and_lengths
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pysim.mechanism.model import Model

OPENING_MOTION = 0.5  # [m or rad]
_TRIES = 3
_DIGITS_ANGLE = (
    1e-6  # [rad] between rows that repeat each other, or would in dimensions of more digits
)
_EXACT_RESIDUAL = 5e-12  # [m or rad]: left by rounding
# [m or rad]: dimensions cut to five digits or more; a singular configuration leaves more
_CUT_OFF_DIGITS = 1e-5
MORE_DIGITS = (
    "write them with more digits, or close a loop by a type with fewer rows, such as ball instead of revolute or"
    " point_on_line instead of ball"
)


@dataclass(frozen=True)
class Opening:
    """A loop or coupling that redundant rows leave open."""

    kind: str  # loop or coupling
    name: str
    left: float  # [m, rad] when the mechanism moves by OPENING_MOTION

    def __str__(self) -> str:
        return (
            f"{self.kind} {self.name!r} has redundant rows, and opens by {self.left:.2g} [m, rad] when the mechanism"
            f" moves by {OPENING_MOTION:g} [m or rad]: its dimensions agree to few digits, so that it may lock, and a"
            f" run ends when it is open by more than {REQUIRED_OF_REDUNDANT:g}; {MORE_DIGITS}"
        )


def redundant_opening(model: Model, q: Array, loop_q: ArrayLike | None = None) -> Opening | None:
    """Return what opens most of the redundant rows when the mechanism moves from q (nq,).

    None where no row is redundant, where all close, or where what opens belongs to a singular configuration.
    """
    at = ClosureIterate(model, q, constraints(model, q, loop_q=loop_q))
    if not np.isfinite(at.at.jacobian).all():
        return None
    rows, scale = rows_and_lengths(model, at.q, at.at)
    if is_independent(rows):
        return None
    sines = np.linalg.svd(rows, compute_uv=False)
    if (sines > _DIGITS_ANGLE).sum() in (len(rows), model.nv):
        return None
    dropped = sines[sines <= _DIGITS_ANGLE].max(initial=0.0)
    # the rows repeat others exactly, or vanish where it is singular
    if max(dropped, at.largest) < _EXACT_RESIDUAL:
        return None
    independent = Independence(scale, _DIGITS_ANGLE)
    N = null_space(model, at.q, rows, _DIGITS_ANGLE)
    rng = np.random.default_rng(3)
    opened, name = 0.0, ""
    for motion in (N @ y for y in rng.normal(size=(_TRIES, N.shape[1]))):
        step = OPENING_MOTION * motion / np.abs(motion).max()
        moved = model.integrate(at.q, step)
        there = descend(model, moved, at.at.loop_q, np.arange(model.nv), independent=independent)
        excess = np.abs(there.at.residual) - np.maximum(
            _EXACT_RESIDUAL, rounding_of(there.at.jacobian, there.q)
        )
        if excess.max() > 0 and opened < there.largest <= _CUT_OFF_DIGITS:
            opened, name = there.largest, model.row_names[int(excess.argmax())]
    return Opening(kind_of_constraint(model, name), name, opened) if name else None
