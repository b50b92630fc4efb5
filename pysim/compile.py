"""Deprecated name of the functions that compile specifications, now in `pysim.simulation`."""

from __future__ import annotations

import warnings
from importlib import import_module

_HOMES = {
    "Scene": "pysim.simulation",
    "compile_model": "pysim.simulation",
    "compile_scene": "pysim.simulation",
    "load_model": "pysim.simulation",
    "start_state": "pysim.mechanism.compile",
}


def __getattr__(name: str) -> object:
    """Return a function from its new module, with a warning that names it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'pysim.compile' has no attribute {name!r}")
    text = f"pysim.compile.{name} is deprecated; use {_HOMES[name]}.{name}"
    warnings.warn(text, DeprecationWarning, stacklevel=2)
    value: object = getattr(import_module(_HOMES[name]), name)
    return value
