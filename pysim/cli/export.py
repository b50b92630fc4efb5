"""`pysim export`: writes a trajectory as a table of numbers or as curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.cli.files import check_replaced
from pysim.cli.messages import print_line
from pysim.errors import PysimError
from pysim.trajectory.drawing import drawn_frames
from pysim.trajectory.reader import load_for_pictures
from pysim.trajectory.trajectory_table import table_of

if TYPE_CHECKING:
    from pathlib import Path

    from pysim.cli.options import TableOptions


def export_numbers(trajectory: Path, options: TableOptions) -> None:
    """Write times, states, energies and signals to a CSV file, or the paths of frames to a DXF file.

    Raises:
        PysimError: no format is given or two are, or the file exists and is not to be replaced.
    """
    if options.csv == options.dxf:
        given = "two formats are" if options.csv else "no format is"
        raise PysimError("export", f"{given} given; write --csv or --dxf")
    path = options.output or trajectory.with_suffix(".csv" if options.csv else ".dxf")
    check_replaced(path, overwrite=options.overwrite)
    found = load_for_pictures(trajectory)
    if options.csv:
        found.to_csv(path, options.frames, overwrite=True)
        columns = len(table_of(found, slice(0, 0), options.frames))
        print_line(f"  wrote       {path}, {len(found)} rows of {columns} columns")
    else:
        found.to_dxf(path, options.frames, overwrite=True)
        drawn = ", ".join(options.frames or drawn_frames(found))
        print_line(f"  wrote       {path}, curves of {drawn} [mm]")
