"""`pysim export`: writes a trajectory as a table of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.cli.messages import print_line
from pysim.errors import PysimError
from pysim.trajectory.reader import load_for_pictures
from pysim.trajectory.table import table_of, write_csv

if TYPE_CHECKING:
    from pathlib import Path


def export_csv(trajectory: Path, output: Path | None, *, overwrite: bool) -> None:
    """Write the times, states, energies and signals of a trajectory to a CSV file.

    Raises:
        PysimError: the file exists and is not to be replaced.
    """
    path = trajectory.with_suffix(".csv") if output is None else output
    if path.exists() and not overwrite:
        raise PysimError(str(path), "exists and is not overwritten; pass --overwrite to replace it")
    found = load_for_pictures(trajectory)
    write_csv(found, path)
    print_line(
        f"  wrote       {path}, {len(found)} rows of {len(table_of(found, slice(0, 0)))} columns"
    )
