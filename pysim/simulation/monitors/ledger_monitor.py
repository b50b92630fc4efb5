"""Energy balance of a run by its ledger, for runs whose work cannot be computed from their outputs, as with signals.

    b = E + dissipated − injected        constant but for errors of the scheme

A balance that changes by more than a share of the energy involved is computed again with steps of half the size, up to
the largest change. Errors of a scheme fall, also at corners of forces; a change that does not fall is reported, and one
as large as the energy itself. Of convex steps, gains alone are judged: contacts, stops and implicit springs lose energy
in steps that are long for them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pysim import _engine
from pysim.algorithms import elastic_energy, kinetic_energy, potential_energy
from pysim.errors import SimulationError
from pysim.integrators import find_integrator
from pysim.simulation.monitors.ledger import begin_work, with_ledger, work_of
from pysim.simulation.stepping.implicit_state import SolverState
from pysim.simulation.stepping.record_runs import run_fixed
from pysim.simulation.stepping.signal_runs import begin_signals
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.simulation.loading import Scene
    from pysim.trajectory import Trajectory

SHARE = 1e-2  # of energy and work: a smaller change is not reported
LARGE = 0.3  # of energy and work: a larger change is no error of a step that resolves the motion
LARGE_GAIN = 0.1  # the same of what convex steps gain
FALLS = 0.75  # of a change, to which halved steps reduce it at least
MOST_STEPS = 1_000_000  # of a run that is repeated
ROUNDING = 1e-10  # of the energy: a smaller change may be rounding, as where a controller holds a mechanism still


@dataclass(frozen=True)
class BalanceChange:
    """Change of the balance that is no error of a step that resolves the motion."""

    row: int  # the output before the interval with the largest part of it
    size: float  # [J]
    scale: float  # [J] of the energy involved


def balance_change(scene: Scene, trajectory: Trajectory, steps: int) -> BalanceChange | None:
    """Return the change of a run's balance that its scheme does not explain, None if there is none.

    Args:
        scene: the scene.
        trajectory: its run, with a ledger.
        steps: of the run.
    """
    kind = find_integrator(scene.settings.integrator)
    if kind.adaptive or not np.isfinite(scene.settings.step) or 2 * steps > MOST_STEPS:
        return None
    with np.errstate(all="ignore"):  # of runs that grow without bound
        balance, energy = trajectory.energy_balance, trajectory.energy
        finite = np.isfinite(balance)
        rows = len(balance) if finite.all() else int(finite.argmin())
        if rows < 2:
            return None
        change = balance[:rows] - balance[0]
        change = np.maximum(change, 0.0) if kind.contacts else np.abs(change)
        scale = float(
            trajectory.kinetic[:rows].max() + np.ptp(energy[:rows] - trajectory.kinetic[:rows])
        )
        exchanged = sum(np.abs(x[:rows]).max() for x in trajectory.work.values())
        until = int(change.argmax())
        if change[until] <= ROUNDING * np.abs(energy[:rows]).max():
            return None
        share = change[until] / (scale + exchanged)
        if not share > SHARE:
            return None
        if share < (LARGE_GAIN if kind.contacts else LARGE):
            shorter = _largest_change(scene, trajectory.t[: until + 1])
            if shorter is None or shorter < FALLS * change[until]:
                return None
    parts = np.diff(balance[: until + 1])
    row = int((parts if kind.contacts else np.abs(parts)).argmax())
    return BalanceChange(row, float(balance[until] - balance[0]), scale)


def _largest_change(scene: Scene, t: Array) -> float | None:
    """Return the largest change (J) of the balance at times t (n,) with steps of half the size; None if it fails."""
    if scene.signals is not None and scene.signals.callbacks:
        return None  # a run in between would change what controllers in Python remember
    settings = replace(scene.settings, step=0.5 * scene.settings.step)
    finer = with_ledger(replace(scene, settings=settings))
    signals = begin_signals(finer, 0.0)
    begin_work(finer, signals)
    assert signals is not None
    state = finer.state
    first = balances(
        finer, t[:1], state.q[None], state.v[None], signals.numbers[None]
    ).balance.item()
    largest = 0.0
    gains = find_integrator(scene.settings.integrator).contacts
    try:
        for part in run_fixed(finer, iter(t.tolist()), SolverState(finer), signals):
            assert part.signals is not None
            change = balances(finer, part.t, part.q, part.v, part.signals).balance - first
            size = change if gains else np.abs(change)
            largest = max(largest, float(size.max(initial=0.0)))
    except SimulationError:
        return None
    return largest


class Balances(NamedTuple):
    """Energies and work of n states [J], each (n,) but for the work of every element."""

    balance: Array
    kinetic: Array
    stored: Array
    work: Array  # (elements, n)


def balances(scene: Scene, t: Array, q: Array, v: Array, numbers: Array) -> Balances:
    """Return the balance of n states at t (n,) [s] of a run with a ledger, from numbers (n, signal_numbers)."""
    model, signals = scene.model, scene.signals
    assert signals is not None
    rest = np.zeros_like(v)
    readings = np.asarray(_engine.read_signals(model, t, q, v, rest, numbers))
    work = np.array([work_of(term, numbers, readings) for term in signals.work])
    kinetic = np.asarray(kinetic_energy(model, q, v))
    stored = np.asarray(potential_energy(model, q) + elastic_energy(model, q))
    with np.errstate(invalid="ignore"):  # of runs that grow without bound
        return Balances(kinetic + stored - work.sum(axis=0), kinetic, stored, work)
