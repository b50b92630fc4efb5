"""`pysim ik`, `id` and `so`: a motion from markers, the forces that a motion needs, and the activations of muscles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.cli.messages import print_line
from pysim.errors import PysimError
from pysim.motions import (
    GroundLoad,
    MotionTable,
    columns_at,
    configurations,
    coordinate_table,
    fit_markers,
    inverse_dynamics,
    read_external_loads,
    read_markers,
    read_table,
    static_optimization,
    write_table,
)
from pysim.worlds.loading import load_model

if TYPE_CHECKING:
    from pathlib import Path

    from pysim.cli.options import ActivationOptions, InverseDynamicsOptions, MarkerOptions
    from pysim.mechanism.model import Model
    from pysim.typing import Array

LISTED_MARKERS = 5  # markers that are printed


def fit_file(model_file: Path, markers_file: Path, options: MarkerOptions) -> None:
    """Fit a model to markers, write the motion, and print the errors."""
    target = _target(options.output, markers_file, ".mot", overwrite=options.overwrite)
    model, markers = load_model(model_file), read_markers(markers_file)
    weights = _parse_numbers("--weight", options.weight, "LASI=2")
    fit = fit_markers(model, markers, weights)
    write_table(target, coordinate_table(model, fit.times, fit.q))
    worst = np.nanmax(fit.errors, axis=0)
    print_line(f"  written     {target}, {len(fit.times)} instants")
    print_line(f"  error       {1000 * fit.rms:.3g} mm rms of {len(fit.names)} markers")
    for k in np.argsort(-worst)[:LISTED_MARKERS]:
        print_line(f"              {fit.names[k]}: up to {1000 * worst[k]:.3g} mm")
    left = [name for name in markers.names if name not in fit.names]
    if left:
        print_line(f"  left out    {', '.join(left)}: no frames of the model, or of weight 0")


def force_file(model_file: Path, motion_file: Path, options: InverseDynamicsOptions) -> None:
    """Write the generalised forces that a motion needs."""
    target = _target(options.output, motion_file, ".sto", overwrite=options.overwrite)
    model, table = load_model(model_file), read_table(motion_file)
    q = configurations(model, table)
    loads = _loads(model, table.times, q, options)
    tau = inverse_dynamics(model, table.times, q, loads, cutoff=options.cutoff)
    write_table(target, _forces(model, table.times, tau))
    print_line(f"  written     {target}, {len(table.times)} instants")


def activation_file(model_file: Path, motion_file: Path, options: ActivationOptions) -> None:
    """Write the activations of least effort that give a motion, and print the largest reserves."""
    target = _target(options.output, motion_file, ".sto", overwrite=options.overwrite)
    model, table = load_model(model_file), read_table(motion_file)
    q = configurations(model, table)
    loads = _loads(model, table.times, q, options)
    reserves = _parse_numbers("--reserve", options.reserve, "pelvis_ty=100")
    result = static_optimization(
        model, table.times, q, loads, cutoff=options.cutoff, reserves=reserves
    )
    write_table(
        target, MotionTable(result.times, result.names, result.activations, name="Activations")
    )
    print_line(f"  written     {target}, {len(table.times)} instants")
    if options.forces is not None:
        file = _target(options.forces, motion_file, ".sto", overwrite=options.overwrite)
        write_table(file, MotionTable(result.times, result.names, result.forces, name="Forces"))
        print_line(f"  written     {file}, tensions [N]")
    largest = np.abs(result.reserves).max(axis=0)
    print_line("  reserves    largest, of what muscles do not supply")
    for k in np.argsort(-largest)[:LISTED_MARKERS]:
        unit = "N·m" if "rad" in model.velocity_units[k] else "N"
        print_line(f"              {model.velocity_names[k]}: {largest[k]:.3g} {unit}")


def _target(output: Path | None, source: Path, suffix: str, *, overwrite: bool) -> Path:
    target = source.with_suffix(suffix) if output is None else output
    if target == source:
        target = source.with_name(f"{source.stem}_result{suffix}")
    if target.exists() and not overwrite:
        raise PysimError(str(target), "exists; name another file, or overwrite it by --overwrite")
    return target


def _parse_numbers(option: str, texts: tuple[str, ...], example: str) -> dict[str, float]:
    """Return numbers by name from NAME=NUMBER."""
    numbers = {}
    for text in texts:
        name, is_given, value = text.partition("=")
        try:
            numbers[name] = float(value)
        except ValueError:
            is_given = ""
        if not is_given:
            problem = f"is not NAME=NUMBER; write for example {example}"
            raise PysimError(f"{option} {text}", problem)
    return numbers


def _loads(
    model: Model, times: Array, q: Array, options: InverseDynamicsOptions
) -> list[GroundLoad]:
    """Return the loads of a file of external loads, or of the columns of a table."""
    if options.loads is not None and options.loads.suffix.lower() == ".xml":
        if options.on:
            raise PysimError("--on", "does not go with a file of external loads; give its table")
        return read_external_loads(options.loads, model, times, q)
    return [_load(text, times, options.loads) for text in options.on]


def _load(text: str, times: Array, file: Path | None) -> GroundLoad:
    """Return a load from BODY=FORCE,POINT,TORQUE, whose columns in a table end with x, y and z."""
    body, is_given, names = text.partition("=")
    columns = names.split(",")
    if not is_given or len(columns) not in {2, 3}:
        problem = "is not BODY=FORCE,POINT or BODY=FORCE,POINT,TORQUE"
        raise PysimError(f"--on {text}", f"{problem}; write the beginnings of the columns' names")
    if file is None:
        raise PysimError(f"--on {text}", "needs a table of loads; give it by --loads FILE")
    table = read_table(file)
    vectors = [columns_at(table, name, times) for name in columns]
    return GroundLoad(body, vectors[0], vectors[1], vectors[2] if len(vectors) > 2 else None)


def _forces(model: Model, times: Array, tau: Array) -> MotionTable:
    """Return a table of forces, with the suffixes of OpenSim: _moment of angles, _force of lengths."""
    pairs = zip(model.velocity_names, model.velocity_units, strict=True)
    columns = tuple(f"{name}_{'moment' if 'rad' in unit else 'force'}" for name, unit in pairs)
    return MotionTable(times, columns, tau, name="Inverse Dynamics Generalized Forces")
