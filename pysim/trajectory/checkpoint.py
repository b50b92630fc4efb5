"""Checkpoints of a run in its trajectory file: what the run needs to go on, in two slots that are written in turn.

A slot holds its number, how many rows and events the file had when it was written, and the record. A write that is cut
short leaves the other slot, and rows beyond those of a slot are dropped when the run goes on. A run that reaches its
end removes the slots.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pysim.trajectory.contacts import SHAPES, contact_points
from pysim.trajectory.events import GROUP as EVENTS, Events
from pysim.trajectory.parts import dataset, has, text, write_texts

if TYPE_CHECKING:
    import h5py

    from pysim.trajectory.contacts import ContactPoints
    from pysim.trajectory.record import Trajectory

GROUP = "checkpoint"
ORIGIN = f"{GROUP}/origin"  # JSON: what the run was made of
SLOTS = (f"{GROUP}/0", f"{GROUP}/1")
FIELDS = struct.Struct("<QQQ")  # number of the checkpoint, rows, events
CHUNK = 1 << 14  # bytes


class Checkpoint(NamedTuple):
    """Last checkpoint of a run."""

    number: int
    rows: int  # of the file that belong to it
    events: int
    record: bytes


def write_origin(file: h5py.File, origin: str) -> None:
    """Write what a run is made of, before its first checkpoint."""
    write_texts(file, ORIGIN, origin)


def write_checkpoint(file: h5py.File, rows: int, record: bytes) -> None:
    """Write a checkpoint after some rows into the slot of the older one."""
    numbers = [_read(file, slot) for slot in SLOTS]
    known = [-1 if found is None else found.number for found in numbers]
    slot = SLOTS[int(known[1] < known[0])]
    events = len(file[f"{EVENTS}/time"]) if has(file, EVENTS) else 0
    data = np.frombuffer(FIELDS.pack(max(known) + 1, rows, events) + record, np.uint8)
    if not has(file, slot):
        file.create_dataset(
            slot, shape=(0,), maxshape=(None,), chunks=(CHUNK,), dtype="u1", fletcher32=True
        )
    file[slot].resize(len(data), axis=0)
    file[slot][:] = data


def remove_checkpoints(file: h5py.File) -> None:
    """Remove the slots, and what the run was made of."""
    if has(file, GROUP):
        del file[GROUP]


def read_origin(file: h5py.File) -> str | None:
    """Return what a run was made of, None if its file does not say it."""
    return text(file, ORIGIN) if has(file, ORIGIN) else None


def read_checkpoint(file: h5py.File) -> Checkpoint | None:
    """Return the last checkpoint, None if there is none yet."""
    found = [own for slot in SLOTS if (own := _read(file, slot)) is not None]
    return max(found, default=None, key=lambda own: own.number)


def _read(file: h5py.File, slot: str) -> Checkpoint | None:
    if not has(file, slot):
        return None
    try:
        data = np.asarray(dataset(file, slot)[()], np.uint8).tobytes()
        number, rows, events = FIELDS.unpack_from(data)
        return Checkpoint(number, rows, events, data[FIELDS.size :])
    except (OSError, struct.error):  # its bytes have not reached the disk in full
        return None


def rows_before(trajectory: Trajectory, rows: int) -> tuple[np.ndarray, ...]:
    """Return the columns of the first rows of a trajectory."""
    return tuple(np.asarray(column[:rows]) for column in trajectory.columns)


def points_before(points: ContactPoints, rows: int) -> ContactPoints:
    """Return the contact points of the first rows."""
    offsets = points.offsets[: rows + 1]
    own = {name: np.asarray(getattr(points, name)[: offsets[-1]]) for name in SHAPES}
    return contact_points(np.diff(offsets), own)


def events_before(events: Events, count: int) -> Events:
    """Return the first events."""
    return Events(events.t[:count], events.names[:count], events.q[:count], events.v[:count])
