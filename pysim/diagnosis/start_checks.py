"""Checks of a scene's start: joints beyond a limit, singular positions, bodies too light for their loops.

A start that is passed to a rollout and violates its loops is rejected, since the first step would move it by the
violation; a violation slightly larger than rounding is a warning.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from pysim.algorithms import minverse
from pysim.errors import PysimWarning, SimulationError
from pysim.joints import find_joint
from pysim.loops import constraints, mobility
from pysim.loops.constraints import kind_of_constraint
from pysim.mechanism.model import State
from pysim.typing import Array
from pysim.worlds.python_stepping import ModelSystem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from pysim.loops import Constraints, Mobility
    from pysim.mechanism.model import Model
    from pysim.worlds.loading import Scene


_DIGITS = 5e-10  # least inertia along a row, relative to the largest; below, the engine's pivots are rounding
_KINEMATIC = 1e3  # part of that which must be due to masses, not to the directions of the rows
_REPORTED_EXCESS = 1e-6  # [m or rad] beyond a limit that is reported
# of the fastest coordinate's centripetal terms, which no acceleration balances
_FOLLOWED_SHARE = 1e-6
# [m, rad] of loops, by the size of a number in bytes
_LARGEST_RESIDUAL = {8: 1e-6, 4: 1e-3}
_NEARLY = {8: 1e-9, 4: 1e-4}  # [m, rad] that are a warning
_CHECKED_WORLDS = 32  # whose rank is computed, evenly spaced
_ANGLE = 1e-6  # [rad] between rows that are independent
_REMEDY = "as pysim.loops.assemble and pysim.loops.project return it"
_usual_ranks: WeakKeyDictionary[Model, int] = WeakKeyDictionary()


def mobility_at_start(scene: Scene) -> Mobility | None:
    """Return the mobility at the start; None without loops and couplings."""
    model, state = scene.model, scene.state
    return mobility(model, state.q, state.loop_q) if model.rows else None


def singular_start(model: Model, state: State, mobility: Mobility | None) -> str | None:
    """Describe a start at which loops leave the motion undetermined; None of one that leads on, singular or not."""
    if mobility is None:
        return None
    reasons = []
    if mobility.rank_here < mobility.rank and not state.v.any():
        reasons.append(
            "several motions are possible, and a start at rest does not determine which one"
        )
    elif mobility.singular and not _leads_on(model, state):
        reasons.append("its start velocity cannot be followed")
    if mobility.stuck:
        reasons.append("constraints exert no force against loads along an infinitesimal motion")
    if not reasons:
        return None
    problem = "; ".join([f"the start is a singular position ({mobility})", *reasons])
    return f"{problem}; start near it, or change a length"


def starts_beyond_limits(scene: Scene) -> Iterator[str]:
    """Describe joints that a stop throws back at the start; a joint that rests on its stop is none of them."""
    beyond = list(_beyond_limits(scene))
    if not beyond:
        return
    model, q = scene.model, scene.state.q
    system = ModelSystem(model, scene.actuation, scene.state.loop_q.copy())
    left, mobility = system.acceleration(0.0, q, np.zeros(model.nv)), _response(model, scene.state)
    for k, push, text in beyond:
        if 0 < mobility[k, k] * push / 2 < abs(left[k]):
            yield f"{text}, and its stop will throw it back; start it within its limits"


def light_bodies(scene: Scene) -> str | None:
    """Describe bodies so much lighter than others that forces of loops lose accuracy; None if none are."""
    model, state = scene.model, scene.state
    if not scene.spec.model.loops:
        return None
    J = constraints(model, state.q, state.v, loop_q=state.loop_q).jacobian
    J = J[np.abs(J).any(axis=1)]
    if not J.size:  # no motion of the tree can break the loops
        return None
    G = J @ minverse(model, state.q) @ J.T
    size = 1 / np.sqrt(np.diag(G))
    values = np.linalg.eigvalsh(size[:, None] * G * size)[::-1]
    angles = np.linalg.svd(J / np.linalg.norm(J, axis=1, keepdims=True), compute_uv=False) ** 2
    rank = int((angles > _FOLLOWED_SHARE * angles[0]).sum())
    least, kinematic = values[rank - 1] / values[0], angles[rank - 1] / angles[0]
    if least > _DIGITS or least * _KINEMATIC > kinematic:
        return None
    lightest = min(model.bodies, key=lambda body: float(body.theta[0]))
    mass = float(lightest.theta[0])
    enough = 2 * mass * _DIGITS / max(least, 1e-16)
    return (
        f"'{lightest.name}' ({mass:.1e} kg) is so much lighter than the others that the forces which close the loops "
        f"lose accuracy; give it {enough:.0e} kg or more"
    )


def _beyond_limits(scene: Scene) -> Iterator[tuple[int, float, str]]:
    """Yield the velocity of a coordinate that starts beyond a limit, the stop's push [N or N·m], and the words."""
    model, start = scene.model, scene.state.q
    for joint, at_q, at_v in zip(model.joints, model.q_offsets, model.v_offsets, strict=True):
        kind = find_joint(joint.type)
        if at_q < 0 or not kind.is_real:  # led by another, or without limits
            continue
        for k, unit in enumerate(kind.q_units):
            q, lower, upper = start[at_q + k], joint.lower[k], joint.upper[k]
            beyond = max(lower - q, q - upper)
            if beyond > _REPORTED_EXCESS:
                side, limit = ("lower", lower) if q < lower else ("upper", upper)
                name = f"{joint.name}.{kind.q_names[k]}" if kind.nv > 1 else joint.name
                text = f"{name!r} starts {beyond:.4g} [{unit}] beyond its {side} limit {limit:.4g} [{unit}]"
                yield at_v + k, joint.stop_stiffness[k] * beyond, f"{joint.where}: {text}"


