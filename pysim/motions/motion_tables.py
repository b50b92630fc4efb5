"""Tables over time in OpenSim's files .mot and .sto: a header, a line of labels, and rows of numbers.

The header ends with the line `endheader`. Its lines `nRows=…` or `datarows …` state the number of rows, `inDegrees=yes`
that angles are in degrees.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import SceneError, TrajectoryError, UnknownNameError, did_you_mean
from pysim.files.regular import read_regular
from pysim.typing import Array

if TYPE_CHECKING:
    from os import PathLike

MOST_BYTES = 1 << 30  # bytes of a file
LONGEST_HEADER = 1000  # lines
TIME = "time"
_YES = {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}


@dataclass(frozen=True)
class MotionTable:
    """Columns of numbers at instants of time."""

    times: Array  # (n,) [s], increasing
    columns: tuple[str, ...]  # m labels
    values: Array  # (n, m)
    in_degrees: bool = False  # whether angles are in degrees
    name: str = ""

    def column(self, name: str) -> Array:
        """Return the numbers (n,) of a column.

        Raises:
            UnknownNameError: there is none.
        """
        if name not in self.columns:
            known = did_you_mean(name, self.columns)
            raise UnknownNameError(f"column {name!r}", f"is not in the table{known}")
        return np.asarray(self.values[:, self.columns.index(name)])


def read_table(path: str | PathLike[str]) -> MotionTable:
    """Return the table of a .mot or .sto file.

    Raises:
        TrajectoryError: the file is not such a table; the text says `file:line`, what, and what to do.
    """
    lines = text_of(path)
    end = next(
        (k for k, line in enumerate(lines[:LONGEST_HEADER]) if line.strip() == "endheader"), -1
    )
    if end < 0:
        raise TrajectoryError(str(path), "has no line `endheader`; write one after the header")
    header = dict(_header_item(line) for line in lines[:end])
    rows = [(k + 1, line) for k, line in enumerate(lines) if k > end and line.strip()]
    if not rows:
        raise TrajectoryError(f"{path}:{end + 1}", "has no labels after the header; add the line")
    (_, labels), *data = rows
    names = tuple(label.strip() for label in labels.strip().split("\t"))
    names = names if len(names) > 1 else tuple(labels.split())
    if names[0].lower() != TIME:
        problem = f"the first column is {names[0]!r}, not time"
        raise TrajectoryError(f"{path}:{rows[0][0]}", f"{problem}; move the column of time first")
    repeated = [name for k, name in enumerate(names) if name in names[:k]]
    if repeated:
        raise TrajectoryError(
            f"{path}:{rows[0][0]}", f"two columns are {repeated[0]!r}; rename one"
        )
    values = np.array([numbers_of(line, len(names), f"{path}:{k}") for k, line in data])
    values = values.reshape(len(data), len(names))
    stated = header.get("nrows", header.get("datarows", ""))
    if stated.isdecimal() and int(stated) != len(data):
        problem = f"the header states {stated} rows, and there are {len(data)}"
        raise TrajectoryError(str(path), f"{problem}; correct nRows")
    check_times(values[:, 0], str(path))
    degrees = _YES.get(header.get("indegrees", "no").lower())
    if degrees is None:
        problem = f"inDegrees is {header['indegrees']!r}"
        raise TrajectoryError(str(path), f"{problem}; write inDegrees=yes or inDegrees=no")
    name = lines[0].strip() if lines and "=" not in lines[0] else header.get("name", "")
    return MotionTable(values[:, 0], names[1:], values[:, 1:], degrees, name)


def write_table(path: str | PathLike[str], table: MotionTable) -> None:
    """Write a table as a .mot or .sto file, with numbers that read as the same doubles."""
    head = [
        table.name or Path(path).stem,
        "version=1",
        f"nRows={len(table.times)}",
        f"nColumns={len(table.columns) + 1}",
        f"inDegrees={'yes' if table.in_degrees else 'no'}",
        "endheader",
        "\t".join((TIME, *table.columns)),
    ]
    rows = np.column_stack([table.times, table.values])
    body = ["\t".join(map(repr, row)) for row in rows.tolist()]
    Path(path).write_text("\n".join([*head, *body]) + "\n", "utf-8")


def text_of(path: str | PathLike[str]) -> list[str]:
    """Return the lines of a text file.

    Raises:
        TrajectoryError: it cannot be read.
    """
    try:
        return read_regular(Path(path), MOST_BYTES).decode("utf-8", "replace").splitlines()
    except SceneError as error:
        raise TrajectoryError(str(path), error.problem) from None


def numbers_of(line: str, count: int, where: str) -> list[float]:
    """Return the numbers of a row.

    Raises:
        TrajectoryError: it has another count, or a word that is not a number.
    """
    words = line.split()
    if len(words) != count:
        problem = f"has {len(words)} numbers for {count} columns"
        raise TrajectoryError(where, f"{problem}; complete the row, or write nan")
    try:
        return [float(word) for word in words]
    except ValueError as error:
        raise TrajectoryError(where, f"{error}; write a number") from None


def check_times(times: Array, where: str) -> None:
    """Reject times that do not increase.

    Raises:
        TrajectoryError: they do not.
    """
    if not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        k = int(np.argmax(~np.isfinite(times[1:]) | (np.diff(times) <= 0))) if len(times) > 1 else 0
        problem = (
            f"time must increase, got {times[k]:g} s before {times[min(k + 1, len(times) - 1)]:g} s"
        )
        raise TrajectoryError(where, f"{problem}; sort the rows and remove repeated ones")


def _header_item(line: str) -> tuple[str, str]:
    """Return key and value of a line of a header, `nRows=5` or `datarows 5`."""
    key, found, value = line.partition("=")
    if not found:
        key, _, value = line.strip().partition(" ")
    return key.strip().lower(), value.strip()
