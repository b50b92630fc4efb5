"""Event plugins: functions of the state whose zero crossings a run locates.

    from pysim.events import Event, event

    @event("fold")
    class Fold(Event):
        \"\"\"Two joints have the same angle.\"\"\"

        margin: float = 0.0  # [rad], a key of the [[event]] table

        def value(self, q, v):
            return q.shoulder - q.elbow - self.margin

`q` and `v` hold the joints by name (`q["left/knee"]` if a name is not an identifier): a number for a joint of one
coordinate, otherwise its coordinates by name, as in `q.slider.x`. `value` is traced once, like a joint's `force`, and
runs in the engine.
"""

from __future__ import annotations

import dataclasses
import keyword
from typing import TYPE_CHECKING, Any, TypeVar, cast, dataclass_transform

from pysim.errors import JointError, PysimError, did_you_mean
from pysim.plugins.fields import build
from pysim.plugins.registry import PluginKind, require_method
from pysim.tracing.author_code import call, definition_place, method_place
from pysim.tracing.expression import Scalar
from pysim.tracing.program import emit
from pysim.tracing.repeated_call import recorded_call
from pysim.tracing.symbolic_array import symbolic_array
from pysim.tracing.tape import Tape

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pysim._engine import Program
    from pysim.joints.builtin import JointType

OWN_KEYS = frozenset(
    {
        "name",
        "joint",
        "coordinate",
        "at",
        "body",
        "point",
        "plane",
        "type",
        "direction",
        "stop",
        "release",
    }
)  # of every event (pysim/scene/toml/records/tables.py)


class ByJoint:
    """Numbers of a state by joint name."""

    def __init__(self, values: Mapping[str, Any], what: str, place: str, owner: str) -> None:
        """Hold the numbers that the author writes as `place`: those of the state, or of one joint."""
        self._values = values
        self._what = what
        self._place, self._owner = place, owner

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401, a number or numbers by name
        if name.startswith("__") or name not in self._values:
            raise AttributeError(f"no {self._what} {name!r}{did_you_mean(name, self._values)}")
        return self._values[name]

    def __getitem__(self, name: object) -> Any:  # noqa: ANN401, a number or numbers by name
        if not isinstance(name, str):  # iteration and x[0] count
            if not self._values:
                raise TypeError(f"{self._owner} has no {self._what}s")
            first = _at(self._place, next(iter(self._values)))
            raise TypeError(f"{self._owner} has {', '.join(self._values)}; write {first}")
        return self.__getattr__(name)


def _at(place: str, name: str) -> str:
    """Return the expression with which an author refers to a name."""
    is_plain = name.isidentifier() and not keyword.iskeyword(name)
    return f"{place}.{name}" if is_plain else f'{place}["{name}"]'


@dataclass_transform()
class Event:
    """Base of event plugins; annotated fields are keys of the scene's [[event]] table."""

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        dataclasses.dataclass(cls)

    def value(self, q: ByJoint, v: ByJoint) -> Any:  # noqa: ANN401, ARG002, for those who write one
        """Return the value that is 0 at the event; q [m or rad] and v [m/s or rad/s] by joint."""
        raise JointError(
            definition_place(type(self)), "has no method value; write `def value(self, q, v)`"
        )


def _check_event(plugin: type[Event], where: str) -> None:
    """Require a `value`, and fields that are not keys of every event."""
    require_method(plugin, Event, "value", where, "`def value(self, q, v)`")
    for field in dataclasses.fields(plugin):  # type: ignore[arg-type]
        if field.name in OWN_KEYS:
            problem = f"the field {field.name!r} is a key that every event has"
            raise PysimError(where, f"{problem}; choose another name")


Plugin = TypeVar("Plugin", bound=type[Event])
EVENTS: PluginKind[type[Event]] = PluginKind(
    "event", noun="event type", base=Event, check=_check_event
)


def event(name: str) -> Callable[[Plugin], Plugin]:
    """Class decorator: make this event available as `type = "<name>"` in [[event]] tables.

    Raises:
        PysimError: the name is taken, a field is a key of every event, or the class is no Event or has no `value`.
    """
    return EVENTS.named(name)


def find_event(name: str) -> type[Event]:
    """Return the event plugin of a name, importing its package if need be.

    Raises:
        PysimError: there is none; the text suggests one.
    """
    return EVENTS.find(name)


def make_event(name: str, keys: Mapping[str, Any], where: str) -> Event:
    """Make an event of a type from its keys in a scene.

    Raises:
        PysimError: the type is unknown, or a key is missing, unknown or of the wrong type.
    """
    plugin: Any = find_event(name)
    return cast("Event", build(plugin, keys, where))


def trace_event(
    plugin: Event, joints: Mapping[str, tuple[JointType, int, int]], nq: int, nv: int
) -> Program:
    """Record an event's value as a program of (q, v); arguments and errors as of `record_event`."""
    tape, value = record_event(plugin, joints, nq, nv)
    return emit(tape, [value], [], nq + nv)


def record_event(
    plugin: Event, joints: Mapping[str, tuple[JointType, int, int]], nq: int, nv: int
) -> tuple[Tape, int]:
    """Record an event's value as a node of a tape with the inputs (q, v).

    Args:
        plugin: the event.
        joints: type of every joint by name, with the offsets of its numbers in q and in v.
        nq: length of q.
        nv: length of v.

    Raises:
        JointError: it cannot be recorded; the error names the author's line.
    """
    tape = Tape()
    q = [Scalar(tape, tape.input(i)) for i in range(nq)]
    v = [Scalar(tape, tape.input(nq + i)) for i in range(nv)]
    by_q = {name: _named(kind, q[at:], name, "q") for name, (kind, at, _) in joints.items()}
    by_v = {name: _named(kind, v[at:], name, "v") for name, (kind, _, at) in joints.items()}
    states = (ByJoint(by_q, "joint", "q", "q"), ByJoint(by_v, "joint", "v", "v"))
    value: object = recorded_call(
        tape, lambda: method_place(plugin, "value"), lambda: call(plugin, "value", *states)
    )
    if not isinstance(value, Scalar) or value.tape is not tape:
        got = type(value).__name__
        problem = f"must return a number that depends on q or v, got {got}"
        raise JointError(method_place(plugin, "value"), problem)
    return tape, value.index


def _named(kind: JointType, numbers: list[Scalar], joint: str, symbol: str) -> Any:  # noqa: ANN401
    """Return a joint's numbers of q or v: a single one, or all by name."""
    rate = symbol == "v"
    if kind.plugin is not None:
        own = kind.plugin.coordinates
        named = own.named_velocities(numbers) if rate else own.named(numbers)
        only = own.parts[0].name if len(own.parts) == 1 else None
        return named if only is None else getattr(named, only)
    names = kind.v_names if rate else kind.q_names
    if len(names) == 1:
        return numbers[0]
    values = dict(zip(names, symbolic_array(numbers), strict=False))
    return ByJoint(values, "coordinate", _at(symbol, joint), joint)