def _response(model: Model, state: State) -> NDArray[np.float64]:
    """Return ∂v̇/∂τ (nv, nv) with the loops closed: what a light crank moves through them counts."""
    free = minverse(model, state.q)
    if not model.rows:
        return free
    J = constraints(model, state.q, state.v, loop_q=state.loop_q).jacobian
    JM = J @ free
    return np.asarray(
        free - JM.T @ np.linalg.pinv(JM @ J.T, _FOLLOWED_SHARE**2, hermitian=True) @ JM
    )


def _leads_on(model: Model, state: State) -> bool:
    """Return whether some v̇ satisfies J v̇ + J̇ v = 0 along the start velocity."""
    at = constraints(model, state.q, state.v, loop_q=state.loop_q)
    left = at.bias - at.jacobian @ (np.linalg.pinv(at.jacobian, _FOLLOWED_SHARE) @ at.bias)
    return bool(np.abs(left).max() <= _FOLLOWED_SHARE * np.abs(state.v).max(initial=0.0) ** 2)


# Starts that are passed to a rollout ---------------------------------------------------------------


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
    is_each = len(models) > 1
    for k, model in enumerate(models):
        worlds = slice(k, k + 1) if is_each else slice(None)
        near = None if loop_q is None else np.asarray(loop_q[worlds], float)
        q, v = np.asarray(q0[worlds], float), np.asarray(v0[worlds], float)
        at = constraints(model, q, v, loop_q=near, t=t)
        first, size = k if is_each else 0, q0.dtype.itemsize
        slip = np.einsum("nij,nj->ni", at.jacobian, v) + at.rates
        fastest = np.maximum(1.0, np.abs(v).max(axis=1, initial=0.0))[:, None]
        _check(model, "q0", at.residual, "is open by", "[m, rad]", first, size, stacklevel)
        _check(model, "v0", slip / fastest, "slips at", "of the speed", first, size, stacklevel)
        if not is_each or k < _CHECKED_WORLDS:
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
    if largest > _LARGEST_RESIDUAL[size]:
        raise SimulationError(where, f"{problem}; give a start that satisfies it, {_REMEDY}")
    text = f"{where}: {problem}, which the first step removes; give a start that satisfies it"
    warnings.warn(text, PysimWarning, stacklevel=stacklevel + 2)


def _warn_of_singular(
    model: Model, q: Array, v: Array, at: Constraints, first: int, stacklevel: int
) -> None:
    """Warn of the first world, of those sampled, whose rows have a lower rank than usual for the model."""
    worlds = np.arange(len(q))
    if len(q) > _CHECKED_WORLDS:
        worlds = np.linspace(0, len(q) - 1, _CHECKED_WORLDS).astype(int)
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
