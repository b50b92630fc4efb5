"""`pysim optimise`: finds numbers of a scene, and prints or writes them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pysim.cli.exit_status import INTERRUPTED
from pysim.cli.messages import print_line, print_message
from pysim.cli.progress import TaskBar
from pysim.cli.run import check_suffix, parse_overrides
from pysim.errors import PysimError
from pysim.optimisation import optimise

if TYPE_CHECKING:
    from pathlib import Path

    from pysim.cli.options import OptimiseOptions
    from pysim.optimisation import OptimisationUpdate, Optimum

NOT_FOUND = 1  # exit status of a search that did not end by its tolerance


def optimise_scene(path: Path, options: OptimiseOptions) -> int:
    """Run the search and return the exit status."""
    check_suffix(path)
    output = options.output
    if output is not None:
        if output.suffix != ".toml":
            raise PysimError(str(output), "unknown kind of file; name it .toml")
        if output.exists() and not options.overwrite:
            raise PysimError(str(output), "exists; name another file, or add --overwrite")
    numbers = _ranges(options.number, "--number", "KEY=LOWER:UPPER")
    constraints = _ranges(options.constraint, "--constraint", "QUANTITY=LOWER:UPPER")
    bar = _Bar(path.stem, shown=not options.quiet)
    try:
        with bar:
            best = optimise(
                path, numbers or None, minimise=options.minimise, residuals=options.residual or None,
                constraints=constraints or None, method=options.method, starts=options.starts,
                seed=options.seed, overrides=parse_overrides(options.overrides),
                threads=options.threads, progress=bar, allow_code=options.allow_code,
            )  # fmt: skip
    except KeyboardInterrupt:
        print_message("interrupted", "nothing is written")
        return INTERRUPTED
    if output is not None:
        best.scene().save(output, overwrite=options.overwrite)
    if not options.quiet:
        _print_summary(best, output)
    return 0 if best.success else NOT_FOUND


def _ranges(texts: tuple[str, ...], option: str, form: str) -> dict[str, list[float]]:
    """Return the numbers of each key."""
    ranges: dict[str, list[float]] = {}
    for text in texts:
        key, _, values = (part.strip() for part in text.partition("="))
        try:
            numbers = [float(word) for word in values.split(":")]
        except ValueError:
            numbers = []
        if not key or len(numbers) < 2 or any(map(math.isnan, numbers)):
            raise PysimError(f"{option} {text}", f"is not complete; write {form}")
        if key in ranges:
            raise PysimError(f"{option} {text}", "gives its key a second time; leave one out")
        ranges[key] = numbers
    return ranges


def _print_summary(best: Optimum, output: Path | None) -> None:
    width = max(map(len, [*best.numbers, *best.constraints, "objective"]))
    for key, number in best.numbers.items():
        print_line(f"  number      {key:{width}}  {number:.10g}")
    print_line(f"  least       {'objective':{width}}  {best.value:.10g}")
    for name, value in best.constraints.items():
        print_line(f"  bounded     {name:{width}}  {value:.10g}")
    print_line(f"  search      {best.message}, {best.worlds} worlds")
    if output is not None:
        print_line(f"  scene       {output}")


class _Bar(TaskBar):
    """Progress of a search, whose length is not known: the worlds and the least objective so far."""

    def __call__(self, update: OptimisationUpdate) -> None:
        self.draw(0, None, f"{update.worlds} worlds, {update.value:.6g}")
