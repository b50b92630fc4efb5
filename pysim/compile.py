"""Deprecated name of the functions that compile specifications, now in `pysim.simulation`."""

from __future__ import annotations

from pysim.deprecation import renamed

_HOMES = {
    "Scene": "pysim.simulation",
    "compile_model": "pysim.simulation",
    "compile_scene": "pysim.simulation",
    "load_model": "pysim.simulation",
    "start_state": "pysim.mechanism.compile",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return renamed(f"pysim.compile.{name}", _HOMES[name], name)
    raise AttributeError(f"module 'pysim.compile' has no attribute {name!r}")
