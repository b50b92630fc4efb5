"""Worlds of a rollout that end early: what is found wrong with their rows, and why."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from pysim.diagnosis.element_faults import element_fault
from pysim.diagnosis.failed_steps import explain, too_large
from pysim.diagnosis.growing_states import growing_worlds
from pysim.diagnosis.unstable_steps import frozen_worlds, is_explicit, suspicious
from pysim.errors import PysimWarning
from pysim.integrators import find_integrator
from pysim.mechanism.model import State
from pysim.worlds.failure import Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pysim.typing import Array
    from pysim.worlds.world_records import WorldRecords

MOST_DIAGNOSED = 16  # worlds that end early


def overflows(records: WorldRecords, t: Array, q: Array, v: Array) -> dict[int, str]:
    """Return, by world, why rows of worlds that still run have overflowed; set their rows from there on to NaN."""
    found = dict[int, str]()
    wild = np.asarray(~(np.isfinite(q).all(axis=2) & np.isfinite(v).all(axis=2)))
    for k in np.flatnonzero(wild.any(axis=1) & (records.status == Status.RUNNING)).tolist():
        row = int(wild[k].argmax())
        found[k] = str(too_large(records.scene_of(k), float(t[row]), v[k, row - 1]))
        q[k, row:] = v[k, row:] = np.nan
    return found


def unstable_worlds(
    records: WorldRecords, t: Array, q: Array, v: Array, begun: Array | None
) -> dict[int, tuple[int, str]]:
    """Return the worlds whose steps were unstable, each with the row from which on it is lost, and why.

    Steps that do not follow their velocity are recognised at the last row; `begun` (worlds, numbers) are the numbers of
    the signals at the start.
    """
    scene, unstable = records.scene, dict[int, tuple[int, str]]()
    if len(t) < 2 or records.is_adaptive:
        return unstable
    span = float(t[0]), float(t[-1])
    if begun is not None:
        states = q[:, 0], v[:, 0], begun, records.signals
        grown = growing_worlds(records.scene_of, span, *states)
        unstable |= {k: (1, str(error)) for k, error in grown.items()}
    if not is_explicit(scene):
        return unstable
    before, after = (State(q[:, k], v[:, k], records.loop_q) for k in (-2, -1))
    numbers = None if begun is None else records.signals
    alive = records.status == Status.RUNNING
    last = float(t[-2]), span[1]
    frozen = frozen_worlds(records.scene_of, last, before, after, numbers, alive)
    for k, error in frozen.items():
        rows = set(suspicious(scene, t, q[k], v[k]).tolist())
        first = len(t) - 1
        while first - 1 in rows:
            first -= 1
        unstable[k] = max(first, 1), str(error)
    return unstable


def lost_worlds(
    records: WorldRecords,
    unstable: Mapping[int, tuple[int, str]],
    known: Mapping[int, str],
    gone: Sequence[int],
) -> tuple[list[int], dict[int, str]]:
    """Return the worlds that failed in this rollout, and the causes that are known; worlds `gone` failed before it."""
    lost = sorted({*np.flatnonzero(records.lost).tolist(), *unstable, *known} - set(gone))
    errors = {k: text for k, (_, text) in unstable.items()} | dict(known)
    for k in lost:
        if k not in errors and (
            records.status[k] == Status.UNSOLVED
            or records.python is not None
            or records.is_adaptive
            or (records.scenes is not None and records.scene.signals is not None)
            or find_integrator(records.scene.settings.integrator).contacts
        ):
            errors[k] = str(explain(records.failure(k)))
    for k in [k for k in lost if k not in errors][:MOST_DIAGNOSED]:
        step = records.failure(k)
        fault = element_fault(step.scene, step.state, step.numbers, step.t, step.step)
        if fault is not None:
            errors[k] = f"{records.scene.spec.path}: {fault}"
    return lost, errors


def failure(k: int, v: Array, t: Array, errors: Mapping[int, str]) -> str:
    """Return why world k ended early, whose velocities (rows, nv) are NaN from then on."""
    if k in errors:
        return errors[k]
    return f"it reached NaN or infinite values or opened its loops before t = {_end(v, t):.6g} s"


def warn_of_ends(errors: Mapping[int, str], count: int, ended: int, stacklevel: int) -> None:
    """Warn of worlds that ended early, with the error of the first that has one."""
    first = min(errors)
    problem = f"{ended} of {count} worlds ended early, world {first}: {errors[first]}"
    text = f"rollout: {problem}; their rows are NaN from there on"
    warnings.warn(text, PysimWarning, stacklevel=stacklevel + 1)


def _end(v: Array, t: Array) -> float:
    """Return the time of the first row that is NaN [s]."""
    return float(t[np.isnan(v).any(axis=1).argmax()])
