"""Convex steps of a batch of worlds, with what contacts report and what the solver counts."""

from __future__ import annotations

from typing import Any

import numpy as np

import pysim
from pysim import _engine
from pysim.typing import Array
from tests.engine_steps import EngineSteps

ITERATIONS, REPEATED, WORST, FAILED = range(4)  # columns of `memory`
IMPULSE = slice(9, 12)  # of a report


class ConvexWorlds(EngineSteps):
    """Worlds of a scene at q (n, nq) and v (n, nv), at t = 0 and without a memory of contacts."""

    def __init__(
        self,
        scene: pysim.Scene,
        q: Array,
        v: Array,
        step: float = 1e-3,
        contacts: _engine.Contacts | None = None,
        **solver: Any,
    ) -> None:
        assert scene.contacts is not None
        own = scene.contacts.engine if contacts is None else contacts
        super().__init__(scene.model, q, v, step, "convex", scene.actuation, contacts=own, **solver)

    def step(self, count: int, threads: int = 1) -> None:
        """Make steps in all worlds. None fails."""
        assert self.engine.step(count, threads=threads) == 0

    def impulses(self) -> float:
        """Sum of the impulses of the last call."""
        return float(np.abs(self.report[..., IMPULSE]).sum())
