"""Convex steps of a batch by the engine's records of worlds, with what contacts report and what the solver counts."""

from __future__ import annotations

from typing import Any

import numpy as np

import pysim
from pysim import _engine
from pysim.typing import Array

ITERATIONS, REPEATED, WORST, FAILED = range(4)  # columns of `counts`
IMPULSE = slice(9, 12)  # of a report


class ConvexWorlds:
    """Worlds of a scene at q (n, nq) and v (n, nv), at t = 0 and without a memory of contacts."""

    def __init__(
        self,
        scene: pysim.Scene,
        q: Array,
        v: Array,
        step: float = 1e-3,
        engine: _engine.Contacts | None = None,
        **solver: Any,
    ) -> None:
        assert scene.contacts is not None
        contacts = scene.contacts.engine if engine is None else engine
        self.engine = _engine.Worlds(
            scene.model, scene.actuation, contacts, len(q), "convex", step, **solver
        )
        parts = self.engine.parts
        parts["q"][:], parts["v"][:], parts["loop_q"][:] = q, v, scene.state.loop_q
        self.engine.begin_clock(np.arange(len(q), dtype=np.int32))
        self.q, self.v, self._touching = parts["q"], parts["v"], parts["touching"][:, 0]
        self.counts = parts["scheme"][
            :, :4
        ]  # since the start, the worst coordinate and 1 of failed worlds
        self.reports = parts["report"].reshape(
            len(q), -1, 18
        )  # of the points that touched in the last step

    def step(self, count: int, threads: int = 1) -> None:
        """Make steps in all worlds. None fails."""
        assert self.engine.step(count, threads=threads) == 0

    def impulses(self) -> float:
        """Sum of the impulses of the last call."""
        reports = zip(self.reports, self._touching, strict=True)
        return sum(float(np.abs(own[:count, IMPULSE]).sum()) for own, count in reports)
