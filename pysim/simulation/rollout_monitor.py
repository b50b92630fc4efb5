"""Energy monitor of rollouts: worlds whose energy changes between rows are looked at, the rest cost a sum each.

Energies of rows, of all worlds at once, are a few per cent of the work of the steps between them; where rows are dense
or steps few, fewer rows or worlds are taken, evenly spaced. A world whose energy changes is judged as a run is
(energy_monitor.py).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim import _engine
from pysim.algorithms import elastic_energy, kinetic_energy, potential_energy
from pysim.errors import PysimWarning
from pysim.loops import constraints
from pysim.mechanism.model import State
from pysim.scene.spec import Settings
from pysim.simulation.energy_monitor import describe, dissipates, imbalance
from pysim.simulation.scheme_errors import motion_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pysim.mechanism.model import Model

    Array = NDArray[np.float64]

_SHARE = 1e-3  # of the energy at work, as in energy_monitor.py
_ROWS_A_STEP = 0.002  # whose energies are computed, a step of a world
_JUDGED = 4  # worlds at most
_LEAST = 150_000  # bodies and rows of constraints times steps and worlds: less takes too short to be monitored
_A_WORLD = 400_000  # the same for each world whose work is integrated
_ALONE = 4  # worlds whose cost in packs is that of one alone
_CONSTRAINT = 4  # bodies whose cost is that of a row


@dataclass(frozen=True)
class World:
    """One world, with what a scene has of it."""

    model: Model
    state: State
    settings: Settings
    actuation: _engine.Actuation
    spec: Any
    events: None = None


def world_of(model: Model, integrator: str, step: float, parameters: dict[str, Any]) -> World:
    """Return a model on its own, under a scheme."""
    nv, q = model.nv, model.neutral()
    loop_q = constraints(model, q).loop_q if model.rows else np.zeros(0)
    settings = Settings(step=step, integrator=integrator, parameters=parameters)
    none = _engine.Actuation(*np.zeros((4, nv)))
    spec = SimpleNamespace(model=model.spec, path="rollout")
    return World(model, State(q, np.zeros(nv), loop_q), settings, none, spec)


def warn_of_worlds_out_of_balance(
    scenes: Sequence[Any],
    t: Array,
    q: Array,
    v: Array,
    steps: int,
    controls: Array | None = None,
    stacklevel: int = 2,
) -> None:
    """Warn of the first world whose balance of energy is off.

    Args:
        scenes: one for all worlds or one for each, scenes or what `world_of` returns.
        t: times of the rows (rows,) [s].
        q: (worlds, rows, nq).
        v: (worlds, rows, nv).
        steps: of every world.
        controls: generalised forces of every step (worlds, steps, nv).
        stacklevel: as of `warnings.warn`, from the caller of this function.
    """
    model = scenes[0].model
    size = model.nbodies + _CONSTRAINT * model.rows
    size *= steps * max(len(q), _ALONE)
    if q.dtype != np.float64 or size < _LEAST or len(t) < 2:
        return
    judged = _JUDGED if controls is None and _conserve(scenes) else min(_JUDGED, size // _A_WORLD)
    for k in _suspects(scenes, q, v, steps)[:judged]:
        scene = scenes[k if len(scenes) > 1 else 0]
        rows = slice(int(np.isfinite(v[k]).all(axis=1).cumprod().sum()))
        own = None if controls is None else controls[k]
        motion = motion_of(scene, t[rows], q[k, rows], v[k, rows], steps, own)
        found = imbalance(motion)
        if found is not None:
            text = f"rollout: world {k}: {describe(motion, found)}"
            warnings.warn(text, PysimWarning, stacklevel=stacklevel + 1)
            return


def _conserve(scenes: Sequence[Any]) -> bool:
    """Whether nothing drives or brakes any world, so that energy alone says whether it is in balance."""
    for scene in scenes:
        drive, model = scene.actuation, scene.model
        if drive.offset.any() or drive.amplitude.any() or dissipates(model):
            return False
        if any(
            np.isfinite(joint.lower).any() or np.isfinite(joint.upper).any()
            for joint in model.joints
        ):
            return False
    return True


def _suspects(scenes: Sequence[Any], q: Array, v: Array, steps: int) -> list[int]:
    """Worlds whose energy changes, those that change most first."""
    worlds, rows = q.shape[:2]
    budget = max(2.0, _ROWS_A_STEP * steps * worlds)
    each = _spaced(rows, max(2, int(budget / worlds)))
    chosen = _spaced(worlds, max(1, int(budget / len(each))))
    grid = np.ix_(chosen, each)
    finite = np.asarray(np.isfinite(v[grid]).all(axis=2))
    q_k, v_k = (np.where(finite[..., None], x[grid], x[chosen, None, 0]) for x in (q, v))
    kinetic, stored = _energies(scenes, chosen, q_k, v_k)
    energy = kinetic + stored
    scale = kinetic.max(axis=1) + np.ptp(stored, axis=1)
    off = np.asarray(np.where(finite, np.abs(energy - energy[:, :1]), 0.0)).max(axis=1)
    share = off / np.maximum(scale, 1e-300)
    found = np.flatnonzero(share > _SHARE)
    return [int(k) for k in chosen[found[np.argsort(-share[found], kind="stable")]]]


def _spaced(count: int, most: int) -> NDArray[np.intp]:
    """Up to so many of the numbers below `count`, evenly spaced, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.intp))


def _energies(
    scenes: Sequence[Any], chosen: NDArray[np.intp], q: Array, v: Array
) -> tuple[Array, Array]:
    """Kinetic and stored energies (worlds, rows) [J]."""
    if len({id(scene.model) for scene in scenes}) > 1:
        parts = [
            _energies([scenes[k]], chosen[:1], q[i : i + 1], v[i : i + 1])
            for i, k in enumerate(chosen)
        ]
        kinetic, stored = zip(*parts, strict=True)
        return np.concatenate(kinetic), np.concatenate(stored)
    model = scenes[0].model
    at_q, at_v = (x.reshape(-1, x.shape[-1]) for x in (q, v))
    moves = np.asarray(kinetic_energy(model, at_q, at_v))
    rests = np.asarray(potential_energy(model, at_q)) + elastic_energy(model, at_q)
    return moves.reshape(q.shape[:2]), rests.reshape(q.shape[:2])
