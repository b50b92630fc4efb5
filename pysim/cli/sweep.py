"""`pysim sweep`: runs a scene with many values of its parameters and prints where the results are."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pysim.cli.exit_status import INTERRUPTED
from pysim.cli.messages import print_line, print_message
from pysim.cli.progress import TaskBar
from pysim.cli.run import check_suffix, parse_overrides, timing_overrides
from pysim.errors import PysimError
from pysim.sweeps import run_sweep
from pysim.sweeps.sweep import PIECE

if TYPE_CHECKING:
    from pysim.cli.options import SweepOptions
    from pysim.sweeps import SweepUpdate

DATASETS = (".nc", ".h5")


def sweep_scene(path: Path, options: SweepOptions) -> int:
    """Run the sweep and return the exit status."""
    check_suffix(path)
    output = options.output or Path(path.stem + ".nc")
    if output.suffix not in DATASETS:
        problem = f"unknown kind of file {output.suffix!r}; name it {' or '.join(DATASETS)}"
        raise PysimError(str(output), problem)
    parameters: dict[str, str] = {}
    _add(parameters, options.grid, "--grid", "=", "KEY=FIRST:LAST:COUNT or KEY=A,B,…")
    _add(parameters, options.sample, "--sample", "~", "KEY~normal(1,0.05)")
    overrides = parse_overrides(options.overrides)
    overrides |= timing_overrides(options.duration, options.step)
    change = None
    if options.policy is not None:
        from pysim.environments.trained_policy import with_policy  # noqa: PLC0415, where it is needed

        change = partial(with_policy, path=path, policy=options.policy)
    bar = _Bar(path.stem, shown=not options.quiet)
    try:
        with bar:
            failed = run_sweep(
                path, parameters or None, options.n, output=output, method=options.method,
                seed=options.seed, signals=options.signal or None,
                overrides=overrides, threads=options.threads, piece=PIECE,
                progress=bar, overwrite=options.overwrite, allow_code=options.allow_code,
                scheduler=options.scheduler, change=change,
            )  # fmt: skip
    except KeyboardInterrupt:
        note = f"{output} holds the finished worlds; the same command continues"
        print_message("interrupted", note if output.exists() else "before the first world")
        return INTERRUPTED
    if not options.quiet:
        _print_summary(output, failed, bar.last)
    return 0


def _add(
    found: dict[str, str], texts: tuple[str, ...], option: str, sign: str, example: str
) -> None:
    """Add the values of each key as text."""
    for text in texts:
        key, present, value = (part.strip() for part in text.partition(sign))
        if not (key and present and value):
            raise PysimError(f"{option} {text}", f"is not complete; write for example {example}")
        if key in found:
            raise PysimError(f"{option} {text}", "gives its key a second time; leave one out")
        found[key] = value


def _print_summary(output: Path, failed: list[tuple[int, str]], last: SweepUpdate | None) -> None:
    if last is None:
        print_line(f"  sweep       {output} is finished already; --overwrite computes it again")
        return
    rate = f"{last.wall:.3g} s, {last.rate:.3g} a second"
    print_line(f"  worlds      {last.worlds}, {last.computed} of them computed in {rate}")
    if failed:
        print_line(f"  failures    {len(failed)}, see the variable failure")
    print_line(f"  dataset     {output}; open it with pysim.load_sweep")


class _Bar(TaskBar):
    """Progress of a sweep, with the rate and the time left."""

    last: SweepUpdate | None = None

    def __call__(self, update: SweepUpdate) -> None:
        self.last = update
        state = f"{update.done} of {update.worlds} worlds, {update.rate:.3g} a second, {update.left:.0f} s left"
        self.draw(update.done, update.worlds, state)
