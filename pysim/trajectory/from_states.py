"""Trajectories of a user's own states: a model with times, configurations and velocities from any source.

    trajectory = pysim.Trajectory.of(model, t, q, v)        # to view, draw, plot, save
    pysim.save_rollout("run.h5", model, t, q, v)            # a file for each world of a batch

Poses and energies follow from the model. Accelerations are differences of v over time, because the forces are unknown;
without velocities, v are differences of q.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim import __version__
from pysim.algorithms import elastic_energy, forward_kinematics, kinetic_energy, potential_energy
from pysim.errors import TrajectoryError
from pysim.spatial.arrays import map_rows
from pysim.trajectory.connections import connections_of, is_imported
from pysim.trajectory.header import TrajectoryHeader
from pysim.trajectory.record import Trajectory
from pysim.trajectory.visuals import header_visuals
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike

    from numpy.typing import ArrayLike

    from pysim.mechanism.model import Model
    from pysim.scene.spec import BlockSpec

MOST_WORLDS = 100  # files of a batch whose worlds are not named


def model_header(
    model: Model,
    blocks: Sequence[BlockSpec] = (),
    **further: Any,  # noqa: ANN401, header fields
) -> TrajectoryHeader:
    """Return a header with everything that a model and its actuators say; `further` sets further fields."""
    bodies, poses = zip(*model.frames.values(), strict=True) if model.frames else ((), ())
    fields: dict[str, Any] = {
        "joint_names": tuple(model.joint_names),
        "body_names": tuple(model.body_names),
        "coordinate_names": tuple(model.coordinate_names),
        "velocity_names": tuple(model.velocity_names),
        "coordinate_units": tuple(model.coordinate_units),
        "velocity_units": tuple(model.velocity_units),
        "frame_names": tuple(model.frames),
        "frame_bodies": tuple(bodies),
        "frame_poses": np.array(poses, float).reshape(-1, 4, 4),
        "gravity": tuple(model.gravity),
        "name": model.name,
        "version": __version__,
        "visuals": header_visuals((b.geometries for b in model.bodies), model.world_geometries),
        "connections": connections_of(model, blocks),
        "imported": is_imported(model),
    }
    return TrajectoryHeader(**(fields | further))


def trajectory_of_model(
    model: Model,
    t: ArrayLike,
    q: ArrayLike,
    v: ArrayLike | None = None,
    *,
    name: str | None = None,
    render: Mapping[str, Any] | None = None,
) -> Trajectory:
    """Return a trajectory of states from any source, to view, draw, plot or save.

    Poses and energies follow from the model; accelerations are differences of v over time.

    Args:
        model: the mechanism.
        t: times (rows,) [s], increasing.
        q: configurations (rows, nq).
        v: velocities (rows, nv); None for differences of q.
        name: title of pictures; the model's by default.
        render: options of pictures, as in a scene's `[render]` table.

    Raises:
        TrajectoryError: shapes that do not fit, times that do not increase, NaN or infinite numbers.
        ValueError: a quaternion in q that is not unit.
    """
    return trajectory_of_states(model, t, q, v, name=name, render=render)


def trajectory_of_states(
    model: Model,
    t: ArrayLike,
    q: ArrayLike,
    v: ArrayLike | None = None,
    *,
    name: str | None = None,
    render: Mapping[str, Any] | None = None,
    blocks: Sequence[BlockSpec] = (),
) -> Trajectory:
    """Return the trajectory of states as `trajectory_of_model` does; actuators among `blocks` are drawn."""
    times, configurations = np.array(t, float), np.array(q, float)
    rows = _count_rows(times)
    _check("q", configurations, (rows, model.nq))
    if v is None:
        velocities = _differences(model, times, configurations)
    else:
        velocities = np.array(v, float)
        _check("v", velocities, (rows, model.nv))
    a = np.gradient(velocities, times, axis=0) if rows > 1 else np.zeros((rows, model.nv))
    own = {} if name is None else {"name": name}
    header = model_header(model, blocks, render=dict(render or {}), **own)
    if rows == 0:
        none = np.zeros(0)
        poses = np.zeros((0, model.nbodies, 7))
        return Trajectory(header, times, configurations, velocities, a, none, none, none, poses)
    return Trajectory(
        header,
        times,
        configurations,
        velocities,
        a,
        np.asarray(kinetic_energy(model, configurations, velocities)),
        np.asarray(potential_energy(model, configurations)),
        np.asarray(elastic_energy(model, configurations)),
        map_rows("position_and_quaternion", forward_kinematics(model, configurations), 2, (7,)),
        source=header.name or "trajectory",
    )


def save_rollout(
    path: str | PathLike[str],
    model: Model,
    t: ArrayLike,
    q: ArrayLike,
    v: ArrayLike | None = None,
    *,
    worlds: Iterable[int] | None = None,
    overwrite: bool = False,
) -> list[Path]:
    """Save states as trajectory files for `pysim view`, `pysim movie` and `pysim plot`; return their paths.

    Args:
        path: file of one world, `run.h5`; the worlds of a batch become `run-0.h5`, `run-1.h5`, …
        model: the mechanism of all worlds.
        t: times [s] (rows,), increasing; or the step [s] between two rows.
        q: configurations (rows, nq), or (worlds, rows, nq) as `pysim.rollout` returns them.
        v: velocities (…, rows, nv); None for differences of q.
        worlds: indices of the worlds to save; None for all, at most 100.
        overwrite: replace trajectories of these names.

    Raises:
        TrajectoryError: shapes that do not fit, times that do not increase, NaN, or a file that cannot be written.
    """
    target, configurations = Path(path), np.asarray(q, float)
    velocities = None if v is None else np.asarray(v, float)
    if configurations.ndim not in {2, 3}:
        shape = f"(rows, {model.nq}) or (worlds, rows, {model.nq})"
        raise TrajectoryError("q", f"must have shape {shape}, got {configurations.shape}")
    times = np.asarray(t, float)
    if times.ndim == 0:
        times = float(times) * np.arange(configurations.shape[-2])
    if configurations.ndim == 2:
        if worlds is not None:
            raise TrajectoryError("worlds", "applies to a batch; leave it out for one world")
        trajectory_of_states(model, times, configurations, velocities).save(
            target, overwrite=overwrite
        )
        return [target]
    chosen = _chosen(worlds, len(configurations))
    paths = [target.with_name(f"{target.stem}-{k}{target.suffix}") for k in chosen]
    for k, own in zip(chosen, paths, strict=True):
        v_k = None if velocities is None else velocities[k]
        trajectory = trajectory_of_states(model, times, configurations[k], v_k)
        trajectory.save(own, overwrite=overwrite)
    return paths


def _chosen(worlds: Iterable[int] | None, count: int) -> list[int]:
    if worlds is None:
        if count > MOST_WORLDS:
            problem = f"a batch of {count} worlds would be written to more than {MOST_WORLDS} files"
            raise TrajectoryError(
                "worlds", f"{problem}; name those to save, for example worlds=range(10)"
            )
        return list(range(count))
    chosen = [int(k) for k in worlds]
    for k in chosen:
        if not 0 <= k < count:
            raise TrajectoryError("worlds", f"must lie between 0 and {count - 1}, got {k}")
    return chosen


def _count_rows(t: Array) -> int:
    if t.ndim != 1:
        raise TrajectoryError("t", f"must have shape (rows,), got {t.shape}")
    if not np.isfinite(t).all():
        raise TrajectoryError("t", "must be finite [s]")
    if not (np.diff(t) > 0).all():
        row = 1 + int(np.argmax(np.diff(t) <= 0))
        problem = f"must increase from row to row [s], got {t[row - 1]:g} then {t[row]:g}"
        raise TrajectoryError("t", f"{problem} at row {row}; sort the rows")
    return len(t)


def _check(key: str, values: Array, shape: tuple[int, int]) -> None:
    if values.shape != shape:
        raise TrajectoryError(key, f"must have shape {shape}, got {values.shape}")
    good = np.isfinite(values).all(axis=1)
    if not good.all():
        problem = f"is NaN or infinite from row {int(np.argmin(good))}"
        raise TrajectoryError(key, f"{problem}; leave out the rows from there on")


def _differences(model: Model, t: Array, q: Array) -> Array:
    """Return velocities (rows, nv) from configurations: central differences, one-sided at the ends."""
    rows = len(t)
    if rows < 2:
        return np.zeros((rows, model.nv))
    before, after = np.maximum(np.arange(rows) - 1, 0), np.minimum(np.arange(rows) + 1, rows - 1)
    moved = np.asarray(model.difference(q[before], q[after]))
    return np.asarray(moved / (t[after] - t[before])[:, None])
