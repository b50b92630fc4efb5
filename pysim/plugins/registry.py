"""Registry of plugins, with one `PluginKind` for each kind: joints, forces, events, integrators, importers, exporters.

A plugin is registered by its kind's decorator, in a user's module or in a file that a scene names, or by an entry point
of an installed package in the group `pysim.<decorator>s`.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pysim.errors import PysimError, did_you_mean
from pysim.tracing.author_code import author_line, definition_place, is_same, owner

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from importlib.metadata import EntryPoint

Plugin = TypeVar("Plugin", bound="Callable[..., Any]")  # a class, or a function
Given = TypeVar("Given", bound="Callable[..., Any]")
_kinds: dict[str, PluginKind[Any]] = {}


def kind_of(plugin: object) -> PluginKind[Any] | None:
    """Return the kind of a plugin's class, None for anything else."""
    if not isinstance(plugin, type):
        return None
    return next((k for k in _kinds.values() if k.base and issubclass(plugin, k.base)), None)


def kind_called(noun: str) -> PluginKind[Any]:
    """Return the kind with this noun, for example "joint type"."""
    return next(kind for kind in _kinds.values() if kind.noun == noun)


class PluginKind(Generic[Plugin]):
    """Plugins of one kind by name: subclasses of `base`, or functions if there is no base.

    Args:
        decorator: name of the decorator, and of the group of entry points `pysim.<decorator>s`.
        noun: noun for the kind in messages.
        base: class that plugins derive from.
        public: the path under which users import `base`; by default its module's.
        builtin: names of built-ins, which plugins cannot take.
        check: function that raises an error for an incomplete plugin; called with the plugin and `file:line: Name` of
            its definition.
        error: class of the errors.
        first: remedy if a name is unknown and there is no plugin at all.
    """

    def __init__(
        self,
        decorator: str,
        *,
        noun: str = "",
        base: type | None = None,
        public: str = "",
        builtin: Collection[str] = (),
        check: Callable[[Any, str], None] | None = None,
        error: type[PysimError] = PysimError,
        first: str = "",
    ) -> None:
        self.decorator, self.noun, self.base = decorator, noun or decorator, base
        self.registered: dict[str, Plugin] = {}
        self._public = public or (owner(base) if base else "")
        self.builtin = builtin
        self._check = check
        self._error = error
        self._first = first
        _kinds[decorator] = self

    def named(self, name: str) -> Callable[[Given], Given]:
        """Return the decorator that registers a plugin under a name; a plugin may be defined again.

        Raises:
            PysimError: the name is missing (without parentheses the decorator receives the class itself) or taken, or
                the class is not of this kind.
        """
        given: object = name
        if not isinstance(given, str) or not given:
            target = "class" if self.base else "function"
            problem = (
                f'needs a name, got {given!r}; write @{self.decorator}("name") above the {target}'
            )
            raise self._error(f"{author_line()}: @{self.decorator}", problem)

        def register(plugin: Given) -> Given:
            self._require_class(plugin)
            if self._check is not None:
                self._check(plugin, f"{author_line()}: {plugin.__qualname__}")
            self._require_free(name, plugin)
            self.registered[name] = plugin  # type: ignore[assignment]
            return plugin

        return register

    def _require_class(self, plugin: object) -> None:
        if self.base and not (isinstance(plugin, type) and issubclass(plugin, self.base)):
            problem = f"{plugin!r} is not a subclass of {self._public}; derive it from that class"
            raise self._error(f"{author_line()}: @{self.decorator}", problem)

    def _require_free(self, name: str, plugin: Callable[..., Any]) -> None:
        taken = self.registered.get(name)
        if name in self.builtin:
            problem = f"{self.noun} {name!r} is built in"
        elif taken is not None and not is_same(taken, plugin):
            problem = f"{self.noun} {name!r} is already taken by {definition_place(taken)}"
        else:
            return
        raise self._error(definition_place(plugin), f"{problem}; choose another name")

    def is_registered(self, plugin: object) -> bool:
        """Return whether a plugin has a name."""
        return any(plugin is known for known in self.registered.values())

    def find(self, name: str) -> Plugin:
        """Return the plugin of a name, from an installed package if none is registered.

        Raises:
            PysimError: there is none; the error suggests a name.
        """
        if name not in self.registered:
            installed = self._installed()
            if name not in installed:
                known = {*self.builtin, *self.registered, *installed}
                remedy = did_you_mean(name, known) if known or not self._first else self._first
                raise self._error(self.decorator, f"unknown {self.noun} {name!r}{remedy}")
            self._load(installed[name])
        return self.registered[name]

    def load_installed(self) -> None:
        """Register the plugins of every installed package."""
        for name, entry in self._installed().items():
            if name not in self.registered:
                self._load(entry)

    def offered(self) -> dict[str, str]:
        """Return the package that offers each plugin by an entry point, by the name of the plugin; none is loaded."""
        return {name: _distribution(entry) for name, entry in self._installed().items()}

    def _installed(self) -> dict[str, EntryPoint]:
        """Return the entry points of installed packages by name; it is an error if two packages offer one name."""
        group = f"pysim.{self.decorator}s"
        points: dict[str, EntryPoint] = {}
        for entry in entry_points(group=group):
            if entry.name in points and points[entry.name].value != entry.value:
                problem = (
                    f"{self.noun} {entry.name!r} is offered by {points[entry.name].value} of "
                    f"{_distribution(points[entry.name])} and by {entry.value} of "
                    f"{_distribution(entry)}; uninstall one"
                )
                raise self._error(f"entry points {group}", problem)
            points[entry.name] = entry
        return points

    def _load(self, entry: EntryPoint) -> None:
        where = f"entry point {entry.name} = {entry.value!r} of {_distribution(entry)}"
        try:
            plugin = entry.load()
        except Exception as error:
            problem = f"cannot be loaded, {type(error).__name__}: {error}; fix or uninstall it"
            raise self._error(where, problem) from error
        if self.base and not (isinstance(plugin, type) and issubclass(plugin, self.base)):
            problem = (
                f"{self.noun} {entry.name!r} is not a subclass of {self._public}, got {plugin!r}"
            )
            raise self._error(where, problem)
        self.named(entry.name)(plugin)


def require_method(plugin: type[Any], base: type[Any], method: str, where: str, usage: str) -> None:
    """Require that a plugin's class overrides a method of its base.

    Raises:
        PysimError: it does not; the error shows the method's signature.
    """
    if getattr(plugin, method) is getattr(base, method):
        raise PysimError(where, f"has no method {method}; write {usage}")


def _distribution(entry: EntryPoint) -> str:
    """Return the name of the installed package that offers an entry point."""
    return entry.dist.name if entry.dist is not None else "an unnamed package"
