"""Rollouts of models: equal steps of many worlds under given forces, of one model or of a model for each world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim import _engine
from pysim.contact import compile_contacts
from pysim.diagnosis.scene_warnings import warn_of_model
from pysim.diagnosis.start_checks import check_starts, warn_of_quaternion_order
from pysim.diagnosis.world_monitor import (
    warn_of_friction_of_worlds,
    warn_of_unstable_worlds,
    world_of,
)
from pysim.errors import ModelError, SimulationError
from pysim.integrators import BUILTIN, check_wheels, find_integrator
from pysim.mechanism.model import State
from pysim.rollouts.arguments import (
    check_out,
    checked_radius,
    number_of_steps,
    of_every_world,
    real_array,
    required,
    scheme_name,
    step_size,
    whole_number,
)
from pysim.typing import Array
from pysim.worlds.failed_worlds import checked_on_failure, report_lost

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pysim.mechanism.model import Model


def model_rollout(
    model: Any,  # noqa: ANN401, a model or a sequence of models
    q0: ArrayLike | None,
    v0: ArrayLike | None,
    controls: ArrayLike | None,
    step: float | None,
    integrator: str | None,
    threads: int,
    *,
    steps: int | None,
    every: int | None,
    spectral_radius: float | None,
    loop_q: Array | None,
    out: tuple[Array, Array] | None,
    on_failure: str | None,
) -> tuple[Array, Array]:
    """Return q and v of the worlds of models, as `pysim.rollout` does, whose arguments these are."""
    integrator = "rk4" if integrator is None else scheme_name(integrator)
    every = 1 if every is None else every
    models = _list_of(model)
    _check_scheme(models, integrator)
    q0, v0 = (real_array(required(x, name), name) for x, name in ((q0, "q0"), (v0, "v0")))
    forces = None if controls is None else real_array(controls, "controls")
    steps = number_of_steps(forces, None if steps is None else whole_number(steps, "steps", 2**53))
    every, threads = whole_number(every, "every"), whole_number(threads, "threads", 2**31 - 1)
    stops = checked_on_failure(on_failure) == "stop"
    step = step_size(required(step, "step"))
    check_out(out)
    radius = checked_radius(0.9 if spectral_radius is None else spectral_radius)
    if not isinstance(model, _engine.Model):
        q0, v0, forces = _of_models(models, q0, v0, forces)
    elif forces is not None and forces.ndim == 3:
        q0, v0 = (of_every_world(x, forces.shape[0], 1) for x in (q0, v0))
    _check_closed(models, q0, v0, loop_q)
    if models and q0.shape[-1:] == (models[0].nq,):
        warn_of_quaternion_order(models[0], np.atleast_2d(q0), stacklevel=3)
    contacts = _contacts(models, integrator, q0, v0, forces)
    out_q, out_v = (None, None) if out is None else out
    q, v = _engine.rollout(
        models,
        contacts,
        q0,
        v0,
        forces,
        step,
        steps,
        every,
        integrator,
        radius,
        threads,
        loop_q,
        out_q,
        out_v,
    )
    t = np.asarray(every * step * np.arange(v.shape[-2]), float)
    report_lost(v, t, stops=stops, stacklevel=3)
    if v.dtype == np.float64 and v.size and steps and not find_integrator(integrator).contacts:
        _monitor(models, integrator, step, radius, t, q, v, forces)
    return q, v


def _list_of(model: Any) -> list[Any]:  # noqa: ANN401, a model or a sequence of models
    """Return the models, which differ in numbers alone."""
    if not hasattr(model, "__iter__"):
        _engine.check_model(model)
    models: list[Any] = [model] if isinstance(model, _engine.Model) else list(model)
    _check_alike(models)
    return models


def _of_models(
    models: Sequence[Model], q0: NDArray[Any], v0: NDArray[Any], forces: NDArray[Any] | None
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
    """Return the starts and forces of the world of every model."""
    q0, v0 = (of_every_world(x, len(models), 1) for x in (q0, v0))
    if len(q0) != len(models):
        problem = f"there are {len(models)} models for {len(q0)} worlds"
        raise ValueError(f"{problem}; pass one model for all, or a list with one for each")
    return q0, v0, None if forces is None else of_every_world(forces, len(models), 2)


def _contacts(
    models: Sequence[Model], integrator: str, *arrays: NDArray[Any] | None
) -> list[_engine.Contacts]:
    """Return the contacts of every model, if the scheme solves them.

    Raises:
        SimulationError: q0, v0 or controls are not of float64.
        ModelError: shapes of a model cannot collide.
    """
    if not find_integrator(integrator).contacts:
        return []
    for name, x in zip(("q0", "v0", "controls"), arrays, strict=True):
        if x is not None and x.dtype == np.float32:
            problem = "'convex' runs in double precision only; pass float64 arrays"
            raise SimulationError(name, problem)
    different = {id(model): model for model in models}
    known = {key: compile_contacts(model).engine for key, model in different.items()}
    return [known[id(model)] for model in models]


def _check_closed(
    worlds: Sequence[Model], q0: NDArray[Any], v0: NDArray[Any], loop_q: Array | None
) -> None:
    """Check starts whose shapes the engine would accept; it rejects others itself."""
    if not worlds:
        return
    model = worlds[0]
    if loop_q is not None:
        expected, shape = (*q0.shape[:-1], model.loop_nq), real_array(loop_q, "loop_q").shape
        if shape != expected:
            raise ValueError(f"loop_q must have shape {expected}, got {shape}")
    if not model.rows:
        return
    rows_q, rows_v = (np.atleast_2d(x) for x in (q0, v0))
    fits = rows_q.shape[1:] == (model.nq,) and rows_v.shape == (len(rows_q), model.nv)
    if fits and rows_q.dtype == rows_v.dtype and rows_q.dtype.kind == "f":
        near = None if loop_q is None else np.atleast_2d(loop_q)
        each = worlds if len({id(world) for world in worlds}) > 1 else worlds[:1]
        check_starts(each, rows_q, rows_v, near, stacklevel=4)


def _monitor(
    models: Sequence[Model],
    integrator: str,
    step: float,
    spectral_radius: float,
    t: Array,
    q: Array,
    v: Array,
    controls: Any,  # noqa: ANN401, an array or None
) -> None:
    """Check step, friction and energy of worlds; the arrays of a single world have no axis of worlds."""
    keys = {"spectral_radius": spectral_radius} if find_integrator(integrator).keys else {}
    one = q.ndim == 2
    q, v = (x[None] if one else x for x in (q, v))
    if controls is not None:
        controls = controls[None] if one else controls
    same = len({id(model) for model in models}) == 1
    worlds = [world_of(m, integrator, step, keys) for m in (models[:1] if same else models)]
    start = State(q[0, 0], v[0, 0], worlds[0].state.loop_q)
    first: Any = replace(worlds[0], state=start)
    warn_of_model(first, stacklevel=4)
    warn_of_friction_of_worlds(worlds, t, q, v, stacklevel=4)
    steps = (len(t) - 1) * round(t[1] / step) if len(t) > 1 else 0
    warn_of_unstable_worlds(worlds, t, q, v, steps, controls, stacklevel=4)


def _check_alike(models: Sequence[Any]) -> None:
    """Reject what is no model, and models that differ in structure."""
    for k, model in enumerate(models):
        if not isinstance(model, _engine.Model):
            given = type(model).__name__
            remedy = (
                "give scene.model" if hasattr(model, "model") else "give what load_model returns"
            )
            raise ModelError(f"model[{k}]", f"is not a model but a {given}; {remedy}")
        if model is not models[0] and (difference := models[0].structure_difference(model)):
            problem = (
                f"differs from model[0] in structure: {difference}; the models of one call share joints, loops, "
                "couplings and programs and differ in numbers alone, so run it in a separate call"
            )
            raise ModelError(f"model[{k}]", problem)


def _check_scheme(models: Sequence[Model], name: str) -> None:
    """Reject plugins and schemes that choose their steps: a rollout's steps are equal and made in C++."""
    kind = find_integrator(name)
    if models:
        check_wheels(kind, models[0].spec.wheels)
    if kind.adaptive or kind.plugin is not None:
        why = "adapts its steps" if kind.adaptive else "runs in Python"
        known = ", ".join(k.name for k in BUILTIN.values() if not (k.adaptive or k.contacts))
        raise SimulationError("integrator", f"{name!r} {why}; choose one of {known}")
