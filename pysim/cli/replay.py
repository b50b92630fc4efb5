"""`pysim replay run.h5`: prints the last steps of a run that failed, and the likely cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.cli.messages import print_line
from pysim.simulation.replay import replay

if TYPE_CHECKING:
    from pathlib import Path

    from pysim.cli.options import ReplayOptions
    from pysim.simulation.replay import Replay, ReplayStep


def replay_file(path: Path, options: ReplayOptions) -> int:
    """Print the end of the run in a trajectory file and return the exit status."""
    found = replay(
        path,
        options.steps,
        force=options.force,
        allow_code=options.allow_code,
        package_dirs=options.package_dirs,
    )
    print_replay(found)
    return 0


def print_replay(found: Replay) -> None:
    """Print the steps in a table, the error and the likely cause."""
    print_line(
        f"  {'t [s]':>12} {'kinetic [J]':>12} {'stored [J]':>12} {'Newton':>6}  fastest, contacts"
    )
    for step in found.steps:
        print_line(f"  {_line(step)}")
    print_line(f"  error         {found.problem}")
    print_line(f"  likely cause  {found.cause}")


def _line(step: ReplayStep) -> str:
    numbers = f"{step.t:12.6g} {step.kinetic:12.4g} {step.stored:12.4g} {step.iterations:6d}"
    text = f"{numbers}  {step.fastest} {step.speed:.4g} {step.unit}"
    if step.contacts:
        text += f"; {' and '.join(step.contacts)}, up to {step.force:.3g} N"
    return text
