"""Reads and checks the `[environment]` table of a scene, and makes the plan of its environment."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pysim.elements.number_names import without_index
from pysim.environments.curriculum_table import read_curriculum
from pysim.environments.draws import LEAST_UNIFORM, distribution_or_number, draws_by_name
from pysim.environments.observed import Observed
from pysim.environments.plan import (
    ChangePlan,
    DrawPlan,
    EndPlan,
    NumberRange,
    ObservationPlan,
    Plan,
    RewardPlan,
    SchedulePlan,
)
from pysim.environments.randomised import Randomised
from pysim.environments.table_places import TablePlaces
from pysim.errors import SimulationError, did_you_mean
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.scene.spec import KeyframeSpec
    from pysim.scene.toml.records.environment_table import Environment, Reward
    from pysim.simulation.worlds import Worlds
    from pysim.worlds.loading import Scene

MOST = 10**9  # steps of a control period, and these of an episode
# of a step: a span this close to a whole number of steps is that number
WHOLE_STEP_TOLERANCE = 1e-6
START, SPEEDS = 1, 2  # uses of draws; the engine's noise has 0
COMMANDS, PUSHES, INTERVALS = (
    1 << 8,
    1 << 9,
    1 << 11,
)  # the first of each; numbers have 1 << 10, levels 1 << 12
OWN_GROUPS = {"policy": "observations", "critic": "critic"}


class TableReader:
    """Reads the tables of an environment one after the other.

    Args:
        tables: the `[environment]` of a scene.
        places: of its keys.
        worlds: of the scene.
    """

    def __init__(self, tables: Environment, places: TablePlaces, worlds: Worlds) -> None:
        self._tables, self._places, self._worlds = tables, places, worlds
        self._scene: Scene = worlds.scene()  # as in the file, whatever worlds differ in
        self._model, self._inputs = self._scene.model, worlds.inputs
        self._schedules: list[SchedulePlan] = []
        self._period = 0.0

    def read(self) -> tuple[Plan, Observed]:
        """Return the plan, and the signals that it reads.

        Raises:
            SimulationError: a name or number of the table does not suit the scene.
        """
        tables = self._tables
        every, length = self._read_times()
        places, scale, offset = self._read_action()
        self._observed = Observed(self._worlds, len(places))
        observed, factors, deviations = self._read_observations()
        ends = self._read_ends()
        keyframes, displacement, velocity = self._read_start()
        changes = (*self._read_commands(), *self._read_pushes())
        randomised = self._read_randomised()
        plan = Plan(
            input=tables.action.input,
            first_input=places[0],
            scale=scale,
            offset=offset,
            lowest=tables.action.range[0],
            highest=tables.action.range[1],
            signals=self._observed.signal_count,
            every=every,
            period=self._period,
            length=length,
            ends=ends,
            rewards=self._read_rewards([end.name for end in ends]),
            observed=observed,
            names=tuple(name for own in observed for name in self._observed.labels(own.signal)),
            factors=factors,
            deviations=deviations,
            limit=tables.limit,
            history=tables.history,
            critic=self._group(("critic",), tables.critic),
            groups=self._read_groups(),
            keyframes=keyframes,
            displacement=displacement,
            velocity=velocity,
            changes=changes,
            randomised=randomised,
            curriculum=read_curriculum(
                tables, self._places, self._worlds, randomised, self._schedule
            ),
            schedules=tuple(self._schedules),
        )
        return plan, self._observed

    def _error(self, keys: tuple[str | int, ...], problem: str) -> SimulationError:
        return self._places.error(keys, problem)

    # -------------------------------------------------------------------------------------------- times and actions

    def _read_times(self) -> tuple[int, int]:
        """Return the steps of a control period, and the control periods of an episode."""
        tables, settings = self._tables, self._scene.settings
        if not math.isfinite(settings.step):
            problem = f"steps of {settings.integrator!r} have no fixed length"
            remedy = f"set simulation.step, such as {tables.period:g} s"
            raise self._error(("period",), f"{problem}; {remedy}")
        if tables.period > tables.duration:
            problem = f"{tables.period:g} s is longer than an episode of {tables.duration:g} s"
            remedy = f"take less, such as {tables.period / 1000:g} s if milliseconds were meant"
            raise self._error(("period",), f"{problem}; {remedy}")
        every = self._steps("period", tables.period, settings.step, "steps")
        self._period = every * settings.step
        return every, self._steps("duration", tables.duration, self._period, "control periods")

    def _steps(self, key: str, span: float, step: float, what: str) -> int:
        count = round(span / step)
        if count < 1 or abs(span - count * step) > WHOLE_STEP_TOLERANCE * step:
            nearest = max(count, 1) * step
            problem = f"{span:g} s is no whole number of {what} of {step:g} s"
            raise self._error((key,), f"{problem}; take {nearest:.9g} s")
        if count > MOST:
            raise self._error((key,), f"{span:g} s is more than {MOST:g} {what}; take less")
        return count

    def _read_action(self) -> tuple[list[int], Array, Array]:
        """Return the places of the action's input, and the scale and offset of each of its numbers."""
        action = self._tables.action
        if action.input not in self._inputs:
            remedy = did_you_mean(action.input, self._inputs) or "; add a [[signal]] of type input"
            raise self._error(
                ("action", "input"), f"{action.input!r} is no input of the scene{remedy}"
            )
        places = self._inputs.places_of(action.input)
        scale = self._one_for_each(("action", "scale"), action.scale, len(places))
        offset = action.offset
        if isinstance(offset, str):
            offset = self._keyframe_commands(offset, places)
        return places, scale, self._one_for_each(("action", "offset"), offset, len(places))

    def _one_for_each(self, keys: tuple[str, ...], values: Sequence[float], size: int) -> Array:
        """Return a number for each of the action's."""
        if len(values) not in (1, size):
            problem = (
                f"has {len(values)} numbers, and the input {self._tables.action.input!r} has {size}"
            )
            raise self._error(keys, f"{problem}; give one, or one for each")
        return np.array(np.broadcast_to(np.asarray(values, float), (size,)))

    def _keyframe_commands(self, name: str, places: Sequence[int]) -> list[float]:
        """Return the values of the action's input in a keyframe: its commands, else positions of servos."""
        frames = {frame.name: frame for frame in self._model.spec.keyframes}
        if name not in frames:
            remedy = did_you_mean(name, frames) or ", and the scene has none; give numbers"
            raise self._error(("action", "offset"), f"there is no keyframe {name!r}{remedy}")
        positions = self._servo_positions(frames[name])
        values = {places[k]: value for k, value in positions.items()}
        values |= self._inputs.of_keyframe(frames[name])
        missing = [place for place in places if place not in values]
        if missing:
            problem = f"keyframe {name!r} has no values for {len(missing)} of the input's numbers"
            raise self._error(("action", "offset"), f"{problem}; give numbers")
        return [values[place] for place in places]

    def _servo_positions(self, frame: KeyframeSpec) -> dict[int, float]:
        """Return the positions of a keyframe to which servos pull, by the number of the action's input they follow."""
        joints = {joint.name: joint for joint in self._model.spec.joints}
        positions = {}
        for block in self._scene.spec.blocks:
            if block.type != "position_servo":
                continue
            name, index = without_index(block.inputs[0])
            for k, coordinate in enumerate(block.coordinates):
                joint = joints.get(coordinate)
                if name == self._tables.action.input and joint is not None:
                    q = frame.q.get(coordinate, joint.start_q)
                    positions[k if index is None else index] = float(q[0])
        return positions

    # --------------------------------------------------------------------------------- observations, ends, rewards

    def _range(
        self, keys: tuple[str | int, ...], name: str, others: Sequence[str] = ()
    ) -> NumberRange:
        """Return the places of a signal's numbers among those of a world."""
        if name not in self._observed:
            remedy = did_you_mean(name, (*self._observed.names, *others))
            raise self._error(keys, f"there is no signal {name!r}{remedy}")
        return self._observed.range(name)

    def _read_observations(self) -> tuple[tuple[ObservationPlan, ...], Array, Array]:
        """Return the observed signals, and the factor and noise of each of their numbers."""
        tables = self._tables
        observed: list[ObservationPlan] = []
        factors: list[Array] = []
        noise: list[Array] = []
        for k, name in enumerate(tables.observations):
            if name in tables.observations[:k]:
                raise self._error(("observations", k), f"{name!r} is listed twice; remove one")
            x = self._range(("observations", k), name)
            factor = np.asarray(tables.scales.get(name, [1.0]), float)
            if len(factor) not in (1, x.count):
                problem = f"has {len(factor)} numbers, and the observation has {x.count}"
                raise self._error(("scales", name), f"{problem}; give one, or one for each")
            observed.append(ObservationPlan(name, x))
            factors.append(np.broadcast_to(factor, (x.count,)))
            noise.append(np.full(x.count, tables.noise.get(name, 0.0)))
        for table in ("scales", "noise"):
            for name in getattr(tables, table):
                if name not in tables.observations:
                    remedy = did_you_mean(name, tables.observations)
                    raise self._error((table, name), f"is no observation{remedy}")
        return tuple(observed), np.concatenate(factors), np.concatenate(noise)

    def _group(self, keys: tuple[str, ...], names: Sequence[str]) -> tuple[ObservationPlan, ...]:
        """Return signals that are observed without noise."""
        return tuple(
            ObservationPlan(name, self._range((*keys, k), name)) for k, name in enumerate(names)
        )

    def _read_groups(self) -> dict[str, tuple[ObservationPlan, ...]]:
        groups = self._tables.groups
        for name, signals in groups.items():
            if name in OWN_GROUPS:
                problem = f"{name!r} is the group of environment.{OWN_GROUPS[name]}"
                raise self._error(("groups", name), f"{problem}; take another name")
            if not signals:
                raise self._error(("groups", name), "has no signals; name some, or remove it")
        return {name: self._group(("groups", name), own) for name, own in groups.items()}

    def _check_names(self, table: str, names: Sequence[str]) -> None:
        for k, name in enumerate(names):
            if name in names[:k]:
                raise self._error((table, k, "name"), f"{name!r} is listed twice; rename one")

    def _read_ends(self) -> tuple[EndPlan, ...]:
        ends = self._tables.end
        self._check_names("end", [end.name for end in ends])
        self._check_names("reward", [reward.name for reward in self._tables.reward])
        for k, end in enumerate(ends):
            if end.name in self._observed:
                problem = f"{end.name!r} is a signal; take another name"
                raise self._error(("end", k, "name"), problem)
        return tuple(
            EndPlan(
                end.name,
                end.signal,
                self._range(("end", k, "signal"), end.signal),
                -math.inf if end.below is None else end.below,
                math.inf if end.above is None else end.above,
            )
            for k, end in enumerate(ends)
        )

    def _read_rewards(self, ends: Sequence[str]) -> tuple[RewardPlan, ...]:
        return tuple(self._reward(k, own, ends) for k, own in enumerate(self._tables.reward))

    def _reward(self, k: int, reward: Reward, ends: Sequence[str]) -> RewardPlan:
        name, signal, weight = reward.name, reward.signal, reward.weight
        if signal in ends:
            if reward.kernel is not None:
                problem = f"{signal!r} is an end, which is 1 or 0; leave kernel out"
                raise self._error(("reward", k, "kernel"), problem)
            end = ends.index(signal)
            return RewardPlan(name, signal, NumberRange(0, 0), "value", end, weight, 0.0)
        x, kernel = self._range(("reward", k, "signal"), signal, ends), reward.kernel
        if kernel is None:
            if x.count != 1:
                problem = f"{signal!r} has {x.count} numbers"
                remedy = "give a kernel, such as { norm = 2 } or { exponential = 0.25 }"
                raise self._error(("reward", k), f"{problem}; {remedy}")
            return RewardPlan(name, signal, x, "value", -1, weight, 0.0)
        kernel_name, width = kernel.entry()
        return RewardPlan(name, signal, x, kernel_name, -1, weight, width)

    # ------------------------------------------------------------------------------------------------ what is drawn

    def _read_start(self) -> tuple[tuple[str | None, ...], DrawPlan, DrawPlan]:
        """Return the keyframes of starts, and what is drawn of displacements and velocities."""
        start, names = self._tables.start, self._model.velocity_names
        frames = [frame.name for frame in self._model.spec.keyframes]
        keyframes: Sequence[str | None] = (
            start.keyframe if isinstance(start.keyframe, list) else [start.keyframe]
        )
        for name in keyframes:
            if name is not None and name not in frames:
                remedy = did_you_mean(name, frames) or ", and the scene has none; remove it"
                raise self._error(("start", "keyframe"), f"there is no keyframe {name!r}{remedy}")
        where = self._places.where
        displacement = draws_by_name(
            where("start", "displacement"), start.displacement, names, START
        )
        velocity = draws_by_name(where("start", "velocity"), start.velocity, names, SPEEDS)
        return tuple(keyframes), displacement, velocity

    def _read_commands(self) -> list[ChangePlan]:
        tables, inputs = self._tables, self._inputs
        commands = []
        for k, command in enumerate(tables.command):
            if command.input not in inputs or command.input == tables.action.input:
                others = [name for name in inputs if name != tables.action.input]
                remedy = did_you_mean(command.input, others) or "; add a [[signal]] of type input"
                problem = f"{command.input!r} is no input that is free for commands"
                raise self._error(("command", k, "input"), f"{problem}{remedy}")
            if command.input in [other.input for other in tables.command[:k]]:
                problem = f"{command.input!r} is drawn by another command; leave one out"
                raise self._error(("command", k, "input"), problem)
            size = inputs[command.input].shape[-1]
            if len(command.values) != size:
                problem = f"has {len(command.values)} values, and the input has {size}"
                raise self._error(("command", k, "values"), f"{problem}; give one for each")
            drawn = [
                distribution_or_number(self._places.where("command", k, "values", i), value)
                for i, value in enumerate(command.values)
            ]
            schedule = self._schedule(("command", k, "every"), command.every)
            places = inputs.places_of(command.input)
            commands.append(ChangePlan(False, DrawPlan(drawn, places, COMMANDS + k), schedule))
        return commands

    def _read_pushes(self) -> list[ChangePlan]:
        names, pushes = self._model.velocity_names, []
        for k, push in enumerate(self._tables.push):
            where = self._places.where("push", k, "velocity")
            drawn = draws_by_name(where, push.velocity, names, PUSHES + k)
            schedule = self._schedule(("push", k, "every"), push.every)
            pushes.append(ChangePlan(True, drawn, schedule))
        return pushes

    def _read_randomised(self) -> tuple[Randomised, ...]:
        randomised = [
            Randomised(
                entry,
                k,
                self._worlds.parameters,
                partial(self._places.where, "randomise", k),
                self._schedule(("randomise", k, "every"), entry.every),
            )
            for k, entry in enumerate(self._tables.randomise)
        ]
        for k, entry in enumerate(randomised):
            for other in randomised[:k]:
                if (path := entry.shared_with(other)) is not None:
                    problem = f"{path!r} is drawn by another table; leave one out"
                    raise self._error(("randomise", k, "path"), problem)
        return tuple(randomised)

    def _schedule(self, keys: tuple[str | int, ...], every: float | str | None) -> int:
        """Return the number of a schedule of what happens `every` so many seconds, or after drawn times."""
        time = distribution_or_number(self._places.where(*keys), 0.0 if every is None else every)
        if time.kind != "constant":
            if time.values(np.array([LEAST_UNIFORM]))[0] < 0:
                raise self._error(keys, f"{time} draws negative times; take uniform(5, 10)")
            count = -1
        else:
            span = time.arguments[0]
            count = round(span / self._period)
            if span and (
                count < 1 or abs(span - count * self._period) > WHOLE_STEP_TOLERANCE * self._period
            ):
                problem = f"{span:g} s is no whole number of control periods of {self._period:g} s"
                raise self._error(keys, f"{problem}; take {max(count, 1) * self._period:.9g} s")
        number = len(self._schedules)
        self._schedules.append(SchedulePlan(count, time, INTERVALS + number))
        return number
