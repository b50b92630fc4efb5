"""Rollouts of scenes: many worlds in one call, each with the actuators, integrator and events of its scene.

    run = pysim.rollout(scene, q0, v0, threads=2)          # many starts of a scene
    run = pysim.rollout(pysim.load_scenes(path, values))   # a scene for each world
    run.t, run.q, run.v

Worlds run in packs, also those of scenes that differ in numbers; plugins' schemes, callback joints and impacts make
the steps of one world after the other.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pysim.diagnosis.scene_warnings import (
    warn_of_control,
    warn_of_obstacles,
    warn_of_scene,
    warn_of_worlds,
)
from pysim.diagnosis.start_checks import check_starts, warn_of_quaternion_order
from pysim.diagnosis.world_monitor import (
    warn_of_friction_of_worlds,
    warn_of_unstable_worlds,
)
from pysim.errors import PysimWarning
from pysim.rollouts.lost_worlds import warn_of_ends
from pysim.rollouts.output_rows import row_blocks
from pysim.rollouts.pack_run import FailedWorld, PackResult, PackRun
from pysim.rollouts.recorders import check_recorded_pairs
from pysim.rollouts.request import requested_inputs, requested_scene
from pysim.rollouts.result import joined_rollout, without_axis, without_lost
from pysim.rollouts.rollout_worlds import saved_groups
from pysim.rollouts.starts import worlds_at_start
from pysim.worlds.failed_worlds import failed_world, report_lost
from pysim.worlds.loading import Scene
from pysim.worlds.parameters.varied_numbers import check_alike

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.rollouts.output_rows import RowBlock
    from pysim.rollouts.request import Request
    from pysim.rollouts.result import Rollout
    from pysim.rollouts.rollout_worlds import RolloutWorlds, WorldGroup

_GONE = "it ended before this rollout"


def scene_rollout(model: Scene | Sequence[Scene], request: Request) -> Rollout:
    """Run every world of a scene, or of scenes with one for each, from its start.

    Raises:
        SimulationError: the scenes have different settings, or an argument does not suit them.
        ModelError: the scenes' models differ in structure.
    """
    one = isinstance(model, Scene)
    scenes = [model] if isinstance(model, Scene) else list(model)
    check_alike(scenes, ("duration", "every"), "run it in a separate call")
    scenes = [requested_scene(scene, request) for scene in scenes]
    warn_of_worlds(scenes, warn_of_scene, stacklevel=4)
    worlds, groups = worlds_at_start(scenes, request)
    alone = one and (len(worlds.q0) == 1 if request.q0 is None else request.q0.ndim == 1)
    if request.q0 is not None or request.v0 is not None:
        models = [scene.model for scene in worlds.scenes]
        check_starts(models, worlds.q0, worlds.v0, worlds.loop_q, worlds.start, stacklevel=4)
        if request.q0 is not None and request.state is None:
            warn_of_quaternion_order(models[0], worlds.q0, stacklevel=4)
    if worlds.stops and worlds.lost is not None and worlds.lost.any():
        raise failed_world("rollout", int(worlds.lost.argmax()), _GONE)
    blocks = row_blocks(worlds.settings, worlds.start, request)
    rows = sum(block.rows for block in blocks)
    inputs = requested_inputs(worlds.scenes[0], request.controls, len(worlds.q0), rows)
    worlds = replace(worlds, controls=inputs)
    check_recorded_pairs(worlds)
    run, steps = _run_groups(worlds, groups, blocks)
    run = without_lost(run, worlds.lost, _GONE)
    warn_of_friction_of_worlds(worlds.scenes, run.t, run.q, run.v, stacklevel=4)
    warn_of_control(worlds.scenes[0], run.t, run.q[0], stacklevel=4)
    flat = run.q.reshape(-1, run.q.shape[-1])
    warn_of_obstacles(worlds.scenes[0], np.tile(run.t, len(run.q)), flat, stacklevel=4)
    if worlds.scenes[0].contacts is None:
        warn_of_unstable_worlds(worlds.scenes, run.t, run.q, run.v, steps, stacklevel=4)
    return without_axis(run) if alone else run


def _run_groups(
    worlds: RolloutWorlds, groups: list[WorldGroup], blocks: list[RowBlock]
) -> tuple[Rollout, int]:
    """Run worlds side by side, those of scenes together that differ in numbers alone; return the most steps, too."""
    several = len(worlds.scenes) > 1
    ends = [
        (chosen, PackRun(worlds.of(chosen) if several else worlds, records, blocks).result())
        for chosen, records in groups
    ]
    failed = [
        end._replace(world=int(g[end.world])) for g, end in ends if isinstance(end, FailedWorld)
    ]
    if failed:
        raise failed_world("rollout", min(failed).world, min(failed).reason)
    results = [(group, end) for group, end in ends if isinstance(end, PackResult)]
    runs = [result.run for _, result in results]
    run = runs[0] if len(runs) == 1 else joined_rollout([group for group, _ in results], runs)
    signals = worlds.scenes[0].signals
    if signals is not None and signals.callbacks:
        run = replace(run, save=partial(bytes, saved_groups(groups)))  # before others change
    else:
        run = replace(run, save=partial(saved_groups, groups))
    slow = [(int(group[k]), text) for group, result in results for k, text in result.slow]
    if slow:
        first, text = min(slow)
        text = f"rollout: world {first} of {len(slow)} such worlds: {text}"
        warnings.warn(text, PysimWarning, stacklevel=4)
    errors = {int(g[k]): text for g, result in results for k, text in result.errors.items()}
    if errors:
        lost = sum(len(result.lost) for _, result in results)
        warn_of_ends(errors, len(worlds.q0), lost, stacklevel=5)
    elif any(result.lost for _, result in results):
        v = run.v.copy()
        for group, result in results:
            v[group[result.ended]] = 0.0
        report_lost(v, run.t, stacklevel=5)
    return run, max(result.steps for _, result in results)
