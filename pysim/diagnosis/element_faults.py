"""Diagnosis of elements: the force, sensor, controller or actuator whose value is NaN or infinite where a run ended."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim import _engine
from pysim.algorithms import passive_force_derivatives, passive_forces
from pysim.diagnosis.last_state import STEP_FRACTIONS, has_diverged, states_within_step
from pysim.elements.block import find_block
from pysim.elements.force import find_force, method_of
from pysim.elements.graph.readings import EFFORT
from pysim.plugins.fields import build
from pysim.tracing.author_code import method_place
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pysim.mechanism.model import Model, State
    from pysim.scene.spec import BlockSpec, ForceSpec
    from pysim.worlds.loading import Scene


def element_fault(
    scene: Scene, state: State, numbers: Array | None, t: float, step: float
) -> str | None:
    """Describe the first element whose value is NaN or infinite within `step` [s] after a state at t [s].

    None if there is none, or if the run had diverged before. `numbers` are those of the scene's signals.
    """
    q, v = state.q, state.v
    if has_diverged(q, v):
        return None
    times = t + step * STEP_FRACTIONS
    with np.errstate(all="ignore"):
        reached, rates = states_within_step(scene.model, q, v, step)
        found = _force_fault(scene, reached, rates, times)
        if found is None and numbers is not None:
            found = _signal_fault(scene, reached, rates, numbers, times)
        if found is None and numbers is not None:
            found = _sampled_fault(scene, state, numbers, t)
    return found


def slope_fault(scene: Scene, state: State) -> str | None:
    """Describe the first force whose derivatives at a state are NaN or infinite; None if there is none."""
    for force, model in _lone_forces(scene):
        with np.errstate(all="ignore"):
            slopes = passive_force_derivatives(model, state.q, state.v)
        if not all(np.isfinite(own).all() for own in slopes):
            kind: Any = find_force(force.type)
            plugin = build(kind, force.parameters, force.where)
            remedy = _remedy(plugin, method_of(kind).name, force.where)
            return f"the derivatives of force {force.name!r} are NaN or infinite at this state; {remedy}"
    return None


def _lone_forces(scene: Scene) -> Iterator[tuple[ForceSpec, Model]]:
    """Return every force of the engine, and the model with this force alone."""
    model = scene.model
    forces = {force.name: force for force in model.spec.forces}
    for element in model.connections.elements:
        if element.name in forces:
            alone = replace(model.connections, elements=[element], signals=None)
            yield forces[element.name], model.with_connections(alone)


def _force_fault(scene: Scene, q: Array, v: Array, times: Array) -> str | None:
    for force, model in _lone_forces(scene):
        row = _first_bad(passive_forces(model, q, v))
        if row is not None:
            return _of_force(force, float(times[row]))
    return None


def _signal_fault(scene: Scene, q: Array, v: Array, numbers: Array, times: Array) -> str | None:
    assert scene.signals is not None
    held = np.tile(numbers, (len(q), 1))
    readings = np.asarray(_engine.read_signals(scene.model, times, q, v, 0 * v, held))
    blocks = {block.name: block for block in scene.spec.blocks}
    for signal in scene.signals.recorded:
        name = signal.name if signal.name in blocks else signal.name.rpartition(".")[0]
        row = _first_bad(readings[:, signal.first : signal.first + signal.size])
        if row is not None:
            fault = _of_element(scene, name, signal.name, float(times[row]))
            if fault is not None:
                return fault
    exerted, rates = _engine.signal_forces(scene.model, times, q, v, held)
    for state, name in enumerate(scene.signals.state_names):
        row = _first_bad(np.asarray(rates)[:, [state]])
        if row is not None:
            owner = name.rpartition(".")[0]
            fault = _of_element(scene, owner, f"rate of {name}", float(times[row]))
            if fault is not None:
                return fault
    row = _first_bad(exerted)
    if row is None:
        return None
    bad = {
        own.name.removeprefix(f"{EFFORT}.")
        for own in scene.signals.recorded
        if own.name.startswith(f"{EFFORT}.") and _first_bad(readings[:, [own.first]]) is not None
    }
    for block in scene.spec.blocks:
        if block.kind == "actuator" and (bad & {*block.coordinates} or not bad):
            return _of_block(block, block.name, float(times[row]))
    return next(
        (
            _of_force(force, float(times[row]))
            for force in scene.model.spec.forces
            if force.is_released
        ),
        None,
    )


def _sampled_fault(scene: Scene, state: State, numbers: Array, t: float) -> str | None:
    """Return the fault of a sampled block that computes NaN or infinite values at a state; none of those in Python."""
    signals = scene.signals
    assert signals is not None
    in_engine = set(range(len(signals.periods))) - {
        c.bit - signals.begins for c in signals.callbacks
    }
    held = np.array(numbers, float)[None]
    if not in_engine or not np.isfinite(held).all():
        return None
    due = sum(1 << (signals.begins + k) for k in in_engine)
    q, v = state.q[None], state.v[None]
    _engine.update_signals(
        scene.model, q, v, t, due, held, scene.actuation, loop_q=state.loop_q[None].copy(),
        contacts=scene.smooth_contacts,
    )  # fmt: skip
    readings = np.asarray(_engine.read_signals(scene.model, np.array([t]), q, v, 0 * v, held))
    blocks = {block.name: block for block in scene.spec.blocks if block.period is not None}
    for signal in signals.recorded:
        name = signal.name if signal.name in blocks else signal.name.rpartition(".")[0]
        own = readings[:, signal.first : signal.first + signal.size]
        if name in blocks and not np.isfinite(own).all():
            return _of_block(blocks[name], signal.name, t)
    return None


def _first_bad(rows: Array) -> int | None:
    """Return the first row with NaN or infinity."""
    bad = ~np.isfinite(rows).all(axis=tuple(range(1, rows.ndim)))
    return int(np.argmax(bad)) if bad.any() else None


def _of_element(scene: Scene, name: str, signal: str, t: float) -> str | None:
    """Return the fault of a signal or of a state's rate; None if it is no block's or force's of the scene."""
    for block in scene.spec.blocks:
        if block.name == name:
            return _of_block(block, signal, t)
    for force in scene.model.spec.forces:
        if force.name == name:
            return _of_force(force, t, f" ({signal})")
    return None


def _of_force(force: ForceSpec, t: float, what: str = "") -> str:
    kind: Any = find_force(force.type)
    plugin = build(kind, force.parameters, force.where)
    remedy = _remedy(plugin, method_of(kind).name, force.where)
    return f"force {force.name!r}{what} is NaN or infinite at t = {t:.6g} s; {remedy}"


def _of_block(block: BlockSpec, signal: str, t: float) -> str:
    plugin: Any = build(find_block(block.kind, block.type), block.parameters, block.where)
    method = {"sensor": "measure", "actuator": "force"}.get(block.kind, "output")
    what = f"{block.kind} {block.name!r}" + (f" ({signal})" if signal != block.name else "")
    return f"{what} is NaN or infinite at t = {t:.6g} s; {_remedy(plugin, method, block.where)}"


def _remedy(plugin: Any, method: str, where: str) -> str:  # noqa: ANN401, of any kind
    """Return what to correct: a method of the author's, or the table of an element that comes with pysim."""
    if type(plugin).__module__.partition(".")[0] == "pysim":
        return f"correct its keys or its inputs, {where}"
    return f"fix {method_place(plugin, method)}"
