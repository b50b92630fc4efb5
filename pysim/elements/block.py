"""Base classes of signals, sensors, controllers and actuators, and their registries.

A method is called once with symbolic numbers; it names the arguments that it uses.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, dataclass_transform

from pysim.elements.channels import NONE, Channels, is_signal, signal
from pysim.errors import PysimError
from pysim.plugins.fields import field_type, fields_of, signals_in
from pysim.plugins.registry import PluginKind
from pysim.tracing.author_code import definition_place

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

CHANNELS = ("inputs", "outputs", "states", "memory")
BLOCK_KEYS = frozenset({"name", "type", "parameters"})  # keys of all tables of blocks


@dataclass_transform()
class Block:
    """Base class of what a signal graph consists of: annotated fields are keys of the scene's table."""

    inputs: ClassVar[Channels] = NONE
    outputs: ClassVar[Channels] = NONE
    states: ClassVar[Channels] = NONE  # carried by the integrator: `state_rate`
    memory: ClassVar[Channels] = NONE  # of sampled blocks, changed at their instants: `update`
    takes_signals: ClassVar[bool] = True  # in place of numbers of its fields

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        dataclasses.dataclass(cls)

    def input_channels(self) -> Channels:
        """Return its inputs: those of its class."""
        return type(self).inputs

    def output_channels(self) -> Channels:
        """Return its outputs: those of its class."""
        return type(self).outputs

    def start(self) -> Mapping[str, Any]:
        """Return the initial values of states and memory by name; those left out are 0."""
        return {}

    def units(self, inputs: Mapping[str, str]) -> Mapping[str, str]:  # noqa: ARG002, for subclasses
        """Return the units of outputs that depend on those of the inputs, by name."""
        return {}

    def sizes(self) -> Mapping[str, int]:
        """Return how many numbers the letters of outputs stand for that no input has, as the keys determine."""
        return {}


class Source(Block):
    """Base class of sources of signals: `output(self, t)` returns one number, or several."""

    outputs = signal("value", unit="", size="n")
    takes_signals = False  # their values are known before the run

    def output(self, *arguments: Any, **named: Any) -> Any:  # noqa: ARG002, the author's choice
        """`output(self, t)`: return the value at time t [s]."""
        raise _no_method(self, "output")


class Controller(Block):
    """Base class of controllers: continuous, or with the scene key `period` [s] sampled.

    A plugin declares `inputs`, `outputs`, and `states` or `memory` if it has any.
    """

    def output(self, *arguments: Any, **named: Any) -> Any:  # noqa: ARG002, as above
        """`output(self, t, inputs, …)`: return the outputs in their order; states are further arguments."""
        raise _no_method(self, "output")


class CallbackController(Controller):
    """Base class of controllers that are called in Python at their instants, with the arrays of all worlds.

    `output(self, t, inputs)` receives the time [s] and arrays `inputs.NAME` (worlds, size), and returns an array
    (worlds, size) for each output. It is not recorded, so that it may use any library; its table needs a `period`.
    A rollout of a list of scenes calls it for one world at a time. In `Worlds` it is called for those that are
    due, whose numbers an argument `worlds` (worlds,) gives.

    With methods `state` and `restore`, runs have checkpoints, and `Worlds.save` saves it.
    """

    takes_signals = False  # its numbers are those of Python

    def begin(self, worlds: int) -> None:
        """Prepare for a run of this many worlds; the base class does nothing."""

    def begin_again(self, worlds: Any) -> None:  # noqa: ARG002, as above
        """Prepare some worlds, by their numbers (k,), which begin again while others go on."""
        self._needs_method("begin_again(self, worlds)", "reset all worlds at once")

    def copy(self, source: Any, target: Any) -> None:  # noqa: ARG002, as above
        """Let worlds `target` (k,) remember what worlds `source` (k,) do."""
        self._needs_method("copy(self, source, target)", "copy no worlds")

    def _needs_method(self, method: str, otherwise: str) -> None:
        """Reject a controller that prepares worlds, if it lacks a method for some of them."""
        if type(self).begin is not CallbackController.begin:
            problem = "prepares all worlds in begin, but has no method for some of them"
            place = definition_place(type(self))
            raise PysimError(place, f"{problem}; write `def {method}`, or {otherwise}")

    def state(self) -> Any:
        """Return what the controller remembers between two calls: None, numbers, texts, arrays, or lists of them."""
        raise _no_method(self, "state")

    def restore(self, state: Any) -> None:  # noqa: ARG002, as above
        """Return to what `state` returned, after `begin` with as many worlds."""
        raise _no_method(self, "restore")


class Sensor(Block):
    """Base class of sensors: `measure` names what it reads.

    These are q and v of the scene's `coordinates`; pose, twist and acceleration of its `frame` and the contact of the
    frame's body, length and rate of its `path`, wrench of its `joint`, section of its rod, gravity, t and inputs.
    """

    def measure(self, *arguments: Any, **named: Any) -> Any:  # noqa: ARG002, as above
        """Return the outputs in their order."""
        raise _no_method(self, "measure")


