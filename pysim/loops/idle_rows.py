"""Rows of loops that no motion of the tree can break, left out before anything is solved.

A hinge that closes a planar linkage asks for five rows, and the tree can break two of them: the others have J = 0 at
every configuration. They are found at configurations drawn at random, loops open; the motion of built-in joints is
analytic, so a row that is zero there is zero everywhere. Mechanisms with plugins keep every row.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import ModelError
from pysim.joints import find_joint
from pysim.joints.closing import closing_joint, find_closing
from pysim.loops.constraints import constraints

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.model import Model

SAMPLES = 5
_NOTHING = 1e-12  # of the largest entry of J
_CLOSED = 1e-9  # [m, rad]


def without_idle_rows(model: Model) -> Model:
    """Return the model whose loops have only rows that some motion can break.

    Raises:
        ModelError: a loop stays open in a direction in which nothing moves.
    """
    types = [joint.type for joint in model.joints]
    types += [closing_joint(find_closing(loop.type)) for loop in model.spec.loops]
    if not model.loop_names or any(find_joint(name).plugin is not None for name in types):
        return model
    rng = np.random.default_rng(11)
    q = np.array([model.random_configuration(rng) for _ in range(SAMPLES)])
    at = constraints(model, q)
    moves = np.abs(at.jacobian).max(axis=(0, 2), initial=0.0)
    idle = moves <= _NOTHING * moves.max(initial=0.0)
    ends = np.cumsum(model.loop_rows)
    idle[ends[-1] :] = False
    _refuse_open(model, idle & (np.abs(at.residual) > _CLOSED).any(axis=0), at.residual)
    kept = [np.flatnonzero(~part) for part in np.split(idle[: ends[-1]], ends[:-1])]
    loops = [
        {**loop, "kept": rows.tolist()} for loop, rows in zip(model.ties.loops, kept, strict=True)
    ]
    return model.with_ties(replace(model.ties, loops=loops))


def _refuse_open(model: Model, stuck: NDArray[np.bool_], residual: NDArray[np.float64]) -> None:
    """Refuse a loop that is open where nothing can close it."""
    if not stuck.any():
        return
    row = int(np.flatnonzero(stuck)[0])
    name = model.row_names[row]
    left = np.abs(residual[:, row]).max()
    loop = next(loop for loop in model.spec.loops if loop.name == name)
    problem = (
        f"loop {name!r} is open by {left:.3g} [m, rad] in a direction in which its bodies cannot move; "
        "mend its frames at_a and at_b, or the joints on its way"
    )
    raise ModelError(loop.where, problem)
