"""Losses of the rows of steps, and their derivatives by the states and signals of these rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pysim.analysis.motion_cotangents import along_motions
from pysim.errors import SimulationError
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.analysis.differentiable_steps import Bars, DifferentiableSteps

Loss: TypeAlias = Callable[..., tuple[Any, ...]]  # of (q, v), or of (q, v, signals by name)


def last_values(run: DifferentiableSteps) -> tuple[Array, Bars]:
    """Return the last value (n,) of the only signal, and derivatives (n, 1, …) of it by the last row."""
    value = run.signal_rows[:, 0, 0]
    bars = np.zeros((run.count, 1, run.scene.model.nv))
    return value, (bars, bars, np.ones((run.count, 1, 1)))


def losses(run: DifferentiableSteps, loss: Loss) -> tuple[Array, Bars]:
    """Return losses (n,) of the rows, which are not kept, and their derivatives (n, steps, …)."""
    q, v, rows = (x[0] if run.is_single else x for x in (run.q, run.v, run.signal_rows))
    del run.q, run.v, run.signal_rows
    named = [run.signals.by_name(rows)] if run.signals else []
    returned: Any = loss(q, v, *named)
    if not isinstance(returned, tuple) or len(returned) != 3 + len(named):
        also = " and by signals" * len(named)
        raise SimulationError(
            "loss", f"must return the losses and their derivatives by q and by v{also}"
        )
    value, by_q, by_v = (np.asarray(x, float) for x in returned[:3])
    by_rows = run.signals.side_by_side(returned[3] if named else {}, rows.shape[:-1])
    shapes = ((), q.shape, v.shape) if run.is_single else ((run.count,), q.shape, v.shape)
    for x, name, shape in zip((value, by_q, by_v), ("loss", "by q", "by v"), shapes, strict=True):
        if x.shape != shape:
            raise SimulationError("loss", f"{name} must have shape {shape}, got {x.shape}")
    del v  # which `along_motions` needs room for
    if run.is_single:
        value, q, by_q, by_v, by_rows = (x[None] for x in (value, q, by_q, by_v, by_rows))
    return value, (along_motions(run.scene.model, q, by_q), by_v, by_rows)
