"""Positions of markers in files .trc: two lines of settings, two of labels, and a row a frame."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import TrajectoryError, did_you_mean
from pysim.motions.motion_tables import check_times, text_of
from pysim.typing import Array

if TYPE_CHECKING:
    from os import PathLike

UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001}  # [m]
HEAD = 5  # lines before the rows


@dataclass(frozen=True)
class Markers:
    """Positions of markers at instants of time."""

    times: Array  # (n,) [s], increasing
    names: tuple[str, ...]  # k
    positions: Array  # (n, k, 3) [m], NaN where a marker is hidden


def read_markers(path: str | PathLike[str]) -> Markers:
    """Return the markers of a .trc file, in metres.

    Raises:
        TrajectoryError: the file is not such a table; the text says `file:line`, what, and what to do.
    """
    lines = text_of(path)
    if len(lines) < HEAD or not lines[0].startswith("PathFileType"):
        problem = "does not begin with PathFileType"
        raise TrajectoryError(f"{path}:1", f"{problem}; give a file of markers, .trc")
    keys, values = lines[1].split(), lines[2].split()
    settings = dict(zip(keys, values, strict=False))
    unit = settings.get("Units", "mm")
    if unit not in UNITS:
        problem = f"unknown unit {unit!r}{did_you_mean(unit, UNITS)}"
        raise TrajectoryError(f"{path}:3", problem)
    labels = lines[3].rstrip("\r\n").split("\t")
    names = tuple(label.strip() for label in labels[2:] if label.strip())
    if not names:
        raise TrajectoryError(f"{path}:4", "names no markers; write the labels, separated by tabs")
    repeated = [name for k, name in enumerate(names) if name in names[:k]]
    if repeated:
        raise TrajectoryError(f"{path}:4", f"two markers are {repeated[0]!r}; rename one")
    rows = [
        _row(line, len(names), f"{path}:{k + 1}")
        for k, line in enumerate(lines)
        if k >= HEAD and line.strip()
    ]
    found = np.array(rows).reshape(len(rows), 1 + 3 * len(names))
    stated = settings.get("NumFrames", "")
    if stated.isdecimal() and int(stated) != len(rows):
        problem = f"the header states {stated} frames, and there are {len(rows)}"
        raise TrajectoryError(f"{path}:3", f"{problem}; correct NumFrames")
    check_times(found[:, 0], str(path))
    return Markers(found[:, 0], names, UNITS[unit] * found[:, 1:].reshape(len(rows), -1, 3))


def _row(line: str, count: int, where: str) -> list[float]:
    """Return the time and the positions of a row; empty fields are NaN."""
    fields = line.rstrip("\r\n").split("\t")
    wanted = 2 + 3 * count
    if "\t" not in line:
        fields = line.split()
    while len(fields) > wanted and not fields[-1].strip():
        fields.pop()
    fields += [""] * (wanted - len(fields)) if len(fields) >= 2 else []
    if len(fields) != wanted:
        problem = f"has {len(fields)} fields for {count} markers, which need {wanted}"
        raise TrajectoryError(where, f"{problem}; write frame, time, and x y z of each")
    try:
        return [float(word) if word.strip() else np.nan for word in fields[1:]]
    except ValueError as error:
        raise TrajectoryError(where, f"{error}; write a number, or nothing") from None


def write_markers(path: str | PathLike[str], markers: Markers) -> None:
    """Write markers as a .trc file in millimetres; hidden ones are empty fields."""
    n, k = len(markers.times), len(markers.names)
    span = float(markers.times[-1] - markers.times[0]) if n > 1 else 0.0
    rate = (n - 1) / span if span > 0 else 1.0
    settings = (rate, rate, n, k, "mm", rate, 1, n)
    keys = "DataRate CameraRate NumFrames NumMarkers Units OrigDataRate OrigDataStartFrame OrigNumFrames"
    labels = "\t".join(["Frame#", "Time", *(f"{name}\t\t" for name in markers.names)])
    axes = "\t".join(["", "", *(f"{a}{i + 1}" for i in range(k) for a in "XYZ")])
    head = [
        f"PathFileType\t4\t(X/Y/Z)\t{Path(path).name}",
        "\t".join(keys.split()),
        "\t".join(str(x) if isinstance(x, (str, int)) else f"{x:.10g}" for x in settings),
        labels,
        axes,
        "",
    ]
    rows = (1000.0 * markers.positions).reshape(n, -1)
    body = [
        "\t".join(
            [str(i + 1), repr(float(t)), *("" if np.isnan(x) else repr(float(x)) for x in row)]
        )
        for i, (t, row) in enumerate(zip(markers.times, rows, strict=True))
    ]
    Path(path).write_text("\n".join([*head, *body]) + "\n", "utf-8")
