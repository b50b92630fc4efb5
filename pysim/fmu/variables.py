"""Variables of an FMU: names, units and references of a scene's inputs, states, signals, poses and contact forces.

References are those of cpp/fmu/instance.hpp: a kind in the highest byte, and a number of that kind.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from pysim.errors import SimulationError, did_you_mean
from pysim.simulation.engine_file import input_unit, readable_signals

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pysim.simulation.worlds import Worlds

INPUT, Q, V, SIGNAL, POSE, FORCE = (
    k << 24 for k in range(1, 7)
)  # kinds of references; 0 is the time
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
        start: of an input.
        labels: ends of the names of an array's numbers; None for one number.
    """

    name: str
    kind: int
    index: int
    first: int
    unit: str
    description: str
    start: tuple[float, ...] = ()
    labels: tuple[str, ...] | None = None

    @property
    def is_input(self) -> bool:
        return self.kind == INPUT

    def numbers(self) -> Iterator[Variable]:
        """Yield its numbers as variables of FMI 2."""
        for k, label in enumerate(("",) if self.labels is None else self.labels):
            at, start = self.first + k, self.start[k : k + 1]
            yield replace(self, name=f"{self.name}{label}", index=at, start=start, labels=None)

    @property
    def reference(self) -> int:
        return self.kind + self.index


def variables_of(worlds: Worlds, *, arrays: bool) -> list[Variable]:
    """Return the variables of a scene; with `arrays`, signals and poses are arrays, as FMI 3 has them.

    Raises:
        SimulationError: two of them have one name.
    """
    found = [*_inputs(worlds), *_states(worlds), *_signals(worlds), *_poses(worlds)]
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
            own.name, INPUT, k, first, input_unit(scene, own.name), "input", start, labels
        )
        first += len(start)


def _states(worlds: Worlds) -> Iterator[Variable]:
    model = worlds.scene().model
    for k, name in enumerate(model.coordinate_names):
        yield Variable(f"q.{name}", Q, k, k, model.coordinate_units[k], "coordinate")
    for k, name in enumerate(model.velocity_names):
        yield Variable(f"v.{name}", V, k, k, model.velocity_units[k], "velocity")


def _signals(worlds: Worlds) -> Iterator[Variable]:
    scene, first = worlds.scene(), 0
    given = () if scene.signals is None else tuple(own.name for own in scene.signals.inputs)
    for k, own in enumerate(readable_signals(scene)):
        has_names = all(own.labels) and len(set(own.labels)) == own.size
        labels = own.labels if has_names else range(own.size)
        ends = tuple(f".{x}" if has_names else f"[{x}]" for x in labels)
        if own.name not in given:
            one = own.size == 1 and not own.labels
            yield Variable(
                own.name, SIGNAL, k, first, own.unit, "signal", (), None if one else ends
            )
        first += own.size


def _poses(worlds: Worlds) -> Iterator[Variable]:
    for k, body in enumerate(worlds.scene().model.body_names):
        for i, (end, unit, labels, text) in enumerate(
            (("", "m", POSITION, "position"), (".q", "", QUATERNION, "quaternion"))
        ):
            description, ends = f"{text} of the body in the world", tuple(f".{x}" for x in labels)
            first = 7 * k + 3 * i
            yield Variable(f"pose.{body}{end}", POSE, 2 * k + i, first, unit, description, (), ends)
    axes, text = tuple(f".{x}" for x in POSITION), "contact force on the second link, in the world"
    for k, pair in enumerate(worlds.pairs):
        yield Variable(f"contact.{pair}", FORCE, k, 3 * k, "N", text, (), axes)


def chosen(
    variables: Sequence[Variable], inputs: Sequence[str] | None, outputs: Sequence[str] | None
) -> list[Variable]:
    """Return the variables whose names match one of the patterns of their kind; None for all.

    Raises:
        SimulationError: a pattern matches no variable.
    """
    found = []
    for patterns, are_inputs, where in ((inputs, True, "inputs"), (outputs, False, "outputs")):
        own = [variable for variable in variables if variable.is_input == are_inputs]
        for pattern in patterns or ():
            if not any(fnmatchcase(variable.name, pattern) for variable in own):
                hint = did_you_mean(pattern, [variable.name for variable in own])
                raise SimulationError(where, f"{pattern!r} matches none of {len(own)} names{hint}")
        found += [
            variable
            for variable in own
            if patterns is None or any(fnmatchcase(variable.name, p) for p in patterns)
        ]
    return found