class Actuator(Block):
    """Base class of actuators on a joint (`force`) or along a path (`tension`); their input is `command`."""

    inputs = signal("command", unit="")

    def force(self, *arguments: Any, **named: Any) -> Any:  # noqa: ARG002, as above
        """`force(self, command, q, v)`: return the generalised force [N or N·m] on the joint's coordinate."""
        raise _no_method(self, "force")

    def tension(self, *arguments: Any, **named: Any) -> Any:
        """`tension(self, command, length, rate)`: return the tension [N] of a path."""
        return self.force(*arguments, **named)

    def reflected_inertia(self) -> float:
        """Return the inertia of the actuator on the joint's coordinate [kg or kg·m²]."""
        return 0.0


_USAGE: dict[type[Block], str] = {
    Source: "`def output(self, t)`",
    Controller: "`def output(self, t, inputs)`",
    Sensor: "`def measure(self, q, v)`, or with pose, twist, acceleration, length or rate",
    Actuator: "`def force(self, command, q, v)` or `def tension(self, command, length, rate)`",
}


def _no_method(block: Block, method: str) -> PysimError:
    """Return the error of a block without its method."""
    usage = next(_USAGE[base] for base in type(block).__mro__ if base in _USAGE)
    problem = f"has no method {method}; write {usage}"
    return PysimError(definition_place(type(block)), problem)


def _check_block(method: str, base: type[Block]) -> Callable[[type[Block], str], None]:
    def check(plugin: type[Block], where: str) -> None:
        own = [m for m in (method, "tension") if hasattr(base, m)]
        if all(getattr(plugin, m) is getattr(base, m) for m in own):
            raise PysimError(where, f"has no method {method}; write {_USAGE[base]}")
        for name in CHANNELS:
            given = getattr(plugin, name)
            if not isinstance(given, Channels):
                word = "real" if name in {"states", "memory"} else "signal"
                example = f'{name} = {word}("a") * {word}("b")'
                problem = f"{name} is a {type(given).__name__} instead of channels"
                raise PysimError(where, f"{problem}; join them by *, such as {example}")
        for field in dataclasses.fields(plugin):  # type: ignore[arg-type]
            if field.name in BLOCK_KEYS:
                noun = base.__name__.lower()
                problem = f"the field {field.name!r} is a key that every {noun} has"
                raise PysimError(where, f"{problem}; choose another name")
            field_type(plugin, field)

    return check


Plugin = TypeVar("Plugin", bound=type[Block])
Base = TypeVar("Base", bound=Block)


def _plugin_kind(
    kind: str, noun: str, base: type[Base], module: str, method: str
) -> PluginKind[type[Base]]:
    """Return the registry of a kind of blocks, whose plugins have a method of their own."""
    public = f"pysim.{module}.{base.__name__}"
    return PluginKind(kind, noun=noun, base=base, public=public, check=_check_block(method, base))


SOURCES = _plugin_kind("source", "signal type", Source, "controllers", "output")
SENSORS = _plugin_kind("sensor", "sensor type", Sensor, "sensors", "measure")
CONTROLLERS = _plugin_kind("controller", "controller type", Controller, "controllers", "output")
ACTUATORS = _plugin_kind("actuator", "actuator type", Actuator, "actuators", "force")
KINDS: dict[str, PluginKind[Any]] = {
    "signal": SOURCES,
    "sensor": SENSORS,
    "controller": CONTROLLERS,
    "actuator": ACTUATORS,
}


def source(name: str) -> Callable[[Plugin], Plugin]:
    """Class decorator: make this source available as `type = "<name>"` in [[signal]] tables."""
    return SOURCES.named(name)


def sensor(name: str) -> Callable[[Plugin], Plugin]:
    """Class decorator: make this sensor available as `type = "<name>"` in [[sensor]] tables."""
    return SENSORS.named(name)


def controller(name: str) -> Callable[[Plugin], Plugin]:
    """Class decorator: make this controller available as `type = "<name>"` in [[controller]] tables."""
    return CONTROLLERS.named(name)


def actuator(name: str) -> Callable[[Plugin], Plugin]:
    """Class decorator: make this actuator available as `type = "<name>"` in [[actuator]] tables."""
    return ACTUATORS.named(name)


def signal_fields(kind: str, name: str) -> tuple[str, ...]:
    """Return the names of a plugin's fields that name signals."""
    return signal_fields_of(find_block(kind, name))


def signal_fields_of(plugin: Any) -> tuple[str, ...]:
    """Return the names of the fields of a plugin's class that name signals."""
    types = {key: field_type(plugin, field) for key, field in fields_of(plugin).items()}
    return tuple(key for key, wanted in types.items() if is_signal(wanted))


def signals_of(plugin: Any) -> dict[str, str]:
    """Return the signals that the fields of a plugin name, in place of numbers too, by field."""
    values = {key: getattr(plugin, key) for key in fields_of(type(plugin))}
    return {key: values[key] for key in signal_fields_of(type(plugin))} | signals_in(values)


def find_block(kind: str, name: str) -> type[Block]:
    """Return the plugin of a name: pysim's own, a user's, or one of an installed package.

    Args:
        kind: the table: "signal", "sensor", "controller" or "actuator".
        name: its type.

    Raises:
        PysimError: there is none; the text suggests one.
    """
    from pysim.elements.library import load_library  # noqa: PLC0415, its modules need this one

    load_library()
    found: type[Block] = KINDS[kind].find(name)
    return found
