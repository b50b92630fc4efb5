"""`Force`, the base class of force plugins, and their registry."""

from __future__ import annotations

import dataclasses
import inspect
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, dataclass_transform

from pysim.elements.channels import NONE, Channels, is_signal
from pysim.errors import JointError, PysimError
from pysim.plugins.fields import field_type, fields_of, signals_in
from pysim.plugins.registry import PluginKind
from pysim.tracing.author_code import definition_place

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pysim.elements.quantities import Wrench

NO_KEYS: Mapping[str, Any] = MappingProxyType({})
# keys of every force (pysim/scene/toml/records/constraint_tables.py)
FORCE_KEYS = frozenset(
    ("name", "type", "a", "b", "at_a", "at_b", "path", "multiplicity", "coordinates", "parameters")
)
SPRING = "spring"  # the type whose own keys are in that table too


@dataclass_transform()
class Force:
    """Base class of force plugins: annotated fields are keys of the scene's [[force]] table.

    A plugin has one of the methods `wrench`, `tension` and `force`, which is called once with symbolic numbers. It may
    leave out arguments that it does not use. `states`, whose rates the method `state_rate` returns, are further
    arguments of both; an integrator carries them along with the motion.
    """

    states: ClassVar[Channels] = NONE
    takes_signals: ClassVar[bool] = True  # in place of numbers of its fields
    between_points: ClassVar[bool] = False  # along the line from at_a to at_b, instead of a path
    # its program has the same instructions whatever its numbers
    keeps_structure: ClassVar[bool] = False

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        dataclasses.dataclass(cls)

    def wrench(self, *arguments: Any, **named: Any) -> Wrench:  # noqa: ARG002, the author's choice
        """`wrench(self, pose, twist)`: return the wrench on frame b, in b; both are of b relative to a."""
        raise _missing(type(self), "wrench")

    def tension(self, *arguments: Any, **named: Any) -> Any:  # noqa: ARG002, as above
        """`tension(self, length, rate)`: return the tension [N] of a path; positive pulls the ends together."""
        raise _missing(type(self), "tension")

    def force(self, *arguments: Any, **named: Any) -> Any:  # noqa: ARG002, as above
        """`force(self, q, v)`: return the generalised forces [N or N·m] on the scene's coordinates, one number each."""
        raise _missing(type(self), "force")

    def energy(self, *arguments: Any, **named: Any) -> Any:  # noqa: ARG002, as above
        """`energy(self, pose)`, `(self, length)` or `(self, q)`: return the stored energy [J]; none by default."""
        return None


def _missing(plugin: type[Force], method: str) -> JointError:
    return JointError(definition_place(plugin), f"has no {method}")


@dataclasses.dataclass(frozen=True)
class Method:
    """A method by which a plugin computes its force."""

    name: str
    acts: str  # between what
    arguments: tuple[str, ...]  # position first, rates after it

    @property
    def signature(self) -> str:
        """The definition that an author writes."""
        return f"`def {self.name}(self, {', '.join(self.arguments)})`"


METHODS = (
    Method("wrench", "frames", ("pose", "twist")),
    Method("tension", "path", ("length", "rate")),
    Method("force", "coordinates", ("q", "v")),
)


def method_of(plugin: type[Force]) -> Method:
    """Return the method by which a plugin computes its force.

    Raises:
        PysimError: it has none, or several.
    """
    own = _methods_of(plugin)
    # the place is read from the source, which takes milliseconds
    return own[0] if len(own) == 1 else _only_method(plugin, definition_place(plugin))


def _methods_of(plugin: type[Force]) -> list[Method]:
    return [m for m in METHODS if getattr(plugin, m.name) is not getattr(Force, m.name)]


def _only_method(plugin: type[Force], where: str) -> Method:
    own = _methods_of(plugin)
    if not own:
        signatures = f"{METHODS[0].signature}, {METHODS[1].signature} or {METHODS[2].signature}"
        raise PysimError(where, f"has no force; write {signatures}")
    if len(own) > 1:
        names = " and ".join(m.name for m in own)
        raise PysimError(where, f"has the methods {names}; write a plugin for each")
    return own[0]


def _check_force(plugin: type[Force], where: str) -> None:
    """Require one method, and fields that are not keys of every force."""
    _only_method(plugin, where)
    for field in dataclasses.fields(plugin):  # type: ignore[arg-type]
        if field.name in FORCE_KEYS:
            problem = f"the field {field.name!r} is a key that every force has"
            raise PysimError(where, f"{problem}; choose another name")
        field_type(plugin, field)
    if len(plugin.states) and not hasattr(plugin, "state_rate"):
        names = ", ".join(plugin.states.names)
        arguments = ", ".join(method_of(plugin).arguments)
        problem = f"has the states {names}, but no state_rate"
        raise PysimError(where, f"{problem}; write `def state_rate(self, {arguments}, {names})`")


Plugin = TypeVar("Plugin", bound=type[Force])
FORCES: PluginKind[type[Force]] = PluginKind(
    "force",
    noun="force type",
    base=Force,
    public="pysim.forces.Force",
    check=_check_force,
)


def force(name: str) -> Callable[[Plugin], Plugin]:
    """Class decorator: make this force available as `type = "<name>"` in [[force]] tables.

    Raises:
        PysimError: the name is taken, a field is a key of every force, or the class does not have one force.
    """
    return FORCES.named(name)


def depends_on_signals(name: str, parameters: Mapping[str, Any] = NO_KEYS) -> bool:
    """Return whether a force depends on time, signals or its states, so that it acts in runs of a scene alone.

    Args:
        name: its type.
        parameters: its keys, which may hold signals in place of numbers.
    """
    plugin: Any = find_force(name)
    return bool(len(plugin.states)) or is_driven(plugin) or bool(signals_in(parameters))


def is_driven(plugin: type[Force]) -> bool:
    """Return whether forces of a class depend on time or signals, by which they may put energy into a mechanism."""
    methods = [getattr(plugin, method_of(plugin).name), getattr(plugin, "state_rate", None)]
    fields = (field_type(plugin, field) for field in fields_of(plugin).values())
    return any(map(is_signal, fields)) or any(
        "t" in inspect.signature(method).parameters for method in methods if method is not None
    )


def find_force(name: str) -> type[Force]:
    """Return the force plugin of a name: pysim's own, a user's, or one of an installed package.

    Raises:
        PysimError: there is none; the text suggests one.
    """
    from pysim.elements.library import load_library  # noqa: PLC0415, its modules need this one

    load_library()
    return FORCES.find(name)
