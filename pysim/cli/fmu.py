"""`pysim fmu`: writes a scene as a functional mock-up unit."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from pysim.cli.files import check_replaced
from pysim.cli.messages import print_line
from pysim.cli.run import parse_overrides
from pysim.fmu import write_fmu
from pysim.simulation import load_scene

if TYPE_CHECKING:
    from pysim.cli.options import FmuOptions


def write_scene(path: Path, options: FmuOptions) -> None:
    """Write an FMU and print what it has.

    Raises:
        PysimError: the file exists and is not to be replaced, or the scene cannot run without Python.
    """
    target = options.output or Path(path.stem + ".fmu")
    check_replaced(target, overwrite=options.overwrite)
    overrides = parse_overrides(options.overrides, options.unset)
    scene = load_scene(path, overrides, options.allow_code, options.package_dirs)
    patterns = {name: getattr(options, name) or None for name in ("inputs", "outputs")}
    numbers = tuple(options.parameters)
    variables = write_fmu(
        scene,
        target,
        fmi=options.fmi,
        parameters=numbers,
        model_exchange=options.model_exchange,
        **patterns,
    )
    if options.quiet:
        return
    kinds = Counter(own.causality for own in variables)
    counts = ", ".join(
        f"{kinds[kind]} {kind}s"
        for kind in ("input", "parameter", "output")
        if kinds[kind] or kind != "parameter"
    )
    print_line(f"  wrote       {target}, FMI {options.fmi}.0: {counts}")
