"""`pysim export`: writes a trajectory as a table of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.cli.messages import print_line
from pysim.errors import PysimError
from pysim.trajectory.reader import load_for_pictures
from pysim.trajectory.table import table_of, to_csv

if TYPE_CHECKING:
    from pathlib import Path

    from pysim.cli.options import TableOptions


def export_csv(trajectory: Path, options: TableOptions) -> None:
    """Write the times, states, energies and signals of a trajectory to a CSV file.

    Raises:
        PysimError: no format is given, or the file exists and is not to be replaced.
    """
    if not options.csv:
        raise PysimError("export", "no format is given; write --csv")
    path = options.output or trajectory.with_suffix(".csv")
    if path.exists() and not options.overwrite:
        raise PysimError(str(path), "exists and is not overwritten; pass --overwrite to replace it")
    found = load_for_pictures(trajectory)
    to_csv(found, path, overwrite=True)
    print_line(
        f"  wrote       {path}, {len(found)} rows of {len(table_of(found, slice(0, 0)))} columns"
    )
