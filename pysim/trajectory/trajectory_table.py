"""A trajectory as a table: one column for each number of a row, to CSV and pandas."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pysim.errors import TrajectoryError
from pysim.trajectory.file_errors import check_replaced, failure
from pysim.trajectory.record import EVERY
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from pysim.trajectory.record import Trajectory

ROWS_OF_BLOCK = 4096  # of a CSV file that are read together


def table_of(
    trajectory: Trajectory, rows: slice = EVERY, frames: Sequence[str] = ()
) -> dict[str, tuple[str, Array]]:
    """Return unit and values (n,) of every column at all or some rows: t, q, v, a, energies, signals, work, places."""
    names, units = trajectory.names, trajectory.units
    columns: dict[str, tuple[str, Array]] = {"t": ("s", trajectory.t[rows])}
    for key, kind in (("q", "coordinates"), ("v", "velocities"), ("a", "velocities")):
        values: Array = getattr(trajectory, key)[rows]
        for k, (name, unit) in enumerate(zip(names[kind], units[key], strict=True)):
            columns[f"{key}.{name}"] = unit, values[:, k]
    for part in ("kinetic", "potential", "elastic"):
        columns[f"energy.{part}"] = "J", getattr(trajectory, part)[rows]
    for name, unit in zip(names["signals"], units["signals"], strict=True):
        values = trajectory.signals[name][rows]
        if values.ndim == 1:
            columns[name] = unit, values
        else:
            columns |= {f"{name}[{k}]": (unit, column) for k, column in enumerate(values.T)}
    columns |= {f"work.{name}": ("J", values[rows]) for name, values in trajectory.work.items()}
    for frame in frames:
        places = trajectory.path_of(frame, rows)
        columns |= {f"{frame}.{axis}": ("m", places[:, k]) for k, axis in enumerate("xyz")}
    return columns


def to_csv(
    trajectory: Trajectory,
    path: str | PathLike[str],
    frames: Sequence[str] = (),
    *,
    overwrite: bool = False,
) -> None:
    """Write times, q, v, a, energies, signals and work to a CSV file.

    Its first line has the names of the columns; numbers keep all digits.

    Args:
        trajectory: of any length, also opened as a stream.
        path: the file.
        frames: frames and bodies whose places in the world have columns, too.
        overwrite: replace a file of this name.

    Raises:
        TrajectoryError: the file exists or cannot be written, or a frame is unknown.
    """
    target = Path(path)
    check_replaced(target, overwrite=overwrite)
    try:
        file = target.open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise failure(target, "cannot write", error) from error
    with file:
        writer = csv.writer(file)
        writer.writerow(table_of(trajectory, slice(0, 0), frames))
        for first in range(0, len(trajectory), ROWS_OF_BLOCK):
            columns = table_of(trajectory, slice(first, first + ROWS_OF_BLOCK), frames)
            writer.writerows(
                [repr(float(x)) for x in row]
                for row in zip(*(values for _, values in columns.values()), strict=True)
            )


def to_pandas(trajectory: Trajectory) -> Any:  # noqa: ANN401, a pandas.DataFrame
    """Return a pandas.DataFrame of q, v, a, energies and signals over the times; `attrs["units"]` has the units.

    Raises:
        TrajectoryError: pandas is not installed.
    """
    try:
        import pandas  # type: ignore[import-untyped]  # noqa: ICN001, PLC0415, an optional package
    except ImportError as error:
        problem = 'to_pandas needs pandas; install it with pip install "pysim-multibody[pandas]"'
        raise TrajectoryError("trajectory", problem) from error
    columns = table_of(trajectory)
    times = columns.pop("t")[1]
    data = {name: values for name, (_, values) in columns.items()}
    frame = pandas.DataFrame(data, index=pandas.Index(times, name="t"))
    frame.attrs["units"] = {name: unit for name, (unit, _) in columns.items()}
    return frame
