"""Signals of a world and their statistics.

q.NAME, v.NAME                    the coordinate or velocity NAME
position.NAME.x, .y, .z           origin of a body or frame in the world [m]
kinetic, potential, energy        [J]; energy includes springs and stops
NAME, NAME[k]                     signal of the scene, such as a sensor's; a number k of several
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import elastic_energy, frame_placement, kinetic_energy, potential_energy
from pysim.errors import SimulationError, did_you_mean
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pysim.mechanism.model import Model
    from pysim.worlds.loading import Scene

STATISTICS = ("end", "min", "max", "mean", "rms")
_ENERGIES = ("kinetic", "potential", "energy")


def signal_names(scene: Scene) -> list[str]:
    """Return the names of all signals of a scene."""
    return [*_of_states(scene.model), *_recorded(scene)]


def default_signals(model: Model) -> list[str]:
    """Return the names of the signals whose statistics are always computed."""
    return [
        *(f"q.{name}" for name in model.coordinate_names),
        *(f"v.{name}" for name in model.velocity_names),
    ]


def _of_states(model: Model) -> list[str]:
    """Return the names of the signals that follow from states."""
    places = [f"position.{frame}.{axis}" for frame in model.frame_names for axis in "xyz"]
    return [*default_signals(model), *_ENERGIES, *places]


def _recorded(scene: Scene) -> dict[str, str]:
    """Return the names of numbers that a run records, each with that of its signal in the scene."""
    if scene.signals is None:
        return {}
    return {
        name: s.name
        for s in scene.signals.recorded
        for name in ([s.name] if s.is_single else [f"{s.name}[{k}]" for k in range(s.size)])
    }


def check_signals(scene: Scene, signals: Sequence[str]) -> None:
    """Reject signals that a scene does not have.

    Raises:
        SimulationError: by name.
    """
    known = signal_names(scene)
    for name in signals:
        if name not in known:
            hint = did_you_mean(name, known)
            raise SimulationError(f"signals: {name!r}", f"the scene has no such signal{hint}")


def split_quantity(name: str, signals: Sequence[str], owner: str) -> tuple[str, str]:
    """Return the signal and the statistic of a quantity: SIGNAL.STATISTIC, or SIGNAL for its value at the end.

    Raises:
        SimulationError: the owner has no such signal.
    """
    signal, _, statistic = name.rpartition(".")
    if name in signals or statistic not in STATISTICS:
        signal, statistic = name, "end"
    if signal not in signals:
        problem = f"{owner} has no such signal{did_you_mean(signal, signals)}"
        raise SimulationError(repr(name), f"{problem}; give SIGNAL or SIGNAL.STATISTIC")
    return signal, statistic


def to_record(scene: Scene, signals: Sequence[str]) -> tuple[str, ...]:
    """Return the scene's own signals that a run has to record for these."""
    states, recorded = set(_of_states(scene.model)), _recorded(scene)
    return tuple(dict.fromkeys(recorded[name] for name in signals if name not in states))


def evaluate(
    model: Model, q: Array, v: Array, recorded: Mapping[str, Array], signals: Sequence[str]
) -> Array:
    """Return the signals (signals, rows) of a world.

    Args:
        model: of the world.
        q: configurations (rows, nq).
        v: velocities (rows, nv).
        recorded: signals of the scene that `to_record` names, (rows,) or (rows, size).
        signals: names.
    """
    values_of: dict[str, Array] = {}
    for name, values in recorded.items():
        values_of |= {f"{name}[{k}]": column for k, column in enumerate(np.atleast_2d(values.T))}
        values_of[name] = values
    values_of |= {f"q.{name}": q[:, k] for k, name in enumerate(model.coordinate_names)}
    values_of |= {f"v.{name}": v[:, k] for k, name in enumerate(model.velocity_names)}
    others = [name for name in signals if name not in values_of]
    if others:
        rows = np.isfinite(v).all(axis=1)
        for name in others:
            values_of[name] = np.full(len(q), np.nan)
            values_of[name][rows] = _computed(model, q[rows], v[rows], name)
    return np.array([values_of[name] for name in signals])


def _computed(model: Model, q: Array, v: Array, name: str) -> Array:
    if name == "kinetic":
        return np.asarray(kinetic_energy(model, q, v))
    if name == "potential":
        return np.asarray(potential_energy(model, q))
    if name == "energy":
        at_work = np.asarray(kinetic_energy(model, q, v)) + np.asarray(potential_energy(model, q))
        return np.asarray(at_work + elastic_energy(model, q))
    frame, axis = name.removeprefix("position.").rsplit(".", 1)
    poses = np.asarray(frame_placement(model, q, frame))
    return np.asarray(poses[:, "xyz".index(axis), 3])


def statistics(signals: Array) -> Array:
    """Return the statistics (signals, 5) of signals (signals, rows) over their rows before the first NaN."""
    rows = int(np.isfinite(signals).all(axis=0).cumprod().sum())
    if rows == 0:
        return np.full((len(signals), len(STATISTICS)), np.nan)
    x = signals[:, :rows]
    with np.errstate(over="ignore"):
        rms = np.sqrt((x * x).mean(axis=1))
    return np.stack([x[:, -1], x.min(axis=1), x.max(axis=1), x.mean(axis=1), rms], axis=1)
