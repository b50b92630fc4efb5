"""Former public names: they keep working for one release, with a warning that names the new one."""

from __future__ import annotations

import warnings
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    P = ParamSpec("P")
    R = TypeVar("R")


def renamed(old: str, module: str, name: str) -> object:
    """Return `name` of a module for code that uses the former name `old`.

    Called from a module's `__getattr__`, so that the warning points at the line that uses the former name.
    """
    text = f"{old} is deprecated; use {module}.{name}"
    warnings.warn(text, DeprecationWarning, stacklevel=3)
    value: object = getattr(import_module(module), name)
    return value


def accepts_former_keyword(
    owner: str, old: str, new: str
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator of functions that take the keyword argument `new`, which was named `old`.

    The decorated function raises TypeError if both names are given.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*arguments: object, **keywords: object) -> R:
            if old in keywords:
                if new in keywords:
                    problem = f"{owner}: {old} is the former name of {new}; pass {new} alone"
                    raise TypeError(problem)
                text = f"{owner}({old}=…) is deprecated; use {owner}({new}=…)"
                warnings.warn(text, DeprecationWarning, stacklevel=2)
                keywords[new] = keywords.pop(old)
            return cast("R", cast("Callable[..., object]", function)(*arguments, **keywords))

        return cast("Callable[P, R]", call)

    return decorate
