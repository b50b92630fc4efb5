"""Checks of the start states passed to a rollout: closed loops, velocities that satisfy them, no singular position.

A start that violates its loops is rejected, since the first step would move it by the violation; a violation slightly
larger than rounding is a warning.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from pysim.errors import PysimWarning, SimulationError
from pysim.joints import find_joint
from pysim.loops import constraints, mobility
from pysim.loops.constraints import kind_of_constraint
from pysim.mechanism.model import State
from pysim.simulation.start_checks import singular_start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pysim.loops import Constraints
    from pysim.mechanism.model import Model

    Array = NDArray[np.float64]

_OPEN = {8: 1e-6, 4: 1e-3}  # [m, rad] that are rejected, by the size of a number in bytes
_NEARLY = {8: 1e-9, 4: 1e-4}  # [m, rad] that are a warning
_WORLDS = 32  # whose rank is computed, evenly spaced
_ANGLE = 1e-6  # [rad] between rows that are independent
_REMEDY = "as pysim.loops.assemble and pysim.loops.project return it"
_usual_ranks: WeakKeyDictionary[Model, int] = WeakKeyDictionary()


def check_starts(
    models: Sequence[Model],
    q0: Array,
    v0: Array,
    loop_q: Array | None,
    t: float = 0.0,
    *,
    stacklevel: int = 2,
) -> None:
    """Check the starts q0 (batch, nq), v0 (batch, nv) at t [s] of one model for all worlds or one for each.

    Raises:
        SimulationError: a loop is open, or a velocity is not along the loops; by world and name.
    """
    if not models or not models[0].rows or not len(q0):
        return
    own = len(models) > 1
    for k, model in enumerate(models):
        worlds = slice(k, k + 1) if own else slice(None)
        near = None if loop_q is None else np.asarray(loop_q[worlds], float)
        q, v = np.asarray(q0[worlds], float), np.asarray(v0[worlds], float)
        at = constraints(model, q, v, loop_q=near, t=t)
        first, size = k if own else 0, q0.dtype.itemsize
        slip = np.einsum("nij,nj->ni", at.jacobian, v) + at.rates
        fastest = np.maximum(1.0, np.abs(v).max(axis=1, initial=0.0))[:, None]
        _check(model, "q0", at.residual, "is open by", "[m, rad]", first, size, stacklevel)
        _check(model, "v0", slip / fastest, "slips at", "of the speed", first, size, stacklevel)
        if not own or k < _WORLDS:
            _warn_of_singular(model, q, v, at, first, stacklevel)


def warn_of_quaternion_order(model: Model, q0: Array, stacklevel: int = 2) -> None:
    """Warn of starts (batch, nq) whose quaternions are all half a turn, and no turn in the order of other programs."""
    for joint, first in zip(model.joints, model.q_offsets, strict=True):
        for at in find_joint(joint.type).quaternions if first >= 0 else ():
            turn = q0[:, first + at]
            if len(turn) and (np.abs(turn) == 1).all():
                text = (
                    f"q0: joint {joint.name!r} starts half a turn about x, with the quaternion (x, y, z, w) = "
                    "(1, 0, 0, 0); if it begins with w, as in MuJoCo, write (0, 0, 0, 1)"
                )
                warnings.warn(text, PysimWarning, stacklevel=stacklevel + 1)


def _check(
    model: Model,
    name: str,
    left: Array,
    verb: str,
    unit: str,
    first: int,
    size: int,
    stacklevel: int,
) -> None:
    """Reject, or warn of, the constraint row with the largest violation."""
    left = np.abs(left)
    if (left <= _NEARLY[size]).all():
        return
    left = np.nan_to_num(left, nan=np.inf)
    world, row = np.unravel_index(left.argmax(), left.shape)
    largest = float(left[world, row])
    tie = f"{kind_of_constraint(model, model.row_names[row])} {model.row_names[row]!r}"
    problem = f"{tie} {verb} {largest:.3g} {unit}"
    where = f"{name}: world {first + int(world)}"
    if largest > _OPEN[size]:
        raise SimulationError(where, f"{problem}; give a start that satisfies it, {_REMEDY}")
    text = f"{where}: {problem}, which the first step removes; give a start that satisfies it"
    warnings.warn(text, PysimWarning, stacklevel=stacklevel + 2)


def _warn_of_singular(
    model: Model, q: Array, v: Array, at: Constraints, first: int, stacklevel: int
) -> None:
    """Warn of the first world, of those sampled, whose rows have a lower rank than usual for the model."""
    worlds = np.arange(len(q))
    if len(q) > _WORLDS:
        worlds = np.linspace(0, len(q) - 1, _WORLDS).astype(int)
    J = at.jacobian[worlds]
    length = np.linalg.norm(J, axis=2, keepdims=True)
    unit = np.divide(J, length, out=np.zeros_like(J), where=length > 0)
    ranks = (np.linalg.svd(unit, compute_uv=False) > _ANGLE).sum(axis=1)
    k = int(ranks.argmin())
    if ranks[k] >= _usual_ranks.get(model, min(J.shape[1:])):
        return
    world = int(worlds[k])
    found = mobility(model, q[world], at.loop_q[world])
    if not found.singular:
        _usual_ranks[model] = int(ranks[k])
        return
    text = singular_start(model, State(q[world], v[world], at.loop_q[world]), found)
    if text is not None:
        where = f"q0: world {first + world}"
        warnings.warn(f"{where}: {text}", PysimWarning, stacklevel=stacklevel + 2)
