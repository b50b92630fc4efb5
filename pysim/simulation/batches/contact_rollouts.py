"""Rollouts with convex steps: many worlds in packs, each under its controls and with contacts of its model.

Worlds that end early leave the batch, so that the others continue without them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.contact import compile_contacts
from pysim.errors import SimulationError
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray

    from pysim.mechanism.model import Model


_A_CALL = 2_000_000  # bodies times steps and worlds of a call of the engine; Ctrl-C takes effect between two


@dataclass(frozen=True)
class ModelRollout:
    """Arguments of a rollout of models with contacts."""

    step: float  # [s]
    steps: int
    every: int  # steps a row
    threads: int


def rollout_models(
    models: Sequence[Model],
    q0: NDArray[Any],
    v0: NDArray[Any],
    controls: NDArray[Any] | None,
    run: ModelRollout,
    loop_q: Array | None,
    out: tuple[Array, Array] | None,
) -> tuple[Array, Array]:
    """Return q (…, 1 + rows, nq) and v (…, 1 + rows, nv) of worlds, NaN from a world's end on.

    Args:
        models: one for all worlds, or one for each.
        q0: start configurations (…, nq), of one world or a batch.
        v0: start velocities (…, nv).
        controls: generalised forces (…, steps, nv) [N or N·m], or None.
        run: steps, rows and threads.
        loop_q: coordinates (…, loop_nq) of the loops' joints, overwritten with those at the end; or None.
        out: arrays for q and v, or None.

    Raises:
        ValueError: an argument has a wrong shape or dtype, a NaN or infinity, or a quaternion that is not unit.
        SimulationError: an array is not of float64.
        ModelError: shapes of a model cannot collide.
    """
    for name, x in (("q0", q0), ("v0", v0), ("controls", controls)):
        if x is not None and x.dtype == np.float32:
            problem = "'convex' runs in double precision only; pass float64 arrays"
            raise SimulationError(name, problem)
    if run.steps < 0 or run.every < 1 or run.steps % run.every:
        problem = f"every must divide the number of steps, {run.steps}, got {run.every}"
        raise ValueError(problem)
    nq, nv, rows = models[0].nq, models[0].nv, run.steps // run.every
    start = _engine.rollout(  # checks the starts
        list(models), q0, v0, None, run.step, 0, 1, "semi_implicit", 0.9, 1, None, None, None
    )
    leading = start[0].shape[:-2]
    if controls is not None:
        if controls.shape != (*leading, run.steps, nv):
            expected = (*leading, run.steps, nv)
            raise ValueError(f"controls must have shape {expected}, got {controls.shape}")
        if not np.isfinite(controls).all():
            at = np.argwhere(~np.isfinite(controls))[0]
            problem = f"got {controls[tuple(at)]} at {at.tolist()}"
            raise ValueError(f"controls must be finite, {problem}")
        controls = controls.reshape(-1, run.steps, nv)
    found = _outputs(out, ((*leading, rows + 1, nq), (*leading, rows + 1, nv)))
    q, v = found[0].reshape(-1, rows + 1, nq), found[1].reshape(-1, rows + 1, nv)
    q[:], v[:] = np.nan, np.nan
    q[:, 0], v[:, 0] = q0, v0
    own = None if loop_q is None else loop_q.reshape(len(q), -1)
    groups: dict[int, list[int]] = {}
    for k, model in enumerate(models):
        groups.setdefault(id(model), []).append(k)
    for members in groups.values():
        worlds = np.arange(len(q)) if len(models) == 1 else np.array(members)
        _run_worlds(models[members[0]], worlds, q, v, controls, run, own)
    return found


def _outputs(
    out: tuple[Array, Array] | None, shapes: tuple[tuple[int, ...], tuple[int, ...]]
) -> tuple[Array, Array]:
    """Return the arrays to fill: those given, or new ones."""
    if out is None:
        return np.empty(shapes[0]), np.empty(shapes[1])
    for k, (array, shape) in enumerate(zip(out, shapes, strict=True)):
        fits = array.dtype == np.float64 and array.shape == shape
        if not fits or not array.flags.c_contiguous or not array.flags.writeable:
            problem = f"must be a writeable C-contiguous float64 array of shape {shape}"
            raise ValueError(f"out[{k}] {problem}")
    return out


def _run_worlds(
    model: Model,
    worlds: NDArray[np.intp],
    q: Array,
    v: Array,
    controls: NDArray[Any] | None,
    run: ModelRollout,
    loop_q: Array | None,
) -> None:
    """Fill the rows of the worlds of one model."""
    contacts = compile_contacts(model)
    memory = np.zeros((len(worlds), contacts.engine.memory_numbers))
    none = _engine.Actuation(*np.zeros((4, model.nv)))
    near = None if loop_q is None else loop_q[worlds]
    most = max(1, _A_CALL // (model.nbodies * run.every * len(worlds) + 1))
    row, rows_in_all = 0, run.steps // run.every
    while row < rows_in_all and len(worlds):
        count = min(most, rows_in_all - row)
        times = np.asarray(run.step * run.every * np.arange(row, row + count), float)
        steps = slice(row * run.every, (row + count) * run.every)
        own = None if controls is None else controls[worlds, steps].astype(float, copy=False)
        found_q, found_v, _, made, done, loops = _engine.advance_contacts(
            contacts.engine,
            q[worlds, row],
            v[worlds, row],
            times,
            np.full(count, run.step),
            np.full(count, run.every),
            none,
            loop_q=near,
            memory=memory,
            controls=own,
            reports=False,
            threads=run.threads,
        )
        last = min(made + 1, count)  # in the last row, some worlds may have ended
        good = np.asarray(done[last - 1]) == run.every
        rows = slice(row + 1, row + last)
        q[worlds, rows] = found_q[: last - 1].swapaxes(0, 1)
        v[worlds, rows] = found_v[: last - 1].swapaxes(0, 1)
        worlds, memory = worlds[good], memory[good]
        row += last
        q[worlds, row], v[worlds, row] = found_q[last - 1, good], found_v[last - 1, good]
        near = loops[last - 1, good]
        if loop_q is not None:
            loop_q[worlds] = near
