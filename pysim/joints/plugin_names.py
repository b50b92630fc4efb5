"""Plugins of one kind by name: those that a decorator registered and those that an installed package offers."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Generic, TypeVar

from pysim.errors import PysimError, did_you_mean
from pysim.joints.author import owner, source_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

Base = TypeVar("Base")


class PluginNames(Generic[Base]):
    """Subclasses of `base` by name; packages offer theirs by entry points of the group `pysim.<noun>s`."""

    def __init__(
        self, noun: str, base: type[Base], builtin: Collection[str] = (), called: str = ""
    ) -> None:
        self._noun, self._base = noun, base
        self._builtin = builtin
        self._called = called or noun
        self._plugins: dict[str, type[Base]] = {}

    def add(self, name: str, plugin: type[Base], where: str) -> None:
        """Keep a plugin under its name; it may be defined again.

        Raises:
            PysimError: the name is another's; the text names both, this one by `where`.
        """
        taken = self._plugins.get(name, plugin)
        if source_of(taken) != source_of(plugin):
            problem = f"{self._noun} {name!r} is already taken by {owner(taken)}"
            raise PysimError(where, f"{problem}; choose another name")
        self._plugins[name] = plugin

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
