"""`pysim identify`: identifies parameters from a recording, prints them, and writes a copy of the file with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.cli.messages import print_columns, print_line, print_message
from pysim.errors import IdentificationError
from pysim.identify import identify, read_run, read_samples, write_found
from pysim.identify.writing import check_written
from pysim.inertia import center_of_mass
from pysim.simulation import load_scene
from pysim.worlds.loading import load_model

if TYPE_CHECKING:
    from pathlib import Path

    from pysim.cli.options import IdentifyOptions
    from pysim.identify import Identification, Samples
    from pysim.mechanism.model import Model

BASE_SHOWN = 12
PAYLOAD = ("mass [kg]", "com x [m]", "com y [m]", "com z [m]")


def identify_file(path: Path, data: Path, options: IdentifyOptions) -> None:
    """Identify a scene's or robot's parameters, print them, and write the requested files."""
    if options.output is not None:
        check_written(path, options.output, overwrite=options.overwrite)
    model, samples = _read(path, data, options)
    result = identify(
        model,
        samples,
        bodies=options.body or None,
        payload=options.payload,
        resistances=options.resistance,
        prior=options.prior,
        using=options.using,
    )
    print_line(f"{path}: {model.name}, {len(samples)} samples of {data}", style="bold")
    print_fit(result)
    print_parameters(result)
    for note in result.notes:
        print_message("warning", note)
    if options.output is not None:
        notes = write_found(
            result.model,
            path,
            options.output,
            package_dirs=options.package_dirs,
            overwrite=options.overwrite,
        )
        for note in notes:
            print_message("warning", note)
        print_line(f"  written     {options.output}")
    if options.plot is not None:
        from pysim.render.plots.residuals import plot_residuals  # noqa: PLC0415, only where it is drawn

        plot_residuals(result, samples, options.plot)
        print_line(f"  drawn       {options.plot}")


def _read(path: Path, data: Path, options: IdentifyOptions) -> tuple[Model, Samples]:
    is_run = data.suffix.lower() in {".h5", ".hdf5"}
    if path.suffix.lower() != ".toml":
        if is_run:
            problem = "a trajectory is identified with the scene that was run; give that scene"
            raise IdentificationError(str(path), problem)
        model = load_model(path, free_base=options.free_base, package_dirs=options.package_dirs)
        return model, read_samples(model, data, window=options.window)
    scene = load_scene(path, package_dirs=options.package_dirs)
    if is_run:
        return scene.model, read_run(scene, data)
    return scene.model, read_samples(scene.model, data, window=options.window)


def print_fit(identification: Identification) -> None:
    """Print how well the equations hold, before and after."""
    left_out = (
        identification.cross_validation.mean(axis=0)
        if len(identification.cross_validation)
        else None
    )
    rows = [
        (
            name,
            f"{identification.residual_before[j]:.4g}",
            f"{identification.residual[j]:.4g}",
            f"{left_out[j]:.4g}" if left_out is not None else "",
            f"{identification.noise[j]:.4g}",
        )
        for j, name in enumerate(identification.equations)
    ]
    print_line(
        f"  base        {identification.identifiable} of {len(identification.base)} parameters, "
        f"condition {identification.condition:.3g}"
    )
    print_line()
    print_columns(("rms residual", "model's", "found", "left out", "noise"), rows)
    print_line()


def print_parameters(identification: Identification) -> None:
    """Print the base parameters, or a payload, and the resistances, with standard deviations."""
    deviations, values = identification.deviations, identification.estimate.p
    if identification.unknowns.payload is not None:
        numbers = [values[0], *center_of_mass(values[:10])]
        spread = [deviations[0], *deviations[1:4] / values[0]]
        rows = [
            (name, f"{x:.5g}", f"{s:.2g}")
            for name, x, s in zip(PAYLOAD, numbers, spread, strict=True)
        ]
    else:
        doubt = identification.base_deviations / np.maximum(
            np.abs(identification.base_values), np.finfo(float).tiny
        )
        doubt[identification.base.independent >= 10 * identification.unknowns.blocks] = (
            np.inf
        )  # explained below
        order = np.argsort(doubt)[: np.isfinite(doubt).sum()]
        rows = [
            (
                _shortened(identification.base.names[k]),
                f"{identification.base_values[k]:.5g}",
                f"{identification.base_deviations[k]:.2g}",
            )
            for k in sorted(order[:BASE_SHOWN])
        ]
        if len(order) > BASE_SHOWN:
            few = f"{BASE_SHOWN} of {len(order)} base parameters, the most certain ones"
            print_line(f"  shown       {few}")
    inertial = 10 * identification.unknowns.blocks
    rows += [
        (name, f"{x:.5g}", f"{s:.2g}" if s > 0 else "at its bound")
        for name, x, s in zip(
            identification.unknowns.names[inertial:],
            values[inertial:],
            deviations[inertial:],
            strict=True,
        )
    ]
    print_columns(("parameter", "value", "deviation"), rows)
    print_line()


def _shortened(name: str, width: int = 60) -> str:
    return name if len(name) <= width else name[: width - 1] + "…"
