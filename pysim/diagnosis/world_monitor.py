"""Warnings about the worlds of a finished rollout: friction sharper than the step, steps beyond stability, energy lost.

Rollouts carry no energy ledger (ledger.py), so their balance is not judged. What shows without one is

    q stands still while v is far from 0, at the last row (unstable_steps.py)
    |E − E₀| > 0.3 (max T + V_max − V_min)        of worlds that conserve energy
    T grows by far more than the stored energy in the later half of the rows, beyond the stability of the step

To limit the cost, rollouts of few steps are left out, and the energies of only some rows and worlds, evenly spaced, are
computed if rows are dense.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from pysim import _engine
from pysim.diagnosis.conserved_energy import LARGE, conserves_energy
from pysim.diagnosis.modes import sliding_coordinates
from pysim.diagnosis.step_checks import sharp_friction
from pysim.diagnosis.unstable_steps import (
    frozen_step,
    is_explicit,
    stands_still,
    unstable_growth,
)
from pysim.errors import PysimWarning
from pysim.loops import constraints
from pysim.mechanism.model import State
from pysim.scene.spec import Settings
from pysim.typing import Array
from pysim.worlds.ledger import energies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pysim.mechanism.model import Model

ROWS_A_STEP = 0.002  # rows whose energies are computed, per step of a world
CHECKED = 4  # worlds whose suspicion is checked, at most
# bodies and constraint rows times steps and worlds: smaller rollouts are left out
LEAST_WORK = 300_000
ALONE = 4  # worlds of a pack that take as long as one alone
CONSTRAINT = 4  # bodies that take as long as a constraint row
_neutral_states: WeakKeyDictionary[Model, State] = WeakKeyDictionary()


@dataclass(frozen=True)
class World:
    """A world of a rollout of models, with the fields of a scene that checks read."""

    model: Model
    state: State
    settings: Settings
    actuation: _engine.Actuation
    spec: Any
    events: None = None
    signals: None = None
    contacts: None = None
    smooth_contacts: None = None


def world_of(model: Model, integrator: str, step: float, parameters: dict[str, Any]) -> World:
    """Return the world of a model without actuators."""
    settings = Settings(step=step, integrator=integrator, parameters=parameters)
    none = _engine.Actuation(*np.zeros((4, model.nv)))
    spec = SimpleNamespace(model=model.spec, path="rollout", actuators=(), events=())
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
    for k in _spaced(len(q), CHECKED):
        scene = scenes[k if len(scenes) > 1 else 0]
        if isinstance(scene, World):
            scene = replace(scene, state=State(q[k, 0], v[k, 0], scene.state.loop_q))
        text = sharp_friction(scene, t, q[k], v[k])
        if text is not None:
            if isinstance(scene, World):
                text = text.replace("simulation.step", "step")
            warnings.warn(f"rollout: world {k}: {text}", PysimWarning, stacklevel=stacklevel + 1)
            return


def warn_of_unstable_worlds(
    scenes: Sequence[Any],
    t: Array,
    q: Array,
    v: Array,
    steps: int,
    controls: Array | None = None,
    stacklevel: int = 2,
) -> None:
    """Warn of the first world whose q does not follow v, or whose energy changes beyond reason.

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
    size = (model.nbodies + CONSTRAINT * model.rows) * steps * max(len(q), ALONE)
    if q.dtype != np.float64 or size < LEAST_WORK or len(t) < 2:
        return
    with np.errstate(all="ignore"):  # of worlds that grow without bound
        found = _frozen(scenes, t, q, v, controls) or _beyond_reason(
            scenes, t, q, v, steps, controls
        )
    if found is not None:
        warnings.warn(
            f"rollout: world {found[0]}: {found[1]}", PysimWarning, stacklevel=stacklevel + 1
        )


def _frozen(
    scenes: Sequence[Any], t: Array, q: Array, v: Array, controls: Array | None
) -> tuple[int, str] | None:
    """Return the first world whose last steps do not follow their velocity, and the text about it."""
    if not is_explicit(scenes[0]) or scenes[0].signals is not None:
        return None  # packs of scenes with signals are watched while they run
    ends = slice(-2, None)
    standing = stands_still(scenes[0], t[ends], q[:, ends], v[:, ends])[:, 0].any(axis=1)
    for k in np.flatnonzero(standing)[:CHECKED].tolist():
        scene = scenes[k if len(scenes) > 1 else 0]
        if controls is not None:
            own = scene.actuation
            drive = (own.offset + controls[k, -1], own.amplitude, own.frequency, own.phase)
            scene = replace(scene, actuation=_engine.Actuation(*drive))
        state = State(q[k, -1], v[k, -1], scene.state.loop_q)
        error = frozen_step(scene, state, float(t[-1]), None)
        if error is not None:
            return k, _text(scene, error.problem)
    return None


def _beyond_reason(
    scenes: Sequence[Any], t: Array, q: Array, v: Array, steps: int, controls: Array | None
) -> tuple[int, str] | None:
    """Return the world whose energy changes most beyond reason, and the text about it."""
    worlds, rows = q.shape[:2]
    budget = max(2.0, ROWS_A_STEP * steps * worlds)
    each = _spaced(rows, max(3, int(budget / worlds)))
    chosen = _spaced(worlds, max(1, int(budget / len(each))))
    grid = np.ix_(chosen, each)
    finite = np.asarray(np.isfinite(v[grid]).all(axis=2))
    q_k, v_k = (np.where(finite[..., None], x[grid], x[chosen, None, 0]) for x in (q, v))
    kinetic, stored = _energies(scenes, chosen, q_k, v_k)
    energy = kinetic + stored
    change = np.asarray(np.where(finite, energy - energy[:, :1], 0.0))
    largest = np.abs(change).argmax(axis=1)
    size = np.take_along_axis(change, largest[:, None], axis=1)[:, 0]
    scale = kinetic.max(axis=1) + np.ptp(stored, axis=1)
    for i in np.argsort(-np.abs(size) / np.maximum(scale, 1e-300), kind="stable")[
        :CHECKED
    ].tolist():
        k = int(chosen[i])
        scene = scenes[k if len(scenes) > 1 else 0]
        if controls is None and conserves_energy(scene):
            if abs(size[i]) > LARGE * scale[i]:
                verb = "lost" if size[i] < 0 else "gained"
                problem = (
                    f"the run {verb} {abs(size[i]):.3g} J ({abs(size[i]) / scale[i]:.2g} of the energy involved)"
                    f" without work until t = {t[each[largest[i]]]:.6g} s, more than the errors of"
                    f" {scene.settings.integrator} explain; the step does not resolve the motion: shorten"
                    f" simulation.step, now {scene.settings.step:g} [s]"
                )
                return k, _text(scene, problem)
            continue
        made = int(finite[i].cumprod().sum())
        where = State(q[k, each[made - 1]], v[k, each[made - 1]], scene.state.loop_q)
        growth = unstable_growth(scene, kinetic[i, :made], stored[i, :made], where)
        if growth is not None:
            return k, _text(scene, f"at t = {t[each[made - 1]]:.6g} s {growth}")
    return None


def _text(scene: Any, problem: str) -> str:  # noqa: ANN401, a scene or a World
    return problem.replace("simulation.step", "step") if isinstance(scene, World) else problem


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
    kinetic, stored = energies(model, at_q, at_v)
    return kinetic.reshape(q.shape[:2]), stored.reshape(q.shape[:2])
