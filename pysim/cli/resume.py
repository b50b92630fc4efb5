"""`pysim resume run.h5`: continues a run that was stopped or killed, and prints its summary."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from pysim.cli.exit_status import INTERRUPTED
from pysim.cli.messages import print_line, print_message
from pysim.cli.progress import ProgressBar
from pysim.cli.run import end_of_run
from pysim.cli.summary import print_summary
from pysim.errors import PysimWarning
from pysim.simulation import summarize
from pysim.simulation.resume import StoppedRun

if TYPE_CHECKING:
    from pathlib import Path

    from pysim.cli.options import ResumeOptions


def resume_file(path: Path, options: ResumeOptions) -> int:
    """Continue the run in a trajectory file and return the exit status."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)  # those of the start were given in the run
        run = StoppedRun(
            path,
            allow_code=options.allow_code,
            package_dirs=options.package_dirs,
            force=options.force,
        )
    if not options.quiet:
        print_line(f"  resumed at  t = {run.reached:g} s")
    bar = ProgressBar(run.scene.spec.name, shown=not options.quiet)
    try:
        with bar:
            trajectory = run.go_on(bar)
    except KeyboardInterrupt:
        print_message("interrupted", end_of_run(path))
        return INTERRUPTED
    if not options.quiet:
        summary = summarize(run.scene, trajectory, bar.last)
        print_summary(run.scene, summary, verbose=options.verbose)
        print_line(f"  trajectory  {path}, {len(trajectory)} instants")
    return 0
