"""Former public names: they keep working for one release, with a warning that names the new one."""

from __future__ import annotations

import warnings
from importlib import import_module


def renamed(old: str, module: str, name: str) -> object:
    """Return `name` of a module for code that uses the former name `old`.

    Called from a module's `__getattr__`, so that the warning points at the line that uses the former name.
    """
    text = f"{old} is deprecated; use {module}.{name}"
    warnings.warn(text, DeprecationWarning, stacklevel=3)
    value: object = getattr(import_module(module), name)
    return value
