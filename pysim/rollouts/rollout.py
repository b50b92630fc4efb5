"""Rollouts: many trajectories in one call, computed entirely in C++, of one model or of a model for each world.

    q, v = pysim.rollout(model, q0, v0, controls, step=1e-3, integrator="rk4", threads=0)
    q, v = pysim.rollout([heavy, light], q0, v0, controls, step=1e-3)
    run = pysim.rollout(scene)                              # the scene's settings, see scene_rollouts.py

The worlds of a batch run side by side in SIMD packs, packs on threads; a world's result is the same to the last bit as
if it ran alone with its own model, whatever the batch and the number of threads.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

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
from pysim.rollouts.scene_rollouts import Request, Rollout, scene_rollout
from pysim.spatial.arrays import checked_number, refuse_mask
from pysim.typing import Array
from pysim.worlds.argument_checks import checked_flag, checked_names
from pysim.worlds.failed_worlds import checked_on_failure, report_lost
from pysim.worlds.loading import Scene

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pysim.mechanism.model import Model


@overload
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
    on_failure: str | None = None,
) -> tuple[Array, Array]: ...
@overload
def rollout(
    model: Scene | Sequence[Scene],
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    controls: ArrayLike | None = None,
    step: float | None = None,
    integrator: str | None = None,
    threads: int = 1,
    *,
    steps: int | None = None,
    every: int | None = None,
    spectral_radius: float | None = None,
    signals: Sequence[str] = (),
    state: bytes | None = None,
    contacts: bool = False,
    worlds: Sequence[int] | None = None,
    on_failure: str | None = None,
) -> Rollout: ...
def rollout(
    model: Any,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    controls: ArrayLike | None = None,
    step: float | None = None,
    integrator: str | None = None,
    threads: int = 1,
    *,
    steps: int | None = None,
    every: int | None = None,
    spectral_radius: float | None = None,
    loop_q: Array | None = None,
    out: tuple[Array, Array] | None = None,
    signals: Sequence[str] = (),
    state: bytes | None = None,
    contacts: bool = False,
    worlds: Sequence[int] | None = None,
    on_failure: str | None = None,
) -> tuple[Array, Array] | Rollout:
    """Return the trajectories of many worlds: (q, v) of models under given forces, or a `Rollout` of scenes.

    All worlds of models make equal steps. During step n the generalised forces `controls[n]` are added to the passive
    forces of the joints (damping, springs, friction, limits, plugins' forces). Row 0 is the start and row k the state
    after k · every steps.

    A world of a scene runs the scene's settings from t = 0: actuators, integrator, duration and output interval. `q0`
    and `v0` are the starts of the worlds, by default those of the scenes. `step` (for adaptive schemes the longest
    one), `integrator` and `spectral_radius` replace those of the scene; `steps` and `every` replace its duration and
    output interval by numbers of equal steps.

    A world that fails, because its state becomes NaN or infinite or a step has no solution, has NaN in its rows from
    then on; the others continue, and one warning names the first with its reason. With `on_failure="stop"` the first
    that fails is an error instead.

    Args:
        model: model or scene of every world, or a sequence with one for each world. The models of one call have the
            same structure (joints, shapes, loops, couplings, plugins' programs) and differ in numbers: masses,
            inertias, placements, lengths, springs, limits, gravity, plugins' fields. A hinge has an armature in all of
            them or in none.
        q0: start configurations (batch, nq) or (nq,); float32 arrays select single precision.
        v0: start velocities (batch, nv) or (nv,).
        controls: generalised forces (batch, steps, nv) [N or N·m], or (steps, nv) if q0 is one state; None for zero.
            Of scenes: values of their inputs, the signals of type `input` in their order, (batch, rows − 1, inputs) or
            (rows − 1, inputs), held from each row to the next; None for the values of the scene.
            With a batch of controls or of models, one start (nq,), (nv,) applies to every world; with a batch of
            models, so do controls (steps, nv).
        step: step size [s].
        integrator: name of a scheme of the engine with fixed steps, see `pysim.integrators.BUILTIN`.
        threads: number of threads that share the batch; 0 uses every processor.
        steps: number of steps; required without controls.
        every: number of steps from one row to the next; must divide `steps`. Ctrl-C takes effect at the next row.
        spectral_radius: factor from 0 to 1 on the fastest motion in a step of `generalized_alpha`.
        loop_q: initial guess (batch, loop_nq) or (loop_nq,) of the coordinates of joints that close loops, for example
            `scene.state.loop_q.copy()`; overwritten with the values at the end. A run whose loops are closed by a
            plugin, or by a screw of several turns, needs it to continue from its last row.
        out: C-contiguous arrays for q and v, filled and returned.
        signals: names of the signals of scenes to record.
        contacts: whether to record the contact forces and impulses of scenes, `Rollout.contacts`.
        state: `Rollout.state` of a rollout of scenes that this one continues to the bit, or bytes of `Worlds.save`;
            with q0 and v0 it goes on from these, whose rows of NaN belong to worlds that have ended.
        worlds: numbers (batch,) of the worlds, which select their noise besides the scene's `simulation.seed`;
            0, 1, … by default.
        on_failure: "drop_world" or "stop", what follows if a world fails; by default the scene's
            `simulation.on_failure`, for models "drop_world".

    Returns:
        q (batch, 1 + steps / every, nq) and v (batch, 1 + steps / every, nv), without the first axis for one world.

    Raises:
        ValueError: an argument has a wrong shape or dtype, a NaN or infinity, or a quaternion that is not unit.
        ModelError: models differ in more than numbers; the text names the first that does, and the difference.
        SimulationError: a rollout cannot run the integrator, a start violates its loops, or with `on_failure="stop"` a
            world failed, whose number and reason are given: that of the earliest in time.

    >>> states, velocities = pysim.rollout(model, q, v, None, 1e-3, steps=10)
    >>> states.shape  # the start, and a row for each step
    (11, 2)
    """
    names, contacts = checked_names(signals, "signals"), checked_flag(contacts, "contacts")
    if _are_scenes(model):
        _check_of_scenes(loop_q, out)
        request = Request(
            None if q0 is None else _check_real(q0, "q0"),
            None if v0 is None else _check_real(v0, "v0"),
            None if step is None else _step(step),
            None if integrator is None else _scheme(integrator),
            _whole(threads, "threads", 2**31 - 1),
            None if steps is None else _whole(steps, "steps"),
            None if every is None else _whole(every, "every"),
            None if spectral_radius is None else _radius(spectral_radius),
            _checked_state(state),
            names,
            contacts,
            None if worlds is None else _world_numbers(worlds),
            None if controls is None else _check_real(controls, "controls"),
            checked_on_failure(on_failure),
        )
        return scene_rollout(model, request)
    given = {
        "signals": names or None,
        "state": state,
        "contacts": contacts or None,
        "worlds": worlds,
    }
    if any(value is not None for value in given.values()):
        name = next(name for name, value in given.items() if value is not None)
        raise SimulationError(name, "applies to scenes only; pass the scene instead of its model")
    integrator = "rk4" if integrator is None else _scheme(integrator)
    every = 1 if every is None else every
    spectral_radius = 0.9 if spectral_radius is None else spectral_radius
    if not hasattr(model, "__iter__"):
        _engine.check_model(model)
    models: list[Any] = [model] if isinstance(model, _engine.Model) else list(model)
    _check_alike(models)
    _check_scheme(models, integrator)
    q0, v0 = (_check_real(_given(x, name), name) for x, name in ((q0, "q0"), (v0, "v0")))
    controls = None if controls is None else _check_real(controls, "controls")
    steps = _number_of_steps(controls, None if steps is None else _whole(steps, "steps", 2**53))
    every, threads = _whole(every, "every"), _whole(threads, "threads", 2**31 - 1)
    stops = checked_on_failure(on_failure) == "stop"
    step = _step(_given(step, "step"))
    _check_out(out)
    spectral_radius = _radius(spectral_radius)
    if not isinstance(model, _engine.Model):
        q0, v0 = (_of_every_world(x, len(models), 1) for x in (q0, v0))
        if len(q0) != len(models):
            problem = f"there are {len(models)} models for {len(q0)} worlds"
            raise ValueError(f"{problem}; pass one model for all, or a list with one for each")
        controls = None if controls is None else _of_every_world(controls, len(models), 2)
    elif controls is not None and controls.ndim == 3:
        q0, v0 = (_of_every_world(x, controls.shape[0], 1) for x in (q0, v0))
    if loop_q is not None and models:
        expected, given_shape = (
            (*np.shape(q0)[:-1], models[0].loop_nq),
            _check_real(loop_q, "loop_q").shape,
        )
        if given_shape != expected:
            raise ValueError(f"loop_q must have shape {expected}, got {given_shape}")
    _check_closed(models, q0, v0, loop_q)
    if models and np.shape(q0)[-1:] == (models[0].nq,):
        warn_of_quaternion_order(models[0], np.atleast_2d(q0))
    contacts_of_models = _contacts(models, integrator, q0, v0, controls)
    out_q, out_v = (None, None) if out is None else out
    q, v = _engine.rollout(
        models,
        contacts_of_models,
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
    t = np.asarray(every * step * np.arange(v.shape[-2]), float)
    report_lost(v, t, stops=stops)
    if v.dtype == np.float64 and v.size and steps and not find_integrator(integrator).contacts:
        _monitor(models, integrator, step, spectral_radius, t, q, v, controls)
    return q, v


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


def _are_scenes(model: object) -> bool:
    """Return whether scenes are given; SimulationError for a list of scenes and others."""
    if isinstance(model, Scene):
        return True
    if not isinstance(model, Sequence) or not model or not isinstance(model[0], Scene):
        return False
    for k, own in enumerate(model):
        if not isinstance(own, Scene):
            problem = f"must be a pysim.Scene as scene[0], got {type(own).__name__}"
            raise SimulationError(f"scene[{k}]", f"{problem}; give what pysim.load_scene returns")
    return True


def _check_of_scenes(loop_q: object, out: object) -> None:
    """Reject arguments that belong to rollouts of models."""
    for name, value in (("loop_q", loop_q), ("out", out)):
        if value is not None:
            raise SimulationError(
                name, "applies to rollouts of models only; leave it out, or pass scene.model"
            )


def _check_closed(worlds: Sequence[Model], q0: Any, v0: Any, loop_q: Any) -> None:  # noqa: ANN401
    """Check starts whose shapes the engine would accept; it rejects others itself."""
    if not worlds or not worlds[0].rows:
        return
    model = worlds[0]
    rows_q, rows_v = (np.atleast_2d(x) for x in (q0, v0))
    fits = rows_q.shape[1:] == (model.nq,) and rows_v.shape == (len(rows_q), model.nv)
    if fits and rows_q.dtype == rows_v.dtype and rows_q.dtype.kind == "f":
        near = None if loop_q is None else np.atleast_2d(loop_q)
        each = worlds if len({id(world) for world in worlds}) > 1 else worlds[:1]
        check_starts(each, rows_q, rows_v, near, stacklevel=3)


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
    warn_of_model(first, stacklevel=3)
    warn_of_friction_of_worlds(worlds, t, q, v, stacklevel=3)
    steps = (len(t) - 1) * round(t[1] / step) if len(t) > 1 else 0
    warn_of_unstable_worlds(worlds, t, q, v, steps, controls, stacklevel=3)


def _given(x: Any, name: str) -> Any:  # noqa: ANN401, whatever is given
    """Return an argument that models require; raise ValueError for None."""
    if x is None:
        raise ValueError(f"{name} must be given for a model; only a scene has a default")
    return x


def _check_real(x: ArrayLike, name: str) -> NDArray[Any]:
    """Return the argument as a real array; reject masked arrays and what the engine would convert."""
    refuse_mask(x, name)
    try:
        numbers = np.asarray(x)
    except ValueError:
        raise ValueError(
            f"{name} must be an array of numbers, got rows of unequal length"
        ) from None
    if numbers.dtype.kind not in "fiu":
        raise ValueError(f"{name} must hold real numbers, got dtype {numbers.dtype}")
    return numbers


def _step(given: float) -> float:
    """Return a step size [s]."""
    step = checked_number(given, "step", "s")
    if not step > 0:
        raise ValueError(f"step must be positive [s], got {step:g}")
    return step


def _radius(given: float) -> float:
    """Return the spectral radius of `generalized_alpha`."""
    radius = checked_number(given, "spectral_radius")
    if not 0 <= radius <= 1:
        raise ValueError(f"spectral_radius must be from 0 to 1, got {radius:g}")
    return radius


def _scheme(name: object) -> str:
    """Return the name of an integrator; SimulationError if it is no text."""
    if not isinstance(name, str):
        problem = f"must be the name of a scheme, got {type(name).__name__}"
        raise SimulationError("integrator", f"{problem}; give a str, as 'rk4'")
    return name


def _checked_state(state: object) -> bytes | None:
    """Return the state that a rollout continues; SimulationError if it is of another kind."""
    if state is not None and not isinstance(state, bytes):
        problem = f"must be the state of a rollout, got {type(state).__name__}"
        raise SimulationError("state", f"{problem}; give `state` of what pysim.rollout returned")
    return state


def _check_out(out: object) -> None:
    """Reject what is no pair of arrays."""
    if out is not None and not (isinstance(out, (tuple, list)) and len(out) == 2):
        problem = f"must be two arrays, of q and of v, got {type(out).__name__}"
        raise SimulationError("out", f"{problem}; give (q, v), or leave it out")


def _world_numbers(worlds: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers of worlds, whole and not negative."""
    given: object = worlds
    is_list = isinstance(given, Sequence) and not isinstance(given, (str, bytes))
    if not is_list and not (isinstance(given, np.ndarray) and given.ndim):
        problem = f"worlds must be a list of whole numbers, got {worlds!r}"
        raise ValueError(f"{problem}; give one for each world")
    numbers = tuple(_whole(number, "worlds", 2**53 - 1) for number in worlds)
    if min(numbers, default=0) < 0:
        raise ValueError(f"worlds must not be negative, got {min(numbers)}")
    return numbers


def _whole(x: object, name: str, most: int = sys.maxsize) -> int:
    """Return a whole number within the range of the engine; True and False are no numbers."""
    problem = f"{name} must be a whole number, got {x!r}"
    if isinstance(x, (bool, np.bool_)):
        raise ValueError(problem)  # noqa: TRY004, as for other values
    try:
        number = operator.index(x)  # type: ignore[arg-type]
    except TypeError:
        raise ValueError(problem) from None
    if abs(number) > most:
        raise ValueError(f"{name} must be {most} at most, got {number}")
    return number


def _number_of_steps(controls: NDArray[np.float64] | None, steps: int | None) -> int:
    """Return the number of steps, which is that of the controls if there are any."""
    if controls is None:
        if steps is None:
            raise ValueError("steps must be given if there are no controls")
        return steps
    if controls.ndim < 2:
        problem = f"must have shape (batch, steps, nv) or (steps, nv), got {controls.shape}"
        raise ValueError(f"controls {problem}")
    held: int = controls.shape[-2]
    if steps not in (None, held):
        raise ValueError(f"steps is {steps}, but controls hold {held} steps; leave steps out")
    return held


def _of_every_world(x: ArrayLike, worlds: int, ndim: int) -> NDArray[np.float64]:
    """Repeat the array of one world, of `ndim` axes, for each world; return a batch unchanged."""
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
