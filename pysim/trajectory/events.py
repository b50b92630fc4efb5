"""Events of a run with their times and states, and their storage in the file's group `events`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim.trajectory.parts import create_rows, has, numbers, texts
from pysim.typing import Array

if TYPE_CHECKING:
    import h5py

    from pysim.trajectory.header import TrajectoryHeader

GROUP = "events"
CHUNK = 64  # events


@dataclass(frozen=True)
class Events:
    """k events in the order of their passing."""

    t: Array  # (k,) [s]
    names: tuple[str, ...]  # (k,)
    q: Array  # (k, nq)
    v: Array  # (k, nv)

    def __len__(self) -> int:
        return len(self.t)

    def times_of(self, name: str) -> Array:
        """Return the times [s] of the events with a name."""
        return self.t[[own == name for own in self.names]]


def no_events(nq: int = 0, nv: int = 0) -> Events:
    """Return an empty record of events."""
    return Events(np.zeros(0), (), np.zeros((0, nq)), np.zeros((0, nv)))


def create_events(file: h5py.File, header: TrajectoryHeader) -> None:
    """Make the group, empty."""
    widths = header.row_shapes
    create_rows(file, f"{GROUP}/time", (), CHUNK, "s")
    create_rows(file, f"{GROUP}/q", widths["q"], CHUNK, "see units/coordinates")
    create_rows(file, f"{GROUP}/v", widths["v"], CHUNK, "see units/velocities")
    create_rows(file, f"{GROUP}/name", (), CHUNK, "", header.event_names)


def append_events(file: h5py.File, events: Events) -> None:
    """Add to the group."""
    group = file[GROUP]
    first = len(group["time"])
    for key, values in (
        ("time", events.t),
        ("q", events.q),
        ("v", events.v),
        ("name", events.names),
    ):
        group[key].resize(first + len(events), axis=0)
        group[key][first:] = [name.encode() for name in values] if key == "name" else values


def read_events(file: h5py.File, nq: int, nv: int, *, complete: bool) -> Events:
    """Return the events that reached the disk in full; none of a file without them.

    Raises:
        ValueError: a part is missing or invalid, or some events of a complete run are incomplete.
    """
    if not has(file, GROUP):
        return no_events(nq, nv)
    widths: dict[str, tuple[int, ...]] = {"time": (), "q": (nq,), "v": (nv,)}
    t, q, v = (
        np.asarray(numbers(file, f"{GROUP}/{key}", (None, *width))[()], float)
        for key, width in widths.items()
    )
    names = texts(file, f"{GROUP}/name")
    lengths = [len(t), len(q), len(v), len(names)]
    count = min(lengths)
    rows = np.column_stack([t[:count], q[:count], v[:count]])
    whole = np.isfinite(rows).all(axis=1) & np.array([bool(n) for n in names[:count]], bool)
    if complete and not (whole.all() and max(lengths) == count):
        raise ValueError(f"some of its {max(lengths)} events lack a time, state or name")
    count = count if whole.all() else int(np.argmin(whole))
    return Events(t[:count], names[:count], q[:count], v[:count])


def joined(parts: list[Events], nq: int, nv: int) -> Events:
    """Join the events of several runs."""
    if not parts:
        return no_events(nq, nv)
    names = tuple(name for part in parts for name in part.names)
    t, q, v = (np.concatenate([getattr(part, key) for part in parts]) for key in ("t", "q", "v"))
    return Events(t, names, q, v)
