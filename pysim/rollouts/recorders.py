"""Recorders of rollouts: the requested signals of worlds, and the contact forces of their pairs of links."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import SimulationError, UnknownSimulationNameError, did_you_mean
from pysim.rollouts.result import PairForces
from pysim.typing import Array
from pysim.worlds.contact_report import pair_sums, start_report
from pysim.worlds.signal_runs import signals_of_states

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pysim.elements.graph_types import RecordedSignal
    from pysim.rollouts.rollout_worlds import RolloutWorlds
    from pysim.worlds.loading import Scene
    from pysim.worlds.world_records import WorldRecords


class SignalRecorder:
    """Recorder of the requested signals of worlds."""

    def __init__(self, worlds: RolloutWorlds, count: int, rows: int) -> None:
        self._scene = worlds.scenes[0]
        self._wanted = _wanted_signals(self._scene, worlds.recorded)
        self.rows: dict[str, Array] = {
            s.name: np.full((count, rows) if s.is_single else (count, rows, s.size), np.nan)
            for s in self._wanted
        }

    def record(
        self,
        row: int,
        worlds: slice | NDArray[np.intp],
        scene: Scene,
        t: float,
        q: Array,
        v: Array,
        loop_q: Array,
        numbers: Array | None,
        report: Array | None = None,
    ) -> None:
        """Record one row of worlds at t [s], after a convex step with what its contacts report."""
        if not self._wanted or numbers is None:
            return
        rows = signals_of_states(scene, np.full(len(q), t), q, v, numbers, loop_q, report)
        for s in self._wanted:
            values = rows[:, s.first] if s.is_single else rows[:, s.first : s.first + s.size]
            self.rows[s.name][worlds, row] = values


class ContactRecorder:
    """Recorder of the contact forces and impulses of worlds, if they are requested."""

    def __init__(self, worlds: RolloutWorlds, count: int, rows: int) -> None:
        self.pairs: PairForces | None = None
        if not worlds.contacts:
            return
        first = worlds.scenes[0].contacts
        assert first is not None
        names = tuple(pair.name for pair in first.pairs)
        empty = np.full((2, count, rows, len(names), 3), np.nan)
        self._contacts = first
        self.pairs = PairForces(names, *empty)
        for which, scene in worlds.each():
            start = start_report(scene, worlds.q0[which], worlds.v0[which])
            self.pairs.force[which, 0], self.pairs.impulse[which, 0] = pair_sums(first, start)

    def add(self, row: int, report: Array, worlds: NDArray[np.bool_]) -> None:
        """Record the forces at a row, and add the impulses before it, of the worlds that are chosen."""
        if self.pairs is None:
            return
        force, impulse = pair_sums(self._contacts, report)
        self.pairs.force[worlds, row] = force[worlds]
        before = self.pairs.impulse[worlds, row]
        self.pairs.impulse[worlds, row] = np.where(np.isnan(before), 0, before) + impulse[worlds]


def smooth_report(records: WorldRecords, q: Array, v: Array) -> Array:
    """Return the reports (worlds, points, 18) of smooth contacts at a row, and of impacts since the one before."""
    q, v = np.nan_to_num(q), np.nan_to_num(v)
    if not records.impacts:
        return start_report(records.scene, q, v)
    reports = [x.report(q[k : k + 1], v[k : k + 1]) for k, x in enumerate(records.impacts)]
    return np.concatenate(reports)


def check_recorded_pairs(worlds: RolloutWorlds) -> None:
    """Reject scenes whose contacts cannot be recorded together."""
    if not worlds.contacts:
        return
    first = worlds.scenes[0].contacts
    if first is None:
        problem = f"{worlds.settings.integrator!r} has none to record"
        raise SimulationError("contacts", f"{problem}; leave it out")
    names = [pair.name for pair in first.pairs]
    for k, scene in enumerate(worlds.scenes):
        if scene.contacts is None or [pair.name for pair in scene.contacts.pairs] != names:
            problem = "has other pairs that touch than scene[0]"
            raise SimulationError(f"scene[{k}]", f"{problem}; record it in a call of its own")


def _wanted_signals(scene: Scene, names: Sequence[str]) -> list[RecordedSignal]:
    """Return the signals of these names.

    Raises:
        SimulationError: the scene has none of this name.
    """
    known = {} if scene.signals is None else {s.name: s for s in scene.signals.recorded}
    for name in names:
        where = f"signals: {name!r}"
        if not known:
            raise SimulationError(where, "the scene has no signals; leave it out")
        if name not in known:
            raise UnknownSimulationNameError(
                where, f"the scene has no such signal{did_you_mean(name, known)}"
            )
    return [known[name] for name in names]
