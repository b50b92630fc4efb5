"""Checks of a scene's start: joints beyond a limit, singular positions, bodies too light for their loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import minverse
from pysim.joints import find_joint
from pysim.loops import constraints, mobility
from pysim.simulation.python_stepping import ModelSystem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pysim.loops import Mobility
    from pysim.mechanism.model import Model, State
    from pysim.simulation.loading import Scene

_DIGITS = 5e-10  # least inertia along a row, relative to the largest; below, the engine's pivots are rounding
_KINEMATIC = 1e3  # part of that which must be due to masses, not to the directions of the rows
_BEYOND = 1e-6  # [m or rad] beyond a limit that is reported
_FOLLOWED = 1e-6  # of the fastest coordinate's centripetal terms, which no acceleration balances


def mobility_at_start(scene: Scene) -> Mobility | None:
    """Return the mobility at the start; None without loops and couplings."""
    model, state = scene.model, scene.state
    return mobility(model, state.q, state.loop_q) if model.rows else None


def singular_start(model: Model, state: State, found: Mobility | None) -> str | None:
    """Describe a start at which loops leave the motion undetermined; None of one that leads on, singular or not."""
    if found is None:
        return None
    reasons = []
    if found.rank_here < found.rank and not state.v.any():
        reasons.append(
            "several motions are possible, and a start at rest does not determine which one"
        )
    elif found.singular and not _leads_on(model, state):
        reasons.append("its start velocity cannot be followed")
    if found.stuck:
        reasons.append("constraints exert no force against loads along an infinitesimal motion")
    if not reasons:
        return None
    problem = "; ".join([f"the start is a singular position ({found})", *reasons])
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
    rank = int((angles > _FOLLOWED * angles[0]).sum())
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
            if beyond > _BEYOND:
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
    return np.asarray(free - JM.T @ np.linalg.pinv(JM @ J.T, _FOLLOWED**2, hermitian=True) @ JM)


def _leads_on(model: Model, state: State) -> bool:
    """Return whether some v̇ satisfies J v̇ + J̇ v = 0 along the start velocity."""
    at = constraints(model, state.q, state.v, loop_q=state.loop_q)
    left = at.bias - at.jacobian @ (np.linalg.pinv(at.jacobian, _FOLLOWED) @ at.bias)
    return bool(np.abs(left).max() <= _FOLLOWED * np.abs(state.v).max(initial=0.0) ** 2)
