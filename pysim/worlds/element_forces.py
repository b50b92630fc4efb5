"""Generalised forces of all elements of a scene at given states, times and inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.algorithms import passive_forces
from pysim.errors import SimulationError, UnknownSimulationNameError, did_you_mean
from pysim.spatial.arrays import real_numbers
from pysim.typing import Array
from pysim.worlds.accelerations import forces_of_actuators
from pysim.worlds.signal_runs import SignalRun, start_numbers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pysim.worlds.loading import Scene


def element_forces(
    scene: Scene,
    t: ArrayLike = 0.0,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    states: Mapping[str, ArrayLike] | None = None,
    signals: Mapping[str, ArrayLike] | None = None,
) -> Array:
    """Return the sum of the generalised forces of all elements of a scene (…, nv) [N or N·m].

    These are the passive forces of joints and of forces that depend on q and v alone, as of `passive_forces`, and those
    of actuators and of forces with time, signals or states. Sampled blocks run at t. Contacts and loops are left out.

    Args:
        scene: the scene.
        t: times (…) [s].
        q: coordinates (…, nq); those of the scene's start by default.
        v: velocities (…, nv); those of the start by default.
        states: values of states of elements by name, "muscle.activation", each (…) or one number; those that a run
            would begin with by default.
        signals: values of signals of type "input" by name, each (…, size) or (size,); those of the scene by default.

    Raises:
        PysimError: no such state or input, or arrays that do not fit, or hold no real numbers.
    """
    model, start = scene.model, scene.state
    q, v = (
        _array(name, start_value if given is None else given, len(start_value))
        for name, given, start_value in (("q", q, start.q), ("v", v, start.v))
    )
    named: tuple[tuple[str, object], ...] = (("states", states), ("signals", signals))
    for name, values in named:
        if values is not None and not isinstance(values, Mapping):
            kind = type(values).__name__
            raise SimulationError(name, f"must be a mapping of values by name, got {kind}")
    times = real_numbers(t, "t").astype(float)
    leading = np.broadcast_shapes(times.shape, q.shape[:-1], v.shape[:-1])
    rows = int(np.prod(leading, dtype=int))
    q, v = (np.broadcast_to(x, (*leading, x.shape[-1])).reshape(rows, -1) for x in (q, v))
    times = np.ascontiguousarray(np.broadcast_to(times, leading).reshape(rows))
    numbers = _signal_numbers(scene, times, q, v, leading, states or {}, signals or {})
    tau = passive_forces(model, q, v) + forces_of_actuators(scene, times, q, v, numbers)
    return np.asarray(tau).reshape(*leading, model.nv)


def _array(name: str, given: ArrayLike, size: int) -> Array:
    array = real_numbers(given, name).astype(float)
    if array.shape[-1:] != (size,) or not np.isfinite(array).all():
        problem = f"must be finite numbers (…, {size}), got an array of shape {array.shape}"
        raise SimulationError(name, problem)
    return array


def _signal_numbers(
    scene: Scene,
    times: Array,
    q: Array,
    v: Array,
    leading: tuple[int, ...],
    states: Mapping[str, ArrayLike],
    inputs: Mapping[str, ArrayLike],
) -> Array:
    """Return the numbers of the signals (rows, numbers) at the states, with blocks that have run at t."""
    compiled = scene.signals
    if compiled is None:
        for where, given in (("states", states), ("signals", inputs)):
            if given:
                name = next(iter(given))
                raise SimulationError(
                    where, f"the scene has no signals, got {name!r}; leave it out"
                )
        return np.zeros((len(times), 0))
    numbers = start_numbers(compiled, np.zeros(len(times), int))
    places = {own.name: list(own.places) for own in compiled.inputs}
    for name, value in inputs.items():
        if name not in places:
            known = did_you_mean(name, places)
            raise UnknownSimulationNameError("signals", f"the scene has no input {name!r}{known}")
        numbers[:, places[name]] = _check_rows(
            f"signals[{name!r}]", value, leading, len(places[name])
        )
    loop_q = np.tile(scene.state.loop_q, (len(times), 1))
    for time in np.unique(times):
        at = times == time
        run = SignalRun(scene, np.ascontiguousarray(numbers[at]))
        run.begin(float(time), q[at], v[at], loop_q[at])
        numbers[at] = run.numbers
    names = list(compiled.state_names)
    for name, value in states.items():
        if name not in names:
            known = did_you_mean(name, names)
            raise UnknownSimulationNameError("states", f"no element has the state {name!r}{known}")
        numbers[:, names.index(name)] = _check_rows(f"states[{name!r}]", value, leading, 1)[:, 0]
    return numbers


def _check_rows(where: str, value: ArrayLike, leading: tuple[int, ...], size: int) -> Array:
    """Return values (rows, size) of one, or of one for each state."""
    array: Any = real_numbers(value, where).astype(float)
    if size == 1 and array.shape in {(), leading}:
        array = array[..., None]
    try:
        array = np.broadcast_to(array, (*leading, size))
    except ValueError:
        wanted = f"{size} numbers for each state" if size > 1 else "a number for each state"
        raise SimulationError(where, f"must be {wanted}, got shape {np.shape(value)}") from None
    if not np.isfinite(array).all():
        raise SimulationError(where, "must be finite; remove NaN and infinite numbers")
    return np.asarray(array.reshape(-1, size))
