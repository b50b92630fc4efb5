"""A trajectory as an xarray.Dataset: arrays with named dimensions, units and times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import TrajectoryError

if TYPE_CHECKING:
    from pysim.trajectory.record import Trajectory

POSE = ("x", "y", "z", "qx", "qy", "qz", "qw")


def to_xarray(trajectory: Trajectory) -> Any:  # noqa: ANN401, an xarray.Dataset
    """Return an xarray.Dataset over `t` [s] of q, v, a, poses, energies, forces, signals and work.

    Columns are labelled: `run.to_xarray().q.sel(coordinate="hinge")`. Units are the attribute `units` of a variable
    whose numbers have one, and otherwise the coordinates `q_unit`, `v_unit`, `a_unit` and `force_unit`.

    Raises:
        TrajectoryError: xarray is not installed.
    """
    try:
        import xarray  # noqa: PLC0415, an optional package
    except ImportError as error:
        problem = 'to_xarray needs xarray; install it with pip install "pysim-multibody[sweeps]"'
        raise TrajectoryError("trajectory", problem) from error
    names, units, header = trajectory.names, trajectory.units, trajectory.header
    columns: dict[str, Any] = {
        "q": (("t", "coordinate"), np.asarray(trajectory.q)),
        "v": (("t", "velocity"), np.asarray(trajectory.v)),
        "a": (("t", "velocity"), np.asarray(trajectory.a)),
        "poses": (("t", "body", "pose"), np.asarray(trajectory.poses)),
    }
    for part in ("kinetic", "potential", "elastic"):
        values = np.asarray(getattr(trajectory, part))
        columns[f"energy.{part}"] = ("t", values, {"units": "J"})
    if names["forces"]:
        columns["forces"] = (("t", "force"), np.asarray(trajectory.element_forces))
    for name, unit in zip(names["signals"], units["signals"], strict=True):
        values = np.asarray(trajectory.signals[name])
        axes = ("t",) if values.ndim == 1 else ("t", f"{name}[]")
        columns[f"signals.{name}"] = (axes, values, {"units": unit})
    for name, work in trajectory.work.items():
        columns[f"work.{name}"] = ("t", np.asarray(work), {"units": "J"})
    coordinates: dict[str, Any] = {
        "t": ("t", np.asarray(trajectory.t), {"units": "s"}),
        "coordinate": list(names["coordinates"]),
        "q_unit": ("coordinate", list(units["q"])),
        "velocity": list(names["velocities"]),
        "v_unit": ("velocity", list(units["v"])),
        "a_unit": ("velocity", list(units["a"])),
        "body": list(names["bodies"]),
        "pose": list(POSE),
    }
    if names["forces"]:
        coordinates |= {
            "force": list(names["forces"]),
            "force_unit": ("force", list(units["forces"])),
        }
    attributes = {
        "name": header.name,
        "integrator": header.integrator,
        "version": header.version,
        "complete": int(trajectory.complete),
    }
    return xarray.Dataset(columns, coordinates, attributes)
