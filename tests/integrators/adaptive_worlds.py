"""Worlds of a model that the engine advances by steps of adapted size, without a scene."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pysim import _engine
from pysim.worlds.adaptive_scheme import Place
from pysim.worlds.engine_calls import Stop
from pysim.worlds.failure import Status
from tests.integrators.test_closed_forms import rest_drive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from pysim.mechanism.model import Model
    from pysim.typing import Array


class Rows(NamedTuple):
    """Result of a call: rows of the outputs that each world reached, and why it was left."""

    q: Array  # (worlds, rows, nq), NaN behind those reached
    v: Array
    reached: Any  # (worlds,) rows
    stops: list[Stop]


class AdaptiveWorlds:
    """Worlds at starts q (worlds, nq) and v; `step` [s] is the first one, 0 to choose it."""

    def __init__(
        self,
        model: Model,
        q: ArrayLike,
        v: ArrayLike,
        tolerance: float | Sequence[float] = 1e-10,
        drive: _engine.Actuation | None = None,
        events: _engine.Events | None = None,
        longest: float = np.inf,
        step: float = 0.0,
    ) -> None:
        each = np.broadcast_to(tolerance, model.nv).astype(float)
        q, v = np.atleast_2d(np.asarray(q, float)), np.atleast_2d(np.asarray(v, float))
        self.engine = _engine.Worlds(
            model,
            drive or rest_drive(model),
            None,
            len(q),
            "dopri5",
            longest,
            rtol=each,
            atol=each,
            events=events,
        )
        parts = self.engine.parts
        parts["q"][:], parts["v"][:] = q, v
        parts["scheme"][:, Place.SIZE] = step
        self.events = 0 if events is None else len(events)

    def advance(self, times: ArrayLike, attempts: int = 10_000, threads: int = 1) -> Rows:
        """Advance through times [s]."""
        times, parts = np.asarray(times, float), self.engine.parts
        count, rows = len(parts["q"]), np.zeros(len(parts["q"]), np.int64)
        q, v = (np.full((count, len(times), parts[x].shape[1]), np.nan) for x in "qv")
        stops = self.engine.advance(
            times=times, row=rows, q_rows=q, v_rows=v, most=attempts, threads=threads
        )
        self._stops = stops
        return Rows(q, v, rows, [Stop(min(int(stop), Stop.EVENT)) for stop in stops])

    def saved(self, k: int) -> bytes:
        """The record of a world."""
        return self.engine.save(np.array([k], np.int32))

    @property
    def accepted(self) -> Any:
        """Steps of each world."""
        return self.engine.parts["steps"][:, 0]

    @property
    def seen(self) -> Any:
        """Time of the event at which each world has stopped [s]."""
        return self.engine.parts["t"][:, 0]

    @property
    def event(self) -> Any:
        """The event at which each world has stopped."""
        return self._stops - Stop.EVENT

    @property
    def status(self) -> list[Status]:
        """States of the worlds' lives."""
        return [Status(int(x)) for x in self.engine.parts["status"][:, 0]]
