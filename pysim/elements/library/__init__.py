"""The library: forces, signals, sensors, controllers and actuators that come with pysim."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module


@cache
def load_library() -> None:
    """Import the modules of this folder and its folders, which register their elements."""
    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        import_module(module.name)
