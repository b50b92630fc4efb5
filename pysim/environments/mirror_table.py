"""Reads the table `mirror` of an environment, and finds the mirror images of what it observes and does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.environments.mirror import Mirror, MirroredStates, joined, mirrored_rows
from pysim.errors import SimulationError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pysim.environments.mirror import SignedPlaces
    from pysim.environments.observed import Observed
    from pysim.environments.plan import ObservationPlan, Plan
    from pysim.environments.table_places import TablePlaces
    from pysim.scene.toml.records.environment_table import Mirror as MirrorTable
    from pysim.simulation.worlds import Worlds
    from pysim.typing import Array


def read_mirror(
    table: MirrorTable | None, places: TablePlaces, plan: Plan, observed: Observed, worlds: Worlds
) -> Mirror | None:
    """Return the mirror images of an environment; None without the table.

    Raises:
        SimulationError: a sign is of no input, or the mechanism is not its own mirror image.
    """
    if table is None:
        return None
    _check_signs(table.signs, places, plan, worlds)
    home, remedy = plan.keyframes[0], "correct the scene"
    if len(plan.keyframes) > 1:
        remedy += f", name a keyframe that is its own image before {home!r}"

    def fault(problem: str) -> SimulationError:
        return places.error(("mirror",), f"{problem}; {remedy}, or leave mirror out")

    states = MirroredStates(
        worlds.scene(),
        home,
        "xyz".index(table.normal),
        (plan.input, plan.offset),
        table.signs,
        plan.every,
        fault,
    )
    if not np.allclose(plan.scale[states.action.place], plan.scale):
        raise fault("environment.action.scale is not its own mirror image")
    rows = mirrored_rows(states, observed)
    for terms, reward in zip(_terms_of(states, rows, plan).T, plan.rewards, strict=True):
        if reward.end < 0:
            states.check_reward(terms, reward.name)

    def images(kind: str, signals: Sequence[ObservationPlan]) -> list[SignedPlaces]:
        return [
            states.of_signal(rows, observed.columns(own.signal), f"{kind} {own.signal!r}")
            for own in signals
        ]

    observation = joined(images("observation", plan.observed), plan.factors, plan.history)
    critic = joined([observation, *images("critic's", plan.critic)])
    states.check_accelerations(plan.scale)
    return Mirror(observation, critic, states.action)


def _check_signs(
    signs: Mapping[str, Sequence[int]], places: TablePlaces, plan: Plan, worlds: Worlds
) -> None:
    inputs = worlds.inputs
    for name, values in signs.items():
        keys = ("mirror", "signs", name)
        if name not in inputs or name == plan.input:
            others = [known for known in inputs if known != plan.input]
            problem = f"{name!r} is no input besides the action's"
            remedy = did_you_mean(name, others) or "; leave it out"
            raise places.error(keys, f"{problem}{remedy}")
        if len(values) != (size := inputs[name].shape[-1]):
            problem = f"has {len(values)} signs, and the input has {size} numbers"
            raise places.error(keys, f"{problem}; give one for each")


def _terms_of(states: MirroredStates, rows: Array, plan: Plan) -> Array:
    """Return the terms of the reward of states, from the numbers that they read."""
    engine = _engine.EnvironmentTables(
        replace(plan, changes=()), worlds=len(states.worlds), single=False
    )
    engine.parts["action"][:] = engine.parts["action_rate"][:] = states.actions
    engine.end_step(states.worlds._records.engine, rows[:, : plan.signals])  # noqa: SLF001
    terms: Array = engine.parts["terms"]
    return terms
