"""Starts of the worlds of a rollout: as requested, those of their scenes, or where a saved state goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import SimulationError
from pysim.rollouts.request import requested_numbers
from pysim.rollouts.rollout_worlds import RolloutWorlds, grouped_worlds, groups_saved
from pysim.typing import Array
from pysim.worlds.failure import Status
from pysim.worlds.parameters.world_parameters import WorldParameters
from pysim.worlds.saved_worlds import load_worlds, number_saved

if TYPE_CHECKING:
    from pysim.rollouts.request import Request
    from pysim.rollouts.rollout_worlds import WorldGroup
    from pysim.worlds.loading import Scene


def worlds_at_start(
    scenes: list[Scene], request: Request
) -> tuple[RolloutWorlds, list[WorldGroup]]:
    """Return the starts of every world, by default those of the scenes, and their records, which have not begun."""
    goes_on = request.state is not None
    q0 = _starts(request.q0, [scene.state.q for scene in scenes], "q0", goes_on=goes_on)
    v0 = _starts(request.v0, [scene.state.v for scene in scenes], "v0", goes_on=goes_on)
    has_starts = request.q0 is not None or request.v0 is not None
    saved = [] if request.state is None else groups_saved(request.state)
    held = sum(number_saved(saved_group) for saved_group in saved)
    if goes_on and not has_starts:
        q0, v0 = (np.tile(x[:1], (held, 1)) if len(x) == 1 else x for x in (q0, v0))
    q0, v0 = _broadcast(q0, v0)
    if len(scenes) > 1 and len(scenes) != len(q0):
        problem = f"there are {len(scenes)} scenes for {len(q0)} worlds"
        raise ValueError(f"{problem}; pass one scene for all, without a list, or one for each")
    count, near = len(q0), [scene.state.loop_q for scene in scenes]
    if goes_on and held != count:
        those = "1 world" if held == 1 else f"{held} worlds"
        problem = f"state is that of {those}, but this rollout has {count}"
        raise ValueError(f"{problem}; pass the state of a rollout with as many worlds")
    if q0.dtype != np.float64:
        problem = f"{scenes[0].settings.integrator!r} runs in double precision only"
        raise SimulationError("q0", f"{problem}; pass float64 arrays")
    loop_q = np.array(near if len(near) == count else near * count, q0.dtype)
    numbers = requested_numbers(request, count)
    worlds = RolloutWorlds(
        scenes, q0, v0, loop_q, request.threads, request.signals, request.contacts, numbers
    )
    groups = grouped_worlds(worlds)
    if not goes_on:
        return worlds, groups
    if len(saved) != len(groups):
        problem = "was saved with the scenes stepped together in other groups"
        raise SimulationError("state", f"{problem}; pass that of a rollout of the same scenes")
    return _continued(worlds, groups, saved, has_starts=has_starts), groups


def _continued(
    worlds: RolloutWorlds, groups: list[WorldGroup], saved: list[bytes], *, has_starts: bool
) -> RolloutWorlds:
    """Return worlds that continue the saved records of their groups, from other q and v if `has_starts`."""
    start, lost = 0.0, np.zeros(len(worlds.q0), bool)
    q0, v0, loop_q = worlds.q0.copy(), worlds.v0.copy(), worlds.loop_q.copy()
    for (chosen, records), saved_group in zip(groups, saved, strict=True):
        records.parameters = WorldParameters(records, is_single=False)  # saved worlds may have some
        load_worlds(records, saved_group, records.chosen(None), live_controllers=True)
        saved_q, saved_v = records.q.copy(), records.v.copy()
        gone = records.status != Status.RUNNING
        start = max([start, *records.t[~gone].tolist()])
        if has_starts:
            q, v = q0[chosen], v0[chosen]
            gone |= ~(np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1))
            records.q[~gone], records.v[~gone] = q[~gone], v[~gone]
            records.status[gone & (records.status == Status.RUNNING)] = Status.WRITTEN
            records.engine.accept(None)
        lost[chosen] = gone
        # finite numbers in place of lost states, which results leave out
        q0[chosen] = np.where(gone[:, None], saved_q, records.q)
        v0[chosen] = np.where(gone[:, None], saved_v, records.v)
        loop_q[chosen] = records.loop_q
    return replace(worlds, q0=q0, v0=v0, loop_q=loop_q, start=start, lost=lost)


def _starts(requested: Array | None, of_scenes: list[Array], name: str, *, goes_on: bool) -> Array:
    if requested is None:
        return np.array(of_scenes)
    if requested.ndim not in (1, 2) or requested.shape[-1] != len(of_scenes[0]):
        problem = f"must have shape ({len(of_scenes[0])},) or (batch, {len(of_scenes[0])}), got {requested.shape}"
        raise ValueError(f"{name} {problem}")
    if not goes_on and not np.isfinite(requested).all():
        raise ValueError(f"{name} must be finite, got nan or inf")
    return np.atleast_2d(requested)


def _broadcast(q0: Array, v0: Array) -> tuple[Array, Array]:
    count = max(len(q0), len(v0))
    if {len(q0), len(v0)} - {1, count}:
        raise ValueError(f"q0 has {len(q0)} worlds and v0 has {len(v0)}; pass the same number")
    dtype = np.result_type(q0, v0) if np.float32 not in (q0.dtype, v0.dtype) else np.float32
    q0, v0 = (
        np.ascontiguousarray(np.broadcast_to(x, (count, x.shape[1])), dtype) for x in (q0, v0)
    )
    return q0, v0
