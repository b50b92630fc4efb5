"""Losses of the rows of steps, and their derivatives by the states and signals of these rows."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pysim.analysis.motion_cotangents import along_motions
from pysim.errors import SimulationError
from pysim.typing import Array
from pysim.worlds.argument_checks import checked_real, refuse_not_finite

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pysim.analysis.differentiable_steps import Bars, DifferentiableSteps

Loss: TypeAlias = Callable[..., tuple[Any, ...]]  # of (q, v), or of (q, v, signals by name)

_FINITE = "let the loss be finite there, or take fewer steps"


def last_values(run: DifferentiableSteps) -> tuple[Array, Bars]:
    """Return the last value (n,) of the only signal, and derivatives (n, 1, …) of it by the last row.

    Raises:
        SimulationError: a value is NaN or infinite.
    """
    value = run.signal_rows[:, 0, 0]
    _refuse_loss(value, "its last value is", run)
    bars = np.zeros((run.count, 1, run.scene.model.nv))
    return value, (bars, bars, np.ones((run.count, 1, 1)))


def losses(run: DifferentiableSteps, loss: Loss) -> tuple[Array, Bars]:
    """Return losses (n,) of the rows, which are not kept, and their derivatives (n, steps, …).

    Raises:
        SimulationError: `loss` cannot be called, or returns something else than losses and derivatives.
    """
    q, v, rows = (x[0] if run.is_single else x for x in (run.q, run.v, run.signal_rows))
    del run.q, run.v, run.signal_rows
    named = [run.signals.by_name(rows)] if run.signals else []
    shapes = {
        "losses": () if run.is_single else (run.count,),
        "derivatives by q": q.shape,
        "derivatives by v": v.shape,
    }
    _check_callable(loss, q, v, *named)
    returned: Any = loss(q, v, *named)
    if not isinstance(returned, tuple) or len(returned) != 3 + len(named):
        parts = "(losses, by q, by v, by signals)" if named else "(losses, by q, by v)"
        got = f"{len(returned)} values" if isinstance(returned, tuple) else type(returned).__name__
        raise SimulationError("loss", f"must return a tuple {parts}, got {got}; return all of them")
    given = zip(returned[:3], shapes.items(), strict=True)
    value, by_q, by_v = (_checked(x, name, shape, run) for x, (name, shape) in given)
    by_name: Any = returned[3] if named else {}
    if isinstance(by_name, Mapping):
        by_name = {key: checked_real(x, f"loss: by {key!r}") for key, x in by_name.items()}
    by_rows = run.signals.side_by_side(by_name, rows.shape[:-1])
    every = by_rows[None] if run.is_single else by_rows
    refuse_not_finite(every, "loss", "derivatives by signals are", _FINITE)
    del v  # which `along_motions` needs room for
    if run.is_single:
        value, q, by_q, by_v, by_rows = (x[None] for x in (value, q, by_q, by_v, by_rows))
    return value, (along_motions(run.scene.model, q, by_q), by_v, by_rows)


def _check_callable(loss: object, *arguments: object) -> None:
    """Raise SimulationError if `loss` cannot be called with arguments."""
    if not callable(loss):
        problem = f"must be a function or the name of a signal, got {type(loss).__name__}"
        raise SimulationError("loss", f"{problem}; give a function of q and v")
    try:
        signature = inspect.signature(loss)
    except (TypeError, ValueError):  # of a function that says nothing of its arguments
        return
    try:
        signature.bind(*arguments)
    except TypeError as error:
        taken = "(q, v, signals)" if len(arguments) > 2 else "(q, v)"
        raise SimulationError(
            "loss", f"is called with {taken}: {error}; let it take them"
        ) from None


def _checked(
    given: ArrayLike, name: str, shape: tuple[int, ...], run: DifferentiableSteps
) -> Array:
    """Return what a loss has returned as an array, after a check that it has numbers for everything."""
    values = checked_real(given, f"loss: {name}")
    if values.shape != shape:
        number = "world" if name == "losses" else "number of every step"
        problem = f"{name} must have shape {shape}, got {values.shape}"
        raise SimulationError("loss", f"{problem}; return one for every {number}")
    every = values[None] if run.is_single else values
    if name == "losses":
        _refuse_loss(every, f"{name} are", run)
    refuse_not_finite(every, "loss", f"{name} are", _FINITE)
    return values


def _refuse_loss(values: Array, what: str, run: DifferentiableSteps) -> None:
    """Raise SimulationError for losses (n,) that are NaN or infinite, with the element that is, too."""
    bad = ~np.isfinite(values)
    if not bad.any():
        return
    world = int(bad.argmax())
    fault = run.element_fault(world, 0.0)
    why = f"; {_FINITE}" if fault is None else f": {fault}, or take fewer steps"
    raise SimulationError("loss", f"{what} NaN or infinite in world {world}{why}")
