"""Plugins of one kind by name: those that a decorator registered and those that an installed package offers."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Generic, TypeVar
from weakref import WeakSet

from pysim.errors import PysimError, did_you_mean
from pysim.tracing.author_code import author_line, definition_place, is_same, owner

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

Base = TypeVar("Base")


_named: WeakSet[type] = WeakSet()  # what decorators gave a name
_decorators: dict[type, str] = {}  # by the base class of a kind of plugins, its decorator


def declare_kind(base: type, decorator: str) -> None:
    """Declare a kind of plugins: subclasses of `base`, which `decorator` gives names."""
    _decorators[base] = decorator


def decorator_of(plugin: object) -> str | None:
    """Return the decorator that names plugins of a class's kind, None for what is no plugin."""
    if not isinstance(plugin, type):
        return None
    return next((name for base, name in _decorators.items() if issubclass(plugin, base)), None)


def note_named(plugin: type) -> None:
    """Remember that a decorator names this class."""
    _named.add(plugin)


def is_named(plugin: type) -> bool:
    """Whether a decorator names this class."""
    return plugin in _named


class PluginNames(Generic[Base]):
    """Subclasses of `base` by name; packages offer theirs by entry points of the group `pysim.<noun>s`."""

    def __init__(
        self, noun: str, base: type[Base], builtin: Collection[str] = (), called: str = ""
    ) -> None:
        declare_kind(base, noun)
        self._noun, self._base = noun, base
        self._builtin = builtin
        self._called = called or noun
        self._plugins: dict[str, type[Base]] = {}

    def check_name(self, name: object) -> None:
        """Refuse what a decorator was given instead of a name: forgotten parentheses give the class itself.

        Raises:
            PysimError: it is no name, or that of a built-in.
        """
        if not isinstance(name, str) or not name:
            problem = f'needs a name, got {name!r}; write @{self._noun}("name") above the class'
            raise PysimError(f"{author_line()}: {self._noun}", problem)
        if name in self._builtin:
            problem = f"{self._noun} {name!r} is built in; choose another name"
            raise PysimError(author_line(), problem)

    def check_class(self, plugin: object, method: str, written: str) -> str:
        """Return `file:line: Name` of the author's class, which has the method that its kind must have.

        Raises:
            PysimError: it is no subclass of the kind's base, or has no such method.
        """
        if not (isinstance(plugin, type) and issubclass(plugin, self._base)):
            problem = f"{plugin!r} is no subclass of {owner(self._base)}; derive it from that"
            raise PysimError(f"{author_line()}: {self._noun}", problem)
        where = f"{author_line()}: {plugin.__qualname__}"
        if getattr(plugin, method) is getattr(self._base, method):
            raise PysimError(where, f"has no {method}; write {written}")
        return where

    def add(self, name: str, plugin: type[Base], where: str) -> None:
        """Keep a plugin under its name; it may be defined again.

        Raises:
            PysimError: the name is another's; the text names both, this one by `where`.
        """
        taken = self._plugins.get(name, plugin)
        if not is_same(taken, plugin):
            problem = f"{self._noun} {name!r} is already taken by {definition_place(taken)}"
            raise PysimError(where, f"{problem}; choose another name")
        self._plugins[name] = plugin
        note_named(plugin)

    def find(
        self, name: str, register: Callable[[str], Callable[[type[Base]], object]]
    ) -> type[Base]:
        """Return the plugin of a name, importing its package if need be and registering it by the decorator.

        Raises:
            PysimError: there is none; the text suggests one.
        """
        if name not in self._plugins:
            installed = {entry.name: entry for entry in entry_points(group=f"pysim.{self._noun}s")}
            if name not in installed:
                known = {*self._builtin, *self._plugins, *installed}
                problem = f"unknown {self._called} {name!r}{did_you_mean(name, known)}"
                raise PysimError(self._noun, problem)
            plugin = installed[name].load()
            if not (isinstance(plugin, type) and issubclass(plugin, self._base)):
                problem = f"{self._noun} {name!r} is no subclass of {owner(self._base)}"
                raise PysimError(installed[name].value, problem)
            register(name)(plugin)
        return self._plugins[name]
