"""Energy monitor of rollouts: checks the balance (energy_monitor.py) of worlds whose energy changes between rows.

To limit the cost, the energies of only some rows and worlds, evenly spaced, are computed if rows are dense or steps
few, and the balance of only a few worlds, those with the largest changes, is checked. Where forces do work, the
intervals between rows may have to be run again; worlds for which that would take long are not judged.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from pysim import _engine
from pysim.algorithms import elastic_energy, kinetic_energy, potential_energy
from pysim.errors import PysimWarning
from pysim.loops import constraints
from pysim.mechanism.model import State
from pysim.scene.spec import Settings
from pysim.simulation.checks.stability import sliding_coordinates
from pysim.simulation.checks.step_checks import sharp_friction
from pysim.simulation.monitors.energy_monitor import describe, dissipates, imbalance
from pysim.simulation.monitors.scheme_errors import motion_of
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pysim.mechanism.model import Model

_SHARE = 1e-3  # of the energy involved: a smaller change needs no check
_ROWS_A_STEP = 0.002  # rows whose energies are computed, per step of a world
_CHECKED = 4  # worlds whose balance is checked, at most
_LEAST = (
    300_000  # bodies and constraint rows times steps and worlds; smaller rollouts are not monitored
)
_A_WORLD = 400_000  # the same, for each world whose work is integrated
_RUN_AGAIN = 0.02  # of the steps of all worlds, to integrate the work of those that are checked
_ALONE = 4  # worlds of a pack that take as long as one alone
_CONSTRAINT = 4  # bodies that take as long as a constraint row
_neutral_states: WeakKeyDictionary[Model, State] = WeakKeyDictionary()


@dataclass(frozen=True)
class World:
    """A world of a rollout of models, with the fields of a scene that the monitor reads."""

    model: Model
    state: State
    settings: Settings
    actuation: _engine.Actuation
    spec: Any
    events: None = None
    signals: None = None


def world_of(model: Model, integrator: str, step: float, parameters: dict[str, Any]) -> World:
    """Return the world of a model without actuators."""
    settings = Settings(step=step, integrator=integrator, parameters=parameters)
    none = _engine.Actuation(*np.zeros((4, model.nv)))
    spec = SimpleNamespace(model=model.spec, path="rollout")
    return World(model, _neutral_state(model), settings, none, spec)


def _neutral_state(model: Model) -> State:
    known = _neutral_states.get(model)
    if known is None:
        q = model.neutral()
        loop_q = constraints(model, q).loop_q if model.rows else np.zeros(0)
        known = _neutral_states[model] = State(q, np.zeros(model.nv), loop_q)
    return known


def warn_of_friction_of_worlds(
    scenes: Sequence[Any], t: Array, q: Array, v: Array, stacklevel: int = 2
) -> None:
    """Warn of the first world, of a few evenly spaced, with friction sharper than the step along its run.

    Args:
        scenes: one for all worlds or one for each, scenes or what `world_of` returns.
        t: times of the rows (rows,) [s].
        q: (worlds, rows, nq).
        v: (worlds, rows, nv).
        stacklevel: as of `warnings.warn`, from the caller of this function.
    """
    if q.dtype != np.float64:
        return
    if len(scenes) == 1 and not len(sliding_coordinates(scenes[0].model)[0]):
        return
    for k in _spaced(len(q), _CHECKED):
        scene = scenes[k if len(scenes) > 1 else 0]
        if isinstance(scene, World):
            scene = replace(scene, state=State(q[k, 0], v[k, 0], scene.state.loop_q))
        text = sharp_friction(scene, t, q[k], v[k])
        if text is not None:
            if isinstance(scene, World):
                text = text.replace("simulation.step", "step")
            warnings.warn(f"rollout: world {k}: {text}", PysimWarning, stacklevel=stacklevel + 1)
            return


def warn_of_worlds_out_of_balance(
    scenes: Sequence[Any],
    t: Array,
    q: Array,
    v: Array,
    steps: int,
    controls: Array | None = None,
    stacklevel: int = 2,
) -> None:
    """Warn of the first world whose energy balance does not close.

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
    checked = (
        _CHECKED if controls is None and _conserve(scenes) else min(_CHECKED, size // _A_WORLD)
    )
    for k in _suspects(scenes, q, v, steps)[:checked]:
        scene = scenes[k if len(scenes) > 1 else 0]
        rows = int(np.isfinite(v[k]).all(axis=1).cumprod().sum())
        made = (rows - 1) * steps // (len(t) - 1)
        motion = motion_of(
            scene,
            t[:rows],
            q[k, :rows],
            v[k, :rows],
            made,
            None if controls is None else controls[k, :made],
        )
        found = imbalance(motion, _RUN_AGAIN * steps * len(q) / checked)
        if found is not None:
            text = f"rollout: world {k}: {describe(motion, found)}"
            warnings.warn(text, PysimWarning, stacklevel=stacklevel + 1)
            return


def _conserve(scenes: Sequence[Any]) -> bool:
    """Return whether no world has an actuator, dissipation or stops, so that its energy must be constant."""
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
    """Return the worlds whose energy changes, the largest change first."""
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
    """Return at most `most` of the numbers below `count`, evenly spaced, including the first and the last."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, most).astype(np.intp))


def _energies(
    scenes: Sequence[Any], chosen: NDArray[np.intp], q: Array, v: Array
) -> tuple[Array, Array]:
    """Return kinetic and stored energies (worlds, rows) [J]."""
    if len({id(scene.model) for scene in scenes}) > 1:
        parts = [
            _energies([scenes[k]], chosen[:1], q[i : i + 1], v[i : i + 1])
            for i, k in enumerate(chosen)
        ]
        each = zip(*parts, strict=True)
        kinetic, stored = (np.concatenate(part) for part in each)
        return kinetic, stored
    model = scenes[0].model
    at_q, at_v = (x.reshape(-1, x.shape[-1]) for x in (q, v))
    kinetic = np.asarray(kinetic_energy(model, at_q, at_v))
    stored = np.asarray(potential_energy(model, at_q)) + elastic_energy(model, at_q)
    return kinetic.reshape(q.shape[:2]), stored.reshape(q.shape[:2])
