"""Complaints about starts: beyond a limit, at a singular position, with bodies too light for what loops ask of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import minverse
from pysim.cli.messages import complain
from pysim.joints import find_joint
from pysim.loops import constraints, mobility
from pysim.simulation.python_stepping import ModelSystem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pysim.loops import Mobility
    from pysim.simulation.loading import Scene

_DIGITS = (
    5e-10  # least inertia that rows feel, relative to the largest; below, the engine's pivots fade
)
_KINEMATIC = 1e3  # how much of that must come from masses, not from where the rows point
_BEYOND = 1e-6  # [m or rad] beyond a limit, to be told
_FOLLOWED = 1e-6  # of what the fastest coordinate asks for, that no acceleration makes up for


def mobility_at_start(scene: Scene) -> Mobility | None:
    """How many ways it can move at the start; None where nothing ties its coordinates."""
    model, state = scene.model, scene.state
    return mobility(model, state.q, state.loop_q) if model.rows else None


def warn_of_start(scene: Scene, found: Mobility | None) -> bool:
    """Warn of a start where loops let the mechanism move in more ways for an instant than it can go.

    One that moves along a way on is told nothing. Warn of bodies that are too light for their loops and of joints
    beyond their limits, too. True where the start was complained of: its motion is not determined, and says nothing
    about steps.
    """
    _warn_of_limits(scene)
    if found is None:
        return False
    state = scene.state
    reasons = []
    if found.rank_here < found.rank and not state.v.any():
        reasons.append("it can go on in more ways than one, and from rest rounding alone decides")
    elif found.singular and not _leads_on(scene):
        reasons.append("its start velocity cannot be followed")
    if found.stuck:
        reasons.append("nothing holds it against what pushes where it cannot go")
    if reasons:
        told = "; ".join([f"the start is a singular position ({found})", *reasons])
        complain("warning", f"{told}; start beside it, or change a length")
    _warn_of_light_bodies(scene)
    return bool(reasons)


def _warn_of_limits(scene: Scene) -> None:
    """Warn of joints that a stop throws back at the start; one that rests on its stop is told nothing."""
    beyond = list(_beyond_limits(scene))
    if not beyond:
        return
    model, q = scene.model, scene.state.q
    system = ModelSystem(model, scene.actuation, scene.state.loop_q.copy())
    left, mobility = system.acceleration(0.0, q, np.zeros(model.nv)), minverse(model, q)
    for k, push, told in beyond:
        if 0 < mobility[k, k] * push / 2 < abs(left[k]):
            complain("warning", f"{told}, and its stop throws it back; start it within its limits")


def _beyond_limits(scene: Scene) -> Iterator[tuple[int, float, str]]:
    """Which velocities' coordinates start beyond a limit, the stop's push [N or N·m], and how far in words."""
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
                told = f"{name!r} starts {beyond:.4g} [{unit}] beyond its {side} limit {limit:.4g} [{unit}]"
                yield at_v + k, joint.stop_stiffness[k] * beyond, f"{joint.where}: {told}"


def _warn_of_light_bodies(scene: Scene) -> None:
    """Warn of loops whose forces bodies feel that are many orders lighter than others: they lose their digits."""
    model, state = scene.model, scene.state
    if not scene.spec.model.loops:
        return
    J = constraints(model, state.q, state.v, loop_q=state.loop_q).jacobian
    J = J[np.abs(J).any(axis=1)]
    if not J.size:  # no motion of the tree can break the loops
        return
    mobility_of_rows = J @ minverse(model, state.q) @ J.T
    size = 1 / np.sqrt(np.diag(mobility_of_rows))
    felt = np.linalg.eigvalsh(size[:, None] * mobility_of_rows * size)[::-1]
    there = np.linalg.svd(J / np.linalg.norm(J, axis=1, keepdims=True), compute_uv=False) ** 2
    rank = int((there > _FOLLOWED * there[0]).sum())
    least, seen = felt[rank - 1] / felt[0], there[rank - 1] / there[0]
    if least > _DIGITS or least * _KINEMATIC > seen:
        return
    lightest = min(model.bodies, key=lambda body: float(body.theta[0]))
    mass = float(lightest.theta[0])
    enough = 2 * mass * _DIGITS / max(least, 1e-16)
    complain(
        "warning",
        f"'{lightest.name}' ({mass:.1e} kg) is so much lighter than the others that the forces which close the loops "
        f"lose their digits; give it {enough:.0e} kg or more",
    )


def _leads_on(scene: Scene) -> bool:
    """Whether some v̇ keeps J v̇ + J̇ v = 0 along the start velocity."""
    state = scene.state
    at = constraints(scene.model, state.q, state.v, loop_q=state.loop_q)
    left = at.bias - at.jacobian @ (np.linalg.pinv(at.jacobian, _FOLLOWED) @ at.bias)
    return bool(np.abs(left).max() <= _FOLLOWED * np.abs(state.v).max(initial=0.0) ** 2)
