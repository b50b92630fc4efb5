"""Variables of model exchange: continuous states, their rates, and event indicators (cpp/engine/world_rates.hpp)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.errors import SimulationError
from pysim.fmu.units import per_second
from pysim.fmu.variables import ELEMENT, INDICATOR, RATE, Q, V, Variable, states_of
from pysim.mechanism.model_numbers import PASSIVE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.simulation.worlds import Worlds
    from pysim.worlds.loading import Scene


def check_is_equation(scene: Scene) -> None:
    """Reject a scene that is not an ordinary differential equation.

    Raises:
        SimulationError: it names the part.
    """
    model, signals = scene.model, scene.signals
    remedy = "write it for co-simulation"
    problem = ""
    if scene.settings.integrator == "convex":
        problem = "integrator 'convex' solves contacts and limits in steps"
        remedy = f"{remedy}, or take another integrator"
    elif model.loop_names or model.coupling_names:
        name = [*model.loop_names, *model.coupling_names][0]
        problem = f"{name!r} is a constraint, which makes states depend on one another"
    elif signals is not None and signals.periods:
        problem = f"block {signals.sampled[signals.begins]!r} is sampled"
    if problem:
        where = str(scene.spec.path)
        raise SimulationError(where, f"model exchange: {problem}; {remedy}")


def exchanged(worlds: Worlds, variables: Sequence[Variable]) -> list[Variable]:
    """Return variables with those of model exchange."""
    scene, known = worlds.scene(), {variable.reference for variable in variables}
    states = [variable for variable in states_of(worlds) if variable.kind in (Q, V)]
    names = () if scene.signals is None else _element_states(scene)
    states += [
        Variable(name, ELEMENT, k, k, "", "state of an element") for k, name in enumerate(names)
    ]
    extended = [*variables]
    extended += [
        replace(variable, is_local=True) for variable in states if variable.reference not in known
    ]
    for k, variable in enumerate(states):
        unit = "" if variable.kind == ELEMENT else per_second(variable.unit)
        text = f"rate of the {variable.description}"
        rate = Variable(f"der({variable.name})", RATE, k, k, unit, text, is_local=True)
        extended.append(replace(rate, rate_of=variable.reference))
    text = "gap of a limit or contact, which begins or ends at 0"
    extended += [
        Variable(f"gap[{k}]", INDICATOR, k, k, "", text, is_local=True)
        for k in range(_indicators(scene))
    ]
    return extended


def _element_states(scene: Scene) -> list[str]:
    assert scene.signals is not None
    names = list(scene.signals.state_names)
    count = scene.signals.description.states
    return [f"state.{name}" for name in names] + [f"state[{k}]" for k in range(len(names), count)]


def _indicators(scene: Scene) -> int:
    """Return the number of gaps of limits with a spring and of pairs of shapes with smooth contacts."""
    count = 0
    if all(joint.mimic is None for joint in scene.spec.model.joints):
        numbers, tables, _ = _engine.model_numbers(scene.model, None)
        place, records = next((place, n) for name, place, n in tables if name == "passive")
        size = len(PASSIVE)
        rows = np.asarray(numbers[place : place + records * size]).reshape(records, size)
        lower, upper, spring = (
            rows[:, PASSIVE.index(name)] for name in ("lower", "upper", "stop_stiffness")
        )
        count = int(((spring > 0) * (np.isfinite(lower).astype(int) + np.isfinite(upper))).sum())
    contacts = scene.contacts
    return count + (0 if contacts is None else len(contacts.shapes))
