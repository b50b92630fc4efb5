"""Rollouts: many trajectories in one call, from end to end in C++: of one model, or of a model a world.

    q, v = pysim.rollout(model, q0, v0, controls, step=1e-3, integrator="rk4", threads=0)
    q, v = pysim.rollout([heavy, light], q0, v0, controls, step=1e-3)

The worlds of a batch run side by side in SIMD packs, packs on threads; whatever the batch and the threads, a world
gets the same bits, those that it gets alone with its own model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.errors import ModelError, SimulationError
from pysim.integrators import BUILTIN, check_wheels, find_integrator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from pysim.model import Model

    Array = NDArray[np.float64]


def rollout(
    models: Model | Sequence[Model],
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
    out: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """Return the trajectories (q, v) of many worlds under given forces.

    Every world makes equal steps; during step n its generalised forces are `controls[n]`, to which the joints' own
    (damping, springs, friction, stops, plugins' forces) are added. Row 0 is the start, row k the state after k · every
    steps. A world whose state stops being finite has NaN in its rows from there on; the others go on.

    Args:
        models: the mechanism of every world, or a sequence of one for each world. Those are alike in structure
            (joints, shapes, loops, couplings, plugins' programs) and differ in numbers: masses, inertias, placements,
            lengths, springs, limits, gravity, plugins' fields.
        q0: configurations at the start, (batch, nq) or (nq,). float32 runs everything in single precision.
        v0: velocities at the start, (batch, nv) or (nv,).
        controls: generalised forces (batch, steps, nv) [N or N·m], or (steps, nv) where q0 is one state; None for
            none. One start (nq,), (nv,) with a batch of controls or of models is the start of every world, and
            controls (steps, nv) with a batch of models are those of every world.
        step: length of a step [s].
        integrator: a scheme of fixed step of the engine: see `pysim.integrators.BUILTIN`.
        threads: threads that share the batch; 0 uses every processor.
        steps: number of steps; needed where there are no controls.
        every: steps from one row to the next; it divides `steps`.
        spectral_radius: of `generalized_alpha`, from 0 to 1: what a step leaves of the fastest motion.
        out: arrays for q and v, C-contiguous, filled and returned.

    Returns:
        q (batch, 1 + steps / every, nq) and v (batch, 1 + steps / every, nv), without the first axis for one world.

    Raises:
        ValueError: a wrong shape or dtype, a NaN or infinity, a quaternion that is not unit, named.
        ModelError: models that differ in more than numbers; the text names the first that does, and in what.
        SimulationError: the integrator is no scheme that a rollout can run.
    """
    worlds = [models] if isinstance(models, _engine.Model) else list(models)
    _check_scheme(worlds, integrator)
    _check_alike(worlds)
    if controls is not None:
        controls = np.asarray(controls)
        if controls.ndim < 2:
            problem = f"must have shape (batch, steps, nv) or (steps, nv), got {controls.shape}"
            raise ValueError(f"controls {problem}")
        if steps is not None and steps != controls.shape[-2]:
            problem = f"is {steps}, but controls hold {controls.shape[-2]} steps; leave steps out"
            raise ValueError(f"steps {problem}")
        steps = controls.shape[-2]
    elif steps is None:
        raise ValueError("steps must be given where there are no controls")
    if not isinstance(models, _engine.Model):
        q0, v0 = (_of_every_world(x, len(worlds), 1) for x in (q0, v0))
        controls = None if controls is None else _of_every_world(controls, len(worlds), 2)
    elif controls is not None and controls.ndim == 3:
        q0, v0 = (_of_every_world(x, controls.shape[0], 1) for x in (q0, v0))
    out_q, out_v = (None, None) if out is None else out
    return _engine.rollout(
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
        out_q,
        out_v,
    )


def _of_every_world(x: ArrayLike, worlds: int, ndim: int) -> NDArray[np.float64]:
    """What one world has, of `ndim` axes, once for each of them; a batch as it is."""
    rows = np.asarray(x)
    return np.tile(rows, (worlds,) + (1,) * ndim) if rows.ndim == ndim else rows


def _check_alike(models: Sequence[Model]) -> None:
    """Refuse models that differ in structure."""
    for k, model in enumerate(models):
        if model is not models[0] and (difference := models[0].structure_difference(model)):
            problem = (
                f"differs from models[0] in structure: {difference}; the models of one call share joints, loops, "
                "couplings and programs and differ in numbers alone, so give it a call of its own"
            )
            raise ModelError(f"models[{k}]", problem)


def _check_scheme(models: Sequence[Model], name: str) -> None:
    """Refuse plugins and schemes that choose their steps: a rollout's steps are equal and made in C++."""
    kind = find_integrator(name)
    if models:
        check_wheels(kind, models[0].spec.wheels)
    if kind.adaptive or kind.plugin is not None:
        why = "adapts its steps" if kind.adaptive else "runs in Python"
        known = ", ".join(k.name for k in BUILTIN.values() if not k.adaptive)
        raise SimulationError("integrator", f"{name!r} {why}; choose one of {known}")
