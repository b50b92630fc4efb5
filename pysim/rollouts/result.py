"""Result of a rollout of scenes: the trajectories of its worlds, with signals, contacts, events and failures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import Named
from pysim.trajectory import Events
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True)
class PairForces:
    """Contacts of pairs of links in many worlds; … is their axis. NaN after a world's end."""

    names: tuple[str, ...]  # of the pairs
    force: Array  # on the second link of every pair (…, rows, pairs, 3) [N], world axes
    impulse: Array  # since the row before (…, rows, pairs, 3) [N·s]


@dataclass(frozen=True)
class Rollout:
    """Trajectories of many worlds; … is their axis, which the result of a single world lacks."""

    t: Array  # (rows,) [s]
    q: Array  # (…, rows, nq); NaN after a world's end
    v: Array  # (…, rows, nv)
    save: Callable[[], bytes]  # returns `state`
    signals: Mapping[str, Array] = field(default_factory=dict)  # recorded signals (…, rows)
    events: tuple[Events, ...] = ()  # of every world; empty where the scene has none
    failures: tuple[str, ...] = ()  # of every world: why it ended early, or nothing
    contacts: PairForces | None = None  # if recorded

    def __post_init__(self) -> None:
        object.__setattr__(self, "signals", Named("signals", self.signals))

    @cached_property
    def state(self) -> bytes:
        """State of all worlds at the last row, which `rollout` and `Worlds.load` continue from to the bit.

        Raises:
            SimulationError: a scheme in Python remembers what bytes do not hold.
        """
        return self.save()


def joined_rollout(groups: Sequence[NDArray[np.intp]], rollouts: Sequence[Rollout]) -> Rollout:
    """Return the rollout of all worlds, joined from rollouts of groups and the numbers of their worlds."""
    count = sum(map(len, groups))

    def rows(arrays: list[Array]) -> Array:
        size = max(array.shape[-1] for array in arrays)
        joined = np.zeros((count, *arrays[0].shape[1:-1], size))
        for group, array in zip(groups, arrays, strict=True):
            joined[group, ..., : array.shape[-1]] = array
        return joined

    def entries(each: list[tuple[Any, ...]]) -> tuple[Any, ...]:
        pairs = [
            pair for g, x in zip(groups, each, strict=True) for pair in zip(g, x, strict=False)
        ]
        return tuple(entry for _, entry in sorted(pairs, key=lambda pair: int(pair[0])))

    first = rollouts[0]
    contacts = first.contacts
    if contacts is not None:
        each = [forces for run in rollouts if (forces := run.contacts) is not None]
        force, impulse = rows([x.force for x in each]), rows([x.impulse for x in each])
        contacts = PairForces(contacts.names, force, impulse)
    signals = {name: rows([run.signals[name] for run in rollouts]) for name in first.signals}
    q, v = rows([run.q for run in rollouts]), rows([run.v for run in rollouts])
    events = entries([run.events for run in rollouts])
    failures = entries([run.failures for run in rollouts])
    return Rollout(first.t, q, v, first.save, signals, events, failures, contacts)


def without_lost(run: Rollout, lost: NDArray[np.bool_] | None, reason: str) -> Rollout:
    """Return a rollout with NaN in the rows of the worlds that ended before it, for a reason."""
    if lost is None or not lost.any():
        return run
    arrays = [run.q, run.v, *run.signals.values()]
    if run.contacts is not None:
        arrays += [run.contacts.force, run.contacts.impulse]
    for array in arrays:
        array[lost] = np.nan
    failures = run.failures or ("",) * len(lost)
    texts = zip(failures, lost, strict=True)
    return replace(run, failures=tuple(reason if gone else other for other, gone in texts))


def without_axis(run: Rollout) -> Rollout:
    """Return the rollout of a single world without the axis of worlds."""
    signals = {name: values[0] for name, values in run.signals.items()}
    contacts = run.contacts
    if contacts is not None:
        contacts = replace(contacts, force=contacts.force[0], impulse=contacts.impulse[0])
    return replace(run, q=run.q[0], v=run.v[0], signals=signals, contacts=contacts)
