"""Rollouts: many trajectories in one call, computed entirely in C++, of one model or of a model for each world.

    q, v = pysim.rollout(model, q0, v0, controls, step=1e-3, integrator="rk4", threads=0)
    q, v = pysim.rollout([heavy, light], q0, v0, controls, step=1e-3)

The worlds of a batch run side by side in SIMD packs, packs on threads; whatever the batch and the threads, a world
gets the same bits, those that it gets alone with its own model.
"""

from __future__ import annotations

import operator
import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim import _engine
from pysim.errors import ModelError, PysimWarning, SimulationError
from pysim.integrators import BUILTIN, check_wheels, find_integrator
from pysim.spatial.arrays import checked_number, refuse_mask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from pysim.mechanism.model import Model

    Array = NDArray[np.float64]


def rollout(
    model: Model | Sequence[Model],
    q0: ArrayLike,
    v0: ArrayLike,
    controls: ArrayLike | None,
    step: float,
    integrator: str = "rk4",
    threads: int = 1,
    *,
    steps: int | None = None,
    every: int = 1,
    spectral_radius: float = 0.9,
    loop_q: Array | None = None,
    out: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """Return the trajectories (q, v) of many worlds under given forces.

    Every world makes equal steps; during step n its generalised forces are `controls[n]`, to which the joints' own
    (damping, springs, friction, stops, plugins' forces) are added. Row 0 is the start, row k the state after k · every
    steps. A world whose state becomes NaN or infinite has NaN in its rows from there on, with a warning; the others
    continue.

    Args:
        model: the mechanism of every world, or a sequence of one for each world. Those are alike in structure
            (joints, shapes, loops, couplings, plugins' programs) and differ in numbers: masses, inertias, placements,
            lengths, springs, limits, gravity, plugins' fields. A hinge has an armature in all of them or in none.
        q0: configurations at the start, (batch, nq) or (nq,). float32 runs everything in single precision.
        v0: velocities at the start, (batch, nv) or (nv,).
        controls: generalised forces (batch, steps, nv) [N or N·m], or (steps, nv) where q0 is one state; None for
            none. One start (nq,), (nv,) with a batch of controls or of models is the start of every world, and
            controls (steps, nv) with a batch of models are those of every world.
        step: length of a step [s].
        integrator: a scheme of fixed step of the engine: see `pysim.integrators.BUILTIN`.
        threads: threads that share the batch; 0 uses every processor.
        steps: number of steps; needed where there are no controls.
        every: steps from one row to the next; it divides `steps`. Ctrl-C takes effect at the next row.
        spectral_radius: of `generalized_alpha`, from 0 to 1: what a step leaves of the fastest motion.
        loop_q: coordinates of the joints that close loops (batch, loop_nq), or (loop_nq,): where they are sought first,
            as `scene.state.loop_q.copy()` has them; written over with those of the end. A run goes on from its last row
            with them where a plugin, or a screw that has turned, closes a loop.
        out: arrays for q and v, C-contiguous, filled and returned.

    Returns:
        q (batch, 1 + steps / every, nq) and v (batch, 1 + steps / every, nv), without the first axis for one world.

    Raises:
        ValueError: a wrong shape or dtype, a NaN or infinity, a quaternion that is not unit, named.
        ModelError: models that differ in more than numbers; the text names the first that does, and in what.
        SimulationError: the integrator is no scheme that a rollout can run.
    """
    if not hasattr(model, "__iter__"):
        _engine.check_model(model)
    worlds = [model] if isinstance(model, _engine.Model) else list(model)
    _check_alike(worlds)
    _check_scheme(worlds, integrator)
    q0, v0 = _numbers(q0, "q0"), _numbers(v0, "v0")
    controls = None if controls is None else _numbers(controls, "controls")
    steps = _number_of_steps(controls, None if steps is None else _whole(steps, "steps", 2**53))
    every, threads = _whole(every, "every"), _whole(threads, "threads", 2**31 - 1)
    step = checked_number(step, "step", "s")
    given: object = spectral_radius
    if not isinstance(given, float):  # its range is checked by the engine
        spectral_radius = checked_number(spectral_radius, "spectral_radius")
    if not isinstance(model, _engine.Model):
        q0, v0 = (_of_every_world(x, len(worlds), 1) for x in (q0, v0))
        if len(q0) != len(worlds):
            problem = f"there are {len(worlds)} models for {len(q0)} worlds"
            raise ValueError(f"{problem}; give one for all, alone, or one for each")
        controls = None if controls is None else _of_every_world(controls, len(worlds), 2)
    elif controls is not None and controls.ndim == 3:
        q0, v0 = (_of_every_world(x, controls.shape[0], 1) for x in (q0, v0))
    if loop_q is not None and worlds:
        expected = (*np.shape(q0)[:-1], worlds[0].loop_nq)
        if np.shape(loop_q) != expected:
            raise ValueError(f"loop_q must have shape {expected}, got {np.shape(loop_q)}")
    out_q, out_v = (None, None) if out is None else out
    q, v = _engine.rollout(
        worlds,
        q0,
        v0,
        controls,
        step,
        steps,
        every,
        integrator,
        spectral_radius,
        threads,
        loop_q,
        out_q,
        out_v,
    )
    _warn_of_lost(v, every, step)
    return q, v


def _warn_of_lost(v: Array, every: int, step: float) -> None:
    """Say which worlds ended in NaN, and when the first of them did."""
    worlds = v if v.ndim == 3 else v[None]
    lost = np.flatnonzero(np.isnan(worlds[:, -1]).any(axis=-1))
    if not len(lost):
        return
    row = np.isnan(worlds[lost]).any(axis=-1).argmax(axis=1)
    first = int(row.argmin())
    when = f"world {lost[first]} first, before t = {row[first] * every * step:.4g} s"
    problem = f"{len(lost)} of {len(worlds)} worlds did not stay finite or left their loops, {when}"
    text = f"rollout: {problem}; their rows are NaN from there on, take a shorter step or milder forces"
    warnings.warn(text, PysimWarning, stacklevel=3)


def _numbers(x: ArrayLike, name: str) -> NDArray[Any]:
    """An array of what the engine takes, or refuses by its kind; it would read numerals, and what a mask hides."""
    refuse_mask(x, name)
    numbers = np.asarray(x)
    if numbers.dtype.kind in "SU":
        raise ValueError(f"{name} must hold real numbers, got dtype {numbers.dtype}")
    return numbers


def _whole(x: object, name: str, most: int = sys.maxsize) -> int:
    """A whole number that the engine can count to."""
    try:
        number = operator.index(x)  # type: ignore[arg-type]
    except TypeError:
        raise ValueError(f"{name} must be a whole number, got {x!r}") from None
    if abs(number) > most:
        raise ValueError(f"{name} must be {most} at most, got {number}")
    return number


def _number_of_steps(controls: NDArray[np.float64] | None, steps: int | None) -> int:
    """As many as there are controls, if there are any."""
    if controls is None:
        if steps is None:
            raise ValueError("steps must be given where there are no controls")
        return steps
    if controls.ndim < 2:
        problem = f"must have shape (batch, steps, nv) or (steps, nv), got {controls.shape}"
        raise ValueError(f"controls {problem}")
    held: int = controls.shape[-2]
    if steps not in (None, held):
        raise ValueError(f"steps is {steps}, but controls hold {held} steps; leave steps out")
    return held


def _of_every_world(x: ArrayLike, worlds: int, ndim: int) -> NDArray[np.float64]:
    """What one world has, of `ndim` axes, once for each of them; a batch as it is."""
    rows = np.asarray(x)
    return np.tile(rows, (worlds,) + (1,) * ndim) if rows.ndim == ndim else rows


def _check_alike(models: Sequence[Any]) -> None:
    """Reject what is no model, and models that differ in structure."""
    for k, model in enumerate(models):
        if not isinstance(model, _engine.Model):
            given = type(model).__name__
            remedy = (
                "give scene.model" if hasattr(model, "model") else "give what load_model returns"
            )
            raise ModelError(f"model[{k}]", f"is no model, got {given}; {remedy}")
        if model is not models[0] and (difference := models[0].structure_difference(model)):
            problem = (
                f"differs from model[0] in structure: {difference}; the models of one call share joints, loops, "
                "couplings and programs and differ in numbers alone, so give it a call of its own"
            )
            raise ModelError(f"model[{k}]", problem)


def _check_scheme(models: Sequence[Model], name: str) -> None:
    """Reject plugins and schemes that choose their steps: a rollout's steps are equal and made in C++."""
    kind = find_integrator(name)
    if models:
        check_wheels(kind, models[0].spec.wheels)
    if kind.adaptive or kind.plugin is not None:
        why = "adapts its steps" if kind.adaptive else "runs in Python"
        known = ", ".join(k.name for k in BUILTIN.values() if not k.adaptive)
        raise SimulationError("integrator", f"{name!r} {why}; choose one of {known}")
