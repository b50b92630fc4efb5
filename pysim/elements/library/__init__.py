"""The library: forces, signals, sensors, controllers and actuators that come with pysim."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module


@cache
def load_library() -> None:
    """Import the modules of this folder, which register their elements."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
