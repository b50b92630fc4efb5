"""Reading of HDF5 files that pysim did not write, or that are damaged, in a child process with limits.

The child parses the file and hands the numbers back through a pipe, as JSON and raw doubles
(`pysim.trajectory.limited_child`).
"""

from __future__ import annotations

import json
import os
import struct
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import TrajectoryError
from pysim.trajectory.contacts import SHAPES as POINT_COLUMNS, contact_points
from pysim.trajectory.events import Events
from pysim.trajectory.file_content import read_content, read_run
from pysim.trajectory.file_errors import damaged, reported
from pysim.trajectory.header import TrajectoryHeader
from pysim.trajectory.limited_child import limited, output_of_child, unreadable
from pysim.trajectory.parts import TOO_LARGE
from pysim.trajectory.record import StoredRun, Trajectory, trajectory_of
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping


LENGTH = struct.Struct("<Q")


def read_by_child(path: Path, what: str) -> Any:  # noqa: ANN401, as the function of `pysim.trajectory.reader`
    """Return the "run" or the "whole" of a file, read by a child process.

    Raises:
        TrajectoryError: the child refused the file, or did not end well.
    """
    output, errors = output_of_child(path, __name__, what, error=TrajectoryError)
    try:
        return _unpacked(output)
    except (LookupError, TypeError, ValueError, struct.error) as error:
        if isinstance(error, TrajectoryError):
            raise
        raise unreadable(path, errors, TrajectoryError) from error


def main() -> None:
    """Read the file that the command line names, within its limits, and print what is in it."""
    import h5py  # noqa: PLC0415, costs 0.1 s

    what, path = sys.argv[1], Path(sys.argv[2])
    with os.fdopen(os.dup(1), "wb") as out:
        memory = limited()
        try:
            with reported(path), h5py.File(path, "r") as file:
                found = read_run(path, file) if what == "run" else read_content(path, file)
            for part in _packed(found):
                out.write(part)
        except TrajectoryError as error:
            if isinstance(error.__cause__, MemoryError) and error.__cause__.args != (TOO_LARGE,):
                error = damaged(path, f"reading it takes more than {memory >> 20} MB")
            out.write(_text({"error": [error.where, error.problem]}))


def _packed(found: StoredRun | tuple[Trajectory, str]) -> list[bytes]:
    """Pack what was read: a text of JSON, then the numbers of the arrays it lists."""
    if isinstance(found, StoredRun):
        return [_text({"run": [found.name, found.complete]})]
    trajectory, reason = found
    header = asdict(trajectory.header) | {"frame_poses": trajectory.header.frame_poses.tolist()}
    events = trajectory.events
    columns = dict(zip(trajectory.header.row_shapes, trajectory.columns, strict=True))
    arrays = columns | {"events t": events.t, "events q": events.q, "events v": events.v}
    points = trajectory.contacts
    arrays["contact counts"] = np.diff(points.offsets).astype(float)
    arrays |= {f"contact {key}": np.asarray(getattr(points, key), float) for key in POINT_COLUMNS}
    text = {
        "header": header,
        "complete": trajectory.complete,
        "source": trajectory.source,
        "reason": reason,
        "event_names": events.names,
        "arrays": {key: array.shape for key, array in arrays.items()},
    }
    return [
        _text(text),
        *(np.ascontiguousarray(array, float).tobytes() for array in arrays.values()),
    ]


def _text(value: Mapping[str, Any]) -> bytes:
    encoded = json.dumps(value).encode()
    return LENGTH.pack(len(encoded)) + encoded


def _unpacked(data: bytes) -> StoredRun | tuple[Trajectory, str]:
    (length,) = LENGTH.unpack_from(data)
    at = LENGTH.size + length
    text = json.loads(data[LENGTH.size : at])
    if "error" in text:
        where, problem = text["error"]
        raise TrajectoryError(where, problem)
    if "run" in text:
        name, complete = text["run"]
        return StoredRun(str(name), bool(complete))
    arrays: dict[str, Array] = {}
    for key, shape in text["arrays"].items():
        count = int(np.prod(shape, dtype=int))
        arrays[key] = np.frombuffer(data, float, count, at).reshape(shape).copy()
        at += 8 * count
    t, q, v = (arrays.pop(f"events {key}") for key in "tqv")
    events = Events(t, tuple(text["event_names"]), q, v)
    counts = arrays.pop("contact counts").astype(int)
    points = contact_points(counts, {key: arrays.pop(f"contact {key}") for key in POINT_COLUMNS})
    return trajectory_of(
        _header(text["header"]),
        arrays,
        complete=text["complete"],
        source=text["source"],
        events=events,
        contacts=points,
    ), text["reason"]


def _header(fields: dict[str, Any]) -> TrajectoryHeader:
    """Return a header from JSON, which has lists for tuples."""
    plain = {"overrides", "visuals", "connections", "render", "frame_poses"}
    listed = {
        key: tuple(value) if isinstance(value, list) and key not in plain else value
        for key, value in fields.items()
    }
    poses = np.asarray(fields["frame_poses"], float).reshape(-1, 4, 4)
    return TrajectoryHeader(**(listed | {"frame_poses": poses}))
