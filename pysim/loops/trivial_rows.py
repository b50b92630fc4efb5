"""Removal of trivial rows of loops: rows whose Jacobian is zero at every configuration of the tree.

A hinge that closes a planar linkage has five rows. The tree can violate two of them; the others have J = 0 everywhere.
They are found at random configurations with open loops: joints are analytic functions, so a row that is zero there is
zero everywhere. Loops with a piecewise plugin on a support path keep all rows.

Axes written with few digits violate the rotations of such a hinge by their error. If no motion violates any rotation of
a loop by more than the smallest angle of an independent row, all its rows of rotations are trivial: scaled by the
largest of them, as rows of a loop are, they would hold what the others leave free.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.algorithms import forward_kinematics
from pysim.errors import ModelError
from pysim.loops.constraints import constraints, holds_position
from pysim.mechanism.joint_description import moves_in_pieces
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pysim._engine import LoopDescription
    from pysim.loops.constraints import Constraints
    from pysim.mechanism.model import Model
    from pysim.scene.spec import LoopSpec

    Rows = NDArray[np.intp]

SAMPLES = 5
_ZERO_EFFECT = 1e-12  # relative to the largest possible effect of a coordinate on a row
_CLOSED_RESIDUAL = 1e-9  # [m, rad]


def without_trivial_rows(model: Model) -> Model:
    """Return the model without the trivial rows of its loops.

    Raises:
        ModelError: a loop is open in a direction in which its bodies cannot move.
    """
    if not model.loop_names:
        return model
    rng = np.random.default_rng(11)
    q = np.array([model.random_configuration(rng) for _ in range(SAMPLES)])
    at = constraints(model, q)
    effect, bound = np.abs(at.jacobian), _feels(model, at, q)
    still = np.all(effect <= _ZERO_EFFECT * bound, axis=(0, 2))
    is_open = np.any(~(np.abs(at.residual) <= _CLOSED_RESIDUAL), axis=0)
    aligned = np.all(effect <= _engine.SMALLEST_SINE * bound, axis=(0, 2))
    aligned &= np.all(np.abs(at.residual) <= _engine.SMALLEST_SINE, axis=0)
    stays = np.ptp(at.residual, axis=0) <= _CLOSED_RESIDUAL
    loops = []
    each = zip(model.spec.loops, model.connections.loops, _rows_of(model), strict=True)
    for loop, description, rows in each:
        idle = np.zeros(len(rows), bool)
        positions, rotations = _kinds(at, rows)
        for group in () if _meets_pieces(model, loop, description) else (positions, rotations):
            own = rows[group]
            if group is rotations and aligned[own].all():
                idle[group] = True
                continue
            stuck = still[own] & is_open[own] & (stays[own] | still[own].all())
            if stuck.any():
                _refuse(loop, at.residual[:, own[stuck]])
            idle[group] = still[own] & ~is_open[own]
        loops.append(description.replaced(independent=np.flatnonzero(~idle)))
    return model.with_connections(replace(model.connections, loops=loops))


def _meets_pieces(model: Model, loop: LoopSpec, description: LoopDescription) -> bool:
    """Return whether the loop's joint, or a joint that moves its ends relative to each other, is piecewise."""
    bodies = [-1 if body == "world" else model.frames[body][0] for body in (loop.a, loop.b)]
    to_a, to_b = (set(_way(model, body)) for body in bodies)
    in_pieces = model.joints_in_pieces
    return moves_in_pieces(description.motion) or any(in_pieces[body] for body in to_a ^ to_b)


def _way(model: Model, body: int) -> Iterator[int]:
    """Return a body and its ancestors."""
    while body >= 0:
        yield body
        body = model.parents[body]


def _rows_of(model: Model) -> list[Rows]:
    return np.split(np.arange(model.rows), np.cumsum(model.loop_rows))[: len(model.loop_names)]


def _kinds(at: Constraints, rows: Rows) -> tuple[Rows, Rows]:
    """Return which rows of a loop constrain positions and which constrain rotations."""
    positions = holds_position(at)[0, rows]
    return np.flatnonzero(positions), np.flatnonzero(~positions)


def _feels(model: Model, at: Constraints, q: Array) -> Array:
    """Return upper bounds (samples, rows, nv) of the effect of coordinates on rows [m or 1]."""
    places = forward_kinematics(model, q)[..., :3, 3]
    ends = [X[:3, 3] for loop in model.spec.loops for X in (loop.at_a, loop.at_b)]
    reach = max(np.linalg.norm(x, axis=-1).max(initial=0.0) for x in (places, np.array(ends)))
    slides = np.array([unit == "m/s" for unit in model.velocity_units])
    force, moment = (
        np.linalg.norm(at.wrenches[..., part], axis=-1) for part in (slice(3), slice(3, 6))
    )
    return np.asarray(force[..., None] * np.where(slides, 1.0, reach) + moment[..., None])


def _refuse(loop: LoopSpec, residual: Array) -> None:
    """Reject a loop that is open in a direction in which it cannot be closed."""
    problem = (
        f"loop {loop.name!r} is open by {np.abs(residual[:, 0]).max():.3g} [m, rad] in a direction in which its bodies "
        "cannot move; fix its frames at_a and at_b, or the joints of its support path"
    )
    raise ModelError(loop.where, problem)
