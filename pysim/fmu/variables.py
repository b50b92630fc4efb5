"""Variables of an FMU: names, units and references of a scene's inputs, states, signals, poses and contact forces.

References are those of cpp/fmu/instance.hpp: a kind in the highest byte, and a number of that kind.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from pysim.errors import SimulationError, did_you_mean
from pysim.fmu.units import per_second
from pysim.simulation.engine_file import input_unit, recorded_signals

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pysim.simulation.engine_file import SetNumber
    from pysim.simulation.worlds import Worlds

(
    INPUT, Q, V, SIGNAL, POSE, FORCE, PARAMETER, ACCELERATION, RATE, ELEMENT, INDICATOR
) = (k << 24 for k in range(1, 12))  # kinds of references; 0 is the time  # fmt: skip
POSITION, QUATERNION = ("x", "y", "z"), ("x", "y", "z", "w")


@dataclass(frozen=True)
class Variable:
    """A number of an FMU, or numbers that form one variable of FMI 3.

    Attributes:
        name: of the variable.
        kind: of its reference.
        index: of the variable among those of its kind.
        first: of its numbers among those of its kind.
        unit: of its numbers.
        description: what it is.
        start: of an input or a parameter.
        bounds: low and high of a parameter's numbers.
        labels: ends of the names of an array's numbers; None for one number.
        is_local: whether it is part of model exchange alone: a state that is no output, a rate or an event indicator.
        rate_of: reference of the state whose rate it is.
        has_slope: whether model exchange has directional derivatives of it.
    """

    name: str
    kind: int
    index: int
    first: int
    unit: str
    description: str
    start: tuple[float, ...] = ()
    bounds: tuple[tuple[float, float], ...] = ()
    labels: tuple[str, ...] | None = None
    is_local: bool = False
    rate_of: int | None = None
    has_slope: bool = True

    @property
    def causality(self) -> str:
        """The standard's word for its kind."""
        if self.is_local:
            return "local"
        return {INPUT: "input", PARAMETER: "parameter"}.get(self.kind, "output")

    def numbers(self) -> Iterator[Variable]:
        """Yield its numbers as variables of FMI 2."""
        for k, label in enumerate(("",) if self.labels is None else self.labels):
            name, at = f"{self.name}{label}", self.first + k
            one = replace(self, name=name, index=at, first=at, labels=None)
            yield replace(one, start=self.start[k : k + 1], bounds=self.bounds[k : k + 1])

    @property
    def reference(self) -> int:
        return self.kind + self.index


def variables_of(
    worlds: Worlds, parameters: Sequence[SetNumber], *, arrays: bool
) -> list[Variable]:
    """Return the variables of a scene; with `arrays`, signals and poses are arrays, as FMI 3 has them.

    Raises:
        SimulationError: two of them have one name.
    """
    states = (*states_of(worlds), *_signals(worlds), *_poses(worlds))
    found = [*_inputs(worlds), *_parameters(parameters), *states]
    if not arrays:
        found = [number for own in found for number in own.numbers()]
    known: dict[str, str] = {"time": "time"}
    for own in found:
        if own.name in known:
            problem = f"is the name of a {own.description} and of a {known[own.name]}"
            raise SimulationError(repr(own.name), f"{problem}; rename the signal or body")
        known[own.name] = own.description
    return found


def _inputs(worlds: Worlds) -> Iterator[Variable]:
    scene, first = worlds.scene(), 0
    for k, own in enumerate(() if scene.signals is None else scene.signals.inputs):
        start = tuple(map(float, worlds.inputs[own.name]))
        labels = None if len(start) == 1 else tuple(f"[{i}]" for i in range(len(start)))
        yield Variable(
            own.name, INPUT, k, first, input_unit(scene, own.name), "input", start, labels=labels
        )
        first += len(start)


def _parameters(parameters: Sequence[SetNumber]) -> Iterator[Variable]:
    first = 0
    for k, own in enumerate(parameters):
        text, bounds = "number of the scene", tuple(zip(own.low, own.high, strict=True))
        labels = own.labels or None
        yield Variable(own.name, PARAMETER, k, first, own.unit, text, own.start, bounds, labels)
        first += len(own.start)


def states_of(worlds: Worlds) -> Iterator[Variable]:
    """Yield coordinates, velocities and accelerations."""
    model = worlds.scene().model
    for k, name in enumerate(model.coordinate_names):
        yield Variable(f"q.{name}", Q, k, k, model.coordinate_units[k], "coordinate")
    for k, name in enumerate(model.velocity_names):
        yield Variable(f"v.{name}", V, k, k, model.velocity_units[k], "velocity")
    for k, name in enumerate(model.velocity_names):
        unit = per_second(model.velocity_units[k])
        yield Variable(f"a.{name}", ACCELERATION, k, k, unit, "acceleration")


def _signals(worlds: Worlds) -> Iterator[Variable]:
    scene, first = worlds.scene(), 0
    given = () if scene.signals is None else tuple(own.name for own in scene.signals.inputs)
    for k, own in enumerate(recorded_signals(scene)):
        has_names = all(own.labels) and len(set(own.labels)) == own.size
        labels = own.labels if has_names else range(own.size)
        ends = tuple(f".{x}" if has_names else f"[{x}]" for x in labels)
        if own.name not in given:
            one = own.size == 1 and not own.labels
            found = Variable(own.name, SIGNAL, k, first, own.unit, "signal")
            yield replace(found, labels=None if one else ends, has_slope=not own.is_touching)
        first += own.size


def _poses(worlds: Worlds) -> Iterator[Variable]:
    for k, body in enumerate(worlds.scene().model.body_names):
        for i, (end, unit, labels, text) in enumerate(
            (("", "m", POSITION, "position"), (".q", "", QUATERNION, "quaternion"))
        ):
            description, ends = f"{text} of the body in the world", tuple(f".{x}" for x in labels)
            first = 7 * k + 3 * i
            yield Variable(
                f"pose.{body}{end}", POSE, 2 * k + i, first, unit, description, labels=ends
            )
    axes, text = tuple(f".{x}" for x in POSITION), "contact force on the second link, in the world"
    for k, pair in enumerate(worlds.pairs):
        yield Variable(f"contact.{pair}", FORCE, k, 3 * k, "N", text, labels=axes)


def chosen(
    variables: Sequence[Variable], inputs: Sequence[str] | None, outputs: Sequence[str] | None
) -> list[Variable]:
    """Return all parameters, and inputs and outputs whose names match one of the patterns of their kind; None for all.

    Raises:
        SimulationError: a pattern matches no variable.
    """
    parameters = [variable for variable in variables if variable.kind == PARAMETER]
    for patterns, causality in ((inputs, "input"), (outputs, "output")):
        own, where = [x for x in variables if x.causality == causality], f"{causality}s"
        for pattern in patterns or ():
            if not any(fnmatchcase(variable.name, pattern) for variable in own):
                hint = did_you_mean(pattern, [variable.name for variable in own])
                raise SimulationError(where, f"{pattern!r} matches none of {len(own)} names{hint}")
        parameters += [
            variable
            for variable in own
            if patterns is None or any(fnmatchcase(variable.name, p) for p in patterns)
        ]
    return parameters
