"""Signals of a world and their statistics.

q.NAME, v.NAME                    the coordinate or velocity NAME
position.BODY.x, .y, .z           origin of a body in the world [m]
kinetic, potential, energy        [J]; energy includes springs and stops
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import elastic_energy, forward_kinematics, kinetic_energy, potential_energy
from pysim.errors import SimulationError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pysim.mechanism.model import Model

    Array = NDArray[np.float64]

STATISTICS = ("end", "min", "max", "mean", "rms")
_ENERGIES = ("kinetic", "potential", "energy")


def signal_names(model: Model) -> list[str]:
    """Return the names of all signals of a model."""
    axes = [f"position.{body}.{axis}" for body in model.body_names for axis in "xyz"]
    return [*default_signals(model), *_ENERGIES, *axes]


def default_signals(model: Model) -> list[str]:
    """Return the names of the signals whose statistics are always computed."""
    return [
        *(f"q.{name}" for name in model.coordinate_names),
        *(f"v.{name}" for name in model.velocity_names),
    ]


def check_signals(model: Model, signals: Sequence[str]) -> None:
    """Reject signals that a model does not have.

    Raises:
        SimulationError: by name.
    """
    known = signal_names(model)
    for name in signals:
        if name not in known:
            hint = did_you_mean(name, known)
            raise SimulationError(f"signals: {name!r}", f"the scene has no such signal{hint}")


def evaluate(model: Model, q: Array, v: Array, signals: Sequence[str]) -> Array:
    """Return the signals (signals, rows) of a world with the states q (rows, nq) and v (rows, nv)."""
    found: dict[str, Array] = {
        f"q.{name}": q[:, k] for k, name in enumerate(model.coordinate_names)
    }
    found |= {f"v.{name}": v[:, k] for k, name in enumerate(model.velocity_names)}
    others = [name for name in signals if name not in found]
    if others:
        rows = np.isfinite(v).all(axis=1)
        for name in others:
            found[name] = np.full(len(q), np.nan)
            found[name][rows] = _computed(model, q[rows], v[rows], name)
    return np.array([found[name] for name in signals])


def _computed(model: Model, q: Array, v: Array, name: str) -> Array:
    if name == "kinetic":
        return np.asarray(kinetic_energy(model, q, v))
    if name == "potential":
        return np.asarray(potential_energy(model, q))
    if name == "energy":
        at_work = np.asarray(kinetic_energy(model, q, v)) + np.asarray(potential_energy(model, q))
        return np.asarray(at_work + elastic_energy(model, q))
    body, axis = name.removeprefix("position.").rsplit(".", 1)
    poses = np.asarray(forward_kinematics(model, q))
    return np.asarray(poses[:, model.body_names.index(body), "xyz".index(axis), 3])


def statistics(signals: Array) -> Array:
    """Return the statistics (signals, 5) of signals (signals, rows) over their rows before the first NaN."""
    rows = int(np.isfinite(signals).all(axis=0).cumprod().sum())
    if rows == 0:
        return np.full((len(signals), len(STATISTICS)), np.nan)
    x = signals[:, :rows]
    with np.errstate(over="ignore"):
        rms = np.sqrt((x * x).mean(axis=1))
    return np.stack([x[:, -1], x.min(axis=1), x.max(axis=1), x.mean(axis=1), rms], axis=1)
